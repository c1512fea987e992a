"""The quality of answers, the causes of bad ones, and the link to retrieval."""

from __future__ import annotations

from collections.abc import Mapping

from rankproof._analysis.answers.causes import reasons_tables
from rankproof._analysis.answers.inputs import answer_input_from_results
from rankproof._analysis.answers.quality import answer_findings, means_table, retrieval_table
from rankproof._analysis.bands import builtin_profiles
from rankproof._charts.model import Medium
from rankproof._charts.rows import ValueRow, dot_chart
from rankproof._charts.svg import svg_of
from rankproof._data.table import Table
from rankproof._evaluation.result import Result
from rankproof._render.grid import format_value
from rankproof._report.context import ReportContext
from rankproof._report.elements import PANEL_CHART_WIDTH, Section, SvgChart, html_table
from rankproof._statistics.intervals import Interval

IntervalsBySystem = Mapping[tuple[str, str], Interval]


def answers_section(context: ReportContext) -> Section | None:
    """Answer quality; None if no system answers or there are no reference answers."""
    if context.results.answers is None:
        return None
    inputs, profile = answer_input_from_results(context.results), builtin_profiles()["rag"]
    reasons = reasons_tables({name: tuple(inputs.records(name)) for name in inputs.answers})
    means = means_table(inputs.inputs)
    return Section(
        key="answers",
        title="Answers",
        question="How good are the answers, and what lowers their quality?",
        points=tuple(answer_findings(inputs, profile)),
        charts=tuple(_answer_charts(context.results.answers, _intervals(means))),
        tables=(
            html_table(means),
            html_table(reasons),
            html_table(retrieval_table(inputs, profile)),
        ),
    )


def _intervals(means: Table) -> IntervalsBySystem:
    """The interval of each system and measure, from the table of means."""
    return {(str(system), str(measure)): span for system, measure, *_, span in means.rows if isinstance(span, tuple)}


def _answer_charts(result: Result, spans: IntervalsBySystem) -> list[SvgChart]:
    found = []
    for name, first in result.systems[0].measures.items():
        rows = [
            ValueRow(system.name, one.value, format_value(one.value, one), spans.get((system.name, name)))
            for system in result.systems
            if (one := system.measures[name]).queries
        ]
        if rows:
            about = "; ".join(f"{row.name} {row.shown}" for row in rows)
            svg = svg_of(dot_chart(Medium(PANEL_CHART_WIDTH), rows, name, about, step=2, within=first.measure.range))
            found.append(SvgChart(name, svg, first.measure.title, small=True))
    return found
