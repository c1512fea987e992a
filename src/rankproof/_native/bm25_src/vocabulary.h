/* Counts the distinct terms of several vocabularies by merging them. */
#ifndef RANKPROOF_BM25_VOCABULARY_H
#define RANKPROOF_BM25_VOCABULARY_H

#include "search.h"

/* A vocabulary in the order of its bytes, and the term that is next. */
typedef struct {
    Index index;
    size_t at, size;
    const char *text;
} Vocabulary;

/* Moves to a term; false at the end or where the offsets are wrong. */
static bool read_term(Vocabulary *one) {
    return one->at < one->index.terms && term_at(&one->index, one->at, &one->text, &one->size);
}

static bool is_before(const Vocabulary *one, const Vocabulary *other) {
    return compare_bytes(one->text, one->size, other->text, other->size) < 0;
}

/* Puts the vocabulary at the root of a heap into its place; the next terms of its children are in order. */
static void settle_root(Vocabulary **heap, size_t count) {
    Vocabulary *moved = heap[0];
    size_t at = 0, child = 1;
    for (; child < count; at = child, child = 2 * child + 1) {
        if (child + 1 < count && is_before(heap[child + 1], heap[child])) child++;
        if (!is_before(heap[child], moved)) break;
        heap[at] = heap[child];
    }
    heap[at] = moved;
}

/* The number of distinct terms; the vocabularies in the heap are at their first terms. */
static Py_ssize_t merged_count(Vocabulary **heap, size_t count) {
    Py_ssize_t distinct = 0;
    const char *last = NULL;
    size_t last_size = 0;
    for (size_t added = 1; added < count; added++)
        for (size_t at = added; at > 0 && is_before(heap[at], heap[(at - 1) / 2]); at = (at - 1) / 2) {
            Vocabulary *parent = heap[(at - 1) / 2];
            heap[(at - 1) / 2] = heap[at];
            heap[at] = parent;
        }
    while (count > 0) {
        Vocabulary *first = heap[0];
        if (last == NULL || compare_bytes(last, last_size, first->text, first->size) != 0) distinct++;
        last = first->text;
        last_size = first->size;
        first->at++;
        if (!read_term(first)) heap[0] = heap[--count];
        settle_root(heap, count);
    }
    return distinct;
}

#endif
