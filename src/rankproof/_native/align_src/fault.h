/* The first fault in the input; the slices point into the reader's text. */
#ifndef RANKPROOF_FAULT_H
#define RANKPROOF_FAULT_H

#include "base.h"

typedef struct {
    const char *code;
    size_t line, first_line; /* first_line: the line of the first of two conflicting rows */
    size_t found;            /* columns, or the column of a bad byte */
    int byte;
    int64_t grade, first_grade;
    double score, first_score; /* for scores that are not text */
    const char *column;
    Slice query, doc, token, first_token;
} Fault;

static inline Outcome reject(Fault *fault, const char *code, size_t line) {
    memset(fault, 0, sizeof *fault);
    fault->code = code;
    fault->line = line;
    return REJECTED;
}

#endif
