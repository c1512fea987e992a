/* Merges rankings: of several systems for fusion, and of the partitions of a corpus by score. */
#include "merge_src/sums.h"

static PyMethodDef functions[] = {
    {"candidates", py_candidates, METH_VARARGS, "The documents of each query once: (runs, queries, places, offsets)."},
    {"best_first", py_best_first, METH_VARARGS, "The order of each query: (keys, offsets, documents, places, order)."},
    {"taken", py_taken, METH_VARARGS, "The documents at these indexes: (documents, order)."},
    {"better", py_better, METH_VARARGS, "Counts for ranks: (scores, offsets, by_id, chosen, chosen_offsets, counts)."},
    {"by_majority", py_by_majority, METH_VARARGS, "Sorts candidates by majority: (ranks, weights, offsets, order)."},
    {"exact_sums", py_exact_sums, METH_VARARGS, "The exact sum of each list: (values, offsets, sums)."},
    {"added", py_added, METH_VARARGS, "The sum of each column, in ascending order: (terms, total)."},
    {"merge_hits", py_merge_hits, METH_VARARGS, "The best hits of several partitions: (ids, parts, queries, result)."},
    {"hit_ids", py_hit_ids, METH_VARARGS, "The ids of hits: (ids, hits, queries, is_shared)."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "merge", "Merges rankings.", -1, functions, NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit_merge(void) {
    text_hash = (hashfunc)PyType_GetSlot(&PyUnicode_Type, Py_tp_hash);
    PyObject *text = PyUnicode_FromString("documents");
    if (text == NULL) return NULL;
    id_seed = (uint64_t)text_hash(text);
    Py_DECREF(text);
    return PyModule_Create(&definition);
}
