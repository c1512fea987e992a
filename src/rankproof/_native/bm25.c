/* BM25: the index of a partition and its search; `stages/_bm25_index.py` is the same in Python. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "bm25_src/search.h"
#include "bm25_src/vocabulary.h"
#include "py_buffers.h"

static const char BUILDER[] = "rankproof._native.bm25.builder", INDEX[] = "rankproof._native.bm25.index";

static PyObject *raise_value(const char *message) {
    PyErr_SetString(PyExc_ValueError, message);
    return NULL;
}

static void free_builder_capsule(PyObject *capsule) {
    free_builder(PyCapsule_GetPointer(capsule, BUILDER));
}

/* builder(most_rows, most_pairs): how much a block holds, at most 65,536 each. */
static PyObject *py_builder(PyObject *module, PyObject *arguments) {
    Py_ssize_t most_rows, most_pairs;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "nn", &most_rows, &most_pairs)) return NULL;
    if (most_rows < 1 || most_rows > MOST_IN_BLOCK || most_pairs < 1 || most_pairs > MOST_IN_BLOCK)
        return raise_value("a block holds 1 to 65536 rows and pairs");
    Builder *builder = make_builder((size_t)most_rows, (size_t)most_pairs);
    if (builder == NULL) return PyErr_NoMemory();
    PyObject *capsule = PyCapsule_New(builder, BUILDER, free_builder_capsule);
    if (capsule == NULL) free_builder(builder);
    return capsule;
}

enum { MOST_COLUMNS = 64 };

/* The fields of the documents: texts as bytes with int64 offsets. */
typedef struct {
    Py_buffer data[MOST_COLUMNS], offsets[MOST_COLUMNS];
    size_t count;
} Columns;

static void release_columns(Columns *columns) {
    for (size_t at = 0; at < columns->count; at++) {
        PyBuffer_Release(&columns->data[at]);
        PyBuffer_Release(&columns->offsets[at]);
    }
}

static bool read_columns(PyObject *given, Columns *columns) {
    Py_ssize_t count = PyTuple_Check(given) ? PyTuple_Size(given) : -1;
    if (count < 0 || count > MOST_COLUMNS) return raise_value("columns are a tuple of at most 64 pairs"), false;
    for (; columns->count < (size_t)count; columns->count++) {
        PyObject *pair = PyTuple_GetItem(given, (Py_ssize_t)columns->count);
        if (!PyTuple_Check(pair)) return raise_value("a column is a pair of data and offsets"), false;
        if (!PyArg_ParseTuple(pair, "y*y*", &columns->data[columns->count], &columns->offsets[columns->count])) return false;
    }
    return true;
}

static bool are_texts(const Columns *columns, Py_ssize_t first, Py_ssize_t last) {
    if (first < 0 || last < first) return false;
    for (size_t at = 0; at < columns->count; at++) {
        const int64_t *offsets = columns->offsets[at].buf;
        if (!holds_items(&columns->offsets[at], sizeof *offsets)) return false;
        if ((size_t)last + 1 > (size_t)columns->offsets[at].len / sizeof *offsets) return false;
        for (Py_ssize_t row = first; row < last; row++)
            if (offsets[row] < 0 || offsets[row + 1] < offsets[row] || offsets[row + 1] - offsets[row] > INT32_MAX) return false;
        if (offsets[last] > columns->data[at].len) return false;
    }
    return true;
}

static bool tokenize_rows(Builder *builder, const Columns *columns, size_t first, size_t last) {
    for (size_t row = first; row < last; row++) {
        for (size_t at = 0; at < columns->count; at++) {
            const int64_t *offsets = columns->offsets[at].buf;
            const unsigned char *text = (const unsigned char *)columns->data[at].buf + offsets[row];
            if (!add_field(builder, text, (size_t)(offsets[row + 1] - offsets[row]))) return false;
        }
        if (!end_document(builder)) return false;
    }
    return true;
}

/* The pieces that are not resolved, as texts. */
static PyObject *new_pieces(const Builder *builder) {
    PyObject *list = PyList_New((Py_ssize_t)(builder->pieces.count - builder->resolved));
    for (size_t id = builder->resolved; list != NULL && id < builder->pieces.count; id++) {
        uint64_t start = start_of(&builder->pieces, id);
        Py_ssize_t size = (Py_ssize_t)(builder->pieces.ends[id] - start);
        PyObject *text = PyUnicode_DecodeUTF8(builder->pieces.bytes + start, size, "surrogatepass");
        if (text == NULL || PyList_SetItem(list, (Py_ssize_t)(id - builder->resolved), text) < 0) Py_CLEAR(list);
    }
    return list;
}

/* tokenize(builder, columns, first, last): tokenizes these rows and returns the pieces that are new. */
static PyObject *py_tokenize(PyObject *module, PyObject *arguments) {
    PyObject *capsule, *given, *pieces = NULL;
    Py_ssize_t first, last;
    Columns columns = {.count = 0};
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OOnn", &capsule, &given, &first, &last)) return NULL;
    Builder *builder = PyCapsule_GetPointer(capsule, BUILDER);
    if (builder != NULL && read_columns(given, &columns)) {
        if (are_texts(&columns, first, last)) {
            bool done;
            Py_BEGIN_ALLOW_THREADS;
            done = tokenize_rows(builder, &columns, (size_t)first, (size_t)last);
            Py_END_ALLOW_THREADS;
            pieces = done ? new_pieces(builder) : PyErr_NoMemory();
        } else
            raise_value("offsets or rows are out of range");
    }
    release_columns(&columns);
    return pieces;
}

/* Adds the terms of one piece or of one document. */
static bool add_terms(Builder *builder, PyObject *terms) {
    if (!PyList_Check(terms)) return raise_value("terms are lists of texts"), false;
    for (Py_ssize_t at = 0; at < PyList_Size(terms); at++) {
        Py_ssize_t size;
        const char *term = PyUnicode_AsUTF8AndSize(PyList_GetItem(terms, at), &size);
        if (term == NULL) return false;
        if (size > INT32_MAX) return raise_value("a term is too long"), false;
        if (!add_piece_term(builder, term, (size_t)size)) return PyErr_NoMemory(), false;
    }
    return true;
}

static bool resolve_pieces(Builder *builder, PyObject *given) {
    size_t count = builder->pieces.count - builder->resolved;
    if (!PyList_Check(given) || PyList_Size(given) != (Py_ssize_t)count)
        return raise_value("there must be one list of terms for each new piece"), false;
    for (size_t at = 0; at < count; at++) {
        if (!add_terms(builder, PyList_GetItem(given, (Py_ssize_t)at))) return false;
        if (!end_piece(builder)) return PyErr_NoMemory(), false;
    }
    return true;
}

/* count(builder, terms): the terms of each new piece; counts the documents that were tokenized. */
static PyObject *py_count(PyObject *module, PyObject *arguments) {
    PyObject *capsule, *given;
    bool done;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OO", &capsule, &given)) return NULL;
    Builder *builder = PyCapsule_GetPointer(capsule, BUILDER);
    if (builder == NULL || !resolve_pieces(builder, given)) return NULL;
    Py_BEGIN_ALLOW_THREADS;
    done = count_waiting(builder);
    Py_END_ALLOW_THREADS;
    if (!done) return PyErr_NoMemory();
    Py_RETURN_NONE;
}

/* count_terms(builder, terms): counts one document, whose terms are given. */
static PyObject *py_count_terms(PyObject *module, PyObject *arguments) {
    PyObject *capsule, *terms;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OO", &capsule, &terms)) return NULL;
    Builder *builder = PyCapsule_GetPointer(capsule, BUILDER);
    if (builder == NULL) return NULL;
    if (builder->waiting > 0) return raise_value("tokenized documents are not counted yet");
    size_t before = builder->piece_terms_used, distinct = 0;
    bool done = add_terms(builder, terms);
    size_t length = builder->piece_terms_used - before;
    builder->piece_terms_used = before;
    if (!done) return NULL;
    done = length <= INT32_MAX && builder->rows < INT32_MAX && RESERVE(builder->counts, builder->counts_capacity, length);
    for (size_t at = 0; done && at < length; at++) count_term(builder, builder->piece_terms[before + at], &distinct);
    if (!done || !end_row(builder, distinct, (uint32_t)length)) return PyErr_NoMemory();
    Py_RETURN_NONE;
}

/* sizes(builder): the numbers of terms, their bytes, segments, postings, blocks, pairs and rows. */
static PyObject *py_sizes(PyObject *module, PyObject *capsule) {
    (void)module;
    const Builder *builder = PyCapsule_GetPointer(capsule, BUILDER);
    if (builder == NULL) return NULL;
    return Py_BuildValue("nnnnnnn", (Py_ssize_t)builder->terms.count, (Py_ssize_t)builder->terms.used,
                         (Py_ssize_t)builder->segments, (Py_ssize_t)builder->postings, (Py_ssize_t)builder->blocks,
                         (Py_ssize_t)builder->pair_count, (Py_ssize_t)builder->rows);
}

enum { ARRAYS = 11 };

/* The bytes of an item of each array of `PostingArrays`. */
static const size_t ITEM_BYTES[ARRAYS] = {1, 8, 8, 4, 8, 4, 8, 8, 4, 4, 4};

static bool have_sizes(const Builder *builder, const Py_buffer *arrays) {
    size_t terms = builder->terms.count, blocks = builder->blocks, pairs = builder->pair_count;
    const size_t items[ARRAYS] = {
        builder->terms.used, terms + 1, terms + 1, builder->segments, builder->segments + 1, builder->postings,
        blocks + 1, blocks + 1, pairs, pairs, builder->rows,
    };
    for (size_t at = 0; at < ARRAYS; at++)
        if (!holds_items(&arrays[at], ITEM_BYTES[at]) || (size_t)arrays[at].len / ITEM_BYTES[at] != items[at]) return false;
    return builder->waiting == 0;
}

/* write(builder, arrays): fills the arrays of the index, in the order of the fields of `PostingArrays`. */
static PyObject *py_write(PyObject *module, PyObject *arguments) {
    PyObject *capsule, *given;
    Py_buffer view[ARRAYS];
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OO!", &capsule, &PyTuple_Type, &given)) return NULL;
    const Builder *builder = PyCapsule_GetPointer(capsule, BUILDER);
    if (builder == NULL) return NULL;
    if (!PyArg_ParseTuple(given, "w*w*w*w*w*w*w*w*w*w*w*", &view[0], &view[1], &view[2], &view[3], &view[4], &view[5], &view[6],
                          &view[7], &view[8], &view[9], &view[10]))
        return NULL;
    bool sound = have_sizes(builder, view), done = false;
    if (sound) {
        IndexArrays to = {view[0].buf, view[1].buf, view[2].buf, view[3].buf, view[4].buf, view[5].buf,
                          view[6].buf, view[7].buf, view[8].buf, view[9].buf, view[10].buf};
        Py_BEGIN_ALLOW_THREADS;
        done = write_index(builder, &to);
        Py_END_ALLOW_THREADS;
    }
    for (size_t at = 0; at < ARRAYS; at++) PyBuffer_Release(&view[at]);
    if (!sound) return raise_value("the arrays have the wrong sizes, or documents are not counted yet");
    if (!done) return PyErr_NoMemory();
    Py_RETURN_NONE;
}

enum { VIEWS = 10 };

/* The bytes of an item of each view. */
static const size_t VIEW_BYTES[VIEWS] = {1, 8, 8, 4, 8, 4, 8, 8, 4, 8};

/* An index and the buffers that it reads. */
typedef struct {
    Index index;
    Py_buffer views[VIEWS];
} OpenIndex;

static void close_index(OpenIndex *open) {
    for (size_t at = 0; at < VIEWS; at++) PyBuffer_Release(&open->views[at]);
    free(open->index.factors);
    free(open);
}

static void free_index_capsule(PyObject *capsule) {
    close_index(PyCapsule_GetPointer(capsule, INDEX));
}

/* Takes the arrays from the buffers; false where their sizes do not agree. */
static bool read_index(OpenIndex *open) {
    Py_buffer *views = open->views;
    Index *index = &open->index;
    for (size_t at = 0; at < VIEWS; at++)
        if (!holds_items(&views[at], VIEW_BYTES[at])) return false;
    if (views[1].len < 8 || views[2].len != views[1].len || views[4].len < 8) return false;
    if (views[6].len < 8 || views[7].len != views[6].len || views[3].len * 2 + 8 != views[4].len) return false;
    double *factors = index->factors;
    *index = (Index){
        .term_bytes = views[0].buf, .term_offsets = views[1].buf, .term_segments = views[2].buf,
        .segment_blocks = views[3].buf, .segment_starts = views[4].buf, .postings = views[5].buf,
        .block_rows = views[6].buf, .block_pairs = views[7].buf, .places = views[8].buf, .factors = factors,
        .terms = (size_t)views[1].len / 8 - 1, .bytes = (size_t)views[0].len, .segments = (size_t)views[3].len / 4,
        .posting_count = (size_t)views[5].len / 4, .blocks = (size_t)views[6].len / 8 - 1, .rows = (size_t)views[8].len / 4,
        .pairs = (size_t)views[9].len / 8,
    };
    return index->rows <= INT32_MAX && index->blocks <= INT32_MAX;
}

/* index(arrays): term bytes, offsets and segments, segment blocks and starts, postings, block rows and pairs, places, factors. */
static PyObject *py_index(PyObject *module, PyObject *given) {
    OpenIndex *open = calloc(1, sizeof *open);
    (void)module;
    if (open == NULL) return PyErr_NoMemory();
    Py_buffer *view = open->views;
    if (!PyTuple_Check(given) || !PyArg_ParseTuple(given, "y*y*y*y*y*y*y*y*y*y*", &view[0], &view[1], &view[2], &view[3], &view[4],
                                                   &view[5], &view[6], &view[7], &view[8], &view[9])) {
        if (!PyErr_Occurred()) raise_value("the arrays are a tuple");
        free(open);
        return NULL;
    }
    size_t pairs = (size_t)view[9].len / 8;
    open->index.factors = calloc(pairs + MOST_IN_BLOCK, sizeof(double));
    PyObject *capsule = NULL;
    if (open->index.factors == NULL)
        PyErr_NoMemory();
    else if (!read_index(open))
        raise_value("the arrays of the index have the wrong sizes");
    else {
        memcpy(open->index.factors, view[9].buf, pairs * sizeof(double));
        capsule = PyCapsule_New(open, INDEX, free_index_capsule);
    }
    if (capsule == NULL) close_index(open);
    return capsule;
}

/* find(index, terms): the number of each term, -1 if the index does not have it, and how many documents have it. */
static PyObject *py_find(PyObject *module, PyObject *arguments) {
    PyObject *capsule, *terms;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OO!", &capsule, &PyList_Type, &terms)) return NULL;
    const OpenIndex *open = PyCapsule_GetPointer(capsule, INDEX);
    PyObject *found = open == NULL ? NULL : PyList_New(PyList_Size(terms));
    size_t near = 0;
    for (Py_ssize_t at = 0; found != NULL && at < PyList_Size(terms); at++) {
        Py_ssize_t size;
        const char *term = PyUnicode_AsUTF8AndSize(PyList_GetItem(terms, at), &size);
        int64_t id = term == NULL ? -1 : find_term(&open->index, term, (size_t)size, &near);
        PyObject *pair = term == NULL ? NULL : Py_BuildValue("LL", (long long)id, (long long)documents_with(&open->index, id));
        if (pair == NULL || PyList_SetItem(found, at, pair) < 0) Py_CLEAR(found);
    }
    return found;
}

/* What a batch of queries is, and where its results go. */
typedef struct {
    const int64_t *terms, *bounds;
    const double *idfs, *times;
    size_t queries, k;
    int32_t *rows;
    double *scores;
    int64_t *counts;
} QueryBatch;

static bool search_batch(Search *search, const QueryBatch *batch) {
    for (size_t query = 0; query < batch->queries; query++) {
        size_t first = (size_t)batch->bounds[query], count = (size_t)batch->bounds[query + 1] - first;
        TermQuery terms = {batch->terms + first, batch->idfs + first, batch->times == NULL ? NULL : batch->times + first, count};
        if (!search_query(search, &terms)) return false;
        batch->counts[query] = (int64_t)search->count;
        for (size_t at = 0; at < search->count; at++) {
            batch->rows[query * batch->k + at] = (int32_t)search->hits[at].row;
            batch->scores[query * batch->k + at] = search->hits[at].score;
        }
    }
    return true;
}

/* Whether the bounds ascend within the terms; `most` is the length of the longest query. */
static bool are_bounds(const QueryBatch *batch, size_t terms, size_t *most) {
    *most = 0;
    if (batch->bounds[0] != 0 || batch->bounds[batch->queries] != (int64_t)terms) return false;
    for (size_t query = 0; query < batch->queries; query++) {
        int64_t start = batch->bounds[query], end = batch->bounds[query + 1];
        if (end < start || end > (int64_t)terms) return false;
        if ((size_t)(end - start) > *most) *most = (size_t)(end - start);
    }
    return true;
}

static PyObject *run_batch(const Index *index, const QueryBatch *batch, size_t terms) {
    size_t most;
    Search search;
    bool is_open, done = false;
    if (!are_bounds(batch, terms, &most)) return raise_value("the bounds of the queries are out of range");
    Py_BEGIN_ALLOW_THREADS;
    is_open = open_search(&search, index, batch->k, most, batch->times != NULL);
    done = is_open && search_batch(&search, batch);
    free_search(&search);
    Py_END_ALLOW_THREADS;
    if (!is_open) return PyErr_NoMemory();
    if (!done) return raise_value("a term is out of range, or the index is damaged");
    Py_RETURN_NONE;
}

/* search(index, terms, bounds, idfs, times, k, rows, scores, counts): writes the k best of each query; `times` may be empty. */
static PyObject *py_search(PyObject *module, PyObject *arguments) {
    PyObject *capsule, *result = NULL;
    Py_ssize_t k;
    Py_buffer terms, bounds, idfs, times, rows, scores, counts;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "Oy*y*y*y*nw*w*w*", &capsule, &terms, &bounds, &idfs, &times, &k, &rows, &scores, &counts))
        return NULL;
    const OpenIndex *open = PyCapsule_GetPointer(capsule, INDEX);
    size_t queries = bounds.len < 8 ? 0 : (size_t)bounds.len / 8 - 1;
    bool sound = holds_items(&terms, 8) && holds_items(&bounds, 8) && holds_items(&idfs, 8) && holds_items(&times, 8) &&
                 holds_items(&rows, 4) && holds_items(&scores, 8) && holds_items(&counts, 8) && bounds.len >= 8 && k >= 1 &&
                 k <= INT32_MAX && idfs.len == terms.len && (times.len == 0 || times.len == terms.len) &&
                 (size_t)counts.len == 8 * queries && (size_t)rows.len == 4 * queries * (size_t)k &&
                 (size_t)scores.len == 8 * queries * (size_t)k;
    if (open != NULL && sound) {
        QueryBatch batch = {terms.buf, bounds.buf, idfs.buf, times.len == 0 ? NULL : times.buf, queries, (size_t)k,
                            rows.buf, scores.buf, counts.buf};
        result = run_batch(&open->index, &batch, (size_t)terms.len / 8);
    } else if (open != NULL)
        raise_value("the arrays of the queries or results have the wrong sizes");
    Py_buffer *views[] = {&terms, &bounds, &idfs, &times, &rows, &scores, &counts};
    for (size_t at = 0; at < sizeof views / sizeof *views; at++) PyBuffer_Release(views[at]);
    return result;
}

/* Opens a vocabulary, a pair of bytes and offsets; the caller releases both views. */
static bool open_vocabulary(PyObject *pair, Vocabulary *one, Py_buffer *views) {
    if (!PyTuple_Check(pair)) return raise_value("a vocabulary is a pair of bytes and offsets"), false;
    if (!PyArg_ParseTuple(pair, "y*y*", &views[0], &views[1])) return false;
    if (!holds_items(&views[1], sizeof(int64_t))) return raise_value("the offsets of a vocabulary are out of range"), false;
    size_t offsets = (size_t)views[1].len / sizeof(int64_t);
    one->index = (Index){.term_bytes = views[0].buf, .bytes = (size_t)views[0].len, .term_offsets = views[1].buf,
                         .terms = offsets == 0 ? 0 : offsets - 1};
    return true;
}

/* count_distinct(vocabularies): the number of distinct terms of a tuple of vocabularies. */
static PyObject *py_count_distinct(PyObject *module, PyObject *given) {
    (void)module;
    if (!PyTuple_Check(given)) return raise_value("the vocabularies are a tuple");
    size_t size = (size_t)PyTuple_Size(given), count = 0;
    Py_ssize_t distinct = 0;
    Vocabulary *all = calloc(size + 1, sizeof *all), **heap = calloc(size + 1, sizeof *heap);
    Py_buffer *views = calloc(2 * size + 1, sizeof *views);
    bool done = all != NULL && heap != NULL && views != NULL;
    if (!done) PyErr_NoMemory();
    for (size_t at = 0; done && at < size; at++) {
        done = open_vocabulary(PyTuple_GetItem(given, (Py_ssize_t)at), &all[at], &views[2 * at]);
        if (done && read_term(&all[at])) heap[count++] = &all[at];
    }
    if (done) {
        Py_BEGIN_ALLOW_THREADS;
        distinct = merged_count(heap, count);
        Py_END_ALLOW_THREADS;
    }
    for (size_t at = 0; views != NULL && at < 2 * size; at++) PyBuffer_Release(&views[at]);
    free(all);
    free(heap);
    free(views);
    return done ? PyLong_FromSsize_t(distinct) : NULL;
}

static PyMethodDef functions[] = {
    {"builder", py_builder, METH_VARARGS, "An empty index: (most_rows, most_pairs) of a block."},
    {"tokenize", py_tokenize, METH_VARARGS, "Tokenizes rows and returns the new pieces: (builder, columns, first, last)."},
    {"count", py_count, METH_VARARGS, "Counts what was tokenized: (builder, terms of each new piece)."},
    {"count_terms", py_count_terms, METH_VARARGS, "Counts one document: (builder, terms)."},
    {"sizes", py_sizes, METH_O, "The numbers of terms, bytes, segments, postings, blocks, pairs and rows of a builder."},
    {"write", py_write, METH_VARARGS, "Writes the index: (builder, arrays)."},
    {"index", py_index, METH_O, "Opens an index: a tuple of arrays."},
    {"find", py_find, METH_VARARGS, "The numbers and document frequencies of terms: (index, terms)."},
    {"search", py_search, METH_VARARGS, "The k best: (index, terms, bounds, idfs, times, k, rows, scores, counts)."},
    {"count_distinct", py_count_distinct, METH_O, "The number of distinct terms: a tuple of pairs of bytes and offsets."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "bm25", "The index of BM25.", -1, functions, NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit_bm25(void) {
    return PyModule_Create(&definition);
}
