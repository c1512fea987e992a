/* Keeps the rows of a matrix product that may be among each query's k best, and then orders them exactly.

   `sieve` sees one block of float32 products after another; a product below a query's floor is passed over at the speed of memory.
   `settle` takes the products of what is left again, in double and in one fixed order, and rounds once: the scores do not
   depend on how the matrix product was cut or on which machine it ran. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "exact_floats.h"

enum { LANES = 16, STRIDE = 16, AHEAD = 6 };

#if defined(__x86_64__) || defined(_M_X64)
#include <emmintrin.h>
#define HAS_SSE2 1
#endif
#if defined(__x86_64__) && ((defined(__clang__) && __clang_major__ >= 7) || (!defined(__clang__) && defined(__GNUC__) && __GNUC__ >= 9))
#define HAS_AVX2 1
#endif

/* One query's candidates: so many of `capacity`, none below the floor; `margin` is what two products may be wrong by. */
typedef struct {
    float *scores;
    int32_t *rows;
    size_t count, capacity, k;
    float floor, margin;
    bool overflown;
} Sieve;

static size_t at_least(const float *scores, size_t count, float floor) {
    uint32_t found = 0;
    for (size_t at = 0; at < count; at++) found += scores[at] >= floor;
    return found;
}

/* A number that at least k scores reach and at most k + slack, or few more where many are equal: halving, as that needs no branches. */
static float near_kth(const Sieve *sieve, size_t slack) {
    float low = sieve->scores[0], high = low;
    for (size_t at = 1; at < sieve->count; at++) {
        low = sieve->scores[at] < low ? sieve->scores[at] : low;
        high = sieve->scores[at] > high ? sieve->scores[at] : high;
    }
    for (int step = 0; step < 32; step++) {
        float middle = low + (high - low) / 2;
        size_t found = at_least(sieve->scores, sieve->count, middle);
        if (found < sieve->k)
            high = middle;
        else
            low = middle;
        if (found >= sieve->k && found <= sieve->k + slack) break;
    }
    return low;
}

/* Raises the floor to about the k-th best less the margin and drops what is below it. */
static void tighten(Sieve *sieve, size_t slack) {
    if (sieve->count < sieve->k) return;
    sieve->floor = near_kth(sieve, slack) - sieve->margin;
    size_t kept = 0;
    for (size_t at = 0; at < sieve->count; at++) {
        float score = sieve->scores[at];
        sieve->scores[kept] = score;
        sieve->rows[kept] = sieve->rows[at];
        kept += score >= sieve->floor;
    }
    sieve->count = kept;
}

/* Makes room for a stride; false where the sieve stays all but full, because too many are too close to the k-th. */
static bool make_room(Sieve *sieve) {
    if (sieve->count + STRIDE <= sieve->capacity) return true;
    tighten(sieve, sieve->k / 8);
    return sieve->count + STRIDE <= sieve->capacity - sieve->capacity / 8;
}

/* Whether any product of a stride reaches the floor. */
static inline bool any_reaches(const float *products, float floor) {
#ifdef HAS_SSE2
    __m128 least = _mm_set1_ps(floor), reached = _mm_cmpge_ps(_mm_loadu_ps(products), least);
    for (int at = 4; at < STRIDE; at += 4) reached = _mm_or_ps(reached, _mm_cmpge_ps(_mm_loadu_ps(products + at), least));
    return _mm_movemask_ps(reached) != 0;
#else
    bool any = false;
    for (int at = 0; at < STRIDE; at++) any |= products[at] >= floor;
    return any;
#endif
}

/* Writes every product into the next free place and moves on only past those that reach the floor. */
static inline void take(Sieve *sieve, const float *restrict products, size_t width, int32_t first) {
    float *restrict scores = sieve->scores, floor = sieve->floor;
    int32_t *restrict rows = sieve->rows;
    size_t count = sieve->count;
    for (size_t at = 0; at < width; at++) {
        scores[count] = products[at];
        rows[count] = first + (int32_t)at;
        count += products[at] >= floor;
    }
    sieve->count = count;
}

/* Takes what reaches the floor; false where the sieve overflows. */
static bool pass(Sieve *sieve, const float *products, size_t width, int32_t first) {
    size_t at = 0;
    for (; at + STRIDE <= width; at += STRIDE) {
        if (!any_reaches(products + at, sieve->floor)) continue;
        if (!make_room(sieve)) return false;
        take(sieve, products + at, STRIDE, first + (int32_t)at);
    }
    if (at == width) return true;
    if (!make_room(sieve)) return false;
    take(sieve, products + at, width - at, first + (int32_t)at);
    return true;
}

/* The products go into sixteen sums in turn, which are then added by halves; a product of two floats is exact in double. */
static inline float rounded_dot(const float *row, const double *query, size_t size) {
    double sums[LANES];
    size_t at = 0;
    for (size_t lane = 0; lane < LANES; lane++) sums[lane] = 0;
    for (; at + LANES <= size; at += LANES)
        for (size_t lane = 0; lane < LANES; lane++) sums[lane] += (double)row[at + lane] * query[at + lane];
    for (size_t lane = 0; at + lane < size; lane++) sums[lane] += (double)row[at + lane] * query[at + lane];
    for (size_t lane = 0; lane < 8; lane++) sums[lane] += sums[lane + 8];
    for (size_t lane = 0; lane < 4; lane++) sums[lane] += sums[lane + 4];
    return (float)((sums[0] + sums[2]) + (sums[1] + sums[3])) + 0.0f;
}

static inline void fetch_ahead(const float *row, size_t size) {
#if defined(__GNUC__) || defined(__clang__)
    for (size_t at = 0; at < size; at += 64 / sizeof(float)) __builtin_prefetch(row + at);
#else
    (void)row, (void)size;
#endif
}

static inline void dots_any(const float *vectors, size_t size, const double *query, Sieve *sieve) {
    for (size_t at = 0; at < sieve->count; at++) {
        size_t ahead = at + AHEAD < sieve->count ? at + AHEAD : at;
        fetch_ahead(vectors + (size_t)sieve->rows[ahead] * size, size);
        sieve->scores[at] = rounded_dot(vectors + (size_t)sieve->rows[at] * size, query, size);
    }
}

#ifdef HAS_AVX2
__attribute__((target("avx2"), flatten)) static void dots_avx2(const float *vectors, size_t size, const double *query, Sieve *sieve) {
    dots_any(vectors, size, query, sieve);
}
#endif

static void dots(const float *vectors, size_t size, const double *query, Sieve *sieve) {
#ifdef HAS_AVX2
    if (__builtin_cpu_supports("avx2")) {
        dots_avx2(vectors, size, query, sieve);
        return;
    }
#endif
    dots_any(vectors, size, query, sieve);
}

/* A number that is smaller the higher the score and, among equal scores, the smaller the row. */
static uint64_t key_of(float score, int32_t row) {
    uint32_t bits;
    memcpy(&bits, &score, sizeof bits);
    uint32_t rising = bits & 0x80000000u ? ~bits : bits | 0x80000000u;
    return (uint64_t)~rising << 32 | (uint32_t)row;
}

static float score_of(uint64_t key) {
    uint32_t rising = ~(uint32_t)(key >> 32), bits = rising & 0x80000000u ? rising & 0x7FFFFFFFu : ~rising;
    float score;
    memcpy(&score, &bits, sizeof score);
    return score;
}

/* Shell's sort with Ciura's gaps: for some hundred keys faster than a call for each comparison. */
static void sort_keys(uint64_t *keys, size_t count) {
    static const size_t gaps[] = {8858, 3937, 1750, 701, 301, 132, 57, 23, 10, 4, 1};
    for (size_t step = 0; step < sizeof gaps / sizeof *gaps; step++)
        for (size_t at = gaps[step]; at < count; at++) {
            uint64_t key = keys[at];
            size_t slot = at;
            for (; slot >= gaps[step] && keys[slot - gaps[step]] > key; slot -= gaps[step]) keys[slot] = keys[slot - gaps[step]];
            keys[slot] = key;
        }
}

/* The sieves of a batch of queries, and room to work in. */
typedef struct {
    size_t queries;
    Sieve *sieves;
    float *scores;
    int32_t *rows;
    uint64_t *keys;
} Batch;

static const char NAME[] = "rankproof._native.topk.batch";

static void free_batch(Batch *batch) {
    free(batch->sieves);
    free(batch->scores);
    free(batch->rows);
    free(batch->keys);
    free(batch);
}

static void free_capsule(PyObject *capsule) {
    free_batch(PyCapsule_GetPointer(capsule, NAME));
}

static Batch *make_batch(const float *margins, size_t queries, size_t k, size_t capacity) {
    Batch *batch = calloc(1, sizeof *batch);
    if (batch == NULL) return NULL;
    batch->queries = queries;
    batch->sieves = calloc(queries + 1, sizeof *batch->sieves);
    batch->scores = calloc(queries * capacity + 1, sizeof *batch->scores);
    batch->rows = calloc(queries * capacity + 1, sizeof *batch->rows);
    batch->keys = calloc(capacity, sizeof *batch->keys);
    if (!batch->sieves || !batch->scores || !batch->rows || !batch->keys) return free_batch(batch), NULL;
    for (size_t at = 0; at < queries; at++)
        batch->sieves[at] = (Sieve){.scores = batch->scores + at * capacity, .rows = batch->rows + at * capacity,
                                    .capacity = capacity, .k = k, .floor = -INFINITY, .margin = margins[at]};
    return batch;
}

/* batch(margins, k, capacity): a float32 for each query. */
static PyObject *py_batch(PyObject *module, PyObject *arguments) {
    Py_buffer margins;
    Py_ssize_t k, capacity;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "y*nn", &margins, &k, &capacity)) return NULL;
    size_t queries = (size_t)margins.len / sizeof(float);
    Batch *batch = NULL;
    if (k < 1 || capacity < k + STRIDE || capacity > INT32_MAX || queries > (size_t)(PY_SSIZE_T_MAX / capacity) / sizeof(double))
        PyErr_SetString(PyExc_ValueError, "capacity must exceed k, and there must be room for all of it");
    else if ((batch = make_batch(margins.buf, queries, (size_t)k, (size_t)capacity)) == NULL)
        PyErr_NoMemory();
    PyBuffer_Release(&margins);
    if (batch == NULL) return NULL;
    PyObject *capsule = PyCapsule_New(batch, NAME, free_capsule);
    if (capsule == NULL) free_batch(batch);
    return capsule;
}

/* sieve(batch, products, first): float32 products of every query with the rows from `first` on. */
static PyObject *py_sieve(PyObject *module, PyObject *arguments) {
    PyObject *capsule;
    Py_buffer products;
    Py_ssize_t first;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "Oy*n", &capsule, &products, &first)) return NULL;
    Batch *batch = PyCapsule_GetPointer(capsule, NAME);
    size_t row_bytes = batch == NULL ? 0 : batch->queries * sizeof(float), bytes = (size_t)products.len;
    size_t width = row_bytes == 0 ? 0 : bytes / row_bytes;
    bool sound = batch != NULL && width * row_bytes == bytes && first >= 0 && width <= INT32_MAX && first <= INT32_MAX - (Py_ssize_t)width;
    if (sound) {
        Py_BEGIN_ALLOW_THREADS;
        for (size_t at = 0; at < batch->queries; at++) {
            Sieve *sieve = &batch->sieves[at];
            if (!sieve->overflown)
                sieve->overflown = !pass(sieve, (const float *)products.buf + at * width, width, (int32_t)first);
        }
        Py_END_ALLOW_THREADS;
    } else if (batch != NULL)
        PyErr_SetString(PyExc_ValueError, "the products have the wrong size, or rows are out of range");
    PyBuffer_Release(&products);
    if (!sound) return NULL;
    Py_RETURN_NONE;
}

/* What a batch is settled against and written to. */
typedef struct {
    const float *vectors, *queries;
    size_t total, size;
    double *query;
    int64_t *rows;
    double *scores;
    char *done;
} Settling;

/* The k best of one query, written out; false where its sieve overflowed, has fewer, or holds a row that is none. */
static bool settle(Batch *batch, size_t at, const Settling *to) {
    Sieve *sieve = &batch->sieves[at];
    if (!sieve->overflown) tighten(sieve, 0);
    if (sieve->overflown || sieve->count < sieve->k) return false;
    for (size_t one = 0; one < sieve->count; one++)
        if ((size_t)sieve->rows[one] >= to->total) return false;
    for (size_t one = 0; one < to->size; one++) to->query[one] = (double)to->queries[at * to->size + one];
    dots(to->vectors, to->size, to->query, sieve);
    for (size_t one = 0; one < sieve->count; one++) batch->keys[one] = key_of(sieve->scores[one], sieve->rows[one]);
    sort_keys(batch->keys, sieve->count);
    for (size_t one = 0; one < sieve->k; one++) {
        to->rows[at * sieve->k + one] = (int64_t)(batch->keys[one] & 0xFFFFFFFFu);
        to->scores[at * sieve->k + one] = (double)score_of(batch->keys[one]);
    }
    return true;
}

static PyObject *settled(Batch *batch, Settling to) {
    size_t found = batch->queries == 0 ? 0 : batch->queries * batch->sieves[0].k;
    PyObject *rows = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)(found * sizeof(int64_t)));
    PyObject *scores = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)(found * sizeof(double)));
    PyObject *done = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)batch->queries), *all = NULL;
    if (rows != NULL && scores != NULL && done != NULL) {
        to.rows = (int64_t *)(void *)PyBytes_AsString(rows);
        to.scores = (double *)(void *)PyBytes_AsString(scores);
        to.done = PyBytes_AsString(done);
        Py_BEGIN_ALLOW_THREADS;
        memset(to.rows, 0, found * sizeof(int64_t));
        memset(to.scores, 0, found * sizeof(double));
        for (size_t at = 0; at < batch->queries; at++) to.done[at] = settle(batch, at, &to);
        Py_END_ALLOW_THREADS;
        all = PyTuple_Pack(3, rows, scores, done);
    }
    Py_XDECREF(rows);
    Py_XDECREF(scores);
    Py_XDECREF(done);
    return all;
}

/* settle(batch, vectors, queries): rows (int64), scores (float64) and, a byte each, whether a query could be settled. */
static PyObject *py_settle(PyObject *module, PyObject *arguments) {
    PyObject *capsule, *all = NULL;
    Py_buffer vectors, queries;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "Oy*y*", &capsule, &vectors, &queries)) return NULL;
    Batch *batch = PyCapsule_GetPointer(capsule, NAME);
    size_t row_bytes = batch == NULL || batch->queries == 0 ? 0 : (size_t)queries.len / batch->queries, size = row_bytes / sizeof(float);
    bool sound = batch != NULL && size * batch->queries * sizeof(float) == (size_t)queries.len &&
                 (size == 0 || (size_t)vectors.len % row_bytes == 0);
    Settling to = {.vectors = vectors.buf, .queries = queries.buf, .size = size,
                   .total = row_bytes == 0 ? 0 : (size_t)vectors.len / row_bytes};
    if (sound && (to.query = calloc(size + 1, sizeof *to.query)) == NULL)
        PyErr_NoMemory();
    else if (sound)
        all = settled(batch, to);
    else if (batch != NULL)
        PyErr_SetString(PyExc_ValueError, "vectors and queries have different sizes");
    free(to.query);
    PyBuffer_Release(&vectors);
    PyBuffer_Release(&queries);
    return all;
}

static PyMethodDef functions[] = {
    {"batch", py_batch, METH_VARARGS, "Sieves for queries with these margins: (margins, k, capacity)."},
    {"sieve", py_sieve, METH_VARARGS, "Filters a block of products: (batch, products, first)."},
    {"settle", py_settle, METH_VARARGS, "The k best rows, their scores, and which queries it holds for: (batch, vectors, queries)."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "topk", "The k best rows beside a matrix product.", -1, functions, NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit_topk(void) {
    return PyModule_Create(&definition);
}
