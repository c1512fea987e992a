/* Decimal text to numbers, to the same bits as Python's float().
 *
 * A score is w / 10^e with an integer w of at most 19 digits nearly always. Where w fits 53 bits one division rounds once
 * and is exact; where it does not, an integer division by 5^e keeps every bit that rounding needs. Other numbers use the
 * slow function. */
#ifndef RANKPROOF_NUMBER_H
#define RANKPROOF_NUMBER_H

#include "../exact_floats.h"
#include "base.h"
#include "powers.h"

#define NO_RANK INT64_MIN
#define MAX_GRADE 1000
#define MAX_GRADE_SIZE 4000

typedef Outcome (*SlowNumber)(void *context, Slice token, double *value);

typedef enum { IS_NUMBER, NOT_A_NUMBER, NEEDS_SLOW } Reading;

ALWAYS_INLINE bool is_digit(char byte) { return (unsigned char)(byte - '0') <= 9; }

/* The value of 1 to 8 digits; false where one of the bytes is no digit. */
ALWAYS_INLINE bool eight_digits(const char *text, size_t size, uint64_t *value) {
    uint64_t word = (load64(text) ^ 0x3030303030303030u) << (64 - 8 * size);
    if (RARELY(((word + 0x7676767676767676u) | word) & 0x8080808080808080u)) return false;
    word = word * 10 + (word >> 8);
    word = (word & 0x000000FF000000FFu) * 0x000F424000000064u + ((word >> 16) & 0x000000FF000000FFu) * 0x0000271000000001u;
    *value = (uint32_t)(word >> 32);
    return true;
}

/* w / 10^e for e from 1 to MOST_FIVES, rounded once: w / 5^e as a 63-bit quotient with a sticky bit, then a power of two. */
static inline bool divided_exactly(uint64_t w, int e, double *value) {
#if defined(__SIZEOF_INT128__)
    int shift = leading_zeros(w), fives_shift = leading_zeros(POWERS_OF_FIVE[e]);
    uint64_t fives = POWERS_OF_FIVE[e] << fives_shift;
    unsigned __int128 dividend = (unsigned __int128)(w << shift) << 63;
    uint64_t quotient = (uint64_t)(dividend / fives);
    uint64_t sticky = (unsigned __int128)quotient * fives != dividend;
    uint64_t exponent = (uint64_t)(1023 - 63 + fives_shift - shift - e) << 52;
    double power;
    memcpy(&power, &exponent, sizeof power);
    *value = (double)(quotient | sticky) * power;
    return true;
#else
    (void)w, (void)e, (void)value;
    return false;
#endif
}

/* w * 10^e where one rounding is enough; false where it needs the slow function. */
ALWAYS_INLINE bool exact_decimal(uint64_t w, int64_t e, double *value) {
    if (w <= (UINT64_C(1) << 53)) {
        if (e <= 0 && e >= -MOST_TENS) return *value = (double)(int64_t)w / POWERS_OF_TEN[-e], true;
        if (e > 0 && e <= MOST_TENS) return *value = (double)(int64_t)w * POWERS_OF_TEN[e], true;
        if (w == 0) return *value = 0.0, true;
    } else if (e == 0) {
        return *value = (double)w, true;
    }
    if (e < 0 && e >= -MOST_FIVES) return divided_exactly(w, (int)-e, value);
    return false;
}

/* Digits, a point, digits: at most 7 and 16 of them, 19 in all; false for any other shape. */
ALWAYS_INLINE bool plain_score(const char *text, size_t size, double *value) {
    bool negative = *text == '-';
    text += negative;
    size -= negative;
    uint64_t points = load64(text) ^ 0x2e2e2e2e2e2e2e2eu;
    points = (points - 0x0101010101010101u) & ~points & 0x8080808080808080u;
    if (RARELY(points == 0)) return false;
    size_t whole = (size_t)lowest_bit(points) >> 3, fraction = size - whole - 1;
    if (RARELY(whole == 0 || fraction - 1 >= 16 || size > 20)) return false;
    uint64_t high, middle = 0, low;
    const char *after = text + whole + 1;
    if (!eight_digits(text, whole, &high)) return false;
    if (fraction > 8) {
        if (!eight_digits(after, fraction - 8, &middle) || !eight_digits(text + size - 8, 8, &low)) return false;
        middle *= 100000000u;
    } else if (!eight_digits(after, fraction, &low)) {
        return false;
    }
    uint64_t w = high * WHOLE_POWERS_OF_TEN[fraction] + middle + low;
    double magnitude;
    if (!exact_decimal(w, -(int64_t)fraction, &magnitude)) return false;
    *value = negative ? -magnitude : magnitude;
    return true;
}

typedef struct {
    uint64_t w;
    int digits;      /* significant ones, in w */
    int64_t dropped; /* digits left out after the 19th */
    bool lost;       /* a digit other than 0 was left out, so that the number lies between w and w + 1 */
} Digits;

static inline const char *take_digits(Digits *digits, const char *at, const char *end) {
    for (; at < end && is_digit(*at); at++) {
        if (digits->digits < 19) {
            digits->w = digits->w * 10 + (uint64_t)(*at - '0');
            digits->digits += digits->w != 0;
        } else {
            digits->dropped++;
            digits->lost |= *at != '0';
        }
    }
    return at;
}

/* The exponent after "e"; NULL where there are no digits, and never beyond a million. */
static inline const char *take_exponent(int64_t *exponent, const char *at, const char *end) {
    bool negative = at < end && *at == '-';
    if (at < end && (*at == '-' || *at == '+')) at++;
    if (at == end) return NULL;
    int64_t value = 0;
    for (; at < end && is_digit(*at); at++) {
        if (value < 1000000) value = value * 10 + (*at - '0');
    }
    *exponent = negative ? -value : value;
    return at;
}

/* Any decimal: [+-] digits [. digits] [e [+-] digits], with a digit before or after the point. */
static inline Reading any_score(Slice token, double *value) {
    const char *at = token.at, *end = token.at + token.size;
    bool negative = at < end && *at == '-';
    if (at < end && (*at == '-' || *at == '+')) at++;
    Digits digits = {0, 0, 0, false};
    const char *start = at;
    at = take_digits(&digits, at, end);
    int64_t whole = at - start, fraction = 0, exponent = 0;
    if (at < end && *at == '.') {
        start = ++at;
        at = take_digits(&digits, at, end);
        fraction = at - start;
    }
    if (whole + fraction == 0) return NOT_A_NUMBER;
    if (at < end && (*at == 'e' || *at == 'E')) {
        at = take_exponent(&exponent, at + 1, end);
        if (at == NULL) return NOT_A_NUMBER;
    }
    if (at != end) return NOT_A_NUMBER;
    double magnitude, above;
    int64_t tens = exponent + digits.dropped - fraction;
    if (!exact_decimal(digits.w, tens, &magnitude)) return NEEDS_SLOW;
    if (digits.lost && (!exact_decimal(digits.w + 1, tens, &above) || above != magnitude)) return NEEDS_SLOW;
    *value = negative ? -magnitude : magnitude;
    return IS_NUMBER;
}

/* A rank of at most 18 digits in padded text, with a sign or without; NO_RANK for anything else. */
static inline int64_t long_rank(const char *text, size_t size) {
    bool negative = *text == '-';
    size_t sign = negative || *text == '+';
    if (size <= sign || size - sign > 18) return NO_RANK;
    int64_t value = 0;
    for (size_t i = sign; i < size; i++) {
        if (!is_digit(text[i])) return NO_RANK;
        value = value * 10 + (text[i] - '0');
    }
    return negative ? -value : value;
}

ALWAYS_INLINE int64_t parse_rank(const char *text, size_t size) {
    uint64_t value;
    if (size - 1 < 8 && eight_digits(text, size, &value)) return (int64_t)value;
    return long_rank(text, size);
}

/* A grade of at most MAX_GRADE that fits 64 bits; false for anything else. */
static inline bool parse_grade(const char *text, size_t size, int64_t *grade) {
    bool negative = *text == '-';
    size_t at = negative || *text == '+';
    if (size <= at || size > MAX_GRADE_SIZE) return false;
    uint64_t value = 0, limit = negative ? UINT64_C(1) << 63 : MAX_GRADE;
    for (; at < size; at++) {
        if (!is_digit(text[at])) return false;
        uint64_t digit = (uint64_t)(text[at] - '0');
        if (value > (limit - digit) / 10) return false;
        value = value * 10 + digit;
    }
    *grade = negative ? (value == 0 ? 0 : -(int64_t)(value - 1) - 1) : (int64_t)value;
    return true;
}

#endif
