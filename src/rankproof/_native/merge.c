/* Merges rankings: of several systems by points, here, and of the partitions of a corpus by score, in merge_src/hits.h.

   Adds the points of documents in several rankings of one query, and sorts the documents.

   Documents are text objects, found again by their hash in a small table. Sums are taken in the order of the rankings. The order is by
   score, sorted by the bits of the number, and among equal scores by id, larger first, as text compares by code point and so by bytes. */
#include "merge_src/hits.h"

/* A document: borrowed, its caller holds it. `last` is the ranking that gave it something last. */
typedef struct {
    PyObject *doc;
    Py_hash_t hash;
    double total;
    int32_t times, last;
} Entry;

/* Entries in the order in which they came; slots hold an entry's number plus 1, or 0. */
typedef struct {
    Entry *entries;
    uint32_t *slots;
    size_t count, mask;
} Table;

/* What sorts, and which entry it belongs to. */
typedef struct {
    uint64_t key;
    uint32_t entry;
} Item;

static bool make_table(Table *table, size_t most) {
    size_t slots = 16;
    while (slots < 2 * most) slots *= 2;
    table->entries = malloc((most + 1) * sizeof *table->entries);
    table->slots = calloc(slots, sizeof *table->slots);
    table->mask = slots - 1;
    if (table->entries != NULL && table->slots != NULL) return true;
    PyErr_NoMemory();
    return false;
}

/* The hash of str itself: one that a subclass defines could change what is being merged. */
static hashfunc text_hash;

/* The document's entry, made where it is new; NULL with an error set where it cannot be hashed. */
static Entry *entry_of(Table *table, PyObject *doc) {
    Py_hash_t hash = text_hash(doc);
    if (hash == -1) return NULL;
    size_t at = (size_t)hash & table->mask;
    for (; table->slots[at] != 0; at = (at + 1) & table->mask) {
        Entry *entry = &table->entries[table->slots[at] - 1];
        if (entry->doc == doc) return entry;
        if (entry->hash == hash && PyUnicode_Compare(entry->doc, doc) == 0) return entry;
    }
    Entry *entry = &table->entries[table->count++];
    *entry = (Entry){.doc = doc, .hash = hash, .total = 0.0, .times = 0, .last = -1};
    table->slots[at] = (uint32_t)table->count;
    return entry;
}

static bool add_one(Table *table, PyObject *doc, double part, int32_t ranking) {
    if (doc == NULL) return false;
    if (!PyUnicode_Check(doc)) {
        PyErr_SetString(PyExc_TypeError, "a document id must be text");
        return false;
    }
    Entry *entry = entry_of(table, doc);
    if (entry == NULL) return false;
    if (entry->last == ranking) {
        PyErr_SetObject(PyExc_KeyError, doc);
        return false;
    }
    entry->total += part;
    entry->times++;
    entry->last = ranking;
    return true;
}

/* One ranking: its documents lie in a tuple or a list, from `start`, one for each part. */
static bool add_ranking(Table *table, PyObject *docs, Py_ssize_t start, const double *parts, Py_ssize_t count, int32_t ranking) {
    bool is_tuple = PyTuple_Check(docs);
    if (!is_tuple && !PyList_Check(docs)) {
        PyErr_SetString(PyExc_TypeError, "documents must be a tuple or a list");
        return false;
    }
    Py_ssize_t there = is_tuple ? PyTuple_Size(docs) : PyList_Size(docs);
    if (start < 0 || start > there || count > there - start) {
        PyErr_SetString(PyExc_ValueError, "fewer documents than points");
        return false;
    }
    for (Py_ssize_t at = 0; at < count; at++) {
        PyObject *doc = is_tuple ? PyTuple_GetItem(docs, start + at) : PyList_GetItem(docs, start + at);
        if (!add_one(table, doc, parts[at], ranking)) return false;
    }
    return true;
}

/* A number that rises as the score falls; both zeros are one. */
static uint64_t key_of(double score) {
    uint64_t bits;
    score = score == 0 ? 0 : score;
    memcpy(&bits, &score, sizeof bits);
    return (bits >> 63) ? bits : ~bits & 0x7FFFFFFFFFFFFFFFu;
}

/* By key, byte by byte from the least; a byte that all have in common costs nothing. `items` and `room` may change places. */
static Item *sort_by_key(Item *items, Item *room, size_t count) {
    size_t counts[8][256];
    memset(counts, 0, sizeof counts);
    for (size_t at = 0; at < count; at++)
        for (int byte = 0; byte < 8; byte++) counts[byte][(items[at].key >> (8 * byte)) & 255]++;
    for (int byte = 0; byte < 8; byte++) {
        if (count == 0 || counts[byte][(items[0].key >> (8 * byte)) & 255] == count) continue;
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

/* Both are text, so that comparing cannot fail. */
static bool comes_first(const Table *table, Item left, Item right) {
    return PyUnicode_Compare(table->entries[left.entry].doc, table->entries[right.entry].doc) > 0;
}

/* Equal scores by id, larger first: merging halves, so that thousands of equal scores stay cheap. */
static void sort_by_id(const Table *table, Item *items, Item *room, size_t count) {
    if (count < 2) return;
    size_t half = count / 2, left = 0, right = half, to = 0;
    sort_by_id(table, items, room, half);
    sort_by_id(table, items + half, room, count - half);
    if (comes_first(table, items[half - 1], items[half])) return;
    memcpy(room, items, half * sizeof *items);
    while (left < half) items[to++] = right < count && comes_first(table, items[right], room[left]) ? items[right++] : room[left++];
}

static void order_ties(const Table *table, Item *items, Item *room) {
    for (size_t start = 0, end; start < table->count; start = end) {
        for (end = start + 1; end < table->count && items[end].key == items[start].key; end++) {}
        sort_by_id(table, items + start, room, end - start);
    }
}

static PyObject *written(const Table *table, const Item *items) {
    PyObject *docs = PyList_New((Py_ssize_t)table->count);
    PyObject *scores = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)(table->count * sizeof(double))), *both = NULL;
    if (docs != NULL && scores != NULL) {
        char *values = PyBytes_AsString(scores);
        for (size_t at = 0; at < table->count; at++) {
            const Entry *entry = &table->entries[items[at].entry];
            Py_INCREF(entry->doc);
            PyList_SetItem(docs, (Py_ssize_t)at, entry->doc);
            memcpy(values + at * sizeof(double), &entry->total, sizeof(double));
        }
        both = PyTuple_Pack(2, docs, scores);
    }
    Py_XDECREF(docs);
    Py_XDECREF(scores);
    return both;
}

static PyObject *in_order(Table *table, bool times_found) {
    Item *items = malloc((2 * table->count + 2) * sizeof *items);
    if (items == NULL) return PyErr_NoMemory();
    for (size_t at = 0; at < table->count; at++) {
        Entry *entry = &table->entries[at];
        if (times_found) entry->total *= entry->times;
        items[at] = (Item){.key = key_of(entry->total), .entry = (uint32_t)at};
    }
    Item *sorted = sort_by_key(items, items + table->count, table->count);
    order_ties(table, sorted, sorted == items ? items + table->count : items);
    PyObject *both = written(table, sorted);
    free(items);
    return both;
}

/* How many parts the rankings have together, or -1 with an error set where one is no (documents, start, parts). */
static Py_ssize_t parts_in(PyObject *given, Py_ssize_t rankings) {
    Py_ssize_t all = 0;
    for (Py_ssize_t at = 0; at < rankings; at++) {
        PyObject *docs, *one = PyList_GetItem(given, at);
        Py_ssize_t start;
        Py_buffer parts;
        if (!PyTuple_Check(one)) {
            PyErr_SetString(PyExc_TypeError, "a ranking is (documents, start, points)");
            return -1;
        }
        if (!PyArg_ParseTuple(one, "Ony*", &docs, &start, &parts)) return -1;
        bool whole = holds_items(&parts, sizeof(double));
        all += parts.len / (Py_ssize_t)sizeof(double);
        PyBuffer_Release(&parts);
        if (!whole) {
            PyErr_SetString(PyExc_ValueError, "points are no array of 64-bit numbers");
            return -1;
        }
    }
    if (all < INT32_MAX) return all;
    PyErr_SetString(PyExc_ValueError, "too many documents");
    return -1;
}

static bool add_all(Table *table, PyObject *given, Py_ssize_t rankings) {
    for (Py_ssize_t at = 0; at < rankings; at++) {
        PyObject *docs;
        Py_ssize_t start;
        Py_buffer parts;
        if (!PyArg_ParseTuple(PyList_GetItem(given, at), "Ony*", &docs, &start, &parts)) return false;
        bool added = add_ranking(table, docs, start, parts.buf, parts.len / (Py_ssize_t)sizeof(double), (int32_t)at);
        PyBuffer_Release(&parts);
        if (!added) return false;
    }
    return true;
}

/* merge([(documents, start, parts), …], times_found): the documents best first, and their scores as the bytes of doubles. */
static PyObject *py_merge(PyObject *module, PyObject *arguments) {
    PyObject *given, *both = NULL;
    int times_found;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "O!p", &PyList_Type, &given, &times_found)) return NULL;
    Py_ssize_t rankings = PyList_Size(given);
    Py_ssize_t most = parts_in(given, rankings);
    if (most < 0) return NULL;
    Table table = {0};
    if (make_table(&table, (size_t)most) && add_all(&table, given, rankings)) both = in_order(&table, times_found);
    free(table.entries);
    free(table.slots);
    return both;
}

static PyMethodDef functions[] = {
    {"merge", py_merge, METH_VARARGS, "One ranking of several: ([(documents, start, parts)], times_found)."},
    {"merge_hits", py_merge_hits, METH_VARARGS, "The best hits of several partitions: (ids, parts, queries, result)."},
    {"hit_ids", py_hit_ids, METH_VARARGS, "The ids of hits: (ids, hits, queries, is_shared)."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "merge", "Merges rankings.", -1, functions, NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit_merge(void) {
    text_hash = (hashfunc)PyType_GetSlot(&PyUnicode_Type, Py_tp_hash);
    return PyModule_Create(&definition);
}
