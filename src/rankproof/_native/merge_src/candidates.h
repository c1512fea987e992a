/* The candidates of a fusion: the documents of several rankings, each found once by its text, and their order.

   Documents are text objects, or all of them bytes of UTF-8, found again by their hash in a small table that is cleared for each query.
   The order is by score, sorted by the bits of the number, and among equal scores by id, larger first, as text compares by code point
   and so by bytes. */
#ifndef RANKPROOF_MERGE_CANDIDATES_H
#define RANKPROOF_MERGE_CANDIDATES_H

#include "hits.h"

/* A document, borrowed from a run: text, or bytes where `doc` is NULL. `last` is the ranking that gave it last. */
typedef struct {
    PyObject *doc;
    Id id;
    uint64_t hash;
    int64_t last;
} Entry;

/* Entries of a query in the order in which they came; slots hold an entry's number plus 1, or 0. */
typedef struct {
    Entry *entries;
    uint32_t *slots;
    size_t count, mask, room;
} Table;

/* The documents of a run, a tuple, a list, or bytes in which `bounds` separate ids; each query has those from its start to its end. */
typedef struct {
    PyObject *docs;
    bool is_tuple;
    Py_buffer starts, ends, bounds;
    const char *text;
} RunRows;

/* The seed of hashes of bytes, another one in each process. */
static uint64_t id_seed;

/* The hash of str itself: one that a subclass defines could change what is being merged. */
static hashfunc text_hash;

/* Clears the table for a query with at most so many documents; false with an error set. */
static bool clear_table(Table *table, size_t most) {
    size_t slots = 16;
    while (slots < 2 * most) slots *= 2;
    if (slots > table->room) {
        free(table->entries);
        free(table->slots);
        table->room = 0;
        table->entries = malloc(slots / 2 * sizeof *table->entries);
        table->slots = malloc(slots * sizeof *table->slots);
        if (table->entries == NULL || table->slots == NULL) return PyErr_NoMemory(), false;
        table->room = slots;
    }
    memset(table->slots, 0, slots * sizeof *table->slots);
    table->mask = slots - 1;
    table->count = 0;
    return true;
}

/* The document as a text object. */
static PyObject *text_of(const Entry *entry) {
    return entry->doc != NULL ? Py_NewRef(entry->doc) : PyUnicode_DecodeUTF8(entry->id.bytes, (Py_ssize_t)entry->id.size, NULL);
}

static void *came_before(const Entry *entry) {
    PyObject *text = text_of(entry);
    if (text != NULL) PyErr_SetObject(PyExc_KeyError, text);
    Py_XDECREF(text);
    return NULL;
}

static uint64_t mixed_word(uint64_t hash, uint64_t word) {
    hash = (hash ^ word) * 0x9E3779B97F4A7C15u;
    return hash ^ (hash >> 32);
}

static uint64_t hash_of(Id id) {
    uint64_t hash = mixed_word(id_seed, id.size), word;
    for (; id.size >= sizeof word; id.bytes += sizeof word, id.size -= sizeof word) {
        memcpy(&word, id.bytes, sizeof word);
        hash = mixed_word(hash, word);
    }
    word = 0;
    memcpy(&word, id.bytes, id.size);
    return mixed_word(mixed_word(hash, word), 0);
}

/* The number of the entry of an id in bytes, made where it is new; -1 with an error set where it came before. */
static int64_t entry_of_id(Table *table, Id id, int64_t ranking) {
    uint64_t hash = hash_of(id);
    size_t at = (size_t)hash & table->mask;
    for (; table->slots[at] != 0; at = (at + 1) & table->mask) {
        Entry *entry = &table->entries[table->slots[at] - 1];
        if (entry->hash != hash || entry->id.size != id.size || memcmp(entry->id.bytes, id.bytes, id.size) != 0) continue;
        if (entry->last == ranking) return came_before(entry), -1;
        entry->last = ranking;
        return (int64_t)table->slots[at] - 1;
    }
    table->entries[table->count++] = (Entry){.id = id, .hash = hash, .last = ranking};
    table->slots[at] = (uint32_t)table->count;
    return (int64_t)table->count - 1;
}

/* The same for a document that must be a text object. */
static int64_t entry_of(Table *table, PyObject *doc, int64_t ranking) {
    if (doc == NULL || !PyUnicode_Check(doc)) {
        PyErr_SetString(PyExc_TypeError, "a document id must be text");
        return -1;
    }
    Py_hash_t known = text_hash(doc);
    if (known == -1) return -1;
    uint64_t hash = (uint64_t)known;
    size_t at = (size_t)hash & table->mask;
    for (; table->slots[at] != 0; at = (at + 1) & table->mask) {
        Entry *entry = &table->entries[table->slots[at] - 1];
        if (entry->doc != doc && (entry->hash != hash || PyUnicode_Compare(entry->doc, doc) != 0)) continue;
        if (entry->last == ranking) return came_before(entry), -1;
        entry->last = ranking;
        return (int64_t)table->slots[at] - 1;
    }
    table->entries[table->count++] = (Entry){.doc = doc, .hash = hash, .last = ranking};
    table->slots[at] = (uint32_t)table->count;
    return (int64_t)table->count - 1;
}

static void free_runs(RunRows *runs, size_t count) {
    for (size_t at = 0; at < count; at++) {
        PyBuffer_Release(&runs[at].starts);
        PyBuffer_Release(&runs[at].ends);
        if (runs[at].bounds.obj != NULL) PyBuffer_Release(&runs[at].bounds);
    }
    free(runs);
}

/* How many documents a run has; -1 with an error set where they are of another type, or the bounds are no places of the bytes. */
static Py_ssize_t rows_of(RunRows *run) {
    char *text;
    Py_ssize_t size;
    run->is_tuple = PyTuple_Check(run->docs);
    if (run->is_tuple || PyList_Check(run->docs)) return run->is_tuple ? PyTuple_Size(run->docs) : PyList_Size(run->docs);
    if (!PyBytes_Check(run->docs) || run->bounds.obj == NULL) {
        PyErr_SetString(PyExc_TypeError, "documents must be a tuple, a list, or bytes with bounds");
        return -1;
    }
    if (PyBytes_AsStringAndSize(run->docs, &text, &size) < 0) return -1;
    const int64_t *bounds = run->bounds.buf;
    Py_ssize_t count = run->bounds.len / 8;
    bool fits = holds_items(&run->bounds, 8) && count > 0 && bounds[0] >= 0 && bounds[count - 1] <= (int64_t)size;
    for (Py_ssize_t at = 1; fits && at < count; at++) fits = bounds[at - 1] <= bounds[at];
    run->text = text;
    if (fits) return count - 1;
    PyErr_SetString(PyExc_ValueError, "the bounds of documents are no places of their bytes");
    return -1;
}

/* Whether the spans of all queries are rows of the run; adds up their rows. */
static bool spans_fit(const RunRows *run, size_t queries, Py_ssize_t rows, size_t *all) {
    const int64_t *starts = run->starts.buf, *ends = run->ends.buf;
    if (!holds_items(&run->starts, 8) || !holds_items(&run->ends, 8)) return false;
    if ((size_t)run->starts.len / 8 != queries || (size_t)run->ends.len / 8 != queries) return false;
    for (size_t query = 0; query < queries; query++) {
        if (starts[query] < 0 || ends[query] < starts[query] || ends[query] > (int64_t)rows) return false;
        *all += (size_t)(ends[query] - starts[query]);
    }
    return true;
}

/* Opens a list of (documents, starts, ends); the number of their rows, or -1 with an error set. */
static int64_t open_runs(RunRows *runs, size_t *opened, PyObject *given, size_t queries) {
    size_t all = 0;
    for (Py_ssize_t at = 0; at < PyList_Size(given); at++) {
        RunRows *run = &runs[at];
        PyObject *one = PyList_GetItem(given, at);
        if (!PyTuple_Check(one)) {
            PyErr_SetString(PyExc_TypeError, "a run is (documents, starts, ends)");
            return -1;
        }
        if (!PyArg_ParseTuple(one, "Oy*y*|y*", &run->docs, &run->starts, &run->ends, &run->bounds)) return -1;
        ++*opened;
        Py_ssize_t rows = rows_of(run);
        if (rows < 0) return -1;
        if (!spans_fit(run, queries, rows, &all) || all > INT32_MAX) {
            PyErr_SetString(PyExc_ValueError, "the queries of a run are no spans of its documents");
            return -1;
        }
    }
    return (int64_t)all;
}

static int64_t span_of(const RunRows *run, size_t query, int64_t *start) {
    *start = ((const int64_t *)run->starts.buf)[query];
    return ((const int64_t *)run->ends.buf)[query] - *start;
}

static PyObject *doc_at(const RunRows *run, int64_t row) {
    return run->is_tuple ? PyTuple_GetItem(run->docs, (Py_ssize_t)row) : PyList_GetItem(run->docs, (Py_ssize_t)row);
}

/* The entry of a row; with `by_id`, documents of every run are compared as bytes. */
static int64_t entry_of_row(Table *table, const RunRows *run, int64_t row, int64_t ranking, bool by_id) {
    if (!by_id) return entry_of(table, doc_at(run, row), ranking);
    if (run->text != NULL) {
        const int64_t *bounds = run->bounds.buf;
        return entry_of_id(table, (Id){run->text + bounds[row], (size_t)(bounds[row + 1] - bounds[row])}, ranking);
    }
    Py_ssize_t size;
    const char *bytes = PyUnicode_AsUTF8AndSize(doc_at(run, row), &size);
    return bytes == NULL ? -1 : entry_of_id(table, (Id){bytes, (size_t)size}, ranking);
}

/* Finds the documents of a query; writes the place of each row behind `next` of its run. */
static bool find_documents(Table *table, const RunRows *runs, size_t count, size_t query, int64_t first, int64_t **next, bool by_id) {
    size_t most = 0;
    int64_t start;
    for (size_t at = 0; at < count; at++) most += (size_t)span_of(&runs[at], query, &start);
    if (!clear_table(table, most)) return false;
    for (size_t at = 0; at < count; at++) {
        int64_t rows = span_of(&runs[at], query, &start);
        for (int64_t row = start; row < start + rows; row++) {
            if (!by_id && row + AHEAD < start + rows) PREFETCH(doc_at(&runs[at], row + AHEAD));
            int64_t entry = entry_of_row(table, &runs[at], row, (int64_t)at, by_id);
            if (entry < 0) return false;
            *next[at]++ = first + entry;
        }
    }
    return true;
}

/* Finds the documents of all queries, and appends each of them once to `docs`. */
static bool find_candidates(Table *table, const RunRows *runs, size_t count, size_t queries, int64_t **next, int64_t *offsets,
                            PyObject *docs) {
    bool by_id = false;
    for (size_t at = 0; at < count; at++) by_id |= runs[at].text != NULL;
    offsets[0] = 0;
    for (size_t query = 0; query < queries; query++) {
        if (!find_documents(table, runs, count, query, offsets[query], next, by_id)) return false;
        for (size_t at = 0; at < table->count; at++) {
            PyObject *text = text_of(&table->entries[at]);
            int failed = text == NULL ? -1 : PyList_Append(docs, text);
            Py_XDECREF(text);
            if (failed < 0) return false;
        }
        offsets[query + 1] = offsets[query] + (int64_t)table->count;
    }
    return true;
}

static PyObject *candidates_of(const RunRows *runs, size_t count, size_t queries, int64_t *places, int64_t *offsets) {
    Table table = {0};
    int64_t **next = malloc((count + 1) * sizeof *next), start;
    PyObject *docs = PyList_New(0);
    if (next == NULL) PyErr_NoMemory();
    for (size_t at = 0; next != NULL && at < count; at++) {
        next[at] = places;
        for (size_t query = 0; query < queries; query++) places += span_of(&runs[at], query, &start);
    }
    if (next == NULL || docs == NULL || !find_candidates(&table, runs, count, queries, next, offsets, docs)) Py_CLEAR(docs);
    free(table.entries);
    free(table.slots);
    free(next);
    return docs;
}

/* candidates(runs, queries, places, offsets): the documents of each query once; writes the place of each row, run by run. */
static PyObject *py_candidates(PyObject *module, PyObject *arguments) {
    PyObject *given, *docs = NULL;
    Py_ssize_t queries;
    Py_buffer places, offsets;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "O!nw*w*", &PyList_Type, &given, &queries, &places, &offsets)) return NULL;
    size_t count = (size_t)PyList_Size(given), opened = 0;
    RunRows *runs = calloc(count + 1, sizeof *runs);
    bool fits = queries >= 0 && holds_items(&places, 8) && holds_items(&offsets, 8) && offsets.len / 8 == queries + 1;
    int64_t rows = -1;
    if (runs == NULL) PyErr_NoMemory();
    else if (!fits) PyErr_SetString(PyExc_ValueError, "the arrays of candidates have the wrong sizes");
    else rows = open_runs(runs, &opened, given, (size_t)queries);
    if (rows >= 0 && rows != places.len / 8) PyErr_SetString(PyExc_ValueError, "the arrays of candidates have the wrong sizes");
    else if (rows >= 0) docs = candidates_of(runs, count, (size_t)queries, places.buf, offsets.buf);
    if (runs != NULL) free_runs(runs, opened);
    PyBuffer_Release(&places);
    PyBuffer_Release(&offsets);
    return docs;
}

#endif
