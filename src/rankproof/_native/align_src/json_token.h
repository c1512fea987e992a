/* Tokens of JSON text. A token that reaches the end of the text is not taken: more text may belong to it. */
#ifndef RANKPROOF_JSON_TOKEN_H
#define RANKPROOF_JSON_TOKEN_H

#include "number.h"
#include "utf8.h"

/* Python reads integers of up to 4,300 digits. */
#define MOST_DIGITS 4000

/* Where the text is read, from `start` on; the byte at `end` is no part of a token. Where something cannot be taken, `at`
 * is the byte that is wrong, or `end`. */
typedef struct {
    char *start, *at, *end;
} Cursor;

typedef enum { TOKEN_TEXT, TOKEN_WHOLE, TOKEN_DECIMAL, TOKEN_WORD } TokenKind;

/* A token, counted from the start of the cursor; a text is without its quotes. */
typedef struct {
    TokenKind kind;
    bool escaped;
    size_t at, size;
} Token;

static inline Slice token_slice(const Cursor *cursor, const Token *token) {
    return (Slice){cursor->start + token->at, token->size};
}

/* Passes white space. */
ALWAYS_INLINE void skip_space(Cursor *cursor) {
    while (cursor->at < cursor->end && (*cursor->at == ' ' || *cursor->at == '\n' || *cursor->at == '\t' || *cursor->at == '\r'))
        cursor->at++;
}

/* Takes one byte, after white space. */
ALWAYS_INLINE bool take_byte(Cursor *cursor, char byte) {
    skip_space(cursor);
    if (cursor->at == cursor->end || *cursor->at != byte) return false;
    cursor->at++;
    return true;
}

/* The value of a hexadecimal digit, -1 for another byte. */
static inline int hex_digit(char byte) {
    if (is_digit(byte)) return byte - '0';
    char lower = (char)(byte | 0x20);
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

static inline bool skip_escape(Cursor *cursor) {
    cursor->at++;
    if (cursor->at == cursor->end || *cursor->at == '\0' || strchr("\"\\/bfnrtu", *cursor->at) == NULL) return false;
    if (*cursor->at++ != 'u') return true;
    for (int i = 0; i < 4; i++, cursor->at++) {
        if (cursor->at == cursor->end || hex_digit(*cursor->at) < 0) return false;
    }
    return true;
}

ALWAYS_INLINE bool take_text(Cursor *cursor, Token *token) {
    if (!take_byte(cursor, '"')) return false;
    const char *from = cursor->at;
    unsigned char any = 0;
    token->kind = TOKEN_TEXT;
    token->escaped = false;
    while (true) {
        unsigned char byte = (unsigned char)*cursor->at;
        if (RARELY(byte == '\\')) {
            token->escaped = true;
            if (!skip_escape(cursor)) return false;
            continue;
        }
        if (byte == '"' || byte < 0x20) break;
        any |= byte;
        cursor->at++;
    }
    if (cursor->at == cursor->end || *cursor->at != '"') return false;
    token->at = (size_t)(from - cursor->start);
    token->size = (size_t)(cursor->at - from);
    if (any >= 0x80 && first_bad_utf8(from, token->size) < token->size) return false;
    cursor->at++;
    return true;
}

static inline size_t skip_digits(Cursor *cursor) {
    const char *from = cursor->at;
    while (cursor->at < cursor->end && is_digit(*cursor->at)) cursor->at++;
    return (size_t)(cursor->at - from);
}

/* Takes a number; the whole number -0 is taken as 0, as Python reads it. */
static inline bool take_number(Cursor *cursor, Token *token) {
    const char *from = cursor->at;
    bool negative = cursor->at < cursor->end && *cursor->at == '-';
    cursor->at += negative;
    bool zero = cursor->at < cursor->end && *cursor->at == '0';
    size_t whole = zero ? 1 : skip_digits(cursor);
    cursor->at += zero;
    if (whole == 0 || whole > MOST_DIGITS) return false;
    token->kind = TOKEN_WHOLE;
    if (*cursor->at == '.') {
        token->kind = TOKEN_DECIMAL;
        cursor->at++;
        if (skip_digits(cursor) == 0) return false;
    }
    if (cursor->at < cursor->end && (*cursor->at == 'e' || *cursor->at == 'E')) {
        token->kind = TOKEN_DECIMAL;
        cursor->at++;
        if (cursor->at < cursor->end && (*cursor->at == '-' || *cursor->at == '+')) cursor->at++;
        if (skip_digits(cursor) == 0) return false;
    }
    from += negative && zero && token->kind == TOKEN_WHOLE;
    token->at = (size_t)(from - cursor->start);
    token->size = (size_t)(cursor->at - from);
    token->escaped = false;
    return cursor->at < cursor->end;
}

static inline bool take_word(Cursor *cursor, Token *token, const char *word) {
    *token = (Token){TOKEN_WORD, false, 0, 0};
    for (; *word != '\0'; word++, cursor->at++) {
        if (cursor->at == cursor->end || *cursor->at != *word) return false;
    }
    return true;
}

/* Takes a text, a number, true, false or null. */
static inline bool take_value(Cursor *cursor, Token *token) {
    skip_space(cursor);
    if (cursor->at == cursor->end) return false;
    switch (*cursor->at) {
        case '"': return take_text(cursor, token);
        case 't': return take_word(cursor, token, "true");
        case 'f': return take_word(cursor, token, "false");
        case 'n': return take_word(cursor, token, "null");
        default: return take_number(cursor, token);
    }
}

static inline uint32_t hex_four(const char *at) {
    uint32_t value = 0;
    for (int i = 0; i < 4; i++) value = value * 16 + (uint32_t)hex_digit(at[i]);
    return value;
}

static inline char *write_utf8(char *to, uint32_t point) {
    if (point < 0x80) return *to++ = (char)point, to;
    int more = point < 0x800 ? 1 : point < 0x10000 ? 2 : 3;
    *to++ = (char)(0xFFu << (7 - more) | point >> (6 * more));
    while (more-- > 0) *to++ = (char)(0x80 | (point >> (6 * more) & 0x3F));
    return to;
}

/* The character of the escape \uXXXX whose digits begin at *at, which is moved behind it; 0 for a lone surrogate. */
static inline uint32_t take_unicode(const char **at, const char *end) {
    uint32_t point = hex_four(*at);
    *at += 4;
    if (point < 0xD800 || point > 0xDFFF) return point;
    if (point > 0xDBFF || end - *at < 6 || (*at)[0] != '\\' || (*at)[1] != 'u') return 0;
    uint32_t low = hex_four(*at + 2);
    if (low < 0xDC00 || low > 0xDFFF) return 0;
    *at += 6;
    return 0x10000 + ((point - 0xD800) << 10) + (low - 0xDC00);
}

/* Writes the characters of a text over its escapes, and shortens it; false for a NUL and for a lone surrogate. */
static inline bool unescape(char *text, size_t *size) {
    static const char ESCAPES[] = "b\bf\fn\nr\rt\t";
    const char *at = text, *end = text + *size;
    char *to = text;
    while (at < end) {
        if (*at != '\\') {
            *to++ = *at++;
            continue;
        }
        char escape = at[1];
        at += 2;
        if (escape != 'u') {
            const char *found = strchr(ESCAPES, escape);
            *to++ = found == NULL ? escape : found[1];
            continue;
        }
        uint32_t point = take_unicode(&at, end);
        if (point == 0) return false;
        to = write_utf8(to, point);
    }
    *size = (size_t)(to - text);
    return true;
}

#endif
