/* A finished result as the tuple that native.py makes Hits of. */
#ifndef RANKPROOF_PY_RESULT_H
#define RANKPROOF_PY_RESULT_H

#include "py_common.h"

static PyObject *texts_of(const Names *names, const size_t *chosen, size_t count) {
    PyObject *texts = PyTuple_New((Py_ssize_t)count);
    for (size_t i = 0; texts != NULL && i < count; i++) {
        PyObject *text = text_of(name_at(names, chosen == NULL ? i : chosen[i]));
        if (text == NULL || PyTuple_SetItem(texts, (Py_ssize_t)i, text) != 0) Py_CLEAR(texts);
    }
    return texts;
}

/* Hits in the order of the judged queries: offsets, ranks, grades, and first rank and size of the ties. */
static void place_hits(const Result *result, int64_t *const *columns) {
    size_t at = 0;
    for (size_t query = 0; query < result->judged->count; query++) {
        columns[0][query] = (int64_t)at;
        for (size_t i = 0; i < result->counts[query]; i++, at++) {
            const Found *found = &result->found[result->starts[query] + i];
            columns[1][at] = found->rank;
            columns[2][at] = found->grade;
            columns[3][at] = found->tie_start;
            columns[4][at] = found->tie_size;
        }
    }
    columns[0][result->judged->count] = (int64_t)at;
}

#define HIT_COLUMNS 5

static PyObject *hits_tuple(const Result *result) {
    size_t queries = result->judged->count;
    int64_t *columns[HIT_COLUMNS];
    PyObject *bytes[HIT_COLUMNS];
    bool complete = true;
    for (size_t i = 0; i < HIT_COLUMNS; i++) {
        bytes[i] = new_bytes(i == 0 ? queries + 1 : result->found_count, sizeof *columns[i], &columns[i]);
        complete = complete && bytes[i] != NULL;
    }
    if (complete) {
        place_hits(result, columns);
        return Py_BuildValue("(NNNNNNN)", bytes_of(result->present, queries, 1), bytes_of(result->retrieved, queries, 8), bytes[0],
                             bytes[1], bytes[2], bytes[3], bytes[4]);
    }
    for (size_t i = 0; i < HIT_COLUMNS; i++) Py_XDECREF(bytes[i]);
    return NULL;
}

static PyObject *unjudged_hashes(const Names *unjudged_names) {
    uint64_t *hashes = zeroed(unjudged_names->count, sizeof *hashes);
    if (hashes == NULL) return PyErr_NoMemory();
    for (size_t i = 0; i < unjudged_names->count; i++) hashes[i] = unjudged_names->items[i].hash;
    PyObject *bytes = bytes_of(hashes, unjudged_names->count, sizeof *hashes);
    free(hashes);
    return bytes;
}

/* (arrays, counts, the first unjudged queries, tags, hashes of all unjudged queries) */
static PyObject *result_tuple(const Result *result) {
    size_t few = result->unjudged < FEW_QUERIES ? result->unjudged : FEW_QUERIES;
    PyObject *counts =
        Py_BuildValue("(nnnnnnnn)", (Py_ssize_t)result->rows, (Py_ssize_t)result->tied, (Py_ssize_t)result->contradictions,
                      (Py_ssize_t)result->backwards, (Py_ssize_t)result->forwards, (Py_ssize_t)result->forms,
                      (Py_ssize_t)result->dropped, (Py_ssize_t)result->unjudged);
    return Py_BuildValue("(NNNNN)", hits_tuple(result), counts, texts_of(&result->unjudged_names, result->few, few),
                         texts_of(&result->tags, NULL, result->tags.count), unjudged_hashes(&result->unjudged_names));
}

/* The result of an outcome: the tuple, None for AGAIN, or an exception. */
static PyObject *outcome_object(Outcome outcome, const Result *result, const Fault *fault) {
    if (outcome == DONE) return result_tuple(result);
    if (outcome == AGAIN) Py_RETURN_NONE;
    raise_outcome(outcome, fault);
    return NULL;
}

#endif
