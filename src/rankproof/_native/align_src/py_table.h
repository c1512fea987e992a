/* The rows of a text stream as columns for Python. */
#ifndef RANKPROOF_PY_TABLE_H
#define RANKPROOF_PY_TABLE_H

#include "py_result.h"
#include "py_stream.h"
#include "table_delimited.h"
#include "table_json.h"
#include "table_text.h"

/* Where the rows of each query begin, and their end. */
static PyObject *group_offsets(const Groups *groups, size_t rows) {
    size_t count = groups->names.count;
    int64_t *offsets = calloc(count + 1, sizeof *offsets);
    if (offsets == NULL) return PyErr_NoMemory();
    for (size_t i = 0; i < rows; i++) offsets[groups->of[i] + 1]++;
    for (size_t i = 0; i < count; i++) offsets[i + 1] += offsets[i];
    PyObject *bytes = bytes_of(offsets, count + 1, sizeof *offsets);
    free(offsets);
    return bytes;
}

/* The items as bytes; the array is freed, so that only one column is in memory twice. */
static PyObject *bytes_taken(void **items, size_t count, size_t item) {
    PyObject *bytes = bytes_of(*items, *items == NULL ? 0 : count, item);
    free(*items);
    *items = NULL;
    return bytes;
}

/* (queries, offsets, text of the ids, their bounds, scores or grades, ranks, lines, tags, whether the label
 * column must be read in Python); ranks are empty for judgements. */
static PyObject *table_tuple(TableReader *reader) {
    Table *table = &reader->table;
    size_t rows = table->count;
    void **values = table->scores == NULL ? (void **)&table->grades : (void **)&table->scores;
    PyObject *text = bytes_taken((void **)&table->text, table->text_size, 1);
    PyObject *bounds = bytes_taken((void **)&table->bounds, rows + 1, 8), *numbers = bytes_taken(values, rows, 8);
    PyObject *ranks = bytes_taken((void **)&table->ranks, rows, 8), *lines = bytes_taken((void **)&table->lines, rows, 8);
    return Py_BuildValue("(NNNNNNNNO)", texts_of(&reader->groups.names, NULL, reader->groups.names.count),
                         group_offsets(&reader->groups, rows), text, bounds, numbers, ranks, lines,
                         texts_of(&reader->tags, NULL, reader->tags.count), reader->marked ? Py_True : Py_False);
}

/* A stream that is read into a table. */
typedef struct {
    Stream stream; /* first, as the reader's context points to it */
    PyObject *places_of;
    Lines lines;
    TableReader reader;
} TableStream;

/* Opens a table stream and releases the GIL. */
static Outcome table_open(TableStream *table, PyObject *readinto, Py_ssize_t block, int level) {
    memset(table, 0, sizeof *table);
    table->stream.readinto = readinto;
    table->reader.lines = &table->lines;
    table->reader.seed = process_seed;
    table->reader.slow_number = stream_number;
    table->reader.context = &table->stream;
    release_gil(&table->stream);
    return lines_open(&table->lines, stream_read, &table->stream, (size_t)block, level, false);
}

/* Takes the GIL, frees the table stream and gives its columns, or raises. */
static PyObject *table_close(TableStream *table, Outcome outcome) {
    PyObject *object = NULL;
    take_gil(&table->stream);
    buffer_free(&table->lines.buffer);
    if (outcome == DONE) {
        object = table_tuple(&table->reader);
    } else {
        raise_outcome(outcome, &table->lines.fault);
    }
    table_reader_free(&table->reader);
    return object;
}

static PyObject *py_read_table(PyObject *module, PyObject *arguments) {
    TableStream table;
    PyObject *readinto;
    Py_ssize_t block;
    int run, level;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "Opni", &readinto, &run, &block, &level)) return NULL;
    Outcome outcome = table_open(&table, readinto, block, level);
    if (outcome == DONE) outcome = read_table(&table.reader, (bool)run);
    return table_close(&table, outcome);
}

static int places_from(PyObject *tuple, Places *places) {
    int *of = places->of;
    return PyArg_ParseTuple(tuple, "iiiiii", &of[0], &of[1], &of[2], &of[3], &of[4], &of[5]);
}

static PyObject *py_read_delimited(PyObject *module, PyObject *arguments) {
    TableStream table;
    PyObject *readinto, *places;
    Py_ssize_t block, header, columns;
    int run, delimiter;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OpinnOn", &readinto, &run, &delimiter, &header, &columns, &places, &block)) return NULL;
    Layout layout = {(bool)run, (char)delimiter, (size_t)header, (size_t)columns, {{0}}};
    if (!places_from(places, &layout.places)) return NULL;
    Outcome outcome = table_open(&table, readinto, block, LEVEL_PLAIN);
    if (outcome == DONE) outcome = read_delimited(&table.reader, &layout);
    return table_close(&table, outcome);
}

static Outcome call_places_of(PyObject *places_of, const Slice *names, size_t count, Places *places) {
    PyObject *texts = PyTuple_New((Py_ssize_t)count), *answer = NULL;
    for (size_t i = 0; texts != NULL && i < count; i++) {
        PyObject *text = text_of(names[i]);
        if (text == NULL || PyTuple_SetItem(texts, (Py_ssize_t)i, text) != 0) Py_CLEAR(texts);
    }
    if (texts != NULL) answer = PyObject_CallFunctionObjArgs(places_of, texts, NULL);
    bool taken = answer != NULL && places_from(answer, places);
    Py_XDECREF(texts);
    Py_XDECREF(answer);
    return taken ? DONE : STOPPED;
}

static Outcome stream_places(void *context, const Slice *names, size_t count, Places *places) {
    TableStream *table = context;
    take_gil(&table->stream);
    Outcome outcome = call_places_of(table->places_of, names, count, places);
    release_gil(&table->stream);
    return outcome;
}

static PyObject *py_read_json(PyObject *module, PyObject *arguments) {
    TableStream table;
    PyObject *readinto, *places_of;
    Py_ssize_t block;
    int run, by_line;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OppOn", &readinto, &run, &by_line, &places_of, &block)) return NULL;
    Outcome outcome = table_open(&table, readinto, block, LEVEL_PLAIN);
    table.places_of = places_of;
    if (outcome == DONE) outcome = read_json(&table.reader, (bool)run, (bool)by_line, stream_places);
    return table_close(&table, outcome);
}

#endif
