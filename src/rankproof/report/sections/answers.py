"""Answers: how good they are, why they are not better, and what retrieval has to do with it."""

from __future__ import annotations

from collections.abc import Mapping

from ..._charts.model import Medium
from ..._charts.rows import ValueRow, dot_chart
from ..._charts.svg import svg_of
from ...analysis.answers.findings import findings
from ...analysis.answers.means import means_table
from ...analysis.answers.retrieval import retrieval_table
from ...analysis.answers.subject import subject_of_climb
from ...analysis.bands.known import known_profiles
from ...analysis.diagnose.answers import reasons_of_systems
from ...analysis.statistics.bootstrap import Interval
from ...analysis.statistics.many import draws
from ...analysis.table import Table
from ...evaluation import Result
from ...views.grid import shown_number
from ..material import Material
from ..section import Chart, Section
from ..sheet import sheet_of
from .sizes import PANEL

Spans = Mapping[tuple[str, str], Interval]


def answers(material: Material) -> Section | None:
    """None where no system answers, or no answer is known."""
    if material.climb.answers is None:
        return None
    subject, profile = subject_of_climb(material.climb), known_profiles()["rag"]
    reasons = reasons_of_systems({name: tuple(subject.records(name)) for name in subject.answers})
    means = means_table(subject.evidence, resamples=draws(len(material.climb.answers.queries)))
    return Section(
        key="answers",
        title="Answers",
        question="How good are the answers, and what holds them back?",
        points=tuple(findings(subject, profile)),
        charts=tuple(_charts(material.climb.answers, _intervals(means))),
        tables=(
            sheet_of(means),
            sheet_of(reasons),
            sheet_of(retrieval_table(subject, profile)),
        ),
    )


def _intervals(means: Table) -> Spans:
    """System and measure to its interval, as the table has it."""
    return {(str(system), str(measure)): span for system, measure, *_, span in means.rows if isinstance(span, tuple)}


def _charts(result: Result, spans: Spans) -> list[Chart]:
    found = []
    for name, first in result.systems[0].measures.items():
        rows = [
            ValueRow(system.name, one.value, shown_number(one.value, one), spans.get((system.name, name)))
            for system in result.systems
            if (one := system.measures[name]).queries
        ]
        if rows:
            about = "; ".join(f"{row.name} {row.shown}" for row in rows)
            svg = svg_of(dot_chart(Medium(PANEL), rows, name, about, step=2, within=first.measure.range))
            found.append(Chart(name, svg, first.measure.title, small=True))
    return found
