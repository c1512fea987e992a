/* Documents in JSON lines as columns of UTF-8, with the hash of each id and the sum of the digests of all documents.

   `scan` stops before a line that is not usual: an error, a key with an escape, a number that Python writes in another way, and
   so on. The reader in Python reads that line, so it alone defines messages and unusual values. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "documents_src/blake2b.h"
#include "documents_src/buffer.h"
#include "documents_src/json.h"
#include "py_buffers.h"

enum { MOST_NAMES = 64, DIGEST = 32, LENGTHS = 32, ID_HASH = 8 };

typedef struct {
    const uint8_t *names[MOST_NAMES];
    size_t sizes[MOST_NAMES];
    int count;
} Names;

enum { IDS, TITLES, TEXTS, FIELDS, COLUMNS };

typedef struct {
    Names ids, texts;
    Buffer columns[COLUMNS], ends[COLUMNS], lines, hashes, in_order;
    uint64_t digest[DIGEST / 8];
    Py_ssize_t rows;
    size_t bytes;
} Scan;

typedef enum { ADDED, UNUSUAL, NO_MEMORY } Outcome;

static uint8_t normalised(uint8_t byte) {
    if (byte >= 'A' && byte <= 'Z') return byte | 0x20;
    return byte == '-' || byte == ' ' || byte == '.' ? '_' : byte;
}

/* The place of the key among the names, -1 where it is none of them, and -2 where it is one in another spelling. */
static int place_of(const Names *names, const Member *member) {
    const uint8_t *key = member->key;
    size_t size = member->key_size;
    while (size > 0 && key[0] == ' ') key++, size--;
    while (size > 0 && key[size - 1] == ' ') size--;
    for (int at = 0; at < names->count; at++) {
        if (names->sizes[at] != size) continue;
        size_t same = 0;
        while (same < size && normalised(key[same]) == names->names[at][same]) same++;
        if (same < size) continue;
        return size == member->key_size && memcmp(key, names->names[at], size) == 0 ? at : -2;
    }
    return -1;
}

/* The member whose key comes first among the names, without its key; false where a key has another spelling. */
static bool pop_member(Member *members, int count, const Names *names, Member **found) {
    int best = MOST_NAMES;
    *found = NULL;
    for (int at = 0; at < count; at++) {
        if (members[at].key == NULL) continue;
        int place = place_of(names, &members[at]);
        if (place == -2) return false;
        if (place >= 0 && place < best) {
            best = place;
            *found = &members[at];
        }
    }
    if (*found != NULL) (*found)->key = NULL;
    return true;
}

static bool is_text(const Member *member) { return member->kind == STRING || member->kind == ESCAPED; }

static void add_digest(Scan *scan, const Blake *blake) {
    uint64_t carry = 0;
    for (int at = 0; at < DIGEST / 8; at++) {
        uint64_t sum = scan->digest[at] + carry;
        carry = sum < carry;
        scan->digest[at] = sum + blake->state[at];
        carry += scan->digest[at] < sum;
    }
}

/* The digest of the document in the last row: the lengths of its parts, then the parts. */
static void digest_row(Scan *scan, const size_t *starts, const uint8_t *fields, size_t fields_size) {
    Blake blake;
    uint8_t lengths[LENGTHS];
    for (int at = 0; at < FIELDS; at++) store64(lengths + 8 * at, scan->columns[at].size - starts[at]);
    store64(lengths + 8 * FIELDS, fields_size);
    blake_begin(&blake, DIGEST);
    blake_add(&blake, lengths, LENGTHS);
    for (int at = 0; at < FIELDS; at++) blake_add(&blake, scan->columns[at].data + starts[at], scan->columns[at].size - starts[at]);
    blake_add(&blake, fields, fields_size);
    blake_end(&blake);
    add_digest(scan, &blake);
}

static uint64_t id_hash(const uint8_t *id, size_t size) {
    Blake blake;
    blake_begin(&blake, ID_HASH);
    blake_add(&blake, id, size);
    blake_end(&blake);
    return blake.state[0];
}

static bool reserve_row(Scan *scan, size_t line_size) {
    for (int at = 0; at < COLUMNS; at++) {
        size_t most = at == FIELDS ? WIDEST_ESCAPE * line_size : line_size;
        if (!reserve(&scan->columns[at], most) || !reserve(&scan->ends[at], sizeof(int64_t))) return false;
    }
    return reserve(&scan->lines, sizeof(int64_t)) && reserve(&scan->hashes, sizeof(int64_t));
}

static bool put_fields(Scan *scan, const Member *members, int count, bool unsorted, size_t line_size, const size_t *starts) {
    Buffer *fields = &scan->columns[FIELDS];
    int kept = 0;
    const Member *before = NULL;
    for (int at = 0; at < count; at++) {
        if (members[at].key == NULL) continue;
        if (before != NULL && compare_keys(before, &members[at]) > 0) unsorted = true;
        before = &members[at];
        kept++;
    }
    if (kept > 0) put_members(fields, members, count, false);
    scan->in_order.size = 0;
    if (kept > 0 && unsorted) {
        if (!reserve(&scan->in_order, WIDEST_ESCAPE * line_size)) return false;
        put_members(&scan->in_order, members, count, true);
        digest_row(scan, starts, scan->in_order.data, scan->in_order.size);
    } else {
        digest_row(scan, starts, fields->data + starts[FIELDS], fields->size - starts[FIELDS]);
    }
    return true;
}

/* Adds the document of a line without its line feed; a line that is not usual changes nothing. */
static Outcome add_line(Scan *scan, const uint8_t *line, size_t size, long long number) {
    static const Names title_name = {{(const uint8_t *)"title"}, {5}, 1};
    Member members[MOST_MEMBERS], *id, *title, *text;
    Cursor cursor = {line, line + size, false};
    int count = take(&cursor, '{') ? read_members(&cursor, members, 0) : -1;
    skip_space(&cursor);
    if (count < 0 || cursor.at < cursor.end) return UNUSUAL;
    bool usual = pop_member(members, count, &scan->ids, &id) && pop_member(members, count, &title_name, &title) &&
                 pop_member(members, count, &scan->texts, &text);
    if (!usual || id == NULL || text == NULL || !is_text(text)) return UNUSUAL;
    if ((!is_text(id) && id->kind != INTEGER) || id->size == 0) return UNUSUAL;
    if (title != NULL && !is_text(title) && title->kind != NOTHING) return UNUSUAL;
    if (!reserve_row(scan, size)) return NO_MEMORY;
    size_t starts[COLUMNS];
    for (int at = 0; at < COLUMNS; at++) starts[at] = scan->columns[at].size;
    const uint8_t *key = scan->columns[IDS].data + starts[IDS];
    if (is_text(id))
        put_text(&scan->columns[IDS], id);
    else
        put(&scan->columns[IDS], id->value, id->size);
    size_t key_size = scan->columns[IDS].size - starts[IDS];
    if (memchr(key, 0, key_size) != NULL) {
        scan->columns[IDS].size = starts[IDS];
        return UNUSUAL;
    }
    if (title != NULL && is_text(title)) put_text(&scan->columns[TITLES], title);
    put_text(&scan->columns[TEXTS], text);
    if (!put_fields(scan, members, count, cursor.unsorted, size, starts)) return NO_MEMORY;
    for (int at = 0; at < COLUMNS; at++) {
        put_number(&scan->ends[at], (int64_t)scan->columns[at].size);
        scan->bytes += scan->columns[at].size - starts[at];
    }
    put_number(&scan->lines, (int64_t)number);
    uint64_t hash = id_hash(key, key_size);
    put(&scan->hashes, (const uint8_t *)&hash, sizeof hash);
    scan->rows++;
    return ADDED;
}

static bool is_blank(const uint8_t *line, size_t size) {
    for (size_t at = 0; at < size; at++)
        if (line[at] != ' ' && line[at] != '\t') return false;
    return true;
}

typedef struct {
    const uint8_t *at, *end;
    long long line;
    Py_ssize_t most_rows;
    size_t most_bytes;
} Input;

/* Adds lines until the input ends, a limit is reached or a line is not usual; false where memory is short. */
static bool scan_lines(Scan *scan, Input *input) {
    while (input->at < input->end && scan->rows < input->most_rows && scan->bytes < input->most_bytes) {
        const uint8_t *next = memchr(input->at, '\n', (size_t)(input->end - input->at));
        if (next == NULL) return true;
        size_t size = (size_t)(next - input->at);
        if (size > 0 && input->at[size - 1] == '\r') size--;
        if (memchr(input->at, '\r', size) != NULL) return true;
        if (!is_blank(input->at, size)) {
            Outcome outcome = add_line(scan, input->at, size, input->line);
            if (outcome != ADDED) return outcome == UNUSUAL;
        }
        input->at = next + 1;
        input->line++;
    }
    return true;
}

/* The names in a text, each ended by NUL. */
static bool split_names(Names *names, const Py_buffer *text) {
    const uint8_t *at = text->buf, *end = at + text->len;
    names->count = 0;
    while (at < end && names->count < MOST_NAMES) {
        const uint8_t *next = memchr(at, 0, (size_t)(end - at));
        if (next == NULL) return false;
        names->names[names->count] = at;
        names->sizes[names->count++] = (size_t)(next - at);
        at = next + 1;
    }
    return at == end;
}

static void release_scan(Scan *scan) {
    for (int at = 0; at < COLUMNS; at++) {
        free(scan->columns[at].data);
        free(scan->ends[at].data);
    }
    free(scan->lines.data);
    free(scan->hashes.data);
    free(scan->in_order.data);
}

static PyObject *buffer_bytes(const Buffer *buffer) {
    return PyBytes_FromStringAndSize((const char *)buffer->data, (Py_ssize_t)buffer->size);
}

static PyObject *scan_result(const Scan *scan, Py_ssize_t end, long long line) {
    const Buffer *data = scan->columns, *ends = scan->ends;
    uint8_t digest[DIGEST];
    for (int at = 0; at < DIGEST / 8; at++) store64(digest + 8 * at, scan->digest[at]);
    return Py_BuildValue("nL(NNNNNNNN)NNy#", end, line, buffer_bytes(&data[IDS]), buffer_bytes(&ends[IDS]),
                         buffer_bytes(&data[TITLES]), buffer_bytes(&ends[TITLES]), buffer_bytes(&data[TEXTS]),
                         buffer_bytes(&ends[TEXTS]), buffer_bytes(&data[FIELDS]), buffer_bytes(&ends[FIELDS]),
                         buffer_bytes(&scan->lines), buffer_bytes(&scan->hashes), (const char *)digest, (Py_ssize_t)DIGEST);
}

static PyObject *scan_buffers(Py_buffer *data, Py_buffer *ids, Py_buffer *texts, Py_ssize_t start, Input *input) {
    Scan scan;
    memset(&scan, 0, sizeof scan);
    if (start < 0 || start > data->len || input->most_rows < 0 || !split_names(&scan.ids, ids) || !split_names(&scan.texts, texts)) {
        PyErr_SetString(PyExc_ValueError, "the start, the limit or the names are wrong");
        return NULL;
    }
    const uint8_t *first = data->buf;
    bool done;
    input->at = first + start;
    input->end = first + data->len;
    Py_BEGIN_ALLOW_THREADS
    done = scan_lines(&scan, input);
    Py_END_ALLOW_THREADS
    PyObject *result = done ? scan_result(&scan, input->at - first, input->line) : PyErr_NoMemory();
    release_scan(&scan);
    return result;
}

static PyObject *scan_documents(PyObject *module, PyObject *arguments) {
    Py_buffer data, ids, texts;
    Py_ssize_t start, most_bytes;
    Input input;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "y*nLnny*y*", &data, &start, &input.line, &input.most_rows, &most_bytes, &ids, &texts)) return NULL;
    input.most_bytes = most_bytes < 0 ? 0 : (size_t)most_bytes;
    PyObject *result = scan_buffers(&data, &ids, &texts, start, &input);
    PyBuffer_Release(&data);
    PyBuffer_Release(&ids);
    PyBuffer_Release(&texts);
    return result;
}

typedef struct {
    uint64_t prefix;
    const uint8_t *id;
    size_t size;
    int32_t row;
} Key;

/* Larger ids first. */
static int compare_ids(const void *one, const void *other) {
    const Key *left = one, *right = other;
    if (left->prefix != right->prefix) return left->prefix < right->prefix ? 1 : -1;
    size_t size = left->size < right->size ? left->size : right->size;
    int found = memcmp(left->id, right->id, size);
    if (found != 0) return found < 0 ? 1 : -1;
    if (left->size != right->size) return left->size < right->size ? 1 : -1;
    return (left->row < right->row) - (left->row > right->row);
}

/* How many bytes all ids begin with alike. */
static size_t shared_prefix(const Key *keys, Py_ssize_t count) {
    size_t shared = count > 0 ? keys[0].size : 0;
    for (Py_ssize_t at = 1; at < count && shared > 0; at++) {
        size_t same = 0;
        while (same < shared && same < keys[at].size && keys[at].id[same] == keys[0].id[same]) same++;
        shared = same;
    }
    return shared;
}

static bool is_valid_column(const int64_t *offsets, Py_ssize_t rows, Py_ssize_t size) {
    for (Py_ssize_t row = 0; row < rows; row++)
        if (offsets[row] < 0 || offsets[row] > offsets[row + 1] || offsets[row + 1] > size) return false;
    return true;
}

static void sort_keys(Key *keys, Py_ssize_t rows, const int64_t *offsets, const uint8_t *data) {
    for (Py_ssize_t row = 0; row < rows; row++)
        keys[row] = (Key){0, data + offsets[row], (size_t)(offsets[row + 1] - offsets[row]), (int32_t)row};
    size_t shared = shared_prefix(keys, rows);
    for (Py_ssize_t row = 0; row < rows; row++) {
        Key *key = &keys[row];
        for (size_t byte = shared; byte < shared + 8; byte++)
            key->prefix = key->prefix << 8 | (byte < key->size ? key->id[byte] : 0);
    }
    qsort(keys, (size_t)rows, sizeof *keys, compare_ids);
}

static PyObject *order_rows(const Py_buffer *offsets, const Py_buffer *data) {
    Py_ssize_t rows = offsets->len / (Py_ssize_t)sizeof(int64_t) - 1;
    bool valid = holds_items(offsets, sizeof(int64_t)) && rows >= 0 && rows <= INT32_MAX;
    if (!valid || !is_valid_column(offsets->buf, rows, data->len)) {
        PyErr_SetString(PyExc_ValueError, "the offsets are wrong");
        return NULL;
    }
    PyObject *result = PyBytes_FromStringAndSize(NULL, rows * (Py_ssize_t)sizeof(int32_t));
    Key *keys = malloc(((size_t)rows + 1) * sizeof *keys);
    if (result == NULL || keys == NULL) {
        Py_XDECREF(result);
        free(keys);
        return PyErr_NoMemory();
    }
    Py_BEGIN_ALLOW_THREADS
    sort_keys(keys, rows, offsets->buf, data->buf);
    Py_END_ALLOW_THREADS
    char *out = PyBytes_AsString(result);
    for (Py_ssize_t row = 0; row < rows; row++) memcpy(out + row * (Py_ssize_t)sizeof(int32_t), &keys[row].row, sizeof(int32_t));
    free(keys);
    return result;
}

static PyObject *order(PyObject *module, PyObject *arguments) {
    Py_buffer offsets, data;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "y*y*", &offsets, &data)) return NULL;
    PyObject *result = order_rows(&offsets, &data);
    PyBuffer_Release(&offsets);
    PyBuffer_Release(&data);
    return result;
}

/* The ids of a partition, and the position of its first document. */
typedef struct {
    int64_t first, rows;
    const int64_t *offsets;
    const uint8_t *data;
    Py_buffer buffers[2];
} IdColumn;

typedef struct {
    const uint64_t *entries;
    size_t count;
    IdColumn *columns;
    Py_ssize_t columns_count;
} Index;

/* The first entry whose hash is not below this one; hashes are uniform, so it lies near its share of all entries. */
static size_t first_entry(const Index *index, uint64_t hash) {
    size_t low = 0, high = index->count, width = 1024;
    size_t guess = (size_t)((long double)hash / 18446744073709551616.0L * (long double)index->count);
    if (guess > width && index->entries[2 * (guess - width)] < hash) low = guess - width;
    if (guess + width < high && index->entries[2 * (guess + width)] >= hash) high = guess + width;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (index->entries[2 * middle] < hash)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool is_id_at(const Index *index, int64_t position, const uint8_t *id, size_t size) {
    Py_ssize_t low = 0, high = index->columns_count;
    while (high - low > 1) {
        Py_ssize_t middle = low + (high - low) / 2;
        if (index->columns[middle].first <= position)
            low = middle;
        else
            high = middle;
    }
    const IdColumn *column = &index->columns[low];
    if (position < column->first || position - column->first >= column->rows) return false;
    int64_t row = position - column->first, start = column->offsets[row], end = column->offsets[row + 1];
    if (start < 0 || end < start || end > (int64_t)column->buffers[1].len) return false;
    return end - start == (int64_t)size && memcmp(column->data + start, id, size) == 0;
}

/* The position of the id, -1 where no document has it. */
static int64_t position_of(const Index *index, const uint8_t *id, size_t size) {
    uint64_t hash = id_hash(id, size);
    if (index->columns_count == 0) return -1;
    for (size_t at = first_entry(index, hash); at < index->count && index->entries[2 * at] == hash; at++) {
        int64_t position = (int64_t)index->entries[2 * at + 1];
        if (is_id_at(index, position, id, size)) return position;
    }
    return -1;
}

static void release_columns(Index *index) {
    for (Py_ssize_t at = 0; at < index->columns_count; at++) {
        PyBuffer_Release(&index->columns[at].buffers[0]);
        PyBuffer_Release(&index->columns[at].buffers[1]);
    }
    free(index->columns);
}

/* Takes the columns from a list of (first, offsets, data). */
static bool open_columns(Index *index, PyObject *list) {
    Py_ssize_t count = PyList_Size(list);
    index->columns = calloc((size_t)count + 1, sizeof *index->columns);
    if (index->columns == NULL) {
        PyErr_NoMemory();
        return false;
    }
    for (Py_ssize_t at = 0; at < count; at++) {
        IdColumn *column = &index->columns[at];
        long long first;
        if (!PyArg_ParseTuple(PyList_GetItem(list, at), "Ly*y*", &first, &column->buffers[0], &column->buffers[1])) return false;
        index->columns_count = at + 1;
        column->first = first;
        column->rows = (int64_t)(column->buffers[0].len / (Py_ssize_t)sizeof(int64_t)) - 1;
        column->offsets = column->buffers[0].buf;
        column->data = column->buffers[1].buf;
        if (first < 0 || !holds_items(&column->buffers[0], sizeof(int64_t))) {
            PyErr_SetString(PyExc_ValueError, "the first position or the offsets are wrong");
            return false;
        }
    }
    return true;
}

static PyObject *positions_of(const Index *index, PyObject *ids) {
    Py_ssize_t count = PyList_Size(ids);
    PyObject *result = PyBytes_FromStringAndSize(NULL, count * (Py_ssize_t)sizeof(int64_t));
    if (result == NULL) return NULL;
    char *out = PyBytes_AsString(result);
    for (Py_ssize_t at = 0; at < count; at++) {
        PyObject *id = PyList_GetItem(ids, at);
        Py_ssize_t size = 0;
        const char *text = id != NULL && PyUnicode_Check(id) ? PyUnicode_AsUTF8AndSize(id, &size) : NULL;
        int64_t position = text == NULL ? -1 : position_of(index, (const uint8_t *)text, (size_t)size);
        if (PyErr_Occurred()) {
            /* A lone surrogate is in no id. */
            if (!PyErr_ExceptionMatches(PyExc_UnicodeEncodeError)) {
                Py_DECREF(result);
                return NULL;
            }
            PyErr_Clear();
        }
        memcpy(out + at * (Py_ssize_t)sizeof position, &position, sizeof position);
    }
    return result;
}

static PyObject *find(PyObject *module, PyObject *arguments) {
    Py_buffer entries;
    PyObject *ids, *columns, *result = NULL;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "O!y*O!", &PyList_Type, &ids, &entries, &PyList_Type, &columns)) return NULL;
    Index index = {.entries = entries.buf, .count = (size_t)entries.len / (2 * sizeof(uint64_t))};
    if (!holds_items(&entries, sizeof(uint64_t)))
        PyErr_SetString(PyExc_ValueError, "the entries are wrong");
    else if (open_columns(&index, columns))
        result = positions_of(&index, ids);
    release_columns(&index);
    PyBuffer_Release(&entries);
    return result;
}

static PyMethodDef functions[] = {
    {"scan", scan_documents, METH_VARARGS,
     "scan(data, start, line, most_rows, most_bytes, id_names, text_names) -> (end, line, columns, lines, hashes, digest)"},
    {"find", find, METH_VARARGS, "find(ids, entries, [(first, offsets, data), ...]) -> position of each id, -1 where there is none"},
    {"order", order, METH_VARARGS, "order(offsets, data) -> rows by id, larger ids first"},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "documents", "Documents in JSON lines as columns.", -1, functions, NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit_documents(void) {
    return PyModule_Create(&definition);
}
