/* Scores the documents of a partition block by block and keeps the k best of each query.

   The weight of a posting is idf x factor, rounded to float32; the factor is that of its pair of term frequency and document
   length. A document adds the weights of the query's terms in the order of the query. */
#ifndef RANKPROOF_BM25_SEARCH_H
#define RANKPROOF_BM25_SEARCH_H

#include "builder.h"

#include <float.h>

#if defined(__x86_64__) || defined(_M_X64)
#include <emmintrin.h>
#define HAS_SSE2 1
#endif

enum { STRIDE = 16 };

/* An open index. `factors` has MOST_IN_BLOCK more than there are pairs, so that a wrong code reads no foreign memory. */
typedef struct {
    const uint8_t *term_bytes;
    const int64_t *term_offsets, *term_segments;
    const int32_t *segment_blocks;
    const int64_t *segment_starts;
    const uint32_t *postings;
    const int64_t *block_rows, *block_pairs;
    const int32_t *places;
    double *factors;
    size_t terms, bytes, segments, posting_count, blocks, rows, pairs;
} Index;

/* The bytes of a term; false where the offsets are wrong. */
static inline bool term_at(const Index *index, size_t term, const char **text, size_t *size) {
    int64_t start = index->term_offsets[term], end = index->term_offsets[term + 1];
    if (start < 0 || end < start || (size_t)end > index->bytes) return false;
    *text = (const char *)index->term_bytes + start;
    *size = (size_t)(end - start);
    return true;
}

/* The number of a term, -1 if the index does not have it. */
static int64_t find_term(const Index *index, const char *term, size_t size) {
    size_t low = 0, high = index->terms;
    while (low < high) {
        size_t middle = low + (high - low) / 2, length;
        const char *text;
        if (!term_at(index, middle, &text, &length)) return -1;
        int order = compare_bytes(text, length, term, size);
        if (order == 0) return (int64_t)middle;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return -1;
}

/* The segments of a term, none for -1; false where they are out of range. */
static bool segments_of(const Index *index, int64_t term, size_t *first, size_t *end) {
    *first = *end = 0;
    if (term == -1) return true;
    if (term < 0 || (size_t)term >= index->terms) return false;
    int64_t from = index->term_segments[term], to = index->term_segments[term + 1];
    *first = (size_t)from;
    *end = (size_t)to;
    return from >= 0 && from <= to && (size_t)to <= index->segments;
}

/* How many documents have a term. */
static int64_t documents_with(const Index *index, int64_t term) {
    size_t first, end;
    if (!segments_of(index, term, &first, &end)) return 0;
    int64_t from = index->segment_starts[first], to = index->segment_starts[end];
    return from >= 0 && from <= to ? to - from : 0;
}

/* A document that may be among the best; of equal scores the lower place is better. */
typedef struct {
    double score;
    int32_t place, row;
} Hit;

static inline bool is_worse(const Hit *one, const Hit *other) {
    return (one->score < other->score) | ((one->score == other->score) & (one->place > other->place));
}

static inline void swap_hits(Hit *one, Hit *other) {
    Hit kept = *one;
    *one = *other;
    *other = kept;
}

/* Moves the hits that are better than the median of three to the front; returns where that hit stands then. */
static size_t split_hits(Hit *hits, size_t count) {
    Hit *first = hits, *middle = hits + count / 2, *last = hits + count - 1;
    if (is_worse(first, middle)) swap_hits(first, middle);
    if (is_worse(first, last)) swap_hits(first, last);
    if (is_worse(middle, last)) swap_hits(middle, last);
    Hit pivot = *middle;
    swap_hits(middle, last);
    size_t better = 0;
    for (size_t at = 0; at + 1 < count; at++) {
        Hit hit = hits[at];
        hits[at] = hits[better];
        hits[better] = hit;
        better += is_worse(&pivot, &hit);
    }
    swap_hits(&hits[better], last);
    return better;
}

/* Moves the k best hits to the front. */
static void select_hits(Hit *hits, size_t count, size_t k) {
    while (count > k && k > 0) {
        size_t better = split_hits(hits, count);
        if (better >= k) {
            count = better;
        } else {
            hits += better + 1;
            count -= better + 1;
            k -= better + 1;
        }
    }
}

/* Sorts hits, best first; only the smaller part is sorted by a call, so that few calls are nested. */
static void sort_hits(Hit *hits, size_t count) {
    while (count > 16) {
        size_t better = split_hits(hits, count), worse = count - better - 1;
        sort_hits(better < worse ? hits : hits + better + 1, better < worse ? better : worse);
        if (better < worse) hits += better + 1;
        count = better < worse ? worse : better;
    }
    for (size_t at = 1; at < count; at++) {
        Hit hit = hits[at];
        size_t slot = at;
        for (; slot > 0 && is_worse(&hits[slot - 1], &hit); slot--) hits[slot] = hits[slot - 1];
        hits[slot] = hit;
    }
}

/* A search in hand: the candidates, none with a score below the floor, and the next and last segments of each term. */
typedef struct {
    const Index *index;
    Hit *hits;
    size_t count, capacity, k;
    double floor;
    size_t *next, *end;
    float *totals, *weights;
    double *wide_totals;
} Search;

/* Keeps the k best candidates; the worst of them is the floor. */
static void keep_best(Search *search) {
    if (search->count < search->k) return;
    select_hits(search->hits, search->count, search->k);
    search->count = search->k;
    search->floor = search->hits[0].score;
    for (size_t at = 1; at < search->k; at++)
        if (search->hits[at].score < search->floor) search->floor = search->hits[at].score;
}

/* Whether any of STRIDE totals reaches the floor. */
static inline bool any_reaches(const float *totals, float floor) {
#ifdef HAS_SSE2
    __m128 least = _mm_set1_ps(floor), reached = _mm_cmpge_ps(_mm_loadu_ps(totals), least);
    for (int at = 4; at < STRIDE; at += 4) reached = _mm_or_ps(reached, _mm_cmpge_ps(_mm_loadu_ps(totals + at), least));
    return _mm_movemask_ps(reached) != 0;
#else
    bool any = false;
    for (int at = 0; at < STRIDE; at++) any |= totals[at] >= floor;
    return any;
#endif
}

/* Writes each row into the next free place and moves on only past those that reach the floor, as that needs no branches. */
#define TAKE(search, totals, first, count)                                             \
    do {                                                                               \
        const int32_t *places_ = (search)->index->places + (first);                    \
        Hit *hits_ = (search)->hits;                                                   \
        size_t taken_ = (search)->count;                                               \
        for (size_t one_ = 0; one_ < (count); one_++) {                                \
            double score_ = (double)(totals)[one_];                                    \
            hits_[taken_] = (Hit){score_, places_[one_], (int32_t)((first) + one_)};   \
            taken_ += score_ >= (search)->floor;                                       \
        }                                                                              \
        (search)->count = taken_;                                                      \
        if (taken_ + STRIDE >= (search)->capacity) keep_best(search);                  \
    } while (0)

/* Takes the rows of a block whose totals reach the floor, and clears the totals. */
static void collect(Search *search, size_t first, size_t rows) {
    for (size_t at = 0; at < rows; at += STRIDE) {
        if (!any_reaches(search->totals + at, (float)search->floor)) continue;
        size_t count = rows - at < STRIDE ? rows - at : STRIDE;
        TAKE(search, search->totals + at, first + at, count);
    }
    memset(search->totals, 0, (rows + STRIDE) * sizeof *search->totals);
}

static void collect_wide(Search *search, size_t first, size_t rows) {
    for (size_t at = 0; at < rows; at += STRIDE) {
        size_t count = rows - at < STRIDE ? rows - at : STRIDE;
        TAKE(search, search->wide_totals + at, first + at, count);
    }
    memset(search->wide_totals, 0, rows * sizeof *search->wide_totals);
}

/* The postings of one term in one block. */
typedef struct {
    const uint32_t *postings;
    size_t count, pairs;
    const double *factors;
    double idf;
} Segment;

/* A segment that is longer than the list of pairs takes the weight of each pair from a table. */
static void add_segment(Search *search, const Segment *segment) {
    float *restrict totals = search->totals, *restrict weights = search->weights;
    const uint32_t *restrict postings = segment->postings;
    if (segment->count < segment->pairs || segment->pairs > MOST_IN_BLOCK) {
        for (size_t at = 0; at < segment->count; at++)
            totals[postings[at] & 0xFFFFu] += (float)(segment->idf * segment->factors[postings[at] >> 16]);
        return;
    }
    for (size_t pair = 0; pair < segment->pairs; pair++) weights[pair] = (float)(segment->idf * segment->factors[pair]);
    for (size_t at = 0; at < segment->count; at++) totals[postings[at] & 0xFFFFu] += weights[postings[at] >> 16];
}

static void add_weighted_segment(Search *search, const Segment *segment, double times) {
    for (size_t at = 0; at < segment->count; at++) {
        float weight = (float)(segment->idf * segment->factors[segment->postings[at] >> 16]);
        search->wide_totals[segment->postings[at] & 0xFFFFu] += times * (double)weight;
    }
}

/* The segment at `at`; false where it is out of range. */
static bool read_segment(const Index *index, size_t at, size_t block, double idf, Segment *segment) {
    int64_t start = index->segment_starts[at], end = index->segment_starts[at + 1];
    int64_t first = index->block_pairs[block], last = index->block_pairs[block + 1];
    if (start < 0 || end < start || (size_t)end > index->posting_count) return false;
    if (first < 0 || last < first || (size_t)last > index->pairs) return false;
    *segment = (Segment){index->postings + start, (size_t)(end - start), (size_t)(last - first), index->factors + first, idf};
    return true;
}

/* The terms of one query; `times` is NULL, or a factor of each weight, which are then added in double. */
typedef struct {
    const int64_t *terms;
    const double *idfs, *times;
    size_t count;
} TermQuery;

static bool score_block(Search *search, const TermQuery *query, size_t block) {
    const Index *index = search->index;
    int64_t first = index->block_rows[block], last = index->block_rows[block + 1];
    if (first < 0 || last < first || (size_t)last > index->rows || last - first > MOST_IN_BLOCK) return false;
    bool any = false;
    for (size_t at = 0; at < query->count; at++) {
        size_t segment_at = search->next[at];
        if (segment_at == search->end[at] || index->segment_blocks[segment_at] != (int32_t)block) continue;
        Segment segment;
        if (!read_segment(index, segment_at, block, query->idfs[at], &segment)) return false;
        if (query->times == NULL)
            add_segment(search, &segment);
        else
            add_weighted_segment(search, &segment, query->times[at]);
        search->next[at]++;
        any = true;
    }
    if (any && query->times == NULL) collect(search, (size_t)first, (size_t)(last - first));
    if (any && query->times != NULL) collect_wide(search, (size_t)first, (size_t)(last - first));
    return true;
}

/* The best documents of a query, best first, in search->hits; false where the index is wrong. */
static bool search_query(Search *search, const TermQuery *query) {
    search->count = 0;
    search->floor = query->times == NULL ? (double)FLT_TRUE_MIN : DBL_TRUE_MIN;
    for (size_t at = 0; at < query->count; at++)
        if (!segments_of(search->index, query->terms[at], &search->next[at], &search->end[at])) return false;
    for (size_t block = 0; block < search->index->blocks; block++)
        if (!score_block(search, query, block)) return false;
    keep_best(search);
    sort_hits(search->hits, search->count);
    return true;
}

static void free_search(Search *search) {
    free(search->hits);
    free(search->next);
    free(search->end);
    free(search->totals);
    free(search->weights);
    free(search->wide_totals);
}

/* Room for queries of up to `most_terms` terms; false without memory. */
static bool open_search(Search *search, const Index *index, size_t k, size_t most_terms, bool is_wide) {
    *search = (Search){.index = index, .k = k, .capacity = 3 * k + 256};
    search->hits = malloc(search->capacity * sizeof *search->hits);
    search->next = malloc((most_terms + 1) * sizeof *search->next);
    search->end = malloc((most_terms + 1) * sizeof *search->end);
    search->totals = is_wide ? NULL : calloc(MOST_IN_BLOCK + STRIDE, sizeof *search->totals);
    search->weights = is_wide ? NULL : calloc(MOST_IN_BLOCK, sizeof *search->weights);
    search->wide_totals = is_wide ? calloc(MOST_IN_BLOCK, sizeof *search->wide_totals) : NULL;
    bool has_totals = is_wide ? search->wide_totals != NULL : search->totals != NULL && search->weights != NULL;
    return search->hits != NULL && search->next != NULL && search->end != NULL && has_totals;
}

#endif
