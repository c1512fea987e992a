/* The rows of a text stream as columns for Python. */
#ifndef RANKPROOF_PY_TABLE_H
#define RANKPROOF_PY_TABLE_H

#include "py_result.h"
#include "py_stream.h"
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

/* (queries, offsets, text of the ids, their bounds, scores or grades, ranks, lines, tags, whether a machine's mark is there);
 * ranks are empty for judgements. */
static PyObject *table_tuple(const TableText *reader) {
    const Table *table = &reader->table;
    size_t rows = table->count;
    const void *values = table->scores == NULL ? (const void *)table->grades : (const void *)table->scores;
    return Py_BuildValue("(NNNNNNNNO)", texts_of(&reader->groups.names, NULL, reader->groups.names.count),
                         group_offsets(&reader->groups, rows), bytes_of(table->text, table->text_size, 1),
                         bytes_of(table->bounds, rows + 1, 8), bytes_of(values, rows, 8),
                         bytes_of(table->ranks, table->ranks == NULL ? 0 : rows, 8), bytes_of(table->lines, rows, 8),
                         texts_of(&reader->tags, NULL, reader->tags.count), reader->marked ? Py_True : Py_False);
}

static PyObject *py_read_table(PyObject *module, PyObject *arguments) {
    PyObject *readinto;
    Py_ssize_t block;
    int run, level;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "Opni", &readinto, &run, &block, &level)) return NULL;
    Stream stream = {readinto, NULL};
    Lines lines;
    TableText reader;
    memset(&lines, 0, sizeof lines);
    memset(&reader, 0, sizeof reader);
    reader.lines = &lines;
    reader.seed = process_seed;
    reader.slow_number = stream_number;
    reader.context = &stream;
    release_gil(&stream);
    Outcome outcome = lines_open(&lines, stream_read, &stream, block < 1 ? 1 : (size_t)block, level, false);
    if (outcome == DONE) outcome = read_table(&reader, run != 0);
    take_gil(&stream);
    PyObject *object = NULL;
    if (outcome == DONE) {
        object = table_tuple(&reader);
    } else {
        raise_outcome(outcome, &lines.fault);
    }
    buffer_free(&lines.buffer);
    table_text_free(&reader);
    return object;
}

#endif
