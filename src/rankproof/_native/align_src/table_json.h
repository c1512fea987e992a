/* Rows of JSON and JSONL text as columns: a mapping of mappings, an array of rows, or a row on each line. */
#ifndef RANKPROOF_TABLE_JSON_H
#define RANKPROOF_TABLE_JSON_H

#include "json_token.h"
#include "table.h"

#define MOST_FIELDS 64

/* Says which column has which role. */
typedef Outcome (*PlacesOf)(void *context, const Slice *names, size_t count, Places *places);

typedef struct {
    TableReader *table;
    bool run;
    PlacesOf places_of;
    Cursor cursor;
    Token names[MOST_FIELDS], values[MOST_FIELDS]; /* of the row or entry that was taken */
    size_t count;
    char separator; /* the byte that was taken last */
    char *keys;     /* the names of the row before, one behind the other */
    size_t keys_capacity, keys_count, key_sizes[MOST_FIELDS];
    Places places; /* of these names */
    Rows rows;     /* the documents of a query, to find one that occurs twice */
} JsonReader;

static inline void json_reader_free(JsonReader *reader) {
    free(reader->keys);
    rows_free(&reader->rows);
}

/* Goes to the text that was not taken yet. */
ALWAYS_INLINE void place_cursor(JsonReader *reader) {
    const Lines *lines = reader->table->lines;
    char *text = lines->buffer.text;
    reader->cursor = (Cursor){text + lines->at, text + lines->at, text + lines->end};
}

/* Leaves behind what the cursor has passed. */
ALWAYS_INLINE void advance(JsonReader *reader) {
    reader->table->lines->at = (size_t)(reader->cursor.at - reader->table->lines->buffer.text);
}

/* Reads more text if the cursor has come to its end, and goes back to what was not taken. */
static inline Outcome json_more(JsonReader *reader) {
    Lines *lines = reader->table->lines;
    if (reader->cursor.at < reader->cursor.end || lines->ended || lines->end - lines->at > MAX_LINE_BYTES)
        return give_up(reader->table);
    lines->keep = lines->at;
    TRY(lines_read(lines));
    place_cursor(reader);
    return DONE;
}

/* Takes something that may need more text, at most as much as a line may have; nothing is left behind yet. */
ALWAYS_INLINE Outcome take_whole(JsonReader *reader, bool (*take)(JsonReader *)) {
    place_cursor(reader);
    while (!take(reader)) TRY(json_more(reader));
    return (size_t)(reader->cursor.at - reader->cursor.start) > MAX_LINE_BYTES ? give_up(reader->table) : DONE;
}

/* Passes white space up to the next byte. */
static inline bool take_space(JsonReader *reader) {
    skip_space(&reader->cursor);
    return reader->cursor.at < reader->cursor.end;
}

/* Takes a comma, or the end of an object or array. */
static inline bool take_separator(JsonReader *reader) {
    if (!take_space(reader)) return false;
    reader->separator = *reader->cursor.at;
    if (reader->separator != ',' && reader->separator != '}' && reader->separator != ']') return false;
    reader->cursor.at++;
    return true;
}

/* Takes a key and the brace of its object, up to the byte after it. */
static inline bool take_query_key(JsonReader *reader) {
    Cursor *cursor = &reader->cursor;
    return take_text(cursor, reader->names) && take_byte(cursor, ':') && take_byte(cursor, '{') && take_space(reader);
}

/* Takes a key, its number, and the separator after it. */
static inline bool take_entry(JsonReader *reader) {
    Cursor *cursor = &reader->cursor;
    return take_text(cursor, reader->names) && take_byte(cursor, ':') && take_value(cursor, reader->values) &&
           take_separator(reader);
}

/* Takes the object of a row; one with a nested value is not taken. */
static inline bool take_row_object(JsonReader *reader) {
    Cursor *cursor = &reader->cursor;
    reader->count = 0;
    if (!take_byte(cursor, '{')) return false;
    do {
        Token *name = &reader->names[reader->count], *value = &reader->values[reader->count];
        if (!take_text(cursor, name) || name->escaped || !take_byte(cursor, ':') || !take_value(cursor, value)) return false;
        reader->count++;
        if (!take_separator(reader)) return false;
    } while (reader->separator == ',' && reader->count < MOST_FIELDS);
    return reader->separator == '}';
}

/* A row of an array, and the separator after it. */
static inline bool take_item(JsonReader *reader) { return take_row_object(reader) && take_separator(reader); }

/* The text of a token, without escapes; false for one that Python decides on. */
static inline bool plain_text(const Cursor *cursor, const Token *token, Slice *text) {
    *text = token_slice(cursor, token);
    return !token->escaped || unescape(cursor->start + token->at, &text->size);
}

/* The cell of a token; false for one that Python decides on. */
static inline bool cell_of(const JsonReader *reader, const Token *token, Role role, Slice *cell) {
    if (token->kind == TOKEN_TEXT && !plain_text(&reader->cursor, token, cell)) return false;
    if (token->kind != TOKEN_TEXT) *cell = token_slice(&reader->cursor, token);
    switch (role) {
        case ROLE_QUERY:
        case ROLE_DOC: return token->kind == TOKEN_TEXT || token->kind == TOKEN_WHOLE;
        case ROLE_VALUE: return token->kind == TOKEN_WHOLE || (token->kind == TOKEN_DECIMAL && reader->run);
        case ROLE_RANK: return token->kind == TOKEN_TEXT || (token->kind == TOKEN_WHOLE && token->size <= 18);
        default:
            if (token->kind != TOKEN_TEXT) *cell = (Slice){NULL, 0};
            return true;
    }
}

static inline bool has_same_keys(const JsonReader *reader) {
    const char *key = reader->keys;
    if (reader->count != reader->keys_count) return false;
    for (size_t i = 0; i < reader->count; key += reader->key_sizes[i++]) {
        Slice name = token_slice(&reader->cursor, &reader->names[i]);
        if (name.size != reader->key_sizes[i] || memcmp(name.at, key, name.size) != 0) return false;
    }
    return true;
}

/* Learns the roles of the row's keys. */
static inline Outcome change_keys(JsonReader *reader) {
    Slice names[MOST_FIELDS];
    size_t size = 0;
    for (size_t i = 0; i < reader->count; i++) {
        names[i] = token_slice(&reader->cursor, &reader->names[i]);
        TRY(text_room(&reader->keys, &reader->keys_capacity, size, names[i].size));
        memcpy(reader->keys + size, names[i].at, names[i].size);
        size += reader->key_sizes[i] = names[i].size;
    }
    reader->keys_count = reader->count;
    TRY(reader->places_of(reader->table->context, names, reader->count, &reader->places));
    return places_fit(&reader->places, reader->count, reader->run) ? DONE : give_up(reader->table);
}

static inline Outcome add_row_object(JsonReader *reader) {
    Cells cells;
    if (!has_same_keys(reader)) TRY(change_keys(reader));
    for (int role = 0; role < ROLES; role++) {
        int place = reader->places.of[role];
        cells.of[role] = (Slice){NULL, 0};
        if (place >= 0 && !cell_of(reader, &reader->values[place], (Role)role, &cells.of[role])) return give_up(reader->table);
    }
    return add_cells(reader->table, &cells, reader->run);
}

static Outcome take_json_line(void *context, char *text, size_t size) {
    JsonReader *reader = context;
    if (*text == '#' || is_blank(text, size)) return DONE;
    reader->cursor = (Cursor){text, text, text + size};
    if (!take_row_object(reader) || take_space(reader)) return give_up(reader->table);
    return add_row_object(reader);
}

static inline size_t count_feeds(const Cursor *cursor) {
    size_t count = 0;
    const char *at = cursor->start;
    while ((at = memchr(at, '\n', (size_t)(cursor->at - at))) != NULL) count++, at++;
    return count;
}

/* Passes white space up to the next byte, and counts lines. */
static inline Outcome pass_space(JsonReader *reader) {
    TRY(take_whole(reader, take_space));
    reader->table->lines->line += count_feeds(&reader->cursor);
    advance(reader);
    return DONE;
}

/* Reads the rows of an array whose bracket was taken. */
static inline Outcome read_items(JsonReader *reader) {
    do {
        TRY(pass_space(reader));
        TRY(take_whole(reader, take_item));
        size_t feeds = count_feeds(&reader->cursor);
        TRY(add_row_object(reader));
        reader->table->lines->line += feeds;
        advance(reader);
    } while (reader->separator == ',');
    return reader->separator == ']' ? DONE : give_up(reader->table);
}

/* Begins a query, which must be new. */
static inline Outcome begin_mapping(JsonReader *reader) {
    TableReader *table = reader->table;
    Groups *groups = &table->groups;
    size_t before = groups->names.count;
    Slice query;
    if (!cell_of(reader, reader->names, ROLE_QUERY, &query) || query.size == 0) return give_up(table);
    TRY(enter_group(groups, query, table->seed));
    table->query_id = name_at(&groups->names, groups->current);
    return groups->names.count == before ? give_up(table) : DONE;
}

static inline Outcome add_entry(JsonReader *reader) {
    Cells cells;
    memset(&cells, 0, sizeof cells);
    cells.of[ROLE_QUERY] = reader->table->query_id;
    if (!cell_of(reader, reader->names, ROLE_DOC, &cells.of[ROLE_DOC])) return give_up(reader->table);
    if (!cell_of(reader, reader->values, ROLE_VALUE, &cells.of[ROLE_VALUE])) return give_up(reader->table);
    return add_cells(reader->table, &cells, reader->run);
}

/* Gives up if a document occurs twice among the rows from `first` on. */
static inline Outcome check_repeats(JsonReader *reader, size_t first) {
    const Table *table = &reader->table->table;
    Rows *rows = &reader->rows;
    size_t dropped = 0;
    Repeat repeat;
    TRY(rows_reserve(rows, table->count - first));
    rows->text = table->text;
    rows->count = table->count - first;
    for (size_t i = 0; i < rows->count; i++) {
        size_t at = (size_t)table->bounds[first + i];
        rows->at[i] = at;
        rows->sizes[i] = (uint32_t)((size_t)table->bounds[first + i + 1] - at);
        rows->hashes[i] = hash_padded(reader->table->seed, table->text + at, rows->sizes[i]);
    }
    TRY(rows_index(rows, ON_DUPLICATE_ERROR, &dropped, &repeat));
    return repeat.second == 0 ? DONE : give_up(reader->table);
}

/* Reads the documents of a query; one without any is left to Python in judgements. */
static inline Outcome read_entries(JsonReader *reader) {
    size_t first = reader->table->table.count;
    reader->separator = ',';
    if (*reader->cursor.at == '}') {
        reader->cursor.at++;
        advance(reader);
        return reader->run ? DONE : give_up(reader->table);
    }
    advance(reader);
    while (reader->separator == ',') {
        TRY(take_whole(reader, take_entry));
        TRY(add_entry(reader));
        advance(reader);
    }
    return reader->separator == '}' ? check_repeats(reader, first) : give_up(reader->table);
}

/* Reads the queries of a mapping whose brace was taken; its rows have no lines. */
static inline Outcome read_mapping(JsonReader *reader) {
    reader->table->lines->line = 0;
    do {
        TRY(take_whole(reader, take_query_key));
        TRY(begin_mapping(reader));
        TRY(read_entries(reader));
        TRY(take_whole(reader, take_separator));
        advance(reader);
    } while (reader->separator == ',');
    return reader->separator == '}' ? DONE : give_up(reader->table);
}

/* Gives up if anything but white space follows. */
static inline Outcome expect_end(JsonReader *reader) {
    while (true) {
        place_cursor(reader);
        if (take_space(reader)) return give_up(reader->table);
        if (reader->table->lines->ended) return DONE;
        advance(reader);
        TRY(json_more(reader));
    }
}

/* Reads the one value of a stream. */
static inline Outcome read_document(JsonReader *reader) {
    reader->table->lines->line = 1;
    TRY(lines_start(reader->table->lines));
    TRY(pass_space(reader));
    char first = *reader->cursor.at++;
    advance(reader);
    if (first != '{' && first != '[') return give_up(reader->table);
    TRY(first == '{' ? read_mapping(reader) : read_items(reader));
    return expect_end(reader);
}

/* Reads every row of a stream, with a row on each line or as one value. */
static inline Outcome read_json(TableReader *table, bool run, bool by_line, PlacesOf places_of) {
    JsonReader *reader = calloc(1, sizeof *reader);
    if (reader == NULL) return NO_MEMORY;
    reader->table = table;
    reader->run = run;
    reader->places_of = places_of;
    Outcome outcome = by_line ? each_line(table->lines, take_json_line, reader) : read_document(reader);
    json_reader_free(reader);
    free(reader);
    return outcome == DONE ? finish_table(table) : outcome;
}

#endif
