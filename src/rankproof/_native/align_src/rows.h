/* The rows of one query: ids, hashes, ordering keys and ranks, and the resolution of duplicates. */
#ifndef RANKPROOF_ROWS_H
#define RANKPROOF_ROWS_H

#include "names.h"
#include "number.h"

typedef enum { ON_DUPLICATE_ERROR, KEEP_BEST, KEEP_FIRST, KEEP_LAST } OnDuplicate;

typedef struct {
    bool by_rank, lower_is_better, float32;
    OnDuplicate on_duplicate;
} Options;

typedef struct Rows Rows;
struct Rows {
    const char *text; /* the padded text of the ids, which begin at `at` */
    size_t *at;
    uint32_t *sizes;
    uint64_t *hashes;
    double *keys;
    int64_t *ranks;
    size_t count, capacity;
    bool ranked; /* whether any row may have a rank */
    uint32_t *slots;
    size_t slots_capacity;
    int slots_bits;
    Slice (*id_of)(const Rows *rows, size_t index); /* for ids outside `text`, else NULL */
    void *objects;
};

typedef struct {
    size_t first, second; /* second is 0 where there is none */
} Repeat;

static inline void rows_free(Rows *rows) {
    free(rows->at);
    free(rows->sizes);
    free(rows->hashes);
    free(rows->keys);
    free(rows->ranks);
    free(rows->slots);
}

static inline Outcome rows_reserve(Rows *rows, size_t wanted) {
    if (wanted <= rows->capacity) return DONE;
    if (wanted > MOST_ITEMS) return NO_MEMORY;
    void **arrays[] = {(void **)&rows->at, (void **)&rows->sizes, (void **)&rows->hashes, (void **)&rows->keys,
                       (void **)&rows->ranks};
    const size_t items[] = {sizeof *rows->at, sizeof *rows->sizes, sizeof *rows->hashes, sizeof *rows->keys, sizeof *rows->ranks};
    size_t capacity = rows->capacity;
    for (size_t i = 0; i < sizeof items / sizeof *items; i++) {
        capacity = rows->capacity;
        TRY(grow(arrays[i], &capacity, wanted, items[i]));
    }
    rows->capacity = capacity;
    return DONE;
}

ALWAYS_INLINE double key_of(const Options *options, double score, int64_t rank) {
    if (options->by_rank) return -(double)rank;
    if (options->lower_is_better) score = -score;
    return options->float32 ? (double)(float)score : score;
}

static inline Slice row_id(const Rows *rows, size_t index) {
    if (rows->id_of != NULL) return rows->id_of(rows, index);
    return (Slice){rows->text + rows->at[index], rows->sizes[index]};
}

static inline Outcome slots_clear(Rows *rows) {
    rows->slots_bits = 4;
    while (((size_t)1 << rows->slots_bits) < 4 * rows->count) rows->slots_bits++;
    TRY(grow((void **)&rows->slots, &rows->slots_capacity, (size_t)1 << rows->slots_bits, sizeof *rows->slots));
    memset(rows->slots, 0, sizeof *rows->slots << rows->slots_bits);
    return DONE;
}

ALWAYS_INLINE bool same_row(const Rows *rows, size_t left, size_t right) {
    return rows->hashes[left] == rows->hashes[right] && rows->sizes[left] == rows->sizes[right] &&
           same_padded(rows->text + rows->at[left], rows->text + rows->at[right], rows->sizes[left]);
}

/* Puts rows from `from` on into the slots, up to the first that repeats an earlier one; gives its index, or the count. */
static inline size_t slots_fill(Rows *rows, size_t from, Repeat *repeat) {
    size_t mask = ((size_t)1 << rows->slots_bits) - 1, count = rows->count;
    int shift = 64 - rows->slots_bits;
    uint32_t *slots = rows->slots;
    for (size_t i = from; i < count; i++) {
        size_t slot = (size_t)(rows->hashes[i] >> shift);
        for (; slots[slot] != 0; slot = (slot + 1) & mask) {
            if (RARELY(same_row(rows, slots[slot] - 1, i))) {
                *repeat = (Repeat){slots[slot] - 1, i};
                return i;
            }
        }
        slots[slot] = (uint32_t)(i + 1);
    }
    return count;
}

static inline size_t rows_find(const Rows *rows, uint64_t hash, Slice id) {
    size_t mask = ((size_t)1 << rows->slots_bits) - 1, slot = (size_t)(hash >> (64 - rows->slots_bits));
    for (; rows->slots[slot] != 0; slot = (slot + 1) & mask) {
        size_t row = rows->slots[slot] - 1;
        if (rows->hashes[row] == hash && rows->sizes[row] == id.size && same_padded(rows->text + rows->at[row], id.at, id.size))
            return row;
    }
    return NOT_FOUND;
}

#define GONE SIZE_MAX

static inline void rows_compact(Rows *rows) {
    size_t kept = 0;
    for (size_t i = 0; i < rows->count; i++) {
        if (rows->at[i] == GONE) continue;
        rows->at[kept] = rows->at[i];
        rows->sizes[kept] = rows->sizes[i];
        rows->hashes[kept] = rows->hashes[i];
        rows->keys[kept] = rows->keys[i];
        rows->ranks[kept++] = rows->ranks[i];
    }
    rows->count = kept;
}

/* Resolves one repeat: the first row is replaced if the second is kept. */
static inline void resolve_repeat(Rows *rows, Repeat repeat, OnDuplicate policy) {
    bool better = policy == KEEP_BEST && rows->keys[repeat.second] > rows->keys[repeat.first];
    if (policy == KEEP_LAST || better) {
        rows->keys[repeat.first] = rows->keys[repeat.second];
        rows->ranks[repeat.first] = rows->ranks[repeat.second];
    }
    rows->at[repeat.second] = GONE;
}

/* Indexes the rows. Under ON_DUPLICATE_ERROR the first repeat is reported; else repeats are dropped. */
static inline Outcome rows_index(Rows *rows, OnDuplicate policy, size_t *dropped, Repeat *repeat) {
    *repeat = (Repeat){0, 0};
    size_t gone = 0;
    TRY(slots_clear(rows));
    size_t at = slots_fill(rows, 0, repeat);
    if (at == rows->count || policy == ON_DUPLICATE_ERROR) return DONE;
    while (at < rows->count) {
        resolve_repeat(rows, *repeat, policy);
        gone++;
        at = slots_fill(rows, at + 1, repeat);
    }
    rows_compact(rows);
    *dropped += gone;
    *repeat = (Repeat){0, 0};
    TRY(slots_clear(rows));
    slots_fill(rows, 0, repeat);
    return DONE;
}

#endif
