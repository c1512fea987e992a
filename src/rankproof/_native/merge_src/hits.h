/* Merges the hits of partitions and decodes the ids of those that are kept.

   A place is the number of a partition, shifted by 32 bits, and a row of it. Hits come best first, of equal scores the larger id first,
   so that a merge compares the bytes of ids only where scores are equal. Offsets and places are checked before they are used. */
#ifndef RANKPROOF_MERGE_HITS_H
#define RANKPROOF_MERGE_HITS_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../exact_floats.h"
#include "../prefetch.h"
#include "../py_buffers.h"

/* The ids of a partition; `texts` has those that are decoded, or is NULL. */
typedef struct {
    Py_buffer offsets, data;
    size_t rows;
    PyObject **texts;
} Ids;

typedef struct {
    Ids *each;
    size_t count;
} Corpus;

/* The hits of all queries: `width` places and scores for each, of which `counts` are filled. */
typedef struct {
    Py_buffer places, scores, counts;
    size_t width;
} Part;

typedef struct {
    double score;
    int64_t place;
} Hit;

typedef struct {
    const char *bytes;
    size_t size;
} Id;

static Ids *partition_of(const Corpus *corpus, int64_t place, size_t *row) {
    size_t number = (size_t)((uint64_t)place >> 32);
    *row = (size_t)((uint64_t)place & 0xFFFFFFFFu);
    return number < corpus->count && *row < corpus->each[number].rows ? &corpus->each[number] : NULL;
}

/* False where a place or an offset is out of range. */
static bool id_at(const Ids *ids, size_t row, Id *id) {
    const int64_t *offsets = ids->offsets.buf;
    int64_t start = offsets[row], end = offsets[row + 1];
    if (start < 0 || end < start || end > (int64_t)ids->data.len) return false;
    *id = (Id){(const char *)ids->data.buf + start, (size_t)(end - start)};
    return true;
}

static bool find_id(const Corpus *corpus, int64_t place, Id *id) {
    size_t row;
    const Ids *ids = partition_of(corpus, place, &row);
    return ids != NULL && id_at(ids, row, id);
}

static bool is_larger(Id one, Id other) {
    int order = memcmp(one.bytes, other.bytes, one.size < other.size ? one.size : other.size);
    return order != 0 ? order > 0 : one.size > other.size;
}

static void free_corpus(Corpus *corpus) {
    for (size_t at = 0; at < corpus->count; at++) {
        Ids *ids = &corpus->each[at];
        for (size_t row = 0; ids->texts != NULL && row < ids->rows; row++) Py_XDECREF(ids->texts[row]);
        free(ids->texts);
        PyBuffer_Release(&ids->offsets);
        PyBuffer_Release(&ids->data);
    }
    free(corpus->each);
}

/* Opens a list of (offsets, data); false with an error set. */
static bool open_corpus(Corpus *corpus, PyObject *given) {
    size_t size = (size_t)PyList_Size(given);
    *corpus = (Corpus){.each = calloc(size + 1, sizeof *corpus->each)};
    if (corpus->each == NULL) {
        PyErr_NoMemory();
        return false;
    }
    while (corpus->count < size) {
        Ids *ids = &corpus->each[corpus->count];
        PyObject *pair = PyList_GetItem(given, (Py_ssize_t)corpus->count);
        if (!PyTuple_Check(pair)) {
            PyErr_SetString(PyExc_TypeError, "ids are a pair of offsets and bytes");
            return false;
        }
        if (!PyArg_ParseTuple(pair, "y*y*", &ids->offsets, &ids->data)) return false;
        corpus->count++;
        if (!holds_items(&ids->offsets, sizeof(int64_t))) {
            PyErr_SetString(PyExc_ValueError, "the offsets of ids are no array of 64-bit numbers");
            return false;
        }
        ids->rows = ids->offsets.len < 8 ? 0 : (size_t)ids->offsets.len / 8 - 1;
    }
    return true;
}

static void free_part(Part *part) {
    PyBuffer_Release(&part->places);
    PyBuffer_Release(&part->scores);
    PyBuffer_Release(&part->counts);
}

/* Opens (places, scores, counts) of so many queries; false with an error set. */
static bool open_part(Part *part, PyObject *given, size_t queries, bool is_written) {
    const char *format = is_written ? "w*w*w*" : "y*y*y*";
    if (!PyTuple_Check(given)) {
        PyErr_SetString(PyExc_TypeError, "hits are (places, scores, counts)");
        return false;
    }
    if (!PyArg_ParseTuple(given, format, &part->places, &part->scores, &part->counts)) return false;
    size_t cells = (size_t)part->places.len / 8;
    part->width = queries == 0 ? 0 : cells / queries;
    bool sound = holds_items(&part->places, 8) && holds_items(&part->scores, 8) && holds_items(&part->counts, 8) &&
                 part->places.len == part->scores.len && cells == queries * part->width &&
                 (size_t)part->counts.len / 8 == queries;
    for (size_t query = 0; sound && !is_written && query < queries; query++) {
        int64_t count = ((const int64_t *)part->counts.buf)[query];
        sound = count >= 0 && (uint64_t)count <= part->width;
    }
    if (!sound) {
        free_part(part);
        PyErr_SetString(PyExc_ValueError, "the arrays of hits have the wrong sizes");
    }
    return sound;
}

/* Whether the hit of the second comes first; `sound` becomes false where a place is out of range. */
static bool second_is_first(const Corpus *corpus, Hit first, Hit second, bool *sound) {
    if (first.score != second.score) return second.score > first.score;
    Id one, other;
    if (!find_id(corpus, first.place, &one) || !find_id(corpus, second.place, &other)) return *sound = false;
    return is_larger(other, one);
}

/* Merges the hits of a query in a part with those in `kept` into `room`, up to `most`; returns how many there are. */
static size_t merge_part(const Corpus *corpus, const Part *part, size_t query, const Hit *kept, size_t count, Hit *room, size_t most,
                         bool *sound) {
    const int64_t *places = (const int64_t *)part->places.buf + query * part->width;
    const double *scores = (const double *)part->scores.buf + query * part->width;
    size_t more = (size_t)((const int64_t *)part->counts.buf)[query], old = 0, new = 0, to = 0;
    for (; to < most && old < count && new < more; to++) {
        Hit hit = {scores[new], places[new]};
        bool takes_new = second_is_first(corpus, kept[old], hit, sound);
        room[to] = takes_new ? hit : kept[old];
        new += takes_new;
        old += !takes_new;
    }
    for (; to < most && old < count; to++) room[to] = kept[old++];
    for (; to < most && new < more; to++, new++) room[to] = (Hit){scores[new], places[new]};
    return to;
}

/* Merges the parts of all queries; `room` holds twice the width of the result. */
static bool merge_parts(const Corpus *corpus, const Part *parts, size_t count, size_t queries, Hit *room, Part *result) {
    bool sound = true;
    size_t most = result->width;
    for (size_t query = 0; query < queries && sound; query++) {
        Hit *kept = room, *other = room + most;
        size_t found = 0;
        for (size_t at = 0; at < count; at++) {
            found = merge_part(corpus, &parts[at], query, kept, found, other, most, &sound);
            Hit *swap = kept;
            kept = other;
            other = swap;
        }
        ((int64_t *)result->counts.buf)[query] = (int64_t)found;
        for (size_t at = 0; at < found; at++) {
            ((int64_t *)result->places.buf)[query * most + at] = kept[at].place;
            ((double *)result->scores.buf)[query * most + at] = kept[at].score;
        }
    }
    return sound;
}

static PyObject *merge_opened(const Corpus *corpus, const Part *parts, size_t count, size_t queries, Part *result) {
    Hit *room = malloc((2 * result->width + 1) * sizeof *room);
    if (room == NULL) return PyErr_NoMemory();
    bool sound;
    Py_BEGIN_ALLOW_THREADS;
    sound = merge_parts(corpus, parts, count, queries, room, result);
    Py_END_ALLOW_THREADS;
    free(room);
    if (sound) Py_RETURN_NONE;
    PyErr_SetString(PyExc_ValueError, "a hit is no row of its partition");
    return NULL;
}

/* merge_hits(ids, parts, queries, result): writes the best of all parts into the arrays of the result. */
static PyObject *py_merge_hits(PyObject *module, PyObject *arguments) {
    PyObject *ids, *given, *into, *done = NULL;
    Py_ssize_t queries;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "O!O!nO", &PyList_Type, &ids, &PyList_Type, &given, &queries, &into)) return NULL;
    size_t size = (size_t)PyList_Size(given), opened = 0;
    Corpus corpus = {0};
    Part result, *parts = calloc(size + 1, sizeof *parts);
    if (parts == NULL) return PyErr_NoMemory();
    bool sound = queries >= 0 && open_corpus(&corpus, ids);
    while (sound && opened < size) {
        sound = open_part(&parts[opened], PyList_GetItem(given, (Py_ssize_t)opened), (size_t)queries, false);
        opened += sound;
    }
    if (sound && open_part(&result, into, (size_t)queries, true)) {
        done = merge_opened(&corpus, parts, size, (size_t)queries, &result);
        free_part(&result);
    }
    if (queries < 0) PyErr_SetString(PyExc_ValueError, "the number of queries is negative");
    for (size_t at = 0; at < opened; at++) free_part(&parts[at]);
    free(parts);
    free_corpus(&corpus);
    return done;
}

static const int64_t *places_of(const Part *part, size_t query) {
    return (const int64_t *)part->places.buf + query * part->width;
}

static size_t count_of(const Part *part, size_t query) {
    return (size_t)((const int64_t *)part->counts.buf)[query];
}

static void *no_such_row(void) {
    PyErr_SetString(PyExc_ValueError, "a hit is no row of its partition");
    return NULL;
}

/* The id of a row as text; a lone surrogate is kept. */
static PyObject *decoded_id(const Ids *ids, size_t row) {
    Id id;
    return id_at(ids, row, &id) ? PyUnicode_DecodeUTF8(id.bytes, (Py_ssize_t)id.size, "surrogatepass") : no_such_row();
}

/* Marks the rows of all hits by None; false with an error set. */
static bool mark_rows(Corpus *corpus, const Part *part, size_t queries) {
    for (size_t at = 0; at < corpus->count; at++) {
        corpus->each[at].texts = calloc(corpus->each[at].rows + 1, sizeof(PyObject *));
        if (corpus->each[at].texts == NULL) return PyErr_NoMemory(), false;
    }
    for (size_t query = 0; query < queries; query++)
        for (size_t at = 0; at < count_of(part, query); at++) {
            size_t row;
            Ids *ids = partition_of(corpus, places_of(part, query)[at], &row);
            if (ids == NULL) return no_such_row(), false;
            if (ids->texts[row] == NULL) ids->texts[row] = Py_NewRef(Py_None);
        }
    return true;
}

/* Decodes each id of the hits once, in the order of the rows, so that those of near rows are near in memory. */
static bool decode_once(Corpus *corpus, const Part *part, size_t queries) {
    if (!mark_rows(corpus, part, queries)) return false;
    for (size_t at = 0; at < corpus->count; at++) {
        Ids *ids = &corpus->each[at];
        for (size_t row = 0; row < ids->rows; row++) {
            if (ids->texts[row] == NULL) continue;
            PyObject *text = decoded_id(ids, row);
            if (text == NULL) return false;
            Py_DECREF(ids->texts[row]);
            ids->texts[row] = text;
        }
    }
    return true;
}

enum { AHEAD = 16 };

static PyObject *decoded_ids(const Corpus *corpus, const Part *part, size_t query) {
    size_t count = count_of(part, query), row;
    const int64_t *places = places_of(part, query);
    PyObject *list = PyList_New((Py_ssize_t)count);
    for (size_t at = 0; list != NULL && at < count; at++) {
        const Ids *later = at + AHEAD < count ? partition_of(corpus, places[at + AHEAD], &row) : NULL;
        if (later != NULL && later->texts != NULL) PREFETCH(later->texts[row]);
        const Ids *ids = partition_of(corpus, places[at], &row);
        PyObject *id = ids == NULL ? no_such_row() : ids->texts != NULL ? Py_NewRef(ids->texts[row]) : decoded_id(ids, row);
        if (id == NULL || PyList_SetItem(list, (Py_ssize_t)at, id) < 0) Py_CLEAR(list);
    }
    return list;
}

/* hit_ids(ids, hits, queries, is_shared): the ids of each query; `is_shared` decodes an id of many queries once. */
static PyObject *py_hit_ids(PyObject *module, PyObject *arguments) {
    PyObject *given, *hits, *all = NULL;
    Py_ssize_t queries;
    int is_shared;
    Corpus corpus = {0};
    Part part;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "O!Onp", &PyList_Type, &given, &hits, &queries, &is_shared)) return NULL;
    if (queries < 0) {
        PyErr_SetString(PyExc_ValueError, "the number of queries is negative");
        return NULL;
    }
    if (open_corpus(&corpus, given) && open_part(&part, hits, (size_t)queries, false)) {
        all = !is_shared || decode_once(&corpus, &part, (size_t)queries) ? PyList_New(queries) : NULL;
        for (Py_ssize_t query = 0; all != NULL && query < queries; query++) {
            PyObject *list = decoded_ids(&corpus, &part, (size_t)query);
            if (list == NULL || PyList_SetItem(all, query, list) < 0) Py_CLEAR(all);
        }
        free_part(&part);
    }
    free_corpus(&corpus);
    return all;
}

#endif
