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
    run.grouped = (bool)grouped;
    release_gil(&stream);
    Outcome outcome = result_open(&result, &handle->judged, &options);
    result_borrow(&result, &space);
    Outcome opened = lines_open(&lines, stream_read, &stream, (size_t)block, level, (bool)inside);
    if (outcome == DONE && opened == DONE) outcome = read_run(&run);
    take_gil(&stream);
    PyObject *object = outcome_object(opened == DONE ? outcome : opened, &result, &lines.fault);
    run_return(&run, &space);
    result_return(&result, &space);
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

/* Columns of a run in memory; ranks.buf is NULL where there are none. The ids of documents are a tuple of str, or one text with
 * the bounds of each id in it, where bounds.buf is not NULL. */
typedef struct {
    PyObject *queries, *docs;
    Py_buffer offsets, scores, ranks, text, bounds;
} Columns;

static void columns_free(Columns *columns) {
    Py_buffer *each[] = {&columns->offsets, &columns->scores, &columns->ranks, &columns->text, &columns->bounds};
    for (size_t i = 0; i < sizeof each / sizeof *each; i++) {
        if (each[i]->obj != NULL) PyBuffer_Release(each[i]);
    }
}

static bool bounds_fit(const Columns *columns, Py_ssize_t rows) {
    const int64_t *bounds = columns->bounds.buf;
    bool fit = bounds[0] >= 0 && bounds[rows] <= columns->text.len;
    for (Py_ssize_t i = 0; fit && i < rows; i++) fit = bounds[i] <= bounds[i + 1];
    return fit;
}

static bool columns_fit(const Columns *columns) {
    bool packed = columns->bounds.obj != NULL;
    Py_ssize_t rows = packed ? columns->bounds.len / 8 - 1 : PyTuple_Size(columns->docs);
    Py_ssize_t queries = PyTuple_Size(columns->queries);
    const int64_t *offsets = columns->offsets.buf;
    bool fit = rows >= 0 && columns->scores.len == 8 * rows && columns->offsets.len == 8 * (queries + 1) &&
               (columns->ranks.obj == NULL || columns->ranks.len == 8 * rows);
    fit = fit && offsets[0] == 0 && offsets[queries] == rows && (!packed || bounds_fit(columns, rows));
    for (Py_ssize_t i = 0; fit && i < queries; i++) fit = offsets[i] <= offsets[i + 1];
    if (!fit) PyErr_SetString(PyExc_ValueError, "the columns of the run do not have the same number of rows");
    return fit;
}

/* The id of one row; at is NULL with an exception set where it is no str. */
static inline Slice column_id(const Columns *columns, size_t row) {
    const int64_t *bounds = columns->bounds.buf;
    if (bounds == NULL) return utf8_of(PyTuple_GetItem(columns->docs, (Py_ssize_t)row));
    return (Slice){(const char *)columns->text.buf + bounds[row], (size_t)(bounds[row + 1] - bounds[row])};
}

/* Copies the ids of rows `from` to `to` behind each other. */
static Outcome take_docs(const Columns *columns, size_t from, size_t to, Rows *rows, Copy *text, Seed seed) {
    text->size = 0;
    for (size_t i = from; i < to; i++) {
        Slice id = column_id(columns, i);
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
    TRY(take_docs(columns, from, to, rows, text, result->judged->seed));
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
        if (repeat.second != 0) return reject(fault, "duplicate", 0);
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

/* The buffer of an object, none for None. */
static bool optional_buffer(PyObject *object, Py_buffer *buffer) {
    return object == Py_None || PyObject_GetBuffer(object, buffer, PyBUF_SIMPLE) == 0;
}

/* The ids of documents: a tuple of str, or (text, bounds). */
static bool take_ids(PyObject *docs, PyObject *bounds, Columns *columns) {
    columns->docs = docs;
    if (bounds != Py_None) return optional_buffer(docs, &columns->text) && optional_buffer(bounds, &columns->bounds);
    if (PyTuple_Check(docs)) return true;
    PyErr_SetString(PyExc_TypeError, "ids without bounds must be a tuple");
    return false;
}

static PyObject *py_align_run(PyObject *module, PyObject *arguments) {
    PyObject *capsule, *chosen, *docs, *bounds, *ranks;
    Options options;
    Columns columns;
    (void)module;
    memset(&columns, 0, sizeof columns);
    if (!PyArg_ParseTuple(arguments, "OO!O!y*OOy*O", &capsule, &PyTuple_Type, &chosen, &PyTuple_Type, &columns.queries,
                          &columns.offsets, &docs, &bounds, &columns.scores, &ranks))
        return NULL;
    PyObject *object = NULL;
    Handle *handle = handle_of(capsule);
    bool ready = handle != NULL && options_of(chosen, &options);
    ready = ready && take_ids(docs, bounds, &columns) && optional_buffer(ranks, &columns.ranks);
    if (ready && columns_fit(&columns)) object = align_columns_object(handle, &columns, &options);
    columns_free(&columns);
    return object;
}

#endif
