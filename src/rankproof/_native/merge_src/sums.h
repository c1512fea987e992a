/* Sums that do not depend on the order of what is added, and the order of candidates by majority. */
#ifndef RANKPROOF_MERGE_SUMS_H
#define RANKPROOF_MERGE_SUMS_H

#include "order.h"

/* added(terms, total): for each column of the rows of terms, their sum in ascending order. */
static void add_ascending(const double *terms, size_t rows, size_t columns, double *values, double *total) {
    for (size_t column = 0; column < columns; column++) {
        for (size_t row = 0; row < rows; row++) {
            double term = terms[row * columns + column];
            size_t to = row;
            for (; to > 0 && values[to - 1] > term; to--) values[to] = values[to - 1];
            values[to] = term;
        }
        double sum = 0;
        for (size_t row = 0; row < rows; row++) sum += values[row];
        total[column] = sum;
    }
}

static PyObject *py_added(PyObject *module, PyObject *arguments) {
    Py_buffer terms, total;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "y*w*", &terms, &total)) return NULL;
    size_t columns = (size_t)total.len / 8, cells = (size_t)terms.len / 8, rows = columns == 0 ? 0 : cells / columns;
    bool fits = holds_items(&terms, 8) && holds_items(&total, 8) && rows * columns == cells;
    double *values = malloc((rows + 1) * sizeof *values);
    if (values == NULL) PyErr_NoMemory();
    else if (!fits) PyErr_SetString(PyExc_ValueError, "the terms have the wrong size");
    else {
        Py_BEGIN_ALLOW_THREADS;
        add_ascending(terms.buf, rows, columns, values, total.buf);
        Py_END_ALLOW_THREADS;
    }
    fits = fits && values != NULL;
    free(values);
    PyBuffer_Release(&terms);
    PyBuffer_Release(&total);
    return fits ? Py_NewRef(Py_None) : NULL;
}

#endif
