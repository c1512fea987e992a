"""The reply of a tool: the answer in words, and JSON of bounded size."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from rankproof._analysis.compare.comparison import Comparison
from rankproof._analysis.decision.record import Decision
from rankproof._analysis.gate.result import GateResult
from rankproof._api.values import Report
from rankproof._data.table import Table
from rankproof._data.view import Viewed

_DECISION = ("outcome", "kind", "systems", "leader", "reason", "risk", "limit", "rival", "margin", "n", "queries")
_MAX_TEXT = 1000
MIN_CHARACTERS = 2000


def reply(value: Viewed, limit: int) -> tuple[str, dict[str, Any]]:
    """The answer in words, and as JSON with the tables: as many of their rows as fit into `limit` characters."""
    view = value._view()
    answer = _cut("\n".join(view.sentences) or view.title, limit // 4)
    plain: dict[str, Any] = {"answer": answer, "title": _cut(view.title), **_verdict(value)}
    plain["notes"] = [_cut(note) for note in view.notes]
    if isinstance(value, Report):
        plain["markdown"] = value.to_markdown()
    plain["tables"] = [_plain(table) for table in view.tables]
    return answer, _bounded(plain, limit)


def _verdict(value: Viewed) -> dict[str, Any]:
    """The decision or the outcome of the gate as data."""
    if isinstance(value, GateResult):
        return {"outcome": value.outcome, "stops": value.stops, **_decision(value.decision)}
    return _decision(value.decision) if isinstance(value, Comparison) else {}


def _decision(decision: Decision | None) -> dict[str, Any]:
    if decision is None:
        return {}
    return {"decision": {"measure": str(decision.measure), **{name: getattr(decision, name) for name in _DECISION}}}


def _plain(table: Table) -> dict[str, Any]:
    rows = [[_cut(cell) if isinstance(cell, str) else cell for cell in row] for row in table.rows]
    return {"name": table.name, "title": _cut(table.title), "columns": [column.name for column in table.columns], "rows": rows}


def _cut(text: str, most: int = _MAX_TEXT) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _bounded(plain: dict[str, Any], limit: int) -> dict[str, Any]:
    """The reply within the limit: rows of the largest table are left out first, then notes, tables and the Markdown."""
    while size_of(plain) > limit:
        largest = max(plain["tables"], key=lambda table: size_of(table["rows"]), default=None)
        if largest is not None and largest["rows"]:
            _halve(largest, "rows")
        elif plain["notes"]:
            _halve(plain, "notes")
        elif plain["tables"]:
            plain["tables_left_out"] = plain.get("tables_left_out", 0) + 1
            plain["tables"].pop()
        elif plain.get("markdown"):
            plain["markdown"] = _cut(plain["markdown"], len(plain["markdown"]) // 2)
        else:
            return {"answer": _cut(plain["answer"], limit // 8)}
    return plain


def _halve(holder: dict[str, Any], name: str) -> None:
    """Keeps the first half of a list, and counts what was left out."""
    kept: Sequence[Any] = holder[name][: len(holder[name]) // 2]
    holder[f"{name}_left_out"] = holder.get(f"{name}_left_out", 0) + len(holder[name]) - len(kept)
    holder[name] = list(kept)


def size_of(plain: Any) -> int:
    """The number of characters of the JSON."""
    return len(as_json(plain))


def as_json(plain: Any) -> str:
    """The reply as one line of JSON, without control characters."""
    return json.dumps(plain, ensure_ascii=True, allow_nan=False)
