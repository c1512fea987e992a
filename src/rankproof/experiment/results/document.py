"""`result.json`: a climb as one JSON document, in the shape of `rankproof eval --format json` with the rungs' costs beside."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ...data.arrays import IntArray
from ...evaluation import MeasureResult, SystemResult
from ...formats.harmless import for_json
from ..rung import TIMES, Climb, Rung

FORMAT = "rankproof-results"
SCHEMA = 2
_LEVELS = 4


def document(climb: Climb, *, per_query: bool, files: Mapping[str, str] | None = None) -> dict[str, Any]:
    """The climb as plain values; `per_query` adds every query's values and times, `files` says where each run lies."""
    systems = zip(climb.rungs, climb.result.systems, strict=True)
    listed = {"query_ids": list(climb.queries), "judged_ids": list(climb.result.queries)} if per_query else {}
    return {
        "format": FORMAT,
        "schema": SCHEMA,
        "name": climb.name,
        "fingerprint": climb.fingerprint,
        "rel": climb.rel,
        "queries": len(climb.result.queries),
        **listed,
        "systems": [_system(climb, rung, system, files or {}, per_query=per_query) for rung, system in systems],
        **_chunks(climb, per_query=per_query),
        **_answers(climb, per_query=per_query),
        "notes": list(climb.notes),
        "provenance": dict(climb.provenance),
    }


def written(value: Mapping[str, Any]) -> str:
    """The document as text: one measure, part of the time or fact a line, numbers at full precision."""
    return for_json(_laid_out(value, _LEVELS, "")) + "\n"


def gains(climb: Climb, rung: Rung) -> dict[str, float]:
    """What the rung adds over the one below it, in percentage points, for each measure that is a mean from 0 to 1."""
    measures = climb.result.systems[0].measures
    found = {name: climb.gain(rung, name) for name, one in measures.items() if one.measure.is_share}
    return {name: 100 * gain for name, gain in found.items() if gain is not None}


def _chunks(climb: Climb, *, per_query: bool) -> dict[str, Any]:
    """The values at chunk level, of the systems that rank chunks."""
    if climb.chunks is None:
        return {}
    return {"chunks": [{"name": system.name, **_values(system, per_query=per_query)} for system in climb.chunks.systems]}


def _answers(climb: Climb, *, per_query: bool) -> dict[str, Any]:
    """The measures of answers, over the queries whose answer is known."""
    if climb.answers is None:
        return {}
    known = {"judged_ids": list(climb.answers.queries)} if per_query else {"queries": len(climb.answers.queries)}
    systems = [{"name": system.name, **_values(system, per_query=per_query)} for system in climb.answers.systems]
    return {"answers": {**known, "systems": systems, **({"wholes": dict(climb.wholes)} if per_query else {})}}


def _values(system: SystemResult, *, per_query: bool) -> dict[str, Any]:
    return {
        "measures": {name: _measure(one, per_query=per_query) for name, one in system.measures.items()},
        "notes": [{"code": note.code, "count": note.count, "text": note.text} for note in system.notes],
    }


def _system(climb: Climb, rung: Rung, system: SystemResult, files: Mapping[str, str], *, per_query: bool) -> dict[str, Any]:
    run = {"file": files[rung.name], **_extent(climb, rung)} if rung.name in files else None
    return {
        "name": rung.name,
        "kind": rung.kind,
        "over": rung.over,
        "measures": {name: _measure(one, per_query=per_query) for name, one in system.measures.items()},
        "gain_pp": gains(climb, rung),
        "times_ms": {part: _times(rung, part, per_query=per_query) for part in TIMES},
        "index": {"seconds": rung.index_seconds, "bytes": rung.index_bytes},
        "throughput": rung.throughput,
        "counts": {name: _count(values, per_query=per_query) for name, values in rung.counts.items()},
        "money": rung.money,
        "stage": dict(rung.stage),
        "facts": dict(rung.facts),
        "notes": [{"code": note.code, "count": note.count, "text": note.text} for note in system.notes],
        "remarks": list(rung.notes),
        "computed": rung.computed,
        "from_cache": rung.from_cache,
        **({"run": run} if run else {}),
    }


def _count(values: IntArray, *, per_query: bool) -> dict[str, Any]:
    return {"sum": int(values.sum()), **({"per_query": values.tolist()} if per_query else {})}


def _measure(one: MeasureResult, *, per_query: bool) -> dict[str, Any]:
    shown = {"value": one.value if one.queries else None, "summary": one.summary, "queries": one.queries}
    return shown | {"per_query": one.per_query} if per_query else shown


def _times(rung: Rung, part: str, *, per_query: bool) -> dict[str, Any]:
    return {**rung.time_of(part), **({"per_query": rung.times[part].tolist()} if per_query else {})}


def _extent(climb: Climb, rung: Rung) -> dict[str, Any]:
    """How many rows the run's file holds, and which of the asked queries the run lacks altogether."""
    held = set(rung.run.queries)
    return {"rows": len(rung.run.docs), "missing": [query for query in climb.queries if query not in held]}


def _laid_out(value: Any, levels: int, indent: str) -> str:
    if not levels or not value or not isinstance(value, dict | list):
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    inner = f"{indent} "
    if isinstance(value, dict):
        parts = [f"{json.dumps(str(key), ensure_ascii=False)}: {_laid_out(one, levels - 1, inner)}" for key, one in value.items()]
    elif isinstance(value[0], dict):
        parts = [_laid_out(one, levels - 1, inner) for one in value]
    else:
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    opening, closing = "{}" if isinstance(value, dict) else "[]"
    return f"{opening}\n{inner}" + f",\n{inner}".join(parts) + f"\n{indent}{closing}"
