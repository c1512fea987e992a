/* The judged documents among a query's rows, and their ranks, found without sorting the rows.
 *
 * A rank is one more than the number of rows that are greater, by key and then by id. Where keys already fall along the
 * rows that is the row's own place, up to ties. Where they do not, each row is counted against the sorted hits. */
#ifndef RANKPROOF_HITS_H
#define RANKPROOF_HITS_H

#include "judged.h"
#include "rows.h"

typedef struct {
    double key;
    Slice id;
    size_t row; /* its place, where keys fall along the rows */
    int64_t rank, grade;
    int64_t tie_start, tie_size; /* the first rank of the rows with its key, and how many they are */
} Hit;

typedef struct {
    Hit *items, *spare;
    size_t count, capacity, spare_capacity;
    double *keys;
    size_t keys_capacity;
    size_t *greater; /* rows greater than hit i but not than hit i - 1; then rows of the same key; then those of no hit's key */
    size_t greater_capacity;
    uint64_t *marks; /* a bit for each row that is a hit, and which document it is */
    uint32_t *docs;
    size_t marks_capacity, docs_capacity;
} Hits;

/* The longest row of ties that is compared one by one. */
#define SHORT_TIE 64

static inline void hits_free(Hits *hits) {
    free(hits->items);
    free(hits->spare);
    free(hits->keys);
    free(hits->greater);
    free(hits->marks);
    free(hits->docs);
}

/* Whether the left hit ranks above the right one. */
static inline bool hit_above(const Hit *left, const Hit *right) {
    if (left->key != right->key) return left->key > right->key;
    return compare_ids(left->id, right->id) > 0;
}

static inline bool hit_before(const Hit *left, const Hit *right) { return left->rank < right->rank; }

static inline void merge_hits(const Hit *from, Hit *to, size_t low, size_t middle, size_t high,
                              bool (*before)(const Hit *, const Hit *)) {
    size_t left = low, right = middle;
    for (size_t at = low; at < high; at++) {
        bool take_right = left == middle || (right < high && before(&from[right], &from[left]));
        to[at] = take_right ? from[right++] : from[left++];
    }
}

/* Merge sort from below. */
static inline Outcome sort_hits(Hits *hits, bool (*before)(const Hit *, const Hit *)) {
    size_t count = hits->count;
    TRY(grow((void **)&hits->spare, &hits->spare_capacity, count, sizeof *hits->spare));
    Hit *from = hits->items, *to = hits->spare;
    for (size_t width = 1; width < count; width *= 2) {
        for (size_t low = 0; low < count; low += 2 * width)
            merge_hits(from, to, low, smaller(low + width, count), smaller(low + 2 * width, count), before);
        Hit *merged = to;
        to = from;
        from = merged;
    }
    memmove(hits->items, from, count * sizeof *from);
    return DONE;
}

/* Ranks of hits in rows whose keys never rise; false where a row of ties is so long that counting is cheaper. */
static inline bool rank_in_place(Hits *hits, const Rows *rows) {
    for (size_t i = 0; i < hits->count; i++) {
        Hit *hit = &hits->items[i];
        size_t low = hit->row, high = hit->row + 1, above = 0;
        while (low > 0 && rows->keys[low - 1] == hit->key) low--;
        while (high < rows->count && rows->keys[high] == hit->key) high++;
        if (high - low > SHORT_TIE) return false;
        hit->tie_start = (int64_t)(low + 1);
        hit->tie_size = (int64_t)(high - low);
        for (size_t row = low; row < high; row++) above += compare_ids(row_id(rows, row), hit->id) > 0;
        hit->rank = (int64_t)(low + above + 1);
    }
    return true;
}

/* The first of the falling keys that is not greater than the key; without a branch that depends on the keys. */
ALWAYS_INLINE size_t first_not_greater(const double *keys, size_t count, double key) {
    size_t low = 0;
    for (; count > 1; count -= count / 2) low += count / 2 * (keys[low + count / 2 - 1] > key);
    return low + (count == 1 && keys[low] > key);
}

/* The first hit, among those of the row's key from `low` on, that the row ranks above. */
static inline size_t first_below(const Hits *hits, size_t low, Slice id, double key) {
    size_t count = hits->count - low;
    while (count > 0) {
        size_t half = count / 2;
        bool above = hits->keys[low + half] == key && compare_ids(hits->items[low + half].id, id) >= 0;
        low = above ? low + half + 1 : low;
        count = above ? count - half - 1 : half;
    }
    return low;
}

static inline void count_rows(const Hits *hits, const Rows *rows, size_t *greater, size_t *equal, size_t *between) {
    for (size_t row = 0; row < rows->count; row++) {
        double key = rows->keys[row];
        size_t at = first_not_greater(hits->keys, hits->count, key);
        if (at < hits->count && hits->keys[at] == key) {
            equal[at]++;
            at = first_below(hits, at, row_id(rows, row), key);
        } else {
            between[at]++;
        }
        greater[at]++;
    }
}

/* Ranks of hits in rows of any order: sorts the hits, then counts every row once. */
static inline Outcome rank_by_counting(Hits *hits, const Rows *rows) {
    TRY(sort_hits(hits, hit_above));
    TRY(grow((void **)&hits->keys, &hits->keys_capacity, hits->count, sizeof *hits->keys));
    TRY(grow((void **)&hits->greater, &hits->greater_capacity, 3 * (hits->count + 1), sizeof *hits->greater));
    size_t *greater = hits->greater, *equal = greater + hits->count + 1, *between = equal + hits->count + 1;
    size_t above = 0, greater_keys = 0, ties = 0;
    memset(greater, 0, 3 * (hits->count + 1) * sizeof *greater);
    for (size_t i = 0; i < hits->count; i++) hits->keys[i] = hits->items[i].key;
    count_rows(hits, rows, greater, equal, between);
    for (size_t i = 0; i < hits->count; i++) {
        if (i == 0 || hits->keys[i] != hits->keys[i - 1]) {
            greater_keys += ties + between[i];
            ties = equal[i];
        }
        above += greater[i];
        hits->items[i].rank = (int64_t)above + 1;
        hits->items[i].tie_start = (int64_t)greater_keys + 1;
        hits->items[i].tie_size = (int64_t)ties;
    }
    return DONE;
}

static inline bool keys_never_rise(const Rows *rows) {
    int64_t rises = 0;
    for (size_t i = 1; i < rows->count; i++) rises += rows->keys[i] > rows->keys[i - 1];
    return rises == 0;
}

static inline bool hits_in_order(const Hits *hits) {
    bool falls = false;
    for (size_t i = 1; i < hits->count; i++) falls |= hits->items[i].rank < hits->items[i - 1].rank;
    return !falls;
}

/* Gives every hit its rank and puts the hits in that order. */
static inline Outcome rank_hits(Hits *hits, const Rows *rows, bool falling) {
    if (hits->count == 0) return DONE;
    if (falling && rank_in_place(hits, rows)) return hits_in_order(hits) ? DONE : sort_hits(hits, hit_before);
    return rank_by_counting(hits, rows);
}

/* Looks the documents up among the rows, of which there is at least one, and lists those found in the order of the rows. */
static inline Outcome look_up(Hits *hits, const Judged *judged, size_t first, size_t last, const Rows *rows) {
    size_t words = rows->count / 64 + 1;
    TRY(grow((void **)&hits->items, &hits->capacity, last - first, sizeof *hits->items));
    TRY(grow((void **)&hits->marks, &hits->marks_capacity, words, sizeof *hits->marks));
    TRY(grow((void **)&hits->docs, &hits->docs_capacity, rows->count, sizeof *hits->docs));
    memset(hits->marks, 0, words * sizeof *hits->marks);
    hits->count = 0;
    for (size_t i = first; i < last; i++) {
        size_t row = rows_find(rows, judged->docs[i].hash, doc_id(judged, &judged->docs[i]));
        if (row == NOT_FOUND) continue;
        hits->marks[row / 64] |= UINT64_C(1) << (row % 64);
        hits->docs[row] = (uint32_t)(i - first);
    }
    for (size_t word = 0; word < words; word++) {
        for (uint64_t left = hits->marks[word]; left != 0; left &= left - 1) {
            size_t row = 64 * word + (size_t)lowest_bit(left);
            const JudgedDoc *doc = &judged->docs[first + hits->docs[row]];
            hits->items[hits->count++] = (Hit){.key = rows->keys[row], .id = doc_id(judged, doc), .row = row, .grade = doc->grade};
        }
    }
    return DONE;
}

#endif
