/* Runs and judgements in dicts of dicts, iterated without hashing their keys: judged ids are looked up instead.
 *
 * Anything else (other mappings, ids that are not str, scores that are not float or int) gives AGAIN, and the caller builds
 * a Run or Qrels, which checks each value. */
#ifndef RANKPROOF_PY_DICT_H
#define RANKPROOF_PY_DICT_H

#include "py_judge.h"
#include "py_result.h"

/* dicts: types that iterate like dict; floats: types other than float that are floats. */
typedef struct {
    PyObject *dicts, *floats;
} PlainTypes;

static bool has_type(PyObject *types, PyObject *object) {
    PyObject *type = (PyObject *)Py_TYPE(object);
    for (Py_ssize_t i = 0; i < PyTuple_Size(types); i++) {
        if (PyTuple_GetItem(types, i) == type) return true;
    }
    return false;
}

static bool is_plain_dict(const PlainTypes *types, PyObject *object) {
    return Py_TYPE(object) == &PyDict_Type || has_type(types->dicts, object);
}

ALWAYS_INLINE bool is_plain_id(PyObject *object) {
    if (RARELY(Py_TYPE(object) != &PyUnicode_Type)) return false;
    Slice id = utf8_of(object);
    if (RARELY(id.at == NULL)) PyErr_Clear();
    return id.at != NULL && id.size != 0 && memchr(id.at, 0, id.size) == NULL;
}

static bool odd_number(const PlainTypes *types, PyObject *object, double *score) {
    if (Py_TYPE(object) == &PyLong_Type) {
        *score = PyLong_AsDouble(object);
    } else if (has_type(types->floats, object)) {
        *score = PyFloat_AsDouble(object);
    } else {
        return false;
    }
    if (*score != -1.0 || PyErr_Occurred() == NULL) return true;
    PyErr_Clear();
    return false;
}

ALWAYS_INLINE bool plain_number(const PlainTypes *types, PyObject *object, double *score) {
    if (RARELY(Py_TYPE(object) != &PyFloat_Type)) {
        if (!odd_number(types, object, score)) return false;
    } else {
        *score = PyFloat_AsDouble(object);
    }
    return *score - *score == 0;
}

static Slice dict_row_id(const Rows *rows, size_t index) { return utf8_of(((PyObject **)rows->objects)[index]); }

/* Takes every score of one query, in the dict's order. */
static Outcome take_dict(const PlainTypes *types, const Options *options, PyObject *scores, Rows *rows, size_t *capacity) {
    PyObject *doc, *value;
    Py_ssize_t at = 0;
    TRY(rows_reserve(rows, (size_t)PyDict_Size(scores)));
    TRY(grow((void **)&rows->objects, capacity, rows->capacity, sizeof doc));
    rows->count = 0;
    while (PyDict_Next(scores, &at, &doc, &value)) {
        double score;
        if (!is_plain_id(doc) || !plain_number(types, value, &score)) return AGAIN;
        ((PyObject **)rows->objects)[rows->count] = doc;
        rows->keys[rows->count++] = key_of(options, score, 0);
    }
    return DONE;
}

static PyObject **texts_array(const JudgedDoc *docs, size_t count, const char *text) {
    PyObject **texts = zeroed(count, sizeof *texts);
    if (texts == NULL) return (PyObject **)PyErr_NoMemory();
    for (size_t i = 0; i < count; i++) {
        texts[i] = text_of((Slice){text + docs[i].at, docs[i].size});
        if (texts[i] != NULL) continue;
        objects_free(texts, count);
        return NULL;
    }
    return texts;
}

/* Every judged document, and every form of one, as a str. */
static Outcome handle_objects(Handle *handle) {
    const Judged *judged = &handle->judged;
    if (handle->docs == NULL) handle->docs = texts_array(judged->docs, judged->starts[judged->count], judged->text);
    if (handle->forms == NULL) handle->forms = texts_array(judged->forms, judged->forms_count, judged->forms_text);
    return handle->docs == NULL || handle->forms == NULL ? STOPPED : DONE;
}

static Outcome find_in_dict(const PlainTypes *types, Result *result, const Handle *handle, size_t query, PyObject *scores,
                            const Rows *rows) {
    const Judged *judged = &handle->judged;
    Hits *hits = &result->hits;
    size_t first = judged->starts[query], last = judged->starts[query + 1];
    hits->count = 0;
    TRY(grow((void **)&hits->items, &hits->capacity, last - first, sizeof *hits->items));
    for (size_t i = first; i < last; i++) {
        double score;
        PyObject *value = PyDict_GetItemWithError(scores, handle->docs[i]);
        if (value == NULL && PyErr_Occurred()) return STOPPED;
        if (value == NULL || !plain_number(types, value, &score)) continue;
        double key = key_of(&result->options, score, 0);
        size_t row = first_not_greater(rows->keys, rows->count, key);
        hits->items[hits->count++] = (Hit){key, doc_id(judged, &judged->docs[i]), row, 0, judged->docs[i].grade, 0, 0};
    }
    for (size_t i = judged->form_starts ? judged->form_starts[query] : 0;
         judged->form_starts && i < judged->form_starts[query + 1]; i++)
        result->forms += PyDict_GetItemWithError(scores, handle->forms[i]) != NULL;
    return DONE;
}

/* The dict walk's own state: the rows of one query and a padded copy of its id. */
typedef struct {
    PlainTypes types;
    Handle *handle;
    Rows rows;
    size_t objects_capacity;
    Copy query;
} DictRun;

static Outcome take_query(DictRun *run, Result *result, PyObject *query_id, PyObject *scores) {
    size_t query;
    Slice id;
    if (!is_plain_id(query_id) || !is_plain_dict(&run->types, scores)) return AGAIN;
    TRY(copy_text(&run->query, query_id, &id));
    TRY(begin_query(result, id, &query));
    TRY(take_dict(&run->types, &result->options, scores, &run->rows, &run->objects_capacity));
    result->rows += run->rows.count;
    if (query == UNJUDGED) return DONE;
    TRY(find_in_dict(&run->types, result, run->handle, query, scores, &run->rows));
    return align_query(result, query, &run->rows);
}

static Outcome take_queries(DictRun *run, Result *result, PyObject *mapping) {
    PyObject *query, *scores;
    Py_ssize_t at = 0;
    TRY(handle_objects(run->handle));
    run->rows.id_of = dict_row_id;
    while (PyDict_Next(mapping, &at, &query, &scores)) TRY(take_query(run, result, query, scores));
    return DONE;
}

static Outcome judge_dict_docs(Judge *judge, const PlainTypes *types, PyObject *query_id, PyObject *docs, Copy *copy) {
    PyObject *doc, *value;
    Py_ssize_t at = 0;
    size_t query = 0;
    Slice id;
    Fault fault;
    if (!is_plain_id(query_id) || !is_plain_dict(types, docs)) return AGAIN;
    while (PyDict_Next(docs, &at, &doc, &value)) {
        if (!is_plain_id(doc) || Py_TYPE(value) != &PyLong_Type) return AGAIN;
        int overflow;
        long long grade = PyLong_AsLongLongAndOverflow(value, &overflow);
        if (overflow != 0 || grade > MAX_GRADE) return AGAIN;
        if (judge->last == NOT_FOUND) {
            TRY(copy_text(copy, query_id, &id));
            TRY(judge_query(judge, id, &query));
        }
        TRY(judge_add(judge, query, utf8_of(doc), (int64_t)grade, 0, &fault));
    }
    return DONE;
}

static PyObject *py_judge_dict(PyObject *module, PyObject *arguments) {
    PyObject *mapping, *only, *query, *docs;
    PlainTypes types;
    Py_ssize_t at = 0;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OOO!O!", &mapping, &only, &PyTuple_Type, &types.dicts, &PyTuple_Type, &types.floats))
        return NULL;
    if (!is_plain_dict(&types, mapping)) Py_RETURN_NONE;
    Judge judge;
    Copy copy = {NULL, 0, 0};
    Outcome outcome = DONE;
    memset(&judge, 0, sizeof judge);
    judge.seed = process_seed;
    while (outcome == DONE && PyDict_Next(mapping, &at, &query, &docs)) {
        judge.last = NOT_FOUND;
        outcome = judge_dict_docs(&judge, &types, query, docs, &copy);
    }
    PyObject *object = outcome == DONE ? judge_object(&judge, only) : NULL;
    judge_free(&judge);
    free(copy.text);
    if (outcome == AGAIN) Py_RETURN_NONE;
    if (outcome != DONE) raise_outcome(outcome, NULL);
    return object;
}

#endif
