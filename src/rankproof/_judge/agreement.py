"""Agreement of a judge with human judgements: kappa, exact agreement, the confusion matrix, and bias-corrected means."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rankproof._data.arrays import IntArray
from rankproof._data.qrels import GRADES, HIGHEST_GRADE, LOWEST_GRADE
from rankproof._data.table import CellValue, Column, Table
from rankproof._data.text import format_value, pluralise
from rankproof._judge.pairs import QueryDocPair
from rankproof._statistics import prediction_powered
from rankproof._statistics.agreement import FEW_QUERIES, Agreement, RatedItem, kappa, same_grade
from rankproof._statistics.intervals import Interval
from rankproof._statistics.prediction_powered import (
    FEW_LABELS,
    INTERVAL_METHOD,
    JudgedItem,
    PredictionPoweredMean,
    corrected_mean,
)
from rankproof.errors import UsageError, for_message

FEW_PAIRS = 10
"""With fewer pairs of a grade, agreement on that grade cannot be measured."""


@dataclass(frozen=True, slots=True)
class RatedPair:
    """A pair with its human grade and the judge's grade, None if the judge failed."""

    pair: QueryDocPair
    human: int
    judge: int | None


def rated_pairs(human: Mapping[QueryDocPair, int], judge: Mapping[QueryDocPair, int | None]) -> list[RatedPair]:
    """The pairs that both judged."""
    return [RatedPair(pair, grade, judge[pair]) for pair, grade in human.items() if pair in judge]


def binarize(rated: Sequence[RatedPair], rel: int, judge_rel: int) -> list[RatedPair]:
    """The pairs with grade 1 for relevant and 0 for not relevant."""
    return [
        RatedPair(pair.pair, int(pair.human >= rel), None if pair.judge is None else int(pair.judge >= judge_rel))
        for pair in rated
    ]


def both_graded(rated: Sequence[RatedPair]) -> list[RatedItem]:
    """The pairs that both graded."""
    return [RatedItem(pair.pair.query, pair.human, pair.judge) for pair in rated if pair.judge is not None]


def confusion_counts(rated: Sequence[RatedPair], human: Sequence[int], judge: Sequence[int]) -> IntArray:
    """The number of pairs by human grade (rows) and judge grade (columns); the last column counts failed pairs."""
    counts = np.zeros((len(human), len(judge) + 1), dtype=np.int64)
    for pair in rated:
        counts[human.index(pair.human), len(judge) if pair.judge is None else judge.index(pair.judge)] += 1
    return counts


@dataclass(frozen=True, slots=True)
class Thresholds:
    """The lowest grades that count as relevant, human and of the judge.

    `highest` is the highest human grade of the whole dataset, None if only the compared pairs are known.
    """

    rel: int = 1
    judge_rel: int = 1
    highest: int | None = None

    def __post_init__(self) -> None:
        if self.judge_rel > HIGHEST_GRADE:
            what = f"the judge gives no grade of {self.judge_rel} or more: its highest is {HIGHEST_GRADE}"
            raise UsageError(what, fix=f"set --judge-rel to at most {HIGHEST_GRADE}")
        if self.highest is not None and self.rel > self.highest:
            what = f"no human judgement has grade {self.rel} or more: the highest is {self.highest}"
            raise UsageError(what, fix=f"set --rel to at most {self.highest}")


def agreement_table(rated: Sequence[RatedPair], judge_label: str, thresholds: Thresholds) -> Table:
    """Every measure of agreement with its interval."""
    graded, binary = both_graded(rated), both_graded(binarize(rated, thresholds.rel, thresholds.judge_rel))
    failed, queries = len(rated) - len(graded), len({item.query for item in graded})
    bounds = (
        f"{thresholds.rel} or more"
        if thresholds.rel == thresholds.judge_rel
        else f"human {thresholds.rel} or more, judge {thresholds.judge_rel} or more"
    )
    statistics = {
        "kappa, quadratic weights": kappa(graded, "quadratic"),
        "kappa": kappa(graded),
        f"kappa, relevant or not (grade {bounds})": kappa(binary),
        "same grade": same_grade(graded),
        "both relevant or both not": same_grade(binary),
    }
    return Table(
        "judge-agreement",
        f"Agreement of {for_message(judge_label)} with human judgements on {pluralise(len(graded), 'pair')} of "
        f"{pluralise(queries, 'query', 'queries')}",
        (
            Column("measure"),
            Column("value", "value"),
            Column("95% CI", "interval", "Student's t over queries"),
            Column("pairs", "count", "graded by both"),
        ),
        tuple((name, statistic.value, statistic.interval, statistic.items) for name, statistic in statistics.items()),
        sentences=tuple(_describe_agreement(next(iter(statistics.values())), rated, failed)),
        notes=tuple(_notes(rated, queries, thresholds)),
        facts={"rel": thresholds.rel, "judge_rel": thresholds.judge_rel, "failed": failed},
        verdict_first=True,
    )


def confusion_table(rated: Sequence[RatedPair]) -> Table:
    """The confusion matrix of human and judge grades, with a column for failed pairs."""
    human = sorted({pair.human for pair in rated})
    judge = sorted({*GRADES, *(pair.judge for pair in rated if pair.judge is not None)})
    counts = confusion_counts(rated, human, judge)
    rows: list[tuple[CellValue, ...]] = []
    for at, grade in enumerate(human):
        judge_grades = [pair.judge for pair in rated if pair.human == grade and pair.judge is not None]
        mean = sum(judge_grades) / len(judge_grades) if judge_grades else None
        rows.append((str(grade), *counts[at].tolist(), int(counts[at].sum()), mean))
    total = counts.sum(axis=0).tolist()
    judge_grades = [pair.judge for pair in rated if pair.judge is not None]
    rows.append(("all", *total, sum(total), sum(judge_grades) / len(judge_grades) if judge_grades else None))
    return Table(
        "judge-confusion",
        "Human grades (rows) and judge grades (columns)",
        (
            Column("human"),
            *(Column(f"judge {grade}", "count") for grade in judge),
            Column("failed", "count", "pairs that the judge did not grade"),
            Column("pairs", "count"),
            Column("judge mean", "value", "mean grade of the judge"),
        ),
        tuple(rows),
    )


def _describe_agreement(main: Agreement, rated: Sequence[RatedPair], failed: int) -> list[str]:
    if main.value is None:
        sentences = ["Kappa is not defined: one side has the same grade for every pair."]
    else:
        bounds = "" if main.interval is None else f" [{format_value(main.interval[0])}, {format_value(main.interval[1])}]"
        sentences = [f"Kappa with quadratic weights is {format_value(main.value)}{bounds}; 1 is full agreement, 0 is chance."]
    judge_grades = {pair.judge for pair in rated if pair.judge is not None}
    if len(judge_grades) == 1 and len(rated) - failed > 1:
        sentences.append(f"The judge gave grade {judge_grades.pop()} to every pair: it does not discriminate.")
    if failed:
        share = f"{failed} of {pluralise(len(rated), 'pair')} ({failed / len(rated):.1%})"
        sentences.append(f"Left out, because the judge gave no grade: {share}.")
    return sentences


def _notes(rated: Sequence[RatedPair], queries: int, thresholds: Thresholds) -> list[str]:
    notes = []
    if queries < FEW_QUERIES:
        notes.append(f"with only {pluralise(queries, 'query', 'queries')} the intervals are approximate")
    other = sorted({pair.human for pair in rated} - set(GRADES))
    if other:
        notes.append(f"human judgements also have the grades {', '.join(map(str, other))}, which the judge cannot give")
    highest = max((pair.human for pair in rated), default=0) if thresholds.highest is None else thresholds.highest
    notes += _rare_grades(rated, highest)
    if highest < HIGHEST_GRADE:
        notes.append(
            f"human grades end at {highest}, judge grades at {HIGHEST_GRADE}: "
            "of the three kappas only the one of relevant or not is comparable"
        )
    return notes


def _rare_grades(rated: Sequence[RatedPair], highest: int) -> list[str]:
    """The human grades that few pairs have."""
    times = Counter(pair.human for pair in rated)
    rare = [f"{grade} ({times[grade]})" for grade in sorted({*range(highest + 1), *times}) if times[grade] < FEW_PAIRS]
    if not rare:
        return []
    return [
        f"fewer than {FEW_PAIRS} pairs have human grade {', '.join(rare)}: "
        "agreement on these grades cannot be measured; raise --sample to get more of them"
    ]


_ASSUMPTION = (
    "The corrected means are valid if the pairs with human judgements are a random sample of all pairs.",
    "The weight is the judge's share in them: 0 for a judge without information, near 1 for one that grades like humans.",
)


def corrected_table(
    judge: Mapping[QueryDocPair, int],
    human: Mapping[QueryDocPair, int],
    pools: Mapping[str, Sequence[QueryDocPair]],
    thresholds: Thresholds,
) -> Table:
    """The share of relevant pairs and the mean grade of each pool: of the judge, of humans, and bias-corrected."""
    rows: list[tuple[CellValue, ...]] = []
    every: list[PredictionPoweredMean] = []
    for name, pool in pools.items():
        grades = {pair: judge[pair] for pair in pool if pair in judge}
        share = {pair: float(grade >= thresholds.judge_rel) for pair, grade in grades.items()}
        relevant = {pair: float(grade >= thresholds.rel) for pair, grade in human.items()}
        for what, mean in (
            ("share relevant", corrected_mean(_items(share, relevant), (0.0, 1.0))),
            ("mean grade", corrected_mean(_items(grades, human), _grade_range(thresholds))),
        ):
            if mean is not None:
                rows.append((name, what, *_row_cells(mean)))
                every.append(mean)
    return Table(
        "judge-corrected",
        "Means of the judge, bias-corrected by human judgements",
        (
            Column("pairs of"),
            Column("mean of"),
            Column("judge", "value", "over all pairs, uncorrected"),
            Column("human", "value", "over the pairs with a human judgement"),
            Column("human 95%", "interval", INTERVAL_METHOD),
            Column("corrected", "value", "prediction-powered mean"),
            Column("corrected 95%", "interval", INTERVAL_METHOD),
            Column("weight", "value", "the judge's share in the corrected mean"),
            Column("by both", "count", "pairs that also have a human judgement"),
            Column("by judge only", "count"),
        ),
        tuple(rows),
        sentences=_ASSUMPTION if rows else (),
        notes=(*_unused_judgements(judge, human, pools), *_small_sample_note(every)),
    )


def _items(judge: Mapping[QueryDocPair, float], human: Mapping[QueryDocPair, float]) -> list[JudgedItem]:
    return [JudgedItem(pair.query, value, human.get(pair)) for pair, value in judge.items()]


def _grade_range(thresholds: Thresholds) -> Interval:
    """The range of a mean grade, human or of the judge."""
    return (float(LOWEST_GRADE), float(max(HIGHEST_GRADE, thresholds.highest or 0)))


def _unused_judgements(
    judge: Mapping[QueryDocPair, int], human: Mapping[QueryDocPair, int], pools: Mapping[str, Sequence[QueryDocPair]]
) -> list[str]:
    """A note on human judgements of pairs that the judge failed on: no mean uses them."""
    lost = len({pair for pool in pools.values() for pair in pool if pair in human and pair not in judge})
    if not lost:
        return []
    return [f"{pluralise(lost, 'pair')} with a human judgement left out of all means here: the judge failed on them"]


def _small_sample_note(means: Sequence[PredictionPoweredMean]) -> list[str]:
    """A note where there are too few human judgements."""
    if not means:
        return ["fewer than two of the pairs have a human judgement: no mean can be corrected"]
    fewest = min(means, key=lambda mean: (not mean.has_few_labels, mean.queries, mean.seen))
    if not fewest.has_few_labels:
        return []
    judged = f"{pluralise(fewest.seen, 'pair')} of {pluralise(fewest.queries, 'query', 'queries')}"
    return [
        f"only {judged} have human judgements: with fewer than {FEW_LABELS} pairs or {prediction_powered.FEW_QUERIES} queries "
        "the intervals of the means may be too narrow"
    ]


def _row_cells(mean: PredictionPoweredMean) -> tuple[CellValue, ...]:
    means = (mean.judge.value, mean.human.value, mean.human.interval, mean.corrected.value, mean.corrected.interval)
    return (*means, mean.weight, mean.seen, mean.unseen)
