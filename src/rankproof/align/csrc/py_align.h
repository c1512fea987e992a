/* The align functions that Python calls: text streams, dicts, and runs in memory. */
#ifndef RANKPROOF_PY_ALIGN_H
#define RANKPROOF_PY_ALIGN_H

#include "py_dict.h"
#include "run_read.h"

static PyObject *py_align_text(PyObject *module, PyObject *arguments) {
    PyObject *capsule, *readinto, *chosen;
    Py_ssize_t block;
    int level, inside, grouped;
    Options options;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OOO!nipp", &capsule, &readinto, &PyTuple_Type, &chosen, &block, &level, &inside, &grouped))
        return NULL;
    Handle *handle = handle_of(capsule);
    if (handle == NULL || !options_of(chosen, &options)) return NULL;
    Stream stream = {readinto, NULL};
    Workspace space = workspace_take(&process_space);
    Lines lines;
    Result result;
    RunText run;
    memset(&lines, 0, sizeof lines);
    memset(&run, 0, sizeof run);
    run.lines = &lines;
    run_borrow(&run, &space);
    run.result = &result;
    run.seed = handle->judged.seed;
    run.options = options;
    run.slow_number = stream_number;
    run.context = &stream;
    run.grouped = grouped != 0;
    release_gil(&stream);
    Outcome outcome = result_open(&result, &handle->judged, &options);
    Outcome opened = lines_open(&lines, stream_read, &stream, block < 1 ? 1 : (size_t)block, level, inside != 0);
    if (outcome == DONE && opened == DONE) outcome = read_run(&run);
    take_gil(&stream);
    PyObject *object = outcome_object(opened == DONE ? outcome : opened, &result, &lines.fault);
    run_return(&run, &space);
    workspace_leave(&process_space, &space);
    run_text_free(&run);
    result_free(&result);
    return object;
}

static PyObject *py_align_dict(PyObject *module, PyObject *arguments) {
    PyObject *capsule, *mapping, *chosen;
    Options options;
    DictRun run;
    memset(&run, 0, sizeof run);
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OOO!O!O!", &capsule, &mapping, &PyTuple_Type, &chosen, &PyTuple_Type, &run.types.dicts,
                          &PyTuple_Type, &run.types.floats))
        return NULL;
    run.handle = handle_of(capsule);
    if (run.handle == NULL || !options_of(chosen, &options)) return NULL;
    if (!is_plain_dict(&run.types, mapping)) Py_RETURN_NONE;
    Result result;
    Outcome outcome = result_open(&result, &run.handle->judged, &options);
    if (outcome == DONE) outcome = take_queries(&run, &result, mapping);
    PyObject *object = outcome_object(outcome, &result, NULL);
    free(run.rows.objects);
    rows_free(&run.rows);
    free(run.query.text);
    result_free(&result);
    return object;
}

/* Columns of a run in memory; ranks.buf is NULL where there are none. */
typedef struct {
    PyObject *queries, *docs;
    Py_buffer offsets, scores, ranks;
} Columns;

static void columns_free(Columns *columns) {
    PyBuffer_Release(&columns->offsets);
    PyBuffer_Release(&columns->scores);
    if (columns->ranks.buf != NULL) PyBuffer_Release(&columns->ranks);
}

static bool columns_fit(const Columns *columns) {
    Py_ssize_t rows = PyTuple_Size(columns->docs), queries = PyTuple_Size(columns->queries);
    const int64_t *offsets = columns->offsets.buf;
    bool fit = columns->scores.len == 8 * rows && columns->offsets.len == 8 * (queries + 1) &&
               (columns->ranks.buf == NULL || columns->ranks.len == 8 * rows);
    fit = fit && offsets[0] == 0 && offsets[queries] == rows;
    for (Py_ssize_t i = 0; fit && i < queries; i++) fit = offsets[i] <= offsets[i + 1];
    if (!fit) PyErr_SetString(PyExc_ValueError, "the columns of the run do not have the same number of rows");
    return fit;
}

/* Copies the ids of rows `from` to `to` behind each other. */
static Outcome take_docs(PyObject *docs, size_t from, size_t to, Rows *rows, Copy *text, Seed seed) {
    text->size = 0;
    for (size_t i = from; i < to; i++) {
        Slice id = utf8_of(PyTuple_GetItem(docs, (Py_ssize_t)i));
        if (id.at == NULL) return STOPPED;
        if (id.size > UINT32_MAX) return NO_MEMORY;
        TRY(text_room(&text->text, &text->capacity, text->size, id.size));
        memcpy(text->text + text->size, id.at, id.size);
        memset(text->text + text->size + id.size, 0, PADDING);
        rows->at[i - from] = text->size;
        rows->sizes[i - from] = (uint32_t)id.size;
        rows->hashes[i - from] = hash_padded(seed, text->text + text->size, id.size);
        text->size += id.size;
    }
    rows->text = text->text;
    rows->count = to - from;
    return DONE;
}

static Outcome take_rows(const Columns *columns, size_t from, size_t to, Rows *rows, Copy *text, const Result *result) {
    const double *scores = columns->scores.buf;
    const int64_t *ranks = columns->ranks.buf;
    TRY(rows_reserve(rows, to - from));
    TRY(take_docs(columns->docs, from, to, rows, text, result->judged->seed));
    rows->ranked = ranks != NULL;
    for (size_t i = from; i < to; i++) {
        rows->ranks[i - from] = ranks == NULL ? NO_RANK : ranks[i];
        rows->keys[i - from] = key_of(&result->options, scores[i], rows->ranks[i - from]);
    }
    return DONE;
}

static Outcome align_columns(const Columns *columns, Result *result, Rows *rows, Copy *text, Copy *query_text, Fault *fault) {
    const int64_t *offsets = columns->offsets.buf;
    for (Py_ssize_t i = 0; i < PyTuple_Size(columns->queries); i++) {
        size_t query;
        Slice id;
        Repeat repeat;
        if (PyErr_CheckSignals() != 0) return STOPPED;
        TRY(copy_text(query_text, PyTuple_GetItem(columns->queries, i), &id));
        TRY(begin_query(result, id, &query));
        TRY(take_rows(columns, (size_t)offsets[i], (size_t)offsets[i + 1], rows, text, result));
        TRY(end_query(result, query, rows, &repeat));
        if (repeat.second != 0) return refuse(fault, "duplicate", 0);
    }
    return DONE;
}

static PyObject *align_columns_object(const Handle *handle, const Columns *columns, const Options *options) {
    Result result;
    Rows rows;
    Copy text = {NULL, 0, 0}, query = {NULL, 0, 0};
    Fault fault;
    memset(&rows, 0, sizeof rows);
    Outcome outcome = result_open(&result, &handle->judged, options);
    if (outcome == DONE) outcome = align_columns(columns, &result, &rows, &text, &query, &fault);
    PyObject *object = outcome_object(outcome, &result, &fault);
    rows_free(&rows);
    free(text.text);
    free(query.text);
    result_free(&result);
    return object;
}

static PyObject *py_align_run(PyObject *module, PyObject *arguments) {
    PyObject *capsule, *chosen, *ranks;
    Options options;
    Columns columns;
    (void)module;
    memset(&columns, 0, sizeof columns);
    if (!PyArg_ParseTuple(arguments, "OO!O!y*O!y*O", &capsule, &PyTuple_Type, &chosen, &PyTuple_Type, &columns.queries,
                          &columns.offsets, &PyTuple_Type, &columns.docs, &columns.scores, &ranks))
        return NULL;
    PyObject *object = NULL;
    Handle *handle = handle_of(capsule);
    bool ready = handle != NULL && options_of(chosen, &options);
    if (ready && ranks != Py_None) ready = PyObject_GetBuffer(ranks, &columns.ranks, PyBUF_SIMPLE) == 0;
    if (ready && columns_fit(&columns)) object = align_columns_object(handle, &columns, &options);
    columns_free(&columns);
    return object;
}

#endif
