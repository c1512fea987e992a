"""Result.json writer, names of the files."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from rankproof._data import format_versions
from rankproof._data.arrays import IntArray
from rankproof._evaluation.result import MeasureResult, SystemResult
from rankproof._io.escape import escape_json
from rankproof._results.experiment_result import TIME_COLUMNS, ExperimentResult, SystemRun

FORMAT = "rankproof-results"
_INDENTED_LEVELS = 4


def results_document(results: ExperimentResult, *, per_query: bool, files: Mapping[str, str] | None = None) -> dict[str, Any]:
    """The climb as plain values; `per_query` adds every query's values and times, `files` says where each run lies."""
    systems = zip(results.system_runs, results.result.systems, strict=True)
    listed = {"query_ids": list(results.queries), "judged_ids": list(results.result.queries)} if per_query else {}
    return {
        "format": FORMAT,
        "schema": format_versions.RESULTS,
        "name": results.name,
        "fingerprint": results.fingerprint,
        "rel": results.rel,
        "queries": len(results.result.queries),
        **listed,
        "systems": [
            _system_document(results, system_run, system, files or {}, per_query=per_query) for system_run, system in systems
        ],
        **_chunks_document(results, per_query=per_query),
        **_answers_document(results, per_query=per_query),
        "notes": list(results.notes),
        "provenance": dict(results.provenance),
    }


def document_text(value: Mapping[str, Any]) -> str:
    """The document as text: one measure, part of the time or fact a line, numbers at full precision."""
    return escape_json(_indented(value, _INDENTED_LEVELS, "")) + "\n"


def system_gains(results: ExperimentResult, system_run: SystemRun) -> dict[str, float]:
    """What the rung adds over the one below it, in percentage points, for each measure that is a mean from 0 to 1."""
    measures = results.result.systems[0].measures
    found = {name: results.gain(system_run, name) for name, one in measures.items() if one.measure.is_fraction}
    return {name: 100 * gain for name, gain in found.items() if gain is not None}


def _chunks_document(results: ExperimentResult, *, per_query: bool) -> dict[str, Any]:
    """The values at chunk level, of the systems that rank chunks."""
    if results.chunks is None:
        return {}
    return {"chunks": [{"name": system.name, **_system_values(system, per_query=per_query)} for system in results.chunks.systems]}


def _answers_document(results: ExperimentResult, *, per_query: bool) -> dict[str, Any]:
    """The measures of answers, over the queries whose answer is known."""
    if results.answers is None:
        return {}
    known = {"judged_ids": list(results.answers.queries)} if per_query else {"queries": len(results.answers.queries)}
    systems = [{"name": system.name, **_system_values(system, per_query=per_query)} for system in results.answers.systems]
    return {
        "answers": {**known, "systems": systems, **({"judged_documents": dict(results.judged_documents)} if per_query else {})}
    }


def _system_values(system: SystemResult, *, per_query: bool) -> dict[str, Any]:
    return {
        "measures": {name: _measure_document(one, per_query=per_query) for name, one in system.measures.items()},
        "notes": [{"code": note.code, "count": note.count, "text": note.text} for note in system.notes],
    }


def _system_document(
    results: ExperimentResult, system_run: SystemRun, system: SystemResult, files: Mapping[str, str], *, per_query: bool
) -> dict[str, Any]:
    run = {"file": files[system_run.name], **_run_extent(results, system_run)} if system_run.name in files else None
    return {
        "name": system_run.name,
        "kind": system_run.kind,
        "baseline": system_run.baseline,
        "measures": {name: _measure_document(one, per_query=per_query) for name, one in system.measures.items()},
        "gain_pp": system_gains(results, system_run),
        "times_ms": {part: _times_document(system_run, part, per_query=per_query) for part in TIME_COLUMNS},
        "index": {"seconds": system_run.index_seconds, "bytes": system_run.index_bytes},
        "throughput": system_run.throughput,
        "counts": {name: _count_document(values, per_query=per_query) for name, values in system_run.counts.items()},
        "money": system_run.money,
        "stage": dict(system_run.stage),
        "facts": dict(system_run.facts),
        "notes": [{"code": note.code, "count": note.count, "text": note.text} for note in system.notes],
        "remarks": list(system_run.notes),
        "computed": system_run.computed,
        "from_cache": system_run.from_cache,
        **({"run": run} if run else {}),
    }


def _count_document(values: IntArray, *, per_query: bool) -> dict[str, Any]:
    return {"sum": int(values.sum()), **({"per_query": values.tolist()} if per_query else {})}


def _measure_document(one: MeasureResult, *, per_query: bool) -> dict[str, Any]:
    shown = {"value": one.value if one.queries else None, "summary": one.summary, "queries": one.queries}
    return shown | {"per_query": one.per_query} if per_query else shown


def _times_document(system_run: SystemRun, part: str, *, per_query: bool) -> dict[str, Any]:
    return {**system_run.time_of(part), **({"per_query": system_run.times[part].tolist()} if per_query else {})}


def _run_extent(results: ExperimentResult, system_run: SystemRun) -> dict[str, Any]:
    """How many rows the run's file holds, and which of the asked queries the run lacks altogether."""
    held = set(system_run.run.queries)
    return {"rows": len(system_run.run.docs), "missing": [query for query in results.queries if query not in held]}


def _indented(value: Any, levels: int, indent: str) -> str:
    if not levels or not value or not isinstance(value, dict | list):
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    inner = f"{indent} "
    if isinstance(value, dict):
        parts = [f"{json.dumps(str(key), ensure_ascii=False)}: {_indented(one, levels - 1, inner)}" for key, one in value.items()]
    elif isinstance(value[0], dict):
        parts = [_indented(one, levels - 1, inner) for one in value]
    else:
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    opening, closing = "{}" if isinstance(value, dict) else "[]"
    return f"{opening}\n{inner}" + f",\n{inner}".join(parts) + f"\n{indent}{closing}"


RESULT_FILE = "result.json"
EXPERIMENT_FILE = "experiment.toml"
QRELS_FILE = "qrels.tsv"
QUERIES_FILE = "queries.jsonl"
SNIPPETS_FILE = "snippets.jsonl"
RUNS_FOLDER = "runs"
