/* The ends of columns and lines: one pass over 64-byte blocks gives a bit for each white-space byte and each line ending. */
#ifndef RANKPROOF_SCAN_H
#define RANKPROOF_SCAN_H

#include "wide.h"

#ifndef SCAN_BYTES
#define SCAN_BYTES 16384
#endif

/* ends: positions of white space; lines: for each line end, its index among the ends. */
typedef struct {
    uint32_t ends[SCAN_BYTES + 64];
    uint32_t lines[SCAN_BYTES + 64];
    size_t ends_count, lines_count;
    bool ascii, plain; /* plain: ASCII, no two white-space bytes side by side, none in front */
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

#ifdef HAS_WIDE
TARGET_AVX2 static inline Masks masks_avx2(const char *text) {
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

static inline void scan_close(Scan *scan, const uint32_t *ends, const uint32_t *lines, uint64_t high, uint64_t joined) {
    scan->ends_count = (size_t)(ends - scan->ends);
    scan->lines_count = (size_t)(lines - scan->lines);
    scan->ascii = high == 0;
    scan->plain = (high | joined) == 0;
}

/* The body of each scan function but the widest: at most SCAN_BYTES; zeros follow a text that does not end a block of 64. */
#define SCAN_BODY(masks_of)                                                                                             \
    uint32_t *ends = scan->ends, *lines = scan->lines;                                                                  \
    uint64_t high = 0, joined = 0, before = 1;                                                                          \
    for (size_t from = 0; from < size; from += 64) {                                                                    \
        Masks masks = masks_of(text + from);                                                                            \
        uint64_t space = masks.space, line = masks.line;                                                                \
        uint32_t first = (uint32_t)(ends - scan->ends);                                                                 \
        high |= masks.high;                                                                                             \
        joined |= space & (space << 1 | before);                                                                        \
        before = space >> 63;                                                                                           \
        for (; line != 0; line &= line - 1) *lines++ = first + (uint32_t)bit_count(space & ((line & (~line + 1)) - 1)); \
        uint32_t *next = ends + bit_count(space);                                                                       \
        while (ends < next) {                                                                                           \
            for (int i = 0; i < 12; i++) {                                                                              \
                ends[i] = (uint32_t)from + (uint32_t)(space == 0 ? 0 : lowest_bit(space));                              \
                space &= space - 1;                                                                                     \
            }                                                                                                           \
            ends += 12;                                                                                                 \
        }                                                                                                               \
        ends = next;                                                                                                    \
    }                                                                                                                   \
    scan_close(scan, ends, lines, high, joined);

static void scan_plain(Scan *scan, const char *text, size_t size) { SCAN_BODY(masks_plain) }

#ifdef HAS_SSE2
static void scan_sse2(Scan *scan, const char *text, size_t size){SCAN_BODY(masks_sse2)}
#endif

#ifdef HAS_WIDE
TARGET_AVX2 static void scan_avx2(Scan *scan, const char *text, size_t size){SCAN_BODY(masks_avx2)}

TARGET_AVX512 static inline Masks masks_avx512(const char *text) {
    __m512i bytes = _mm512_loadu_si512(text), from_tab = _mm512_sub_epi8(bytes, _mm512_set1_epi8('\t'));
    uint64_t control = _mm512_cmple_epu8_mask(from_tab, _mm512_set1_epi8(4));
    uint64_t line = _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8('\n')) | _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8('\r'));
    return (Masks){control | _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8(' ')), line, _mm512_movepi8_mask(bytes)};
}

/* Writes the places of the bits, each with `base` added; up to 15 words more may be written. */
TARGET_AVX512 static inline uint32_t *write_places(uint32_t *to, uint64_t bits, uint32_t base) {
    const __m512i places = _mm512_set_epi8(63, 62, 61, 60, 59, 58, 57, 56, 55, 54, 53, 52, 51, 50, 49, 48, 47, 46, 45, 44, 43, 42,
                                           41, 40, 39, 38, 37, 36, 35, 34, 33, 32, 31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20,
                                           19, 18, 17, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    __m512i packed = _mm512_maskz_compress_epi8(bits, places), bases = _mm512_set1_epi32((int)base);
    int count = bit_count(bits);
    _mm512_storeu_si512(to, _mm512_add_epi32(bases, _mm512_cvtepu8_epi32(_mm512_castsi512_si128(packed))));
    for (int i = 16; RARELY(i < count); i += 16) {
        packed = _mm512_alignr_epi32(packed, packed, 4);
        _mm512_storeu_si512(to + i, _mm512_add_epi32(bases, _mm512_cvtepu8_epi32(_mm512_castsi512_si128(packed))));
    }
    return to + count;
}

TARGET_AVX512 static void scan_avx512(Scan *scan, const char *text, size_t size) {
    uint32_t *ends = scan->ends, *lines = scan->lines;
    uint64_t high = 0, joined = 0, before = 1;
    for (size_t from = 0; from < size; from += 64) {
        Masks masks = masks_avx512(text + from);
        uint64_t space = masks.space;
        high |= masks.high;
        joined |= space & (space << 1 | before);
        before = space >> 63;
        lines = write_places(lines, _pext_u64(masks.line, space), (uint32_t)(ends - scan->ends));
        ends = write_places(ends, space, (uint32_t)from);
    }
    scan_close(scan, ends, lines, high, joined);
}
#endif

static inline ScanFunction scan_of_level(int level) {
#ifdef HAS_WIDE
    if (level >= LEVEL_AVX512) return scan_avx512;
    if (level >= LEVEL_AVX2) return scan_avx2;
#endif
#ifdef HAS_SSE2
    if (level >= LEVEL_SSE2) return scan_sse2;
#endif
    (void)level;
    return scan_plain;
}

#endif
