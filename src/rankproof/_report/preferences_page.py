"""The report page of preferences: the decision, the ranking with intervals, places and orders, agreement with people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import cast

from rankproof._analysis.preferences import PreferenceResult
from rankproof._charts.rows import Span, ValueRow, dot_chart
from rankproof._data.table import Table
from rankproof._data.text import pluralise
from rankproof._report.elements import KeyFigure, Section, SvgChart, as_sentence, chart_of_widths
from rankproof._report.page import render_page

_SECTIONS: Mapping[str, tuple[str, str]] = {
    "places": ("Places and orders", "Is the answer that is shown first preferred, and do both orders agree?"),
    "agreement": ("Agreement", "Do machines prefer what people prefer?"),
}
_OUTCOMES = {"ship": "Ship", "keep": "Keep", "either": "Either", "not_decided": "Not decided", "judge_leads": "Not decided"}


def render_preferences_report(result: PreferenceResult, name: str) -> str:
    """The page as one HTML file; the same result gives the same bytes."""
    tables = {table.name: table for table in result.tables}
    facts = [pluralise(len(result.decision.by_system), "system"), pluralise(result.decision.n, "question")]
    return render_page(name, facts, [_decision(result, tables["preferred"]), *_parts(tables)], [], {}, source="preferences")


def _decision(result: PreferenceResult, table: Table) -> Section:
    decision = result.decision
    lead, *more = result.sentences
    return Section(
        "decision",
        "Decision",
        "Which system gives the better answers?",
        lead,
        (
            KeyFigure("decision", _OUTCOMES.get(str(decision.outcome), "None"), ", ".join(decision.systems)),
            KeyFigure("questions", f"{decision.n:,}"),
        ),
        tuple(more),
        warnings=tuple(map(as_sentence, result.notes)),
        charts=(_chart(table, decision.systems),),
        tables=(table,),
    )


def _chart(table: Table, chosen: tuple[str, ...]) -> SvgChart:
    """The chance of each system to be preferred, a dot with its interval."""
    rows = [
        ValueRow(str(row[0]), cast(float, row[1]), f"{row[1]:.3f}", cast("Span | None", row[2]), best=row[0] in chosen)
        for row in table.rows
    ]
    title, about = (
        "Chance of being preferred to another system",
        "Dots are estimates, lines 95% intervals; questions are the sample.",
    )
    return chart_of_widths(lambda medium: dot_chart(medium, rows, title, about, within=(0.0, 1.0)), title, about, len(rows))


def _parts(tables: Mapping[str, Table]) -> Iterator[Section]:
    for key, (title, question) in _SECTIONS.items():
        if key in tables:
            yield Section(key, title, question, tables=(tables[key],))
