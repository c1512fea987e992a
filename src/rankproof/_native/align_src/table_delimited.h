/* Rows of CSV, TSV and BEIR text as columns. */
#ifndef RANKPROOF_TABLE_DELIMITED_H
#define RANKPROOF_TABLE_DELIMITED_H

#include "table.h"

#define WHITE_SPACE '\0'

/* How a table is written. `header` is the number of its header's line; without one it is 0, and quotes mean nothing.
 * `delimiter` is WHITE_SPACE for columns separated by any white space. */
typedef struct {
    bool run;
    char delimiter;
    size_t header, columns;
    Places places;
} Layout;

typedef struct {
    TableReader *table;
    Layout layout;
    Slice *fields;
    size_t count; /* fields of the line that was split */
} DelimitedReader;

/* Adds a field; what exceeds the columns is counted only. */
static inline void add_field(DelimitedReader *reader, const char *from, const char *to) {
    if (reader->count < reader->layout.columns) reader->fields[reader->count] = (Slice){from, (size_t)(to - from)};
    reader->count++;
}

/* The quoted field at `at`, its doubled quotes made single in place; returns the byte after it, NULL if it does not end. */
static inline char *take_quoted(DelimitedReader *reader, char *at, const char *end) {
    char *from = ++at, *to = from;
    for (; at < end; *to++ = *at++) {
        if (*at != '"') continue;
        if (at + 1 == end || at[1] != '"') {
            add_field(reader, from, to);
            return at + 1;
        }
        at++;
    }
    return NULL;
}

static inline char *take_bare(DelimitedReader *reader, char *at, char *end) {
    char *stop = memchr(at, reader->layout.delimiter, (size_t)(end - at));
    if (stop == NULL) stop = end;
    add_field(reader, at, stop);
    return stop;
}

static inline void split_white_space(DelimitedReader *reader, char *text, size_t size) {
    Column columns[MOST_COLUMNS];
    size_t found = split(text, 0, size, columns);
    for (size_t i = 0; i < found && i < MOST_COLUMNS; i++) {
        char *from = text + columns[i].at;
        add_field(reader, from, from + columns[i].size);
    }
    reader->count = found;
}

/* Splits a line into fields; false if a quoted field does not end, or does not end at a delimiter. */
static inline bool split_fields(DelimitedReader *reader, char *text, size_t size) {
    char *at = text, *end = text + size;
    reader->count = 0;
    if (reader->layout.delimiter == WHITE_SPACE) return split_white_space(reader, text, size), true;
    while (true) {
        bool quoted = reader->layout.header > 0 && at < end && *at == '"';
        at = quoted ? take_quoted(reader, at, end) : take_bare(reader, at, end);
        if (at == NULL) return false;
        if (at == end) return true;
        if (*at++ != reader->layout.delimiter) return false;
    }
}

/* Passes over a comment; in a table with a header, one with quotes or with as many fields as a row is left to Python. */
static inline Outcome skip_comment(DelimitedReader *reader, char *text, size_t size) {
    if (reader->layout.header == 0) return DONE;
    if (memchr(text, '"', size) != NULL || !split_fields(reader, text, size)) return give_up(reader->table);
    return reader->count == reader->layout.columns ? give_up(reader->table) : DONE;
}

static Outcome take_delimited_line(void *context, char *text, size_t size) {
    DelimitedReader *reader = context;
    size_t line = reader->table->lines->line;
    if (line < reader->layout.header || is_blank(text, size)) return DONE;
    if (*text == '#') return skip_comment(reader, text, size);
    if (!split_fields(reader, text, size) || reader->count != reader->layout.columns) return give_up(reader->table);
    if (line == reader->layout.header) return DONE;
    Cells cells;
    for (int role = 0; role < ROLES; role++) {
        int place = reader->layout.places.of[role];
        cells.of[role] = place < 0 ? (Slice){NULL, 0} : reader->fields[place];
    }
    return add_cells(reader->table, &cells, reader->layout.run);
}

/* Reads every row of a stream. */
static inline Outcome read_delimited(TableReader *table, const Layout *layout) {
    DelimitedReader reader = {table, *layout, NULL, 0};
    if (!places_fit(&layout->places, layout->columns, layout->run)) return give_up(table);
    reader.fields = calloc(layout->columns, sizeof *reader.fields);
    if (reader.fields == NULL) return NO_MEMORY;
    Outcome outcome = each_line(table->lines, take_delimited_line, &reader);
    free(reader.fields);
    return outcome == DONE ? finish_table(table) : outcome;
}

#endif
