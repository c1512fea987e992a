"""The tables of live traffic: systems, differences, segments, the trend over days, and the rows of the log."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

import numpy as np

from rankproof._analysis.decision.record import Decision
from rankproof._analysis.online.estimates import LiveEstimate, SessionValues, SystemValue
from rankproof._analysis.online.evidence import GuardrailCheck, LogKind
from rankproof._data.arrays import FloatArray
from rankproof._data.table import CellValue, Column, Table
from rankproof._data.text import pluralise
from rankproof._importers.search_log.log import Offsets, SearchLog
from rankproof._importers.search_log.options import DAY
from rankproof.errors import for_message

_MOST_SEGMENTS, _MOST_DAYS = 20, 60
TREND, ROWS = "trend", "rows"
"""The names of the table that the report draws, and of the counts of rows."""
_CI = "interval that is valid at every look"


def systems_table(means: Sequence[SystemValue], decision: Decision, kind: LogKind) -> Table:
    """The value of each system, the chosen ones highlighted."""
    value = "preferred" if kind == "interleaving" else str(decision.measure)
    about = (
        "share of the sessions with a preference, or of their credit" if kind == "interleaving" else decision.measure.definition
    )
    sessions = "sessions won" if kind == "interleaving" else "sessions"
    columns = [
        Column("system"),
        Column(value, "share" if kind == "interleaving" else "value", about),
        Column("95% CI", "interval", _CI),
        Column(sessions, "count"),
        Column("users", "count", "users with a preference" if kind == "interleaving" else ""),
        Column("clicks", "count"),
        Column("cost", "number"),
    ]
    rows = tuple(
        (mean.system, mean.value, mean.ci, mean.sessions, mean.users, mean.clicks, decision.of(mean.system).cost)
        for mean in means
    )
    marked = frozenset(at for at, mean in enumerate(means) if mean.system in decision.systems)
    table = Table("systems", "Systems", tuple(columns), rows, highlighted=marked)
    for name in ("clicks", "cost"):
        at = [column.name for column in table.columns].index(name)
        table = table if any(row[at] is not None for row in table.rows) else table.without(name)
    return table


def differences_table(decision: Decision, kind: LogKind) -> Table:
    """The chosen system, or the leader, against each other one."""
    head = "net preference" if kind == "interleaving" else "difference"
    columns = (
        Column("system"),
        Column("against"),
        Column(head, "difference"),
        Column("95% CI", "interval", _CI),
        Column("clear", "flag", "whether the interval excludes 0"),
        *([Column("preferring", "count", "sessions with a preference")] if kind == "interleaving" else []),
    )
    rows = (
        (
            pair.system,
            pair.other,
            pair.difference,
            pair.ci,
            pair.is_significant,
            *([pair.differing] if kind == "interleaving" else []),
        )
        for pair in decision.against
    )
    what = "Net preference" if kind == "interleaving" else f"Differences in {decision.measure}"
    return Table("differences", what, columns, tuple(rows))


def guardrails_table(checks: Sequence[GuardrailCheck]) -> Table | None:
    """The change of each guardrail metric of each variant."""
    columns = (
        Column("guardrail"),
        Column("system"),
        Column("change", "difference"),
        Column("95% CI", "interval", _CI),
        Column("holds", about="whether the interval is clear of the limit"),
    )
    words = {True: "yes", False: "no", None: "not clear"}
    rows = tuple((check.text, check.system, check.difference, check.known_ci, words[check.holds]) for check in checks)
    return Table("guardrails", "Guardrails", columns, rows) if rows else None


def metrics_table(further: Sequence[SessionValues], means: Sequence[Sequence[SystemValue]]) -> Table | None:
    """Further metrics of each variant, and the difference of each to the first."""
    rows = [
        (
            str(values.measure),
            system.system,
            system.value,
            None if pair is None else pair.difference,
            None if pair is None else pair.known_ci,
            None if pair is None else pair.is_positive or pair.is_negative,
        )
        for values, systems in zip(further, means, strict=True)
        for system, pair in zip(systems, [None, *(values.compare(at, 0) for at in range(1, len(systems)))], strict=True)
    ]
    columns = (
        Column("metric"),
        Column("system"),
        Column("value", "value"),
        Column("difference", "difference"),
        Column("95% CI", "interval", _CI),
        Column("clear", "flag", "whether the interval excludes 0"),
    )
    notes = ("further metrics are exploratory: only the primary metric and guardrails decide",)
    return Table("metrics", "Further metrics", columns, tuple(rows), notes=notes) if rows else None


def segments_table(values: SessionValues, log: SearchLog, fields: Sequence[str]) -> Table | None:
    """The difference to the first system in each part of the traffic."""
    rows = [row for field in fields for row in _segment_rows(values, log, field)]
    columns = (
        Column("field"),
        Column("value"),
        Column("system"),
        Column("sessions", "count"),
        Column("users", "count"),
        Column("difference", "difference", f"to {values.systems[0]}"),
        Column("95% CI", "interval", _CI),
    )
    notes = ("segments are exploratory: of many, some differ by chance",)
    return (
        Table("segments", f"Segments, against {for_message(values.systems[0])}", columns, tuple(rows), notes=notes)
        if rows
        else None
    )


def _segment_rows(values: SessionValues, log: SearchLog, field: str) -> Iterator[tuple[CellValue, ...]]:
    codes, names = log.sessions.texts[field]
    own = codes[values.sessions]
    counted = np.bincount(own[own >= 0], minlength=len(names))
    largest = sorted(range(len(names)), key=lambda code: (-int(counted[code]), names[code]))[:_MOST_SEGMENTS]
    for code in largest:
        for system in range(1, len(values.systems)) if counted[code] else ():
            pair = values.compare(system, 0, own == code)
            yield field, names[code], pair.system, pair.sessions, pair.users, *_shown(pair)


def _shown(pair: LiveEstimate) -> tuple[CellValue, ...]:
    """The difference and its interval; nothing where a side is empty."""
    known = pair.users > 0 and np.isfinite(pair.difference)
    return (pair.difference, pair.known_ci) if known else (None, None)


def trend_table(values: SessionValues) -> Table | None:
    """The difference to the first system up to each day, as a look on that day shows it."""
    days = _session_days(values.times)
    present = np.unique(days[days >= 0])
    if len(present) < 2 or (days < 0).any():
        return None
    ends = present if len(present) <= _MOST_DAYS else present[np.linspace(0, len(present) - 1, _MOST_DAYS).round().astype(int)]
    columns = (
        Column("until"),
        Column("system"),
        Column("sessions", "count"),
        Column("users", "count"),
        Column("difference", "difference", f"to {values.systems[0]}, of all sessions up to the end of this day"),
        Column("95% CI", "interval", _CI),
    )
    rows = tuple(
        (_day(end), pair.system, pair.sessions, pair.users, *_shown(pair))
        for end in ends.tolist()
        for pair in (values.compare(system, 0, days <= end) for system in range(1, len(values.systems)))
    )
    return Table(TREND, f"Trend over {pluralise(len(present), 'day')}", columns, rows)


def _day(day: int) -> str:
    return datetime.fromtimestamp(day * DAY, UTC).strftime("%Y-%m-%d")


def counts_table(log: SearchLog) -> Table:
    """What was read of the log, and what was dropped for which reason."""
    columns = (Column("rows"), Column("read", "count"), Column("dropped", "count"), Column("reason"))
    return Table(ROWS, "Rows of the log", columns, tuple(_count_rows(log)))


def _count_rows(log: SearchLog) -> Iterator[tuple[CellValue, ...]]:
    for count in log.counts:
        yield count.part, count.read, sum(dropped.count for dropped in count.dropped), ""
        for dropped in count.dropped:
            yield count.part, None, dropped.count, dropped.reason


def _session_days(times: FloatArray) -> Offsets:
    """The day of each time, in days since 1970; -1 without a time."""
    return np.where(np.isfinite(times), np.floor(np.where(np.isfinite(times), times, 0.0) / DAY), -1).astype(np.int64)
