/* Sums of whole numbers under random signs, for many columns at once, and how many of these sums are far apart; the statistics of
   many pairs of columns.

   One word of 64 random bits gives the signs of 64 queries. For each byte of it there is a table of the 256 signed sums that its eight
   queries can have, so a query costs an eighth of an addition for each column. Numbers are whole: any order of adding gives the same. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "permutation_src/paired.h"
#include "py_buffers.h"

enum { BYTES = 8, ENTRIES = 256, STEP = 4, WIDEST = 16, NEAR = 64 };

#if defined(__x86_64__) && ((defined(__clang__) && __clang_major__ >= 7) || (!defined(__clang__) && defined(__GNUC__) && __GNUC__ >= 9))
#define HAS_AVX2 1
#include <immintrin.h>
#endif

/* SplitMix64: word i of a stream is the mix of key + (i + 1) * GOLDEN. */
static const uint64_t GOLDEN = 0x9E3779B97F4A7C15u;

static inline uint64_t mixed(uint64_t state) {
    state = (state ^ (state >> 30)) * 0xBF58476D1CE4E5B9u;
    state = (state ^ (state >> 27)) * 0x94D049BB133111EBu;
    return state ^ (state >> 31);
}

/* Numbers by row and column, the flips asked for, and where their sums go, column by column; `words` is how many a flip takes. */
typedef struct {
    const int64_t *numbers;
    size_t rows, columns, words, count;
    uint64_t key, first;
    int64_t *sums;
} Flips;

/* A strip of `width` columns from `column` on; `tables` and `totals` have rows of that width, and columns past the last are 0. */
typedef struct {
    size_t column, width;
    int64_t *tables, *totals;
} Strip;

/* What the signs in `entry` make of eight rows: all negative, then twice each row that is kept. */
static inline void fill_table(const Flips *flips, const Strip *strip, size_t row, int64_t *table, const size_t width) {
    size_t rows = row >= flips->rows ? 0 : flips->rows - row < 8 ? flips->rows - row : 8;
    size_t columns = flips->columns - strip->column < width ? flips->columns - strip->column : width;
    int64_t twice[8][WIDEST] = {{0}};
    memset(table, 0, width * sizeof *table);
    for (size_t one = 0; one < rows; one++) {
        const int64_t *values = flips->numbers + (row + one) * flips->columns + strip->column;
        for (size_t at = 0; at < columns; at++) {
            table[at] -= values[at];
            twice[one][at] = 2 * values[at];
        }
    }
    for (size_t one = 0; one < 8; one++) {
        for (size_t entry = 0; entry < (size_t)1 << one; entry++) {
            const int64_t *from = table + entry * width;
            int64_t *to = table + (entry + ((size_t)1 << one)) * width;
            for (size_t at = 0; at < width; at++) to[at] = from[at] + twice[one][at];
        }
    }
}

static inline uint64_t signs_of(const Flips *flips, size_t flip, size_t word) {
    return mixed(flips->key + ((flips->first + flip) * flips->words + word + 1) * GOLDEN);
}

/* Adds to every flip's totals what one word of its signs makes of 64 rows. */
static inline void add_word(const Flips *flips, const Strip *strip, size_t word, const size_t width) {
    for (size_t flip = 0; flip < flips->count; flip++) {
        uint64_t signs = signs_of(flips, flip, word);
        int64_t *totals = strip->totals + flip * width;
        for (size_t byte = 0; byte < BYTES; byte++) {
            const int64_t *entry = strip->tables + (byte * ENTRIES + (signs >> (8 * byte) & 255)) * width;
            for (size_t at = 0; at < width; at++) totals[at] += entry[at];
        }
    }
}

#ifdef HAS_AVX2
/* The same; the totals of a flip stay in registers. */
__attribute__((target("avx2"))) static inline void add_word_avx2(const Flips *flips, const Strip *strip, size_t word,
                                                                  const size_t width) {
    for (size_t flip = 0; flip < flips->count; flip++) {
        uint64_t signs = signs_of(flips, flip, word);
        __m256i totals[WIDEST / STEP], *kept = (__m256i *)(void *)(strip->totals + flip * width);
        for (size_t at = 0; at < width / STEP; at++) totals[at] = _mm256_loadu_si256(kept + at);
#pragma GCC unroll 8
        for (size_t byte = 0; byte < BYTES; byte++) {
            const int64_t *entry = strip->tables + (byte * ENTRIES + (signs >> (8 * byte) & 255)) * width;
            for (size_t at = 0; at < width / STEP; at++)
                totals[at] = _mm256_add_epi64(totals[at], _mm256_loadu_si256((const __m256i *)(const void *)entry + at));
        }
        for (size_t at = 0; at < width / STEP; at++) _mm256_storeu_si256(kept + at, totals[at]);
    }
}
#endif

typedef void (*AddWord)(const Flips *flips, const Strip *strip, size_t word, const size_t width);

static inline void sum_width(const Flips *flips, const Strip *strip, const size_t width, AddWord add) {
    size_t columns = flips->columns - strip->column < width ? flips->columns - strip->column : width;
    memset(strip->totals, 0, flips->count * width * sizeof *strip->totals);
    for (size_t word = 0; word < flips->words; word++) {
        for (size_t byte = 0; byte < BYTES; byte++)
            fill_table(flips, strip, 64 * word + 8 * byte, strip->tables + byte * ENTRIES * width, width);
        add(flips, strip, word, width);
    }
    /* A few flips at a time, whose totals stay in the nearest cache. */
    for (size_t from = 0; from < flips->count; from += NEAR) {
        size_t to = flips->count - from < NEAR ? flips->count : from + NEAR;
        for (size_t column = 0; column < columns; column++) {
            int64_t *sums = flips->sums + (strip->column + column) * flips->count;
            for (size_t flip = from; flip < to; flip++) sums[flip] = strip->totals[flip * width + column];
        }
    }
}

/* A width that the compiler knows keeps the totals in registers. */
static inline void sum_any(const Flips *flips, const Strip *strip, AddWord add) {
    switch (strip->width) {
        case 4: sum_width(flips, strip, 4, add); break;
        case 8: sum_width(flips, strip, 8, add); break;
        case 12: sum_width(flips, strip, 12, add); break;
        default: sum_width(flips, strip, WIDEST, add);
    }
}

#ifdef HAS_AVX2
__attribute__((target("avx2"), flatten)) static void sum_avx2(const Flips *flips, const Strip *strip) {
    sum_any(flips, strip, add_word_avx2);
}
#endif

static void sum_strip(const Flips *flips, const Strip *strip) {
#ifdef HAS_AVX2
    if (__builtin_cpu_supports("avx2")) {
        sum_avx2(flips, strip);
        return;
    }
#endif
    sum_any(flips, strip, add_word);
}

/* False where there is no memory. */
static bool sum_all(const Flips *flips) {
    int64_t *tables = malloc((size_t)BYTES * ENTRIES * WIDEST * sizeof *tables);
    int64_t *totals = malloc((flips->count * WIDEST + 1) * sizeof *totals);
    bool room = tables != NULL && totals != NULL;
    for (size_t column = 0; room && column < flips->columns; column += WIDEST) {
        size_t left = flips->columns - column, width = left < WIDEST ? (left + STEP - 1) / STEP * STEP : WIDEST;
        Strip strip = {.column = column, .width = width, .tables = tables, .totals = totals};
        sum_strip(flips, &strip);
    }
    free(tables);
    free(totals);
    return room;
}

static PyObject *summed(Flips flips) {
    PyObject *sums = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)(flips.count * flips.columns * sizeof(int64_t)));
    if (sums == NULL) return NULL;
    bool done;
    flips.sums = (int64_t *)(void *)PyBytes_AsString(sums);
    Py_BEGIN_ALLOW_THREADS;
    done = sum_all(&flips);
    Py_END_ALLOW_THREADS;
    if (done) return sums;
    Py_DECREF(sums);
    return PyErr_NoMemory();
}

/* sums(numbers, columns, key, first, count): int64 rows in, for each column its int64 sums under all flips out. */
static PyObject *py_sums(PyObject *module, PyObject *arguments) {
    Py_buffer numbers;
    Py_ssize_t columns, first, count;
    unsigned long long key;
    PyObject *sums = NULL;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "y*nKnn", &numbers, &columns, &key, &first, &count)) return NULL;
    size_t row_bytes = columns < 1 ? 1 : (size_t)columns * sizeof(int64_t);
    if (columns < 1 || columns > INT32_MAX || (size_t)numbers.len % row_bytes != 0)
        PyErr_SetString(PyExc_ValueError, "the numbers do not fill whole rows of columns");
    else if (first < 0 || count < 0 || (size_t)count > (size_t)PY_SSIZE_T_MAX / (row_bytes + WIDEST * sizeof(int64_t)))
        PyErr_SetString(PyExc_ValueError, "flips out of range");
    else {
        size_t rows = (size_t)numbers.len / row_bytes;
        sums = summed((Flips){.numbers = numbers.buf, .rows = rows, .columns = (size_t)columns, .words = (rows + 63) / 64,
                              .count = (size_t)count, .key = key, .first = (uint64_t)first});
    }
    PyBuffer_Release(&numbers);
    return sums;
}

/* How many of the values of two columns are at least `least` apart. */
static inline int64_t far(const int64_t *first, const int64_t *second, size_t count, int64_t least) {
    int64_t hits = 0;
    for (size_t at = 0; at < count; at++) {
        int64_t apart = first[at] - second[at];
        hits += (apart >= least) | (apart <= -least);
    }
    return hits;
}

#ifdef HAS_AVX2
__attribute__((target("avx2"), flatten)) static int64_t far_avx2(const int64_t *first, const int64_t *second, size_t count,
                                                                 int64_t least) {
    return far(first, second, count, least);
}
#endif

static int64_t count_pair(const int64_t *first, const int64_t *second, size_t count, int64_t least) {
#ifdef HAS_AVX2
    if (__builtin_cpu_supports("avx2")) return far_avx2(first, second, count, least);
#endif
    return far(first, second, count, least);
}

/* Columns of `length` values, and for each pair two columns and the least distance. */
typedef struct {
    const int64_t *columns, *pairs;
    size_t length, count;
} Pairs;

static bool pairs_are_columns(const Pairs *pairs, size_t columns) {
    for (size_t pair = 0; pair < pairs->count; pair++)
        for (size_t side = 0; side < 2; side++) {
            int64_t column = pairs->pairs[3 * pair + side];
            if (column < 0 || (uint64_t)column >= columns) return false;
        }
    return true;
}

static PyObject *counted(const Pairs *pairs) {
    PyObject *hits = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)(pairs->count * sizeof(int64_t)));
    if (hits == NULL) return NULL;
    int64_t *kept = (int64_t *)(void *)PyBytes_AsString(hits);
    Py_BEGIN_ALLOW_THREADS;
    for (size_t pair = 0; pair < pairs->count; pair++) {
        const int64_t *row = pairs->pairs + 3 * pair;
        kept[pair] = count_pair(pairs->columns + (size_t)row[0] * pairs->length, pairs->columns + (size_t)row[1] * pairs->length,
                                pairs->length, row[2]);
    }
    Py_END_ALLOW_THREADS;
    return hits;
}

/* count_far(columns, length, pairs): columns of int64 and rows of (column, column, least) in, an int64 count for each row out. */
static PyObject *py_count_far(PyObject *module, PyObject *arguments) {
    Py_buffer columns, rows;
    Py_ssize_t length;
    PyObject *hits = NULL;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "y*ny*", &columns, &length, &rows)) return NULL;
    Pairs pairs = {.columns = columns.buf, .pairs = rows.buf, .length = (size_t)length, .count = (size_t)rows.len / (3 * sizeof(int64_t))};
    size_t column_bytes = length < 1 || (size_t)length > (size_t)PY_SSIZE_T_MAX / sizeof(int64_t) ? 0 : (size_t)length * sizeof(int64_t);
    if (column_bytes == 0 || (size_t)columns.len % column_bytes != 0 || (size_t)rows.len % (3 * sizeof(int64_t)) != 0)
        PyErr_SetString(PyExc_ValueError, "the numbers do not fill whole columns or rows");
    else if (!pairs_are_columns(&pairs, (size_t)columns.len / column_bytes))
        PyErr_SetString(PyExc_ValueError, "a pair names a column that is not there");
    else
        hits = counted(&pairs);
    PyBuffer_Release(&columns);
    PyBuffer_Release(&rows);
    return hits;
}

/* Columns of `length` values with the largest magnitude of each, and pairs of columns; a row of the result for each pair. */
typedef struct {
    const double *columns, *largest;
    const int64_t *pairs;
    size_t length, count;
    Paired *found;
} Differences;

INLINE_HERE void pair_all(const Differences *all, double *apart) {
    for (size_t pair = 0; pair < all->count; pair++) {
        size_t first = (size_t)all->pairs[2 * pair], second = (size_t)all->pairs[2 * pair + 1];
        double largest = all->largest[first] > all->largest[second] ? all->largest[first] : all->largest[second];
        all->found[pair] = pair_of(all->columns + first * all->length, all->columns + second * all->length, all->length, largest, apart);
    }
}

#ifdef HAS_AVX2
__attribute__((target("avx2"))) static void pair_all_avx2(const Differences *all, double *apart) { pair_all(all, apart); }
#endif

/* False where there is no memory. */
static bool pair_columns(Differences all, size_t columns) {
    double *room = malloc((columns + all.length + 1) * sizeof *room);
    if (room == NULL) return false;
    for (size_t column = 0; column < columns; column++) room[column] = largest_of(all.columns + column * all.length, all.length);
    all.largest = room;
#ifdef HAS_AVX2
    if (__builtin_cpu_supports("avx2")) pair_all_avx2(&all, room + columns);
    else
#endif
        pair_all(&all, room + columns);
    free(room);
    return true;
}

/* paired(columns, length, pairs, found): columns of doubles and rows of (column, column) in; writes a row of six doubles for each:
   mean, sum of squares around it, lowest, highest, and how many are above and below 0. */
static PyObject *py_paired(PyObject *module, PyObject *arguments) {
    Py_buffer columns, pairs, found;
    Py_ssize_t length;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "y*ny*w*", &columns, &length, &pairs, &found)) return NULL;
    size_t row = length < 1 || (size_t)length > (size_t)PY_SSIZE_T_MAX / sizeof(double) ? 0 : (size_t)length * sizeof(double);
    bool fits = row != 0 && (size_t)columns.len % row == 0 && holds_items(&columns, sizeof(double)) &&
                (size_t)pairs.len % (2 * sizeof(int64_t)) == 0 && holds_items(&pairs, sizeof(int64_t)) && holds_items(&found, sizeof(double));
    size_t count = (size_t)pairs.len / (2 * sizeof(int64_t)), width = fits ? (size_t)columns.len / row : 0;
    fits = fits && (size_t)found.len == count * sizeof(Paired);
    const int64_t *named = pairs.buf;
    for (size_t at = 0; fits && at < 2 * count; at++) fits = named[at] >= 0 && (uint64_t)named[at] < width;
    bool done = fits;
    if (fits) {
        Differences all = {.columns = columns.buf, .pairs = named, .length = (size_t)length, .count = count, .found = found.buf};
        Py_BEGIN_ALLOW_THREADS;
        done = pair_columns(all, width);
        Py_END_ALLOW_THREADS;
        if (!done) PyErr_NoMemory();
    } else PyErr_SetString(PyExc_ValueError, "the numbers do not fill whole columns, or a pair names a column that is not there");
    PyBuffer_Release(&columns);
    PyBuffer_Release(&pairs);
    PyBuffer_Release(&found);
    return done ? Py_NewRef(Py_None) : NULL;
}

static PyMethodDef functions[] = {
    {"count_far", py_count_far, METH_VARARGS, "How many values of two columns are far apart: (columns, length, pairs)."},
    {"paired", py_paired, METH_VARARGS, "Statistics of pairs of columns: (columns, length, pairs, found)."},
    {"sums", py_sums, METH_VARARGS, "Sums of columns under random signs: (numbers, columns, key, first, count)."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "permutation", "Sums of whole numbers under random signs.", -1, functions, NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit_permutation(void) {
    return PyModule_Create(&definition);
}
