/* Where columns and lines end: one pass over 64-byte blocks gives a bit for each white-space byte and each line end. */
#ifndef RANKPROOF_SCAN_H
#define RANKPROOF_SCAN_H

#include "base.h"

#if defined(__x86_64__) || defined(_M_X64)
#include <immintrin.h>
#define HAS_SSE2 1
#if defined(__GNUC__) || defined(__clang__)
#define HAS_AVX2 1
#endif
#endif

#define SCAN_BYTES 16384

/* ends: positions of white space; lines: for each line end, its index among the ends. */
typedef struct {
    uint32_t ends[SCAN_BYTES + 64];
    uint32_t lines[SCAN_BYTES + 64];
    size_t ends_count, lines_count;
    bool ascii;
} Scan;

typedef struct {
    uint64_t space, line, high;
} Masks;

typedef void (*ScanFunction)(Scan *scan, const char *text, size_t size);

ALWAYS_INLINE uint64_t zero_bytes(uint64_t word) {
    const uint64_t low = 0x7f7f7f7f7f7f7f7fu;
    return ~(((word & low) + low) | word | low);
}

ALWAYS_INLINE uint64_t one_bit_a_byte(uint64_t high_bits) { return ((high_bits >> 7) * 0x0102040810204080u) >> 56; }

ALWAYS_INLINE Masks masks_plain(const char *text) {
    const uint64_t ones = 0x0101010101010101u;
    Masks masks = {0, 0, 0};
    for (int i = 0; i < 8; i++) {
        uint64_t word = load64(text + 8 * i);
        uint64_t line = zero_bytes(word ^ (ones * '\n')) | zero_bytes(word ^ (ones * '\r'));
        uint64_t space = zero_bytes(word ^ (ones * ' ')) | zero_bytes(word ^ (ones * '\t')) | zero_bytes(word ^ (ones * '\v')) |
                         zero_bytes(word ^ (ones * '\f'));
        masks.line |= one_bit_a_byte(line) << (8 * i);
        masks.space |= one_bit_a_byte(line | space) << (8 * i);
        masks.high |= word & (ones * 0x80);
    }
    return masks;
}

#ifdef HAS_SSE2
ALWAYS_INLINE Masks masks_sse2(const char *text) {
    const __m128i tab = _mm_set1_epi8('\t'), four = _mm_set1_epi8(4), blank = _mm_set1_epi8(' ');
    const __m128i feed = _mm_set1_epi8('\n'), back = _mm_set1_epi8('\r');
    Masks masks = {0, 0, 0};
    for (int i = 0; i < 4; i++) {
        __m128i bytes = _mm_loadu_si128((const __m128i *)(text + 16 * i)), from_tab = _mm_sub_epi8(bytes, tab);
        __m128i control = _mm_cmpeq_epi8(_mm_min_epu8(from_tab, four), from_tab);
        __m128i space = _mm_or_si128(control, _mm_cmpeq_epi8(bytes, blank));
        __m128i line = _mm_or_si128(_mm_cmpeq_epi8(bytes, feed), _mm_cmpeq_epi8(bytes, back));
        masks.space |= (uint64_t)(uint32_t)_mm_movemask_epi8(space) << (16 * i);
        masks.line |= (uint64_t)(uint32_t)_mm_movemask_epi8(line) << (16 * i);
        masks.high |= (uint64_t)(uint32_t)_mm_movemask_epi8(bytes);
    }
    return masks;
}
#endif

#ifdef HAS_AVX2
__attribute__((always_inline, target("avx2,bmi,popcnt"))) static inline Masks masks_avx2(const char *text) {
    const __m256i tab = _mm256_set1_epi8('\t'), four = _mm256_set1_epi8(4), blank = _mm256_set1_epi8(' ');
    const __m256i feed = _mm256_set1_epi8('\n'), back = _mm256_set1_epi8('\r');
    Masks masks = {0, 0, 0};
    for (int i = 0; i < 2; i++) {
        __m256i bytes = _mm256_loadu_si256((const __m256i *)(text + 32 * i)), from_tab = _mm256_sub_epi8(bytes, tab);
        __m256i control = _mm256_cmpeq_epi8(_mm256_min_epu8(from_tab, four), from_tab);
        __m256i space = _mm256_or_si256(control, _mm256_cmpeq_epi8(bytes, blank));
        __m256i line = _mm256_or_si256(_mm256_cmpeq_epi8(bytes, feed), _mm256_cmpeq_epi8(bytes, back));
        masks.space |= (uint64_t)(uint32_t)_mm256_movemask_epi8(space) << (32 * i);
        masks.line |= (uint64_t)(uint32_t)_mm256_movemask_epi8(line) << (32 * i);
        masks.high |= (uint64_t)(uint32_t)_mm256_movemask_epi8(bytes);
    }
    return masks;
}
#endif

/* The body of each scan function: at most SCAN_BYTES, of which PADDING bytes more may be read. */
#define SCAN_BODY(masks_of)                                                                        \
    uint32_t *ends = scan->ends, *lines = scan->lines;                                             \
    uint64_t high = 0;                                                                             \
    for (size_t from = 0; from < size; from += 64) {                                               \
        Masks masks = masks_of(text + from);                                                       \
        uint64_t kept = size - from >= 64 ? ~UINT64_C(0) : (UINT64_C(1) << (size - from)) - 1;      \
        uint64_t space = masks.space & kept, line = masks.line & kept;                             \
        uint32_t first = (uint32_t)(ends - scan->ends);                                            \
        high |= masks.high;                                                                        \
        for (uint64_t left = line; left != 0; left &= left - 1)                                    \
            *lines++ = first + (uint32_t)bit_count(space & ((left & (~left + 1)) - 1));            \
        uint32_t *next = ends + bit_count(space);                                                  \
        while (ends < next) {                                                                      \
            for (int i = 0; i < 4; i++) {                                                          \
                ends[i] = (uint32_t)from + (uint32_t)(space == 0 ? 0 : lowest_bit(space));         \
                space &= space - 1;                                                                \
            }                                                                                      \
            ends += 4;                                                                             \
        }                                                                                          \
        ends = next;                                                                               \
    }                                                                                              \
    scan->ends_count = (size_t)(ends - scan->ends);                                                \
    scan->lines_count = (size_t)(lines - scan->lines);                                             \
    scan->ascii = high == 0;

static void scan_plain(Scan *scan, const char *text, size_t size) { SCAN_BODY(masks_plain) }

#ifdef HAS_SSE2
static void scan_sse2(Scan *scan, const char *text, size_t size) { SCAN_BODY(masks_sse2) }
#endif

#ifdef HAS_AVX2
__attribute__((target("avx2,bmi,popcnt"))) static void scan_avx2(Scan *scan, const char *text, size_t size) {
    SCAN_BODY(masks_avx2)
}
#endif

/* The widest scan that this machine can do and that is not above `level`: 0 plain, 1 SSE2, 2 AVX2. */
static inline ScanFunction best_scan(int level) {
#ifdef HAS_AVX2
    if (level >= 2 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi")) return scan_avx2;
#endif
#ifdef HAS_SSE2
    if (level >= 1) return scan_sse2;
#endif
    (void)level;
    return scan_plain;
}

#endif
