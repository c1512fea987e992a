"""The CSV files of a results folder: summary, per_query, chunks and answers."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence

from rankproof._data.answers import Answer, Reference, references_from_queries
from rankproof._data.ordering import ranked_documents
from rankproof._evaluation.result import Result
from rankproof._io.escape import escape_csv
from rankproof._results.experiment_result import TIME_COLUMNS, ExperimentResult, SystemRun
from rankproof._results.result_json import system_gains

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
