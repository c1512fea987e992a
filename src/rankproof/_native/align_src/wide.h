/* The vector instructions of this machine, detected at run time. */
#ifndef RANKPROOF_WIDE_H
#define RANKPROOF_WIDE_H

#include "number.h"

#if defined(__x86_64__) || defined(_M_X64)
#include <immintrin.h>
#define HAS_SSE2 1
#if (defined(__clang__) && __clang_major__ >= 7) || (!defined(__clang__) && defined(__GNUC__) && __GNUC__ >= 9)
#define HAS_WIDE 1
#define TARGET_AVX2 __attribute__((target("avx2,bmi,bmi2,popcnt")))
#define TARGET_AVX512 __attribute__((target("avx2,avx512f,avx512bw,avx512vbmi,avx512vbmi2,bmi,bmi2,popcnt")))
#endif
#endif

enum { LEVEL_PLAIN, LEVEL_SSE2, LEVEL_AVX2, LEVEL_AVX512 };

/* The highest level of the machine, at most the given one. */
static inline int level_here(int wanted) {
    int level = LEVEL_PLAIN;
#ifdef HAS_SSE2
    level = LEVEL_SSE2;
#endif
#ifdef HAS_WIDE
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2")) {
        bool packs = __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vbmi");
        level = packs && __builtin_cpu_supports("avx512vbmi2") ? LEVEL_AVX512 : LEVEL_AVX2;
    }
#endif
    return level < wanted ? level : wanted;
}

#ifdef HAS_WIDE
/* At most 16 digits with at most one point, as plain_score but in one step; false for any other form. */
TARGET_AVX2 static inline bool wide_score(const char *text, size_t size, double *value) {
    bool negative = *text == '-';
    text += negative;
    size -= negative;
    if (RARELY(size - 1 >= 16)) return false;
    __m128i bytes = _mm_loadu_si128((const __m128i *)text), digits = _mm_sub_epi8(bytes, _mm_set1_epi8('0'));
    uint32_t within = (UINT32_C(1) << size) - 1;
    uint32_t points = (uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(bytes, _mm_set1_epi8('.'))) & within,
             point = points & (~points + 1);
    uint32_t numbers = (uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(_mm_min_epu8(digits, _mm_set1_epi8(9)), digits));
    uint32_t count = (uint32_t)size - (point != 0), whole = (uint32_t)lowest_bit(point | (within + 1));
    if (RARELY(((numbers | point) & within) != within || count == 0)) return false;
    __m128i from = _mm_setr_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    from = _mm_add_epi8(from, _mm_set1_epi8((char)(count - 16)));
    from = _mm_sub_epi8(from, _mm_cmpgt_epi8(from, _mm_set1_epi8((char)(whole - 1))));
    __m128i aligned = _mm_shuffle_epi8(digits, from);
    __m128i twos = _mm_maddubs_epi16(aligned, _mm_set1_epi16(0x010A)), fours = _mm_madd_epi16(twos, _mm_set1_epi32(0x00010064));
    __m128i eights = _mm_madd_epi16(_mm_packus_epi32(fours, fours), _mm_set1_epi32(0x00012710));
    uint64_t halves = (uint64_t)_mm_cvtsi128_si64(eights);
    double magnitude;
    if (!exact_decimal((uint32_t)halves * UINT64_C(100000000) + (halves >> 32), -(int64_t)(count - whole), &magnitude))
        return false;
    *value = negative ? -magnitude : magnitude;
    return true;
}
#endif

#endif
