"""Tables of measures of claims: means with their counts, and differences between systems."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from rankproof._analysis.answers.quality import evaluation_notes
from rankproof._analysis.answers.trust import calibration_words
from rankproof._analysis.compare.comparison import Comparison
from rankproof._analysis.inputs import AnalysisInput
from rankproof._data.claims import Calibration
from rankproof._data.table import CellValue, Column, Table
from rankproof._data.text import format_value, pluralise
from rankproof._evaluation.result import MeasureResult
from rankproof._statistics.intervals import describe_interval_method, mean_interval
from rankproof.errors import for_message
from rankproof.measures._claim_base import ClaimMeasure, judge_of_measure, measure_without_judge
from rankproof.measures._overlap import OVERLAP
from rankproof.measures._parse import parse_measure

BASELINE = "baseline"


def claim_means_table(inputs: AnalysisInput, calibrations: Sequence[Calibration] = (), *, level: float = 0.95) -> Table:
    """The mean, interval and questions without a value of each system and measure; a judge that all share is in the title."""
    judges = dict.fromkeys(
        judge for measure in inputs.result.systems[0].measures.values() if (judge := judge_of_measure(measure.measure))
    )
    several = len(judges) > 1
    rows = [
        _claim_row(system.name, measure, level, several=several)
        for system in inputs.result.systems
        for measure in system.measures.values()
    ]
    by = "several judges" if several else f"the judge {', '.join(map(judge_words, judges))}"
    judged = [
        measure.measure
        for measure in inputs.result.systems[0].measures.values()
        if isinstance(measure.measure, ClaimMeasure) and judge_of_measure(measure.measure)
    ]
    n = pluralise(len(inputs.result.queries), "question")
    return Table(
        name="answer measures",
        title=f"Answers by {by}, {calibration_words(judged, calibrations)}: n = {n}",
        columns=(
            Column("system"),
            Column("measure"),
            *((Column("judge"),) if several else ()),
            Column("n", "count", "questions with a value"),
            Column("value", "value", "mean"),
            Column(f"{level:.0%} interval", "interval", describe_interval_method()),
            Column("no value", about="questions without a value, and why"),
        ),
        rows=tuple(rows),
        sentences=tuple(_bounds(inputs)),
        notes=evaluation_notes(inputs),
        facts={"n": len(inputs.result.queries), "level": level},
    )


def differences_table(comparison: Comparison) -> Table:
    """The difference of each system from the baseline under each measure."""
    baseline, alpha = comparison.baseline, comparison.options.alpha
    rows: list[tuple[CellValue, ...]] = []
    for name in comparison.measures:
        short = measure_without_judge(parse_measure(name))
        pairs = comparison.against_baseline(name)
        rows += [(short, pair.system, pair.n, pair.difference, pair.ci, pair.p) for pair in pairs.values()]
    return Table(
        name="answer differences",
        title=f"Differences from {for_message(str(baseline))}, missing values counted as the worst",
        columns=(
            Column("measure"),
            Column("system"),
            Column("n", "count", "questions"),
            Column("difference", "difference"),
            Column(f"{1 - alpha:.0%} interval", "interval", describe_interval_method()),
            Column("p", "p", "not corrected for the number of measures"),
        ),
        rows=tuple(rows),
    )


def _claim_row(system: str, result: MeasureResult, level: float, *, several: bool) -> tuple[CellValue, ...]:
    interval = mean_interval(result.values, level=level, within=result.measure.range)
    judge = judge_of_measure(result.measure)
    own = (judge_words(judge) if judge else "",) if several else ()
    mean = result.value if result.queries else None
    return (system, measure_without_judge(result.measure), *own, result.queries, mean, interval, count_words(result.counts))


def count_words(counts: Mapping[str, int]) -> str:
    """The questions without a value and why, as in "2 abstained, 1 failed"."""
    return ", ".join(f"{count} {reason.replace('_', ' ')}" for reason, count in counts.items() if count)


def judge_words(judge: str) -> str:
    """The judge; comparing words is marked as a baseline."""
    return f"{for_message(judge)} ({BASELINE})" if judge == OVERLAP else for_message(judge)


def _bounds(inputs: AnalysisInput) -> Iterator[str]:
    """A sentence for each mean with failed questions: its bounds with all of them at 0 and at 1."""
    for system in inputs.result.systems:
        for measure in system.measures.values():
            if measure.bounds is not None:
                low, high = (format_value(end) for end in measure.bounds)
                count = pluralise(measure.counts.get("failed", 0), "failed question")
                name = measure_without_judge(measure.measure)
                yield f"{for_message(system.name)}: {name} is between {low} and {high}, with {count} at 0 or at 1."
