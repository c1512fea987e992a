"""Prediction-powered means."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rankproof._data.arrays import FloatArray
from rankproof._data.qrels import HIGHEST_GRADE, LOWEST_GRADE
from rankproof._data.table import CellValue, Column, Table
from rankproof._data.text import pluralise
from rankproof._judge.agreement import Thresholds
from rankproof._judge.rubric import QueryDocPair
from rankproof._statistics.distributions import student_quantile
from rankproof._statistics.intervals import UNBOUNDED, Interval

MIN_QUERIES = 2
"""Pairs that people must have seen."""
FEW_QUERIES, FEW_PAIRS = 20, 50
"""With fewer that people saw, the interval may hold the truth less often than it says; a note says so."""


@dataclass(frozen=True, slots=True)
class MeanEstimate:
    """A mean and its interval of 95%, None where there is nothing to tell it by."""

    value: float
    interval: Interval | None


@dataclass(frozen=True, slots=True)
class PredictionPoweredMean:
    """One mean: by the judge over all pairs, by people over those that they saw, and both together with the judge's weight.

    `queries` is of how many queries people saw pairs: the corrected mean is no surer than these make it.
    """

    judge: MeanEstimate
    human: MeanEstimate
    corrected: MeanEstimate
    weight: float
    seen: int
    unseen: int
    queries: int

    @property
    def has_few_judgements(self) -> bool:
        """Whether people saw too little for its interval to be wide enough for sure."""
        return self.queries < FEW_QUERIES or self.seen < FEW_PAIRS


def corrected_mean(
    judge: Mapping[QueryDocPair, float], human: Mapping[QueryDocPair, float], within: Interval = UNBOUNDED
) -> PredictionPoweredMean | None:
    """The mean over the pairs of `judge`, some of which people judged; None where they judged fewer than two.

    `within` is what a mean can be: none, nor the end of an interval, is outside.
    """
    seen = [pair for pair in judge if pair in human]
    unseen = [pair for pair in judge if pair not in human]
    if len(seen) < MIN_QUERIES:
        return None
    places = {query: at for at, query in enumerate(dict.fromkeys(pair.query for pair in judge))}
    all_of_it = _query_influences(list(judge), list(judge.values()), places)
    people = _query_influences(seen, [human[pair] for pair in seen], places)
    rest, same = (_query_influences(pairs, [judge[pair] for pair in pairs], places) for pairs in (unseen, seen))
    apart = rest.influences - same.influences
    weight = _optimal_weight(people.influences, apart) if unseen else 0.0
    pulls = people.influences + weight * apart
    both = _ClusteredMean(people.mean + weight * (rest.mean - same.mean), pulls, people.queries, fitted=2 if weight else 1)
    by_judge, by_people, by_both = (part.estimate(within) for part in (all_of_it, people, both))
    return PredictionPoweredMean(by_judge, by_people, by_both, weight, len(seen), len(unseen), people.queries)


@dataclass(frozen=True, eq=False, slots=True)
class _ClusteredMean:
    """A mean, how far each query pulls at it, how many queries tell its error, and how many numbers were fitted to them."""

    mean: float
    influences: FloatArray
    queries: int
    fitted: int = 1

    def estimate(self, within: Interval) -> MeanEstimate:
        """The mean, give or take Student's t times its error; no interval for too few queries, or values without spread."""
        mean = clip(self.mean, within)
        freedom = self.queries - self.fitted
        if freedom < 1 or not self.influences.any():
            return MeanEstimate(mean, None)
        error = math.sqrt(float((self.influences**2).sum()) * self.queries / freedom)
        reach = student_quantile(0.975, freedom) * error
        return MeanEstimate(mean, (clip(self.mean - reach, within), clip(self.mean + reach, within)))


def _query_influences(pairs: Sequence[QueryDocPair], values: Sequence[float], places: Mapping[str, int]) -> _ClusteredMean:
    pulls: FloatArray = np.zeros(len(places))
    mean = float(np.mean(values)) if pairs else 0.0
    for pair, value in zip(pairs, values, strict=True):
        pulls[places[pair.query]] += (value - mean) / len(values)
    return _ClusteredMean(mean, pulls, len({pair.query for pair in pairs}))


def _optimal_weight(human: FloatArray, apart: FloatArray) -> float:
    """The weight of least error."""
    spread = float((apart**2).sum())
    return clip(-float((human * apart).sum()) / spread, (0.0, 1.0)) if spread else 0.0


def clip(value: float, within: Interval) -> float:
    """The value, or the end that it is beyond; 0 is never negative."""
    return max(within[0], min(value, within[1])) + 0.0


_ASSUMPTION = (
    "The corrected means hold where the pairs that people judged are a random draw of all of them.",
    "The weight is the judge's part in them: 0 for one that knows nothing, near 1 for one that grades as people do.",
)


def corrected_table(
    judge: Mapping[QueryDocPair, int],
    human: Mapping[QueryDocPair, int],
    pools: Mapping[str, Sequence[QueryDocPair]],
    thresholds: Thresholds,
) -> Table:
    """The share of relevant pairs and the mean grade of each pool: by the judge, by people, and the judge's set right."""
    rows: list[tuple[CellValue, ...]] = []
    every: list[PredictionPoweredMean] = []
    for name, pool in pools.items():
        grades = {pair: judge[pair] for pair in pool if pair in judge}
        share = {pair: float(grade >= thresholds.judge_rel) for pair, grade in grades.items()}
        relevant = {pair: float(grade >= thresholds.rel) for pair, grade in human.items()}
        for what, found in (
            ("share relevant", corrected_mean(share, relevant, (0.0, 1.0))),
            ("mean grade", corrected_mean(dict(grades), dict(human), _grade_range(thresholds))),
        ):
            if found is not None:
                rows.append((name, what, *_row_cells(found)))
                every.append(found)
    return Table(
        "judge-corrected",
        "Means by the judge, set right by the pairs that people judged",
        (
            Column("pairs of"),
            Column("mean of"),
            Column("judge", "value", "over all pairs, believed as they are"),
            Column("people", "value", "over the pairs that they judged"),
            Column("people's 95%", "interval", "Student's t over the queries that they judged"),
            Column("corrected", "value", "prediction-powered mean"),
            Column("corrected 95%", "interval", "Student's t over the queries that people judged"),
            Column("weight", "value", "the judge's part in the corrected mean"),
            Column("by both", "count", "pairs that people judged too"),
            Column("by judge alone", "count"),
        ),
        tuple(rows),
        sentences=_ASSUMPTION if rows else (),
        notes=(*_unused_judgements(judge, human, pools), *_small_sample_note(every)),
    )


def _grade_range(thresholds: Thresholds) -> Interval:
    """What the mean of grades of either side can be."""
    return (float(LOWEST_GRADE), float(max(HIGHEST_GRADE, thresholds.highest or 0)))


def _unused_judgements(
    judge: Mapping[QueryDocPair, int], human: Mapping[QueryDocPair, int], pools: Mapping[str, Sequence[QueryDocPair]]
) -> list[str]:
    """How many of people's judgements no mean rests on, as the judge has nothing to hold against them."""
    lost = len({pair for pool in pools.values() for pair in pool if pair in human and pair not in judge})
    if not lost:
        return []
    return [f"{pluralise(lost, 'pair')} that people judged and the judge failed on: left out of people's means here as well"]


def _small_sample_note(found: Sequence[PredictionPoweredMean]) -> list[str]:
    """Whether people judged too little."""
    if not found:
        return ["people judged fewer than two of the pairs, so that no mean can be set right"]
    fewest = min(found, key=lambda one: (not one.has_few_judgements, one.queries, one.seen))
    if not fewest.has_few_judgements:
        return []
    judged = f"{pluralise(fewest.seen, 'pair')} of {pluralise(fewest.queries, 'query', 'queries')}"
    return [
        f"people judged {judged} only: with fewer than {FEW_PAIRS} pairs or {FEW_QUERIES} queries "
        "the intervals of the means may be too narrow"
    ]


def _row_cells(found: PredictionPoweredMean) -> tuple[CellValue, ...]:
    means = (found.judge.value, found.human.value, found.human.interval, found.corrected.value, found.corrected.interval)
    return (*means, found.weight, found.seen, found.unseen)
