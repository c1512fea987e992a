/* BLAKE2b (RFC 7693), without a key. */
#ifndef RANKPROOF_BLAKE2B_H
#define RANKPROOF_BLAKE2B_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { BLOCK = 128 };

static const uint64_t IV[8] = {
    0x6a09e667f3bcc908U, 0xbb67ae8584caa73bU, 0x3c6ef372fe94f82bU, 0xa54ff53a5f1d36f1U,
    0x510e527fade682d1U, 0x9b05688c2b3e6c1fU, 0x1f83d9abfb41bd6bU, 0x5be0cd19137e2179U,
};

typedef struct {
    uint64_t state[8], count;
    uint8_t block[BLOCK];
    size_t filled;
} Blake;

static uint64_t load64(const uint8_t *at) {
    uint64_t value = 0;
    for (int byte = 7; byte >= 0; byte--) value = value << 8 | at[byte];
    return value;
}

static void store64(uint8_t *at, uint64_t value) {
    for (int byte = 0; byte < 8; byte++) at[byte] = (uint8_t)(value >> 8 * byte);
}

static inline uint64_t rotated(uint64_t value, int by) { return value >> by | value << (64 - by); }

#define MIX(a, b, c, d, x, y)           \
    do {                                \
        a += b + (x);                   \
        d = rotated(d ^ a, 32);         \
        c += d;                         \
        b = rotated(b ^ c, 24);         \
        a += b + (y);                   \
        d = rotated(d ^ a, 16);         \
        c += d;                         \
        b = rotated(b ^ c, 63);         \
    } while (0)
#define ROUND(s0, s1, s2, s3, s4, s5, s6, s7, s8, s9, sa, sb, sc, sd, se, sf) \
    do {                                                                      \
        MIX(v[0], v[4], v[8], v[12], m[s0], m[s1]);                           \
        MIX(v[1], v[5], v[9], v[13], m[s2], m[s3]);                           \
        MIX(v[2], v[6], v[10], v[14], m[s4], m[s5]);                          \
        MIX(v[3], v[7], v[11], v[15], m[s6], m[s7]);                          \
        MIX(v[0], v[5], v[10], v[15], m[s8], m[s9]);                          \
        MIX(v[1], v[6], v[11], v[12], m[sa], m[sb]);                          \
        MIX(v[2], v[7], v[8], v[13], m[sc], m[sd]);                           \
        MIX(v[3], v[4], v[9], v[14], m[se], m[sf]);                           \
    } while (0)

static void compress(Blake *blake, const uint8_t *block, bool last) {
    uint64_t v[16], m[16];
    for (int at = 0; at < 16; at++) m[at] = load64(block + 8 * at);
    for (int at = 0; at < 8; at++) {
        v[at] = blake->state[at];
        v[at + 8] = IV[at];
    }
    v[12] ^= blake->count;
    if (last) v[14] = ~v[14];
    ROUND(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    ROUND(14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3);
    ROUND(11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4);
    ROUND(7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8);
    ROUND(9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13);
    ROUND(2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9);
    ROUND(12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11);
    ROUND(13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10);
    ROUND(6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5);
    ROUND(10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0);
    ROUND(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    ROUND(14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3);
    for (int at = 0; at < 8; at++) blake->state[at] ^= v[at] ^ v[at + 8];
}

static void blake_begin(Blake *blake, uint64_t size) {
    memcpy(blake->state, IV, sizeof IV);
    blake->state[0] ^= 0x01010000U ^ size;
    blake->count = 0;
    blake->filled = 0;
}

/* The last block is compressed at the end only, so a full one waits for a further byte. */
static void blake_add(Blake *blake, const uint8_t *data, size_t size) {
    while (size > 0) {
        if (blake->filled == BLOCK) {
            blake->count += BLOCK;
            compress(blake, blake->block, false);
            blake->filled = 0;
        }
        while (blake->filled == 0 && size > BLOCK) {
            blake->count += BLOCK;
            compress(blake, data, false);
            data += BLOCK;
            size -= BLOCK;
        }
        size_t taken = BLOCK - blake->filled < size ? BLOCK - blake->filled : size;
        memcpy(blake->block + blake->filled, data, taken);
        blake->filled += taken;
        data += taken;
        size -= taken;
    }
}

static void blake_end(Blake *blake) {
    blake->count += blake->filled;
    memset(blake->block + blake->filled, 0, BLOCK - blake->filled);
    compress(blake, blake->block, true);
}

#endif
