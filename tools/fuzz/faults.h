/* Put before an extension: its allocations, and those of Python's objects that it asks for, fail when Python tells them to. */
#ifndef RANKPROOF_FUZZ_FAULTS_H
#define RANKPROOF_FUZZ_FAULTS_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "allocation.h"

/* How many allocations succeed from now on; all of them for the largest number. */
__attribute__((visibility("default"), used)) void allow_allocations(size_t count);
void allow_allocations(size_t count) { allocations_left = count; }

#define OR_NO_MEMORY(call) (allocation_fails() ? PyErr_NoMemory() : (call))
#define PyBytes_FromStringAndSize(...) OR_NO_MEMORY(PyBytes_FromStringAndSize(__VA_ARGS__))
#define PyCapsule_New(...) OR_NO_MEMORY(PyCapsule_New(__VA_ARGS__))
#define PyFloat_FromDouble(...) OR_NO_MEMORY(PyFloat_FromDouble(__VA_ARGS__))
#define PyList_New(...) OR_NO_MEMORY(PyList_New(__VA_ARGS__))
#define PyLong_FromSize_t(...) OR_NO_MEMORY(PyLong_FromSize_t(__VA_ARGS__))
#define PyMemoryView_FromMemory(...) OR_NO_MEMORY(PyMemoryView_FromMemory(__VA_ARGS__))
#define PyTuple_New(...) OR_NO_MEMORY(PyTuple_New(__VA_ARGS__))
#define PyTuple_Pack(...) OR_NO_MEMORY(PyTuple_Pack(__VA_ARGS__))
#define PyUnicode_DecodeUTF8(...) OR_NO_MEMORY(PyUnicode_DecodeUTF8(__VA_ARGS__))

/* The built object, or NULL with an exception; what it was built of is released in either case. */
static PyObject *built_or_no_memory(PyObject *object) {
    if (object == NULL || !allocation_fails()) return object;
    Py_DECREF(object);
    return PyErr_NoMemory();
}

#undef Py_BuildValue
#define Py_BuildValue(...) built_or_no_memory(_Py_BuildValue_SizeT(__VA_ARGS__))

#endif
