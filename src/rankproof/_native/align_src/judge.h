/* Collects judgements row by row, finds repeats and conflicts, and puts each query's documents side by side. */
#ifndef RANKPROOF_JUDGE_H
#define RANKPROOF_JUDGE_H

#include "fault.h"
#include "judged.h"

#define MANY_SLOTS ((size_t)1 << 18)

typedef struct {
    uint64_t hash;
    size_t at, line;
    int64_t grade;
    uint32_t size, query;
} Judgement;

typedef struct {
    Seed seed;
    Names queries;
    size_t last; /* index of the query of the row before */
    Judgement *rows;
    size_t count, capacity;
    char *text;
    size_t text_size, text_capacity;
    uint32_t *slots;
    size_t slots_count, slots_capacity;
    size_t expected; /* rows, at a guess */
    size_t repeats;
    bool marked; /* the second column must be read in Python */
    int64_t highest; /* grade of all rows */
} Judge;

static inline void judge_free(Judge *judge) {
    names_free(&judge->queries);
    free(judge->rows);
    free(judge->text);
    free(judge->slots);
}

ALWAYS_INLINE uint64_t pair_hash(uint64_t doc, size_t query) { return doc ^ ((uint64_t)(query + 1) * 0x9E3779B97F4A7C15u); }

static inline size_t judge_slot(const Judge *judge, uint64_t hash, size_t query, Slice doc) {
    size_t mask = judge->slots_count - 1, slot = (size_t)(pair_hash(hash, query) & mask);
    for (; judge->slots[slot] != 0; slot = (slot + 1) & mask) {
        const Judgement *row = &judge->rows[judge->slots[slot] - 1];
        if (row->hash == hash && row->query == query && row->size == doc.size &&
            memcmp(judge->text + row->at, doc.at, doc.size) == 0)
            break;
    }
    return slot;
}

static inline Outcome judge_widen(Judge *judge) {
    if (judge->count >= MOST_ITEMS) return NO_MEMORY;
    size_t wider = wider_slots(judge->slots_count, judge->count);
    if (wider == 0) return DONE;
    while (wider < 2 * judge->expected) wider *= 2;
    if (wider > judge->slots_capacity) {
        uint32_t *slots = malloc(wider * sizeof *slots);
        if (slots == NULL) return NO_MEMORY;
        free(judge->slots);
        judge->slots = slots;
        judge->slots_capacity = wider;
    }
    memset(judge->slots, 0, wider * sizeof *judge->slots);
    for (size_t i = 0; i < judge->count; i++) {
        size_t slot = (size_t)(pair_hash(judge->rows[i].hash, judge->rows[i].query) & (wider - 1));
        while (judge->slots[slot] != 0) slot = (slot + 1) & (wider - 1);
        judge->slots[slot] = (uint32_t)(i + 1);
    }
    judge->slots_count = wider;
    return DONE;
}

/* The index of the query, padded, which is most often the one of the row before. */
static inline Outcome judge_query(Judge *judge, Slice query, size_t *index) {
    if (judge->last < judge->queries.count) {
        Slice last = name_at(&judge->queries, judge->last);
        *index = judge->last;
        if (last.size == query.size && same_padded(last.at, query.at, query.size)) return DONE;
    }
    TRY(names_index(&judge->queries, query, hash_padded(judge->seed, query.at, query.size), index));
    judge->last = *index;
    return DONE;
}

static inline Outcome judge_conflict(const Judge *judge, const Judgement *first, int64_t grade, size_t line, Fault *fault) {
    reject(fault, "conflict", line);
    fault->query = name_at(&judge->queries, first->query);
    fault->doc = (Slice){judge->text + first->at, first->size};
    fault->first_line = first->line;
    fault->first_grade = first->grade;
    fault->grade = grade;
    return REJECTED;
}

/* Adds a judgement; `query` is an index from judge_query, `doc` need not be padded. */
static inline Outcome judge_add(Judge *judge, size_t query, Slice doc, int64_t grade, size_t line, Fault *fault) {
    if (!fits_judged_doc(judge->text_size, doc.size)) return NO_MEMORY;
    TRY(judge_widen(judge));
    TRY(text_room(&judge->text, &judge->text_capacity, judge->text_size, doc.size));
    TRY(grow((void **)&judge->rows, &judge->capacity, judge->count + 1, sizeof *judge->rows));
    char *copy = judge->text + judge->text_size;
    memcpy(copy, doc.at, doc.size);
    memset(copy + doc.size, 0, 8);
    uint64_t hash = hash_padded(judge->seed, copy, doc.size);
    size_t slot = judge_slot(judge, hash, query, doc);
    if (judge->slots[slot] != 0) {
        const Judgement *first = &judge->rows[judge->slots[slot] - 1];
        if (first->grade != grade) return judge_conflict(judge, first, grade, line, fault);
        judge->repeats++;
        return DONE;
    }
    judge->rows[judge->count] = (Judgement){hash, judge->text_size, line, grade, (uint32_t)doc.size, (uint32_t)query};
    if (judge->count == 0 || grade > judge->highest) judge->highest = grade;
    judge->slots[slot] = (uint32_t)++judge->count;
    judge->text_size += doc.size;
    return DONE;
}

/* Names the kept queries in `judged`, counts their documents, and gives each old query its new index or NOT_FOUND. */
static inline Outcome judge_keep(const Judge *judge, const uint8_t *kept, Judged *judged, size_t *fresh) {
    for (size_t i = 0; i < judge->queries.count; i++) {
        fresh[i] = kept == NULL || kept[i] ? judged->queries.count : NOT_FOUND;
        if (fresh[i] != NOT_FOUND) TRY(names_add(&judged->queries, name_at(&judge->queries, i), judge->queries.items[i].hash));
    }
    judged->count = judged->queries.count;
    judged->starts = calloc(judged->count + 2, sizeof *judged->starts);
    if (judged->starts == NULL) return NO_MEMORY;
    for (size_t i = 0; i < judge->count; i++) {
        size_t query = fresh[judge->rows[i].query];
        if (query != NOT_FOUND) judged->starts[query + 2]++;
    }
    for (size_t i = 0; i < judged->count; i++) judged->starts[i + 2] += judged->starts[i + 1];
    judged->docs = zeroed(judged->starts[judged->count + 1], sizeof *judged->docs);
    return judged->docs == NULL ? NO_MEMORY : DONE;
}

/* Moves what was collected to `judged`, which must be all zeros; `kept` says which queries, NULL for all. Nothing can be added
 * to `judge` afterwards. */
static inline Outcome judge_finish(Judge *judge, const uint8_t *kept, Judged *judged) {
    size_t *fresh = zeroed(judge->queries.count, sizeof *fresh);
    if (fresh == NULL) return NO_MEMORY;
    /* A large lookup table is freed before the documents take memory. */
    if (judge->slots_capacity > MANY_SLOTS) {
        free(judge->slots);
        judge->slots = NULL;
        judge->slots_capacity = 0;
    }
    judged->seed = judge->seed;
    judged->only = kept != NULL;
    Outcome outcome = judge_keep(judge, kept, judged, fresh);
    for (size_t i = 0; outcome == DONE && i < judge->count; i++) {
        const Judgement *row = &judge->rows[i];
        size_t query = fresh[row->query];
        if (query != NOT_FOUND)
            judged->docs[judged->starts[query + 1]++] = judged_doc(row->hash, row->grade, row->at, row->size);
    }
    free(fresh);
    if (outcome != DONE) return outcome;
    judged->text = judge->text;
    judged->text_size = judge->text_size;
    judge->text = NULL;
    return DONE;
}

#endif
