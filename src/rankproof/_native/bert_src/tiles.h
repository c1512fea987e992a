/* Products of unsigned bytes (rows) with signed bytes (columns), summed exactly in 32 bits: every kernel gives the same numbers.

   Columns are packed by panels of sixteen: for each four inputs, the four bytes of one column after the other. */
#ifndef RANKPROOF_TILES_H
#define RANKPROOF_TILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { TILE_ROWS = 6, STEP = 4, PANEL = 16, MOST_PANELS = 4, MOST_WIDTH = MOST_PANELS * PANEL };

#if defined(__x86_64__) && ((defined(__clang__) && __clang_major__ >= 12) || (!defined(__clang__) && defined(__GNUC__) && __GNUC__ >= 11))
#include <cpuid.h>
#include <immintrin.h>
#define HAS_X86_KERNELS 1
#define AVX512_TARGET __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx512vnni")))
#define AVX_VNNI_TARGET __attribute__((target("avx2,avxvnni")))
#define AVX2_TARGET __attribute__((target("avx2")))
#endif

typedef enum { ANY_KERNEL, AVX2_KERNEL, AVX_VNNI_KERNEL, AVX512_KERNEL, KERNELS } Kernel;

/* Rows of bytes, or of 16 bits for the AVX2 kernel, `stride` numbers apart; panels follow each other. */
typedef struct {
    const void *rows;
    size_t stride;
    const void *panels;
    size_t steps;
} Operands;

/* The panels that one tile takes: as many as the registers hold. */
static inline size_t tile_panels(Kernel kernel) { return kernel == AVX2_KERNEL || kernel == AVX_VNNI_KERNEL ? 1 : MOST_PANELS; }

static inline void tile_any(Operands given, size_t panels, int32_t *sums) {
    const uint8_t *rows = given.rows;
    const int8_t *columns = given.panels;
    size_t width = panels * PANEL;
    memset(sums, 0, TILE_ROWS * width * sizeof *sums);
    for (size_t row = 0; row < TILE_ROWS; row++)
        for (size_t step = 0; step < given.steps; step++)
            for (size_t column = 0; column < width; column++) {
                const uint8_t *left = rows + row * given.stride + step * STEP;
                const int8_t *right = columns + ((column / PANEL * given.steps + step) * PANEL + column % PANEL) * STEP;
                for (size_t at = 0; at < STEP; at++) sums[row * width + column] += (int32_t)left[at] * (int32_t)right[at];
            }
}

#ifdef HAS_X86_KERNELS
static inline int32_t four_bytes(const void *from) {
    int32_t bytes;
    memcpy(&bytes, from, sizeof bytes);
    return bytes;
}

/* The number of panels is a constant, so that the sums stay in registers. */
AVX512_TARGET static inline __attribute__((always_inline)) void tile_avx512(Operands given, const size_t panels, int32_t *out) {
    const uint8_t *rows = given.rows;
    const int8_t *packed = given.panels;
    __m512i sums[TILE_ROWS][MOST_PANELS];
#pragma GCC unroll 6
    for (size_t row = 0; row < TILE_ROWS; row++)
#pragma GCC unroll 4
        for (size_t at = 0; at < panels; at++) sums[row][at] = _mm512_setzero_si512();
    for (size_t step = 0; step < given.steps; step++) {
        __m512i columns[MOST_PANELS];
#pragma GCC unroll 4
        for (size_t at = 0; at < panels; at++) columns[at] = _mm512_loadu_si512(packed + (at * given.steps + step) * PANEL * STEP);
#pragma GCC unroll 6
        for (size_t row = 0; row < TILE_ROWS; row++) {
            __m512i bytes = _mm512_set1_epi32(four_bytes(rows + row * given.stride + step * STEP));
#pragma GCC unroll 4
            for (size_t at = 0; at < panels; at++) sums[row][at] = _mm512_dpbusd_epi32(sums[row][at], bytes, columns[at]);
        }
    }
#pragma GCC unroll 6
    for (size_t row = 0; row < TILE_ROWS; row++)
#pragma GCC unroll 4
        for (size_t at = 0; at < panels; at++) _mm512_storeu_si512(out + (row * panels + at) * PANEL, sums[row][at]);
}

AVX512_TARGET static void four_panels(Operands given, int32_t *sums) { tile_avx512(given, 4, sums); }
AVX512_TARGET static void two_panels(Operands given, int32_t *sums) { tile_avx512(given, 2, sums); }
AVX512_TARGET static void one_panel(Operands given, int32_t *sums) { tile_avx512(given, 1, sums); }

/* Four inputs of eight columns in each product. */
AVX_VNNI_TARGET static void tile_avx_vnni(Operands given, int32_t *out) {
    const uint8_t *rows = given.rows;
    const __m256i *columns = given.panels;
    __m256i sums[TILE_ROWS][2];
#pragma GCC unroll 6
    for (size_t row = 0; row < TILE_ROWS; row++) sums[row][0] = sums[row][1] = _mm256_setzero_si256();
    for (size_t step = 0; step < given.steps; step++) {
        __m256i first = _mm256_loadu_si256(columns + 2 * step), second = _mm256_loadu_si256(columns + 2 * step + 1);
#pragma GCC unroll 6
        for (size_t row = 0; row < TILE_ROWS; row++) {
            __m256i bytes = _mm256_set1_epi32(four_bytes(rows + row * given.stride + step * STEP));
            sums[row][0] = _mm256_dpbusd_avx_epi32(sums[row][0], bytes, first);
            sums[row][1] = _mm256_dpbusd_avx_epi32(sums[row][1], bytes, second);
        }
    }
    __m256i *to = (__m256i *)(void *)out;
#pragma GCC unroll 6
    for (size_t row = 0; row < TILE_ROWS; row++) _mm256_storeu_si256(to + 2 * row, sums[row][0]), _mm256_storeu_si256(to + 2 * row + 1, sums[row][1]);
}

/* Two inputs of eight columns in each product, in 16 bits: sums of two products of bytes can pass 32,767. */
AVX2_TARGET static void tile_avx2(Operands given, int32_t *out) {
    const int16_t *rows = given.rows;
    const __m256i *columns = given.panels;
    __m256i sums[TILE_ROWS][2];
#pragma GCC unroll 6
    for (size_t row = 0; row < TILE_ROWS; row++) sums[row][0] = sums[row][1] = _mm256_setzero_si256();
    for (size_t pair = 0; pair < given.steps * (STEP / 2); pair++) {
        __m256i first = _mm256_loadu_si256(columns + 2 * pair), second = _mm256_loadu_si256(columns + 2 * pair + 1);
#pragma GCC unroll 6
        for (size_t row = 0; row < TILE_ROWS; row++) {
            __m256i numbers = _mm256_set1_epi32(four_bytes(rows + row * given.stride + 2 * pair));
            sums[row][0] = _mm256_add_epi32(sums[row][0], _mm256_madd_epi16(numbers, first));
            sums[row][1] = _mm256_add_epi32(sums[row][1], _mm256_madd_epi16(numbers, second));
        }
    }
    __m256i *to = (__m256i *)(void *)out;
#pragma GCC unroll 6
    for (size_t row = 0; row < TILE_ROWS; row++) _mm256_storeu_si256(to + 2 * row, sums[row][0]), _mm256_storeu_si256(to + 2 * row + 1, sums[row][1]);
}

/* Panels as 16 bits: for each two inputs, the two numbers of one column after the other. */
AVX2_TARGET static void widen_panels(const int8_t *panels, size_t steps, int16_t *wide) {
    for (size_t step = 0; step < steps; step++)
        for (size_t half = 0; half < 2; half++) {
            __m256i columns = _mm256_loadu_si256((const __m256i *)(const void *)(panels + (step * 2 + half) * 32));
            __m256i low = _mm256_srai_epi16(_mm256_slli_epi16(columns, 8), 8), high = _mm256_srai_epi16(columns, 8);
            __m256i *to = (__m256i *)(void *)(wide + step * 4 * PANEL) + half;
            _mm256_storeu_si256(to, _mm256_blend_epi16(low, _mm256_slli_epi32(high, 16), 0xAA));
            _mm256_storeu_si256(to + 2, _mm256_blend_epi16(_mm256_srli_epi32(low, 16), high, 0xAA));
        }
}

static bool has_avx_vnni(void) {
    unsigned int a = 0, b = 0, c = 0, d = 0;
    return __builtin_cpu_supports("avx2") && __get_cpuid_count(7, 1, &a, &b, &c, &d) && (a >> 4 & 1u);
}
#endif

static bool has_kernel(Kernel kernel) {
#ifdef HAS_X86_KERNELS
    if (kernel == AVX512_KERNEL)
        return __builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
               __builtin_cpu_supports("avx512dq");
    if (kernel == AVX_VNNI_KERNEL) return has_avx_vnni();
    if (kernel == AVX2_KERNEL) return __builtin_cpu_supports("avx2");
#endif
    return kernel == ANY_KERNEL;
}

/* The fastest kernel of this machine. */
static Kernel best_kernel(void) {
    Kernel kernel = AVX512_KERNEL;
    while (!has_kernel(kernel)) kernel--;
    return kernel;
}

/* Rows of bytes as the kernel reads them. */
static inline const void *rows_of(Kernel kernel, const uint8_t *bytes, size_t count, int16_t *wide) {
    if (kernel != AVX2_KERNEL) return bytes;
    for (size_t at = 0; at < count; at++) wide[at] = (int16_t)bytes[at];
    return wide;
}

/* Panels as the kernel reads them. */
static inline const void *panels_of(Kernel kernel, const int8_t *panels, size_t steps, int16_t *wide) {
#ifdef HAS_X86_KERNELS
    if (kernel == AVX2_KERNEL) {
        widen_panels(panels, steps, wide);
        return wide;
    }
#endif
    (void)kernel, (void)steps, (void)wide;
    return panels;
}

/* The place of a number in what the two functions above return. */
static inline const void *number_at(Kernel kernel, const void *numbers, size_t at) {
    return (const char *)numbers + at * (kernel == AVX2_KERNEL ? sizeof(int16_t) : 1);
}

/* The sums of six rows with the columns of one, two or four panels; at most as many as `tile_panels`. */
static inline void tile(Kernel kernel, Operands given, size_t panels, int32_t *sums) {
#ifdef HAS_X86_KERNELS
    if (kernel == AVX512_KERNEL) {
        if (panels == 4)
            four_panels(given, sums);
        else if (panels == 2)
            two_panels(given, sums);
        else
            one_panel(given, sums);
        return;
    }
    if (kernel == AVX_VNNI_KERNEL) {
        tile_avx_vnni(given, sums);
        return;
    }
    if (kernel == AVX2_KERNEL) {
        tile_avx2(given, sums);
        return;
    }
#endif
    (void)kernel;
    tile_any(given, panels, sums);
}

#endif
