/* A run from any object with the Arrow stream interface, without a library of Arrow. */
#ifndef RANKPROOF_PY_ARROW_H
#define RANKPROOF_PY_ARROW_H

#include "arrow_run.h"
#include "py_stream.h"

static const char *const ARROW_ROLES[] = {"query", "document", "score", "rank", "tag"};

static bool arrow_fits(int which, ArrowKind kind, ArrowKind dictionary) {
    if (which == SCORE_COLUMN) return dictionary == NO_KIND && kind >= INT8;
    if (which == RANK_COLUMN) return dictionary == NO_KIND && is_integer(kind);
    if (dictionary != NO_KIND) return is_integer(kind) && is_text(dictionary);
    return is_text(kind) || is_integer(kind);
}

/* Finds the kinds of the wanted columns; raises TypeError for a column that cannot be one. */
static bool arrow_kinds(ArrowRun *run, const struct ArrowSchema *schema) {
    if (strcmp(schema->format, "+s") != 0) return PyErr_SetString(PyExc_TypeError, "the stream is not a table"), false;
    for (int i = 0; i < ARROW_COLUMNS; i++) {
        if (run->places[i] < 0 && i > SCORE_COLUMN) continue;
        if (run->places[i] < 0 || run->places[i] >= schema->n_children)
            return PyErr_Format(PyExc_IndexError, "no column %d for the %s", run->places[i], ARROW_ROLES[i]), false;
        const struct ArrowSchema *column = schema->children[run->places[i]];
        run->kinds[i] = arrow_kind(column->format);
        run->dictionaries[i] = column->dictionary == NULL ? NO_KIND : arrow_kind(column->dictionary->format);
        if (column->dictionary != NULL && run->dictionaries[i] == NO_KIND) run->kinds[i] = NO_KIND;
        if (run->kinds[i] == NO_KIND || !arrow_fits(i, run->kinds[i], run->dictionaries[i]))
            return PyErr_Format(PyExc_TypeError, "a %s cannot be of Arrow type %s", ARROW_ROLES[i], column->format), false;
    }
    return true;
}

static bool arrow_schema(ArrowRun *run, struct ArrowArrayStream *stream) {
    struct ArrowSchema schema;
    memset(&schema, 0, sizeof schema);
    if (stream->get_schema(stream, &schema) != 0) {
        const char *reason = stream->get_last_error(stream);
        PyErr_SetString(PyExc_OSError, reason == NULL ? "the stream has no schema" : reason);
        return false;
    }
    bool known = arrow_kinds(run, &schema);
    schema.release(&schema);
    return known;
}

/* The next batch; its `release` is NULL where there is none. Called without the GIL. */
static Outcome next_batch(struct ArrowArrayStream *stream, Stream *gil, struct ArrowArray *batch) {
    memset(batch, 0, sizeof *batch);
    int failure = stream->get_next(stream, batch);
    take_gil(gil);
    if (failure != 0 && !PyErr_Occurred()) {
        const char *reason = stream->get_last_error(stream);
        PyErr_SetString(PyExc_OSError, reason == NULL ? "the stream failed" : reason);
    }
    bool stopped = failure != 0 || PyErr_CheckSignals() != 0;
    release_gil(gil);
    if (stopped && batch->release != NULL) batch->release(batch);
    return stopped ? STOPPED : DONE;
}

static Outcome read_arrow(ArrowRun *run, struct ArrowArrayStream *stream, Stream *gil) {
    Outcome outcome = DONE;
    struct ArrowArray batch;
    while (true) {
        TRY(next_batch(stream, gil, &batch));
        if (batch.release == NULL) break;
        Outcome latest = use_batch(run, &batch, outcome == DONE);
        if (latest != DONE) outcome = latest;
        if (outcome != DONE && !(outcome == AGAIN && run->keeps)) break;
    }
    if (outcome == REJECTED) return first_arrow_fault(run);
    return outcome == DONE ? end_arrow_run(run) : outcome;
}

static PyObject *align_arrow_object(ArrowRun *run, Handle *handle, struct ArrowArrayStream *stream) {
    Result result;
    Stream gil = {NULL, NULL};
    run->result = &result;
    run->rows.ranked = run->places[RANK_COLUMN] >= 0;
    release_gil(&gil);
    Outcome outcome = result_open(&result, &handle->judged, &run->options);
    if (outcome == DONE) outcome = read_arrow(run, stream, &gil);
    if (outcome == AGAIN && run->keeps) {
        result_free(&result);
        outcome = result_open(&result, &handle->judged, &run->options);
        if (outcome == DONE) outcome = regroup_arrow(run);
    }
    take_gil(&gil);
    PyObject *object = outcome_object(outcome, &result, &run->fault);
    result_free(&result);
    return object;
}

static PyObject *py_align_arrow(PyObject *module, PyObject *arguments) {
    PyObject *capsule, *stream_capsule, *chosen;
    ArrowRun run;
    int keeps, grouped;
    (void)module;
    memset(&run, 0, sizeof run);
    if (!PyArg_ParseTuple(arguments, "OOO!(iiiii)pp", &capsule, &stream_capsule, &PyTuple_Type, &chosen, &run.places[0],
                          &run.places[1], &run.places[2], &run.places[3], &run.places[4], &keeps, &grouped))
        return NULL;
    run.keeps = (bool)keeps;
    run.grouped = (bool)grouped;
    Handle *handle = handle_of(capsule);
    if (handle == NULL || !options_of(chosen, &run.options)) return NULL;
    struct ArrowArrayStream *stream = PyCapsule_GetPointer(stream_capsule, "arrow_array_stream");
    if (stream == NULL) return NULL;
    if (stream->release == NULL) return PyErr_Format(PyExc_ValueError, "the stream has already been read");
    run.seed = handle->judged.seed;
    PyObject *object = arrow_schema(&run, stream) ? align_arrow_object(&run, handle, stream) : NULL;
    arrow_run_free(&run);
    return object;
}

#endif
