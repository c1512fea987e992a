"""Means set right by people's judgements, as a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..analysis.statistics.bootstrap import Interval
from ..analysis.table import Column, Item, Table
from ..analysis.wording import counted
from .agreement_tables import Thresholds
from .corrected import FEW_PAIRS, FEW_QUERIES, Corrected, corrected_mean
from .pairs import Pair
from .rubric import HIGHEST, LOWEST

_CORRECTED = (
    "The corrected means hold where the pairs that people judged are a random draw of all of them.",
    "The weight is the judge's part in them: 0 for one that knows nothing, near 1 for one that grades as people do.",
)


def corrected_table(
    judge: Mapping[Pair, int], human: Mapping[Pair, int], pools: Mapping[str, Sequence[Pair]], how: Thresholds
) -> Table:
    """The share of relevant pairs and the mean grade of each pool: by the judge, by people, and the judge's set right."""
    rows: list[tuple[Item, ...]] = []
    every: list[Corrected] = []
    for name, pool in pools.items():
        grades = {pair: judge[pair] for pair in pool if pair in judge}
        share = {pair: float(grade >= how.judge_rel) for pair, grade in grades.items()}
        relevant = {pair: float(grade >= how.rel) for pair, grade in human.items()}
        for what, found in (
            ("share relevant", corrected_mean(share, relevant, (0.0, 1.0))),
            ("mean grade", corrected_mean(dict(grades), dict(human), _scale(how))),
        ):
            if found is not None:
                rows.append((name, what, *_cells(found)))
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
        sentences=_CORRECTED if rows else (),
        notes=(*_left_out(judge, human, pools), *_few(every)),
    )


def _scale(how: Thresholds) -> Interval:
    """What the mean of grades of either side can be."""
    return (float(LOWEST), float(max(HIGHEST, how.highest or 0)))


def _left_out(judge: Mapping[Pair, int], human: Mapping[Pair, int], pools: Mapping[str, Sequence[Pair]]) -> list[str]:
    """How many of people's judgements no mean rests on, as the judge has nothing to hold against them."""
    lost = len({pair for pool in pools.values() for pair in pool if pair in human and pair not in judge})
    if not lost:
        return []
    return [f"{counted(lost, 'pair')} that people judged and the judge failed on: left out of people's means here as well"]


def _few(found: Sequence[Corrected]) -> list[str]:
    """Whether people judged too little."""
    if not found:
        return ["people judged fewer than two of the pairs, so that no mean can be set right"]
    fewest = min(found, key=lambda one: (not one.is_of_few, one.queries, one.seen))
    if not fewest.is_of_few:
        return []
    judged = f"{counted(fewest.seen, 'pair')} of {counted(fewest.queries, 'query', 'queries')}"
    return [
        f"people judged {judged} only: with fewer than {FEW_PAIRS} pairs or {FEW_QUERIES} queries "
        "the intervals of the means may be too narrow"
    ]


def _cells(found: Corrected) -> tuple[Item, ...]:
    means = (found.judge.value, found.people.value, found.people.interval, found.both.value, found.both.interval)
    return (*means, found.weight, found.seen, found.unseen)
