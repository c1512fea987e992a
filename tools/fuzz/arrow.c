/* Fuzzes runs in Arrow batches, without Python and without a library of Arrow.
 *
 * Every input is decoded to a table that keeps the rules of Arrow: columns of every type that is read, with and without nulls and
 * dictionaries, in batches and arrays that begin at any offset, each buffer of exactly the size that its rows need. Besides not
 * crashing, the reader must find the same whatever the types, the batches and the way of reading, and the same as in TREC text. */
#include "harness.h"

#include "../../src/rankproof/_native/align_src/arrow_run.h"

#define MOST_ROWS 48
#define MOST_BATCHES 4
#define MOST_TEXT 40
#define MOST_RANK 999999999999999999 /* in TREC text */
static const char QRELS[] = "1 0 d1 1\n1 0 d2 0\n1 0 7 2\n2 0 d1 3\n2 0 -7 1\n\xc3\xa9 0 a-document-id-of-many-bytes 1\nq 0 d -1\n";
static const char *const IDS[] = {"1", "2", "d1", "d2", "7", "-7", "\xc3\xa9", "a-document-id-of-many-bytes", "q", "d"};
static const ArrowKind INTEGERS[] = {INT8, UINT8, INT16, UINT16, INT32, UINT32, INT64, UINT64};
static const ArrowKind TEXTS[] = {TEXT32, TEXT64, TEXT_VIEW};

/* A value of any column: ids use the text, ranks the integer, scores the number. */
typedef struct {
    bool null;
    char text[MOST_TEXT];
    size_t size;
    int64_t integer;
    double number;
} Cell;

typedef struct {
    size_t rows, batches, starts[MOST_BATCHES + 1];
    bool has[ARROW_COLUMNS];
    ArrowKind kinds[ARROW_COLUMNS], dictionaries[ARROW_COLUMNS];
    Cell cells[ARROW_COLUMNS][MOST_ROWS];
} Sheet;

typedef struct {
    const uint8_t *at;
    size_t left;
} Bytes;

/* The next byte below `limit`, 0 where the input has ended. */
static size_t choose(Bytes *bytes, size_t limit) {
    if (bytes->left == 0) return 0;
    bytes->left--;
    return *bytes->at++ % limit;
}

static int64_t choose_integer(Bytes *bytes) {
    static const int64_t extremes[] = {0, 1, -1, INT64_MAX, INT64_MIN, INT32_MAX, INT32_MIN, 255};
    size_t chosen = choose(bytes, 64);
    return chosen < 8 ? extremes[chosen] : (int64_t)chosen - 20;
}

static double choose_number(Bytes *bytes) {
    static const double numbers[] = {0.0, -0.0, 1e-300, 1e300, NAN, INFINITY, -INFINITY, 0.1, 16777217.0, -1.5};
    size_t chosen = choose(bytes, 64);
    return chosen < 10 ? numbers[chosen] : (double)chosen / 4;
}

static void choose_text(Bytes *bytes, Cell *cell) {
    size_t chosen = choose(bytes, 16), known = sizeof IDS / sizeof *IDS;
    if (chosen < known) {
        cell->size = strlen(IDS[chosen]);
        memcpy(cell->text, IDS[chosen], cell->size);
        return;
    }
    cell->size = choose(bytes, chosen == known ? MOST_TEXT : 4);
    for (size_t i = 0; i < cell->size; i++) cell->text[i] = (char)choose(bytes, 256);
}

/* An integer as a column of this type holds it. */
static int64_t as_kind(ArrowKind kind, int64_t value) {
    switch (kind) {
        case INT8: return (int8_t)value;
        case UINT8: return (uint8_t)value;
        case INT16: return (int16_t)value;
        case UINT16: return (uint16_t)value;
        case INT32: return (int32_t)value;
        case UINT32: return (uint32_t)value;
        default: return value;
    }
}

/* Gives a cell the value that it has in a column of this type, in every form. */
static void settle(Cell *cell, int column, ArrowKind kind, ArrowKind dictionary) {
    if (column == SCORE_COLUMN) {
        if (kind == FLOAT32) cell->number = fabs(cell->number) < 1e38 || cell->number - cell->number != 0 ? (float)cell->number : 3;
        if (!is_integer(kind)) return;
        cell->integer = as_kind(kind, cell->integer);
        cell->number = kind == UINT64 ? (double)(uint64_t)cell->integer : (double)cell->integer;
    } else if (is_integer(kind) && dictionary == NO_KIND) {
        cell->integer = as_kind(kind, cell->integer);
        if (column == RANK_COLUMN) return;
        ArrowColumn written = {kind, NO_KIND, NULL, 0, {0}};
        Slice text = decimal_text(&written, cell->integer);
        memcpy(cell->text, text.at, text.size);
        cell->size = text.size;
    }
}

static void choose_kind(Bytes *bytes, Sheet *sheet, int column) {
    size_t chosen = choose(bytes, 16);
    ArrowKind integer = INTEGERS[choose(bytes, 8)], text = TEXTS[choose(bytes, 3)];
    sheet->dictionaries[column] = NO_KIND;
    if (column == SCORE_COLUMN) {
        sheet->kinds[column] = chosen < 8 ? FLOAT64 : chosen < 12 ? FLOAT32 : integer;
    } else if (column == RANK_COLUMN || chosen < 3) {
        sheet->kinds[column] = integer;
    } else if (chosen < 8) {
        sheet->kinds[column] = integer;
        sheet->dictionaries[column] = text;
    } else {
        sheet->kinds[column] = text;
    }
}

static void choose_sheet(Bytes *bytes, Sheet *sheet) {
    memset(sheet, 0, sizeof *sheet);
    for (int column = 0; column < ARROW_COLUMNS; column++) {
        sheet->has[column] = column <= SCORE_COLUMN || choose(bytes, 3) > 0;
        choose_kind(bytes, sheet, column);
    }
    sheet->batches = 1 + choose(bytes, MOST_BATCHES);
    sheet->rows = choose(bytes, MOST_ROWS + 1);
    for (size_t i = 1; i < sheet->batches; i++) sheet->starts[i] = choose(bytes, sheet->rows + 1);
    for (size_t i = 1; i < sheet->batches; i++)
        if (sheet->starts[i] < sheet->starts[i - 1]) sheet->starts[i] = sheet->starts[i - 1];
    sheet->starts[sheet->batches] = sheet->rows;
    for (size_t row = 0; row < sheet->rows; row++) {
        for (int column = 0; column < ARROW_COLUMNS; column++) {
            Cell *cell = &sheet->cells[column][row];
            if (!sheet->has[column]) continue;
            cell->null = choose(bytes, 64) == 1;
            cell->integer = choose_integer(bytes);
            if (column == SCORE_COLUMN) cell->number = choose_number(bytes);
            if (column != SCORE_COLUMN && column != RANK_COLUMN) choose_text(bytes, cell);
            settle(cell, column, sheet->kinds[column], sheet->dictionaries[column]);
        }
    }
}

static void *allocated(size_t size) {
    void *memory = calloc(1, size == 0 ? 1 : size);
    EXPECT(memory != NULL);
    return memory;
}

static void release_array(struct ArrowArray *array) {
    for (int64_t i = 0; i < array->n_buffers; i++) free((void *)(uintptr_t)array->buffers[i]);
    for (int64_t i = 0; i < array->n_children; i++) {
        array->children[i]->release(array->children[i]);
        free(array->children[i]);
    }
    if (array->dictionary != NULL) {
        array->dictionary->release(array->dictionary);
        free(array->dictionary);
    }
    free(array->children);
    free((void *)(uintptr_t)array->buffers);
    array->release = NULL;
}

/* The bits of the rows that are not null; NULL where all are and none need be given. */
static uint8_t *valid_bits(const Cell *cells, size_t count, size_t before, bool given) {
    bool some = false;
    for (size_t i = 0; i < count; i++) some = some || cells[i].null;
    if (!some && !given) return NULL;
    uint8_t *bits = allocated((before + count + 7) / 8);
    for (size_t i = 0; i < count; i++)
        if (!cells[i].null) bits[(before + i) / 8] |= (uint8_t)(1u << ((before + i) % 8));
    return bits;
}

static size_t width_of(ArrowKind kind) {
    static const size_t widths[] = {0, 4, 8, 16, 1, 1, 2, 2, 4, 4, 8, 8, 4, 8};
    return widths[kind];
}

static void put_integer(ArrowKind kind, void *to, int64_t value) {
    switch (width_of(kind)) {
        case 1: *(int8_t *)to = (int8_t)value; break;
        case 2: *(int16_t *)to = (int16_t)value; break;
        case 4: *(int32_t *)to = (int32_t)value; break;
        default: *(int64_t *)to = value;
    }
}

static void put_number(ArrowKind kind, void *to, const Cell *cell) {
    if (kind == FLOAT64)
        *(double *)to = cell->number;
    else if (kind == FLOAT32)
        *(float *)to = (float)cell->number;
    else
        put_integer(kind, to, cell->integer);
}

static void put_texts(struct ArrowArray *array, ArrowKind kind, const Cell *cells, size_t count, size_t before) {
    size_t size = 0, at = 0, width = width_of(kind);
    for (size_t i = 0; i < count; i++) size += cells[i].null ? 0 : cells[i].size;
    char *text = allocated(size), *offsets = allocated((before + count + 1) * width);
    for (size_t i = 0; i < count; i++) {
        put_integer(kind == TEXT32 ? INT32 : INT64, offsets + (before + i) * width, (int64_t)at);
        if (cells[i].null) continue;
        memcpy(text + at, cells[i].text, cells[i].size);
        at += cells[i].size;
    }
    put_integer(kind == TEXT32 ? INT32 : INT64, offsets + (before + count) * width, (int64_t)at);
    array->buffers[1] = offsets;
    array->buffers[2] = text;
    if (size == 0) {
        free(text);
        array->buffers[2] = NULL;
    }
}

/* Short texts lie in their views, others in one of two buffers. */
static void put_views(struct ArrowArray *array, const Cell *cells, size_t count, size_t before) {
    size_t sizes[2] = {0, 0};
    for (size_t i = 0; i < count; i++) sizes[i % 2] += cells[i].size;
    char *views = allocated((before + count) * 16), *texts[2] = {allocated(sizes[0]), allocated(sizes[1])};
    size_t at[2] = {0, 0};
    for (size_t i = 0; i < count; i++) {
        char *view = views + (before + i) * 16;
        int32_t size = (int32_t)cells[i].size, place[2] = {(int32_t)(i % 2), (int32_t)at[i % 2]};
        if (cells[i].null) continue;
        memcpy(view, &size, 4);
        memcpy(view + 4, cells[i].text, cells[i].size <= 12 ? cells[i].size : 4);
        if (cells[i].size <= 12) continue;
        memcpy(view + 8, place, 8);
        memcpy(texts[i % 2] + at[i % 2], cells[i].text, cells[i].size);
        at[i % 2] += cells[i].size;
    }
    array->buffers[1] = views;
    array->buffers[2] = texts[0];
    array->buffers[3] = texts[1];
}

static struct ArrowArray *array_of(ArrowKind kind, ArrowKind dictionary, const Cell *cells, size_t count, Bytes *bytes);

/* A dictionary with a text for each row; the number of a null row is null, out of range, or that of a null. */
static void put_dictionary(struct ArrowArray *array, ArrowKind kind, ArrowKind texts, const Cell *cells, size_t count, Bytes *bytes) {
    Cell numbers[MOST_ROWS] = {0};
    size_t before = (size_t)array->offset;
    char *data = allocated((before + count) * width_of(kind));
    memcpy(numbers, cells, count * sizeof *cells);
    for (size_t i = 0; i < count; i++) {
        bool outside = numbers[i].null && choose(bytes, 2) == 1;
        put_integer(kind, data + (before + i) * width_of(kind), outside ? (int64_t)count + 50 : (int64_t)i);
        if (numbers[i].null) numbers[i].null = choose(bytes, 2) == 1;
    }
    array->buffers[0] = valid_bits(numbers, count, before, choose(bytes, 2) == 1);
    array->buffers[1] = data;
    array->dictionary = array_of(texts, NO_KIND, cells, count, bytes);
}

static struct ArrowArray *array_of(ArrowKind kind, ArrowKind dictionary, const Cell *cells, size_t count, Bytes *bytes) {
    struct ArrowArray *array = allocated(sizeof *array);
    size_t before = choose(bytes, 10);
    array->buffers = allocated(4 * sizeof *array->buffers);
    array->length = (int64_t)count;
    array->offset = (int64_t)before;
    array->null_count = -1;
    array->n_buffers = kind == TEXT_VIEW ? 4 : is_text(kind) ? 3 : 2;
    array->release = release_array;
    if (dictionary != NO_KIND) {
        put_dictionary(array, kind, dictionary, cells, count, bytes);
        return array;
    }
    array->buffers[0] = valid_bits(cells, count, before, choose(bytes, 2) == 1);
    if (kind == TEXT_VIEW) {
        put_views(array, cells, count, before);
    } else if (is_text(kind)) {
        put_texts(array, kind, cells, count, before);
    } else {
        char *data = allocated((before + count) * width_of(kind));
        for (size_t i = 0; i < count; i++) put_number(kind, data + (before + i) * width_of(kind), &cells[i]);
        array->buffers[1] = data;
    }
    return array;
}

/* The rows of a batch; one with a null row itself has a null query there. */
static struct ArrowArray batch_of(const Sheet *sheet, size_t which, Bytes *bytes) {
    size_t from = sheet->starts[which], count = sheet->starts[which + 1] - from;
    const Cell *queries = sheet->cells[QUERY_COLUMN] + from;
    struct ArrowArray batch;
    memset(&batch, 0, sizeof batch);
    batch.length = (int64_t)count;
    batch.null_count = -1;
    batch.n_buffers = 1;
    batch.buffers = allocated(sizeof *batch.buffers);
    batch.buffers[0] = choose(bytes, 2) == 1 ? valid_bits(queries, count, 0, false) : NULL;
    batch.n_children = ARROW_COLUMNS;
    batch.children = allocated(ARROW_COLUMNS * sizeof *batch.children);
    for (int column = 0; column < ARROW_COLUMNS; column++)
        batch.children[column] =
            array_of(sheet->kinds[column], sheet->dictionaries[column], sheet->cells[column] + from, count, bytes);
    batch.release = release_array;
    return batch;
}

typedef struct {
    Outcome outcome;
    Result result;
    ArrowRun run;
} ArrowReading;

static Outcome read_batches(ArrowRun *run, const Sheet *sheet, Bytes *bytes, size_t allowed) {
    Outcome outcome = DONE;
    for (size_t i = 0; i < sheet->batches; i++) {
        size_t kept = allocations_left;
        allocations_left = SIZE_MAX;
        struct ArrowArray batch = batch_of(sheet, i, bytes);
        allocations_left = i == 0 ? allowed : kept;
        Outcome latest = use_batch(run, &batch, outcome == DONE);
        if (latest != DONE) outcome = latest;
        if (outcome != DONE && !(outcome == AGAIN && run->keeps)) break;
    }
    if (outcome == REJECTED) return first_arrow_fault(run);
    return outcome == DONE ? end_arrow_run(run) : outcome;
}

static void read_sheet(ArrowReading *reading, const Judged *judged, const Options *options, const Sheet *sheet, Bytes bytes,
                       bool grouped, size_t allowed) {
    memset(reading, 0, sizeof *reading);
    ArrowRun *run = &reading->run;
    run->result = &reading->result;
    run->seed = SEED;
    run->options = *options;
    run->keeps = true;
    run->grouped = grouped;
    for (int column = 0; column < ARROW_COLUMNS; column++) {
        run->places[column] = sheet->has[column] ? column : -1;
        run->kinds[column] = sheet->kinds[column];
        run->dictionaries[column] = sheet->dictionaries[column];
    }
    run->rows.ranked = sheet->has[RANK_COLUMN];
    reading->outcome = result_open(&reading->result, judged, options);
    EXPECT(reading->outcome == DONE);
    reading->outcome = read_batches(run, sheet, &bytes, allowed);
    if (reading->outcome == AGAIN) {
        result_free(&reading->result);
        reading->outcome = result_open(&reading->result, judged, options);
        if (reading->outcome == DONE) reading->outcome = regroup_arrow(run);
    }
    allocations_left = SIZE_MAX;
}

static void arrow_reading_free(ArrowReading *reading) {
    arrow_run_free(&reading->run);
    result_free(&reading->result);
}

/* The same rows as one batch of the simplest types. */
static void simplify(const Sheet *sheet, Sheet *simple) {
    static const ArrowKind kinds[ARROW_COLUMNS] = {TEXT64, TEXT64, FLOAT64, INT64, TEXT64};
    *simple = *sheet;
    simple->batches = 1;
    simple->starts[1] = sheet->rows;
    for (int column = 0; column < ARROW_COLUMNS; column++) {
        simple->kinds[column] = kinds[column];
        simple->dictionaries[column] = NO_KIND;
    }
    for (size_t row = 0; row < sheet->rows; row++) {
        Cell *rank = &simple->cells[RANK_COLUMN][row];
        rank->null = rank->null || (sheet->kinds[RANK_COLUMN] == UINT64 && rank->integer < 0);
    }
}

static bool is_word(const Cell *cell) {
    bool word = !cell->null && cell->size > 0 && cell->text[0] != '#';
    for (size_t i = 0; word && i < cell->size; i++) word = cell->text[i] > ' ' && cell->text[i] < 127;
    return word;
}

/* The rows as a TREC run; false where one of them is no line of such a run. */
static bool write_text(const Sheet *sheet, char *text, size_t *size) {
    *size = 0;
    if (sheet->rows == 0 || !sheet->has[RANK_COLUMN] || !sheet->has[TAG_COLUMN]) return false;
    for (size_t row = 0; row < sheet->rows; row++) {
        const Cell *query = &sheet->cells[QUERY_COLUMN][row], *doc = &sheet->cells[DOC_COLUMN][row];
        const Cell *score = &sheet->cells[SCORE_COLUMN][row], *rank = &sheet->cells[RANK_COLUMN][row];
        const Cell *tag = &sheet->cells[TAG_COLUMN][row];
        if (!is_word(query) || !is_word(doc) || !is_word(tag) || rank->null || score->null) return false;
        if (score->number - score->number != 0 || rank->integer > MOST_RANK || rank->integer < -MOST_RANK) return false;
        *size += (size_t)sprintf(text + *size, "%.*s Q0 %.*s %lld %.17g %.*s\n", (int)query->size, query->text, (int)doc->size,
                                 doc->text, (long long)rank->integer, score->number, (int)tag->size, tag->text);
    }
    return true;
}

static void expect_same_as_text(const ArrowReading *arrow, const Judged *judged, const Options *options, const Sheet *sheet) {
    static char text[MOST_ROWS * (3 * MOST_TEXT + 64)];
    size_t size;
    if (!write_text(sheet, text, &size)) return;
    Reading_ reading;
    read_one_way(&reading, judged, options, (Slice){text, size}, (Way){4096, SIZE_MAX, LEVEL_AVX512, true});
    EXPECT(reading.outcome == arrow->outcome);
    if (reading.outcome == DONE) expect_same_result(&reading.result, &arrow->result);
    if (reading.outcome == REJECTED) EXPECT(strcmp(reading.lines.fault.code, arrow->run.fault.code) == 0);
    reading_free(&reading);
}

static void expect_same_arrow_fault(const Fault *left, const Fault *right) {
    expect_same_fault(left, right);
    EXPECT((left->column == NULL) == (right->column == NULL));
    EXPECT(left->column == NULL || strcmp(left->column, right->column) == 0);
    EXPECT(memcmp(&left->score, &right->score, sizeof left->score) == 0);
    EXPECT(memcmp(&left->first_score, &right->first_score, sizeof left->first_score) == 0);
}

static void read_all_ways(const Judged *judged, const Options *options, const Sheet *sheet, Bytes bytes, bool grouped) {
    ArrowReading first, second;
    static Sheet simple;
    simplify(sheet, &simple);
    read_sheet(&first, judged, options, sheet, bytes, grouped, SIZE_MAX);
    read_sheet(&second, judged, options, &simple, (Bytes){NULL, 0}, true, SIZE_MAX);
    EXPECT(first.outcome == second.outcome);
    if (first.outcome == DONE) expect_same_result(&first.result, &second.result);
    if (first.outcome == DONE) expect_ranks_fit(&first.result);
    if (first.outcome == REJECTED) expect_same_arrow_fault(&first.run.fault, &second.run.fault);
    expect_same_as_text(&second, judged, options, &simple);
    arrow_reading_free(&first);
    arrow_reading_free(&second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static Sheet sheet;
    Bytes bytes = {data, size};
    size_t flags = choose(&bytes, 256), allowed = choose(&bytes, 64);
    Options options = {(flags & 1) != 0, (flags & 2) != 0, (flags & 4) != 0, (OnDuplicate)((flags >> 3) & 3)};
    bool grouped = (flags & 32) != 0;
    choose_sheet(&bytes, &sheet);
    Judged judged;
    memset(&judged, 0, sizeof judged);
    EXPECT(judge_bytes((Slice){QRELS, sizeof QRELS - 1}, 64, &judged) == DONE);
    judged.only = (flags & 64) != 0;
    EXPECT(add_forms(&judged) == DONE);
    read_all_ways(&judged, &options, &sheet, bytes, grouped);
    if (allowed != 0) {
        ArrowReading reading;
        read_sheet(&reading, &judged, &options, &sheet, bytes, grouped, allowed);
        arrow_reading_free(&reading);
    }
    judged_free(&judged);
    return 0;
}
