/* The result of aligning a run, collected query by query. */
#ifndef RANKPROOF_RESULT_H
#define RANKPROOF_RESULT_H

#include "direction.h"
#include "fault.h"
#include "hits.h"

#define FEW_QUERIES 5
#define FEW_TAGS 16
#define UNJUDGED SIZE_MAX

typedef struct {
    int64_t rank, grade, tie_start, tie_size;
} Found;

typedef struct {
    const Judged *judged;
    Options options;
    uint8_t *present;
    int64_t *retrieved;
    size_t *starts, *counts; /* of each judged query among `found` */
    Found *found;
    size_t found_count, found_capacity;
    size_t rows, tied, contradictions, backwards, forwards, forms, dropped, unjudged;
    Names unjudged_names, tags;
    size_t few[FEW_QUERIES]; /* the first unjudged queries */
    Hits hits;
    RankOrder order;
} Result;

static inline void result_free(Result *result) {
    free(result->present);
    free(result->retrieved);
    free(result->starts);
    free(result->counts);
    free(result->found);
    names_free(&result->unjudged_names);
    names_free(&result->tags);
    hits_free(&result->hits);
    rank_order_free(&result->order);
}

static inline Outcome result_open(Result *result, const Judged *judged, const Options *options) {
    memset(result, 0, sizeof *result);
    result->judged = judged;
    result->options = *options;
    result->present = zeroed(judged->count, 1);
    result->retrieved = zeroed(judged->count, sizeof *result->retrieved);
    result->starts = zeroed(judged->count, sizeof *result->starts);
    result->counts = zeroed(judged->count, sizeof *result->counts);
    bool complete = result->present && result->retrieved && result->starts && result->counts;
    return complete ? DONE : NO_MEMORY;
}

static inline Outcome add_unjudged(Result *result, Slice id, uint64_t hash, uint8_t marks) {
    size_t index, before = result->unjudged_names.count;
    TRY(names_index(&result->unjudged_names, id, hash, &index));
    if (index < before) return AGAIN;
    if (result->judged->only && !(marks & IS_LOOKED_AT)) return DONE;
    result->forms += (marks & IS_FORM) != 0;
    if (result->unjudged < FEW_QUERIES) result->few[result->unjudged] = index;
    result->unjudged++;
    return DONE;
}

/* Begins a query, whose id is padded: gives its index or UNJUDGED; AGAIN if the run had it before. */
static inline Outcome begin_query(Result *result, Slice id, size_t *query) {
    const Judged *judged = result->judged;
    uint64_t hash = hash_padded(judged->seed, id.at, id.size);
    size_t index = names_find(&judged->queries, id, hash);
    if (index >= judged->count) {
        *query = UNJUDGED;
        return add_unjudged(result, id, hash, index == NOT_FOUND ? 0 : judged->marks[index]);
    }
    if (result->present[index]) return AGAIN;
    result->present[index] = 1;
    *query = index;
    return DONE;
}

/* Finds the judged documents among the rows, and counts forms of them. */
static inline Outcome find_hits(Result *result, size_t query, const Rows *rows) {
    const Judged *judged = result->judged;
    TRY(look_up(&result->hits, judged, judged->starts[query], judged->starts[query + 1], rows));
    if (judged->form_starts == NULL) return DONE;
    for (size_t i = judged->form_starts[query]; i < judged->form_starts[query + 1]; i++)
        result->forms += rows_find(rows, judged->forms[i].hash, form_id(judged, &judged->forms[i])) != NOT_FOUND;
    return DONE;
}

/* Ranks the hits of a judged query and adds its share to the result. */
static inline Outcome align_query(Result *result, size_t query, const Rows *rows) {
    Hits *hits = &result->hits;
    Direction direction = {0, false, false};
    bool falling = keys_never_rise(rows);
    if (!result->options.by_rank) TRY(find_direction(&result->order, rows, falling, &direction));
    TRY(rank_hits(hits, rows, falling));
    TRY(grow((void **)&result->found, &result->found_capacity, result->found_count + hits->count, sizeof *result->found));
    result->retrieved[query] = (int64_t)rows->count;
    result->starts[query] = result->found_count;
    result->counts[query] = hits->count;
    for (size_t i = 0; i < hits->count; i++) {
        const Hit *hit = &hits->items[i];
        result->tied += hit->tie_size > 1;
        result->found[result->found_count++] = (Found){hit->rank, hit->grade, hit->tie_start, hit->tie_size};
    }
    result->contradictions += direction.contradictions;
    result->backwards += direction.backwards;
    result->forwards += direction.forwards;
    return DONE;
}

/* Ends a query: resolves duplicates (a rejected one is reported in `repeat`), finds and ranks its judged documents. */
static inline Outcome end_query(Result *result, size_t query, Rows *rows, Repeat *repeat) {
    result->rows += rows->count;
    TRY(rows_index(rows, result->options.on_duplicate, &result->dropped, repeat));
    if (repeat->second != 0 || query == UNJUDGED) return DONE;
    TRY(find_hits(result, query, rows));
    return align_query(result, query, rows);
}

/* Records a padded tag, up to a limit. */
static inline Outcome meet_tag(Result *result, Slice tag) {
    size_t index;
    if (result->tags.count == FEW_TAGS) return DONE;
    return names_index(&result->tags, tag, hash_padded(result->judged->seed, tag.at, tag.size), &index);
}

#endif
