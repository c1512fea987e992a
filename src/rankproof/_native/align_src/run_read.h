/* Reads a run: streaming if the lines of each query are adjacent, else grouped. */
#ifndef RANKPROOF_RUN_READ_H
#define RANKPROOF_RUN_READ_H

#include "run_text.h"

static inline Outcome end_run_groups(RunText *run) {
    FirstRepeat first;
    run->rows.text = run->lines->buffer.text + run->base;
    TRY(end_groups(run->result, &run->groups, &run->rows, &first));
    if (first.rows.second == 0) return DONE;
    Slice query = name_at(&run->groups.names, first.group);
    return reject_duplicate(run, query, run->rows.at[first.rows.first], run->rows.at[first.rows.second]);
}

/* After a fault: a fault in an earlier row that is not parsed yet is reported instead, or else an earlier duplicate. */
static inline Outcome first_fault(RunText *run) {
    Fault fault = run->lines->fault;
    if (strcmp(fault.code, "duplicate") == 0) return REJECTED;
    Outcome outcome = parse_pending(run);
    if (outcome == REJECTED) fault = run->lines->fault;
    if (outcome != DONE && outcome != REJECTED) return outcome;
    TRY(run->grouped ? end_run_groups(run) : end_current(run));
    run->lines->fault = fault;
    return REJECTED;
}

/* Reads the next block; the text from the current query's first row on stays. */
static inline Outcome read_on(RunText *run) {
    Lines *lines = run->lines;
    lines->keep = run->grouped ? 0 : run->rows.count > 0 ? run->base : lines->at;
    TRY(lines_read(lines));
    run->base = 0;
    return DONE;
}

static inline Outcome read_every_row(RunText *run) {
    Lines *lines = run->lines;
    while (true) {
        Outcome outcome = cut_lines(lines, 6, take_run_row, take_odd_run_row, parse_pending, run);
        if (outcome == REJECTED) return first_fault(run);
        TRY(outcome);
        if (lines->ended) break;
        TRY(read_on(run));
    }
    TRY(run->grouped ? end_run_groups(run) : end_current(run));
    return run->result->rows == 0 ? reject(&lines->fault, "no-rows", 0) : DONE;
}

/* Starts again in groups, with the text read so far. */
static inline Outcome regroup(RunText *run) {
    Options options = run->options;
    const Judged *judged = run->result->judged;
    result_free(run->result);
    TRY(result_open(run->result, judged, &options));
    lines_rewind(run->lines);
    run->rows.count = run->parsed = run->base = run->tag_size = 0;
    run->first_line = 1;
    run->query_id.size = 0;
    run->grouped = true;
    return read_every_row(run);
}

/* Reads a run; AGAIN if a query occurs again and the text before it is gone, so that the stream must be read again. */
static inline Outcome read_run(RunText *run) {
    TRY(lines_start(run->lines));
    run->first_line = 1;
    run->rows.ranked = true;
    Outcome outcome = read_every_row(run);
    return outcome == AGAIN && !run->lines->dropped ? regroup(run) : outcome;
}

#endif
