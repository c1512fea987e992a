"""`answers.csv`: a row for each system that answers and each query, for a spreadsheet."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from ...data.answers import Answer
from ...data.references import Reference, references_of
from ...evaluation import Result
from ...formats.harmless import for_csv
from ..rung import Climb, Rung
from .tables import csv_number, csv_table

GROUPS = ("category", "type", "adversarial")
"""Fields of queries that questions are told apart by."""
COLUMNS = (
    *("method", "query", *GROUPS, "question", "expected_url", "retrieved_url", "answer", "expected_answer", "cited", "state"),
)
TIMES = {"retrieval_ms": ("embed", "search"), "rerank_ms": ("rerank",), "generation_ms": ("generate",), "total_ms": ("total",)}


def answers_csv(climb: Climb) -> str:
    """Numbers at full precision, times in ms, lists as JSON; a value is empty where the query is left out of that mean."""
    measures = list(climb.answers.systems[0].measures) if climb.answers else []
    header = [*COLUMNS, *measures, *TIMES]
    return csv_table(header, (row for rung in climb.rungs for row in _rows(climb, rung, measures)))


def _rows(climb: Climb, rung: Rung, measures: Sequence[str]) -> Iterator[list[str]]:
    if rung.answers is None:
        return
    references = references_of(climb.texts)
    values = _values(climb.answers, rung.name)
    for at, query in enumerate(climb.queries):
        answer, asked = rung.answers.get(query, Answer("", state="failed")), climb.texts[query]
        groups = [_plain(asked.fields.get(name)) for name in GROUPS]
        texts = (
            *(rung.name, query, *groups, asked.text, _listed(expected_urls(climb, query, references.get(query)))),
            *(_listed(retrieved_urls(climb, answer)), answer.text),
            *(_expected(references.get(query)), _listed(answer.cited), answer.state),
        )
        yield [
            *map(for_csv, texts),
            *(csv_number(values.get(name, {}).get(query)) for name in measures),
            *(repr(float(sum(rung.times[part][at] for part in parts))) for parts in TIMES.values()),
        ]


def expected_urls(climb: Climb, query: str, reference: Reference | None) -> list[str]:
    """Where the answer stands: the query's own URLs, else those of its relevant documents, or their ids."""
    if reference is not None and reference.urls:
        return list(reference.urls)
    judged = climb.qrels.get(query, {})
    return list(dict.fromkeys(climb.urls.get(doc, doc) for doc, grade in judged.items() if grade >= climb.rel))


def retrieved_urls(climb: Climb, answer: Answer) -> list[str]:
    """Where the passages that it was given stand: each URL once, or the document's id where it has none."""
    docs = (climb.wholes.get(passage, passage) for passage in answer.given)
    return list(dict.fromkeys(climb.urls.get(doc, doc) for doc in docs))


def _values(result: Result | None, system: str) -> dict[str, dict[str, float]]:
    return {} if result is None else result.per_query(system)


def _expected(reference: Reference | None) -> str:
    """The one reference as it is, several as a list, and nothing where none is known; an empty list says that there is none."""
    if reference is None:
        return ""
    return reference.answers[0] if len(reference.answers) == 1 else _listed(reference.answers)


def _listed(texts: Sequence[str]) -> str:
    return json.dumps(list(texts), ensure_ascii=not all(map(str.isprintable, texts)))


def _plain(value: object) -> str:
    return "" if value is None else value if isinstance(value, str) else json.dumps(value, default=str)
