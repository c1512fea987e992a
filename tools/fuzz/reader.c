/* Fuzzes the native reader from bytes to hits, without Python.
 *
 * The first bytes of an input choose how it is read; the rest is qrels and a run. One execution reads both as TREC text in three
 * ways and as tables of one format in two, and once more with allocations that fail. Besides not crashing, the reader must find
 * the same whatever the block size, the width of the scan and the length of the reads, the same when it groups rows as when it
 * streams them, ranks that rise and fit the ranking, and scores of the same bits as strtod. Read as a table, the
 * text must give the same columns whatever the way. */
#include "harness.h"

#include "../../src/rankproof/_native/align_src/table_delimited.h"
#include "../../src/rankproof/_native/align_src/table_json.h"
#include "../../src/rankproof/_native/align_src/table_text.h"

#define MOST_NUMBER_BYTES 64
#define FRONT 7 /* bytes that choose: options, block, longest read, allocations, format, two of the length of the qrels */
static const char PLAIN_QRELS[] = "1 0 d1 1\n1 0 d2 0\n2 0 d1 3\nq 0 d -1\n";

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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < FRONT) return 0;
    Options options = {(data[0] & 1) != 0, (data[0] & 2) != 0, (data[0] & 4) != 0, (OnDuplicate)((data[0] >> 3) & 3)};
    Way way = {(size_t)data[1] + 1, (size_t)data[2] + 1, (data[0] >> 5) & 3, (data[0] & 128) != 0};
    TextFormat format = (TextFormat)(data[4] % TEXT_FORMATS);
    size_t allowed = data[3], cut = (size_t)(data[5] | data[6] << 8) % (size - FRONT + 1);
    Slice qrels = {(const char *)data + FRONT, cut};
    Slice run = {qrels.at + cut, size - FRONT - cut};
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
    read_tables(run, format, true, way, allowed % 64);
    read_tables(qrels, format, false, way, allowed % 64);
    check_number((Slice){run.at, run.size < MOST_NUMBER_BYTES ? run.size : MOST_NUMBER_BYTES});
    return 0;
}
