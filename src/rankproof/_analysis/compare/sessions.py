"""Sessions as the unit of sampling: the turns of a conversation are one row of a decision, as they are not independent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from rankproof._analysis.compare.joined_values import JoinedValues, sessions_of
from rankproof._analysis.decision.scenarios import MissingValues, PartlyMissing, best_value
from rankproof._data.arrays import FloatArray, IntArray
from rankproof._data.dataset import Queries
from rankproof._evaluation.result import MeasureResult
from rankproof._statistics.intervals import Interval, mean_interval


def by_session(joined: JoinedValues) -> JoinedValues:
    """A row for each session: the means of its turns, which count by their number; without sessions the values as they are.

    The weighted mean over sessions is the mean over turns, and its variance that of a ratio of sums over sessions.
    """
    if joined.sessions is None:
        return joined
    names, places = np.unique(np.array(joined.sessions), return_inverse=True)
    weights, values = session_means(joined.values[0], places, joined.weights)
    every = np.array([session_means(own, places, joined.weights)[1] for own in joined.values])
    missing = None if joined.missing is None else _missing_by_session(joined, joined.missing, places, values)
    even = None if np.all(weights == weights[0]) else weights
    return replace(joined, queries=tuple(map(str, names)), values=every, weights=even, missing=missing, sessions=None)


def session_means(values: FloatArray, places: IntArray, weights: FloatArray | None = None) -> tuple[FloatArray, FloatArray]:
    """The weight of each session and its weighted means by column; `places` has the session of each row."""
    own = np.ones(len(values)) if weights is None else np.asarray(weights)
    total: FloatArray = np.bincount(places, weights=own).astype(np.float64)
    sums = np.array([np.bincount(places, weights=own * column) for column in values.T]).T
    return total, sums / total[:, None]


def places_of(sessions: Sequence[str], rows: Sequence[int]) -> IntArray:
    """The number of the session of each row, in the order of their names."""
    return np.asarray(np.unique(np.array(sessions)[list(rows)], return_inverse=True)[1])


def _missing_by_session(joined: JoinedValues, missing: MissingValues, places: IntArray, means: FloatArray) -> MissingValues:
    """A value is missing if that of each turn is; else the part that is missing counts as this part of the session."""

    def share(parts: FloatArray) -> FloatArray:
        return session_means(parts, places, joined.weights)[1]

    best, partly, values = best_value(joined.measures[0]), missing.partly, joined.values[0]
    zeros = np.zeros(values.shape)
    abstained, unknown = missing.abstained.astype(float), missing.unknown.astype(float)
    whole = [np.asarray(share(part.astype(float)) == 1) for part in (missing.no_answer, missing.abstained, missing.unknown)]
    no_answer, all_abstained, all_unknown = whole
    if best is None:
        return MissingValues(no_answer, all_abstained, all_unknown, skips=missing.skips)
    sign = -1.0 if joined.measures[0].higher_is_better is False else 1.0
    without = values + sign * (zeros if partly is None else partly.without_abstained)
    at_best = np.where(missing.unknown, best, values + sign * (zeros if partly is None else partly.unknown_at_best))
    kept = share(1 - abstained)
    left = np.divide(share(without * (1 - abstained)), kept, out=means.copy(), where=kept > 0)
    some = PartlyMissing(
        np.where(whole[1], 0.0, share(abstained + (zeros if partly is None else partly.abstained))),
        np.where(whole[2], 0.0, share(unknown + (zeros if partly is None else partly.unknown))),
        np.abs(left - means),
        np.where(whole[2], 0.0, np.abs(share(at_best) - means)),
    )
    shown = any(part.any() for part in (some.abstained, some.unknown))
    return MissingValues(no_answer, all_abstained, all_unknown, skips=missing.skips, partly=some if shown else None)


def session_interval(measured: MeasureResult, texts: Queries | None, level: float) -> Interval | None:
    """The interval of a mean whose unit is the session, of one without sessions that of questions."""
    values, weights = measured.values, measured.weights
    sessions = sessions_of(measured.query_ids, texts)
    if sessions is not None:
        weights, means = session_means(values[:, None], places_of(sessions, range(len(sessions))), weights)
        values = means[:, 0]
    return mean_interval(values, level=level, within=measured.measure.range, weights=weights)
