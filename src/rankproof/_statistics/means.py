"""Means of systems over the same queries: weights, and draws of all means together."""

from __future__ import annotations

import math

import numpy as np

from rankproof._data.arrays import BoolArray, DrawnWeights, FloatArray
from rankproof._data.text import pluralise

DRAWS = 400
_DOUBLE_BITS = 52
_NO_VARIANCE = 1e-12
_MAX_WEIGHT_SHARE, _MIN_HILL_INDEX = 0.10, 1.5


def draw_means(
    values: FloatArray, weights: FloatArray | None = None, draws: int = DRAWS, seed: int = 0, *, further: float = 0.0
) -> FloatArray:
    """Draws of the true means of systems, a row each: multivariate t around the observed means.

    `values` has a row for each of at least two queries and a column for each system. With `further` 0 this is the posterior of
    the means of normal values under Jeffreys' independence prior (Geisser and Cornfield 1963), with n - 1 degrees of freedom as
    in the paired t-test. `further` is the squared difference between systems on one further query. The bits are the same on
    every machine.
    """
    # Late: plain means need no random numbers.
    from rankproof._statistics.deterministic import VariateStream

    n, systems = values.shape
    assert n > 1, "one query has no variance"
    means = np.array([weighted_mean(column, weights) for column in values.T])
    scale = _scale(influence(values, means, weights))
    scale[np.diag_indices(systems)] += further / (2 * n * n)
    factor = _factor(scale)
    freedom = degrees_of_freedom(n, weights)
    normals = VariateStream(seed, "normals").normals(draws * systems).reshape(draws, systems)
    spread = np.sqrt((freedom if freedom >= 2 else 1.0) / VariateStream(seed, "gammas").chi_squares(draws, freedom))
    drawn = np.empty((draws, systems))
    for system in range(systems):
        total = np.zeros(draws)
        # Not a matrix product: libraries add its terms in orders that differ between machines.
        for other in range(system + 1):
            total += factor[system, other] * normals[:, other]
        drawn[:, system] = means[system] + total * spread
    return drawn


def weighted_mean(values: FloatArray, weights: FloatArray | None = None) -> float:
    """The mean of the values, exactly summed; of weighted values the sum of w x over the sum of w."""
    if weights is None:
        return math.fsum(values.tolist()) / len(values)
    return math.fsum((weights * values).tolist()) / math.fsum(weights.tolist())


def influence(values: FloatArray, means: FloatArray | float, weights: FloatArray | None = None) -> FloatArray:
    """How far each query pulls the weighted mean: n w (x - mean) / sum of w, so that variance / n is the mean's variance.

    This linearises a ratio of sums (Woodruff 1971), and needs no assumption on how weights and values depend on each other. In a
    sample of the traffic each query counts by the root of 1 - chance, as a query that is certain adds no variance (Hajek 1964).
    """
    off: FloatArray = values - means
    if weights is None:
        return off
    share = weights * (len(weights) / math.fsum(weights.tolist())) * sampling_shares(weights)
    return off * (share if off.ndim == 1 else share[:, None])


def effective_size(n: int, weights: FloatArray | None = None) -> float:
    """Kish's effective sample size (1965): the squared sum of weights over the sum of their squares; n if all are equal.

    In a sample of the traffic that of the queries that were not certain, at least 2; n if all were certain.
    """
    drawn = None if weights is None else weights[_uncertain(weights)]
    if drawn is None or not len(drawn):
        return float(n)
    size = math.fsum(drawn.tolist()) ** 2 / math.fsum((drawn * drawn).tolist())
    return max(size, 2.0) if isinstance(weights, DrawnWeights) else size


def uncertain_share(weights: FloatArray | None) -> float:
    """The share of the weight of queries that were drawn by chance: 1 unless the weights are those of a sample of the traffic."""
    if not isinstance(weights, DrawnWeights):
        return 1.0
    return math.fsum(weights[_uncertain(weights)].tolist()) / math.fsum(weights.tolist())


def weights_text(weights: FloatArray) -> str:
    """How much the weighted queries are worth."""
    n, size = len(weights), pluralise(round(effective_size(len(weights), weights)), "query", "queries")
    if not isinstance(weights, DrawnWeights):
        return f"queries are weighted: n = {n:,} is worth {size} of equal weight"
    certain = n - int(np.count_nonzero(_uncertain(weights)))
    if certain == n:
        return f"queries are weighted: n = {n:,}, all queries of the traffic"
    return f"queries are a sample of the traffic: n = {n:,}, of which {certain:,} were certain; the others are worth {size}"


def _uncertain(weights: FloatArray) -> BoolArray:
    """The queries that were not certain to be drawn."""
    return weights.chances < 1 if isinstance(weights, DrawnWeights) else np.ones(len(weights), dtype=bool)


def sampling_shares(weights: FloatArray) -> FloatArray | float:
    """How much of the deviation of each query varies between samples."""
    return np.sqrt(1 - weights.chances) if isinstance(weights, DrawnWeights) else 1.0


def degrees_of_freedom(n: int, weights: FloatArray | None = None) -> float:
    """The degrees of freedom of Student's t: the effective sample size less one, at least one."""
    return max(1.0, effective_size(n, weights) - 1)


def _scale(influences: FloatArray) -> FloatArray:
    """The covariance of the means: that of the influences over n, from exact sums of products of whole numbers."""
    n = len(influences)
    bits = (_DOUBLE_BITS - n.bit_length()) // 2
    largest = float(np.abs(influences).max(initial=0.0)) or 1.0
    unit = math.ldexp(1.0, math.frexp(largest)[1] - 2 * bits)
    upper = np.rint(influences / math.ldexp(unit, bits))
    lower = np.rint((influences - upper * math.ldexp(unit, bits)) / unit)
    cross = upper.T @ lower
    sums = np.ldexp(upper.T @ upper, 2 * bits) + np.ldexp(cross + cross.T, bits) + lower.T @ lower
    scale: FloatArray = sums * (unit * unit / (n * (n - 1)))
    return scale


def _factor(scale: FloatArray) -> FloatArray:
    """A lower triangular root of the scale, which may be singular; from L D L', in which equal rows stay equal."""
    size, left = len(scale), scale.copy()
    unit, pivots = np.eye(size), np.zeros(size)
    # One outer product at a time: each element has its terms subtracted in the same order on every machine.
    for at in range(size):
        pivot = left[at, at]
        if pivot > _NO_VARIANCE * scale[at, at]:
            pivots[at] = pivot
            below = unit[at + 1 :, at] = left[at + 1 :, at] / pivot
            left[at + 1 :, at + 1 :] -= below[:, None] * below * pivot
    root: FloatArray = unit * np.sqrt(pivots)
    return root


def are_even_weights(weights: FloatArray) -> bool:
    """Whether no query has much of the weight and large weights fall off fast enough (Hill 1975).

    Queries that were certain in a sample of the traffic may have any weight.
    """
    shares = np.sort((weights / weights.sum())[_uncertain(weights)])[::-1]
    if not len(shares):
        return True
    top = shares[: max(10, len(shares) // 10)]
    spread = float(np.log(top / top[-1]).sum())
    return bool(shares[0] <= _MAX_WEIGHT_SHARE and (spread == 0 or (len(top) - 1) / spread >= _MIN_HILL_INDEX))
