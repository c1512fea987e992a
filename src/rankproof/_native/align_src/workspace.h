/* Memory that one read leaves to the next, so that reading many small files does not allocate each time. */
#ifndef RANKPROOF_WORKSPACE_H
#define RANKPROOF_WORKSPACE_H

#include "judge.h"
#include "run_read.h"

#define MOST_KEPT ((size_t)8 << 20)
#define BYTES_OF_A_ROW 64 /* in all arrays together */

typedef struct {
    Buffer buffer;
    Rows rows;
    uint32_t *group_of;
    size_t group_of_capacity;
    Judgement *judgements;
    size_t judgements_capacity;
    uint32_t *judge_slots;
    size_t judge_slots_capacity;
    Found *found;
    size_t found_capacity;
} Workspace;

static inline void workspace_free(Workspace *space) {
    buffer_free(&space->buffer);
    rows_free(&space->rows);
    free(space->group_of);
    free(space->judgements);
    free(space->judge_slots);
    free(space->found);
}

static inline size_t workspace_bytes(const Workspace *space) {
    return space->buffer.capacity + sizeof *space->judge_slots * space->judge_slots_capacity +
           BYTES_OF_A_ROW * (space->rows.capacity + space->judgements_capacity + space->found_capacity);
}

/* Takes the kept memory. */
static inline Workspace workspace_take(Workspace *kept) {
    Workspace space = *kept;
    memset(kept, 0, sizeof *kept);
    return space;
}

/* Keeps this memory instead, unless it is too large. */
static inline void workspace_leave(Workspace *kept, Workspace *space) {
    if (workspace_bytes(space) > MOST_KEPT) {
        workspace_free(space);
        return;
    }
    workspace_free(kept);
    *kept = *space;
}

static inline void run_borrow(RunText *run, Workspace *space) {
    run->rows = space->rows;
    run->groups.of = space->group_of;
    run->groups.of_capacity = space->group_of_capacity;
    run->lines->buffer = space->buffer;
}

static inline void result_borrow(Result *result, Workspace *space) {
    result->found = space->found;
    result->found_capacity = space->found_capacity;
    space->found = NULL;
    space->found_capacity = 0;
}

static inline void result_return(Result *result, Workspace *space) {
    space->found = result->found;
    space->found_capacity = result->found_capacity;
    result->found = NULL;
}

static inline void run_return(RunText *run, Workspace *space) {
    space->rows = run->rows;
    space->group_of = run->groups.of;
    space->group_of_capacity = run->groups.of_capacity;
    space->buffer = run->lines->buffer;
    space->rows.count = 0;
    memset(&run->rows, 0, sizeof run->rows);
    run->groups.of = NULL;
    memset(&run->lines->buffer, 0, sizeof run->lines->buffer);
}

static inline void judge_borrow(Judge *judge, Lines *lines, Workspace *space) {
    judge->rows = space->judgements;
    judge->capacity = space->judgements_capacity;
    judge->slots = space->judge_slots;
    judge->slots_capacity = space->judge_slots_capacity;
    lines->buffer = space->buffer;
}

static inline void judge_return(Judge *judge, Lines *lines, Workspace *space) {
    space->judgements = judge->rows;
    space->judgements_capacity = judge->capacity;
    space->judge_slots = judge->slots;
    space->judge_slots_capacity = judge->slots_capacity;
    space->buffer = lines->buffer;
    judge->rows = NULL;
    judge->slots = NULL;
    memset(&lines->buffer, 0, sizeof lines->buffer);
}

#endif
