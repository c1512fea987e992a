/* Conversions between Python objects and the reader: outcomes, ids and arrays. */
#ifndef RANKPROOF_PY_COMMON_H
#define RANKPROOF_PY_COMMON_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "fault.h"
#include "result.h"
#include "workspace.h"

#define HANDLE_NAME "rankproof._native.align.judged"

static PyObject *ReadError;
static Seed process_seed;
static Workspace process_space; /* taken and left with the GIL held */

/* The judged table behind a Judged.handle, and its documents as str for looking up in dicts, made when first needed. */
typedef struct {
    Judged judged;
    PyObject **docs, **forms;
} Handle;

static inline void objects_free(PyObject **objects, size_t count) {
    for (size_t i = 0; objects != NULL && i < count; i++) Py_XDECREF(objects[i]);
    free(objects);
}

static void handle_free(Handle *handle) {
    size_t docs = handle->judged.starts == NULL ? 0 : handle->judged.starts[handle->judged.count];
    objects_free(handle->docs, docs);
    objects_free(handle->forms, handle->judged.forms_count);
    judged_free(&handle->judged);
    free(handle);
}

static void capsule_free(PyObject *capsule) { handle_free(PyCapsule_GetPointer(capsule, HANDLE_NAME)); }

static inline Handle *handle_of(PyObject *capsule) { return PyCapsule_GetPointer(capsule, HANDLE_NAME); }

static inline PyObject *text_of(Slice slice) { return PyUnicode_DecodeUTF8(slice.at, (Py_ssize_t)slice.size, NULL); }

/* The text of a str, whose memory belongs to the str and is not padded; at is NULL with an exception set otherwise. */
static inline Slice utf8_of(PyObject *text) {
    Py_ssize_t size = 0;
    const char *at = PyUnicode_AsUTF8AndSize(text, &size);
    return (Slice){at, (size_t)size};
}

/* A padded copy of a str in a buffer that grows. */
typedef struct {
    char *text;
    size_t size, capacity;
} Copy;

static inline Outcome copy_text(Copy *copy, PyObject *text, Slice *slice) {
    Slice from = utf8_of(text);
    if (from.at == NULL) return STOPPED;
    TRY(copy_padded(&copy->text, &copy->size, &copy->capacity, from));
    *slice = (Slice){copy->text, copy->size};
    return DONE;
}

static inline PyObject *bytes_of(const void *items, size_t count, size_t item) {
    return PyBytes_FromStringAndSize(items, (Py_ssize_t)(count * item));
}

/* New bytes of so many items, to be written at once; NULL with an exception set where there is no memory. */
static inline PyObject *new_bytes(size_t count, size_t item, void *items) {
    PyObject *bytes = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)(count * item));
    char *at = bytes == NULL ? NULL : PyBytes_AsString(bytes);
    memcpy(items, &at, sizeof at);
    return bytes;
}

static inline PyObject *slice_bytes(Slice slice) { return PyBytes_FromStringAndSize(slice.at, (Py_ssize_t)slice.size); }

/* A score as its token, where it came as text, or as a number. */
static PyObject *score_object(Slice token, double score) {
    return token.at == NULL ? PyFloat_FromDouble(score) : slice_bytes(token);
}

/* The fields of the message of each code. */
static PyObject *fault_fields(const Fault *fault) {
    const char *code = fault->code;
    if (strcmp(code, "duplicate") == 0)
        return Py_BuildValue("{sNsNsnsNsN}", "query", slice_bytes(fault->query), "doc", slice_bytes(fault->doc), "first",
                             (Py_ssize_t)fault->first_line, "first_score", score_object(fault->first_token, fault->first_score),
                             "score", score_object(fault->token, fault->score));
    if (strcmp(code, "score-infinite") == 0) return Py_BuildValue("{sd}", "token", fault->score);
    if (strcmp(code, "id-nul") == 0)
        return Py_BuildValue("{sssN}", "column", fault->column, "token", slice_bytes(fault->token));
    if (strncmp(code, "id-", 3) == 0) return Py_BuildValue("{ss}", "column", fault->column);
    if (strcmp(code, "score") == 0)
        return Py_BuildValue("{sN}", "token", slice_bytes(fault->token));
    if (strcmp(code, "utf8") == 0) return Py_BuildValue("{sisn}", "byte", fault->byte, "column", (Py_ssize_t)fault->found);
    if (strstr(code, "-columns") != NULL) return Py_BuildValue("{sn}", "found", (Py_ssize_t)fault->found);
    return PyDict_New();
}

/* Raises the exception of an outcome other than DONE and AGAIN. */
static void raise_outcome(Outcome outcome, const Fault *fault) {
    if (outcome == NO_MEMORY) PyErr_NoMemory();
    if (outcome != REJECTED) return;
    PyObject *fields = fault_fields(fault);
    if (fields == NULL) return;
    PyObject *arguments = Py_BuildValue("(snN)", fault->code, (Py_ssize_t)fault->line, fields);
    if (arguments == NULL) return;
    PyErr_SetObject(ReadError, arguments);
    Py_DECREF(arguments);
}

/* Options as native.py passes them: (by rank, lower is better, float32, on_duplicate). */
static int options_of(PyObject *tuple, Options *options) {
    int by_rank, lower, float32, policy;
    if (!PyArg_ParseTuple(tuple, "pppi", &by_rank, &lower, &float32, &policy)) return 0;
    *options = (Options){(bool)by_rank, (bool)lower, (bool)float32, (OnDuplicate)policy};
    return 1;
}

#endif
