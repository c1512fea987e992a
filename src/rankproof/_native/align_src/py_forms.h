/* What native.py adds to a new handle: Unicode forms, and the selected queries. */
#ifndef RANKPROOF_PY_FORMS_H
#define RANKPROOF_PY_FORMS_H

#include "py_result.h"

static PyObject *py_documents(PyObject *module, PyObject *arguments) {
    PyObject *capsule;
    Py_ssize_t query;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "On", &capsule, &query)) return NULL;
    Handle *handle = handle_of(capsule);
    if (handle == NULL) return NULL;
    const Judged *judged = &handle->judged;
    if (query < 0 || (size_t)query >= judged->count) return PyErr_Format(PyExc_IndexError, "no query %zd", query);
    PyObject *list = PyList_New(0);
    for (size_t i = judged->starts[query]; list != NULL && i < judged->starts[query + 1]; i++) {
        PyObject *id = text_of(doc_id(judged, &judged->docs[i]));
        if (id == NULL || PyList_Append(list, id) != 0) Py_CLEAR(list);
        Py_XDECREF(id);
    }
    return list;
}

/* Calls `add` with a padded copy of each str of an iterable. */
static Outcome each_text(PyObject *texts, Outcome (*add)(Judged *, size_t, Slice), Judged *judged, size_t value) {
    Copy copy = {NULL, 0, 0};
    Outcome outcome = DONE;
    PyObject *iterator = PyObject_GetIter(texts), *text;
    if (iterator == NULL) return STOPPED;
    while (outcome == DONE && (text = PyIter_Next(iterator)) != NULL) {
        Slice slice;
        outcome = copy_text(&copy, text, &slice);
        if (outcome == DONE) outcome = add(judged, value, slice);
        Py_DECREF(text);
    }
    Py_DECREF(iterator);
    free(copy.text);
    return outcome == DONE && PyErr_Occurred() ? STOPPED : outcome;
}

static Outcome add_mark(Judged *judged, size_t mark, Slice id) { return judged_mark_query(judged, id, (uint8_t)mark); }

static PyObject *py_mark_queries(PyObject *module, PyObject *arguments) {
    PyObject *capsule, *queries;
    int mark;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OOi", &capsule, &queries, &mark)) return NULL;
    Handle *handle = handle_of(capsule);
    if (handle == NULL) return NULL;
    Outcome outcome = each_text(queries, add_mark, &handle->judged, (size_t)mark);
    if (outcome != DONE) return raise_outcome(outcome, NULL), NULL;
    Py_RETURN_NONE;
}

/* Adds forms of documents, as [(query index, ids), ...] in the order of the queries, once for each handle. */
static PyObject *py_add_forms(PyObject *module, PyObject *arguments) {
    PyObject *capsule, *pairs;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OO!", &capsule, &PyList_Type, &pairs)) return NULL;
    Handle *handle = handle_of(capsule);
    if (handle == NULL) return NULL;
    for (Py_ssize_t i = 0; i < PyList_Size(pairs); i++) {
        Py_ssize_t query;
        PyObject *ids;
        if (!PyArg_ParseTuple(PyList_GetItem(pairs, i), "nO", &query, &ids)) return NULL;
        if (query < 0 || (size_t)query >= handle->judged.count) return PyErr_Format(PyExc_IndexError, "no query %zd", query);
        Outcome outcome = each_text(ids, judged_add_form, &handle->judged, (size_t)query);
        if (outcome != DONE) return raise_outcome(outcome, NULL), NULL;
    }
    judged_close_forms(&handle->judged);
    Py_RETURN_NONE;
}

#endif
