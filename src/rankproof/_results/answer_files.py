"""The answers of systems as answers.jsonl, and their summary as answers.json."""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, get_args

from rankproof._data.answers import Answer, Answers, AnswerState
from rankproof._evaluation.result import Result, SystemResult
from rankproof._formats.json import parsed_lines
from rankproof._formats.texts import MAX_TEXT_BYTES, answer_blocks
from rankproof._io.open import open_source
from rankproof._io.strict_json import JsonObject
from rankproof._results.csv_files import GROUP_COLUMNS
from rankproof._results.document import ANSWERS_FILE, DAMAGED_FIX
from rankproof._results.experiment_result import TIME_COLUMNS, ExperimentResult, SystemRun
from rankproof.errors import for_message


def system_answer_blocks(results: ExperimentResult) -> Iterator[bytes]:
    """The lines of answers.jsonl: one for each answering system and query."""
    return answer_blocks(
        (system_run.name, system_run.answers) for system_run in results.system_runs if system_run.answers is not None
    )


def read_answers_file(folder: str) -> dict[str, Answers]:
    """The answers of each system."""
    path = os.path.join(folder, ANSWERS_FILE)
    found: dict[str, dict[str, Answer]] = {}
    for line, item in parsed_lines(open_source(path), limit=MAX_TEXT_BYTES):
        values = JsonObject(item, path, line=line)
        own = found.setdefault(values.text("system"), {})
        state: AnswerState = values.choice("state", get_args(AnswerState))  # type: ignore[assignment]
        query = values.text("query")
        if query in own:
            raise values.error(f"query {for_message(query)} is there twice", DAMAGED_FIX)
        own[query] = Answer(values.text("answer"), tuple(values.texts("cited")), tuple(values.texts("given")), state)
    return {name: Answers(own, source=path) for name, own in found.items()}


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
        "states": dict(Counter(one.state for one in (system_run.answers or {}).values())),
        "retrieval": {name: {"mean": value, "n": len(results.result.queries)} for name, value in means.items()},
        "answers": {} if results.answers is None else _mean_values(results.answers, system_run.name),
        "segments": {} if results.answers is None else dict(_segment_means(results, results.answers, system_run.name)),
        "times_ms": {part: system_run.time_of(part)["mean"] for part in TIME_COLUMNS},
        "counts": {name: int(values.sum()) for name, values in system_run.counts.items()},
        "money": system_run.money,
    }


def _mean_values(result: Result, system: str) -> dict[str, Any]:
    measures = _system_result(result, system).measures
    return {name: {"mean": one.value if one.queries else None, "n": one.queries} for name, one in measures.items()}


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
    found, chosen = {}, set(queries)
    for name, one in _system_result(result, system).measures.items():
        values = [value for query, value in one.per_query.items() if query in chosen]
        found[name] = {"mean": math.fsum(values) / len(values) if values else None, "n": len(values)}
    return found


def _system_result(result: Result, system: str) -> SystemResult:
    return next(one for one in result.systems if one.name == system)
