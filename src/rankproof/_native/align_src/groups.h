/* Rows of queries that are not adjacent, grouped at the end, in the order of the queries. */
#ifndef RANKPROOF_GROUPS_H
#define RANKPROOF_GROUPS_H

#include "result.h"

typedef struct {
    Names names;
    uint32_t *of; /* for each row, its group */
    size_t of_capacity;
    uint32_t current;
} Groups;

/* Row numbers, group by group; those of group i are starts[i] to starts[i + 1]. */
typedef struct {
    size_t *starts;
    uint32_t *rows;
} Grouping;

/* The first duplicate: the numbers of its two rows (second is 0 if there is none) and its group. */
typedef struct {
    Repeat rows;
    size_t group;
} FirstRepeat;

static inline void groups_free(Groups *groups) {
    names_free(&groups->names);
    free(groups->of);
}

static inline Outcome groups_reserve(Groups *groups, size_t rows) {
    return grow((void **)&groups->of, &groups->of_capacity, rows, sizeof *groups->of);
}

/* Makes the query's group the current one; its id must be padded. */
static inline Outcome enter_group(Groups *groups, Slice query, Seed seed) {
    size_t group;
    TRY(names_index(&groups->names, query, hash_padded(seed, query.at, query.size), &group));
    groups->current = (uint32_t)group;
    return DONE;
}

static inline Outcome group_rows(const Groups *groups, size_t rows, Grouping *grouping) {
    size_t count = groups->names.count;
    grouping->starts = calloc(count + 2, sizeof *grouping->starts);
    grouping->rows = zeroed(rows, sizeof *grouping->rows);
    if (grouping->starts == NULL || grouping->rows == NULL) return NO_MEMORY;
    for (size_t i = 0; i < rows; i++) grouping->starts[groups->of[i] + 2]++;
    for (size_t i = 0; i < count; i++) grouping->starts[i + 2] += grouping->starts[i + 1];
    for (size_t i = 0; i < rows; i++) grouping->rows[grouping->starts[groups->of[i] + 1]++] = (uint32_t)i;
    return DONE;
}

static inline Outcome gather(const Rows *all, const uint32_t *chosen, size_t count, Rows *some) {
    TRY(rows_reserve(some, count));
    for (size_t i = 0; i < count; i++) {
        size_t row = chosen[i];
        some->at[i] = all->at[row];
        some->sizes[i] = all->sizes[row];
        some->hashes[i] = all->hashes[row];
        some->keys[i] = all->keys[row];
        some->ranks[i] = all->ranks[row];
    }
    some->text = all->text;
    some->ranked = all->ranked;
    some->count = count;
    return DONE;
}

static inline Outcome end_each_group(Result *result, const Groups *groups, const Grouping *grouping, const Rows *all, Rows *some,
                                     FirstRepeat *first) {
    for (size_t i = 0; i < groups->names.count; i++) {
        const uint32_t *chosen = grouping->rows + grouping->starts[i];
        size_t query;
        Repeat repeat;
        TRY(gather(all, chosen, grouping->starts[i + 1] - grouping->starts[i], some));
        TRY(begin_query(result, name_at(&groups->names, i), &query));
        TRY(end_query(result, query, some, &repeat));
        if (repeat.second == 0 || (first->rows.second != 0 && chosen[repeat.second] >= first->rows.second)) continue;
        *first = (FirstRepeat){{chosen[repeat.first], chosen[repeat.second]}, i};
    }
    return DONE;
}

/* Aligns every group; a rejected duplicate is reported in `first`. */
static inline Outcome end_groups(Result *result, const Groups *groups, const Rows *all, FirstRepeat *first) {
    Grouping grouping = {NULL, NULL};
    Rows some;
    memset(&some, 0, sizeof some);
    *first = (FirstRepeat){{0, 0}, 0};
    Outcome outcome = group_rows(groups, all->count, &grouping);
    if (outcome == DONE) outcome = end_each_group(result, groups, &grouping, all, &some, first);
    free(grouping.starts);
    free(grouping.rows);
    rows_free(&some);
    return outcome;
}

#endif
