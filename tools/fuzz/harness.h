/* What the harnesses of the reader share: text in memory, one way of reading it, and checks that two ways gave the same. */
#ifndef RANKPROOF_FUZZ_HARNESS_H
#define RANKPROOF_FUZZ_HARNESS_H

#include <math.h>

#include "allocation.h"
#include "expect.h"

#define SCAN_BYTES 256
#define MAX_LINE_BYTES 2048
#include "../../src/rankproof/_native/align_src/qrels_text.h"
#include "../../src/rankproof/_native/align_src/run_read.h"

static const Seed SEED = {0x243F6A8885A308D3u, 0x13198A2E03707344u};
static const char FORM[PADDING + 2] = "d3";

typedef struct {
    const char *at;
    size_t left, longest; /* longest: the most bytes that one read gives */
} Memory;

typedef struct {
    size_t block, longest;
    int level;
    bool grouped;
} Way;

static Outcome read_memory(void *context, char *to, size_t size, size_t *count) {
    Memory *memory = context;
    size_t most = memory->longest < size ? memory->longest : size;
    *count = memory->left < most ? memory->left : most;
    memcpy(to, memory->at, *count);
    memory->at += *count;
    memory->left -= *count;
    return DONE;
}

static double by_strtod(Slice token) {
    static char text[MAX_LINE_BYTES + 1];
    EXPECT(token.size <= MAX_LINE_BYTES);
    memcpy(text, token.at, token.size);
    text[token.size] = '\0';
    return strtod(text, NULL);
}

static Outcome slow_number(void *context, Slice token, double *value) {
    (void)context;
    *value = by_strtod(token);
    return DONE;
}

/* What one way of reading gave; the fault's slices point into `lines`. */
typedef struct {
    Outcome outcome;
    Lines lines;
    Result result;
    RunText run;
} Reading_;

static void read_one_way(Reading_ *reading, const Judged *judged, const Options *options, Slice text, Way way) {
    Memory memory = {text.at, text.size, way.longest};
    memset(reading, 0, sizeof *reading);
    reading->run.lines = &reading->lines;
    reading->run.result = &reading->result;
    reading->run.seed = SEED;
    reading->run.options = *options;
    reading->run.slow_number = slow_number;
    reading->run.grouped = way.grouped;
    reading->outcome = result_open(&reading->result, judged, options);
    Outcome opened = lines_open(&reading->lines, read_memory, &memory, way.block, way.level, false);
    if (reading->outcome == DONE) reading->outcome = opened;
    if (reading->outcome == DONE) reading->outcome = read_run(&reading->run);
}

static void reading_free(Reading_ *reading) {
    run_text_free(&reading->run);
    buffer_free(&reading->lines.buffer);
    result_free(&reading->result);
}

static bool same_slice(Slice left, Slice right) {
    return left.size == right.size && (left.size == 0 || memcmp(left.at, right.at, left.size) == 0);
}

static void expect_same_fault(const Fault *left, const Fault *right) {
    EXPECT(strcmp(left->code, right->code) == 0);
    EXPECT(left->line == right->line && left->first_line == right->first_line);
    EXPECT(left->found == right->found && left->byte == right->byte);
    EXPECT(same_slice(left->query, right->query) && same_slice(left->doc, right->doc));
    EXPECT(same_slice(left->token, right->token) && same_slice(left->first_token, right->first_token));
}

static void expect_same_names(const Names *left, const Names *right) {
    EXPECT(left->count == right->count);
    for (size_t i = 0; i < left->count; i++) EXPECT(same_slice(name_at(left, i), name_at(right, i)));
}

static void expect_same_result(const Result *left, const Result *right) {
    for (size_t i = 0; i < left->judged->count; i++) {
        EXPECT(left->present[i] == right->present[i] && left->retrieved[i] == right->retrieved[i]);
        EXPECT(left->counts[i] == right->counts[i]);
        for (size_t j = 0; j < left->counts[i]; j++) {
            Found a = left->found[left->starts[i] + j], b = right->found[right->starts[i] + j];
            EXPECT(a.rank == b.rank && a.grade == b.grade && a.tie_start == b.tie_start && a.tie_size == b.tie_size);
        }
    }
    EXPECT(left->rows == right->rows && left->tied == right->tied && left->contradictions == right->contradictions);
    EXPECT(left->backwards == right->backwards && left->forwards == right->forwards && left->forms == right->forms);
    EXPECT(left->dropped == right->dropped && left->unjudged == right->unjudged);
    expect_same_names(&left->unjudged_names, &right->unjudged_names);
    expect_same_names(&left->tags, &right->tags);
}

static void expect_ranks_fit(const Result *result) {
    for (size_t i = 0; i < result->judged->count; i++) {
        int64_t before = 0;
        for (size_t j = 0; j < result->counts[i]; j++) {
            int64_t rank = result->found[result->starts[i] + j].rank;
            EXPECT(rank > before && rank <= result->retrieved[i]);
            before = rank;
        }
    }
}

/* A block with a NUL byte is rejected before its lines are read, so that the block size decides which fault comes first. */
static bool has_nul(const Reading_ *reading) { return strcmp(reading->lines.fault.code, "nul") == 0; }

static void expect_same(const Reading_ *left, const Reading_ *right) {
    EXPECT(left->outcome == right->outcome);
    bool rejected = left->outcome == REJECTED && !has_nul(left) && !has_nul(right);
    if (rejected) expect_same_fault(&left->lines.fault, &right->lines.fault);
    if (left->outcome == DONE) expect_same_result(&left->result, &right->result);
}

static Outcome judge_bytes(Slice text, size_t block, Judged *judged) {
    Memory memory = {text.at, text.size, SIZE_MAX};
    Judge judge;
    Lines lines;
    memset(&lines, 0, sizeof lines);
    memset(&judge, 0, sizeof judge);
    judge.seed = SEED;
    Outcome outcome = lines_open(&lines, read_memory, &memory, block, LEVEL_AVX512, false);
    if (outcome == DONE) outcome = read_qrels(&lines, &judge);
    if (outcome == DONE) outcome = judge_finish(&judge, NULL, judged);
    judge_free(&judge);
    buffer_free(&lines.buffer);
    return outcome;
}

/* Other forms of a document and of a query, as native.py adds them. */
static Outcome add_forms(Judged *judged) {
    TRY(judged_add_form(judged, judged->count - 1, (Slice){FORM, 2}));
    judged_close_forms(judged);
    return judged_mark_query(judged, (Slice){FORM, 1}, IS_FORM | IS_LOOKED_AT);
}

#endif
