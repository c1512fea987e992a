/* Tokenizes documents, counts their terms and writes the postings of a partition.

   A text is split into pieces: words of ASCII letters, digits and underscores, in lower case; and, where a run of non-blank
   bytes has a byte beyond ASCII, the whole run as it is. The caller gives the terms of each distinct piece once. */
#ifndef RANKPROOF_BM25_BUILDER_H
#define RANKPROOF_BM25_BUILDER_H

#include "strings.h"

/* The rows of a block, and its distinct pairs of term frequency and document length, have 16-bit numbers. */
enum { MOST_IN_BLOCK = 65536 };

/* How often a term occurs in the document in hand, and in the index so far. */
typedef struct {
    uint32_t row_plus_one, place;
    uint32_t block_plus_one, segments;
    uint32_t documents;
} TermState;

typedef struct {
    uint32_t term, frequency;
} TermCount;

typedef struct {
    uint32_t frequency, length;
} Pair;

typedef struct {
    size_t most_rows, most_pairs;
    Strings pieces, terms;
    /* The terms of piece i are piece_terms[i == 0 ? 0 : piece_ends[i - 1]] to piece_ends[i]. */
    uint64_t *piece_ends;
    uint32_t *piece_terms;
    size_t resolved, piece_ends_capacity, piece_terms_used, piece_terms_capacity;
    /* Documents that are tokenized, but not counted. */
    uint32_t *tokens;
    uint64_t *token_ends;
    size_t token_count, tokens_capacity, waiting, token_ends_capacity;
    /* Documents that are counted: the terms of row i, with their codes, end at row_ends[i]. */
    uint32_t *row_terms;
    uint16_t *row_codes;
    uint64_t *row_ends;
    uint32_t *lengths;
    size_t postings, row_terms_capacity, row_codes_capacity, rows, row_ends_capacity, lengths_capacity;
    /* Block i begins at row block_rows[i] and pair block_pairs[i]; `codes` is a hash table of the pairs of the last block. */
    uint64_t *block_rows, *block_pairs;
    Pair *pairs;
    size_t blocks, block_rows_capacity, block_pairs_capacity, pair_count, pairs_capacity;
    uint32_t codes[2 * MOST_IN_BLOCK];
    TermState *states;
    TermCount *counts;
    size_t states_count, states_capacity, counts_capacity, segments;
    char *text;
    size_t text_capacity;
} Builder;

static void free_builder(Builder *builder) {
    free_strings(&builder->pieces);
    free_strings(&builder->terms);
    void *owned[] = {builder->piece_ends, builder->piece_terms, builder->tokens, builder->token_ends, builder->row_terms,
                     builder->row_codes, builder->row_ends, builder->lengths, builder->block_rows, builder->block_pairs,
                     builder->pairs, builder->states, builder->counts, builder->text};
    for (size_t at = 0; at < sizeof owned / sizeof *owned; at++) free(owned[at]);
    free(builder);
}

static Builder *make_builder(size_t most_rows, size_t most_pairs) {
    Builder *builder = calloc(1, sizeof *builder);
    if (builder == NULL) return NULL;
    builder->most_rows = most_rows;
    builder->most_pairs = most_pairs;
    return builder;
}

/* The letter of a word in lower case, 0 for other bytes. */
static const unsigned char WORD_BYTES[256] = {
    ['0'] = '0', ['1'] = '1', ['2'] = '2', ['3'] = '3', ['4'] = '4', ['5'] = '5', ['6'] = '6', ['7'] = '7', ['8'] = '8',
    ['9'] = '9', ['_'] = '_', ['A'] = 'a', ['B'] = 'b', ['C'] = 'c', ['D'] = 'd', ['E'] = 'e', ['F'] = 'f', ['G'] = 'g',
    ['H'] = 'h', ['I'] = 'i', ['J'] = 'j', ['K'] = 'k', ['L'] = 'l', ['M'] = 'm', ['N'] = 'n', ['O'] = 'o', ['P'] = 'p',
    ['Q'] = 'q', ['R'] = 'r', ['S'] = 's', ['T'] = 't', ['U'] = 'u', ['V'] = 'v', ['W'] = 'w', ['X'] = 'x', ['Y'] = 'y',
    ['Z'] = 'z', ['a'] = 'a', ['b'] = 'b', ['c'] = 'c', ['d'] = 'd', ['e'] = 'e', ['f'] = 'f', ['g'] = 'g', ['h'] = 'h',
    ['i'] = 'i', ['j'] = 'j', ['k'] = 'k', ['l'] = 'l', ['m'] = 'm', ['n'] = 'n', ['o'] = 'o', ['p'] = 'p', ['q'] = 'q',
    ['r'] = 'r', ['s'] = 's', ['t'] = 't', ['u'] = 'u', ['v'] = 'v', ['w'] = 'w', ['x'] = 'x', ['y'] = 'y', ['z'] = 'z',
};

static bool is_ascii(const unsigned char *text, size_t size) {
    uint64_t all = 0, word;
    size_t at = 0;
    for (; at + 8 <= size; at += 8) {
        memcpy(&word, text + at, 8);
        all |= word;
    }
    for (; at < size; at++) all |= text[at];
    return (all & 0x8080808080808080u) == 0;
}

static inline bool is_blank(unsigned char byte) {
    return byte == ' ' || (byte >= '\t' && byte <= '\r');
}

/* Adds a piece of `size` bytes that stands in builder->text. There is room for the token. */
static inline bool add_piece(Builder *builder, size_t size) {
    memset(builder->text + size, 0, PADDING);
    uint32_t id = id_of(&builder->pieces, builder->text, size);
    if (id == NO_ID) return false;
    builder->tokens[builder->token_count++] = id;
    return true;
}

static bool add_ascii(Builder *builder, const unsigned char *text, size_t size) {
    char *word = builder->text;
    for (size_t at = 0; at < size;) {
        while (at < size && WORD_BYTES[text[at]] == 0) at++;
        size_t length = 0;
        while (at < size && WORD_BYTES[text[at]] != 0) word[length++] = (char)WORD_BYTES[text[at++]];
        if (length > 0 && !add_piece(builder, length)) return false;
    }
    return true;
}

static bool add_mixed(Builder *builder, const unsigned char *text, size_t size) {
    for (size_t at = 0; at < size;) {
        while (at < size && is_blank(text[at])) at++;
        size_t start = at;
        while (at < size && !is_blank(text[at])) at++;
        if (is_ascii(text + start, at - start)) {
            if (!add_ascii(builder, text + start, at - start)) return false;
        } else {
            memcpy(builder->text, text + start, at - start);
            if (!add_piece(builder, at - start)) return false;
        }
    }
    return true;
}

/* Tokenizes one field of a document; false without memory. */
static bool add_field(Builder *builder, const unsigned char *text, size_t size) {
    if (!RESERVE(builder->text, builder->text_capacity, size + PADDING)) return false;
    if (!RESERVE(builder->tokens, builder->tokens_capacity, builder->token_count + size / 2 + 1)) return false;
    return is_ascii(text, size) ? add_ascii(builder, text, size) : add_mixed(builder, text, size);
}

static bool end_document(Builder *builder) {
    if (!RESERVE(builder->token_ends, builder->token_ends_capacity, builder->waiting + 1)) return false;
    builder->token_ends[builder->waiting++] = builder->token_count;
    return true;
}

/* The id of a term; its state begins empty. */
static uint32_t term_of(Builder *builder, const char *term, size_t size) {
    if (!RESERVE(builder->text, builder->text_capacity, size + PADDING)) return NO_ID;
    memcpy(builder->text, term, size);
    memset(builder->text + size, 0, PADDING);
    uint32_t id = id_of(&builder->terms, builder->text, size);
    if (id == NO_ID || id < builder->states_count) return id;
    if (!RESERVE(builder->states, builder->states_capacity, (size_t)id + 1)) return NO_ID;
    builder->states[id] = (TermState){0};
    builder->states_count = (size_t)id + 1;
    return id;
}

/* Appends a term of the piece that is being resolved. */
static bool add_piece_term(Builder *builder, const char *term, size_t size) {
    uint32_t id = term_of(builder, term, size);
    if (id == NO_ID || !RESERVE(builder->piece_terms, builder->piece_terms_capacity, builder->piece_terms_used + 1)) return false;
    builder->piece_terms[builder->piece_terms_used++] = id;
    return true;
}

static bool end_piece(Builder *builder) {
    if (!RESERVE(builder->piece_ends, builder->piece_ends_capacity, builder->resolved + 1)) return false;
    builder->piece_ends[builder->resolved++] = builder->piece_terms_used;
    return true;
}

static bool open_block(Builder *builder) {
    if (!RESERVE(builder->block_rows, builder->block_rows_capacity, builder->blocks + 1)) return false;
    if (!RESERVE(builder->block_pairs, builder->block_pairs_capacity, builder->blocks + 1)) return false;
    builder->block_rows[builder->blocks] = builder->rows;
    builder->block_pairs[builder->blocks++] = builder->pair_count;
    memset(builder->codes, 0, sizeof builder->codes);
    return true;
}

/* The number of a pair in the block, MOST_IN_BLOCK where the block is full. There is room for the pair. */
static inline uint32_t code_of(Builder *builder, Pair pair) {
    uint64_t first = builder->block_pairs[builder->blocks - 1];
    uint64_t hash = ((uint64_t)pair.length << 32 | pair.frequency) * 0x9E3779B97F4A7C15u;
    for (size_t at = (size_t)(hash >> 47);; at = (at + 1) & (2 * MOST_IN_BLOCK - 1)) {
        uint32_t code = builder->codes[at];
        if (code == 0) {
            size_t count = builder->pair_count - (size_t)first;
            if (count >= builder->most_pairs) return MOST_IN_BLOCK;
            builder->pairs[builder->pair_count++] = pair;
            builder->codes[at] = (uint32_t)count + 1;
            return (uint32_t)count;
        }
        const Pair *known = &builder->pairs[first + code - 1];
        if (known->frequency == pair.frequency && known->length == pair.length) return code - 1;
    }
}

/* Writes the codes of the document in hand; false where its pairs do not fit into the block. */
static bool write_codes(Builder *builder, size_t distinct, uint32_t length) {
    for (size_t at = 0; at < distinct; at++) {
        uint32_t code = code_of(builder, (Pair){builder->counts[at].frequency, length});
        if (code == MOST_IN_BLOCK) return false;
        builder->row_codes[builder->postings + at] = (uint16_t)code;
    }
    return true;
}

static bool is_block_full(const Builder *builder) {
    return builder->blocks == 0 || builder->rows - builder->block_rows[builder->blocks - 1] >= builder->most_rows;
}

/* Adds a document of `distinct` terms, which stand in builder->counts; false without memory. */
static bool end_row(Builder *builder, size_t distinct, uint32_t length) {
    size_t total = builder->postings + distinct;
    if (!RESERVE(builder->row_terms, builder->row_terms_capacity, total)) return false;
    if (!RESERVE(builder->row_codes, builder->row_codes_capacity, total)) return false;
    if (!RESERVE(builder->row_ends, builder->row_ends_capacity, builder->rows + 1)) return false;
    if (!RESERVE(builder->lengths, builder->lengths_capacity, builder->rows + 1)) return false;
    if (!RESERVE(builder->pairs, builder->pairs_capacity, builder->pair_count + distinct)) return false;
    if (is_block_full(builder) && !open_block(builder)) return false;
    size_t pairs_before = builder->pair_count;
    if (!write_codes(builder, distinct, length)) {
        builder->pair_count = pairs_before;
        if (!open_block(builder) || !write_codes(builder, distinct, length)) return false;
    }
    for (size_t at = 0; at < distinct; at++) {
        TermState *state = &builder->states[builder->counts[at].term];
        builder->row_terms[builder->postings + at] = builder->counts[at].term;
        state->documents++;
        if (state->block_plus_one != builder->blocks) {
            state->block_plus_one = (uint32_t)builder->blocks;
            state->segments++;
            builder->segments++;
        }
    }
    builder->postings = total;
    builder->row_ends[builder->rows] = total;
    builder->lengths[builder->rows++] = length;
    return true;
}

/* Counts a term of the document in hand; there is room in builder->counts. */
static inline void count_term(Builder *builder, uint32_t term, size_t *distinct) {
    TermState *state = &builder->states[term];
    uint32_t row_plus_one = (uint32_t)builder->rows + 1;
    if (state->row_plus_one != row_plus_one) {
        state->row_plus_one = row_plus_one;
        state->place = (uint32_t)*distinct;
        builder->counts[(*distinct)++] = (TermCount){term, 0};
    }
    builder->counts[state->place].frequency++;
}

static bool count_document(Builder *builder, const uint32_t *tokens, size_t token_count) {
    size_t distinct = 0, length = 0;
    for (size_t at = 0; at < token_count; at++) {
        uint32_t piece = tokens[at];
        uint64_t first = piece == 0 ? 0 : builder->piece_ends[piece - 1], end = builder->piece_ends[piece];
        if (first == end) continue;
        if (!RESERVE(builder->counts, builder->counts_capacity, distinct + (size_t)(end - first))) return false;
        for (uint64_t term = first; term < end; term++) count_term(builder, builder->piece_terms[term], &distinct);
        length += (size_t)(end - first);
    }
    return length <= INT32_MAX && end_row(builder, distinct, (uint32_t)length);
}

/* Counts the documents that wait, all of whose pieces are resolved. */
static bool count_waiting(Builder *builder) {
    uint64_t start = 0;
    for (size_t at = 0; at < builder->waiting; at++) {
        uint64_t end = builder->token_ends[at];
        if (builder->rows >= INT32_MAX || !count_document(builder, builder->tokens + start, (size_t)(end - start))) return false;
        start = end;
    }
    builder->waiting = 0;
    builder->token_count = 0;
    return true;
}

/* The arrays of an index, with room for what the builder holds. */
typedef struct {
    uint8_t *term_bytes;
    int64_t *term_offsets, *term_segments;
    int32_t *segment_blocks;
    int64_t *segment_starts;
    uint32_t *postings;
    int64_t *block_rows, *block_pairs;
    uint32_t *pair_frequencies, *pair_lengths;
    int32_t *lengths;
} IndexArrays;

/* Where the next posting and the next segment of a term go. */
typedef struct {
    uint64_t posting, segment;
    uint32_t block_plus_one;
} Cursor;

static void write_terms(const Builder *builder, const SortedString *sorted, Cursor *cursors, IndexArrays *to) {
    uint64_t bytes = 0, segments = 0, postings = 0;
    for (size_t at = 0; at < builder->terms.count; at++) {
        const TermState *state = &builder->states[sorted[at].id];
        to->term_offsets[at] = (int64_t)bytes;
        to->term_segments[at] = (int64_t)segments;
        cursors[sorted[at].id] = (Cursor){postings, segments, 0};
        memcpy(to->term_bytes + bytes, sorted[at].text, sorted[at].size);
        bytes += sorted[at].size;
        segments += state->segments;
        postings += state->documents;
    }
    to->term_offsets[builder->terms.count] = (int64_t)bytes;
    to->term_segments[builder->terms.count] = (int64_t)segments;
    to->segment_starts[segments] = (int64_t)postings;
}

static void write_row(const Builder *builder, size_t row, size_t block, Cursor *cursors, IndexArrays *to) {
    uint32_t local = (uint32_t)(row - builder->block_rows[block]);
    for (uint64_t at = row == 0 ? 0 : builder->row_ends[row - 1]; at < builder->row_ends[row]; at++) {
        Cursor *cursor = &cursors[builder->row_terms[at]];
        if (cursor->block_plus_one != block + 1) {
            cursor->block_plus_one = (uint32_t)block + 1;
            to->segment_blocks[cursor->segment] = (int32_t)block;
            to->segment_starts[cursor->segment++] = (int64_t)cursor->posting;
        }
        to->postings[cursor->posting++] = local | (uint32_t)builder->row_codes[at] << 16;
    }
}

static void write_blocks(const Builder *builder, IndexArrays *to) {
    for (size_t block = 0; block < builder->blocks; block++) {
        to->block_rows[block] = (int64_t)builder->block_rows[block];
        to->block_pairs[block] = (int64_t)builder->block_pairs[block];
    }
    to->block_rows[builder->blocks] = (int64_t)builder->rows;
    to->block_pairs[builder->blocks] = (int64_t)builder->pair_count;
    for (size_t pair = 0; pair < builder->pair_count; pair++) {
        to->pair_frequencies[pair] = builder->pairs[pair].frequency;
        to->pair_lengths[pair] = builder->pairs[pair].length;
    }
}

/* Writes the arrays; false without memory. */
static bool write_index(const Builder *builder, IndexArrays *to) {
    SortedString *sorted = sorted_strings(&builder->terms);
    Cursor *cursors = calloc(builder->terms.count + 1, sizeof *cursors);
    bool done = sorted != NULL && cursors != NULL;
    if (done) {
        write_terms(builder, sorted, cursors, to);
        write_blocks(builder, to);
        size_t block = 0;
        for (size_t row = 0; row < builder->rows; row++) {
            while (block + 1 < builder->blocks && builder->block_rows[block + 1] <= row) block++;
            write_row(builder, row, block, cursors, to);
            to->lengths[row] = (int32_t)builder->lengths[row];
        }
    }
    free(sorted);
    free(cursors);
    return done;
}

#endif
