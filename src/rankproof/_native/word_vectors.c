/* Sums the vectors of the tokens of texts, tokenised by the BPE of SentencePiece.

   Pieces have spaces at the start only, so a run of spaces and the word after it are tokenised alone. The pair of the lowest
   rank is merged first, of equal ones the leftmost. Vectors are added in the order of the tokens. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "exact_floats.h"
#include "py_buffers.h"

enum { CODES = 0x110000, BYTES = 256, MOST_SYMBOLS = 256, NO_RANK = INT32_MAX };

typedef struct {
    uint64_t key;
    int32_t rank, result;
} Merge;

/* The id of each character (-1: none), of each byte, and a hash table of merges. */
typedef struct {
    int32_t *codes;
    int32_t bytes[BYTES], largest;
    Merge *merges;
    size_t mask;
} Vocabulary;

typedef struct {
    int32_t ids[MOST_SYMBOLS];
    int32_t ranks[MOST_SYMBOLS];
    size_t count;
} Word;

static const char NAME[] = "rankproof._native.word_vectors.vocabulary";

static void free_vocabulary(Vocabulary *vocabulary) {
    free(vocabulary->codes);
    free(vocabulary->merges);
    free(vocabulary);
}

static void free_capsule(PyObject *capsule) {
    free_vocabulary(PyCapsule_GetPointer(capsule, NAME));
}

static inline uint64_t pair_key(int32_t left, int32_t right) { return ((uint64_t)(uint32_t)left << 32 | (uint32_t)right) + 1; }

static inline size_t first_slot(uint64_t key, size_t mask) { return (size_t)((key * 0x9E3779B97F4A7C15u) >> 32) & mask; }

static inline const Merge *find_merge(const Vocabulary *vocabulary, int32_t left, int32_t right) {
    uint64_t key = pair_key(left, right);
    size_t slot = first_slot(key, vocabulary->mask);
    while (vocabulary->merges[slot].key != key && vocabulary->merges[slot].key != 0) slot = (slot + 1) & vocabulary->mask;
    return &vocabulary->merges[slot];
}

static void add_merge(Vocabulary *vocabulary, int32_t left, int32_t right, int32_t rank, int32_t result) {
    Merge *merge = &vocabulary->merges[find_merge(vocabulary, left, right) - vocabulary->merges];
    if (merge->key == 0) *merge = (Merge){pair_key(left, right), rank, result};
}

static inline int32_t pair_rank(const Vocabulary *vocabulary, const Word *word, size_t at) {
    if (at + 1 >= word->count) return NO_RANK;
    const Merge *merge = find_merge(vocabulary, word->ids[at], word->ids[at + 1]);
    return merge->key == 0 ? NO_RANK : merge->rank;
}

/* The length in bytes of the character at the start of a text, and its code; an invalid one is a byte without a code. */
static inline size_t read_code(const uint8_t *text, size_t left, uint32_t *code) {
    size_t length = text[0] < 0x80 ? 1 : text[0] < 0xE0 ? 2 : text[0] < 0xF0 ? 3 : 4;
    *code = length == 1 ? text[0] : text[0] & (0x7Fu >> length);
    for (size_t at = 1; at < length; at++) {
        if (at >= left || (text[at] & 0xC0u) != 0x80) return *code = CODES, 1;
        *code = *code << 6 | (text[at] & 0x3Fu);
    }
    if (*code >= CODES || (length > 1 && text[0] < 0xC2)) return *code = CODES, 1;
    return length;
}

/* Characters of the vocabulary, or the bytes of others; false if the word is too long. */
static bool split(const Vocabulary *vocabulary, const uint8_t *text, size_t size, Word *word) {
    word->count = 0;
    for (size_t at = 0; at < size;) {
        uint32_t code;
        size_t length = read_code(text + at, size - at, &code);
        int32_t id = code < CODES ? vocabulary->codes[code] : -1;
        if (word->count + length > MOST_SYMBOLS) return false;
        if (id >= 0)
            word->ids[word->count++] = id;
        else
            for (size_t byte = 0; byte < length; byte++) word->ids[word->count++] = vocabulary->bytes[text[at + byte]];
        at += length;
    }
    return true;
}

static void merge_word(const Vocabulary *vocabulary, Word *word) {
    for (size_t at = 0; at < word->count; at++) word->ranks[at] = pair_rank(vocabulary, word, at);
    for (;;) {
        size_t best = 0;
        for (size_t at = 1; at < word->count; at++) best = word->ranks[at] < word->ranks[best] ? at : best;
        if (word->count == 0 || word->ranks[best] == NO_RANK) return;
        word->ids[best] = find_merge(vocabulary, word->ids[best], word->ids[best + 1])->result;
        word->count--;
        memmove(word->ids + best + 1, word->ids + best + 2, (word->count - best - 1) * sizeof *word->ids);
        memmove(word->ranks + best + 1, word->ranks + best + 2, (word->count - best - 1) * sizeof *word->ranks);
        word->ranks[best] = pair_rank(vocabulary, word, best);
        if (best > 0) word->ranks[best - 1] = pair_rank(vocabulary, word, best - 1);
    }
}

static inline void add_any(const float *restrict table, size_t size, const Word *word, float *restrict sums) {
    for (size_t at = 0; at < word->count; at++) {
        const float *restrict row = table + (size_t)word->ids[at] * size;
        for (size_t one = 0; one < size; one++) sums[one] += row[one];
    }
}

#if defined(__x86_64__) && (defined(__clang__) || defined(__GNUC__))
__attribute__((target("avx2"), flatten)) static void add_avx2(const float *table, size_t size, const Word *word, float *sums) {
    add_any(table, size, word, sums);
}

static void add_vectors(const float *table, size_t size, const Word *word, float *sums) {
    if (__builtin_cpu_supports("avx2"))
        add_avx2(table, size, word, sums);
    else
        add_any(table, size, word, sums);
}
#else
static void add_vectors(const float *table, size_t size, const Word *word, float *sums) { add_any(table, size, word, sums); }
#endif

/* Adds the vectors of a text; the number of its tokens, or -1 if a word is too long. */
static int64_t add_text(const Vocabulary *vocabulary, const uint8_t *text, size_t size, const float *table, size_t width,
                        float *sums) {
    Word word;
    int64_t count = 0;
    for (size_t start = 0, end = 0; start < size; start = end) {
        while (end < size && text[end] == ' ') end++;
        while (end < size && text[end] != ' ') end++;
        if (!split(vocabulary, text + start, end - start, &word)) return -1;
        merge_word(vocabulary, &word);
        add_vectors(table, width, &word, sums);
        count += (int64_t)word.count;
    }
    return count;
}

static bool is_id(int32_t id, int32_t *largest) {
    *largest = id > *largest ? id : *largest;
    return id >= 0;
}

/* Codes and ids of characters, ids of bytes, and merges (left, right, result) by rank; false if a number is out of range. */
static bool fill_vocabulary(Vocabulary *vocabulary, const int32_t *codes, size_t count, const int32_t *bytes,
                            const int32_t *merges, size_t merged) {
    bool sound = true;
    for (size_t at = 0; at < CODES; at++) vocabulary->codes[at] = -1;
    for (size_t at = 0; at < count && sound; at++) {
        sound = codes[2 * at] >= 0 && codes[2 * at] < CODES && is_id(codes[2 * at + 1], &vocabulary->largest);
        if (sound) vocabulary->codes[codes[2 * at]] = codes[2 * at + 1];
    }
    for (size_t at = 0; at < BYTES && sound; at++) sound = is_id(vocabulary->bytes[at] = bytes[at], &vocabulary->largest);
    for (size_t at = 0; at < merged && sound; at++) {
        const int32_t *merge = merges + 3 * at;
        for (int part = 0; part < 3; part++) sound = sound && is_id(merge[part], &vocabulary->largest);
        if (sound) add_merge(vocabulary, merge[0], merge[1], (int32_t)at, merge[2]);
    }
    return sound;
}

/* vocabulary(codes, bytes, merges): int32 pairs of a character and its id, 256 ids, and triples of two ids and the merged one. */
static PyObject *py_vocabulary(PyObject *module, PyObject *arguments) {
    Py_buffer codes, bytes, merges;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "y*y*y*", &codes, &bytes, &merges)) return NULL;
    size_t count = (size_t)codes.len / (2 * sizeof(int32_t)), merged = (size_t)merges.len / (3 * sizeof(int32_t)), slots = 16;
    while (slots < 2 * merged) slots *= 2;
    Vocabulary *vocabulary = calloc(1, sizeof *vocabulary);
    PyObject *capsule = NULL;
    if (vocabulary != NULL) {
        vocabulary->codes = malloc(CODES * sizeof *vocabulary->codes);
        vocabulary->merges = calloc(slots, sizeof *vocabulary->merges);
        vocabulary->mask = slots - 1;
    }
    if (vocabulary == NULL || vocabulary->codes == NULL || vocabulary->merges == NULL)
        PyErr_NoMemory();
    else if (!holds_items(&codes, sizeof(int32_t)) || !holds_items(&bytes, sizeof(int32_t)) ||
             !holds_items(&merges, sizeof(int32_t)) || bytes.len != BYTES * sizeof(int32_t) || merged >= NO_RANK ||
             !fill_vocabulary(vocabulary, codes.buf, count, bytes.buf, merges.buf, merged))
        PyErr_SetString(PyExc_ValueError, "an id or a character is out of range");
    else
        capsule = PyCapsule_New(vocabulary, NAME, free_capsule);
    if (capsule == NULL && vocabulary != NULL) free_vocabulary(vocabulary);
    PyBuffer_Release(&codes);
    PyBuffer_Release(&bytes);
    PyBuffer_Release(&merges);
    return capsule;
}

static bool are_bounds(const int64_t *bounds, size_t count, Py_ssize_t size) {
    bool sound = count > 0 && bounds[0] == 0 && bounds[count - 1] == (int64_t)size;
    for (size_t at = 1; at < count && sound; at++) sound = bounds[at - 1] <= bounds[at];
    return sound;
}

static PyObject *summed(const Vocabulary *vocabulary, const uint8_t *text, const int64_t *bounds, size_t texts,
                        const float *table, size_t width) {
    PyObject *sums = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)(texts * width * sizeof(float)));
    PyObject *counts = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)(texts * sizeof(int64_t))), *both = NULL;
    if (sums != NULL && counts != NULL) {
        float *rows = (float *)(void *)PyBytes_AsString(sums);
        int64_t *found = (int64_t *)(void *)PyBytes_AsString(counts);
        Py_BEGIN_ALLOW_THREADS;
        memset(rows, 0, texts * width * sizeof(float));
        for (size_t at = 0; at < texts; at++)
            found[at] = add_text(vocabulary, text + bounds[at], (size_t)(bounds[at + 1] - bounds[at]), table, width,
                                 rows + at * width);
        Py_END_ALLOW_THREADS;
        both = PyTuple_Pack(2, sums, counts);
    }
    Py_XDECREF(sums);
    Py_XDECREF(counts);
    return both;
}

/* sums(vocabulary, text, bounds, table, width): the summed rows (float32) and numbers of tokens (int64) of texts in UTF-8. */
static PyObject *py_sums(PyObject *module, PyObject *arguments) {
    PyObject *capsule, *both = NULL;
    Py_buffer text, bounds, table;
    Py_ssize_t width;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "Oy*y*y*n", &capsule, &text, &bounds, &table, &width)) return NULL;
    const Vocabulary *vocabulary = PyCapsule_GetPointer(capsule, NAME);
    size_t count = (size_t)bounds.len / sizeof(int64_t);
    if (vocabulary == NULL)
        ;
    else if (width < 1 || width > INT32_MAX || count > (size_t)PY_SSIZE_T_MAX / sizeof(float) / (size_t)width ||
             !holds_items(&table, sizeof(float)) || !holds_items(&bounds, sizeof(int64_t)) ||
             (size_t)table.len / ((size_t)width * sizeof(float)) <= (size_t)vocabulary->largest ||
             !are_bounds(bounds.buf, count, text.len))
        PyErr_SetString(PyExc_ValueError, "the table has too few rows, or the bounds are not those of the text");
    else
        both = summed(vocabulary, text.buf, bounds.buf, count - 1, table.buf, (size_t)width);
    PyBuffer_Release(&text);
    PyBuffer_Release(&bounds);
    PyBuffer_Release(&table);
    return both;
}

static PyMethodDef functions[] = {
    {"vocabulary", py_vocabulary, METH_VARARGS, "A vocabulary: (codes, bytes, merges)."},
    {"sums", py_sums, METH_VARARGS,
     "The sums of the vectors of texts, and the numbers of their tokens: (vocabulary, text, bounds, table, width)."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "word_vectors", "Sums of token vectors.", -1, functions, NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit_word_vectors(void) {
    return PyModule_Create(&definition);
}
