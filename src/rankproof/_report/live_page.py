"""The report page of live traffic: the decision, the trend over days, and the tables behind it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date
from typing import NamedTuple, cast

from rankproof._charts.model import (
    Axis,
    Box,
    Chart,
    ErrorBar,
    Lines,
    Mark,
    Medium,
    Panel,
    Point,
    Scale,
    Tick,
    value_axis,
    value_scale,
)
from rankproof._data.table import Table
from rankproof._data.text import pluralise
from rankproof._report.elements import KeyFigure, Section, SvgChart, as_sentence, chart_of_widths
from rankproof._report.page import render_page
from rankproof._results.live_results import LiveDocument
from rankproof.errors import for_message

_KINDS = {"interleaving": "interleaved lists", "ab": "A/B test"}
_TREND, _ROWS = "trend", "rows"


def render_live_report(document: LiveDocument, links: Sequence[tuple[str, str]] = ()) -> str:
    """The page as one HTML file; the same document gives the same bytes."""
    tables = {table.name: table.table() for table in document.tables}
    opened = [_decision(document, tables), *_trend(tables.get(_TREND), tables.get("systems")), *_parts(tables)]
    folded = (
        [Section("log", "The log", "What was read, and what was dropped?", tables=(tables[_ROWS],))] if _ROWS in tables else []
    )
    return render_page(document.name, _facts(document), opened, folded, {}, links=links, source="a log of live traffic")


def _facts(document: LiveDocument) -> list[str]:
    facts = document.facts
    period = [f"{str(facts['from'])[:10]} to {str(facts['to'])[:10]}"] if "from" in facts and "to" in facts else []
    method = f", {facts['method']}" if facts.get("method") else ""
    return [
        f"live traffic: {_KINDS.get(document.kind, document.kind)}{method}",
        *(pluralise(int(facts.get(f"{noun}s", 0)), noun) for noun in ("session", "user", "click")),
        *period,
        document.made[:10],
    ]


def _decision(document: LiveDocument, tables: dict[str, Table]) -> Section:
    """The decision in words, its figures, and what to know about the log."""
    lead, *more = document.sentences
    shown = tuple(tables[name] for name in ("systems", "differences", "guardrails") if name in tables)
    return Section(
        "decision",
        "Decision",
        "Which system should be shipped?",
        lead,
        tuple(_figures(document)),
        tuple(more),
        warnings=tuple(map(as_sentence, document.notes)),
        tables=shown,
    )


def _figures(document: LiveDocument) -> Iterator[KeyFigure]:
    decision = document.decision
    words = {"ship": "Ship", "keep": "Keep", "either": "Either", "not_decided": "Not decided"}
    chosen = ", ".join(map(str, decision.get("systems", ())))
    yield KeyFigure("decision", words.get(str(decision.get("outcome")), "None"), chosen)
    for noun in ("session", "user"):
        yield KeyFigure(f"{noun}s", f"{int(document.facts.get(f'{noun}s', 0)):,}")


def _parts(tables: dict[str, Table]) -> Iterator[Section]:
    if "metrics" in tables:
        yield Section("metrics", "Further metrics", "What else changed?", tables=(tables["metrics"],))
    if "segments" in tables:
        yield Section("segments", "Segments", "Is it the same in each part of the traffic?", tables=(tables["segments"],))


def _trend(table: Table | None, systems: Table | None) -> Iterator[Section]:
    """The difference to the first system as each day's look shows it."""
    if table is None or systems is None:
        return
    question = "How did the difference and its interval develop?"
    charts = tuple(
        _chart(table, name, str(systems.rows[0][0]))
        for name in dict.fromkeys(str(row[1]) for row in table.rows if row[5] is not None)
    )
    yield Section("trend", "Trend", question, charts=charts, folded=(table,))


def _chart(table: Table, system: str, first: str) -> SvgChart:
    """The difference of one system to the first, a dot and an interval for each look."""
    rows = [row for row in table.rows if row[1] == system and row[5] is not None]
    looks = [
        _Look(date.fromisoformat(str(row[0])).toordinal(), cast(float, row[4]), cast("tuple[float, float]", row[5]))
        for row in rows
    ]
    title = f"Difference of {for_message(system)} to {for_message(first)}, with its interval at each look"
    about = "The system is better once the interval is above 0. It is valid at every look."
    return chart_of_widths(lambda medium: _look_chart(medium, title, looks), title, about, 1)


class _Look(NamedTuple):
    """The end of a day as a number, the difference up to then, and its interval."""

    day: int
    difference: float
    ci: tuple[float, float]


def _look_chart(medium: Medium, title: str, looks: Sequence[_Look]) -> Chart:
    em = medium.text
    frame = Box(4.4 * em, 1.8 * em, medium.width - em, 18 * em)
    first, last = min(look.day for look in looks), max(look.day for look in looks)
    step = max(1, -(-(last - first) // (4 if medium.narrow else 10)))
    ticks = tuple(Tick(day, date.fromordinal(day).strftime("%m-%d")) for day in range(first, last + 1, step))
    days = Axis(Scale(first - 0.5, last + 0.5), "end of the day, UTC", ticks, grid=False)
    values = value_axis(value_scale([0.0, *(end for look in looks for end in look.ci)]), "difference")
    marks: list[Mark] = [Lines((((first - 0.5, 0.0), (last + 0.5, 0.0)),), "reach")]
    marks += [ErrorBar((look.day, look.ci[0]), (look.day, look.ci[1]), 0.25 * em, "whisker") for look in looks]
    marks += [Point(look.day, look.difference, 0.3 * em, "dot best", tip=f"{look.difference:+.4f}") for look in looks]
    height = frame.bottom + 3 * em
    return Chart("trend", title, title, medium, height, (Panel(frame, days, values, tuple(marks)),))
