/* Whether the rank column and the scores of a query agree. */
#ifndef RANKPROOF_DIRECTION_H
#define RANKPROOF_DIRECTION_H

#include "rows.h"

typedef struct {
    int64_t rank;
    double key;
} Ranked;

typedef struct {
    Ranked *items, *spare;
    size_t capacity, spare_capacity;
} RankOrder;

typedef struct {
    size_t contradictions; /* rows that score higher than a row of better rank */
    bool backwards, forwards;
} Direction;

static inline void rank_order_free(RankOrder *order) {
    free(order->items);
    free(order->spare);
}

static inline bool ranks_rise(const Rows *rows) {
    int64_t falls = 0;
    for (size_t i = 1; i < rows->count; i++) falls += rows->ranks[i] <= rows->ranks[i - 1];
    return falls == 0;
}

static inline size_t count_unranked(const Rows *rows) {
    size_t missing = 0;
    for (size_t i = 0; i < rows->count; i++) missing += rows->ranks[i] == NO_RANK;
    return missing;
}

static inline bool all_keys_equal(const double *keys, size_t count) {
    for (size_t i = 1; i < count; i++) {
        if (keys[i] != keys[0]) return false;
    }
    return true;
}

static inline void merge_ranked(const Ranked *from, Ranked *to, size_t low, size_t middle, size_t high) {
    size_t left = low, right = middle;
    for (size_t at = low; at < high; at++) {
        bool take_right = left == middle || (right < high && from[right].rank < from[left].rank);
        to[at] = take_right ? from[right++] : from[left++];
    }
}

/* Merge sort from below of rows by their rank. */
static inline Outcome sort_by_rank(RankOrder *order, const Rows *rows) {
    size_t count = rows->count;
    TRY(grow((void **)&order->items, &order->capacity, count, sizeof *order->items));
    TRY(grow((void **)&order->spare, &order->spare_capacity, count, sizeof *order->spare));
    for (size_t i = 0; i < count; i++) order->items[i] = (Ranked){rows->ranks[i], rows->keys[i]};
    Ranked *from = order->items, *to = order->spare;
    for (size_t width = 1; width < count; width *= 2) {
        for (size_t low = 0; low < count; low += 2 * width)
            merge_ranked(from, to, low, smaller(low + width, count), smaller(low + 2 * width, count));
        Ranked *merged = to;
        to = from;
        from = merged;
    }
    memmove(order->items, from, count * sizeof *from);
    return DONE;
}

static inline size_t count_contradictions(const Ranked *rows, size_t count) {
    size_t found = 0;
    double lowest_above = 0, lowest = 0;
    bool any_above = false;
    for (size_t i = 0; i < count; i++) {
        if (i > 0 && rows[i].rank != rows[i - 1].rank) lowest_above = lowest, any_above = true;
        found += any_above && rows[i].key > lowest_above;
        lowest = i == 0 || rows[i].key < lowest ? rows[i].key : lowest;
    }
    return found;
}

static inline Outcome direction_by_rank(RankOrder *order, const Rows *rows, Direction *direction) {
    TRY(sort_by_rank(order, rows));
    bool distinct = true, rising = true;
    for (size_t i = 1; i < rows->count; i++) {
        distinct &= order->items[i].rank != order->items[i - 1].rank;
        rising &= order->items[i].key >= order->items[i - 1].key;
    }
    direction->contradictions = count_contradictions(order->items, rows->count);
    bool tells = distinct && rows->count >= 3 && !all_keys_equal(rows->keys, rows->count);
    direction->backwards = tells && rising;
    direction->forwards = tells && !rising;
    return DONE;
}

static inline void direction_by_row(const Rows *rows, Direction *direction) {
    bool rising = true;
    for (size_t i = 1; i < rows->count; i++) rising &= rows->keys[i] >= rows->keys[i - 1];
    bool tells = rows->count >= 3 && !all_keys_equal(rows->keys, rows->count);
    direction->backwards = tells && rising;
    direction->forwards = tells && !rising;
}

/* `falling`: keys never rise along the rows, so that ranks which rise along them agree. */
static inline Outcome find_direction(RankOrder *order, const Rows *rows, bool falling, Direction *direction) {
    *direction = (Direction){0, false, false};
    if (rows->count == 0) return DONE;
    if (!rows->ranked) return direction_by_row(rows, direction), DONE;
    if (falling && ranks_rise(rows) && rows->ranks[0] != NO_RANK) {
        direction->forwards = rows->count >= 3 && rows->keys[0] != rows->keys[rows->count - 1];
        return DONE;
    }
    size_t missing = count_unranked(rows);
    if (missing == rows->count) return direction_by_row(rows, direction), DONE;
    return missing > 0 ? DONE : direction_by_rank(order, rows, direction);
}

#endif
