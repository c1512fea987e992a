"""answers.json: means of the measures of answers, and findings in words."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from rankproof._evaluation.result import MeasureResult, Result, SystemResult
from rankproof._results.csv_files import GROUP_COLUMNS
from rankproof._results.experiment_result import TIME_COLUMNS, ExperimentResult, SystemRun


def answers_summary(results: ExperimentResult, findings: Sequence[str]) -> dict[str, Any]:
    """Means with n, overall and by segment, times, counts and money of each answering system, and the findings."""
    answering = [system_run for system_run in results.system_runs if system_run.answers is not None]
    return {
        "name": results.name,
        "fingerprint": results.fingerprint,
        "questions": len(results.queries),
        "with_reference": 0 if results.answers is None else len(results.answers.queries),
        "systems": [_system_summary(results, system_run) for system_run in answering],
        "findings": list(findings),
    }


def _system_summary(results: ExperimentResult, system_run: SystemRun) -> dict[str, Any]:
    means = results.result.means[system_run.name]
    return {
        "name": system_run.name,
        "states": dict(Counter(answer.state for answer in (system_run.answers or {}).values())),
        "retrieval": {name: {"mean": value, "n": len(results.result.queries)} for name, value in means.items()},
        "answers": {} if results.answers is None else _mean_values(results.answers, system_run.name),
        "segments": {} if results.answers is None else dict(_segment_means(results, results.answers, system_run.name)),
        "times_ms": {part: time.mean for part in TIME_COLUMNS if (time := system_run.time_of(part))},
        "timed_queries": 0 if (total := system_run.time_of("total")) is None else total.queries,
        "counts": {name: int(values.sum()) for name, values in system_run.counts.items()},
        "money": system_run.money,
    }


def _mean_values(result: Result, system: str) -> dict[str, Any]:
    measures = _system_result(result, system).measures
    return {name: _mean_value(measure) for name, measure in measures.items()}


def _mean_value(measure: MeasureResult) -> dict[str, Any]:
    """The mean with n; why questions have no value, and the bounds of the mean, where the measure says so."""
    more = {"counts": dict(measure.counts) or None, "bounds": measure.bounds and list(measure.bounds)}
    return {
        "mean": measure.value if measure.queries else None,
        "n": measure.queries,
        **{key: value for key, value in more.items() if value},
    }


def _segment_means(results: ExperimentResult, result: Result, system: str) -> Iterator[tuple[str, Any]]:
    """The means by each field that some question has; a question without the field is in no segment."""
    for field in GROUP_COLUMNS:
        values = {query: results.texts[query].fields.get(field) for query in result.queries}
        groups = sorted({value for value in values.values() if isinstance(value, str) and value.strip()})
        if groups:
            yield (
                field,
                {group: _group_means(result, system, [query for query in values if values[query] == group]) for group in groups},
            )


def _group_means(result: Result, system: str, queries: Sequence[str]) -> dict[str, Any]:
    means, chosen = {}, set(queries)
    for name, measure in _system_result(result, system).measures.items():
        values = [value for query, value in measure.per_query.items() if query in chosen]
        means[name] = {"mean": math.fsum(values) / len(values) if values else None, "n": len(values)}
    return means


def _system_result(result: Result, system: str) -> SystemResult:
    return next(candidate for candidate in result.systems if candidate.name == system)
