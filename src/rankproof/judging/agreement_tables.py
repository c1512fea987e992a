"""Agreement with people as tables: kappa, who gave which grade, and means set right."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from ..analysis.table import Column, Item, Table
from ..analysis.wording import brief, counted
from ..errors import UsageError, shown
from .agreement import FEW_QUERIES, RESAMPLES, Rated, Statistic, agreed, at_threshold, confusion, kappa
from .rubric import GRADES, HIGHEST

FEW_PAIRS = 10
"""With fewer pairs of a grade than this, agreement on it cannot be told."""


@dataclass(frozen=True, slots=True)
class Thresholds:
    """The least grades that count as relevant, by people and by the judge, and the seed of the draws.

    `highest` is people's highest grade in all that they judged, None where only the pairs at hand tell.
    """

    rel: int = 1
    judge_rel: int = 1
    seed: int = 0
    highest: int | None = None

    def __post_init__(self) -> None:
        if self.judge_rel > HIGHEST:
            what = f"no grade of the judge is {self.judge_rel} or more: its highest is {HIGHEST}"
            raise UsageError(what, fix=f"name one up to {HIGHEST} with --judge-rel")
        if self.highest is not None and self.rel > self.highest:
            what = f"no judgement by people has grade {self.rel} or more: their highest is {self.highest}"
            raise UsageError(what, fix=f"name one up to {self.highest} with --rel")


def agreement_table(rated: Sequence[Rated], mark: str, how: Thresholds) -> Table:
    """Every measure of agreement with its interval."""
    binary = at_threshold(rated, how.rel, how.judge_rel)
    graded, failed = _graded(rated), len(rated) - len(_graded(rated))
    queries = len({each.pair.query for each in graded})
    bounds = f"{how.rel} or more" if how.rel == how.judge_rel else f"{how.rel} or more by people, {how.judge_rel} by the judge"
    statistics = (
        kappa(rated, "kappa, quadratic weights", weighted=True, seed=how.seed),
        kappa(rated, "kappa", seed=how.seed),
        kappa(binary, f"kappa of relevant or not (grade {bounds})", seed=how.seed),
        agreed(rated, "same grade", seed=how.seed),
        agreed(binary, "both relevant or both not", seed=how.seed),
    )
    return Table(
        "judge-agreement",
        f"Agreement of {shown(mark)} with people on {counted(len(graded), 'pair')} of {counted(queries, 'query', 'queries')}",
        (
            Column("measure"),
            Column("value", "value"),
            Column("95% interval", "interval", f"bootstrap over queries, percentile, {RESAMPLES:,} resamples"),
            Column("pairs", "count", "that both graded"),
        ),
        tuple((one.name, one.value, one.interval, one.pairs) for one in statistics),
        sentences=tuple(_said(statistics[0], rated, failed)),
        notes=tuple(_notes(rated, queries, how)),
        facts={"rel": how.rel, "judge_rel": how.judge_rel, "seed": how.seed, "resamples": RESAMPLES, "failed": failed},
    )


def confusion_table(rated: Sequence[Rated]) -> Table:
    """People's grades against the judge's; the pairs that failed have a column of their own."""
    human = sorted({each.human for each in rated})
    judge = sorted({*GRADES, *(each.judge for each in rated if each.judge is not None)})
    counts = confusion(rated, human, judge)
    rows: list[tuple[Item, ...]] = []
    for at, grade in enumerate(human):
        given = [each.judge for each in rated if each.human == grade and each.judge is not None]
        mean = sum(given) / len(given) if given else None
        rows.append((str(grade), *counts[at].tolist(), int(counts[at].sum()), mean))
    total = counts.sum(axis=0).tolist()
    given = [each.judge for each in rated if each.judge is not None]
    rows.append(("all", *total, sum(total), sum(given) / len(given) if given else None))
    return Table(
        "judge-confusion",
        "People's grades (rows) and the judge's (columns)",
        (
            Column("people"),
            *(Column(f"judge {grade}", "count") for grade in judge),
            Column("failed", "count", "pairs that the judge gave no grade"),
            Column("pairs", "count"),
            Column("judge's mean", "value", "of the grades that it gave"),
        ),
        tuple(rows),
    )


def _graded(rated: Sequence[Rated]) -> list[Rated]:
    return [each for each in rated if each.judge is not None]


def _said(main: Statistic, rated: Sequence[Rated], failed: int) -> list[str]:
    if main.value is None:
        said = ["Kappa is not defined: one of the two gave the same grade to every pair."]
    else:
        bounds = "" if main.interval is None else f" ({brief(main.interval[0])} to {brief(main.interval[1])})"
        said = [f"Kappa with quadratic weights is {brief(main.value)}{bounds}; 1 is full agreement, 0 is chance."]
    given = {each.judge for each in rated if each.judge is not None}
    if len(given) == 1 and len(rated) - failed > 1:
        said.append(f"The judge gave grade {given.pop()} to every pair: it tells nothing apart.")
    if failed:
        share = f"{failed} of {counted(len(rated), 'pair')} ({failed / len(rated):.1%})"
        said.append(f"Without a grade by the judge, and left out here: {share}.")
    return said


def _notes(rated: Sequence[Rated], queries: int, how: Thresholds) -> list[str]:
    notes = []
    if queries < FEW_QUERIES:
        notes.append(f"{counted(queries, 'query is', 'queries are')} few for a bootstrap: the intervals are too narrow")
    strange = sorted({each.human for each in rated} - set(GRADES))
    if strange:
        notes.append(f"people also gave the grades {', '.join(map(str, strange))}, which the judge cannot give")
    highest = max((each.human for each in rated), default=0) if how.highest is None else how.highest
    notes += _rare(rated, highest)
    if highest < HIGHEST:
        notes.append(
            f"people's grades end at {highest} and the judge's at {HIGHEST}: "
            "of the kappas only the one of relevant or not is fair"
        )
    return notes


def _rare(rated: Sequence[Rated], highest: int) -> list[str]:
    """The grades of people's scale that few of the pairs have."""
    times = Counter(each.human for each in rated)
    rare = [f"{grade} ({times[grade]})" for grade in sorted({*range(highest + 1), *times}) if times[grade] < FEW_PAIRS]
    if not rare:
        return []
    return [
        f"fewer than {FEW_PAIRS} pairs have people's grade {', '.join(rare)}: "
        "agreement on these cannot be told, and a larger --sample has more of them"
    ]
