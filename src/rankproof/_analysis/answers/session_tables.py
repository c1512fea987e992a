"""Measures of whole sessions: whether all turns are right, the first turn that fails, and the value turn by turn."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from rankproof._analysis.compare.sessions import session_interval
from rankproof._analysis.inputs import AnalysisInput
from rankproof._data.answers import TURN_FIELD
from rankproof._data.table import CellValue, Column, Table
from rankproof._evaluation.result import MeasureResult
from rankproof._statistics.intervals import bounded_mean_interval
from rankproof.measures._base import Measure, worst_value

SESSIONS_TABLE, TURNS_TABLE = "sessions", "turns"
RIGHT = 0.5
"""From this value on a turn is right; of a measure of which lower is better, up to it."""
_MOST_TURNS = 10


def session_tables(inputs: AnalysisInput, measure: str, sessions: Mapping[str, str], level: float = 0.95) -> list[Table]:
    """A row for each system and a row for each turn, by one measure; none if its values have no scale from 0 to 1.

    `sessions` has the session of each question. A turn without a value, because there is no answer or an abstention, is wrong.
    """
    results = {system.name: system.measures[measure] for system in inputs.result.systems}
    kind = next(iter(results.values())).measure
    if not kind.is_fraction or not kind.has_winner or inputs.texts is None:
        return []
    places = {query: _turn(inputs.texts[query].fields.get(TURN_FIELD)) for query in sessions if query in inputs.texts}
    if not any(places.values()):
        return []
    rows = [_session_row(name, result, sessions, places, level) for name, result in results.items()]
    turns = list(_turn_rows(results, inputs, places, level))
    columns = (
        *(Column("system"), Column("sessions", "count"), Column("turns", "count", "questions of these sessions")),
        Column("all right", "value", f"share of sessions of which each turn is right ({_rule(kind)})"),
        Column(f"{level:.0%} interval", "interval", "of this share"),
        Column("first failure", "number", "mean place of the first wrong turn, of sessions that have one"),
    )
    by_turn = (Column("turn", "count"), Column("system"), Column("n", "count"))
    more = (Column("value", "value"), Column(f"{level:.0%} interval", "interval"))
    of_sessions = Table(SESSIONS_TABLE, f"Sessions by {measure}: a turn is right if {_rule(kind)}", columns, tuple(rows))
    return [of_sessions, Table(TURNS_TABLE, f"{measure} by turn", (*by_turn, *more), tuple(turns))]


def _rule(measure: Measure) -> str:
    return f"its value is at {'most' if measure.higher_is_better is False else 'least'} {RIGHT:g}"


def _turn(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _session_row(
    system: str, result: MeasureResult, sessions: Mapping[str, str], places: Mapping[str, int | None], level: float
) -> tuple[CellValue, ...]:
    by_session: dict[str, list[tuple[int, bool]]] = {}
    values, sign = _values(result), -1 if result.measure.higher_is_better is False else 1
    for query, value in values.items():
        turn = places.get(query)
        if query in sessions and turn is not None:
            by_session.setdefault(sessions[query], []).append((turn, sign * value >= sign * RIGHT))
    failures = [min((turn for turn, is_right in turns if not is_right), default=None) for turns in by_session.values()]
    right = np.array([float(failure is None) for failure in failures])
    first = [failure for failure in failures if failure is not None]
    interval = bounded_mean_interval(right, level=level, within=(0.0, 1.0)) if len(right) else None
    share = float(right.mean()) if len(right) else None
    turns = sum(map(len, by_session.values()))
    return system, len(by_session), turns, share, interval, sum(first) / len(first) if first else None


def _values(result: MeasureResult) -> dict[str, float]:
    """The value of each question, the worst one of those without a value."""
    worst = worst_value(result.measure)
    return {**dict.fromkeys(result.reasons, 0.0 if worst is None else worst), **result.per_query}


def _turn_rows(
    results: Mapping[str, MeasureResult], inputs: AnalysisInput, places: Mapping[str, int | None], level: float
) -> Iterator[tuple[CellValue, ...]]:
    """The mean of each turn; a session has a turn once, so the questions of a turn are independent."""
    turns = sorted({turn for turn in places.values() if turn is not None})[:_MOST_TURNS]
    for turn in turns:
        for name, result in results.items():
            chosen = [query for query in result.query_ids if places.get(query) == turn]
            part = _part(result, chosen)
            if chosen:
                yield turn, name, len(chosen), float(part.values.mean()), session_interval(part, inputs.texts, level)


def _part(result: MeasureResult, queries: Sequence[str]) -> MeasureResult:
    values = np.array([result.per_query[query] for query in queries])
    return MeasureResult(result.measure, float(values.mean()) if len(values) else 0.0, tuple(queries), values)
