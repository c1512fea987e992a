"""Writes an ExperimentResult as the document of result.json."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from rankproof._data import format_versions
from rankproof._data.run import Run
from rankproof._evaluation.result import MeasureResult, Result, SystemResult
from rankproof._io.escape import escape_json
from rankproof._io.files import RESULTS_FORMAT
from rankproof._io.json_fields import plain_fields
from rankproof._results.document import (
    PER_QUERY_KEYS,
    AnswersDocument,
    CountDocument,
    DecisionDocument,
    IndexDocument,
    MeasureDocument,
    ResultDocument,
    RunDocument,
    SystemDocument,
    TimesDocument,
    ValuesDocument,
)
from rankproof._results.experiment_result import TIME_COLUMNS, ExperimentResult, SystemRun

_INDENTED_LEVELS = 4


def results_document(
    results: ExperimentResult,
    *,
    per_query: bool,
    files: Mapping[str, str | None] | None = None,
    sha256: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """The results as plain values; `per_query` adds the values of each query, `files` has the run file of each system, if any."""
    systems = zip(results.system_runs, results.result.systems, strict=True)
    document = ResultDocument(
        format=RESULTS_FORMAT,
        schema=format_versions.RESULTS,
        name=results.name,
        fingerprint=results.fingerprint,
        rel=results.rel,
        judged_only=results.judged_only,
        queries=len(results.result.queries),
        query_ids=results.queries,
        judged_ids=results.result.queries,
        systems=tuple(_system(results, system_run, system, files or {}) for system_run, system in systems),
        chunks=None if results.chunks is None else _values(results.chunks),
        answers=None if results.answers is None else _answers(results, results.answers),
        notes=results.notes,
        provenance=dict(results.provenance),
        decision=DecisionDocument(**asdict(results.decision_settings)),
        sha256=sha256,
    )
    plain: dict[str, Any] = plain_fields(document, frozenset() if per_query else PER_QUERY_KEYS)
    return plain


def document_text(value: Mapping[str, Any]) -> str:
    """The document as text: one measure, part of the time or fact a line, numbers at full precision."""
    return escape_json(_indented(value, _INDENTED_LEVELS, "")) + "\n"


def system_gains(results: ExperimentResult, system_run: SystemRun) -> dict[str, float]:
    """The gain over the system that it is compared with in percentage points, for each measure that is a mean from 0 to 1."""
    measures = results.result.systems[0].measures
    gains = {name: results.gain(system_run, name) for name, measure in measures.items() if measure.measure.is_fraction}
    return {name: 100 * gain for name, gain in gains.items() if gain is not None}


def _system(
    results: ExperimentResult, system_run: SystemRun, system: SystemResult, files: Mapping[str, str | None]
) -> SystemDocument:
    return SystemDocument(
        name=system_run.name,
        kind=system_run.kind,
        builds_on=system_run.builds_on,
        gain_over=results.compared_with(system_run),
        measures=_measures(system),
        gain_pp=system_gains(results, system_run),
        times_ms=_times(system_run),
        index=IndexDocument(system_run.index_seconds, system_run.index_bytes),
        throughput=system_run.throughput,
        counts={name: CountDocument(int(values.sum()), values.tolist()) for name, values in system_run.counts.items()},
        money=system_run.money,
        stage=dict(system_run.stage),
        facts=dict(system_run.facts),
        notes=system.notes,
        remarks=system_run.notes,
        computed=system_run.computed,
        from_cache=system_run.from_cache,
        reused=system_run.reused,
        run=_run(results, system_run.stored_run, files[system_run.name]) if system_run.name in files else None,
        repeat_runs=_repeat_runs(results, system_run, files) if files else None,
    )


def _times(system_run: SystemRun) -> dict[str, TimesDocument]:
    return {part: _part_times(system_run, part) for part in TIME_COLUMNS} if system_run.times else {}


def _part_times(system_run: SystemRun, part: str) -> TimesDocument:
    per_query = [None if math.isnan(time) else time for time in system_run.times[part].tolist()]
    time_ = system_run.time_of(part)
    if time_ is None:
        return TimesDocument(0, None, None, None, None, per_query)
    return TimesDocument(time_.queries, time_.mean, time_.p50, time_.p95, time_.p99, per_query)


def _run(results: ExperimentResult, run: Run | None, file: str | None) -> RunDocument:
    if run is None:
        return RunDocument(None, 0, ())
    ranked = set(run.queries)
    return RunDocument(file, len(run.docs), tuple(query for query in results.queries if query not in ranked))


def _repeat_runs(
    results: ExperimentResult, system_run: SystemRun, files: Mapping[str, str | None]
) -> tuple[RunDocument, ...] | None:
    further = ((name, run) for name, run in system_run.runs.items() if name != system_run.name)
    return tuple(_run(results, run, files[name]) for name, run in further) or None


def _answers(results: ExperimentResult, answers: Result) -> AnswersDocument:
    return AnswersDocument(
        len(answers.queries),
        answers.queries,
        _values(answers),
        dict(results.judged_documents),
        answers.calibrations or None,
        answers.noise or None,
    )


def _values(result: Result) -> tuple[ValuesDocument, ...]:
    return tuple(ValuesDocument(system.name, _measures(system), system.notes) for system in result.systems)


def _measures(system: SystemResult) -> dict[str, MeasureDocument]:
    return {name: _measure(measure) for name, measure in system.measures.items()}


def _measure(measure: MeasureResult) -> MeasureDocument:
    value = measure.value if measure.queries else None
    bounds = None if measure.bounds is None else list(measure.bounds)
    return MeasureDocument(value, measure.summary, measure.queries, measure.per_query, dict(measure.counts) or None, bounds)


def _indented(value: Any, levels: int, indent: str) -> str:
    if not levels or not value or not isinstance(value, dict | list):
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    inner = f"{indent} "
    if isinstance(value, dict):
        parts = [
            f"{json.dumps(str(key), ensure_ascii=False)}: {_indented(item, levels - 1, inner)}" for key, item in value.items()
        ]
    elif isinstance(value[0], dict):
        parts = [_indented(item, levels - 1, inner) for item in value]
    else:
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    opening, closing = "{}" if isinstance(value, dict) else "[]"
    return f"{opening}\n{inner}" + f",\n{inner}".join(parts) + f"\n{indent}{closing}"
