/* Rows of TREC text as columns. */
#ifndef RANKPROOF_TABLE_TEXT_H
#define RANKPROOF_TABLE_TEXT_H

#include "table.h"

static inline Slice column_text(const char *text, Column column) { return (Slice){text + column.at, column.size}; }

ALWAYS_INLINE Outcome take_table_run_row(void *context, const char *text, const Column *columns) {
    TableReader *reader = context;
    Table *table = &reader->table;
    TRY(begin_row(reader, column_text(text, columns[0]), column_text(text, columns[2]), true));
    TRY(table_score(reader, column_text(text, columns[4]), &table->scores[table->count]));
    table->ranks[table->count] = parse_rank(text + columns[3].at, columns[3].size);
    TRY(table_tag(reader, column_text(text, columns[5])));
    table->count++;
    return DONE;
}

ALWAYS_INLINE Outcome take_table_judgement(void *context, const char *text, const Column *columns) {
    TableReader *reader = context;
    Table *table = &reader->table;
    TRY(begin_row(reader, column_text(text, columns[0]), column_text(text, columns[2]), false));
    if (!parse_grade(text + columns[3].at, columns[3].size, &table->grades[table->count]))
        return reject(&reader->lines->fault, "grade", reader->lines->line);
    reader->marked |= is_second_read_in_python(&reader->second, column_text(text, columns[1]));
    table->count++;
    return DONE;
}

static Outcome take_odd_table_run_row(void *context, const char *text, const Column *columns) {
    return take_table_run_row(context, text, columns);
}

static Outcome take_odd_table_judgement(void *context, const char *text, const Column *columns) {
    return take_table_judgement(context, text, columns);
}

static Outcome cut_run_lines(TableReader *reader) {
    return cut_lines(reader->lines, 6, take_table_run_row, take_odd_table_run_row, nothing_pending, reader);
}

static Outcome cut_qrels_lines(TableReader *reader) {
    return cut_lines(reader->lines, 4, take_table_judgement, take_odd_table_judgement, nothing_pending, reader);
}

/* Reads every row of a stream. */
static inline Outcome read_table(TableReader *reader, bool run) {
    Lines *lines = reader->lines;
    TRY(lines_start(lines));
    while (true) {
        TRY(run ? cut_run_lines(reader) : cut_qrels_lines(reader));
        if (lines->ended) break;
        lines->keep = lines->at;
        TRY(lines_read(lines));
    }
    return finish_table(reader);
}

#endif
