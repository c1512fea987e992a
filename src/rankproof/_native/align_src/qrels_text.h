/* Judgements from TREC text: query 0 doc grade. */
#ifndef RANKPROOF_QRELS_TEXT_H
#define RANKPROOF_QRELS_TEXT_H

#include "judge.h"
#include "lines.h"
#include "number.h"

#define USUAL_LINE_BYTES 16

/* The second column of the first row. */
typedef struct {
    char text[32];
    size_t size;
    bool known;
} FirstSecond;

typedef struct {
    Lines *lines;
    Judge *judge;
    FirstSecond second;
} QrelsText;

/* Whether the second column may name a judge, which label_in_second in _data/qrels.py decides: it has letters and is not Q0. */
static inline bool is_mark(Slice text) {
    size_t at = (text.at[0] | ' ') == 'q' && text.size > 1;
    for (; at < text.size; at++)
        if ((text.at[at] & 0x80) || ((text.at[at] | ' ') >= 'a' && (text.at[at] | ' ') <= 'z')) return true;
    return false;
}

/* Whether the second column differs from that of the first row, so that it may name subtopics; a long one always does. */
static inline bool is_other_second(FirstSecond *first, Slice text) {
    if (RARELY(!first->known)) {
        first->known = true;
        first->size = text.size;
        if (text.size <= sizeof first->text) memcpy(first->text, text.at, text.size);
    }
    return text.size != first->size || text.size > sizeof first->text || memcmp(text.at, first->text, text.size) != 0;
}

/* Whether the second column must be read in Python: it may say who judged, or has more than one value. */
static inline bool is_second_read_in_python(FirstSecond *first, Slice text) {
    return is_other_second(first, text) || (RARELY(text.size > 1 || (unsigned char)text.at[0] > '9') && is_mark(text));
}

ALWAYS_INLINE Outcome take_judgement(void *context, const char *text, const Column *columns) {
    QrelsText *qrels = context;
    Lines *lines = qrels->lines;
    size_t query;
    int64_t grade;
    Slice token = {text + columns[3].at, columns[3].size};
    if (!parse_grade(token.at, token.size, &grade)) {
        reject(&lines->fault, "grade", lines->line);
        lines->fault.token = token;
        return REJECTED;
    }
    if (RARELY(is_second_read_in_python(&qrels->second, (Slice){text + columns[1].at, columns[1].size})))
        qrels->judge->marked = true;
    TRY(judge_query(qrels->judge, (Slice){text + columns[0].at, columns[0].size}, &query));
    return judge_add(qrels->judge, query, (Slice){text + columns[2].at, columns[2].size}, grade, lines->line, &lines->fault);
}

static Outcome take_odd_judgement(void *context, const char *text, const Column *columns) {
    return take_judgement(context, text, columns);
}

static inline Outcome nothing_pending(void *context) { return (void)context, DONE; }

/* Reads every judgement of a stream into `judge`. */
static inline Outcome read_qrels(Lines *lines, Judge *judge) {
    QrelsText qrels = {.lines = lines, .judge = judge};
    TRY(lines_start(lines));
    judge->expected = lines->end / USUAL_LINE_BYTES;
    while (true) {
        TRY(cut_lines(lines, 4, take_judgement, take_odd_judgement, nothing_pending, &qrels));
        if (lines->ended) break;
        lines->keep = lines->at;
        TRY(lines_read(lines));
    }
    return judge->count == 0 ? reject(&lines->fault, "no-rows", 0) : DONE;
}

#endif
