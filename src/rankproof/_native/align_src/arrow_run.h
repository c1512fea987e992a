/* A run from Arrow batches: adjacent rows of a query are aligned one query at a time, others in groups.
 *
 * If the stream cannot be read again, the batches are kept until the end, for a second pass when a query occurs again. */
#ifndef RANKPROOF_ARROW_RUN_H
#define RANKPROOF_ARROW_RUN_H

#include "arrow.h"
#include "fault.h"
#include "groups.h"
#include "utf8.h"

enum { QUERY_COLUMN, DOC_COLUMN, SCORE_COLUMN, RANK_COLUMN, TAG_COLUMN, ARROW_COLUMNS };

typedef struct {
    Result *result;
    Seed seed;
    Options options;
    int places[ARROW_COLUMNS]; /* -1 for a column that is not there */
    ArrowKind kinds[ARROW_COLUMNS], dictionaries[ARROW_COLUMNS];
    bool keeps;
    struct ArrowArray *batches; /* those kept */
    size_t batches_count, batches_capacity;
    double *scores; /* of the rows, as they came */
    size_t scores_capacity;
    Rows rows;
    char *text; /* ids of the rows, behind each other */
    size_t text_size, text_capacity;
    char *query_text, *tag_text;
    size_t query_size, query_capacity, tag_size, tag_capacity;
    size_t query, row, first_row; /* row: the number of rows before this one; first_row: those before the query's first */
    bool grouped;
    Groups groups;
    Fault fault;
} ArrowRun;

static inline void arrow_run_free(ArrowRun *run) {
    for (size_t i = 0; i < run->batches_count; i++) run->batches[i].release(&run->batches[i]);
    free(run->batches);
    free(run->scores);
    rows_free(&run->rows);
    free(run->text);
    free(run->query_text);
    free(run->tag_text);
    groups_free(&run->groups);
}

static inline ArrowColumn arrow_column(const ArrowRun *run, const struct ArrowArray *batch, int which) {
    const struct ArrowArray *array = batch->children[run->places[which]];
    return (ArrowColumn){run->kinds[which], run->dictionaries[which], array, (size_t)(batch->offset + array->offset), {0}};
}

/* Rejects a document that occurs twice; rows are counted among those of the query. */
static inline Outcome reject_arrow_duplicate(ArrowRun *run, Slice query, Repeat repeat) {
    size_t first = run->first_row + repeat.first, second = run->first_row + repeat.second;
    reject(&run->fault, "duplicate", second + 1);
    run->fault.first_line = first + 1;
    run->fault.query = query;
    run->fault.doc = row_id(&run->rows, repeat.second);
    run->fault.first_score = run->scores[repeat.first];
    run->fault.score = run->scores[repeat.second];
    return REJECTED;
}

static inline Outcome end_arrow_query(ArrowRun *run) {
    Repeat repeat;
    if (run->rows.count == 0) return DONE;
    run->rows.text = run->text;
    TRY(end_query(run->result, run->query, &run->rows, &repeat));
    if (repeat.second != 0) return reject_arrow_duplicate(run, (Slice){run->query_text, run->query_size}, repeat);
    run->rows.count = 0;
    run->text_size = 0;
    return DONE;
}

static inline Outcome end_arrow_groups(ArrowRun *run) {
    FirstRepeat first;
    run->rows.text = run->text;
    TRY(end_groups(run->result, &run->groups, &run->rows, &first));
    return first.rows.second == 0 ? DONE : reject_arrow_duplicate(run, name_at(&run->groups.names, first.group), first.rows);
}

static inline Outcome reject_id(ArrowRun *run, const char *code, const char *column) {
    reject(&run->fault, code, run->row + 1);
    run->fault.column = column;
    return REJECTED;
}

static inline Outcome reject_nul(ArrowRun *run, Slice id, const char *column) {
    reject_id(run, "id-nul", column);
    run->fault.token = id;
    return REJECTED;
}

static inline Outcome check_id(ArrowRun *run, Slice id, const char *column) {
    if (RARELY(id.at == NULL)) return reject_id(run, "id-null", column);
    if (RARELY(id.size == 0)) return reject_id(run, "id-empty", column);
    if (RARELY(id.size > UINT32_MAX)) return NO_MEMORY;
    if (RARELY(memchr(id.at, 0, id.size) != NULL)) return reject_nul(run, id, column);
    if (RARELY(!is_ascii(id.at, id.size)) && first_bad_utf8(id.at, id.size) != id.size) return reject_id(run, "id-utf8", column);
    return DONE;
}

static inline Outcome change_arrow_query(ArrowRun *run, Slice query) {
    TRY(check_id(run, query, "query"));
    if (!run->grouped) TRY(end_arrow_query(run));
    TRY(copy_padded(&run->query_text, &run->query_size, &run->query_capacity, query));
    Slice copy = {run->query_text, run->query_size};
    if (run->grouped) return enter_group(&run->groups, copy, run->seed);
    run->first_row = run->row;
    return begin_query(run->result, copy, &run->query);
}

static inline Outcome change_arrow_tag(ArrowRun *run, Slice tag) {
    if (tag.at == NULL || first_bad_utf8(tag.at, tag.size) != tag.size) return DONE;
    TRY(copy_padded(&run->tag_text, &run->tag_size, &run->tag_capacity, tag));
    return meet_tag(run->result, (Slice){run->tag_text, run->tag_size});
}

/* Copies the document's id behind the others and gives the row its hash. */
static inline Outcome keep_doc(ArrowRun *run, Slice doc, size_t row) {
    TRY(text_room(&run->text, &run->text_capacity, run->text_size, doc.size));
    char *copy = run->text + run->text_size;
    memcpy(copy, doc.at, doc.size);
    memset(copy + doc.size, 0, 8);
    run->rows.at[row] = run->text_size;
    run->rows.sizes[row] = (uint32_t)doc.size;
    run->rows.hashes[row] = hash_padded(run->seed, copy, doc.size);
    run->text_size += doc.size;
    return DONE;
}

static inline Outcome reject_score(ArrowRun *run, double score) {
    reject(&run->fault, "score-infinite", run->row + 1);
    run->fault.score = score;
    return REJECTED;
}

static inline int64_t arrow_rank(const ArrowColumn *column, size_t row) {
    if (column->array == NULL || arrow_is_null(column->array, row + column->offset)) return NO_RANK;
    int64_t rank = arrow_integer(column->kind, column->array, row + column->offset);
    return column->kind == UINT64 && rank < 0 ? NO_RANK : rank;
}

static Outcome more_arrow_rows(ArrowRun *run) {
    TRY(rows_reserve(&run->rows, run->rows.count + 1));
    TRY(groups_reserve(&run->groups, run->rows.capacity));
    return grow((void **)&run->scores, &run->scores_capacity, run->rows.capacity, sizeof *run->scores);
}

static inline Outcome take_arrow_row(ArrowRun *run, ArrowColumn *columns, size_t row) {
    Slice doc = arrow_id(&columns[DOC_COLUMN], row), query = arrow_id(&columns[QUERY_COLUMN], row);
    if (query.size == 0 || query.size != run->query_size || memcmp(query.at, run->query_text, query.size) != 0)
        TRY(change_arrow_query(run, query));
    TRY(check_id(run, doc, "document"));
    const ArrowColumn *scores = &columns[SCORE_COLUMN];
    if (RARELY(arrow_is_null(scores->array, row + scores->offset))) return reject(&run->fault, "score-null", run->row + 1);
    double score = arrow_number(scores, row);
    if (RARELY(score - score != 0)) return reject_score(run, score);
    int64_t rank = arrow_rank(&columns[RANK_COLUMN], row);
    if (RARELY(run->options.by_rank && rank == NO_RANK)) return reject(&run->fault, "rank-text", run->row + 1);
    Slice tag = columns[TAG_COLUMN].array == NULL ? (Slice){NULL, 0} : arrow_id(&columns[TAG_COLUMN], row);
    if (tag.at != NULL && (run->tag_text == NULL || tag.size != run->tag_size || memcmp(tag.at, run->tag_text, tag.size) != 0))
        TRY(change_arrow_tag(run, tag));
    if (RARELY(run->rows.count == run->rows.capacity || run->rows.count >= run->scores_capacity)) TRY(more_arrow_rows(run));
    TRY(keep_doc(run, doc, run->rows.count));
    run->scores[run->rows.count] = score;
    run->rows.keys[run->rows.count] = key_of(&run->options, score, rank);
    run->rows.ranks[run->rows.count] = rank;
    if (run->grouped) run->groups.of[run->rows.count] = run->groups.current;
    run->rows.count++;
    run->row++;
    return DONE;
}

static inline Outcome take_batch(ArrowRun *run, const struct ArrowArray *batch) {
    ArrowColumn columns[ARROW_COLUMNS];
    memset(columns, 0, sizeof columns);
    for (int i = 0; i < ARROW_COLUMNS; i++) {
        if (run->places[i] >= 0) columns[i] = arrow_column(run, batch, i);
    }
    for (size_t row = 0; row < (size_t)batch->length; row++) {
        if (RARELY(arrow_is_null(batch, row + (size_t)batch->offset))) return reject_id(run, "id-null", "query");
        TRY(take_arrow_row(run, columns, row));
    }
    return DONE;
}

/* Reads the rows of a batch, and keeps or releases it. */
static inline Outcome use_batch(ArrowRun *run, struct ArrowArray *batch, bool takes) {
    Outcome outcome = DONE, kept = DONE;
    if (takes) outcome = take_batch(run, batch);
    if (run->keeps) kept = grow((void **)&run->batches, &run->batches_capacity, run->batches_count + 1, sizeof *batch);
    if (run->keeps && kept == DONE) {
        run->batches[run->batches_count++] = *batch;
    } else {
        batch->release(batch);
    }
    return kept == DONE ? outcome : kept;
}

/* After a fault: a duplicate above it is reported instead. */
static inline Outcome first_arrow_fault(ArrowRun *run) {
    Fault fault = run->fault;
    if (strcmp(fault.code, "duplicate") == 0) return REJECTED;
    TRY(run->grouped ? end_arrow_groups(run) : end_arrow_query(run));
    run->fault = fault;
    return REJECTED;
}

static inline Outcome end_arrow_run(ArrowRun *run) {
    TRY(run->grouped ? end_arrow_groups(run) : end_arrow_query(run));
    return run->result->rows == 0 ? reject(&run->fault, "no-rows", 0) : DONE;
}

/* Reads the kept batches again, in groups. */
static inline Outcome regroup_arrow(ArrowRun *run) {
    run->grouped = true;
    run->rows.count = run->text_size = run->query_size = run->row = run->first_row = 0;
    free(run->tag_text);
    run->tag_text = NULL;
    run->tag_capacity = 0;
    for (size_t i = 0; i < run->batches_count; i++) {
        Outcome outcome = take_batch(run, &run->batches[i]);
        if (outcome == REJECTED) return first_arrow_fault(run);
        TRY(outcome);
    }
    return end_arrow_run(run);
}

#endif
