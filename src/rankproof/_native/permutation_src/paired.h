/* Statistics of the differences of two columns, as `paired_statistics` computes them: the same bits. */
#ifndef RANKPROOF_PAIRED_H
#define RANKPROOF_PAIRED_H

#include "../exact_sum.h"

#include <stdint.h>

static const double TIE = 1e-12;

/* What is known of the differences of a pair, in the order of the columns of the result. */
typedef struct {
    double mean, squares, lowest, highest, wins, losses;
} Paired;

INLINE_HERE double magnitude(double value) { return value < 0 ? -value : value; }

INLINE_HERE double largest_of(const double *values, size_t count) {
    double largest = 0;
    for (size_t at = 0; at < count; at++) largest = magnitude(values[at]) > largest ? magnitude(values[at]) : largest;
    return largest;
}

/* The lowest and the highest of at least one value. */
INLINE_HERE void range_of(const double *values, size_t count, double *lowest, double *highest) {
    double low[LANES], high[LANES];
    size_t whole = count / LANES * LANES;
    for (size_t lane = 0; lane < LANES; lane++) low[lane] = high[lane] = values[0];
    for (size_t at = 0; at < whole; at += LANES) {
        for (size_t lane = 0; lane < LANES; lane++) {
            double value = values[at + lane];
            low[lane] = value < low[lane] ? value : low[lane];
            high[lane] = value > high[lane] ? value : high[lane];
        }
    }
    for (size_t at = whole; at < count; at++) {
        low[0] = values[at] < low[0] ? values[at] : low[0];
        high[0] = values[at] > high[0] ? values[at] : high[0];
    }
    *lowest = low[0];
    *highest = high[0];
    for (size_t lane = 1; lane < LANES; lane++) {
        *lowest = low[lane] < *lowest ? low[lane] : *lowest;
        *highest = high[lane] > *highest ? high[lane] : *highest;
    }
}

/* One column minus the other: differences within rounding error are 0, and all are equal if they differ only by rounding. */
INLINE_HERE void subtract(const double *first, const double *second, size_t count, double least, double *apart) {
    double lowest, highest;
    for (size_t at = 0; at < count; at++) apart[at] = first[at] - second[at];
    range_of(apart, count, &lowest, &highest);
    if (highest - lowest <= least) {
        double middle = (highest + lowest) / 2;
        for (size_t at = 0; at < count; at++) apart[at] = middle;
    }
    for (size_t at = 0; at < count; at++) apart[at] = magnitude(apart[at]) <= least ? 0.0 : apart[at];
}

/* The statistics of at least one query; `apart` has room for a difference of each. */
INLINE_HERE Paired pair_of(const double *first, const double *second, size_t count, double largest, double *apart) {
    Paired found = {0};
    int64_t wins = 0, losses = 0;
    subtract(first, second, count, TIE * largest, apart);
    range_of(apart, count, &found.lowest, &found.highest);
    for (size_t at = 0; at < count; at++) wins += apart[at] > 0;
    for (size_t at = 0; at < count; at++) losses += apart[at] < 0;
    found.wins = (double)wins;
    found.losses = (double)losses;
    found.mean = found.lowest;
    if (found.highest > found.lowest) found.mean = exact_sum(apart, count) / (double)count;
    double most = -found.lowest > found.highest ? -found.lowest : found.highest;
    if (magnitude(found.mean) <= TIE * most) found.mean = 0;
    if (found.highest == found.lowest) return found;
    for (size_t at = 0; at < count; at++) apart[at] = (apart[at] - found.mean) * (apart[at] - found.mean);
    found.squares = exact_sum(apart, count);
    return found;
}

#endif
