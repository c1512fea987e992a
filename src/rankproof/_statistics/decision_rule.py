"""The rule of a decision in numbers: the risk of each system, its limit, and the systems that may be shipped.

All values are oriented so that higher is better. A system is good enough if against every rival the data say that it is not more
than the margin below it. The limit of that risk is lower if more systems are in the race, because the cheapest of several lucky
systems is chosen. Constants were chosen by simulation; `python -m benchmarks.decision_rule` shows the error rates.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TypeVar

import numpy as np

from rankproof._data.arrays import BoolArray, FloatArray, IntArray
from rankproof._statistics.distributions import normal_above, normal_quantile
from rankproof._statistics.means import effective_size, sampling_shares, uncertain_share, weighted_mean
from rankproof._statistics.options import Looks
from rankproof.errors import UsageError, for_message

LOOK_LIMITS: dict[Looks, float] = {"one": 0.05, "many": 0.006}
"""The highest risk of a chosen system among two: for one look at the data, and for looks while queries arrive."""


SIGNIFICANT = 1.96
"""A difference of this many standard errors is significant at 5%, two-sided."""
_ONE_LOOK_QUANTILE = 1.645
"""The normal quantile of 95%, with the digits that the simulations used."""
_USUAL_CORRELATION = 0.5
"""The correlation of the differences of two systems from a third one, if all three vary alike and independently."""
_RACE_POWER, _POWER_SLOPE = 0.83, 0.44
_STEEPNESS, _OFFSET, _OFFSET_SLOPE = 0.62, 1.2, 0.3
"""The needed score, see `needed_scores`: it grows with the race and with the margin in standard errors."""
_IN_RACE = -1.0
"""A system is in the race if its score against the best one is above this."""
_SAME_COST = 0.10
_SMALLEST_ERROR, _UNKNOWN_ERROR = 1e-150, 1e150
"""So small, and so large, that a score and its square stay finite."""
_WORTH_IT = 2.0
"""A system that is measurably worse is shipped only if the better one costs at least so many times as much."""


_System = TypeVar("_System")
MarginLike = float | str
"""A difference such as 0.01, or a share of the highest mean such as "5%"."""


@dataclass(frozen=True, slots=True)
class Margin:
    """How far below the best a system may be: an amount, or a share of the highest mean."""

    amount: float
    is_share: bool = False

    def __str__(self) -> str:
        return f"{100 * self.amount:.15g}%" if self.is_share else f"{self.amount:.15g}"


def parse_margin(value: object, *, is_fraction: bool = True) -> Margin:
    """The margin, or a UsageError if it is not a number above 0, or one that no difference of values from 0 to 1 can exceed."""
    text = f"{value:.10g}" if isinstance(value, float) else str(value).strip()
    is_share = isinstance(value, str) and text.endswith("%")
    try:
        number = math.nan if isinstance(value, bool) else float(text.removesuffix("%") if is_share else value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        number = math.nan
    if not 0 < number < math.inf:
        fix = 'pass a difference above 0, such as 0.01 for one percentage point, or "5%" of the best mean'
        raise UsageError(f"margin is {for_message(text)}", fix=fix)
    amount = number / 100 if is_share else number
    if amount >= 1 and (is_share or is_fraction):
        fix = "pass a difference below 1, such as 0.02 for two percentage points"
        raise UsageError(f"margin is {for_message(text)}", fix=fix)
    return Margin(amount, is_share)


@dataclass(frozen=True, eq=False, slots=True)
class PairEstimates:
    """Differences of the means of all pairs of systems, row minus column, with their standard errors and degrees of freedom.

    `size` is the number of queries that count: all, the effective number of weighted ones, or the labelled ones.
    """

    differences: FloatArray
    errors: FloatArray
    freedom: FloatArray | float
    size: float

    @property
    def best(self) -> int:
        """The system with the highest mean."""
        return int(np.argmax(self.differences.sum(axis=-1)))

    def scores(self, margin: float = 0.0) -> FloatArray:
        """The normal score of each difference plus the margin."""
        return normal_scores((self.differences + margin) / self.errors, self.freedom)


def pair_estimates(values: FloatArray, weights: FloatArray | None = None, groups: IntArray | None = None) -> PairEstimates:
    """The differences of systems, the columns of `values`, over at least two queries, the rows.

    The error of a difference counts one further query with a large difference, so that systems that are equal on the queries seen
    are not certain to be equal. Queries of one group, such as the turns of a conversation, may depend on each other.
    """
    if groups is not None:
        values, weights = group_means(values, weights, groups)
    size = effective_size(len(values), weights)
    means = np.array([weighted_mean(column, weights) for column in values.T])
    further = further_query(values, weights) * uncertain_share(weights) ** 2
    variances = _pair_variances(values, means, weights)
    variances += np.maximum(variances / size, further / (size * (size - 1)))
    return PairEstimates(means[:, None] - means, standard_errors(variances), size - 1, size)


def group_means(values: FloatArray, weights: FloatArray | None, groups: IntArray) -> tuple[FloatArray, FloatArray]:
    """The mean of each group of queries, and its weight: the weighted mean of groups is that of their queries."""
    _, places = np.unique(groups, return_inverse=True)
    own = np.ones(len(values)) if weights is None else np.asarray(weights)
    sums = np.column_stack([np.bincount(places, column) for column in ((values.T if values.ndim > 1 else values[None]) * own)])
    totals = np.bincount(places, own).astype(np.float64)
    means = sums / totals[:, None]
    return means if values.ndim > 1 else means[:, 0], totals


def estimates_of_pairs(
    values: FloatArray,
    present: BoolArray,
    weights: FloatArray | None = None,
    groups: IntArray | None = None,
    *,
    least: int = 20,
) -> PairEstimates:
    """The differences of systems, each pair over the queries on which both values are present.

    A pair with fewer queries than `least` has a difference of 0 with a large error, so that it decides nothing.
    """
    systems = values.shape[1]
    differences, errors = np.zeros((systems, systems)), np.full((systems, systems), _UNKNOWN_ERROR)
    freedom = np.full((systems, systems), float(least - 1))
    np.fill_diagonal(errors, 1.0)
    for first, second in combinations(range(systems), 2):
        rows = present[:, first] & present[:, second]
        both = None if weights is None else weights[rows]
        if rows.any() and effective_size(int(rows.sum()), both) >= least:
            pair = pair_estimates(values[rows][:, [first, second]], both, None if groups is None else groups[rows])
            if groups is None or pair.size >= least:
                place = np.ix_((first, second), (first, second))
                differences[place], errors[place], freedom[place] = pair.differences, pair.errors, pair.freedom
    return PairEstimates(differences, errors, freedom, effective_size(len(values), weights))


def standard_errors(variances: FloatArray) -> FloatArray:
    """The roots of the variances of differences; 1 for a system and itself, and never 0."""
    errors = np.maximum(np.sqrt(np.maximum(variances, 0.0)), _SMALLEST_ERROR)
    np.fill_diagonal(errors, 1.0)
    return errors


def further_query(values: FloatArray, weights: FloatArray | None = None) -> float:
    """The squared difference of a further query: sum d⁴ / sum d² over all pairs and queries.

    Without any difference it is the square of the largest value.
    """
    # Column by column: a table of all pairs and queries would not fit in memory for 1,000 systems.
    fourth = second = 0.0
    for at, column in enumerate(values.T):
        squares = (values[:, at + 1 :] - column[:, None]) ** 2
        counted = squares if weights is None else squares * weights[:, None]
        second += float(counted.sum())
        fourth += float((counted * squares).sum())
    return fourth / second if second > 0 else float(np.abs(values).max(initial=0.0)) ** 2


def _pair_variances(values: FloatArray, means: FloatArray, weights: FloatArray | None) -> FloatArray:
    """The variance of the mean of each pair's differences, without the further query."""
    n, systems = values.shape
    off = values - means
    if weights is None:
        share, scale = None, 1 / (n * (n - 1))
    else:
        part = weights / math.fsum(weights.tolist())
        share, scale = part / (1 - part) * sampling_shares(weights), 1.0
    off = off if share is None else off * share[:, None]
    variances = np.zeros((systems, systems))
    for at in range(systems):
        apart = off[:, at + 1 :] - off[:, at : at + 1]
        variances[at, at + 1 :] = (apart * apart).sum(axis=0) * scale
    return variances + variances.T


def normal_scores(t: FloatArray, freedom: FloatArray | float) -> FloatArray:
    """Student's t as a normal score (Wallace 1959)."""
    # A formula for whole tables of pairs; at 19 degrees of freedom within 1% of Student's tail up to t = 4.
    scores: FloatArray = np.sign(t) * (8 * freedom + 1) / (8 * freedom + 3) * np.sqrt(freedom * np.log1p(t * t / freedom))
    return scores


@dataclass(frozen=True, eq=False, slots=True)
class Risks:
    """The risk of each system, its limit, and the rival at which the risk is largest compared with its limit.

    `race` is the number of systems that may be the best one; `below` says which rows are significantly below which columns.
    """

    risk: FloatArray
    limit: FloatArray
    rival: tuple[int, ...]
    race: int
    below: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]

    @property
    def good(self) -> list[int]:
        """The systems that are good enough."""
        return np.flatnonzero(self.risk <= self.limit).tolist()


def risks(estimates: PairEstimates, margin: float, looks: Looks = "one") -> Risks:
    """The risk of each of at least two systems that its mean is more than the margin below that of a rival."""
    scores = estimates.scores(margin)
    # Only systems that may be best can be chosen by luck; counting all would demand more of a decision among two good ones.
    race = int(race_sizes(scores[None, :, estimates.best], np.array([estimates.best]))[0])
    needed = needed_scores(margin / estimates.errors, race, looks, rival_correlations(estimates, margin))
    chances, limits = normal_above(scores), normal_above(needed)
    # The rival that matters is the one nearest to its own limit, which need not be the one with the largest risk.
    shares = chances / limits
    np.fill_diagonal(shares, -1.0)
    rival = shares.argmax(axis=1)
    at = np.arange(len(rival))
    below = estimates.scores() <= -SIGNIFICANT
    np.fill_diagonal(below, False)
    return Risks(chances[at, rival], limits[at, rival], tuple(rival.tolist()), race, below)


def race_sizes(against: FloatArray, best: IntArray) -> IntArray:
    """How many systems could be within the margin of the best one, itself included; at least two.

    A row of `against` contains the scores of all systems against the best one of that row.
    """
    # The score of a system against itself is not a number.
    others = np.arange(against.shape[1]) != best[:, None]
    return np.asarray(np.maximum(2, 1 + ((against > _IN_RACE) & others).sum(axis=1)))


def rival_correlations(estimates: PairEstimates, margin: float) -> FloatArray:
    """For each rival the mean correlation of the differences of two systems in the race from it, from 0 to that of equal noise.

    It is low for a rival that varies less than the others: then each of them has a chance of its own to be lucky.
    """
    errors = estimates.errors
    in_race = estimates.scores(margin)[:, estimates.best] > _IN_RACE
    in_race[estimates.best] = True
    variances = errors * errors
    np.fill_diagonal(variances, 0.0)
    scale = np.where(in_race[:, None], 1 / errors, 0.0)
    np.fill_diagonal(scale, 0.0)
    products = scale.sum(axis=0) * (scale * variances).sum(axis=0) - (scale * (variances @ scale)).sum(axis=0) / 2
    systems = (scale > 0).sum(axis=0)
    correlations = np.divide(
        products - systems, systems * (systems - 1), out=np.full(len(errors), _USUAL_CORRELATION), where=systems > 1
    )
    return np.asarray(np.clip(correlations, 0.0, _USUAL_CORRELATION))


def needed_scores(
    margins: FloatArray, race: int, looks: Looks = "one", correlations: FloatArray | float = _USUAL_CORRELATION
) -> FloatArray:
    """The normal score that a difference needs; `margins` are in standard errors, `correlations` are those of each rival."""
    limit = LOOK_LIMITS[looks]
    level = _ONE_LOOK_QUANTILE if looks == "one" else normal_quantile(1 - limit)
    below_usual = _USUAL_CORRELATION - np.atleast_1d(correlations)
    powers = _RACE_POWER + _POWER_SLOPE * below_usual
    among = np.array([normal_quantile(1 - limit / (race - 1) ** power) for power in powers.tolist()])
    offset = _OFFSET + _OFFSET_SLOPE * below_usual + level - _ONE_LOOK_QUANTILE
    # Never above what a race of this size needs whatever the margin, and never below what two systems need.
    needed: FloatArray = np.minimum(among, np.maximum(level, offset + _STEEPNESS * margins))
    return needed


@dataclass(frozen=True, slots=True)
class Selection:
    """The systems that may be shipped, and whether costs left others out."""

    systems: tuple[int, ...]
    by_cost: bool = False


def select(estimates: PairEstimates, system_risks: Risks, costs: Sequence[float | None], same_cost: float = 0.0) -> Selection:
    """The cheapest of the good-enough systems; one that is measurably worse only if a better one costs at least twice as much.

    Costs count as equal within 10% of the larger one, or within `same_cost`. Without the cost of each good-enough system all of
    them stay but those that are significantly below another.
    """
    good, below = system_risks.good, system_risks.below
    if not good:
        return Selection(())
    affordable = kept = good
    good_costs = {at: cost for at in good if (cost := costs[at]) is not None}
    if len(good_costs) == len(good):
        affordable = _without(
            good, estimates, lambda at, other: below[at, other] and good_costs[other] < _WORTH_IT * good_costs[at]
        )
        kept = cheapest({at: good_costs[at] for at in affordable}, same_cost)
    chosen = _without(kept, estimates, lambda at, other: below[at, other])
    return Selection(tuple(chosen), by_cost=len(kept) < len(affordable))


def cheapest(costs: Mapping[_System, float], same_cost: float) -> list[_System]:
    """The systems of the lowest cost; costs within 10% of the larger one, or within `same_cost`, are equal."""
    lowest = min(costs.values())
    return [system for system, cost in costs.items() if cost - lowest <= max(_SAME_COST * cost, same_cost)]


def _without(systems: Sequence[int], estimates: PairEstimates, is_worse: Callable[[int, int], bool]) -> list[int]:
    """The systems that are not worse than another of them; the one with the highest mean if all are."""
    kept = [at for at in systems if not any(is_worse(at, other) for other in systems)]
    # A circle of significant differences is possible; then the highest mean stays.
    return kept or [max(systems, key=lambda at: float(estimates.differences[at].sum()))]
