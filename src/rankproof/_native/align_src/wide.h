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

/* Four tokens of digits with one point, each with a sign or without and of at most 16 bytes; false if one has another form. */
TARGET_AVX512 static inline bool four_scores(const char *const *tokens, const uint32_t *token_sizes, double *values) {
    const uint64_t ones = UINT64_C(0x0001000100010001), last = ones << 15;
    const __m512i lanes = _mm512_set_epi32(0x03030303, 0x03030303, 0x03030303, 0x03030303, 0x02020202, 0x02020202, 0x02020202,
                                           0x02020202, 0x01010101, 0x01010101, 0x01010101, 0x01010101, 0, 0, 0, 0);
    const __m512i places = _mm512_broadcast_i32x4(_mm_setr_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15));
    const char *at[4];
    uint32_t four_sizes = 0, longest = 0, negatives = 0;
    for (int i = 0; i < 4; i++) {
        uint32_t negative = *tokens[i] == '-', size = token_sizes[i] - negative;
        at[i] = tokens[i] + negative;
        negatives |= negative << i;
        longest |= size - 1;
        four_sizes |= size << (8 * i);
    }
    if (RARELY(longest > 15)) return false;
    __m512i sizes = _mm512_shuffle_epi8(_mm512_set1_epi32((int)four_sizes), lanes);
    uint64_t within = _mm512_cmplt_epi8_mask(places, sizes);
    uint64_t aligned = _mm512_cmpgt_epi8_mask(places, _mm512_sub_epi8(_mm512_set1_epi8(16), sizes));
    __m512i bytes = _mm512_castsi128_si512(_mm_loadu_si128((const __m128i *)at[0]));
    bytes = _mm512_inserti32x4(bytes, _mm_loadu_si128((const __m128i *)at[1]), 1);
    bytes = _mm512_inserti32x4(bytes, _mm_loadu_si128((const __m128i *)at[2]), 2);
    bytes = _mm512_inserti32x4(bytes, _mm_loadu_si128((const __m128i *)at[3]), 3);
    __m512i digits = _mm512_sub_epi8(bytes, _mm512_set1_epi8('0'));
    uint64_t numbers = _mm512_cmple_epu8_mask(digits, _mm512_set1_epi8(9)) & within;
    uint64_t points = _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8('.')) & within, below = points - ones;
    /* Every 16 bytes must have one point and a digit. */
    uint64_t lacking = (below & ~points) | ((numbers - ones) & ~numbers);
    if (RARELY((lacking & last) != 0 || (points & below) != 0 || (numbers | points) != within)) return false;
    /* Digits without the points, moved to the end of each 16 bytes. */
    __m512i moved = _mm512_maskz_expand_epi8(aligned, _mm512_maskz_compress_epi8(numbers, digits));
    __m512i twos = _mm512_maddubs_epi16(moved, _mm512_set1_epi16(0x010A));
    __m512i fours = _mm512_madd_epi16(twos, _mm512_set1_epi32(0x00010064));
    __m512i eights = _mm512_madd_epi16(_mm512_packus_epi32(fours, fours), _mm512_set1_epi32(0x00012710));
    __m512i whole = _mm512_add_epi64(_mm512_mul_epu32(eights, _mm512_set1_epi64(100000000)), _mm512_srli_epi64(eights, 32));
    __m256i four = _mm512_castsi512_si256(_mm512_maskz_compress_epi64(0x55, whole));
    /* At most 15 digits are less than 2^52, which the bits of 2^52 turn into a double. */
    const __m256d magic = _mm256_set1_pd(4503599627370496.0);
    __m256d numerators = _mm256_sub_pd(_mm256_castsi256_pd(_mm256_or_si256(four, _mm256_castpd_si256(magic))), magic);
    uint64_t after = within & ~(points | below);
    __m256d tens = _mm256_set_pd(POWERS_OF_TEN[bit_count(after >> 48)], POWERS_OF_TEN[bit_count(after >> 32 & 0xFFFF)],
                                 POWERS_OF_TEN[bit_count(after >> 16 & 0xFFFF)], POWERS_OF_TEN[bit_count(after & 0xFFFF)]);
    __m256d quotients = _mm256_div_pd(numerators, tens);
    if (negatives != 0) {
        __m256i bits = _mm256_and_si256(_mm256_set1_epi64x(negatives), _mm256_setr_epi64x(1, 2, 4, 8));
        __m256i signs = _mm256_slli_epi64(_mm256_xor_si256(_mm256_cmpeq_epi64(bits, _mm256_setzero_si256()), _mm256_set1_epi64x(-1)), 63);
        quotients = _mm256_xor_pd(quotients, _mm256_castsi256_pd(signs));
    }
    _mm256_storeu_pd(values, quotients);
    return true;
}
#endif

#endif
