/* A Python byte stream as the reader's input: called with the GIL, parsed without it. */
#ifndef RANKPROOF_PY_STREAM_H
#define RANKPROOF_PY_STREAM_H

#include "py_common.h"

typedef struct {
    PyObject *readinto;
    PyThreadState *thread; /* set while the GIL is released */
} Stream;

static inline void release_gil(Stream *stream) { stream->thread = PyEval_SaveThread(); }

static inline void take_gil(Stream *stream) {
    PyEval_RestoreThread(stream->thread);
    stream->thread = NULL;
}

static Outcome count_of(PyObject *answer, size_t size, size_t *count) {
    if (answer == Py_None) return *count = 0, DONE;
    Py_ssize_t value = PyNumber_AsSsize_t(answer, PyExc_OverflowError);
    if (value == -1 && PyErr_Occurred()) return STOPPED;
    if (value < 0 || (size_t)value > size) {
        PyErr_Format(PyExc_ValueError, "readinto gave %zd for a buffer of %zu bytes", value, size);
        return STOPPED;
    }
    *count = (size_t)value;
    return DONE;
}

/* Releases a view, so that a kept reference cannot read a moved buffer; a pending exception is kept. */
static bool release_view(PyObject *view) {
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyObject *released = PyObject_CallMethod(view, "release", NULL);
    bool done = released != NULL;
    Py_XDECREF(released);
    if (type != NULL) PyErr_Restore(type, value, traceback);
    return done;
}

static Outcome call_readinto(PyObject *readinto, char *to, size_t size, size_t *count) {
    if (PyErr_CheckSignals() != 0) return STOPPED;
    PyObject *view = PyMemoryView_FromMemory(to, (Py_ssize_t)size, PyBUF_WRITE);
    if (view == NULL) return STOPPED;
    PyObject *answer = PyObject_CallFunctionObjArgs(readinto, view, NULL);
    bool released = release_view(view);
    Outcome outcome = answer == NULL || !released ? STOPPED : count_of(answer, size, count);
    Py_XDECREF(answer);
    Py_DECREF(view);
    return outcome;
}

static Outcome stream_read(void *context, char *to, size_t size, size_t *count) {
    Stream *stream = context;
    take_gil(stream);
    Outcome outcome = call_readinto(stream->readinto, to, size, count);
    release_gil(stream);
    return outcome;
}

static Outcome string_to_double(Slice token, double *value) {
    char *text = malloc(token.size + 1);
    if (text == NULL) return NO_MEMORY;
    memcpy(text, token.at, token.size);
    text[token.size] = '\0';
    *value = PyOS_string_to_double(text, NULL, NULL);
    free(text);
    return *value == -1.0 && PyErr_Occurred() ? STOPPED : DONE;
}

static Outcome stream_number(void *context, Slice token, double *value) {
    Stream *stream = context;
    take_gil(stream);
    Outcome outcome = string_to_double(token, value);
    release_gil(stream);
    return outcome;
}

#endif
