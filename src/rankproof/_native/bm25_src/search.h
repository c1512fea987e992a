/* Scores the documents of a partition block by block and keeps the k best of each query.

   The weight of a posting is idf x factor, rounded to float32; the factor is that of its pair of term frequency and document
   length. A document adds the weights of the query's terms in the order of the query. */
#ifndef RANKPROOF_BM25_SEARCH_H
#define RANKPROOF_BM25_SEARCH_H

#include "../exact_floats.h"
#include "../prefetch.h"
#include "builder.h"

#if defined(__x86_64__) || defined(_M_X64)
#include <emmintrin.h>
#define HAS_SSE2 1
#endif

/* Totals that are compared at a time, and how many postings ahead of their use are prefetched. */
enum { STRIDE = 16, AHEAD = 512 };

/* An open index. `factors` has MOST_IN_BLOCK more than there are pairs, so that a wrong code reads no foreign memory. */
typedef struct {
    const uint8_t *term_bytes;
    const int64_t *term_offsets, *term_segments;
    const int32_t *segment_blocks;
    const int64_t *segment_starts;
    const uint32_t *postings;
    const int64_t *block_rows, *block_pairs;
    const int32_t *places;
    double *factors;
    size_t terms, bytes, segments, posting_count, blocks, rows, pairs;
} Index;

/* The bytes of a term; false where the offsets are wrong. */
static inline bool term_at(const Index *index, size_t term, const char **text, size_t *size) {
    int64_t start = index->term_offsets[term], end = index->term_offsets[term + 1];
    if (start < 0 || end < start || (uint64_t)end > index->bytes) return false;
    *text = (const char *)index->term_bytes + start;
    *size = (size_t)(end - start);
    return true;
}

/* Where a term stands against another: below 0 before it, 0 if they are the same; above 0 also where the offsets are wrong. */
static int compare_terms(const Index *index, size_t number, const char *term, size_t size) {
    size_t length;
    const char *text;
    return term_at(index, number, &text, &length) ? compare_bytes(text, length, term, size) : 1;
}

/* The number of a term, -1 if the index does not have it. `near` is where the last one was: terms in order are found soon. */
static int64_t find_term(const Index *index, const char *term, size_t size, size_t *near) {
    size_t low = *near < index->terms && compare_terms(index, *near, term, size) <= 0 ? *near : 0, high = low;
    for (size_t step = 1; high < index->terms && compare_terms(index, high, term, size) < 0; step *= 2) {
        low = high + 1;
        high = step < index->terms - high ? high + step : index->terms;
    }
    high = high < index->terms ? high + 1 : high;
    *near = low;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = compare_terms(index, middle, term, size);
        if (order == 0) return (int64_t)middle;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return -1;
}

/* The segments of a term, none for -1; false where they are out of range. */
static bool segments_of(const Index *index, int64_t term, size_t *first, size_t *end) {
    *first = *end = 0;
    if (term == -1) return true;
    if (term < 0 || (uint64_t)term >= index->terms) return false;
    int64_t from = index->term_segments[term], to = index->term_segments[term + 1];
    *first = (size_t)from;
    *end = (size_t)to;
    return from >= 0 && from <= to && (uint64_t)to <= index->segments;
}

/* How many documents have a term. */
static int64_t documents_with(const Index *index, int64_t term) {
    size_t first, end;
    if (!segments_of(index, term, &first, &end)) return 0;
    int64_t from = index->segment_starts[first], to = index->segment_starts[end];
    return from >= 0 && from <= to ? to - from : 0;
}

/* A document that may be among the best. */
typedef struct {
    double score;
    size_t row;
} Hit;

/* Of equal scores the higher place is worse; places are read only for these, as they are far apart in memory. */
static inline bool is_worse(const int32_t *places, const Hit *one, const Hit *other) {
    if (one->score == other->score) return places[one->row] > places[other->row];
    return one->score < other->score;
}

static inline void swap_hits(Hit *one, Hit *other) {
    Hit kept = *one;
    *one = *other;
    *other = kept;
}

/* Moves the hits that are better than the median of three to the front; returns where that hit stands then. */
static size_t split_hits(const int32_t *places, Hit *hits, size_t count) {
    Hit *first = hits, *middle = hits + count / 2, *last = hits + count - 1;
    if (is_worse(places, first, middle)) swap_hits(first, middle);
    if (is_worse(places, first, last)) swap_hits(first, last);
    if (is_worse(places, middle, last)) swap_hits(middle, last);
    Hit pivot = *middle;
    swap_hits(middle, last);
    size_t better = 0;
    for (size_t at = 0; at + 1 < count; at++) {
        Hit hit = hits[at];
        hits[at] = hits[better];
        hits[better] = hit;
        better += is_worse(places, &pivot, &hit);
    }
    swap_hits(&hits[better], last);
    return better;
}

/* Moves the k best hits to the front. */
static void select_hits(const int32_t *places, Hit *hits, size_t count, size_t k) {
    while (count > k && k > 0) {
        size_t better = split_hits(places, hits, count);
        if (better >= k) {
            count = better;
        } else {
            hits += better + 1;
            count -= better + 1;
            k -= better + 1;
        }
    }
}

/* Sorts hits, best first; only the smaller part is sorted by a call, so that few calls are nested. */
static void sort_hits(const int32_t *places, Hit *hits, size_t count) {
    while (count > 16) {
        size_t better = split_hits(places, hits, count), worse = count - better - 1;
        sort_hits(places, better < worse ? hits : hits + better + 1, better < worse ? better : worse);
        if (better < worse) hits += better + 1;
        count = better < worse ? worse : better;
    }
    for (size_t at = 1; at < count; at++) {
        Hit hit = hits[at];
        size_t slot = at;
        for (; slot > 0 && is_worse(places, &hits[slot - 1], &hit); slot--) hits[slot] = hits[slot - 1];
        hits[slot] = hit;
    }
}

static inline uint64_t bits_of(double score) {
    uint64_t bits;
    memcpy(&bits, &score, sizeof bits);
    return bits;
}

enum { FEW_HITS = 64 };

/* Moves hits from one array to the other, by one byte of their scores, the highest first; equal bytes keep their order. */
static void sort_by_byte(const Hit *from, Hit *to, size_t count, int shift) {
    size_t starts[256] = {0}, next = 0;
    for (size_t at = 0; at < count; at++) starts[(bits_of(from[at].score) >> shift) & 255u]++;
    for (size_t value = 256; value-- > 0;) {
        size_t here = starts[value];
        starts[value] = next;
        next += here;
    }
    for (size_t at = 0; at < count; at++) to[starts[(bits_of(from[at].score) >> shift) & 255u]++] = from[at];
}

/* Sorts hits with scores above 0, best first; returns `hits` or `room`, where they stand then. */
static Hit *sort_by_score(const int32_t *places, Hit *hits, Hit *room, size_t count) {
    uint64_t varying = 0;
    if (count <= FEW_HITS) return sort_hits(places, hits, count), hits;
    for (size_t at = 1; at < count; at++) varying |= bits_of(hits[at].score) ^ bits_of(hits[0].score);
    for (int shift = 0; shift < 64; shift += 8) {
        if (((varying >> shift) & 255u) == 0) continue;
        sort_by_byte(hits, room, count, shift);
        Hit *swap = hits;
        hits = room;
        room = swap;
    }
    for (size_t start = 0, end; start < count; start = end) {
        for (end = start + 1; end < count && hits[end].score == hits[start].score; end++) {}
        sort_hits(places, hits + start, end - start);
    }
    return hits;
}

/* A search in hand: the candidates, none with a score below the floor, and the next and last segments of each term. */
typedef struct {
    const Index *index;
    Hit *hits, *room;
    size_t count, capacity, k;
    double floor;
    bool may_guess, is_guessed;
    size_t guesses, misses;
    size_t *next, *end;
    float *totals, *weights;
    double *wide_totals;
} Search;

/* Keeps the k best candidates; the worst of them is the floor. */
static void keep_best(Search *search) {
    if (search->count < search->k) return;
    select_hits(search->index->places, search->hits, search->count, search->k);
    search->count = search->k;
    search->floor = search->hits[0].score;
    for (size_t at = 1; at < search->k; at++)
        if (search->hits[at].score < search->floor) search->floor = search->hits[at].score;
}

static inline void add_hit(Search *search, double score, size_t row) {
    search->hits[search->count++] = (Hit){score, row};
    if (search->count == search->capacity) keep_best(search);
}

/* A bit for each of STRIDE totals that reaches the floor. */
static inline unsigned reaching(const float *totals, float floor) {
#ifdef HAS_SSE2
    __m128 least = _mm_set1_ps(floor);
    __m128i first = _mm_castps_si128(_mm_cmpge_ps(_mm_loadu_ps(totals), least));
    __m128i second = _mm_castps_si128(_mm_cmpge_ps(_mm_loadu_ps(totals + 4), least));
    __m128i third = _mm_castps_si128(_mm_cmpge_ps(_mm_loadu_ps(totals + 8), least));
    __m128i fourth = _mm_castps_si128(_mm_cmpge_ps(_mm_loadu_ps(totals + 12), least));
    return (unsigned)_mm_movemask_epi8(_mm_packs_epi16(_mm_packs_epi32(first, second), _mm_packs_epi32(third, fourth)));
#else
    unsigned bits = 0;
    for (int at = 0; at < STRIDE; at++) bits |= (unsigned)(totals[at] >= floor) << at;
    return bits;
#endif
}

/* The position of the lowest bit of a number that is not 0. */
static inline size_t lowest_bit(unsigned bits) {
#if defined(__GNUC__) || defined(__clang__)
    return (size_t)__builtin_ctz(bits);
#else
    size_t at = 0;
    for (; !(bits & 1u); bits >>= 1) at++;
    return at;
#endif
}

enum { SAMPLED = 8, STEPS = 256 };

/* A score that a few more than k of the rows that are left probably reach, by every eighth STRIDE of a block; 0 for few rows.

   It aims at a quarter more than k, and at 8 more of the sample, so that few guesses are too high. */
static float guess_floor(const float *totals, size_t rows, size_t left, size_t k) {
    uint32_t counts[STEPS] = {0};
    double wanted = 1.25 * (double)k * (double)rows / (double)left / SAMPLED + 8;
    size_t above = 0;
    float highest = 0;
    if (left / 8 < k || rows < SAMPLED * STEPS) return 0;
    for (size_t at = 0; at < rows; at += SAMPLED * STRIDE)
        for (size_t one = at; one < at + STRIDE; one++) highest = totals[one] > highest ? totals[one] : highest;
    float scale = (float)(STEPS - 1) / highest;
    if (!(highest > 0 && highest <= FLT_MAX && scale <= FLT_MAX)) return 0;
    for (size_t at = 0; at < rows; at += SAMPLED * STRIDE)
        for (size_t one = at; one < at + STRIDE; one++) counts[(size_t)((totals[one] > 0 ? totals[one] : 0) * scale)]++;
    for (size_t step = STEPS - 1; step > 0; step--) {
        above += counts[step];
        if ((double)above >= wanted) return (float)step / scale;
    }
    return 0;
}

/* Takes the rows of a block whose totals reach the floor, and clears the totals. */
static void collect(Search *search, size_t first, size_t rows) {
    if (search->may_guess) {
        float guess = guess_floor(search->totals, rows, search->index->rows - first, search->k);
        search->is_guessed = (double)guess > search->floor;
        if (search->is_guessed) search->floor = (double)guess;
        search->may_guess = false;
    }
    for (size_t at = 0; at < rows; at += STRIDE) {
        unsigned bits = reaching(search->totals + at, (float)search->floor);
        if (rows - at < STRIDE) bits &= (1u << (rows - at)) - 1;
        for (; bits != 0; bits &= bits - 1) {
            size_t row = at + lowest_bit(bits);
            add_hit(search, (double)search->totals[row], first + row);
        }
    }
    memset(search->totals, 0, (rows + STRIDE) * sizeof *search->totals);
}

static void collect_wide(Search *search, size_t first, size_t rows) {
    for (size_t row = 0; row < rows; row++)
        if (search->wide_totals[row] >= search->floor) add_hit(search, search->wide_totals[row], first + row);
    memset(search->wide_totals, 0, rows * sizeof *search->wide_totals);
}

/* The postings of one term in one block, and how many the index has from there on. */
typedef struct {
    const uint32_t *postings;
    size_t count, left, pairs;
    const double *factors;
    double idf;
} Segment;

/* A segment that is longer than the list of pairs takes the weight of each pair from a table. */
static void add_segment(Search *search, const Segment *segment) {
    float *restrict totals = search->totals, *restrict weights = search->weights;
    const uint32_t *restrict postings = segment->postings;
    if (segment->count < segment->pairs || segment->pairs > MOST_IN_BLOCK) {
        for (size_t at = 0; at < segment->count; at++)
            totals[postings[at] & 0xFFFFu] += (float)(segment->idf * segment->factors[postings[at] >> 16]);
        return;
    }
    for (size_t pair = 0; pair < segment->pairs; pair++) weights[pair] = (float)(segment->idf * segment->factors[pair]);
    size_t at = 0;
    for (; at + STRIDE <= segment->count; at += STRIDE) {
        PREFETCH(postings + (at + AHEAD < segment->left ? at + AHEAD : at));
        for (size_t one = at; one < at + STRIDE; one++) totals[postings[one] & 0xFFFFu] += weights[postings[one] >> 16];
    }
    for (; at < segment->count; at++) totals[postings[at] & 0xFFFFu] += weights[postings[at] >> 16];
}

static void add_weighted_segment(Search *search, const Segment *segment, double times) {
    for (size_t at = 0; at < segment->count; at++) {
        float weight = (float)(segment->idf * segment->factors[segment->postings[at] >> 16]);
        search->wide_totals[segment->postings[at] & 0xFFFFu] += times * (double)weight;
    }
}

/* The segment at `at`; false where it is out of range. */
static bool read_segment(const Index *index, size_t at, size_t block, double idf, Segment *segment) {
    int64_t start = index->segment_starts[at], end = index->segment_starts[at + 1];
    int64_t first = index->block_pairs[block], last = index->block_pairs[block + 1];
    if (start < 0 || end < start || (uint64_t)end > index->posting_count) return false;
    if (first < 0 || last < first || (uint64_t)last > index->pairs) return false;
    *segment = (Segment){.postings = index->postings + start, .count = (size_t)(end - start), .left = index->posting_count - (size_t)start,
                         .pairs = (size_t)(last - first), .factors = index->factors + first, .idf = idf};
    return true;
}

/* The terms of one query; `times` is NULL, or a factor of each weight, which are then added in double. */
typedef struct {
    const int64_t *terms;
    const double *idfs, *times;
    size_t count;
} TermQuery;

static bool score_block(Search *search, const TermQuery *query, size_t block) {
    const Index *index = search->index;
    int64_t first = index->block_rows[block], last = index->block_rows[block + 1];
    if (first < 0 || last < first || (uint64_t)last > index->rows || last - first > MOST_IN_BLOCK) return false;
    bool any = false;
    for (size_t at = 0; at < query->count; at++) {
        size_t segment_at = search->next[at];
        if (segment_at == search->end[at] || index->segment_blocks[segment_at] != (int32_t)block) continue;
        Segment segment;
        if (!read_segment(index, segment_at, block, query->idfs[at], &segment)) return false;
        if (query->times == NULL)
            add_segment(search, &segment);
        else
            add_weighted_segment(search, &segment, query->times[at]);
        search->next[at]++;
        any = true;
    }
    if (any && query->times == NULL) collect(search, (size_t)first, (size_t)(last - first));
    if (any && query->times != NULL) collect_wide(search, (size_t)first, (size_t)(last - first));
    return true;
}

/* Scores all blocks; the floor may be guessed at the first rows that have a term. */
static bool score_rows(Search *search, const TermQuery *query, bool may_guess) {
    search->count = 0;
    search->floor = query->times == NULL ? (double)FLT_TRUE_MIN : DBL_TRUE_MIN;
    search->may_guess = may_guess;
    search->is_guessed = false;
    for (size_t at = 0; at < query->count; at++)
        if (!segments_of(search->index, query->terms[at], &search->next[at], &search->end[at])) return false;
    for (size_t block = 0; block < search->index->blocks; block++)
        if (!score_block(search, query, block)) return false;
    return true;
}

/* The best documents of a query, best first, in search->hits; false where the index is wrong.

   A guessed floor that fewer than k rows reach is too high: then all blocks are scored again. Documents that are sorted by subject
   make guesses wrong, so that a search with many of them stops guessing. */
static bool search_query(Search *search, const TermQuery *query) {
    if (!score_rows(search, query, query->times == NULL && 8 * search->misses <= search->guesses + 8)) return false;
    bool is_missed = search->is_guessed && search->count < search->k;
    search->guesses += search->is_guessed;
    search->misses += is_missed;
    if (is_missed && !score_rows(search, query, false)) return false;
    keep_best(search);
    Hit *sorted = sort_by_score(search->index->places, search->hits, search->room, search->count);
    search->room = sorted == search->hits ? search->room : search->hits;
    search->hits = sorted;
    return true;
}

static void free_search(Search *search) {
    free(search->hits);
    free(search->room);
    free(search->next);
    free(search->end);
    free(search->totals);
    free(search->weights);
    free(search->wide_totals);
}

/* Room for queries of up to `most_terms` terms; false without memory. */
static bool open_search(Search *search, const Index *index, size_t k, size_t most_terms, bool is_wide) {
    *search = (Search){.index = index, .k = k, .capacity = 3 * k + 256};
    search->hits = malloc(search->capacity * sizeof *search->hits);
    search->room = malloc(search->capacity * sizeof *search->room);
    search->next = malloc((most_terms + 1) * sizeof *search->next);
    search->end = malloc((most_terms + 1) * sizeof *search->end);
    search->totals = is_wide ? NULL : calloc(MOST_IN_BLOCK + STRIDE, sizeof *search->totals);
    search->weights = is_wide ? NULL : calloc(MOST_IN_BLOCK, sizeof *search->weights);
    search->wide_totals = is_wide ? calloc(MOST_IN_BLOCK, sizeof *search->wide_totals) : NULL;
    bool has_totals = is_wide ? search->wide_totals != NULL : search->totals != NULL && search->weights != NULL;
    return search->hits != NULL && search->room != NULL && search->next != NULL && search->end != NULL && has_totals;
}

#endif
