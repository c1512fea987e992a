"""`answers.json`: what the answers of a climb came to, in one small document."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from ...evaluation import Result, SystemResult
from ..rung import TIMES, Climb, Rung
from .answers_table import GROUPS


def answers_summary(climb: Climb, findings: Sequence[str]) -> dict[str, Any]:
    """Means with their n, in all and by segment, times, counts and money of each system that answers, and the findings."""
    answering = [rung for rung in climb.rungs if rung.answers is not None]
    return {
        "name": climb.name,
        "fingerprint": climb.fingerprint,
        "questions": len(climb.queries),
        "with_reference": 0 if climb.answers is None else len(climb.answers.queries),
        "systems": [_system(climb, rung) for rung in answering],
        "findings": list(findings),
    }


def _system(climb: Climb, rung: Rung) -> dict[str, Any]:
    means = climb.result.means[rung.name]
    return {
        "name": rung.name,
        "states": dict(Counter(one.state for one in (rung.answers or {}).values())),
        "retrieval": {name: {"mean": value, "n": len(climb.result.queries)} for name, value in means.items()},
        "answers": {} if climb.answers is None else _means(climb.answers, rung.name),
        "segments": {} if climb.answers is None else dict(_segments(climb, climb.answers, rung.name)),
        "times_ms": {part: rung.time_of(part)["mean"] for part in TIMES},
        "counts": {name: int(values.sum()) for name, values in rung.counts.items()},
        "money": rung.money,
    }


def _means(result: Result, system: str) -> dict[str, Any]:
    measures = _of(result, system).measures
    return {name: {"mean": one.value if one.queries else None, "n": one.queries} for name, one in measures.items()}


def _segments(climb: Climb, result: Result, system: str) -> Iterator[tuple[str, Any]]:
    """By each field that any question has; questions without it are in none."""
    for field in GROUPS:
        values = {query: climb.texts[query].fields.get(field) for query in result.queries}
        groups = sorted({value for value in values.values() if isinstance(value, str) and value.strip()})
        if groups:
            yield (
                field,
                {group: _group(result, system, [query for query in values if values[query] == group]) for group in groups},
            )


def _group(result: Result, system: str, queries: Sequence[str]) -> dict[str, Any]:
    found, chosen = {}, set(queries)
    for name, one in _of(result, system).measures.items():
        values = [value for query, value in one.per_query.items() if query in chosen]
        found[name] = {"mean": math.fsum(values) / len(values) if values else None, "n": len(values)}
    return found


def _of(result: Result, system: str) -> SystemResult:
    return next(one for one in result.systems if one.name == system)
