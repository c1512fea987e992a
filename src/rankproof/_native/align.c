/* The native reader as one translation unit, so that the compiler can inline every step from bytes to hits. */
#include "align_src/py_common.h"

#include "align_src/py_align.h"
#include "align_src/py_arrow.h"
#include "align_src/py_forms.h"
#include "align_src/py_table.h"

/* The number of a padded token, by the same steps as a row's score. */
static Outcome number_of(Slice token, int level, bool *is_number, double *score) {
    *is_number = true;
#ifdef HAS_WIDE
    if (level_here(level) >= LEVEL_AVX2 && wide_score(token.at, token.size, score)) return DONE;
#else
    (void)level;
#endif
    if (token.size > 0 && plain_score(token.at, token.size, score)) return DONE;
    Reading reading = any_score(token, score);
    *is_number = reading != NOT_A_NUMBER;
    return reading == NEEDS_SLOW ? string_to_double(token, score) : DONE;
}

static PyObject *py_parse_score(PyObject *module, PyObject *arguments) {
    const char *at;
    Py_ssize_t size;
    int level;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "y#i", &at, &size, &level)) return NULL;
    Copy copy = {NULL, 0, 0};
    double score = 0;
    bool is_number = false;
    Outcome outcome = copy_padded(&copy.text, &copy.size, &copy.capacity, (Slice){at, (size_t)size});
    if (outcome == DONE) outcome = number_of((Slice){copy.text, copy.size}, level, &is_number, &score);
    free(copy.text);
    if (outcome != DONE) return raise_outcome(outcome, NULL), NULL;
    if (!is_number) Py_RETURN_NONE;
    return PyFloat_FromDouble(score);
}

static PyMethodDef functions[] = {
    {"judge_text", py_judge_text, METH_VARARGS, "Judgements of a stream: (readinto, only, block, level)."},
    {"judge_dict", py_judge_dict, METH_VARARGS, "Judgements of a dict of dicts: (mapping, only, dicts, floats)."},
    {"documents", py_documents, METH_VARARGS, "The judged documents of one query: (handle, index)."},
    {"add_forms", py_add_forms, METH_VARARGS, "Other Unicode forms of documents: (handle, [(index, ids)])."},
    {"mark_queries", py_mark_queries, METH_VARARGS, "Marks queries that are not judged: (handle, ids, mark)."},
    {"align_text", py_align_text, METH_VARARGS, "Hits of a stream: (handle, readinto, options, block, level, inside, grouped)."},
    {"align_dict", py_align_dict, METH_VARARGS, "Hits of a dict of dicts: (handle, mapping, options, dicts, floats)."},
    {"align_run", py_align_run, METH_VARARGS, "Hits of columns: (handle, options, queries, offsets, docs, bounds, scores, ranks)."},
    {"align_arrow", py_align_arrow, METH_VARARGS,
     "Hits of an Arrow stream: (handle, capsule, options, columns, keeps, grouped)."},
    {"read_table", py_read_table, METH_VARARGS, "Rows of TREC text as columns: (readinto, run, block, level)."},
    {"read_delimited", py_read_delimited, METH_VARARGS,
     "Rows of CSV, TSV or BEIR text as columns: (readinto, run, delimiter, header, columns, places, block)."},
    {"read_json", py_read_json, METH_VARARGS, "Rows of JSON or JSONL as columns: (readinto, run, by_line, places_of, block)."},
    {"parse_score", py_parse_score, METH_VARARGS, "A token as a score, None where it is no decimal: (token, level)."},
    {NULL, NULL, 0, NULL},
};

static int seed_process(void) {
    PyObject *os = PyImport_ImportModule("os"), *bytes = NULL;
    if (os != NULL) bytes = PyObject_CallMethod(os, "urandom", "i", (int)sizeof process_seed);
    Py_XDECREF(os);
    if (bytes == NULL) return -1;
    const char *at = PyBytes_AsString(bytes);
    if (at != NULL) memcpy(&process_seed, at, sizeof process_seed);
    Py_DECREF(bytes);
    return at == NULL ? -1 : 0;
}

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "align", "The native reader of runs and judgements.", -1, functions, NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit_align(void) {
    PyObject *module = PyModule_Create(&definition);
    if (module == NULL) return NULL;
    ReadError = PyErr_NewException("rankproof._native.align.ReadError", NULL, NULL);
    if (ReadError == NULL || seed_process() != 0 || PyModule_AddIntConstant(module, "IS_FORM", IS_FORM) != 0 ||
        PyModule_AddIntConstant(module, "IS_LOOKED_AT", IS_LOOKED_AT) != 0 ||
        PyModule_AddObjectRef(module, "ReadError", ReadError) != 0)
        Py_CLEAR(module);
    return module;
}
