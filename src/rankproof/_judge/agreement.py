"""Agreement of a judge with human judgements: kappa, exact agreement and the confusion matrix."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rankproof._data.arrays import FloatArray, IntArray
from rankproof._data.qrels import GRADES, HIGHEST_GRADE
from rankproof._data.table import CellValue, Column, Table
from rankproof._data.text import format_value, pluralise
from rankproof._judge.rubric import QueryDocPair
from rankproof._statistics.intervals import Interval, resampled_means
from rankproof._statistics.kappa import kappas
from rankproof.errors import UsageError, for_message

RESAMPLES = 10_000
FEW_QUERIES = 20
"""With fewer queries a bootstrap interval is too narrow, and a note says so."""
FEW_PAIRS = 10
"""With fewer pairs of a grade, agreement on that grade cannot be measured."""


@dataclass(frozen=True, slots=True)
class RatedPair:
    """A pair with its human grade and the judge's grade, None where the judge failed."""

    pair: QueryDocPair
    human: int
    judge: int | None


@dataclass(frozen=True, slots=True)
class Statistic:
    """One measure of agreement; the interval is None where the bootstrap gives none."""

    name: str
    value: float | None
    interval: Interval | None
    pairs: int


@dataclass(frozen=True, eq=False, slots=True)
class ConfusionMatrix:
    """For each query the number of pairs with human grade i and judge grade j."""

    grades: tuple[int, ...]
    counts: FloatArray

    @property
    def total(self) -> FloatArray:
        """The sum over all queries."""
        return np.asarray(self.counts.sum(axis=0))


def rated_pairs(human: Mapping[QueryDocPair, int], judge: Mapping[QueryDocPair, int | None]) -> list[RatedPair]:
    """The pairs that both judged."""
    return [RatedPair(pair, grade, judge[pair]) for pair, grade in human.items() if pair in judge]


def confusion_matrix(rated: Sequence[RatedPair]) -> ConfusionMatrix:
    """The counts of the pairs that both graded."""
    both = [(each.pair.query, each.human, each.judge) for each in rated if each.judge is not None]
    grades = tuple(sorted({grade for _, human, judge in both for grade in (human, judge)}))
    position = {grade: at for at, grade in enumerate(grades)}
    queries = {query: at for at, query in enumerate(dict.fromkeys(query for query, _, _ in both))}
    counts = np.zeros((len(queries), len(grades), len(grades)))
    for query, human, judge in both:
        counts[queries[query], position[human], position[judge]] += 1
    return ConfusionMatrix(grades, counts)


def binarize(rated: Sequence[RatedPair], rel: int, judge_rel: int) -> list[RatedPair]:
    """The pairs with grade 1 for relevant and 0 for not relevant."""
    return [
        RatedPair(each.pair, int(each.human >= rel), None if each.judge is None else int(each.judge >= judge_rel))
        for each in rated
    ]


def kappa(
    rated: Sequence[RatedPair], name: str, *, weighted: bool = False, seed: int = 0, resamples: int = RESAMPLES
) -> Statistic:
    """Kappa of the graded pairs with its 95% interval; None where it is not defined."""
    cells = confusion_matrix(rated)
    size = len(cells.grades)
    graded = int(cells.counts.sum())
    value = float(kappas(cells.total, cells.grades, weighted=weighted)) if graded else float("nan")
    if np.isnan(value):
        return Statistic(name, None, None, graded)
    resampled = _bootstrap_sums(cells, resamples, seed).reshape(-1, size, size)
    return Statistic(name, value, _percentile_interval(kappas(resampled, cells.grades, weighted=weighted)), graded)


def exact_agreement(rated: Sequence[RatedPair], name: str, *, seed: int = 0, resamples: int = RESAMPLES) -> Statistic:
    """The share of graded pairs with the same grade from both."""
    cells = confusion_matrix(rated)
    size, graded = len(cells.grades), int(cells.counts.sum())
    if not graded:
        return Statistic(name, None, None, 0)
    same = np.eye(size, dtype=np.bool_)
    resampled = _bootstrap_sums(cells, resamples, seed).reshape(-1, size, size)
    interval = _percentile_interval(resampled[:, same].sum(1) / resampled.sum((1, 2)))
    return Statistic(name, float(cells.total[same].sum() / graded), interval, graded)


def confusion_counts(rated: Sequence[RatedPair], human: Sequence[int], judge: Sequence[int]) -> IntArray:
    """The number of pairs by human grade (rows) and judge grade (columns); the last column counts failed pairs."""
    found = np.zeros((len(human), len(judge) + 1), dtype=np.int64)
    for each in rated:
        found[human.index(each.human), len(judge) if each.judge is None else judge.index(each.judge)] += 1
    return found


def _bootstrap_sums(cells: ConfusionMatrix, resamples: int, seed: int) -> FloatArray:
    """The summed table of each bootstrap resample of queries; the sums are whole numbers."""
    means = resampled_means(cells.counts.reshape(len(cells.counts), -1), resamples, seed)
    return np.asarray(np.rint(means * len(cells.counts)))


def _percentile_interval(resampled: FloatArray) -> Interval | None:
    """The 2.5 and 97.5 percentiles of the resamples that have a value; None where they do not vary."""
    known = resampled[~np.isnan(resampled)]
    if len(known) < 2 or known.max() == known.min():
        return None
    low, high = np.quantile(known, [0.025, 0.975])
    return float(low), float(high)


@dataclass(frozen=True, slots=True)
class Thresholds:
    """The lowest grades that count as relevant, human and of the judge, and the seed of the bootstrap.

    `highest` is the highest human grade of the whole dataset, None where only the compared pairs are known.
    """

    rel: int = 1
    judge_rel: int = 1
    seed: int = 0
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
    binary = binarize(rated, thresholds.rel, thresholds.judge_rel)
    graded, failed = _graded_pairs(rated), len(rated) - len(_graded_pairs(rated))
    queries = len({each.pair.query for each in graded})
    bounds = (
        f"{thresholds.rel} or more"
        if thresholds.rel == thresholds.judge_rel
        else f"human {thresholds.rel} or more, judge {thresholds.judge_rel} or more"
    )
    statistics = (
        kappa(rated, "kappa, quadratic weights", weighted=True, seed=thresholds.seed),
        kappa(rated, "kappa", seed=thresholds.seed),
        kappa(binary, f"kappa, relevant or not (grade {bounds})", seed=thresholds.seed),
        exact_agreement(rated, "same grade", seed=thresholds.seed),
        exact_agreement(binary, "both relevant or both not", seed=thresholds.seed),
    )
    return Table(
        "judge-agreement",
        f"Agreement of {for_message(judge_label)} with human judgements on {pluralise(len(graded), 'pair')} of "
        f"{pluralise(queries, 'query', 'queries')}",
        (
            Column("measure"),
            Column("value", "value"),
            Column("95% interval", "interval", f"bootstrap over queries, percentile, {RESAMPLES:,} resamples"),
            Column("pairs", "count", "graded by both"),
        ),
        tuple((one.name, one.value, one.interval, one.pairs) for one in statistics),
        sentences=tuple(_describe_agreement(statistics[0], rated, failed)),
        notes=tuple(_notes(rated, queries, thresholds)),
        facts={
            "rel": thresholds.rel,
            "judge_rel": thresholds.judge_rel,
            "seed": thresholds.seed,
            "resamples": RESAMPLES,
            "failed": failed,
        },
    )


def confusion_table(rated: Sequence[RatedPair]) -> Table:
    """The confusion matrix of human and judge grades, with a column for failed pairs."""
    human = sorted({each.human for each in rated})
    judge = sorted({*GRADES, *(each.judge for each in rated if each.judge is not None)})
    counts = confusion_counts(rated, human, judge)
    rows: list[tuple[CellValue, ...]] = []
    for at, grade in enumerate(human):
        given = [each.judge for each in rated if each.human == grade and each.judge is not None]
        mean = sum(given) / len(given) if given else None
        rows.append((str(grade), *counts[at].tolist(), int(counts[at].sum()), mean))
    total = counts.sum(axis=0).tolist()
    given = [each.judge for each in rated if each.judge is not None]
    rows.append(("all", *total, sum(total), sum(given) / len(given) if given else None))
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


def _graded_pairs(rated: Sequence[RatedPair]) -> list[RatedPair]:
    return [each for each in rated if each.judge is not None]


def _describe_agreement(main: Statistic, rated: Sequence[RatedPair], failed: int) -> list[str]:
    if main.value is None:
        sentences = ["Kappa is not defined: one side has the same grade for every pair."]
    else:
        bounds = "" if main.interval is None else f" ({format_value(main.interval[0])} to {format_value(main.interval[1])})"
        sentences = [f"Kappa with quadratic weights is {format_value(main.value)}{bounds}; 1 is full agreement, 0 is chance."]
    given = {each.judge for each in rated if each.judge is not None}
    if len(given) == 1 and len(rated) - failed > 1:
        sentences.append(f"The judge gave grade {given.pop()} to every pair: it does not discriminate.")
    if failed:
        share = f"{failed} of {pluralise(len(rated), 'pair')} ({failed / len(rated):.1%})"
        sentences.append(f"Left out, because the judge gave no grade: {share}.")
    return sentences


def _notes(rated: Sequence[RatedPair], queries: int, thresholds: Thresholds) -> list[str]:
    notes = []
    if queries < FEW_QUERIES:
        notes.append(f"with only {pluralise(queries, 'query', 'queries')} the bootstrap intervals are too narrow")
    other = sorted({each.human for each in rated} - set(GRADES))
    if other:
        notes.append(f"human judgements also have the grades {', '.join(map(str, other))}, which the judge cannot give")
    highest = max((each.human for each in rated), default=0) if thresholds.highest is None else thresholds.highest
    notes += _rare_grades(rated, highest)
    if highest < HIGHEST_GRADE:
        notes.append(
            f"human grades end at {highest}, judge grades at {HIGHEST_GRADE}: "
            "of the three kappas only the one of relevant or not is comparable"
        )
    return notes


def _rare_grades(rated: Sequence[RatedPair], highest: int) -> list[str]:
    """The human grades that few pairs have."""
    times = Counter(each.human for each in rated)
    rare = [f"{grade} ({times[grade]})" for grade in sorted({*range(highest + 1), *times}) if times[grade] < FEW_PAIRS]
    if not rare:
        return []
    return [
        f"fewer than {FEW_PAIRS} pairs have human grade {', '.join(rare)}: "
        "agreement on these grades cannot be measured; raise --sample to get more of them"
    ]
