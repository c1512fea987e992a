/* A 64-bit hash of ids, seeded at random for each process so that nobody can choose ids that collide. */
#ifndef RANKPROOF_HASH_H
#define RANKPROOF_HASH_H

#include "base.h"

typedef struct {
    uint64_t first, second;
} Seed;

ALWAYS_INLINE uint64_t folded_product(uint64_t left, uint64_t right) {
#if defined(__SIZEOF_INT128__)
    unsigned __int128 product = (unsigned __int128)left * right;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
#else
    uint64_t a = left >> 32, b = (uint32_t)left, c = right >> 32, d = (uint32_t)right;
    uint64_t low = b * d, middle = a * d + (low >> 32), cross = b * c + (uint32_t)middle;
    return ((cross << 32) | (uint32_t)low) ^ (a * c + (middle >> 32) + (cross >> 32));
#endif
}

/* Spread over all bits, so that no byte of a text makes up for another size. */
ALWAYS_INLINE uint64_t size_key(Seed seed, size_t size) { return seed.second ^ size * UINT64_C(0x9E3779B97F4A7C15); }

static inline uint64_t hash_long(Seed seed, const char *text, size_t size) {
    uint64_t state = size_key(seed, size);
    const char *last = text + size - 16;
    for (; text < last; text += 16) state = folded_product(load64(text) ^ seed.first, load64(text + 8) ^ state);
    return folded_product(load64(last) ^ seed.first, load64(last + 8) ^ state);
}

/* The slots that a table of so many items gets when another comes, a power of two; 0 if it has enough. */
static inline size_t wider_slots(size_t slots, size_t items) {
    if (2 * items < slots) return 0;
    return slots == 0 ? 64 : 2 * slots;
}

/* The hash of a text of which PADDING bytes more may be read. */
ALWAYS_INLINE uint64_t hash_padded(Seed seed, const char *text, size_t size) {
    uint64_t hash;
    if (size <= 8) {
        uint64_t word = size == 0 ? 0 : load64(text) << (64 - 8 * size);
        hash = folded_product(word ^ seed.first, size_key(seed, size));
    } else if (size <= 16) {
        hash = folded_product(load64(text) ^ seed.first, load64(text + size - 8) ^ size_key(seed, size));
    } else {
        hash = hash_long(seed, text, size);
    }
    return hash;
}

#endif
