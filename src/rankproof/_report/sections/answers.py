"""The quality of answers, the causes of bad ones, and the link to retrieval."""

from __future__ import annotations

from collections.abc import Iterator

from rankproof._analysis.answers.answer_input import AnswerInput, answer_input_from_results
from rankproof._analysis.answers.causes import reasons_tables
from rankproof._analysis.answers.judge_reliability import noise_tables
from rankproof._analysis.answers.quality import (
    answer_findings,
    claim_means_table,
    differences_table,
    means_table,
    retrieval_table,
)
from rankproof._analysis.answers.trust import agreement_table
from rankproof._analysis.bands import BandProfile, builtin_profiles
from rankproof._analysis.compare.comparison import Comparison, compare_inputs
from rankproof._analysis.inputs import AnalysisInput
from rankproof._charts.draw import svg_of
from rankproof._charts.model import Medium
from rankproof._charts.rows import ValueRow, dot_chart
from rankproof._data.table import Table
from rankproof._evaluation.result import MeasureResult, Result
from rankproof._render.result import format_value
from rankproof._report.context import ReportContext
from rankproof._report.elements import PANEL_CHART_WIDTH, Section, SvgChart, pair_link
from rankproof._statistics.intervals import Interval, mean_interval
from rankproof.measures._claim_base import judge_of_measure


def answers_section(context: ReportContext) -> Section | None:
    """Answer quality; None if no system answers or there are no reference answers."""
    if context.results.answers is None:
        return None
    inputs, profile = answer_input_from_results(context.results), builtin_profiles()["rag"]
    comparison = _comparison(inputs.inputs)
    return Section(
        key="answers",
        title="Answers",
        question="How good are the answers, and what lowers their quality?",
        sentences=() if comparison is None else comparison.decision.sentences,
        points=tuple(answer_findings(inputs, profile)) if _has_references(inputs) else (),
        charts=tuple(_answer_charts(context.results.answers)),
        tables=(
            *_means_tables(inputs.inputs, comparison),
            *(table.without_sentences() for table in _reference_tables(inputs, profile)),
        ),
    )


def _comparison(inputs: AnalysisInput) -> Comparison | None:
    """The comparison by all measures; None with one system."""
    if len(inputs.systems) < 2:
        return None
    return compare_inputs(inputs, measures=list(inputs.result.systems[0].measures), primary=inputs.decision_settings.primary)


def _has_references(inputs: AnswerInput) -> bool:
    return any(reference.answers for reference in inputs.references.values())


def _means_tables(inputs: AnalysisInput, comparison: Comparison | None) -> Iterator[Table]:
    """The means, and for judges of claims the differences and how far the judges agree with people and with themselves."""
    result = inputs.result
    if not any(judge_of_measure(measure.measure) for measure in result.systems[0].measures.values()):
        yield means_table(inputs)
        return
    yield claim_means_table(inputs, result.calibrations)
    if comparison is not None:
        yield differences_table(comparison)
    if result.calibrations:
        yield agreement_table(result.calibrations)
    yield from noise_tables(result.noise)


def _reference_tables(inputs: AnswerInput, profile: BandProfile) -> Iterator[Table]:
    """Why answers differ from their references, and whether retrieval is the cause; nothing without references."""
    if _has_references(inputs):
        yield reasons_tables({name: inputs.records(name) for name in inputs.answers})
        yield retrieval_table(inputs, profile)


def _answer_charts(result: Result) -> list[SvgChart]:
    charts = []
    for name, first in result.systems[0].measures.items():
        rows = [
            ValueRow(
                system.name,
                measured.value,
                format_value(measured.value, measured),
                _interval(measured),
                address=pair_link(system.name, None, name),
            )
            for system in result.systems
            if (measured := system.measures[name]).queries
        ]
        if rows:
            about = "; ".join(f"{row.name} {row.shown}" for row in rows)
            svg = svg_of(dot_chart(Medium(PANEL_CHART_WIDTH), rows, name, about, step=2, within=first.measure.range))
            charts.append(SvgChart(name, svg, first.measure.title, small=True))
    return charts


def _interval(measured: MeasureResult) -> Interval | None:
    return mean_interval(measured.values, within=measured.measure.range)
