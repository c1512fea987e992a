/* Sums that do not depend on the order of what is added, and the order of candidates by majority. */
#ifndef RANKPROOF_MERGE_SUMS_H
#define RANKPROOF_MERGE_SUMS_H

#include "../exact_sum.h"
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

/* exact_sums(values, offsets, sums): the exact sum of each list, rounded once, as `math.fsum`. */
static PyObject *py_exact_sums(PyObject *module, PyObject *arguments) {
    Py_buffer values, offsets, sums;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "y*y*w*", &values, &offsets, &sums)) return NULL;
    bool fits = holds_items(&values, 8) && holds_items(&sums, 8) && longest_query(&offsets, (int64_t)values.len / 8) >= 0 &&
                sums.len + 8 == offsets.len;
    if (fits) {
        const int64_t *bounds = offsets.buf;
        Py_BEGIN_ALLOW_THREADS;
        for (Py_ssize_t list = 0; list < sums.len / 8; list++)
            ((double *)sums.buf)[list] = exact_sum((const double *)values.buf + bounds[list], (size_t)(bounds[list + 1] - bounds[list]));
        Py_END_ALLOW_THREADS;
    } else PyErr_SetString(PyExc_ValueError, "the lists to add have the wrong sizes");
    PyBuffer_Release(&values);
    PyBuffer_Release(&offsets);
    PyBuffer_Release(&sums);
    return fits ? Py_NewRef(Py_None) : NULL;
}

/* The ranks of all runs, their votes, and the candidates in the order in which equal votes leave them. */
typedef struct {
    const int64_t *ranks;
    const double *weights;
    size_t runs, columns;
} Votes;

/* Whether more votes put the second candidate before the first; a run without both does not vote, and a rank beats no rank. */
static bool second_wins(const Votes *votes, int64_t first, int64_t second) {
    double before = 0, after = 0;
    for (size_t run = 0; run < votes->runs; run++) {
        const int64_t *ranks = votes->ranks + run * votes->columns;
        uint64_t one = (uint64_t)ranks[first] - 1, other = (uint64_t)ranks[second] - 1;
        before += one < other ? votes->weights[run] : 0;
        after += other < one ? votes->weights[run] : 0;
    }
    return after > before;
}

/* Merge sort: neighbours in the result have met, so that each of them beats or ties the next. */
static void sort_by_majority(const Votes *votes, int64_t *items, int64_t *room, size_t count) {
    if (count < 2) return;
    size_t half = count / 2, left = 0, right = half, to = 0;
    sort_by_majority(votes, items, room, half);
    sort_by_majority(votes, items + half, room, count - half);
    memcpy(room, items, half * sizeof *items);
    while (left < half) items[to++] = right < count && second_wins(votes, room[left], items[right]) ? items[right++] : room[left++];
}

static bool votes_fit(const Py_buffer *ranks, const Py_buffer *weights, const Py_buffer *order, int64_t longest) {
    size_t columns = (size_t)order->len / 8, runs = (size_t)weights->len / 8;
    if (!holds_items(ranks, 8) || !holds_items(weights, 8) || !holds_items(order, 8) || longest < 0) return false;
    if (columns != 0 && runs > SIZE_MAX / 8 / columns) return false;
    if ((size_t)ranks->len / 8 != runs * columns) return false;
    for (size_t at = 0; at < columns; at++) {
        int64_t item = ((const int64_t *)order->buf)[at];
        if (item < 0 || (size_t)item >= columns) return false;
    }
    return true;
}

/* by_majority(ranks, weights, offsets, order): sorts the candidates of each query by majority; `order` has their first order. */
static PyObject *py_by_majority(PyObject *module, PyObject *arguments) {
    Py_buffer ranks, weights, offsets, order;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "y*y*y*w*", &ranks, &weights, &offsets, &order)) return NULL;
    int64_t longest = longest_query(&offsets, (int64_t)order.len / 8);
    bool fits = votes_fit(&ranks, &weights, &order, longest);
    int64_t *room = malloc(((fits ? (size_t)longest : 0) + 1) * sizeof *room);
    if (room == NULL) PyErr_NoMemory();
    else if (!fits) PyErr_SetString(PyExc_ValueError, "the arrays of votes have the wrong sizes");
    else {
        Votes votes = {ranks.buf, weights.buf, (size_t)weights.len / 8, (size_t)order.len / 8};
        const int64_t *bounds = offsets.buf;
        Py_BEGIN_ALLOW_THREADS;
        for (Py_ssize_t query = 0; query < offsets.len / 8 - 1; query++)
            sort_by_majority(&votes, (int64_t *)order.buf + bounds[query], room, (size_t)(bounds[query + 1] - bounds[query]));
        Py_END_ALLOW_THREADS;
    }
    fits = fits && room != NULL;
    free(room);
    PyBuffer_Release(&ranks);
    PyBuffer_Release(&weights);
    PyBuffer_Release(&offsets);
    PyBuffer_Release(&order);
    return fits ? Py_NewRef(Py_None) : NULL;
}

#endif
