/* Every row of a run or of judgements as columns: ids of documents one behind the other, numbers, and lines. */
#ifndef RANKPROOF_TABLE_H
#define RANKPROOF_TABLE_H

#include "groups.h"
#include "lines.h"
#include "qrels_text.h"

/* The columns, row by row; the id of row i is text[bounds[i]] to text[bounds[i + 1]]. */
typedef struct {
    char *text;
    int64_t *bounds, *lines, *ranks, *grades; /* ranks and scores: of a run; grades: of judgements */
    double *scores;
    size_t text_size, text_capacity, count, capacity;
} Table;

typedef struct {
    Lines *lines;
    SlowNumber slow_number;
    void *context;
    Seed seed;
    Groups groups;
    Slice query_id; /* of the row before; of size 0 before the first row */
    Names tags;
    size_t tag; /* of the row before */
    bool marked; /* the column of who judged, or of subtopics, must be read in Python */
    FirstSecond second;
    Table table;
} TableReader;

static inline void table_free(Table *table) {
    free(table->text);
    free(table->bounds);
    free(table->lines);
    free(table->ranks);
    free(table->grades);
    free(table->scores);
}

static inline void table_reader_free(TableReader *reader) {
    table_free(&reader->table);
    groups_free(&reader->groups);
    names_free(&reader->tags);
}

/* Room for so many rows, and for the bound after the last one. */
static inline Outcome table_reserve(Table *table, size_t wanted, bool run) {
    if (wanted < table->capacity) return DONE;
    if (wanted >= MOST_ITEMS) return NO_MEMORY;
    void **arrays[] = {(void **)&table->bounds, (void **)&table->lines, (void **)(run ? &table->ranks : &table->grades),
                       (void **)&table->scores};
    size_t capacity = table->capacity;
    for (int i = 0; i < (run ? 4 : 3); i++) {
        capacity = table->capacity;
        TRY(grow(arrays[i], &capacity, wanted + 1, sizeof *table->bounds));
    }
    table->capacity = capacity;
    return DONE;
}

static inline Outcome table_add_id(Table *table, Slice id) {
    TRY(text_room(&table->text, &table->text_capacity, table->text_size, id.size));
    memcpy(table->text + table->text_size, id.at, id.size);
    table->bounds[table->count] = (int64_t)table->text_size;
    table->text_size += id.size;
    table->bounds[table->count + 1] = (int64_t)table->text_size;
    return DONE;
}

/* Adds what a row of either kind has; the row counts once its numbers are there too. */
ALWAYS_INLINE Outcome begin_row(TableReader *reader, Slice query, Slice doc, bool run) {
    Table *table = &reader->table;
    if (RARELY(query.size != reader->query_id.size || !same_padded(query.at, reader->query_id.at, query.size))) {
        TRY(enter_group(&reader->groups, query, reader->seed));
        reader->query_id = name_at(&reader->groups.names, reader->groups.current);
    }
    TRY(table_reserve(table, table->count + 1, run));
    TRY(groups_reserve(&reader->groups, table->count + 1));
    TRY(table_add_id(table, doc));
    reader->groups.of[table->count] = reader->groups.current;
    table->lines[table->count] = (int64_t)reader->lines->line;
    return DONE;
}

static inline Outcome table_score(TableReader *reader, Slice token, double *score) {
    if (plain_score(token.at, token.size, score)) return DONE;
    Reading reading = any_score(token, score);
    if (reading == NEEDS_SLOW) TRY(reader->slow_number(reader->context, token, score));
    if (reading != NOT_A_NUMBER && *score - *score == 0) return DONE;
    return reject(&reader->lines->fault, "score", reader->lines->line);
}

static inline Outcome table_tag(TableReader *reader, Slice tag) {
    if (reader->tag < reader->tags.count) {
        Slice before = name_at(&reader->tags, reader->tag);
        if (before.size == tag.size && same_padded(before.at, tag.at, tag.size)) return DONE;
    }
    return names_index(&reader->tags, tag, hash_padded(reader->seed, tag.at, tag.size), &reader->tag);
}

/* What a column holds; `value` is the score of a run or the grade of a judgement, `label` who judged. */
typedef enum { ROLE_QUERY, ROLE_DOC, ROLE_VALUE, ROLE_RANK, ROLE_TAG, ROLE_LABEL, ROLES } Role;

/* For each role its column, -1 where there is none. */
typedef struct {
    int of[ROLES];
} Places;

/* For each role its cell, which is padded; at is NULL where the row has none. */
typedef struct {
    Slice of[ROLES];
} Cells;

static inline bool places_fit(const Places *places, size_t columns, bool run) {
    for (int role = 0; role < ROLES; role++) {
        if (places->of[role] >= 0 && (size_t)places->of[role] >= columns) return false;
    }
    bool valued = places->of[ROLE_VALUE] >= 0 || (run && places->of[ROLE_RANK] >= 0);
    return valued && places->of[ROLE_QUERY] >= 0 && places->of[ROLE_DOC] >= 0;
}

/* Rejects what the Python reader decides on. */
static inline Outcome give_up(TableReader *reader) { return reject(&reader->lines->fault, "not-plain", reader->lines->line); }

/* A rank as text: a whole number, also with zeros after a point. */
static inline int64_t rank_of_text(Slice text) {
    const char *point = memchr(text.at, '.', text.size);
    size_t whole = point == NULL ? text.size : (size_t)(point - text.at);
    for (size_t i = whole + 1; i < text.size; i++) {
        if (text.at[i] != '0') return NO_RANK;
    }
    return parse_rank(text.at, whole);
}

/* Adds a row of a run; one without a score has minus its rank as the score. */
static inline Outcome add_run_cells(TableReader *reader, const Cells *cells) {
    Table *table = &reader->table;
    int64_t rank = cells->of[ROLE_RANK].at == NULL ? NO_RANK : rank_of_text(cells->of[ROLE_RANK]);
    if (cells->of[ROLE_QUERY].size == 0 || cells->of[ROLE_DOC].size == 0) return give_up(reader);
    if (cells->of[ROLE_VALUE].at == NULL && rank == NO_RANK) return give_up(reader);
    TRY(begin_row(reader, cells->of[ROLE_QUERY], cells->of[ROLE_DOC], true));
    table->ranks[table->count] = rank;
    table->scores[table->count] = -(double)rank;
    if (cells->of[ROLE_VALUE].at != NULL) TRY(table_score(reader, cells->of[ROLE_VALUE], &table->scores[table->count]));
    if (cells->of[ROLE_TAG].at != NULL) TRY(table_tag(reader, cells->of[ROLE_TAG]));
    table->count++;
    return DONE;
}

static inline Outcome add_judgement_cells(TableReader *reader, const Cells *cells) {
    Table *table = &reader->table;
    if (cells->of[ROLE_QUERY].size == 0 || cells->of[ROLE_DOC].size == 0) return give_up(reader);
    TRY(begin_row(reader, cells->of[ROLE_QUERY], cells->of[ROLE_DOC], false));
    if (!parse_grade(cells->of[ROLE_VALUE].at, cells->of[ROLE_VALUE].size, &table->grades[table->count])) return give_up(reader);
    reader->marked |= cells->of[ROLE_LABEL].at != NULL && is_mark(cells->of[ROLE_LABEL]);
    table->count++;
    return DONE;
}

static inline Outcome add_cells(TableReader *reader, const Cells *cells, bool run) {
    return run ? add_run_cells(reader, cells) : add_judgement_cells(reader, cells);
}

static inline bool is_grouped(const TableReader *reader) {
    for (size_t i = 1; i < reader->table.count; i++) {
        if (reader->groups.of[i] < reader->groups.of[i - 1]) return false;
    }
    return true;
}

/* Copies one row to the end of another table. */
static inline Outcome copy_row(const Table *from, size_t row, Table *to) {
    Slice id = {from->text + from->bounds[row], (size_t)(from->bounds[row + 1] - from->bounds[row])};
    TRY(table_reserve(to, to->count + 1, from->scores != NULL));
    TRY(table_add_id(to, id));
    to->lines[to->count] = from->lines[row];
    if (from->ranks != NULL) to->ranks[to->count] = from->ranks[row];
    if (from->grades != NULL) to->grades[to->count] = from->grades[row];
    if (from->scores != NULL) to->scores[to->count] = from->scores[row];
    to->count++;
    return DONE;
}

/* Brings the rows of each query together, in the order in which they came. */
static inline Outcome group_table(TableReader *reader) {
    Grouping grouping = {NULL, NULL};
    Table grouped;
    memset(&grouped, 0, sizeof grouped);
    Outcome outcome = group_rows(&reader->groups, reader->table.count, &grouping);
    for (size_t i = 0; outcome == DONE && i < reader->table.count; i++)
        outcome = copy_row(&reader->table, grouping.rows[i], &grouped);
    free(grouping.starts);
    free(grouping.rows);
    table_free(outcome == DONE ? &reader->table : &grouped);
    if (outcome == DONE) reader->table = grouped;
    return outcome;
}

/* Ends a table; one without rows is rejected. */
static inline Outcome finish_table(TableReader *reader) {
    if (reader->table.count == 0) return reject(&reader->lines->fault, "no-rows", 0);
    return is_grouped(reader) ? DONE : group_table(reader);
}

#endif
