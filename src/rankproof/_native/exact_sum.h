/* The exact sum of doubles, rounded once, as `math.fsum`. */
#ifndef RANKPROOF_EXACT_SUM_H
#define RANKPROOF_EXACT_SUM_H

#include "exact_floats.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#ifdef __GNUC__
#define INLINE_HERE __attribute__((always_inline)) static inline
#else
#define INLINE_HERE static inline
#endif

enum { MOST_PARTIALS = 64, LANES = 8, SHORT_LIST = 8 * LANES };

/* Adds a number to partial sums that do not overlap; returns how many there are. Finite doubles never need all of them. */
INLINE_HERE size_t add_partial(double *partials, size_t count, double value) {
    size_t kept = 0;
    for (size_t at = 0; at < count; at++) {
        double other = partials[at];
        bool swaps = (value < 0 ? -value : value) < (other < 0 ? -other : other);
        double large = swaps ? other : value, small = swaps ? value : other;
        double high = large + small, low = small - (high - large);
        if (low != 0) partials[kept++] = low;
        value = high;
    }
    if (kept < MOST_PARTIALS) partials[kept++] = value;
    return kept;
}

/* The partial sums as one number, rounded to the nearest, and from the middle to the even one. */
INLINE_HERE double rounded_sum(const double *partials, size_t count) {
    double high = count == 0 ? 0 : partials[--count], low = 0;
    while (count > 0 && low == 0) {
        double sum = high + partials[--count];
        low = partials[count] - (sum - high);
        high = sum;
    }
    if (count == 0 || (low < 0) != (partials[count - 1] < 0) || low == 0) return high;
    double doubled = high + 2 * low;
    return doubled - high == 2 * low ? doubled : high;
}

INLINE_HERE double sum_by_partials(const double *values, size_t count) {
    double partials[MOST_PARTIALS];
    size_t kept = 0;
    for (size_t at = 0; at < count; at++) kept = add_partial(partials, kept, values[at]);
    return rounded_sum(partials, kept);
}

/* The partial sums and one more number, rounded. */
INLINE_HERE double rounded_with(const double *partials, size_t count, double more) {
    double all[MOST_PARTIALS];
    memcpy(all, partials, count * sizeof *partials);
    return rounded_sum(all, add_partial(all, count, more));
}

/* Each lane keeps its rounded sum, the sum of what each addition lost, and the sum of the magnitudes of that. What is lost is
 * exact (Knuth's two-sum), but adding it up is not: it is off by less than `bound`. If both ends of that range round to the same
 * number, it is the exact sum; else all numbers are added exactly. */
INLINE_HERE double exact_sum(const double *values, size_t count) {
    if (count < SHORT_LIST) return sum_by_partials(values, count);
    double sums[LANES] = {0}, lost[LANES] = {0}, sizes[LANES] = {0};
    size_t whole = count / LANES * LANES;
    for (size_t at = 0; at < whole; at += LANES) {
        for (size_t lane = 0; lane < LANES; lane++) {
            double value = values[at + lane], sum = sums[lane] + value, part = sum - sums[lane];
            double error = (sums[lane] - (sum - part)) + (value - part);
            sums[lane] = sum;
            lost[lane] += error;
            sizes[lane] += error < 0 ? -error : error;
        }
    }
    double partials[MOST_PARTIALS], bound = 0;
    size_t kept = 0;
    for (size_t lane = 0; lane < LANES; lane++) {
        kept = add_partial(partials, kept, sums[lane]);
        kept = add_partial(partials, kept, lost[lane]);
        bound += sizes[lane];
    }
    for (size_t at = whole; at < count; at++) kept = add_partial(partials, kept, values[at]);
    if (bound == 0) return rounded_sum(partials, kept);
    bound *= (double)count * DBL_EPSILON;
    double low = rounded_with(partials, kept, -bound), high = rounded_with(partials, kept, bound);
    return low == high ? low : sum_by_partials(values, count);
}

#endif
