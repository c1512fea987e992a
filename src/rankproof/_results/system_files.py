"""The files of systems in a results folder: replies, answers, claims, texts of passages, and the CSV files."""

from __future__ import annotations

import json
import math
import os
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from rankproof._data.answers import Answer, Answers, AnswerState, AnswerUsage, Reference, SearchCall, references_from_queries
from rankproof._data.ordering import ranked_documents
from rankproof._data.replies import RecordedReply
from rankproof._evaluation.result import MeasureResult, Result, SystemResult
from rankproof._formats.json import json_line, parsed_lines
from rankproof._formats.texts import MAX_TEXT_BYTES, answer_blocks, is_repeat
from rankproof._io.escape import escape_csv
from rankproof._io.files import write_blocks
from rankproof._io.open import open_folder_source
from rankproof._io.paths import file_names
from rankproof._io.streams import ByteSource
from rankproof._io.strict_json import JsonObject
from rankproof._results.experiment_result import TIME_COLUMNS, ExperimentResult, SystemRun
from rankproof._results.result_json import ANSWERS_FILE, CLAIMS_FILE, CONTEXTS_FILE, DAMAGED_FIX, REPLIES_FOLDER, system_gains
from rankproof.errors import for_message

if TYPE_CHECKING:
    from rankproof._data.claims import ClaimVerdict

SHOWN_TIMES = ("mean", "p50", "p95")
TOP_DOCUMENTS = 10
COST_COLUMNS = ("timed_queries", "index_seconds", "index_bytes", "throughput", "recall_of_exact")
GROUP_COLUMNS = ("category", "type", "adversarial")
"""Fields of queries that questions are grouped by."""
ANSWER_COLUMNS = (
    *("method", "query", *GROUP_COLUMNS, "question", "expected_url", "retrieved_url"),
    *("answer", "expected_answer", "cited", "state"),
)
ANSWER_TIMES = {
    "retrieval_ms": ("embed", "search", "network"),
    "rerank_ms": ("rerank",),
    "generation_ms": ("generate",),
    "total_ms": ("total",),
}


def summary_csv(results: ExperimentResult) -> str:
    """A row for each system; numbers at full precision, times in ms, gains in percentage points over `gain_over`."""
    measures = list(results.result.systems[0].measures)
    times = [f"{part}_ms_{which}" for part in TIME_COLUMNS for which in SHOWN_TIMES]
    gained = [f"gain_pp {name}" for name in measures]
    header = ["system", "kind", "gain_over", *measures, *gained, *times, *COST_COLUMNS]
    return csv_table(header, (_summary_row(results, system_run, measures) for system_run in results.system_runs))


def per_query_csv(results: ExperimentResult) -> str:
    """A row for each system and query: values, also of answers, rank of the first relevant document, top documents, times."""
    of_answers = [] if results.answers is None else list(results.answers.systems[0].measures)
    measures = [*results.result.systems[0].measures, *of_answers]
    times = [f"{part}_ms" for part in TIME_COLUMNS]
    header = ["system", "query", "text", *measures, "first_relevant", "retrieved", f"top_{TOP_DOCUMENTS}", *times]
    return csv_table(header, (row for system_run in results.system_runs for row in _query_rows(results, system_run, measures)))


def chunks_csv(results: ExperimentResult, chunks: Result) -> str:
    """A row for each system that ranks chunks and each of the two levels; numbers at full precision."""
    header = ["system", "level", *chunks.systems[0].measures]
    levels = {"chunk": chunks.means, "document": results.result.means}
    return csv_table(
        header,
        (
            [escape_csv(system.name), level, *map(repr, means[system.name].values())]
            for system in chunks.systems
            for level, means in levels.items()
        ),
    )


def _summary_row(results: ExperimentResult, system_run: SystemRun, measures: list[str]) -> list[str]:
    means, gain = results.result.means[system_run.name], system_gains(results, system_run)
    times = [system_run.time_of(part) for part in TIME_COLUMNS]
    timed = None if times[-1] is None else times[-1].queries
    return [
        *map(escape_csv, (system_run.name, system_run.kind, results.compared_with(system_run) or "")),
        *(repr(means[name]) for name in measures),
        *(csv_number(gain.get(name)) for name in measures),
        *(csv_number(None if part is None else getattr(part, which)) for part in times for which in SHOWN_TIMES),
        *map(csv_number, (timed, system_run.index_seconds, system_run.index_bytes)),
        *map(csv_number, (system_run.throughput, system_run.recall_of_exact())),
    ]


def _query_rows(results: ExperimentResult, system_run: SystemRun, measures: Sequence[str]) -> Iterator[list[str]]:
    values = {**results.result.per_query(system_run.name), **_answer_values(results, system_run)}
    rankings = {} if system_run.stored_run is None else ranked_documents(system_run.stored_run)
    for at, query in enumerate(results.queries):
        docs = results.measured_docs(query, rankings.get(query, []))
        grades = results.qrels.get(query, {})
        yield [
            escape_csv(system_run.name),
            escape_csv(query),
            escape_csv(results.texts[query].text if query in results.texts else ""),
            *(csv_number(values.get(name, {}).get(query)) for name in measures),
            csv_number(_first_relevant(docs, grades, results.rel)),
            "" if system_run.stored_run is None else str(len(docs)),
            "" if system_run.stored_run is None else escape_csv(_ids_as_json(docs[:TOP_DOCUMENTS])),
            *(csv_number(_time_at(system_run, (part,), at)) for part in TIME_COLUMNS),
        ]


def _first_relevant(docs: list[str], grades: Mapping[str, int], rel: int) -> int | None:
    return next((rank for rank, doc in enumerate(docs, start=1) if grades.get(doc, 0) >= rel), None)


def _ids_as_json(docs: list[str]) -> str:
    """The ids as a JSON array, since an id may hold any separator."""
    return json.dumps(docs, ensure_ascii=not all(map(str.isprintable, docs)))


def _time_at(system_run: SystemRun, parts: Sequence[str], at: int) -> float | None:
    """The milliseconds of these parts for the query at this index; None if it was not timed."""
    time = float(sum(system_run.times[part][at] for part in parts)) if system_run.times else math.nan
    return None if math.isnan(time) else time


def csv_number(value: float | None) -> str:
    """A number at full precision, an empty cell for None."""
    return "" if value is None else repr(value)


def csv_table(header: Iterable[str], rows: Iterable[list[str]]) -> str:
    """The header, which is escaped here, above rows of escaped cells."""
    return "".join(f"{','.join(row)}\n" for row in (list(map(escape_csv, header)), *rows))


def answers_csv(results: ExperimentResult) -> str:
    """Numbers at full precision, times in ms, lists as JSON; a value is empty where the query is left out of that mean."""
    measures = list(results.answers.systems[0].measures) if results.answers else []
    header = [*ANSWER_COLUMNS, *measures, *ANSWER_TIMES]
    return csv_table(header, (row for system_run in results.system_runs for row in _answer_rows(results, system_run, measures)))


def _answer_rows(results: ExperimentResult, system_run: SystemRun, measures: Sequence[str]) -> Iterator[list[str]]:
    if system_run.answers is None:
        return
    references = references_from_queries(results.texts)
    values = _answer_values(results, system_run)
    for at, query in enumerate(results.queries):
        answer, question = system_run.answers.get(query, Answer("", state="missing")), results.texts[query]
        groups = [_cell_text(question.fields.get(name)) for name in GROUP_COLUMNS]
        reference = references.get(query)
        texts = (
            *(system_run.name, query, *groups, question.text),
            *(_texts_as_json(expected_urls(results, query, reference)), _texts_as_json(retrieved_urls(results, answer))),
            *(answer.text, _expected_text(reference), _texts_as_json(answer.cited), answer.state),
        )
        yield [
            *map(escape_csv, texts),
            *(csv_number(values.get(name, {}).get(query)) for name in measures),
            *(csv_number(_time_at(system_run, parts, at)) for parts in ANSWER_TIMES.values()),
        ]


def expected_urls(results: ExperimentResult, query: str, reference: Reference | None) -> list[str]:
    """Where the answer is: the URLs of the query, else those of its relevant documents, or their ids."""
    if reference is not None and reference.urls:
        return list(reference.urls)
    judged = results.qrels.get(query, {})
    return list(dict.fromkeys(results.urls.get(doc, doc) for doc, grade in judged.items() if grade >= results.rel))


def retrieved_urls(results: ExperimentResult, answer: Answer) -> list[str]:
    """The URLs of the passages in the input of the answer, each once; the document's id where it has no URL."""
    docs = (results.judged_documents.get(passage, passage) for passage in answer.given or ())
    return list(dict.fromkeys(results.urls.get(doc, doc) for doc in docs))


def _answer_values(results: ExperimentResult, system_run: SystemRun) -> dict[str, dict[str, float]]:
    """The values of the answers of a system by measure and query; none for a system without answers."""
    result = results.answers
    return {} if result is None or system_run.answers is None else result.per_query(system_run.name)


def _expected_text(reference: Reference | None) -> str:
    """One reference as it is, several as a JSON array; "[]" for an unanswerable question, "" for an unknown reference."""
    if reference is None:
        return ""
    return reference.answers[0] if len(reference.answers) == 1 else _texts_as_json(reference.answers)


def _texts_as_json(texts: Sequence[str]) -> str:
    return json.dumps(list(texts), ensure_ascii=not all(map(str.isprintable, texts)))


def _cell_text(value: object) -> str:
    return "" if value is None else value if isinstance(value, str) else json.dumps(value, default=str)


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
