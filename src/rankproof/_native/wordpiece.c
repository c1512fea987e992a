/* Splits texts into the WordPiece tokens of BERT, many texts a call and without the interpreter's lock.

   A table gives for each code point below its size what the tokenizer's normalizer and pre-tokenizer make of it: nothing, a space,
   a token of its own, or a part of a word. A text with any other code point or with a special token is left to the caller. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "py_buffers.h"

enum Kind { OTHER, DROPPED, SPACE, ALONE, PART };
enum { MAX_WORD_BYTES = 1024 };

/* FNV-1a, with another start for pieces that continue a word. */
static const uint32_t FIRST_SEED = 0x811C9DC5U, NEXT_SEED = 0x1B873593U, FNV_PRIME = 0x01000193U;

static const char NAME[] = "rankproof._native.wordpiece.vocabulary";

/* A piece of the vocabulary: its bytes, without the prefix if it continues a word; an empty slot has length 0. */
typedef struct {
    uint32_t hash, start;
    uint16_t length;
    bool continues;
    int32_t id;
} Piece;

typedef struct {
    unsigned char *kinds, *mapped, *bytes, *special;
    int32_t *starts, *affixes;
    Piece *slots;
    size_t points, mask, longest, special_bytes, before, after, most_chars;
    int32_t unknown;
} Vocabulary;

static void free_vocabulary(Vocabulary *vocabulary) {
    if (vocabulary == NULL) return;
    free(vocabulary->kinds);
    free(vocabulary->mapped);
    free(vocabulary->bytes);
    free(vocabulary->special);
    free(vocabulary->starts);
    free(vocabulary->affixes);
    free(vocabulary->slots);
    free(vocabulary);
}

static void free_capsule(PyObject *capsule) {
    free_vocabulary(PyCapsule_GetPointer(capsule, NAME));
}

static uint32_t extended(uint32_t hash, unsigned char byte) {
    return (hash ^ byte) * FNV_PRIME;
}

static uint32_t mixed(uint32_t hash) {
    return hash ^ (hash >> 15);
}

static const Piece *find(const Vocabulary *vocabulary, const unsigned char *text, size_t length, uint32_t hash, bool continues) {
    for (size_t at = mixed(hash) & vocabulary->mask; vocabulary->slots[at].length != 0; at = (at + 1) & vocabulary->mask) {
        const Piece *piece = &vocabulary->slots[at];
        if (piece->hash == hash && piece->length == length && piece->continues == continues &&
            memcmp(vocabulary->bytes + piece->start, text, length) == 0)
            return piece;
    }
    return NULL;
}

static void insert(Vocabulary *vocabulary, Piece piece) {
    piece.hash = piece.continues ? NEXT_SEED : FIRST_SEED;
    for (size_t at = 0; at < piece.length; at++) piece.hash = extended(piece.hash, vocabulary->bytes[piece.start + at]);
    size_t at = mixed(piece.hash) & vocabulary->mask;
    while (vocabulary->slots[at].length != 0) at = (at + 1) & vocabulary->mask;
    vocabulary->slots[at] = piece;
    if (piece.length > vocabulary->longest) vocabulary->longest = piece.length;
}

/* The tokens of one call: `count` ids so far. */
typedef struct {
    int32_t *ids;
    size_t count, capacity;
} Ids;

/* One text: where its ids start, how many there may be, and the word in hand. */
typedef struct {
    Ids *ids;
    size_t start, room, size, chars;
    bool cut, failed;
    unsigned char word[MAX_WORD_BYTES];
} Reader;

static void add(Reader *reader, int32_t id) {
    Ids *ids = reader->ids;
    if (ids->count - reader->start >= reader->room) {
        reader->cut = true;
        return;
    }
    if (ids->count == ids->capacity) {
        size_t more = 2 * ids->capacity + 1024;
        int32_t *grown = more > SIZE_MAX / sizeof *grown ? NULL : realloc(ids->ids, more * sizeof *grown);
        if (grown == NULL) {
            reader->failed = reader->cut = true;
            return;
        }
        ids->ids = grown;
        ids->capacity = more;
    }
    ids->ids[ids->count++] = id;
}

/* The longest piece that starts at `from`, NULL if there is none. */
static const Piece *longest_piece(const Vocabulary *vocabulary, const Reader *reader, size_t from) {
    uint32_t hashes[MAX_WORD_BYTES], hash = from == 0 ? FIRST_SEED : NEXT_SEED;
    size_t most = reader->size - from < vocabulary->longest ? reader->size - from : vocabulary->longest;
    for (size_t at = 0; at < most; at++) hashes[at] = hash = extended(hash, reader->word[from + at]);
    for (size_t length = most; length > 0; length--) {
        const Piece *piece = find(vocabulary, reader->word + from, length, hashes[length - 1], from != 0);
        if (piece != NULL) return piece;
    }
    return NULL;
}

/* Adds the pieces of the word in hand, or one unknown token if no pieces make it up. */
static void end_word(const Vocabulary *vocabulary, Reader *reader) {
    int32_t found[MAX_WORD_BYTES];
    size_t count = 0, size = reader->size;
    bool known = reader->chars <= vocabulary->most_chars;
    if (reader->chars == 0) return;
    for (size_t from = 0; known && from < size;) {
        const Piece *piece = longest_piece(vocabulary, reader, from);
        known = piece != NULL;
        if (known) {
            found[count++] = piece->id;
            from += piece->length;
        }
    }
    if (!known) found[0] = vocabulary->unknown;
    for (size_t at = 0; at < (known ? count : 1) && !reader->cut; at++) add(reader, found[at]);
    reader->size = reader->chars = 0;
}

/* Appends what a code point becomes to the word in hand; a word that is too long for the buffer is longer than any known word. */
static void append(const Vocabulary *vocabulary, Reader *reader, size_t point) {
    for (int32_t at = vocabulary->starts[point]; at < vocabulary->starts[point + 1]; at++) {
        unsigned char byte = vocabulary->mapped[at];
        if (reader->size < MAX_WORD_BYTES) reader->word[reader->size++] = byte;
        if ((byte & 0xC0) != 0x80) reader->chars++;
    }
}

/* The code point at `*at` of valid UTF-8, which is moved past it. */
static size_t next_point(const unsigned char *text, size_t *at) {
    unsigned char first = text[(*at)++];
    if (first < 0x80) return first;
    int more = first < 0xE0 ? 1 : first < 0xF0 ? 2 : 3;
    size_t point = (size_t)(first & (0x3F >> more));
    for (; more > 0; more--) point = point << 6 | (text[(*at)++] & 0x3F);
    return point;
}

static bool is_special(const Vocabulary *vocabulary, const unsigned char *text, size_t left) {
    const unsigned char *end = vocabulary->special + vocabulary->special_bytes;
    for (const unsigned char *token = vocabulary->special; token < end;) {
        size_t length = strlen((const char *)token);
        if (length <= left && memcmp(token, text, length) == 0) return true;
        token += length + 1;
    }
    return false;
}

/* Adds the ids of a text; false if it has to be left to the caller. */
static bool read_text(const Vocabulary *vocabulary, Reader *reader, const unsigned char *text, size_t length) {
    for (size_t at = 0; at < length && !reader->cut;) {
        size_t from = at, point = next_point(text, &at);
        enum Kind kind = point < vocabulary->points ? (enum Kind)vocabulary->kinds[point] : OTHER;
        if (kind == OTHER || (kind == ALONE && is_special(vocabulary, text + from, length - from))) return false;
        if (kind == SPACE || kind == ALONE) end_word(vocabulary, reader);
        if (kind == PART || kind == ALONE) append(vocabulary, reader, point);
        if (kind == ALONE && !reader->cut) end_word(vocabulary, reader);
    }
    if (!reader->cut) end_word(vocabulary, reader);
    return true;
}

static void add_affixes(const Vocabulary *vocabulary, Reader *reader, size_t from, size_t to) {
    for (size_t at = from; at < to; at++) add(reader, vocabulary->affixes[at]);
}

/* The ids of a text between the special tokens; -1 for a text that is left to the caller. */
static int32_t token_count(const Vocabulary *vocabulary, Reader *reader, const char *text, size_t length, size_t limit) {
    size_t before = vocabulary->before, both = before + vocabulary->after;
    reader->start = reader->ids->count;
    reader->size = reader->chars = 0;
    reader->cut = false;
    reader->room = limit;
    add_affixes(vocabulary, reader, 0, before);
    reader->room = limit - vocabulary->after;
    if (text == NULL || !read_text(vocabulary, reader, (const unsigned char *)text, length)) {
        reader->ids->count = reader->start;
        return -1;
    }
    bool cut = reader->cut;
    reader->cut = false;
    reader->room = limit;
    add_affixes(vocabulary, reader, before, both);
    reader->cut = cut;
    return (int32_t)(reader->ids->count - reader->start);
}

/* A copy with a zero byte after it; NULL without memory. */
static void *copy_of(const Py_buffer *from) {
    void *copy = calloc((size_t)from->len + 1, 1);
    if (copy != NULL) memcpy(copy, from->buf, (size_t)from->len);
    return copy;
}

static bool ascends(const Py_buffer *bounds, Py_ssize_t most) {
    const int32_t *values = bounds->buf;
    size_t count = (size_t)bounds->len / sizeof *values;
    bool sound = holds_items(bounds, sizeof *values) && count > 0 && values[0] == 0 && values[count - 1] == most;
    for (size_t at = 1; sound && at < count; at++) sound = values[at - 1] <= values[at];
    return sound;
}

typedef struct {
    Py_buffer kinds, starts, mapped, bytes, bounds, ids, continues, special, affixes;
} Parts;

static bool is_sound(const Parts *parts, Py_ssize_t before) {
    size_t points = (size_t)parts->kinds.len, pieces = (size_t)parts->continues.len;
    const unsigned char *special = parts->special.buf;
    bool sound = (size_t)parts->starts.len == (points + 1) * sizeof(int32_t) && ascends(&parts->starts, parts->mapped.len) &&
                 (size_t)parts->bounds.len == (pieces + 1) * sizeof(int32_t) && ascends(&parts->bounds, parts->bytes.len) &&
                 (size_t)parts->ids.len == pieces * sizeof(int32_t) && holds_items(&parts->ids, sizeof(int32_t)) &&
                 parts->affixes.len % (Py_ssize_t)sizeof(int32_t) == 0 &&
                 before >= 0 && before <= parts->affixes.len / (Py_ssize_t)sizeof(int32_t) && pieces < (1U << 30) &&
                 (parts->special.len == 0 || special[parts->special.len - 1] == 0);
    const int32_t *bounds = parts->bounds.buf;
    for (size_t at = 0; sound && at < pieces; at++)
        sound = bounds[at + 1] > bounds[at] && bounds[at + 1] - bounds[at] < MAX_WORD_BYTES;
    return sound;
}

static Vocabulary *vocabulary_of(const Parts *parts, Py_ssize_t before, int32_t unknown, Py_ssize_t most_chars) {
    Vocabulary *made = calloc(1, sizeof *made);
    size_t pieces = (size_t)parts->continues.len, slots = 16;
    while (slots < 2 * pieces) slots *= 2;
    if (made == NULL || (made->kinds = copy_of(&parts->kinds)) == NULL || (made->mapped = copy_of(&parts->mapped)) == NULL ||
        (made->bytes = copy_of(&parts->bytes)) == NULL || (made->special = copy_of(&parts->special)) == NULL ||
        (made->starts = copy_of(&parts->starts)) == NULL || (made->affixes = copy_of(&parts->affixes)) == NULL ||
        (made->slots = calloc(slots, sizeof *made->slots)) == NULL) {
        free_vocabulary(made);
        PyErr_NoMemory();
        return NULL;
    }
    made->points = (size_t)parts->kinds.len;
    made->mask = slots - 1;
    made->special_bytes = (size_t)parts->special.len;
    made->before = (size_t)before;
    made->after = (size_t)parts->affixes.len / sizeof(int32_t) - made->before;
    made->most_chars = (size_t)most_chars;
    made->unknown = unknown;
    const int32_t *bounds = parts->bounds.buf, *ids = parts->ids.buf;
    const unsigned char *continues = parts->continues.buf;
    for (size_t at = 0; at < pieces; at++)
        insert(made, (Piece){.start = (uint32_t)bounds[at],
                             .length = (uint16_t)(bounds[at + 1] - bounds[at]),
                             .continues = continues[at] != 0,
                             .id = ids[at]});
    return made;
}

/* prepare(kinds, starts, mapped, pieces, bounds, ids, continues, special, affixes, before, unknown, most_chars): a vocabulary. */
static PyObject *py_prepare(PyObject *module, PyObject *arguments) {
    Parts parts;
    Py_ssize_t before, most_chars;
    int unknown;
    PyObject *capsule = NULL;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "y*y*y*y*y*y*y*y*y*nin", &parts.kinds, &parts.starts, &parts.mapped, &parts.bytes,
                          &parts.bounds, &parts.ids, &parts.continues, &parts.special, &parts.affixes, &before, &unknown,
                          &most_chars))
        return NULL;
    if (most_chars < 0 || most_chars > MAX_WORD_BYTES / 4 || !is_sound(&parts, before)) {
        PyErr_SetString(PyExc_ValueError, "the parts of the vocabulary do not fit each other");
    } else {
        Vocabulary *made = vocabulary_of(&parts, before, unknown, most_chars);
        if (made != NULL && (capsule = PyCapsule_New(made, NAME, free_capsule)) == NULL) free_vocabulary(made);
    }
    Py_buffer *buffers[] = {&parts.kinds, &parts.starts, &parts.mapped, &parts.bytes, &parts.bounds,
                            &parts.ids, &parts.continues, &parts.special, &parts.affixes};
    for (size_t at = 0; at < sizeof buffers / sizeof *buffers; at++) PyBuffer_Release(buffers[at]);
    return capsule;
}

/* The texts of a call, and room for what is found in them. */
typedef struct {
    const char **texts;
    size_t *sizes;
    int32_t *lengths;
    char *cut;
    size_t count;
} Call;

static bool gathered(Call *call, PyObject *texts) {
    for (size_t at = 0; at < call->count; at++) {
        PyObject *text = PyTuple_GetItem(texts, (Py_ssize_t)at);
        Py_ssize_t size = 0;
        if (text == NULL) return false;
        if (!PyUnicode_Check(text)) {
            PyErr_SetString(PyExc_TypeError, "a text is not a str");
            return false;
        }
        call->texts[at] = PyUnicode_AsUTF8AndSize(text, &size);
        call->sizes[at] = (size_t)size;
        if (call->texts[at] == NULL) {
            if (!PyErr_ExceptionMatches(PyExc_UnicodeEncodeError)) return false;
            PyErr_Clear();
        }
    }
    return true;
}

static bool read_all(const Vocabulary *vocabulary, Call *call, Ids *ids, size_t limit) {
    Reader *reader = calloc(1, sizeof *reader);
    bool good = reader != NULL;
    if (good) reader->ids = ids;
    for (size_t at = 0; good && at < call->count; at++) {
        call->lengths[at] = token_count(vocabulary, reader, call->texts[at], call->sizes[at], limit);
        call->cut[at] = call->lengths[at] >= 0 && reader->cut;
        good = !reader->failed;
    }
    free(reader);
    return good;
}

static PyObject *tokenized(const Vocabulary *vocabulary, PyObject *texts, size_t limit) {
    size_t count = (size_t)PyTuple_Size(texts);
    Call call = {.texts = calloc(count + 1, sizeof *call.texts), .sizes = calloc(count + 1, sizeof *call.sizes), .count = count};
    PyObject *lengths = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)(count * sizeof(int32_t)));
    PyObject *cut = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)count), *found = NULL, *all = NULL;
    Ids ids = {0};
    if (call.texts == NULL || call.sizes == NULL || lengths == NULL || cut == NULL) {
        if (!PyErr_Occurred()) PyErr_NoMemory();
    } else if (gathered(&call, texts)) {
        bool good;
        call.lengths = (int32_t *)(void *)PyBytes_AsString(lengths);
        call.cut = PyBytes_AsString(cut);
        Py_BEGIN_ALLOW_THREADS;
        good = read_all(vocabulary, &call, &ids, limit);
        Py_END_ALLOW_THREADS;
        if (!good)
            PyErr_NoMemory();
        else if ((found = PyBytes_FromStringAndSize((const char *)ids.ids, (Py_ssize_t)(ids.count * sizeof(int32_t)))) != NULL)
            all = PyTuple_Pack(3, found, lengths, cut);
    }
    free(ids.ids);
    free(call.texts);
    free(call.sizes);
    Py_XDECREF(found);
    Py_XDECREF(lengths);
    Py_XDECREF(cut);
    return all;
}

/* tokenize(vocabulary, texts, limit): ids (int32), lengths (int32, -1 for a text left to the caller), and which texts were cut. */
static PyObject *py_tokenize(PyObject *module, PyObject *arguments) {
    PyObject *capsule, *texts;
    Py_ssize_t limit;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OO!n", &capsule, &PyTuple_Type, &texts, &limit)) return NULL;
    const Vocabulary *vocabulary = PyCapsule_GetPointer(capsule, NAME);
    if (vocabulary == NULL) return NULL;
    if (limit < (Py_ssize_t)(vocabulary->before + vocabulary->after) || limit > INT32_MAX) {
        PyErr_SetString(PyExc_ValueError, "the limit has no room for the special tokens");
        return NULL;
    }
    return tokenized(vocabulary, texts, (size_t)limit);
}

static PyMethodDef functions[] = {
    {"prepare", py_prepare, METH_VARARGS, "A vocabulary with its tables."},
    {"tokenize", py_tokenize, METH_VARARGS, "Ids, lengths and which texts were cut: (vocabulary, texts, limit)."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "wordpiece", "WordPiece tokens of many texts.", -1, functions, NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit_wordpiece(void) {
    return PyModule_Create(&definition);
}
