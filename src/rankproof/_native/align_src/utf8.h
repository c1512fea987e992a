/* Whether bytes are UTF-8, and if not, where the first sequence that is not begins, as Python's decoder says it. */
#ifndef RANKPROOF_UTF8_H
#define RANKPROOF_UTF8_H

#include "base.h"

static inline bool is_ascii(const char *text, size_t size) {
    uint64_t any = 0;
    size_t i = 0;
    for (; i + 8 <= size; i += 8) any |= load64(text + i);
    for (; i < size; i++) any |= (unsigned char)text[i];
    return (any & 0x8080808080808080u) == 0;
}

/* The size of the sequence at the front, 0 where it is no UTF-8. */
static inline size_t sequence_size(const unsigned char *at, size_t left) {
    unsigned char lead = at[0], low = 0x80, high = 0xBF;
    size_t size = lead < 0x80 ? 1 : lead < 0xC2 ? 0 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : lead < 0xF5 ? 4 : 0;
    if (size < 2 || size > left) return size > left ? 0 : size;
    if (lead == 0xE0) low = 0xA0;
    if (lead == 0xED) high = 0x9F;
    if (lead == 0xF0) low = 0x90;
    if (lead == 0xF4) high = 0x8F;
    if (at[1] < low || at[1] > high) return 0;
    for (size_t i = 2; i < size; i++) {
        if ((at[i] & 0xC0) != 0x80) return 0;
    }
    return size;
}

/* The offset of the first byte that begins no UTF-8 sequence; `size` where there is none. */
static inline size_t first_bad_utf8(const char *text, size_t size) {
    size_t at = 0;
    while (at < size) {
        size_t step = sequence_size((const unsigned char *)text + at, size - at);
        if (step == 0) break;
        at += step;
    }
    return at;
}

#endif
