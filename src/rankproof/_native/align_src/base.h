/* Used by every part of the reader: outcomes, unaligned loads, bit counts and checked growth. */
#ifndef RANKPROOF_BASE_H
#define RANKPROOF_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#if defined(_MSC_VER) && !defined(__clang__)
#include <intrin.h>
#define ALWAYS_INLINE static __forceinline
#define RARELY(condition) (condition)
#else
#define ALWAYS_INLINE static inline __attribute__((always_inline))
#define RARELY(condition) __builtin_expect(!!(condition), 0)
#endif

/* Bytes that may be read after the end of any text that is compared or hashed. */
#define PADDING 64

typedef enum {
    DONE,
    NO_MEMORY,
    REJECTED, /* the input is wrong; a Fault says what and where */
    STOPPED,  /* the caller's stream failed or was interrupted */
    AGAIN     /* a query occurs again after another one; read everything and group it */
} Outcome;

typedef struct {
    const char *at;
    size_t size;
} Slice;

ALWAYS_INLINE uint64_t load64(const void *from) {
    uint64_t word;
    memcpy(&word, from, sizeof word);
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    word = __builtin_bswap64(word);
#endif
    return word;
}

ALWAYS_INLINE int lowest_bit(uint64_t word) {
#if defined(_MSC_VER) && !defined(__clang__)
    unsigned long index;
    _BitScanForward64(&index, word);
    return (int)index;
#else
    return __builtin_ctzll(word);
#endif
}

ALWAYS_INLINE int leading_zeros(uint64_t word) {
#if defined(_MSC_VER) && !defined(__clang__)
    unsigned long index;
    _BitScanReverse64(&index, word);
    return 63 - (int)index;
#else
    return __builtin_clzll(word);
#endif
}

ALWAYS_INLINE int bit_count(uint64_t word) {
#if defined(_MSC_VER) && !defined(__clang__)
    word -= (word >> 1) & 0x5555555555555555u;
    word = (word & 0x3333333333333333u) + ((word >> 2) & 0x3333333333333333u);
    return (int)((((word + (word >> 4)) & 0x0f0f0f0f0f0f0f0fu) * 0x0101010101010101u) >> 56);
#else
    return __builtin_popcountll(word);
#endif
}

/* Whether two texts of the same size are equal; both may be read PADDING bytes past their end. */
ALWAYS_INLINE bool same_padded(const char *left, const char *right, size_t size) {
    if (size <= 8) return size == 0 || ((load64(left) ^ load64(right)) << (64 - 8 * size)) == 0;
    if (size <= 16) return ((load64(left) ^ load64(right)) | (load64(left + size - 8) ^ load64(right + size - 8))) == 0;
    return memcmp(left, right, size) == 0;
}

ALWAYS_INLINE size_t smaller(size_t left, size_t right) { return left < right ? left : right; }

/* Bytewise order of two ids, a prefix before the longer one. */
static inline int compare_ids(Slice left, Slice right) {
    int order = memcmp(left.at, right.at, smaller(left.size, right.size));
    if (order != 0) return order;
    return (left.size > right.size) - (left.size < right.size);
}

/* The items that a buffer gets room for; builds that look for reads behind a buffer give small ones none to spare. */
#ifndef GROWN
#define GROWN(wanted) (2 * (wanted))
#endif
#define MOST_BYTES (SIZE_MAX / 4)

/* Grows *array to hold at least `wanted` items; the old array stays valid when there is no memory. */
static inline Outcome grow(void **array, size_t *capacity, size_t wanted, size_t item) {
    if (wanted <= *capacity) return DONE;
    if (wanted > MOST_BYTES / item) return NO_MEMORY;
    void *moved = realloc(*array, GROWN(wanted) * item);
    if (moved == NULL) return NO_MEMORY;
    *array = moved;
    *capacity = GROWN(wanted);
    return DONE;
}

/* Zeros for so many items; NULL only where there is no memory. */
static inline void *zeroed(size_t count, size_t item) { return calloc(count + (count == 0), item); }

#define TRY(call)                                      \
    do {                                               \
        Outcome outcome_ = (call);                     \
        if (RARELY(outcome_ != DONE)) return outcome_; \
    } while (0)

#endif
