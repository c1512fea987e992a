/* Every row of TREC text, run or judgements, as columns: ids of documents one behind the other, numbers, and lines. */
#ifndef RANKPROOF_TABLE_TEXT_H
#define RANKPROOF_TABLE_TEXT_H

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
    bool marked;
    Table table;
} TableText;

static inline void table_free(Table *table) {
    free(table->text);
    free(table->bounds);
    free(table->lines);
    free(table->ranks);
    free(table->grades);
    free(table->scores);
    memset(table, 0, sizeof *table);
}

static inline void table_text_free(TableText *reader) {
    table_free(&reader->table);
    groups_free(&reader->groups);
    names_free(&reader->tags);
}

/* Room for so many rows, and for the bound after the last one. */
static inline Outcome table_reserve(Table *table, size_t wanted, bool run) {
    if (wanted < table->capacity) return DONE;
    if (wanted >= MOST_ITEMS) return NO_MEMORY;
    size_t each[4] = {table->capacity, table->capacity, table->capacity, table->capacity};
    TRY(grow((void **)&table->bounds, &each[0], wanted + 1, sizeof *table->bounds));
    TRY(grow((void **)&table->lines, &each[1], wanted + 1, sizeof *table->lines));
    TRY(grow((void **)(run ? &table->ranks : &table->grades), &each[2], wanted + 1, sizeof *table->ranks));
    if (run) TRY(grow((void **)&table->scores, &each[3], wanted + 1, sizeof *table->scores));
    table->capacity = each[0];
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
ALWAYS_INLINE Outcome begin_row(TableText *reader, Slice query, Slice doc, bool run) {
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

static inline Outcome table_score(TableText *reader, Slice token, double *score) {
    if (plain_score(token.at, token.size, score)) return DONE;
    Reading reading = any_score(token, score);
    if (reading == NEEDS_SLOW) TRY(reader->slow_number(reader->context, token, score));
    if (reading != NOT_A_NUMBER && *score - *score == 0) return DONE;
    return reject(&reader->lines->fault, "score", reader->lines->line);
}

static inline Outcome table_tag(TableText *reader, Slice tag) {
    if (reader->tag < reader->tags.count) {
        Slice before = name_at(&reader->tags, reader->tag);
        if (before.size == tag.size && same_padded(before.at, tag.at, tag.size)) return DONE;
    }
    return names_index(&reader->tags, tag, hash_padded(reader->seed, tag.at, tag.size), &reader->tag);
}

static inline Slice column_text(const char *text, Column column) { return (Slice){text + column.at, column.size}; }

ALWAYS_INLINE Outcome take_table_run_row(void *context, const char *text, const Column *columns) {
    TableText *reader = context;
    Table *table = &reader->table;
    TRY(begin_row(reader, column_text(text, columns[0]), column_text(text, columns[2]), true));
    TRY(table_score(reader, column_text(text, columns[4]), &table->scores[table->count]));
    table->ranks[table->count] = parse_rank(text + columns[3].at, columns[3].size);
    TRY(table_tag(reader, column_text(text, columns[5])));
    table->count++;
    return DONE;
}

ALWAYS_INLINE Outcome take_table_judgement(void *context, const char *text, const Column *columns) {
    TableText *reader = context;
    Table *table = &reader->table;
    TRY(begin_row(reader, column_text(text, columns[0]), column_text(text, columns[2]), false));
    if (!parse_grade(text + columns[3].at, columns[3].size, &table->grades[table->count]))
        return reject(&reader->lines->fault, "grade", reader->lines->line);
    reader->marked |= is_mark(column_text(text, columns[1]));
    table->count++;
    return DONE;
}

static Outcome take_odd_table_run_row(void *context, const char *text, const Column *columns) {
    return take_table_run_row(context, text, columns);
}

static Outcome take_odd_table_judgement(void *context, const char *text, const Column *columns) {
    return take_table_judgement(context, text, columns);
}

static Outcome cut_run_lines(TableText *reader) {
    return cut_lines(reader->lines, 6, take_table_run_row, take_odd_table_run_row, nothing_pending, reader);
}

static Outcome cut_qrels_lines(TableText *reader) {
    return cut_lines(reader->lines, 4, take_table_judgement, take_odd_table_judgement, nothing_pending, reader);
}

static inline bool is_grouped(const TableText *reader) {
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
static inline Outcome group_table(TableText *reader) {
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

/* Reads every row of a stream. */
static inline Outcome read_table(TableText *reader, bool run) {
    Lines *lines = reader->lines;
    TRY(lines_start(lines));
    while (true) {
        TRY(run ? cut_run_lines(reader) : cut_qrels_lines(reader));
        if (lines->ended) break;
        lines->keep = lines->at;
        TRY(lines_read(lines));
    }
    if (reader->table.count == 0) return reject(&lines->fault, "no-rows", 0);
    return is_grouped(reader) ? DONE : group_table(reader);
}

#endif
