/* Products of unsigned bytes (rows) with signed bytes (columns), summed exactly in 32 bits: every kernel gives the same numbers.

   Columns are packed by panels of `width` columns: for each four inputs, the four bytes of one column after the other. */
#ifndef RANKPROOF_TILES_H
#define RANKPROOF_TILES_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { TILE_ROWS = 6, STEP = 4, PANEL = 64, LANES = 16 };

#if defined(__x86_64__) && ((defined(__clang__) && __clang_major__ >= 8) || (!defined(__clang__) && defined(__GNUC__) && __GNUC__ >= 9))
#include <immintrin.h>
#define HAS_X86_KERNELS 1
#define VNNI_TARGET __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx512vnni")))
#define AVX2_TARGET __attribute__((target("avx2")))
#endif

typedef enum { ANY_KERNEL, AVX2_KERNEL, VNNI_KERNEL } Kernel;

typedef struct {
    const uint8_t *rows;
    size_t stride;
    const int8_t *panel;
    size_t steps;
} Operands;

static inline void tile_any(Operands given, size_t width, int32_t *sums) {
    memset(sums, 0, TILE_ROWS * width * sizeof *sums);
    for (size_t row = 0; row < TILE_ROWS; row++)
        for (size_t step = 0; step < given.steps; step++) {
            const uint8_t *left = given.rows + row * given.stride + step * STEP;
            const int8_t *right = given.panel + step * width * STEP;
            for (size_t column = 0; column < width; column++)
                for (size_t at = 0; at < STEP; at++) sums[row * width + column] += (int32_t)left[at] * (int32_t)right[column * STEP + at];
        }
}

#ifdef HAS_X86_KERNELS
static inline int32_t four_bytes(const uint8_t *from) {
    int32_t bytes;
    memcpy(&bytes, from, sizeof bytes);
    return bytes;
}

/* `vectors` of sixteen columns; a constant, so that the sums stay in registers. */
VNNI_TARGET static inline __attribute__((always_inline)) void tile_vnni(Operands given, const size_t vectors, int32_t *out) {
    __m512i sums[TILE_ROWS][PANEL / LANES];
#pragma GCC unroll 6
    for (size_t row = 0; row < TILE_ROWS; row++)
#pragma GCC unroll 4
        for (size_t at = 0; at < vectors; at++) sums[row][at] = _mm512_setzero_si512();
    for (size_t step = 0; step < given.steps; step++) {
        __m512i columns[PANEL / LANES];
#pragma GCC unroll 4
        for (size_t at = 0; at < vectors; at++)
            columns[at] = _mm512_loadu_si512(given.panel + (step * vectors + at) * LANES * STEP);
#pragma GCC unroll 6
        for (size_t row = 0; row < TILE_ROWS; row++) {
            __m512i bytes = _mm512_set1_epi32(four_bytes(given.rows + row * given.stride + step * STEP));
#pragma GCC unroll 4
            for (size_t at = 0; at < vectors; at++) sums[row][at] = _mm512_dpbusd_epi32(sums[row][at], bytes, columns[at]);
        }
    }
#pragma GCC unroll 6
    for (size_t row = 0; row < TILE_ROWS; row++)
#pragma GCC unroll 4
        for (size_t at = 0; at < vectors; at++) _mm512_storeu_si512(out + (row * vectors + at) * LANES, sums[row][at]);
}

/* Four columns at a time for three rows: the bytes become 16 bits, as products of bytes in pairs would overflow. */
AVX2_TARGET static inline void tile_avx2(Operands given, size_t width, int32_t *out) {
    for (size_t row = 0; row < TILE_ROWS; row += 3)
        for (size_t column = 0; column < width; column += 8) {
            __m256i sums[3][2];
            for (size_t at = 0; at < 3; at++) sums[at][0] = sums[at][1] = _mm256_setzero_si256();
            for (size_t step = 0; step < given.steps; step++) {
                const int8_t *right = given.panel + (step * width + column) * STEP;
                __m256i first = _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)(const void *)right));
                __m256i second = _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)(const void *)(right + 16)));
#pragma GCC unroll 3
                for (size_t at = 0; at < 3; at++) {
                    __m256i bytes = _mm256_cvtepu8_epi16(_mm_set1_epi32(four_bytes(given.rows + (row + at) * given.stride + step * STEP)));
                    sums[at][0] = _mm256_add_epi32(sums[at][0], _mm256_madd_epi16(bytes, first));
                    sums[at][1] = _mm256_add_epi32(sums[at][1], _mm256_madd_epi16(bytes, second));
                }
            }
            for (size_t at = 0; at < 3; at++) {
                __m256i pairs = _mm256_hadd_epi32(sums[at][0], sums[at][1]);
                _mm256_storeu_si256((__m256i *)(void *)(out + (row + at) * width + column), _mm256_permute4x64_epi64(pairs, 0xD8));
            }
        }
}

VNNI_TARGET static void tile_vnni_64(Operands given, int32_t *sums) { tile_vnni(given, 4, sums); }
VNNI_TARGET static void tile_vnni_32(Operands given, int32_t *sums) { tile_vnni(given, 2, sums); }
VNNI_TARGET static void tile_vnni_16(Operands given, int32_t *sums) { tile_vnni(given, 1, sums); }
AVX2_TARGET static void tile_avx2_any(Operands given, size_t width, int32_t *sums) { tile_avx2(given, width, sums); }
#endif

/* The fastest kernel of this machine. */
static Kernel best_kernel(void) {
#ifdef HAS_X86_KERNELS
    if (__builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512dq"))
        return VNNI_KERNEL;
    if (__builtin_cpu_supports("avx2")) return AVX2_KERNEL;
#endif
    return ANY_KERNEL;
}

/* The sums of six rows with the columns of one panel, which has 16, 32 or 64. */
static inline void tile(Kernel kernel, Operands given, size_t width, int32_t *sums) {
#ifdef HAS_X86_KERNELS
    if (kernel == VNNI_KERNEL) {
        if (width == 64)
            tile_vnni_64(given, sums);
        else if (width == 32)
            tile_vnni_32(given, sums);
        else
            tile_vnni_16(given, sums);
        return;
    }
    if (kernel == AVX2_KERNEL) {
        tile_avx2_any(given, width, sums);
        return;
    }
#endif
    (void)kernel;
    tile_any(given, width, sums);
}

#endif
