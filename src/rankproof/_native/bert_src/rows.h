/* What a network does to one row of float32: in one order of operations, so that every machine gives the same bits. */
#ifndef RANKPROOF_ROWS_H
#define RANKPROOF_ROWS_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "../exact_floats.h"
#include "tiles.h"

enum { SUMS = 64 };

typedef enum { GELU, TANH_GELU, RELU } Activation;

/* So many sums in turn, which are then added by halves. */
static inline float halved_sum(float *sums) {
    for (size_t half = SUMS / 2; half > 0; half /= 2)
        for (size_t lane = 0; lane < half; lane++) sums[lane] += sums[lane + half];
    return sums[0];
}

static inline float row_mean(const float *row, size_t size) {
    float sums[SUMS] = {0};
    size_t at = 0;
    for (; at + SUMS <= size; at += SUMS)
        for (size_t lane = 0; lane < SUMS; lane++) sums[lane] += row[at + lane];
    for (size_t lane = 0; at + lane < size; lane++) sums[lane] += row[at + lane];
    return halved_sum(sums) / (float)size;
}

static inline float row_variance(const float *row, size_t size, float mean) {
    float sums[SUMS] = {0};
    size_t at = 0;
    for (; at + SUMS <= size; at += SUMS)
        for (size_t lane = 0; lane < SUMS; lane++) {
            float off = row[at + lane] - mean;
            sums[lane] += off * off;
        }
    for (size_t lane = 0; at + lane < size; lane++) {
        float off = row[at + lane] - mean;
        sums[lane] += off * off;
    }
    return halved_sum(sums) / (float)size;
}

static inline void layer_norm(float *row, size_t size, const float *scale, const float *shift, float epsilon) {
    float mean = row_mean(row, size), factor = 1.0f / sqrtf(row_variance(row, size, mean) + epsilon);
    for (size_t at = 0; at < size; at++) row[at] = (row[at] - mean) * factor * scale[at] + shift[at];
}

/* The smallest and the largest number of a row. */
static inline void row_range(const float *row, size_t size, float *low, float *high) {
    float lows[SUMS], highs[SUMS];
    size_t at = 0;
    for (size_t lane = 0; lane < SUMS; lane++) lows[lane] = highs[lane] = row[0];
    for (; at + SUMS <= size; at += SUMS)
        for (size_t lane = 0; lane < SUMS; lane++) {
            float value = row[at + lane];
            lows[lane] = value < lows[lane] ? value : lows[lane];
            highs[lane] = value > highs[lane] ? value : highs[lane];
        }
    for (; at < size; at++) {
        lows[0] = row[at] < lows[0] ? row[at] : lows[0];
        highs[0] = row[at] > highs[0] ? row[at] : highs[0];
    }
    for (size_t half = SUMS / 2; half > 0; half /= 2)
        for (size_t lane = 0; lane < half; lane++) {
            lows[lane] = lows[lane + half] < lows[lane] ? lows[lane + half] : lows[lane];
            highs[lane] = highs[lane + half] > highs[lane] ? highs[lane + half] : highs[lane];
        }
    *low = lows[0], *high = highs[0];
}

/* A number from 0 to 255, rounded: its last bits beside a number whose last bit is 1. */
static inline uint8_t to_byte(float value) {
    uint32_t bits;
    value += 8388608.0f;
    memcpy(&bits, &value, sizeof bits);
    return (uint8_t)bits;
}

/* A row is about scale * byte + low. */
typedef struct {
    float scale, low;
} RowScale;

/* The bytes of a row from its smallest number (0) to its largest (255); NaN as `low` if the range is not finite. */
static inline RowScale quantise_row(const float *restrict row, size_t size, uint8_t *restrict bytes) {
    float low, high;
    row_range(row, size, &low, &high);
    float range = high - low, factor = range > 0.0f ? 255.0f / range : 0.0f;
    if (!(range <= 3.0e38f) || !(factor <= 3.0e38f)) {
        memset(bytes, 0, size);
        return (RowScale){0.0f, range <= 3.0e38f ? low : NAN};
    }
    for (size_t at = 0; at < size; at++) bytes[at] = to_byte((row[at] - low) * factor);
    return (RowScale){range / 255.0f, low};
}

/* 2 to the power of a number from -126 to 126: error below 2e-7. */
static inline float power_of_two(float exponent) {
    const float magic = 12582912.0f;
    float shifted = exponent + magic, rest = exponent - (shifted - magic);
    float result = 0.0013400432653725147f;
    uint32_t whole, bits;
    result = result * rest + 0.009676037356257439f;
    result = result * rest + 0.05550327152013779f;
    result = result * rest + 0.2402210682630539f;
    result = result * rest + 0.6931471824645996f;
    result = result * rest + 1.0000001192092896f;
    memcpy(&whole, &shifted, sizeof whole);
    memcpy(&bits, &result, sizeof bits);
    bits += whole << 23;
    memcpy(&result, &bits, sizeof result);
    return result;
}

#define LOG2_E 1.44269504f

enum { LEAST_SCORE = 1 << 29 };

/* The bytes of 2^(unit * (score - highest score)), of which the highest is 255; returns their sum. Beyond `count` they are 0. */
static inline int32_t softmax_row(const int32_t *restrict scores, size_t size, size_t count, float unit, uint8_t *restrict bytes) {
    int32_t high = scores[0], sum = 0;
    for (size_t at = 0; at < size; at++) high = scores[at] > high ? scores[at] : high;
    for (size_t at = 0; at < size; at++) {
        float exponent = (float)(scores[at] - high) * unit;
        exponent = exponent > -20.0f ? exponent : -20.0f;
        bytes[at] = to_byte(power_of_two(exponent) * 255.0f);
    }
    memset(bytes + count, 0, size - count);
    for (size_t at = 0; at < size; at++) sum += bytes[at];
    return sum;
}

/* x times the normal distribution function, a polynomial of the square: error below 2e-5. */
static inline float gelu(float value) {
    const float most = 4.5f;
    float size = fabsf(value), near = size < most ? size : most;
    float square = near * near * (2.0f / 20.25f) - 1.0f;
    float result = 0.0009806925663724542f;
    result = result * square - 0.0023400159552693367f;
    result = result * square + 0.0027162774931639433f;
    result = result * square - 0.0052515482529997826f;
    result = result * square + 0.011439226567745209f;
    result = result * square - 0.019020941108465195f;
    result = result * square + 0.02828393131494522f;
    result = result * square - 0.040109213441610336f;
    result = result * square + 0.05470119044184685f;
    result = result * square - 0.07719386368989944f;
    result = result * square + 0.156904935836792f;
    return value * 0.5f + size * (near * result);
}

static inline float tanh_gelu(float value) {
    float inner = 0.7978845608f * (value + 0.044715f * value * value * value);
    float exponent = inner * (-2.0f * LOG2_E);
    exponent = exponent < 126.0f ? exponent : 126.0f;
    exponent = exponent > -126.0f ? exponent : -126.0f;
    return value / (1.0f + power_of_two(exponent));
}

static inline void activate_row(Activation activation, float *row, size_t size) {
    if (activation == GELU)
        for (size_t at = 0; at < size; at++) row[at] = gelu(row[at]);
    else if (activation == TANH_GELU)
        for (size_t at = 0; at < size; at++) row[at] = tanh_gelu(row[at]);
    else
        for (size_t at = 0; at < size; at++) row[at] = row[at] > 0.0f ? row[at] : 0.0f;
}

#endif
