/* A run from TREC text: query Q0 doc rank score tag.
 *
 * Rows of the current query are gathered while its lines stream by, and settled when the next query begins. Where a query
 * comes back after another one the caller starts again with `grouped`: all text stays, and rows are put in groups at the end. */
#ifndef RANKPROOF_RUN_TEXT_H
#define RANKPROOF_RUN_TEXT_H

#include "groups.h"
#include "lines.h"

typedef struct {
    Lines *lines;
    Result *result;
    Seed seed;
    Options options;
    SlowNumber slow_number;
    void *context;
    Rows rows;
    size_t base;       /* where in the text the row offsets count from */
    size_t first_line; /* number of the line at `base` */
    size_t query;      /* index of the current query, or STRANGER */
    char *query_text, *tag_text; /* the current ones, padded; NULL before the first row */
    size_t query_size, query_capacity, tag_size, tag_capacity;
    bool grouped;
    Groups groups;
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
    const char *text = run->lines->text + run->base;
    return run->first_line + count_line_ends(text, 0, at);
}

/* Refuses a document that stands twice; `first` and `second` are where its two ids lie, counted from the base. */
static inline Outcome refuse_duplicate(RunText *run, Slice query, size_t first, size_t second) {
    Fault *fault = &run->lines->fault;
    const char *text = run->lines->text + run->base;
    refuse(fault, "duplicate", line_of_row(run, second));
    fault->first_line = line_of_row(run, first);
    fault->query = query;
    fault->doc = later_column(text + second, 0);
    fault->first_token = later_column(text + first, 2);
    fault->token = later_column(text + second, 2);
    return REFUSED;
}

/* Settles the query whose rows have been gathered. */
static inline Outcome end_current(RunText *run) {
    Repeat repeat;
    if (run->rows.count == 0) return DONE;
    run->rows.text = run->lines->text + run->base;
    TRY(end_query(run->result, run->query, &run->rows, &repeat));
    if (repeat.second != 0) {
        Slice query = {run->query_text, run->query_size};
        return refuse_duplicate(run, query, run->rows.at[repeat.first], run->rows.at[repeat.second]);
    }
    run->rows.count = 0;
    return DONE;
}

static Outcome change_query(RunText *run, const char *at, size_t size) {
    if (run->grouped) {
        TRY(enter_group(&run->groups, (Slice){at, size}, run->seed));
    } else {
        TRY(end_current(run));
        run->base = run->lines->keep = (size_t)(at - run->lines->text);
        run->first_line = run->lines->line;
    }
    TRY(copy_padded(&run->query_text, &run->query_size, &run->query_capacity, (Slice){at, size}));
    return run->grouped ? DONE : begin_query(run->result, (Slice){run->query_text, size}, &run->query);
}

static Outcome change_tag(RunText *run, Slice tag) {
    TRY(copy_padded(&run->tag_text, &run->tag_size, &run->tag_capacity, tag));
    return meet_tag(run->result, (Slice){run->tag_text, tag.size});
}

static Outcome odd_score(RunText *run, Slice token, double *score) {
    Reading reading = any_score(token, score);
    if (reading == NEEDS_SLOW) TRY(run->slow_number(run->context, token, score));
    if (reading != NOT_A_NUMBER && *score - *score == 0) return DONE;
    refuse(&run->lines->fault, "score", run->lines->line);
    run->lines->fault.token = token;
    return REFUSED;
}

static Outcome more_rows(RunText *run) {
    TRY(rows_reserve(&run->rows, run->rows.count + 1));
    return run->grouped ? groups_reserve(&run->groups, run->rows.capacity) : DONE;
}

ALWAYS_INLINE Outcome take_run_row(void *context, const char *text, const Column *columns) {
    RunText *run = context;
    Rows *rows = &run->rows;
    const char *query = text + columns[0].at, *doc = text + columns[2].at, *tag = text + columns[5].at;
    if (RARELY(columns[0].size != run->query_size || !same_padded(query, run->query_text, columns[0].size)))
        TRY(change_query(run, query, columns[0].size));
    double score;
    if (RARELY(!plain_score(text + columns[4].at, columns[4].size, &score)))
        TRY(odd_score(run, (Slice){text + columns[4].at, columns[4].size}, &score));
    int64_t rank = parse_rank(text + columns[3].at, columns[3].size);
    if (RARELY(run->options.by_rank && rank == NO_RANK)) return refuse(&run->lines->fault, "rank-text", run->lines->line);
    if (RARELY(columns[5].size != run->tag_size || !same_padded(tag, run->tag_text, columns[5].size)))
        TRY(change_tag(run, (Slice){tag, columns[5].size}));
    if (RARELY(rows->count == rows->capacity)) TRY(more_rows(run));
    size_t row = rows->count++;
    rows->at[row] = (size_t)(doc - run->lines->text) - run->base;
    rows->sizes[row] = columns[2].size;
    rows->hashes[row] = hash_padded(run->seed, doc, columns[2].size);
    rows->keys[row] = key_of(&run->options, score, rank);
    rows->ranks[row] = rank;
    if (run->grouped) run->groups.of[row] = run->groups.current;
    return DONE;
}

#endif
