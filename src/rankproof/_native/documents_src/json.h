/* Values of JSON: read into the members of an object, and written as text or as json.dumps writes them. */
#ifndef RANKPROOF_JSON_H
#define RANKPROOF_JSON_H

#include "buffer.h"

enum { MOST_MEMBERS = 64, MOST_DEPTH = 12, MOST_DIGITS = 15, MOST_INTEGER_DIGITS = 18, WIDEST_ESCAPE = 6 };

typedef enum { STRING, ESCAPED, INTEGER, NOTHING, OTHER } Kind;

/* A value of an object: what lies between the quotes of a string, else the whole value. */
typedef struct {
    const uint8_t *key, *value;
    size_t key_size, size;
    Kind kind;
} Member;

/* `unsorted` is set where the keys of an object inside are not in ascending order. */
typedef struct {
    const uint8_t *at, *end;
    bool unsorted;
} Cursor;

static void skip_space(Cursor *text) {
    while (text->at < text->end && (*text->at == ' ' || *text->at == '\t' || *text->at == '\r')) text->at++;
}

static bool take(Cursor *text, uint8_t wanted) {
    skip_space(text);
    if (text->at >= text->end || *text->at != wanted) return false;
    text->at++;
    return true;
}

static int hex_digit(uint8_t byte) {
    if (byte >= '0' && byte <= '9') return byte - '0';
    byte |= 0x20;
    return byte >= 'a' && byte <= 'f' ? byte - 'a' + 10 : -1;
}

/* The number of four hexadecimal digits, -1 where there are none. */
static int32_t hex_number(const uint8_t *at, const uint8_t *end) {
    if (end - at < 4) return -1;
    int32_t value = 0;
    for (int digit = 0; digit < 4; digit++) {
        int found = hex_digit(at[digit]);
        if (found < 0) return -1;
        value = value * 16 + found;
    }
    return value;
}

static bool is_high_surrogate(int32_t value) { return value >= 0xD800 && value <= 0xDBFF; }
static bool is_low_surrogate(int32_t value) { return value >= 0xDC00 && value <= 0xDFFF; }

/* Past an escape, from its backslash; a lone surrogate is not usual. */
static bool skip_escape(Cursor *text) {
    if (text->end - text->at < 2) return false;
    uint8_t kind = text->at[1];
    text->at += 2;
    if (kind != 'u') return kind != 0 && strchr("\"\\/bfnrt", kind) != NULL;
    int32_t value = hex_number(text->at, text->end);
    if (value < 0 || is_low_surrogate(value)) return false;
    text->at += 4;
    if (!is_high_surrogate(value)) return true;
    if (text->end - text->at < 6 || text->at[0] != '\\' || text->at[1] != 'u') return false;
    bool is_pair = is_low_surrogate(hex_number(text->at + 2, text->end));
    text->at += 6;
    return is_pair;
}

static bool is_between(uint8_t byte, uint8_t low, uint8_t high) { return byte >= low && byte <= high; }

/* The length of the valid UTF-8 sequence of two to four bytes, 0 where there is none. */
static int sequence_length(const uint8_t *at, const uint8_t *end) {
    uint8_t first = at[0];
    ptrdiff_t left = end - at;
    if (first < 0xE0) return first >= 0xC2 && left >= 2 && is_between(at[1], 0x80, 0xBF) ? 2 : 0;
    if (first < 0xF0) {
        uint8_t low = first == 0xE0 ? 0xA0 : 0x80, high = first == 0xED ? 0x9F : 0xBF;
        return left >= 3 && is_between(at[1], low, high) && is_between(at[2], 0x80, 0xBF) ? 3 : 0;
    }
    uint8_t low = first == 0xF0 ? 0x90 : 0x80, high = first == 0xF4 ? 0x8F : 0xBF;
    bool whole = first <= 0xF4 && left >= 4 && is_between(at[1], low, high);
    return whole && is_between(at[2], 0x80, 0xBF) && is_between(at[3], 0x80, 0xBF) ? 4 : 0;
}

#define EACH(byte) (0x0101010101010101U * (byte))

/* Past bytes that need no look: neither a quote, a backslash, a control character nor a byte above 127. */
static void skip_plain(Cursor *text) {
    while (text->end - text->at >= 8) {
        uint64_t word;
        memcpy(&word, text->at, 8);
        uint64_t quote = word ^ EACH(0x22U), backslash = word ^ EACH(0x5CU);
        uint64_t found = (quote - EACH(1U)) | (backslash - EACH(1U)) | (word - EACH(0x20U)) | word;
        if (found & EACH(0x80U)) return;
        text->at += 8;
    }
}

/* Past a string, from its first byte after the quote. */
static bool skip_string(Cursor *text, bool *escaped) {
    for (;;) {
        skip_plain(text);
        for (int count = 0; count < 8; count++) {
            if (text->at >= text->end) return false;
            uint8_t byte = *text->at;
            if (byte == '"') {
                text->at++;
                return true;
            }
            if (byte == '\\') {
                *escaped = true;
                if (!skip_escape(text)) return false;
            } else if (byte >= 0x80) {
                int length = sequence_length(text->at, text->end);
                if (length == 0) return false;
                text->at += length;
            } else if (byte < 0x20) {
                return false;
            } else {
                text->at++;
            }
        }
    }
}

static size_t skip_digits(Cursor *text) {
    const uint8_t *start = text->at;
    while (text->at < text->end && *text->at >= '0' && *text->at <= '9') text->at++;
    return (size_t)(text->at - start);
}

/* Past a number that Python writes with the same characters. */
static bool skip_number(Cursor *text, Kind *kind) {
    bool negative = *text->at == '-';
    text->at += negative;
    const uint8_t *first = text->at;
    size_t digits = skip_digits(text);
    bool zero = digits > 0 && *first == '0';
    if (digits == 0 || (zero && digits > 1) || digits > MOST_INTEGER_DIGITS) return false;
    *kind = INTEGER;
    if (text->at < text->end && *text->at == '.') {
        text->at++;
        const uint8_t *part = text->at;
        size_t count = skip_digits(text), leading = 0;
        while (leading < count && part[leading] == '0') leading++;
        if (count == 0 || digits + count > MOST_DIGITS || (count > 1 && part[count - 1] == '0') || (zero && leading > 3)) return false;
        *kind = OTHER;
    } else if (negative && zero) {
        return false;
    }
    return text->at >= text->end || (*text->at != 'e' && *text->at != 'E' && *text->at != '.');
}

static bool skip_word(Cursor *text, const char *word) {
    size_t size = strlen(word);
    if ((size_t)(text->end - text->at) < size || memcmp(text->at, word, size) != 0) return false;
    text->at += size;
    return true;
}

static int compare_keys(const Member *one, const Member *other) {
    size_t size = one->key_size < other->key_size ? one->key_size : other->key_size;
    int found = memcmp(one->key, other->key, size);
    return found != 0 ? found : (one->key_size > other->key_size) - (one->key_size < other->key_size);
}

static bool read_value(Cursor *text, Member *member, int depth);

/* The members of an object, from the byte after its brace; -1 where it is not usual. */
static int read_members(Cursor *text, Member *members, int depth) {
    int count = 0;
    if (take(text, '}')) return 0;
    do {
        if (count == MOST_MEMBERS) return -1;
        Member *member = &members[count];
        if (!take(text, '"')) return -1;
        member->key = text->at;
        while (text->at < text->end && *text->at >= 0x20 && *text->at < 0x7F && *text->at != '"' && *text->at != '\\') text->at++;
        member->key_size = (size_t)(text->at - member->key);
        if (text->at >= text->end || *text->at != '"') return -1;
        text->at++;
        for (int before = 0; before < count; before++)
            if (compare_keys(&members[before], member) == 0) return -1;
        if (!take(text, ':') || !read_value(text, member, depth)) return -1;
        count++;
    } while (take(text, ','));
    return take(text, '}') ? count : -1;
}

static bool is_ascending(const Member *members, int count) {
    for (int at = 1; at < count; at++)
        if (compare_keys(&members[at - 1], &members[at]) > 0) return false;
    return true;
}

static bool read_object(Cursor *text, int depth) {
    Member members[MOST_MEMBERS];
    int count = depth < MOST_DEPTH ? read_members(text, members, depth + 1) : -1;
    if (count > 0 && !is_ascending(members, count)) text->unsorted = true;
    return count >= 0;
}

static bool read_array(Cursor *text, int depth) {
    Member item;
    if (depth >= MOST_DEPTH) return false;
    if (take(text, ']')) return true;
    do {
        if (!read_value(text, &item, depth + 1)) return false;
    } while (take(text, ','));
    return take(text, ']');
}

static bool read_value(Cursor *text, Member *member, int depth) {
    skip_space(text);
    if (text->at >= text->end) return false;
    const uint8_t *start = text->at;
    bool escaped = false, usual;
    member->kind = OTHER;
    switch (*start) {
    case '"':
        text->at++;
        usual = skip_string(text, &escaped);
        member->kind = escaped ? ESCAPED : STRING;
        member->value = start + 1;
        member->size = (size_t)(text->at - start) - (usual ? 2 : 0);
        return usual;
    case '{':
        text->at++;
        usual = read_object(text, depth);
        break;
    case '[':
        text->at++;
        usual = read_array(text, depth);
        break;
    case 't':
        usual = skip_word(text, "true");
        break;
    case 'f':
        usual = skip_word(text, "false");
        break;
    case 'n':
        usual = skip_word(text, "null");
        member->kind = NOTHING;
        break;
    default:
        usual = (*start == '-' || (*start >= '0' && *start <= '9')) && skip_number(text, &member->kind);
    }
    member->value = start;
    member->size = (size_t)(text->at - start);
    return usual;
}

static void put_character(Buffer *out, uint32_t value) {
    if (value < 0x80) {
        put_byte(out, (uint8_t)value);
    } else if (value < 0x800) {
        put_byte(out, (uint8_t)(0xC0 | value >> 6));
        put_byte(out, (uint8_t)(0x80 | (value & 0x3F)));
    } else if (value < 0x10000) {
        put_byte(out, (uint8_t)(0xE0 | value >> 12));
        put_byte(out, (uint8_t)(0x80 | (value >> 6 & 0x3F)));
        put_byte(out, (uint8_t)(0x80 | (value & 0x3F)));
    } else {
        put_byte(out, (uint8_t)(0xF0 | value >> 18));
        put_byte(out, (uint8_t)(0x80 | (value >> 12 & 0x3F)));
        put_byte(out, (uint8_t)(0x80 | (value >> 6 & 0x3F)));
        put_byte(out, (uint8_t)(0x80 | (value & 0x3F)));
    }
}

/* The character of an escape that `skip_escape` has passed; moves past it. */
static uint32_t escaped_character(const uint8_t **at, const uint8_t *end) {
    uint8_t kind = (*at)[1];
    *at += 2;
    switch (kind) {
    case 'b': return 8;
    case 'f': return 12;
    case 'n': return 10;
    case 'r': return 13;
    case 't': return 9;
    case 'u': break;
    default: return kind;
    }
    uint32_t value = (uint32_t)hex_number(*at, end);
    *at += 4;
    if (!is_high_surrogate((int32_t)value)) return value;
    uint32_t low = (uint32_t)hex_number(*at + 2, end);
    *at += 6;
    return 0x10000 + ((value - 0xD800) << 10) + (low - 0xDC00);
}

/* A string as text; it never takes more bytes than its JSON. */
static void put_text(Buffer *out, const Member *member) {
    const uint8_t *at = member->value, *end = at + member->size;
    if (member->kind == STRING) {
        put(out, at, member->size);
        return;
    }
    while (at < end) {
        const uint8_t *next = memchr(at, '\\', (size_t)(end - at));
        size_t size = (size_t)((next == NULL ? end : next) - at);
        put(out, at, size);
        at += size;
        if (next != NULL) put_character(out, escaped_character(&at, end));
    }
}

static void put_escape(Buffer *out, uint32_t value) {
    static const char digits[] = "0123456789abcdef";
    put_byte(out, '\\');
    put_byte(out, 'u');
    for (int shift = 12; shift >= 0; shift -= 4) put_byte(out, (uint8_t)digits[value >> shift & 15]);
}

/* A character in a string as json.dumps writes it. */
static void put_dumped(Buffer *out, uint32_t value) {
    static const char controls[] = "\b\f\n\r\t", letters[] = "bfnrt";
    const char *found = value > 0 && value < 0x20 ? strchr(controls, (int)value) : NULL;
    if (found != NULL || value == '"' || value == '\\') {
        put_byte(out, '\\');
        put_byte(out, found != NULL ? (uint8_t)letters[found - controls] : (uint8_t)value);
    } else if (value >= 0x20 && value < 0x7F) {
        put_byte(out, (uint8_t)value);
    } else if (value < 0x10000) {
        put_escape(out, value);
    } else {
        put_escape(out, 0xD800 + ((value - 0x10000) >> 10));
        put_escape(out, 0xDC00 + ((value - 0x10000) & 0x3FF));
    }
}

static uint32_t next_character(const uint8_t **at, const uint8_t *end) {
    const uint8_t *start = *at;
    if (*start == '\\') return escaped_character(at, end);
    if (*start < 0x80) {
        *at += 1;
        return *start;
    }
    int length = *start < 0xE0 ? 2 : *start < 0xF0 ? 3 : 4;
    uint32_t value = *start & (0x7FU >> length);
    for (int byte = 1; byte < length; byte++) value = value << 6 | (start[byte] & 0x3FU);
    *at += length;
    return value;
}

static void put_value(Buffer *out, const Member *member, bool sorted);

/* The members that have a key, as an object in compact JSON. */
static void put_members(Buffer *out, const Member *members, int count, bool sorted) {
    int order[MOST_MEMBERS], kept = 0;
    for (int at = 0; at < count; at++) {
        if (members[at].key == NULL) continue;
        int place = kept++;
        for (; sorted && place > 0 && compare_keys(&members[order[place - 1]], &members[at]) > 0; place--) order[place] = order[place - 1];
        order[place] = at;
    }
    put_byte(out, '{');
    for (int at = 0; at < kept; at++) {
        const Member *member = &members[order[at]];
        if (at > 0) put_byte(out, ',');
        put_byte(out, '"');
        put(out, member->key, member->key_size);
        put_byte(out, '"');
        put_byte(out, ':');
        put_value(out, member, sorted);
    }
    put_byte(out, '}');
}

static void put_object(Buffer *out, Cursor *text, bool sorted) {
    Member members[MOST_MEMBERS];
    int count = read_members(text, members, 0);
    put_members(out, members, count, sorted);
}

static void put_array(Buffer *out, Cursor *text, bool sorted) {
    Member item;
    put_byte(out, '[');
    for (bool first = true; !take(text, ']'); first = false) {
        if (!first) {
            take(text, ',');
            put_byte(out, ',');
        }
        read_value(text, &item, 0);
        put_value(out, &item, sorted);
    }
    put_byte(out, ']');
}

/* A value that has been read once, as compact JSON in ASCII; at most WIDEST_ESCAPE times its bytes. */
static void put_value(Buffer *out, const Member *member, bool sorted) {
    const uint8_t *at = member->value, *end = at + member->size;
    Cursor inside = {at + 1, end, false};
    if (member->kind == STRING || member->kind == ESCAPED) {
        put_byte(out, '"');
        while (at < end) put_dumped(out, next_character(&at, end));
        put_byte(out, '"');
    } else if (*at == '{') {
        put_object(out, &inside, sorted);
    } else if (*at == '[') {
        put_array(out, &inside, sorted);
    } else {
        put(out, at, member->size);
    }
}

#endif
