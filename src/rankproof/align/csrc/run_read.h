/* Reads a whole run: streaming where each query's lines lie together, grouped where they do not. */
#ifndef RANKPROOF_RUN_READ_H
#define RANKPROOF_RUN_READ_H

#include "run_text.h"

static inline Outcome end_run_groups(RunText *run) {
    FirstRepeat first;
    run->rows.text = run->lines->text + run->base;
    TRY(end_groups(run->result, &run->groups, &run->rows, &first));
    if (first.rows.second == 0) return DONE;
    Slice query = name_at(&run->groups.names, first.group);
    return refuse_duplicate(run, query, run->rows.at[first.rows.first], run->rows.at[first.rows.second]);
}

/* After a fault: a duplicate above it is told instead. */
static inline Outcome first_fault(RunText *run) {
    Fault fault = run->lines->fault;
    if (strcmp(fault.code, "duplicate") == 0) return REFUSED;
    TRY(run->grouped ? end_run_groups(run) : end_current(run));
    run->lines->fault = fault;
    return REFUSED;
}

/* Reads the next block; the text from the current query's first row on stays. */
static inline Outcome read_on(RunText *run) {
    Lines *lines = run->lines;
    lines->keep = run->grouped ? 0 : run->rows.count > 0 ? run->base : lines->at;
    TRY(lines_read(lines));
    run->base = 0;
    return DONE;
}

static inline Outcome read_run(RunText *run) {
    Lines *lines = run->lines;
    TRY(lines_start(lines));
    run->first_line = 1;
    run->rows.ranked = true;
    while (true) {
        Outcome outcome = cut_lines(lines, 6, take_run_row, run);
        if (outcome == REFUSED) return first_fault(run);
        TRY(outcome);
        if (lines->ended) break;
        TRY(read_on(run));
    }
    TRY(run->grouped ? end_run_groups(run) : end_current(run));
    return run->result->rows == 0 ? refuse(&lines->fault, "no-rows", 0) : DONE;
}

#endif
