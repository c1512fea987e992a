/* Fuzzes the native reader from bytes to hits, without Python.
 *
 * The first bytes of an input choose how it is read; the rest is qrels and a run. Besides not crashing, the reader must find
 * the same whatever the block size, the width of the scan and the length of the reads, the same when it groups rows as when it
 * streams them, ranks that rise and fit the ranking, and scores of the same bits as strtod. Read as a table of any format, the
 * text must give the same columns whatever the way. */
#include <math.h>
#include <stdio.h>

#include "allocation.h"

#define SCAN_BYTES 256
#define MAX_LINE_BYTES 2048
#include "../../src/rankproof/_native/align_src/qrels_text.h"
#include "../../src/rankproof/_native/align_src/run_read.h"
#include "../../src/rankproof/_native/align_src/table_delimited.h"
#include "../../src/rankproof/_native/align_src/table_json.h"
#include "../../src/rankproof/_native/align_src/table_text.h"

#define EXPECT(condition)                                                           \
    do {                                                                            \
        if (!(condition)) {                                                         \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
            abort();                                                                \
        }                                                                           \
    } while (0)

static const Seed SEED = {0x243F6A8885A308D3u, 0x13198A2E03707344u};
#define MOST_NUMBER_BYTES 64
static const char FORM[PADDING + 2] = "d3";
static const char PLAIN_QRELS[] = "1 0 d1 1\n1 0 d2 0\n2 0 d1 3\nq 0 d -1\n";

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
            EXPECT(a.rank == b.rank && a.grade == b.grade);
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

static void read_all_ways(const Judged *judged, const Options *options, Slice text, Way way) {
    Reading_ first, second, grouped;
    read_one_way(&first, judged, options, text, way);
    read_one_way(&second, judged, options, text, (Way){4096, SIZE_MAX, 0, way.grouped});
    if (first.outcome != AGAIN && second.outcome != AGAIN) expect_same(&first, &second);
    if (first.outcome == DONE) expect_ranks_fit(&first.result);
    read_one_way(&grouped, judged, options, text, (Way){1024, SIZE_MAX, 1, true});
    EXPECT(grouped.outcome != AGAIN);
    if (first.outcome != AGAIN) expect_same(&first, &grouped);
    reading_free(&first);
    reading_free(&second);
    reading_free(&grouped);
}

static void read_without_memory(const Judged *judged, const Options *options, Slice text, Way way, size_t allowed) {
    Reading_ reading;
    allocations_left = allowed;
    read_one_way(&reading, judged, options, text, way);
    allocations_left = (size_t)-1;
    reading_free(&reading);
}

/* What one way of reading a table gave. */
typedef struct {
    Outcome outcome;
    Lines lines;
    TableReader reader;
} TableReading;

typedef enum { AS_TREC, AS_COMMAS, AS_TABS, AS_WHITE_SPACE, AS_JSON, AS_JSON_LINES, TEXT_FORMATS } TextFormat;

/* The roles of keys: each is named by the first byte of its key; a repeated one is no key. */
static Outcome places_of_names(void *context, const Slice *names, size_t count, Places *places) {
    (void)context;
    for (int role = 0; role < ROLES; role++) {
        places->of[role] = -1;
        for (size_t i = 0; i < count; i++) {
            if (names[i].size > 0 && names[i].at[0] == "qdsrtj"[role]) places->of[role] = places->of[role] < 0 ? (int)i : -2;
        }
    }
    return DONE;
}

static Outcome read_format(TableReader *reader, TextFormat format, bool run) {
    const Places four = {{0, 1, 2, run ? 3 : -1, -1, run ? -1 : 3}}, three = {{0, 1, 2, -1, -1, -1}};
    switch (format) {
        case AS_TREC: return read_table(reader, run);
        case AS_COMMAS: return read_delimited(reader, &(Layout){run, ',', 1, 4, four});
        case AS_TABS: return read_delimited(reader, &(Layout){run, '\t', 0, 3, three});
        case AS_WHITE_SPACE: return read_delimited(reader, &(Layout){run, WHITE_SPACE, 0, 3, three});
        default: return read_json(reader, run, format == AS_JSON_LINES, places_of_names);
    }
}

static void read_table_one_way(TableReading *reading, Slice text, TextFormat format, bool run, Way way) {
    Memory memory = {text.at, text.size, way.longest};
    memset(reading, 0, sizeof *reading);
    reading->reader.lines = &reading->lines;
    reading->reader.seed = SEED;
    reading->reader.slow_number = slow_number;
    reading->outcome = lines_open(&reading->lines, read_memory, &memory, way.block, way.level, false);
    if (reading->outcome == DONE) reading->outcome = read_format(&reading->reader, format, run);
}

static void table_reading_free(TableReading *reading) {
    table_reader_free(&reading->reader);
    buffer_free(&reading->lines.buffer);
}

static bool same_numbers(const void *left, const void *right, size_t count) {
    return (left == NULL) == (right == NULL) && (left == NULL || memcmp(left, right, 8 * count) == 0);
}

static void expect_same_table(const TableReader *left, const TableReader *right) {
    const Table *a = &left->table, *b = &right->table;
    EXPECT(a->count == b->count && a->text_size == b->text_size && left->marked == right->marked);
    EXPECT(memcmp(a->text, b->text, a->text_size) == 0);
    EXPECT(same_numbers(a->bounds, b->bounds, a->count + 1) && same_numbers(a->lines, b->lines, a->count));
    EXPECT(same_numbers(a->ranks, b->ranks, a->count) && same_numbers(a->grades, b->grades, a->count));
    EXPECT(same_numbers(a->scores, b->scores, a->count));
    expect_same_names(&left->groups.names, &right->groups.names);
    expect_same_names(&left->tags, &right->tags);
}

static void read_tables(Slice text, TextFormat format, bool run, Way way, size_t allowed) {
    TableReading first, second;
    read_table_one_way(&first, text, format, run, way);
    read_table_one_way(&second, text, format, run, (Way){4096, SIZE_MAX, 0, false});
    EXPECT(first.outcome == second.outcome);
    if (first.outcome == DONE) expect_same_table(&first.reader, &second.reader);
    table_reading_free(&first);
    table_reading_free(&second);
    if (allowed == 0) return;
    allocations_left = allowed;
    read_table_one_way(&first, text, format, run, way);
    allocations_left = (size_t)-1;
    table_reading_free(&first);
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

/* A token that is read as a number must be the number that strtod reads. */
static void check_number(Slice bytes) {
    double value, plain;
    char token[MOST_NUMBER_BYTES + PADDING] = {0};
    memcpy(token, bytes.at, bytes.size);
    Slice slice = {token, bytes.size};
    Reading reading = any_score(slice, &value);
    if (reading == IS_NUMBER) {
        double wanted = by_strtod(slice);
        EXPECT(memcmp(&value, &wanted, sizeof value) == 0);
    }
    if (bytes.size > 0 && plain_score(token, bytes.size, &plain)) {
        EXPECT(reading == IS_NUMBER && memcmp(&value, &plain, sizeof value) == 0);
    }
#ifdef HAS_WIDE
    if (level_here(LEVEL_AVX2) == LEVEL_AVX2 && wide_score(token, bytes.size, &plain))
        EXPECT(reading == IS_NUMBER && memcmp(&value, &plain, sizeof value) == 0);
#endif
}

/* Other forms of a document and of a query, as native.py adds them. */
static Outcome add_forms(Judged *judged) {
    TRY(judged_add_form(judged, judged->count - 1, (Slice){FORM, 2}));
    judged_close_forms(judged);
    return judged_mark_query(judged, (Slice){FORM, 1}, IS_FORM | IS_LOOKED_AT);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 6) return 0;
    Options options = {(data[0] & 1) != 0, (data[0] & 2) != 0, (data[0] & 4) != 0, (OnDuplicate)((data[0] >> 3) & 3)};
    Way way = {(size_t)data[1] + 1, (size_t)data[2] + 1, (data[0] >> 5) & 3, (data[0] & 128) != 0};
    size_t allowed = data[3], cut = (size_t)(data[4] | data[5] << 8) % (size - 5);
    Slice qrels = {(const char *)data + 6, cut < size - 6 ? cut : size - 6};
    Slice run = {qrels.at + qrels.size, size - 6 - qrels.size};
    Judged judged;
    memset(&judged, 0, sizeof judged);
    if (judge_bytes(qrels, way.block, &judged) != DONE) {
        judged_free(&judged);
        memset(&judged, 0, sizeof judged);
        EXPECT(judge_bytes((Slice){PLAIN_QRELS, sizeof PLAIN_QRELS - 1}, 7, &judged) == DONE);
    }
    judged.only = (data[2] & 1) != 0;
    EXPECT(add_forms(&judged) == DONE);
    read_all_ways(&judged, &options, run, way);
    if (allowed != 0) read_without_memory(&judged, &options, run, way, allowed % 64);
    judged_free(&judged);
    for (TextFormat format = AS_TREC; format < TEXT_FORMATS; format++) {
        read_tables(run, format, true, way, allowed % 64);
        read_tables(qrels, format, false, way, allowed % 64);
    }
    check_number((Slice){run.at, run.size < MOST_NUMBER_BYTES ? run.size : MOST_NUMBER_BYTES});
    return 0;
}
