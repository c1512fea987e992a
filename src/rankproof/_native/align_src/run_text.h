/* A run from TREC text: query Q0 doc rank score tag.
 *
 * Rows of the current query are collected as its lines are read, and aligned when the next query begins. Their columns are
 * recorded first and parsed into hashes and numbers some hundred rows at a time, each in a short loop of its own. If a query
 * occurs again after another one, the caller starts again with `grouped`: all text is kept, and rows are grouped at the end. */
#ifndef RANKPROOF_RUN_TEXT_H
#define RANKPROOF_RUN_TEXT_H

#include "groups.h"
#include "lines.h"

#define MOST_PENDING 512

/* The columns of a row that was cut but not parsed, counted from the text that is being cut. */
typedef struct {
    Column doc, rank, score;
    uint32_t group;
} PendingRow;

typedef struct {
    Lines *lines;
    Result *result;
    Seed seed;
    Options options;
    SlowNumber slow_number;
    void *context;
    Rows rows;
    size_t parsed;     /* rows up to this one are parsed, the others pending */
    size_t base;       /* where in the text the row offsets count from */
    size_t first_line; /* number of the line at `base` */
    size_t query;      /* index of the current query, or UNJUDGED */
    Slice query_id;    /* of the current query, padded; of size 0 before the first row */
    char *query_text, *tag_text;
    size_t query_size, query_capacity, tag_size, tag_capacity;
    bool grouped;
    Groups groups;
    PendingRow pending[MOST_PENDING];
} RunText;

static inline void run_text_free(RunText *run) {
    rows_free(&run->rows);
    groups_free(&run->groups);
    free(run->query_text);
    free(run->tag_text);
}

/* The column `steps` after the one that begins at `at`. */
static inline Slice later_column(const char *at, int steps) {
    for (; steps > 0; steps--) {
        while (!is_space(*at)) at++;
        while (is_space(*at)) at++;
    }
    const char *start = at;
    while (!is_space(*at)) at++;
    return (Slice){start, (size_t)(at - start)};
}

static inline size_t line_of_row(const RunText *run, size_t at) {
    const char *text = run->lines->buffer.text + run->base;
    return run->first_line + count_line_ends(text, 0, at);
}

/* Rejects a document that occurs twice; `first` and `second` are the offsets of its two ids from the base. */
static inline Outcome reject_duplicate(RunText *run, Slice query, size_t first, size_t second) {
    Fault *fault = &run->lines->fault;
    const char *text = run->lines->buffer.text + run->base;
    reject(fault, "duplicate", line_of_row(run, second));
    fault->first_line = line_of_row(run, first);
    fault->query = query;
    fault->doc = later_column(text + second, 0);
    fault->first_token = later_column(text + first, 2);
    fault->token = later_column(text + second, 2);
    return REJECTED;
}

/* Rejects a row, which is then removed from the rows. */
static Outcome reject_row(RunText *run, size_t row, const char *code, Slice token) {
    reject(&run->lines->fault, code, line_of_row(run, run->rows.at[row]));
    run->lines->fault.token = token;
    run->rows.count = run->parsed = row;
    return REJECTED;
}

static Outcome odd_score(RunText *run, size_t row, Slice token, double *score) {
    if (plain_score(token.at, token.size, score)) return DONE;
    Reading reading = any_score(token, score);
    if (reading == NEEDS_SLOW) TRY(run->slow_number(run->context, token, score));
    if (reading != NOT_A_NUMBER && *score - *score == 0) return DONE;
    return reject_row(run, row, "score", token);
}

ALWAYS_INLINE void parse_ids(RunText *run, const char *text, size_t from, size_t count) {
    Rows *rows = &run->rows;
    size_t shift = (size_t)(text - run->lines->buffer.text) - run->base;
    for (size_t i = 0; i < count; i++) {
        Column doc = run->pending[i].doc;
        rows->at[from + i] = shift + doc.at;
        rows->sizes[from + i] = doc.size;
        rows->hashes[from + i] = hash_padded(run->seed, text + doc.at, doc.size);
    }
    if (!run->grouped) return;
    for (size_t i = 0; i < count; i++) run->groups.of[from + i] = run->pending[i].group;
}

/* A rank is mostly the one before plus one, whose digits are then those before with a last digit greater by one. */
ALWAYS_INLINE void parse_ranks(RunText *run, const char *text, size_t from, size_t count) {
    const uint64_t last_digit = UINT64_C(1) << 56;
    int64_t *ranks = run->rows.ranks + from;
    uint64_t next_digits = 0;
    int64_t next = 0;
    for (size_t i = 0; i < count; i++) {
        Column rank = run->pending[i].rank;
        uint64_t digits = rank.size - 1 < 8 ? load64(text + rank.at) << (64 - 8 * rank.size) : 0;
        bool is_next = digits != 0 && digits == next_digits;
        ranks[i] = is_next ? next : parse_rank(text + rank.at, rank.size);
        bool counts_up = is_next || (digits != 0 && ranks[i] >= 0 && text[rank.at] != '-');
        next = ranks[i] + 1;
        next_digits = counts_up && digits >> 56 != '9' ? digits + last_digit : 0;
    }
}

/* Turns pending scores into keys, those from `first` to `last`; `parse_score` is tried first for each. */
ALWAYS_INLINE Outcome parse_scores(RunText *run, const char *text, size_t from, size_t first, size_t last,
                                   bool (*parse_score)(const char *, size_t, double *)) {
    Options options = run->options;
    double *keys = run->rows.keys + from;
    const int64_t *ranks = run->rows.ranks + from;
    for (size_t i = first; i < last; i++) {
        Slice token = {text + run->pending[i].score.at, run->pending[i].score.size};
        double score;
        if (RARELY(!parse_score(token.at, token.size, &score))) TRY(odd_score(run, from + i, token, &score));
        if (RARELY(options.by_rank && ranks[i] == NO_RANK)) return reject_row(run, from + i, "rank-text", token);
        keys[i] = key_of(&options, score, ranks[i]);
    }
    return DONE;
}

static Outcome parse_rows_plain(RunText *run, const char *text, size_t from, size_t count) {
    parse_ids(run, text, from, count);
    parse_ranks(run, text, from, count);
    return parse_scores(run, text, from, 0, count, plain_score);
}

#ifdef HAS_WIDE
TARGET_AVX2 static Outcome parse_rows_avx2(RunText *run, const char *text, size_t from, size_t count) {
    parse_ids(run, text, from, count);
    parse_ranks(run, text, from, count);
    return parse_scores(run, text, from, 0, count, wide_score);
}

TARGET_AVX512 static Outcome parse_rows_avx512(RunText *run, const char *text, size_t from, size_t count) {
    Options options = run->options;
    bool is_score = !options.by_rank && !options.lower_is_better && !options.float32;
    double *keys = run->rows.keys + from;
    size_t i = 0;
    parse_ids(run, text, from, count);
    parse_ranks(run, text, from, count);
    for (; !options.by_rank && i + 4 <= count; i += 4) {
        const PendingRow *pending = run->pending + i;
        const char *tokens[4] = {text + pending[0].score.at, text + pending[1].score.at, text + pending[2].score.at,
                                 text + pending[3].score.at};
        uint32_t sizes[4] = {pending[0].score.size, pending[1].score.size, pending[2].score.size, pending[3].score.size};
        if (RARELY(!four_scores(tokens, sizes, keys + i))) {
            TRY(parse_scores(run, text, from, i, i + 4, wide_score));
        } else if (!is_score) {
            for (size_t k = i; k < i + 4; k++) keys[k] = key_of(&options, keys[k], NO_RANK);
        }
    }
    return parse_scores(run, text, from, i, count, wide_score);
}
#endif

static Outcome parse_rows(RunText *run, const char *text, size_t from, size_t count) {
#ifdef HAS_WIDE
    if (run->lines->level >= LEVEL_AVX512) return parse_rows_avx512(run, text, from, count);
    if (run->lines->level >= LEVEL_AVX2) return parse_rows_avx2(run, text, from, count);
#endif
    return parse_rows_plain(run, text, from, count);
}

static Outcome parse_pending(void *context) {
    RunText *run = context;
    const char *text = run->lines->buffer.text + run->lines->at;
    size_t from = run->parsed, count = run->rows.count - from;
    if (count == 0) return DONE;
    TRY(rows_reserve(&run->rows, run->rows.count));
    if (run->grouped) TRY(groups_reserve(&run->groups, run->rows.count));
    TRY(parse_rows(run, text, from, count));
    run->parsed = run->rows.count;
    return DONE;
}

/* Aligns the query whose rows have been collected. */
static inline Outcome end_current(RunText *run) {
    Repeat repeat;
    if (run->rows.count == 0) return DONE;
    TRY(parse_pending(run));
    run->rows.text = run->lines->buffer.text + run->base;
    TRY(end_query(run->result, run->query, &run->rows, &repeat));
    if (repeat.second != 0) return reject_duplicate(run, run->query_id, run->rows.at[repeat.first], run->rows.at[repeat.second]);
    run->rows.count = run->parsed = 0;
    return DONE;
}

static Outcome change_group(RunText *run, Slice query) {
    TRY(enter_group(&run->groups, query, run->seed));
    run->query_id = name_at(&run->groups.names, run->groups.current);
    return DONE;
}

static Outcome change_query(RunText *run, Slice query) {
    if (run->grouped) return change_group(run, query);
    TRY(end_current(run));
    run->base = (size_t)(query.at - run->lines->buffer.text);
    run->first_line = run->lines->line;
    TRY(copy_padded(&run->query_text, &run->query_size, &run->query_capacity, query));
    run->query_id = (Slice){run->query_text, run->query_size};
    return begin_query(run->result, run->query_id, &run->query);
}

static Outcome change_tag(RunText *run, Slice tag) {
    TRY(copy_padded(&run->tag_text, &run->tag_size, &run->tag_capacity, tag));
    return meet_tag(run->result, (Slice){run->tag_text, tag.size});
}

ALWAYS_INLINE Outcome take_run_row(void *context, const char *text, const Column *columns) {
    RunText *run = context;
    const char *query = text + columns[0].at, *tag = text + columns[5].at;
    if (RARELY(columns[0].size != run->query_id.size || !same_padded(query, run->query_id.at, columns[0].size)))
        TRY(change_query(run, (Slice){query, columns[0].size}));
    if (RARELY(columns[5].size != run->tag_size || !same_padded(tag, run->tag_text, columns[5].size)))
        TRY(change_tag(run, (Slice){tag, columns[5].size}));
    if (RARELY(run->rows.count - run->parsed == MOST_PENDING)) TRY(parse_pending(run));
    run->pending[run->rows.count++ - run->parsed] = (PendingRow){columns[2], columns[3], columns[4], run->groups.current};
    return DONE;
}

static Outcome take_odd_run_row(void *context, const char *text, const Column *columns) {
    return take_run_row(context, text, columns);
}

#endif
