/* Streamed text: reads blocks, splits lines into columns, and keeps only what the caller still needs. */
#ifndef RANKPROOF_LINES_H
#define RANKPROOF_LINES_H

#include "fault.h"
#include "number.h"
#include "scan.h"
#include "utf8.h"

#ifndef MAX_LINE_BYTES
#define MAX_LINE_BYTES ((size_t)1 << 20)
#endif
#define MOST_COLUMNS 6

/* Reads at most `size` bytes into `to`; 0 is the end. */
typedef Outcome (*ReadBytes)(void *context, char *to, size_t size, size_t *count);

/* A column: where it begins, counted from the text that its row comes with, and its size. */
typedef struct {
    uint32_t at, size;
} Column;

/* Memory for text and for what a scan finds in it. */
typedef struct {
    char *text;
    size_t capacity;
    Scan *scan;
} Buffer;

typedef struct {
    ReadBytes read;
    void *context;
    size_t block;
    int level; /* of wide.h */
    ScanFunction scan_bytes;
    Buffer buffer; /* text from 0 to end; PADDING after it */
    size_t keep;   /* the first byte that the caller still needs; not above `at` */
    size_t at;     /* where the first line that was not cut yet begins */
    size_t end;
    size_t line;                            /* number of the last line that was cut */
    size_t first;                           /* where the text begins, behind a byte-order mark */
    bool after_cr, started, ended, dropped; /* dropped: the text no longer goes back to its first line */
    Fault fault;
} Lines;

static inline void buffer_free(Buffer *buffer) {
    free(buffer->text);
    free(buffer->scan);
}

/* Begins to read into the buffer that `lines` has. `inside`: the stream begins within a file, so that no byte-order mark is
 * looked for. */
static inline Outcome lines_open(Lines *lines, ReadBytes read, void *context, size_t block, int level, bool inside) {
    Buffer buffer = lines->buffer;
    memset(lines, 0, sizeof *lines);
    lines->buffer = buffer;
    lines->read = read;
    lines->context = context;
    lines->block = block;
    lines->level = level_here(level);
    lines->scan_bytes = scan_of_level(lines->level);
    lines->started = inside;
    if (buffer.scan == NULL) lines->buffer.scan = malloc(sizeof *buffer.scan);
    return lines->buffer.scan == NULL ? NO_MEMORY : DONE;
}

static inline void drop_text(Lines *lines) {
    if (lines->keep == 0) return;
    lines->dropped = true;
    memmove(lines->buffer.text, lines->buffer.text + lines->keep, lines->end - lines->keep);
    lines->at -= lines->keep;
    lines->end -= lines->keep;
    lines->keep = 0;
}

/* Reads one more block behind what is kept; at the end of the stream a last line without an end gets one. A NUL byte is refused,
 * for the caller to find out whether it is in an id. */
static inline Outcome lines_read(Lines *lines) {
    size_t count = 0;
    drop_text(lines);
    TRY(grow((void **)&lines->buffer.text, &lines->buffer.capacity, lines->end + lines->block + 1 + PADDING, 1));
    TRY(lines->read(lines->context, lines->buffer.text + lines->end, lines->block, &count));
    if (RARELY(memchr(lines->buffer.text + lines->end, 0, count) != NULL)) return reject(&lines->fault, "nul", 0);
    lines->end += count;
    if (count == 0) {
        lines->ended = true;
        if (lines->end > lines->at) lines->buffer.text[lines->end++] = '\n';
    }
    memset(lines->buffer.text + lines->end, 0, PADDING);
    return DONE;
}

/* Reads the start of the text: an empty stream and UTF-16 are errors, a byte-order mark is skipped. */
static inline Outcome lines_start(Lines *lines) {
    while (!lines->ended && lines->end < 3) TRY(lines_read(lines));
    if (lines->started) return DONE;
    lines->started = true;
    if (lines->end == 0) return reject(&lines->fault, "empty", 0);
    if (memcmp(lines->buffer.text, "\xff\xfe", 2) == 0 || memcmp(lines->buffer.text, "\xfe\xff", 2) == 0)
        return reject(&lines->fault, "utf16", 0);
    if (memcmp(lines->buffer.text, "\xef\xbb\xbf", 3) != 0) return DONE;
    lines->at = lines->first = 3;
    return DONE;
}

ALWAYS_INLINE bool is_space(char byte) { return byte == ' ' || (unsigned char)(byte - '\t') <= 4; }

static inline bool is_blank(const char *text, size_t size) {
    size_t at = 0;
    while (at < size && is_space(text[at])) at++;
    return at == size;
}

static inline Outcome reject_utf8(Lines *lines, const char *text, size_t size) {
    size_t bad = first_bad_utf8(text, size);
    if (bad == size) return DONE;
    reject(&lines->fault, "utf8", lines->line);
    lines->fault.byte = (unsigned char)text[bad];
    lines->fault.found = bad + 1;
    return REJECTED;
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

/* Extends the tag to the end of the line. False if the rank is not a whole number or the tag begins with a number: an id then
 * contains white space, which shifts the columns. */
static inline bool take_rest(const char *text, size_t end, Column *columns) {
    Column *rank = &columns[3], *tag = &columns[MOST_COLUMNS - 1];
    double number;
    if (parse_rank(text + rank->at, rank->size) == NO_RANK) return false;
    if (any_score((Slice){text + tag->at, tag->size}, &number) != NOT_A_NUMBER) return false;
    while (is_space(text[end - 1])) end--;
    tag->size = (uint32_t)(end - tag->at);
    return true;
}

/* Cuts any line; `found` is 0 for one that is blank or a comment. */
static inline Outcome cut_line(Lines *lines, const char *text, size_t start, size_t end, size_t wanted, Column *columns,
                               size_t *found) {
    *found = 0;
    if (end - start > MAX_LINE_BYTES) return reject(&lines->fault, "long-line", lines->line);
    if (text[start] == '#') return DONE;
    *found = split(text, start, end, columns);
    if (*found == 0) return DONE;
    if (!is_ascii(text + start, end - start)) TRY(reject_utf8(lines, text + start, end - start));
    if (*found == wanted || (wanted == MOST_COLUMNS && *found > wanted && take_rest(text, end, columns))) return DONE;
    reject(&lines->fault, wanted == MOST_COLUMNS ? "run-columns" : "qrels-columns", lines->line);
    lines->fault.found = *found;
    return REJECTED;
}

/* Takes one row: its columns, and the text from which they are counted, which stays in place until the pause. */
typedef Outcome (*TakeRow)(void *context, const char *text, const Column *columns);
typedef Outcome (*Pause)(void *context);

/* Cuts a line that is not plain and hands its row on, if it is one. */
static inline Outcome take_odd(Lines *lines, const char *text, size_t start, size_t end, size_t wanted, TakeRow take,
                               void *context) {
    Column columns[MOST_COLUMNS];
    size_t found;
    TRY(cut_line(lines, text, start, end, wanted, columns, &found));
    return found == 0 ? DONE : take(context, text, columns);
}

/* Cuts a line with one white-space byte after each column, as the scan found them, and hands its row on. */
ALWAYS_INLINE Outcome take_plain(const char *text, uint32_t start, const uint32_t *ends, size_t wanted, TakeRow take,
                                 void *context) {
    Column columns[MOST_COLUMNS];
    for (size_t i = 0; i < wanted; i++) {
        columns[i] = (Column){start, ends[i] - start};
        start = ends[i] + 1;
    }
    return take(context, text, columns);
}

/* Whether the columns between such ends are all there. */
ALWAYS_INLINE bool none_empty(uint32_t start, const uint32_t *ends, size_t wanted) {
    uint32_t empty = ends[0] - start - 1;
    for (size_t i = 1; i < wanted; i++) empty |= ends[i] - ends[i - 1] - 2;
    return (empty >> 31) == 0;
}

/* Cuts the lines that one scan found and hands their rows on; `odd` does what `take` does. */
ALWAYS_INLINE Outcome cut_scanned(Lines *lines, size_t wanted, TakeRow take, TakeRow odd, Pause pause, void *context) {
    const Scan *scan = lines->buffer.scan;
    const char *text = lines->buffer.text + lines->at;
    const uint32_t *ends = scan->ends;
    bool plain = scan->plain;
    uint32_t start = 0;
    for (size_t i = 0; i < scan->lines_count; i++) {
        const uint32_t *last = scan->ends + scan->lines[i], *first = ends;
        uint32_t end = *last, from = start;
        ends = last + 1;
        start = end + 1;
        bool regular = (size_t)(ends - first) == wanted && text[from] != '#';
        if (regular && (plain || (scan->ascii && none_empty(from, first, wanted)))) {
            lines->line++;
            TRY(take_plain(text, from, first, wanted, take, context));
        } else if (from != end || text[end] != '\n' || (from > 0 ? text[from - 1] != '\r' : !lines->after_cr)) {
            lines->line++;
            TRY(take_odd(lines, text, from, end, wanted, odd, context));
        }
    }
    TRY(pause(context));
    lines->after_cr = text[start - 1] == '\r';
    lines->at += start;
    return DONE;
}

/* Cuts the one line that is longer than a scan, once its end has been read; `more` where it has not. */
static inline Outcome cut_long(Lines *lines, size_t wanted, TakeRow take, Pause pause, void *context, bool *more) {
    const char *text = lines->buffer.text + lines->at;
    size_t size = lines->end - lines->at, end = 0;
    while (end < size && text[end] != '\n' && text[end] != '\r') end++;
    *more = end == size;
    if (*more) return end > MAX_LINE_BYTES ? reject(&lines->fault, "long-line", lines->line + 1) : DONE;
    lines->line++;
    TRY(take_odd(lines, text, 0, end, wanted, take, context));
    TRY(pause(context));
    lines->after_cr = text[end] == '\r';
    lines->at += end + 1;
    return DONE;
}

/* Hands on the rows of every line that has been read to its end. */
ALWAYS_INLINE Outcome cut_lines(Lines *lines, size_t wanted, TakeRow take, TakeRow odd, Pause pause, void *context) {
    bool more = false;
    while (!more && lines->at < lines->end) {
        size_t size = lines->end - lines->at;
        lines->scan_bytes(lines->buffer.scan, lines->buffer.text + lines->at, size < SCAN_BYTES ? size : SCAN_BYTES);
        if (lines->buffer.scan->lines_count > 0) {
            TRY(cut_scanned(lines, wanted, take, odd, pause, context));
        } else {
            TRY(cut_long(lines, wanted, odd, pause, context, &more));
        }
    }
    return DONE;
}

/* The first line ending from `from` on, `to` where there is none; the text is padded. */
static inline size_t find_line_end(const char *text, size_t from, size_t to) {
    const uint64_t ones = 0x0101010101010101u;
    for (; from < to; from += 8) {
        uint64_t word = load64(text + from), found = zero_bytes(word ^ (ones * '\n')) | zero_bytes(word ^ (ones * '\r'));
        if (found != 0) return from + ((size_t)lowest_bit(found) >> 3);
    }
    return to;
}

/* Takes one line without its ending; the text may be changed. */
typedef Outcome (*TakeLine)(void *context, char *text, size_t size);

static inline Outcome take_line(Lines *lines, size_t end, TakeLine take, void *context) {
    char *text = lines->buffer.text + lines->at;
    size_t size = end - lines->at;
    lines->line++;
    if (size > MAX_LINE_BYTES) return reject(&lines->fault, "long-line", lines->line);
    if (!is_ascii(text, size)) TRY(reject_utf8(lines, text, size));
    TRY(take(context, text, size));
    lines->after_cr = lines->buffer.text[end] == '\r';
    lines->at = end + 1;
    return DONE;
}

/* Hands on every line of a stream. */
static inline Outcome each_line(Lines *lines, TakeLine take, void *context) {
    TRY(lines_start(lines));
    while (true) {
        const char *text = lines->buffer.text;
        if (lines->after_cr && lines->at < lines->end) {
            lines->at += text[lines->at] == '\n';
            lines->after_cr = false;
        }
        size_t end = find_line_end(text, lines->at, lines->end);
        if (end < lines->end) {
            TRY(take_line(lines, end, take, context));
            continue;
        }
        if (lines->ended) return DONE;
        if (end - lines->at > MAX_LINE_BYTES) return reject(&lines->fault, "long-line", lines->line + 1);
        lines->keep = lines->at;
        TRY(lines_read(lines));
    }
}

/* Goes back to the first line, where nothing has been dropped. */
static inline void lines_rewind(Lines *lines) {
    lines->at = lines->first;
    lines->line = 0;
    lines->after_cr = false;
}

/* How many lines end between two places of a text. */
static inline size_t count_line_ends(const char *text, size_t from, size_t to) {
    size_t count = 0;
    for (size_t i = from; i < to; i++) count += text[i] == '\n' || (text[i] == '\r' && text[i + 1] != '\n');
    return count;
}

#endif
