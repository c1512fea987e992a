"""What systems replied, in a results folder: replies, answers, claims and texts of passages, and the summary answers.json."""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from rankproof._data.answers import Answer, Answers, AnswerState, AnswerUsage, SearchCall
from rankproof._data.replies import RecordedReply
from rankproof._evaluation.result import MeasureResult, Result, SystemResult
from rankproof._formats.json import json_line, parsed_lines
from rankproof._formats.texts import MAX_TEXT_BYTES, answer_blocks, is_repeat
from rankproof._io.files import write_blocks
from rankproof._io.open import open_folder_source
from rankproof._io.paths import file_names
from rankproof._io.streams import ByteSource
from rankproof._io.strict_json import JsonObject
from rankproof._results.csv_files import GROUP_COLUMNS
from rankproof._results.experiment_result import TIME_COLUMNS, ExperimentResult, SystemRun
from rankproof._results.result_json import ANSWERS_FILE, CLAIMS_FILE, CONTEXTS_FILE, DAMAGED_FIX, REPLIES_FOLDER
from rankproof.errors import for_message

if TYPE_CHECKING:
    from rankproof._data.claims import ClaimVerdict


def has_answers(results: ExperimentResult) -> bool:
    """Whether a system answers."""
    return any(system_run.answers is not None for system_run in results.system_runs)


def write_answers_files(results: ExperimentResult, folder: str) -> Iterator[str]:
    """Writes the answers, the verdicts on their claims and the texts of their passages, where there are any; gives the files."""
    from rankproof._formats.claims import claim_blocks, context_blocks

    if has_answers(results):
        write_blocks(os.path.join(folder, ANSWERS_FILE), system_answer_blocks(results))
        yield ANSWERS_FILE
    if results.answers is not None and results.claims:
        claims = (*results.claims, *results.answers.repeat_claims)
        write_blocks(os.path.join(folder, CLAIMS_FILE), claim_blocks(claims))
        yield CLAIMS_FILE
    if results.contexts:
        write_blocks(os.path.join(folder, CONTEXTS_FILE), context_blocks(results.contexts))
        yield CONTEXTS_FILE


def system_answer_blocks(results: ExperimentResult) -> Iterator[bytes]:
    """The lines of answers.jsonl: one for each answering system and query."""
    return answer_blocks(
        (system_run.name, system_run.answers) for system_run in results.system_runs if system_run.answers is not None
    )


@dataclass(frozen=True, slots=True)
class _AnswerLine:
    """The keys of a line of answers.jsonl, but for the number of a repeat."""

    system: str
    query: str
    answer: str
    cited: tuple[str, ...]
    given: tuple[str, ...] | None
    state: AnswerState
    usage: AnswerUsage | None = None
    searches: tuple[SearchCall, ...] | None = None


def read_answers_file(folder: str) -> dict[str, Answers]:
    """The answers of each system."""
    source = open_folder_source(folder, ANSWERS_FILE)
    answers: dict[str, dict[str, Answer]] = {}
    repeats: dict[str, dict[str, list[Answer]]] = {}
    for line, item in parsed_lines(source, limit=MAX_TEXT_BYTES):
        values = JsonObject(item, source.name, line=line)
        read = values.read(_AnswerLine)
        own = answers.setdefault(read.system, {})
        further = repeats.setdefault(read.system, {}).setdefault(read.query, [])
        if read.query in own and not is_repeat(values.plain, read.query, len(further) + 2, source.name, line):
            raise values.error(f"query {for_message(read.query)} is there twice", DAMAGED_FIX)
        answer = Answer(read.answer, read.cited, read.given, read.state, read.usage, read.searches)
        if own.setdefault(read.query, answer) is not answer:
            further.append(answer)
    return {name: Answers(own, source=source.name, repeats=repeats[name]) for name, own in answers.items()}


def read_claims_file(folder: str, listed: Collection[str]) -> tuple[ClaimVerdict, ...]:
    """The verdicts on claims; none if the file is not listed in result.json."""
    if CLAIMS_FILE not in listed:
        return ()
    from rankproof._formats.claims import read_claims

    return tuple(read_claims(open_folder_source(folder, CLAIMS_FILE)))


def read_contexts_file(folder: str, listed: Collection[str]) -> dict[str, str]:
    """The texts of given and cited passages; none if the file is not listed in result.json."""
    if CONTEXTS_FILE not in listed:
        return {}
    from rankproof._formats.claims import read_contexts

    return read_contexts(open_folder_source(folder, CONTEXTS_FILE))


def replies_files(names: Iterable[str]) -> dict[str, str]:
    """The file of each system, with a slash on every operating system."""
    return {name: f"{REPLIES_FOLDER}/{plain}.jsonl" for name, plain in file_names(names).items()}


def write_replies(results: ExperimentResult, folder: str) -> Iterator[str]:
    """Writes the replies of each system that is a search engine; gives its file."""
    files = replies_files(system_run.name for system_run in results.system_runs)
    for system_run in results.system_runs:
        if system_run.replies is not None:
            os.makedirs(os.path.join(folder, REPLIES_FOLDER), exist_ok=True)
            lines = (json_line({"query": query, **reply.plain()}) for query, reply in system_run.replies.items())
            write_blocks(os.path.join(folder, *files[system_run.name].split("/")), lines)
            yield files[system_run.name]


def read_replies(folder: str, names: Iterable[str], listed: Collection[str]) -> dict[str, Mapping[str, RecordedReply]]:
    """The replies of each system whose file is listed in result.json."""
    files = replies_files(names).items()
    return {name: _read_replies(open_folder_source(folder, file)) for name, file in files if file in listed}


def _read_replies(source: ByteSource) -> dict[str, RecordedReply]:
    replies: dict[str, RecordedReply] = {}
    known = {field.name for field in fields(RecordedReply)}
    for line, item in parsed_lines(source, limit=MAX_TEXT_BYTES):
        values = JsonObject(item, source.name, line=line)
        query, reply = values.member("query", str), values.read(RecordedReply)
        if query in replies or set(values.plain) - {"query"} != known:
            raise values.error(f"query {for_message(query)} is there twice, or its reply has other keys", DAMAGED_FIX)
        replies[query] = reply
    return replies


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
