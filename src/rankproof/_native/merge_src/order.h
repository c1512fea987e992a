/* The order of documents within each query: by score, and among equal scores by id, larger first. */
#ifndef RANKPROOF_MERGE_ORDER_H
#define RANKPROOF_MERGE_ORDER_H

#include "candidates.h"

/* What sorts, and the index that it belongs to. */
typedef struct {
    uint64_t key;
    int64_t at;
} Item;

/* The document of an index is that of its place, or of the index itself where `places` is NULL. */
typedef struct {
    PyObject *docs;
    const int64_t *places;
} Names;

/* A number that rises as the score falls; both zeros are one. */
static uint64_t key_of(double score) {
    uint64_t bits;
    score = score == 0 ? 0 : score;
    memcpy(&bits, &score, sizeof bits);
    return (bits >> 63) ? bits : ~bits & 0x7FFFFFFFFFFFFFFFu;
}

enum { FEW = 48 };

static void insert_by_key(Item *items, size_t count) {
    for (size_t at = 1; at < count; at++) {
        Item item = items[at];
        size_t to = at;
        for (; to > 0 && items[to - 1].key > item.key; to--) items[to] = items[to - 1];
        items[to] = item;
    }
}

/* By key, byte by byte from the least; a byte that all have in common costs nothing. `items` and `room` may change places. */
static Item *sort_by_key(Item *items, Item *room, size_t count) {
    if (count < FEW) return insert_by_key(items, count), items;
    size_t counts[8][256];
    memset(counts, 0, sizeof counts);
    for (size_t at = 0; at < count; at++)
        for (int byte = 0; byte < 8; byte++) counts[byte][(items[at].key >> (8 * byte)) & 255]++;
    for (int byte = 0; byte < 8; byte++) {
        if (counts[byte][(items[0].key >> (8 * byte)) & 255] == count) continue;
        size_t next = 0;
        for (int value = 0; value < 256; value++) {
            size_t here = counts[byte][value];
            counts[byte][value] = next;
            next += here;
        }
        for (size_t at = 0; at < count; at++) room[counts[byte][(items[at].key >> (8 * byte)) & 255]++] = items[at];
        Item *swap = items;
        items = room;
        room = swap;
    }
    return items;
}

static PyObject *doc_of(const Names *names, int64_t at) {
    return PyList_GetItem(names->docs, (Py_ssize_t)(names->places == NULL ? at : names->places[at]));
}

/* Comparing fails where one is no text; then an error is set. */
static bool comes_first(const Names *names, Item left, Item right) {
    return PyUnicode_Compare(doc_of(names, left.at), doc_of(names, right.at)) > 0;
}

/* Equal scores by id, larger first: merging halves, so that thousands of equal scores stay cheap. */
static void sort_by_id(const Names *names, Item *items, Item *room, size_t count) {
    if (count < 2) return;
    size_t half = count / 2, left = 0, right = half, to = 0;
    sort_by_id(names, items, room, half);
    sort_by_id(names, items + half, room, count - half);
    if (comes_first(names, items[half - 1], items[half])) return;
    memcpy(room, items, half * sizeof *items);
    while (left < half) items[to++] = right < count && comes_first(names, items[right], room[left]) ? items[right++] : room[left++];
}

/* Items with equal keys by id, larger first. */
static void sort_ties_by_id(const Names *names, Item *items, Item *room, size_t count) {
    for (size_t first = 0, last; first < count; first = last) {
        for (last = first + 1; last < count && items[last].key == items[first].key; last++) {}
        sort_by_id(names, items + first, room, last - first);
    }
}

/* The UTF-8 bytes of an id; false where it has none, such as a lone surrogate. */
static bool bytes_of(const Names *names, int64_t at, Id *id) {
    Py_ssize_t size;
    id->bytes = PyUnicode_AsUTF8AndSize(doc_of(names, at), &size);
    id->size = (size_t)size;
    if (id->bytes == NULL) PyErr_Clear();
    return id->bytes != NULL;
}

/* How many bytes all ids begin with in common; false where one has no bytes. */
static bool common_bytes(const Names *names, const Item *items, size_t count, size_t *common) {
    Id first, id;
    if (!bytes_of(names, items[0].at, &first)) return false;
    *common = first.size;
    for (size_t at = 1; at < count; at++) {
        if (!bytes_of(names, items[at].at, &id)) return false;
        size_t most = id.size < *common ? id.size : *common, same = 0;
        while (same < most && id.bytes[same] == first.bytes[same]) same++;
        *common = same;
    }
    return true;
}

/* Many items by id, larger first: by the eight bytes after those in common, and only where these are equal by all. */
static void sort_many_by_id(const Names *names, Item *items, Item *room, size_t count) {
    size_t common;
    if (!common_bytes(names, items, count, &common)) {
        sort_by_id(names, items, room, count);
        return;
    }
    for (size_t at = 0; at < count; at++) {
        Id id = {0};
        uint64_t key = 0;
        if (!bytes_of(names, items[at].at, &id)) id.size = 0;
        for (size_t byte = common; byte < common + 8; byte++) key = key << 8 | (byte < id.size ? (unsigned char)id.bytes[byte] : 0);
        items[at].key = ~key;
    }
    Item *sorted = sort_by_key(items, room, count);
    if (sorted != items) memcpy(items, sorted, count * sizeof *items);
    sort_ties_by_id(names, items, room, count);
}

/* Writes the indexes from `start` to `end` best first; where many scores are equal, all are first sorted by id. */
static void order_query(const Names *names, const double *keys, int64_t start, int64_t end, Item *items, Item *room, int64_t *order) {
    size_t count = (size_t)(end - start);
    bool in_order = true;
    for (int64_t at = start + 1; at < end && in_order; at++) in_order = keys[at] < keys[at - 1];
    if (in_order) {
        for (int64_t at = start; at < end; at++) order[at] = at;
        return;
    }
    for (size_t at = 0; at < count; at++) items[at] = (Item){key_of(keys[start + (int64_t)at]), start + (int64_t)at};
    Item *sorted = sort_by_key(items, room, count), *other = sorted == items ? room : items;
    size_t tied = 0;
    for (size_t at = 1; at < count; at++) tied += sorted[at].key == sorted[at - 1].key;
    if (count >= FEW && 4 * tied > count) {
        sort_many_by_id(names, sorted, other, count);
        for (size_t at = 0; at < count; at++) sorted[at].key = key_of(keys[sorted[at].at]);
        sorted = sort_by_key(sorted, other, count);
    } else
        sort_ties_by_id(names, sorted, other, count);
    for (size_t at = 0; at < count; at++) order[start + (int64_t)at] = sorted[at].at;
}

/* The length of the longest query, or -1 where the offsets do not rise from 0 to `all`. */
static int64_t longest_query(const Py_buffer *offsets, int64_t all) {
    if (!holds_items(offsets, 8) || offsets->len < 8) return -1;
    const int64_t *bounds = offsets->buf;
    int64_t queries = (int64_t)offsets->len / 8 - 1, longest = 0;
    if (bounds[0] != 0 || bounds[queries] != all) return -1;
    for (int64_t query = 0; query < queries; query++) {
        int64_t length = bounds[query + 1] - bounds[query];
        if (length < 0) return -1;
        longest = length > longest ? length : longest;
    }
    return longest;
}

/* Whether each of so many indexes has a document. */
static bool names_fit(PyObject *docs, const Py_buffer *places, int64_t all) {
    Py_ssize_t there = PyList_Size(docs);
    if (places->buf == NULL) return there == (Py_ssize_t)all;
    if (!holds_items(places, 8) || places->len / 8 != all) return false;
    for (int64_t at = 0; at < all; at++) {
        int64_t place = ((const int64_t *)places->buf)[at];
        if (place < 0 || place >= (int64_t)there) return false;
    }
    return true;
}

static bool order_all(const Names *names, const double *keys, const Py_buffer *offsets, int64_t longest, int64_t *order) {
    Item *items = malloc((2 * (size_t)longest + 1) * sizeof *items);
    if (items == NULL) return PyErr_NoMemory(), false;
    const int64_t *bounds = offsets->buf;
    for (Py_ssize_t query = 0; query < offsets->len / 8 - 1; query++)
        order_query(names, keys, bounds[query], bounds[query + 1], items, items + longest, order);
    free(items);
    return PyErr_Occurred() == NULL;
}

/* best_first(keys, offsets, documents, places, order): writes the indexes of each query best first. */
static PyObject *py_best_first(PyObject *module, PyObject *arguments) {
    PyObject *docs;
    Py_buffer keys, offsets, places, order;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "y*y*O!z*w*", &keys, &offsets, &PyList_Type, &docs, &places, &order)) return NULL;
    int64_t all = (int64_t)keys.len / 8, longest = longest_query(&offsets, all);
    bool done = false;
    if (!holds_items(&keys, 8) || !holds_items(&order, 8) || order.len != keys.len || longest < 0 || !names_fit(docs, &places, all))
        PyErr_SetString(PyExc_ValueError, "the arrays to order have the wrong sizes");
    else done = order_all(&(Names){docs, places.buf}, keys.buf, &offsets, longest, order.buf);
    PyBuffer_Release(&keys);
    PyBuffer_Release(&offsets);
    PyBuffer_Release(&places);
    PyBuffer_Release(&order);
    return done ? Py_NewRef(Py_None) : NULL;
}

/* taken(documents, order): the documents at these indexes, as a tuple. */
static PyObject *py_taken(PyObject *module, PyObject *arguments) {
    PyObject *docs, *taken = NULL;
    Py_buffer order;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "O!y*", &PyList_Type, &docs, &order)) return NULL;
    Py_ssize_t count = order.len / 8, there = PyList_Size(docs);
    bool fits = holds_items(&order, 8);
    const int64_t *indexes = order.buf;
    for (Py_ssize_t at = 0; fits && at < count; at++) fits = indexes[at] >= 0 && indexes[at] < (int64_t)there;
    if (!fits) PyErr_SetString(PyExc_ValueError, "an index is no document");
    else taken = PyTuple_New(count);
    for (Py_ssize_t at = 0; taken != NULL && at < count; at++) {
        if (at + AHEAD < count) PREFETCH(PyList_GetItem(docs, (Py_ssize_t)indexes[at + AHEAD]));
        PyTuple_SetItem(taken, at, Py_NewRef(PyList_GetItem(docs, (Py_ssize_t)indexes[at])));
    }
    PyBuffer_Release(&order);
    return taken;
}

/* How many scores of a query are higher than that of `at`, how many are equal, and how many of these have a larger id. */
static void count_better(const double *scores, const int64_t *by_id, int64_t start, int64_t end, int64_t at, int64_t *counts) {
    double own = scores[at];
    int64_t higher = 0, equal = 0, larger = 0;
    for (int64_t other = start; other < end; other++) {
        higher += scores[other] > own;
        equal += scores[other] == own;
    }
    for (int64_t other = start; equal > 1 && other < end; other++) larger += scores[other] == own && by_id[other] < by_id[at];
    counts[0] = higher;
    counts[1] = equal;
    counts[2] = larger;
}

/* Whether all indexes of each query lie in it. */
static bool chosen_fit(const int64_t *bounds, const int64_t *chosen, const int64_t *chosen_bounds, Py_ssize_t queries) {
    for (Py_ssize_t query = 0; query < queries; query++)
        for (int64_t at = chosen_bounds[query]; at < chosen_bounds[query + 1]; at++)
            if (chosen[at] < bounds[query] || chosen[at] >= bounds[query + 1]) return false;
    return true;
}

/* better(scores, offsets, by_id, chosen, chosen_offsets, counts): three counts of each chosen index; `by_id` orders ids, largest first. */
static PyObject *py_better(PyObject *module, PyObject *arguments) {
    Py_buffer scores, offsets, by_id, chosen, chosen_offsets, counts;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "y*y*y*y*y*w*", &scores, &offsets, &by_id, &chosen, &chosen_offsets, &counts)) return NULL;
    Py_ssize_t queries = offsets.len / 8 - 1;
    bool fits = holds_items(&scores, 8) && holds_items(&by_id, 8) && by_id.len == scores.len && holds_items(&chosen, 8) &&
                holds_items(&counts, 8) && counts.len == 3 * chosen.len && chosen_offsets.len == offsets.len &&
                longest_query(&offsets, (int64_t)scores.len / 8) >= 0 &&
                longest_query(&chosen_offsets, (int64_t)chosen.len / 8) >= 0 &&
                chosen_fit(offsets.buf, chosen.buf, chosen_offsets.buf, queries);
    if (fits) {
        const int64_t *bounds = offsets.buf, *indexes = chosen.buf, *chosen_bounds = chosen_offsets.buf;
        Py_BEGIN_ALLOW_THREADS;
        for (Py_ssize_t query = 0; query < queries; query++)
            for (int64_t at = chosen_bounds[query]; at < chosen_bounds[query + 1]; at++)
                count_better(scores.buf, by_id.buf, bounds[query], bounds[query + 1], indexes[at], (int64_t *)counts.buf + 3 * at);
        Py_END_ALLOW_THREADS;
    } else PyErr_SetString(PyExc_ValueError, "the arrays to count have the wrong sizes");
    PyBuffer_Release(&scores);
    PyBuffer_Release(&offsets);
    PyBuffer_Release(&by_id);
    PyBuffer_Release(&chosen);
    PyBuffer_Release(&chosen_offsets);
    PyBuffer_Release(&counts);
    return fits ? Py_NewRef(Py_None) : NULL;
}

#endif
