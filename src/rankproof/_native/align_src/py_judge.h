/* Judgements from a stream or a dict of dicts to a handle. */
#ifndef RANKPROOF_PY_JUDGE_H
#define RANKPROOF_PY_JUDGE_H

#include "py_result.h"
#include "py_stream.h"
#include "qrels_text.h"
#include "workspace.h"

#define CLOSE_GRADES 64

static int higher_grade_first(const void *left, const void *right) {
    int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
    return (a < b) - (a > b);
}

/* Sorts grades, highest first: by counting where they lie close together, as they nearly always do. */
static void sort_grades(int64_t *grades, size_t count) {
    size_t counts[CLOSE_GRADES] = {0}, to = 0;
    int64_t low = INT64_MAX, high = INT64_MIN;
    if (count < 2) return;
    for (size_t i = 0; i < count; i++) {
        if (grades[i] < low) low = grades[i];
        if (grades[i] > high) high = grades[i];
    }
    if ((uint64_t)high - (uint64_t)low >= CLOSE_GRADES) {
        qsort(grades, count, sizeof *grades, higher_grade_first);
        return;
    }
    for (size_t i = 0; i < count; i++) counts[(uint64_t)grades[i] - (uint64_t)low]++;
    for (size_t above = CLOSE_GRADES; above-- > 0;) {
        for (size_t left = counts[above]; left > 0; left--) grades[to++] = low + (int64_t)above;
    }
}

static PyObject *offsets_bytes(const Judged *judged) {
    int64_t *offsets;
    PyObject *bytes = new_bytes(judged->count + 1, sizeof *offsets, &offsets);
    for (size_t i = 0; bytes != NULL && i <= judged->count; i++) offsets[i] = (int64_t)judged->starts[i];
    return bytes;
}

static PyObject *grades_bytes(const Judged *judged) {
    size_t total = judged->starts[judged->count];
    int64_t *grades;
    PyObject *bytes = new_bytes(total, sizeof *grades, &grades);
    if (bytes == NULL) return NULL;
    for (size_t i = 0; i < total; i++) grades[i] = judged->docs[i].grade;
    for (size_t i = 0; i < judged->count; i++) sort_grades(grades + judged->starts[i], judged->starts[i + 1] - judged->starts[i]);
    return bytes;
}

/* Indices of the queries whose documents are not all ASCII. */
static PyObject *foreign_queries(const Judged *judged) {
    PyObject *list = PyList_New(0);
    if (is_ascii(judged->text, judged->text_size)) return list;
    for (size_t query = 0; list != NULL && query < judged->count; query++) {
        bool ascii = true;
        for (size_t i = judged->starts[query]; ascii && i < judged->starts[query + 1]; i++)
            ascii = is_ascii(judged->text + judged->docs[i].at, judged->docs[i].size);
        if (ascii) continue;
        PyObject *index = PyLong_FromSize_t(query);
        if (index == NULL || PyList_Append(list, index) != 0) Py_CLEAR(list);
        Py_XDECREF(index);
    }
    return list;
}

/* Which of the collected queries the set `only` has; NULL with an exception where that fails. */
static uint8_t *kept_queries(const Judge *judge, PyObject *only) {
    uint8_t *kept = zeroed(judge->queries.count, 1);
    if (kept == NULL) return (uint8_t *)PyErr_NoMemory();
    for (size_t i = 0; i < judge->queries.count; i++) {
        PyObject *query = text_of(name_at(&judge->queries, i));
        int found = query == NULL ? -1 : PySequence_Contains(only, query);
        Py_XDECREF(query);
        if (found < 0) {
            free(kept);
            return NULL;
        }
        kept[i] = (uint8_t)found;
    }
    return kept;
}

static PyObject *judged_tuple(Handle *handle, const Judge *judge) {
    PyObject *capsule = PyCapsule_New(handle, HANDLE_NAME, capsule_free);
    if (capsule == NULL) {
        handle_free(handle);
        return NULL;
    }
    const Judged *judged = &handle->judged;
    return Py_BuildValue("(NNNNnLNO)", capsule, texts_of(&judged->queries, NULL, judged->count), offsets_bytes(judged),
                         grades_bytes(judged), (Py_ssize_t)judge->repeats, (long long)judge->highest, foreign_queries(judged),
                         judge->marked ? Py_True : Py_False);
}

/* (handle, queries, offsets, grades, repeats, highest grade, queries with other than ASCII ids, whether the
 * second column must be read in Python) of what was collected. */
static PyObject *judge_object(Judge *judge, PyObject *only) {
    uint8_t *kept = only == Py_None ? NULL : kept_queries(judge, only);
    if (only != Py_None && kept == NULL) return NULL;
    Handle *handle = calloc(1, sizeof *handle);
    Outcome outcome = handle == NULL ? NO_MEMORY : judge_finish(judge, kept, &handle->judged);
    free(kept);
    if (judge->capacity * sizeof *judge->rows > MOST_KEPT) {
        free(judge->rows);
        judge->rows = NULL;
        judge->capacity = 0;
    }
    if (outcome == DONE) return judged_tuple(handle, judge);
    if (handle != NULL) handle_free(handle);
    return PyErr_NoMemory();
}

static PyObject *py_judge_text(PyObject *module, PyObject *arguments) {
    PyObject *readinto, *only;
    Py_ssize_t block;
    int level;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OOni", &readinto, &only, &block, &level)) return NULL;
    Stream stream = {readinto, NULL};
    Workspace space = workspace_take(&process_space);
    Judge judge;
    Lines lines;
    memset(&lines, 0, sizeof lines);
    memset(&judge, 0, sizeof judge);
    judge.seed = process_seed;
    judge_borrow(&judge, &lines, &space);
    release_gil(&stream);
    Outcome outcome = lines_open(&lines, stream_read, &stream, (size_t)block, level, false);
    if (outcome == DONE) outcome = read_qrels(&lines, &judge);
    take_gil(&stream);
    if (outcome != DONE) raise_outcome(outcome, &lines.fault);
    PyObject *object = outcome == DONE ? judge_object(&judge, only) : NULL;
    judge_return(&judge, &lines, &space);
    workspace_leave(&process_space, &space);
    judge_free(&judge);
    return object;
}

#endif
