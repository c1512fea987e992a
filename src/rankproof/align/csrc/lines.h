/* Text as it streams in: blocks are read, lines cut into columns, and only what the caller still needs is kept. */
#ifndef RANKPROOF_LINES_H
#define RANKPROOF_LINES_H

#include "fault.h"
#include "scan.h"
#include "utf8.h"

#define MAX_LINE_BYTES ((size_t)1 << 20)
#define MOST_COLUMNS 6

/* Reads at most `size` bytes into `to`; 0 is the end. */
typedef Outcome (*ReadBytes)(void *context, char *to, size_t size, size_t *count);

/* A column: where it begins, counted from the text that its row comes with, and its size. */
typedef struct {
    uint32_t at, size;
} Column;

typedef struct {
    ReadBytes read;
    void *context;
    size_t block;
    ScanFunction scan_bytes;
    char *text; /* from 0 to end; PADDING after it */
    size_t capacity;
    size_t keep; /* the first byte that the caller still needs; not above `at` */
    size_t at;   /* where the first line that was not cut yet begins */
    size_t end;
    size_t line; /* number of the last line that was cut */
    bool after_cr, started, ended;
    Scan *scan;
    Fault fault;
} Lines;

/* `inside`: the stream begins within a file, so that no byte-order mark is looked for. */
static inline Outcome lines_open(Lines *lines, ReadBytes read, void *context, size_t block, ScanFunction scan, bool inside) {
    memset(lines, 0, sizeof *lines);
    lines->read = read;
    lines->context = context;
    lines->block = block;
    lines->scan_bytes = scan;
    lines->started = inside;
    lines->scan = malloc(sizeof *lines->scan);
    return lines->scan == NULL ? NO_MEMORY : DONE;
}

static inline void lines_free(Lines *lines) {
    free(lines->text);
    free(lines->scan);
    lines->text = NULL;
    lines->scan = NULL;
}

static inline void drop_text(Lines *lines) {
    if (lines->keep == 0) return;
    memmove(lines->text, lines->text + lines->keep, lines->end - lines->keep);
    lines->at -= lines->keep;
    lines->end -= lines->keep;
    lines->keep = 0;
}

/* Reads one more block behind what is kept; at the end of the stream a last line without an end gets one. */
static inline Outcome lines_read(Lines *lines) {
    size_t count = 0;
    drop_text(lines);
    if (lines->end > SIZE_MAX / 4 || lines->block > SIZE_MAX / 4) return NO_MEMORY;
    TRY(grow((void **)&lines->text, &lines->capacity, lines->end + lines->block + 1 + PADDING, 1));
    TRY(lines->read(lines->context, lines->text + lines->end, lines->block, &count));
    lines->end += count;
    if (count == 0) {
        lines->ended = true;
        if (lines->end > lines->at) lines->text[lines->end++] = '\n';
    }
    memset(lines->text + lines->end, 0, PADDING);
    return DONE;
}

/* Reads until the start of the text can be told: refuses nothing at all and UTF-16, skips a byte-order mark. */
static inline Outcome lines_start(Lines *lines) {
    while (!lines->ended && lines->end < 3) TRY(lines_read(lines));
    if (lines->started) return DONE;
    lines->started = true;
    if (lines->end == 0) return refuse(&lines->fault, "empty", 0);
    if (memcmp(lines->text, "\xff\xfe", 2) == 0 || memcmp(lines->text, "\xfe\xff", 2) == 0)
        return refuse(&lines->fault, "utf16", 0);
    if (memcmp(lines->text, "\xef\xbb\xbf", 3) != 0) return DONE;
    lines->at = 3;
    return DONE;
}

ALWAYS_INLINE bool is_space(char byte) { return byte == ' ' || (unsigned char)(byte - '\t') <= 4; }

static inline Outcome refuse_utf8(Lines *lines, const char *text, size_t size) {
    size_t bad = first_bad_utf8(text, size);
    if (bad == size) return DONE;
    refuse(&lines->fault, "utf8", lines->line);
    lines->fault.byte = (unsigned char)text[bad];
    lines->fault.found = bad + 1;
    return REFUSED;
}

static inline size_t split(const char *text, size_t start, size_t end, Column *columns) {
    size_t found = 0, at = start;
    while (true) {
        while (at < end && is_space(text[at])) at++;
        if (at == end) return found;
        size_t from = at;
        while (at < end && !is_space(text[at])) at++;
        if (found < MOST_COLUMNS) columns[found] = (Column){(uint32_t)from, (uint32_t)(at - from)};
        found++;
    }
}

/* Cuts any line; `found` is 0 for one that is blank or a comment. */
static inline Outcome cut_line(Lines *lines, const char *text, size_t start, size_t end, size_t wanted, Column *columns,
                               size_t *found) {
    *found = 0;
    if (end - start > MAX_LINE_BYTES) return refuse(&lines->fault, "long-line", lines->line);
    if (text[start] == '#') return DONE;
    *found = split(text, start, end, columns);
    if (*found == 0) return DONE;
    if (!is_ascii(text + start, end - start)) TRY(refuse_utf8(lines, text + start, end - start));
    if (*found == wanted) return DONE;
    refuse(&lines->fault, wanted == 6 ? "run-columns" : "qrels-columns", lines->line);
    lines->fault.found = *found;
    return REFUSED;
}

/* The columns of a line with one white-space byte after each, from the scan; false for any other line. */
ALWAYS_INLINE bool cut_plain(const char *text, uint32_t start, const uint32_t *ends, size_t count, size_t wanted,
                             Column *columns) {
    if (count != wanted || text[start] == '#') return false;
    uint32_t from = start, empty = 0;
    for (size_t i = 0; i < wanted; i++) {
        columns[i] = (Column){from, ends[i] - from};
        empty |= columns[i].size - 1;
        from = ends[i] + 1;
    }
    return (empty >> 31) == 0;
}

/* Takes one row: its columns, and the text from which they are counted. */
typedef Outcome (*TakeRow)(void *context, const char *text, const Column *columns);

/* Cuts the lines that one scan found and hands their rows on. */
ALWAYS_INLINE Outcome cut_scanned(Lines *lines, size_t wanted, TakeRow take, void *context) {
    const Scan *scan = lines->scan;
    const char *text = lines->text + lines->at;
    uint32_t start = 0;
    size_t first = 0;
    for (size_t i = 0; i < scan->lines_count; i++) {
        size_t last = scan->lines[i], found = wanted, before = first;
        uint32_t end = scan->ends[last], from = start;
        Column columns[MOST_COLUMNS];
        first = last + 1;
        start = end + 1;
        if (from == end && text[end] == '\n' && (from > 0 ? text[from - 1] == '\r' : lines->after_cr)) continue;
        lines->line++;
        if (RARELY(!scan->ascii || !cut_plain(text, from, scan->ends + before, first - before, wanted, columns)))
            TRY(cut_line(lines, text, from, end, wanted, columns, &found));
        if (found != 0) TRY(take(context, text, columns));
    }
    lines->after_cr = text[start - 1] == '\r';
    lines->at += start;
    return DONE;
}

/* Cuts the one line that is longer than a scan, once its end has been read; `more` where it has not. */
static inline Outcome cut_long(Lines *lines, size_t wanted, TakeRow take, void *context, bool *more) {
    const char *text = lines->text + lines->at;
    size_t size = lines->end - lines->at, end = 0, found;
    Column columns[MOST_COLUMNS];
    while (end < size && text[end] != '\n' && text[end] != '\r') end++;
    *more = end == size;
    if (*more) return end > MAX_LINE_BYTES ? refuse(&lines->fault, "long-line", lines->line + 1) : DONE;
    lines->line++;
    TRY(cut_line(lines, text, 0, end, wanted, columns, &found));
    if (found != 0) TRY(take(context, text, columns));
    lines->after_cr = text[end] == '\r';
    lines->at += end + 1;
    return DONE;
}

/* Hands on the rows of every line that has been read to its end. */
ALWAYS_INLINE Outcome cut_lines(Lines *lines, size_t wanted, TakeRow take, void *context) {
    bool more = false;
    while (!more && lines->at < lines->end) {
        size_t size = lines->end - lines->at;
        lines->scan_bytes(lines->scan, lines->text + lines->at, size < SCAN_BYTES ? size : SCAN_BYTES);
        if (lines->scan->lines_count > 0) {
            TRY(cut_scanned(lines, wanted, take, context));
        } else {
            TRY(cut_long(lines, wanted, take, context, &more));
        }
    }
    return DONE;
}

/* How many lines end between two places of a text. */
static inline size_t count_line_ends(const char *text, size_t from, size_t to) {
    size_t count = 0;
    for (size_t i = from; i < to; i++) count += text[i] == '\n' || (text[i] == '\r' && text[i + 1] != '\n');
    return count;
}

#endif
