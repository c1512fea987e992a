"""Rows that are objects with named fields: lines of JSONL, items of a JSON array."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from ..data.qrels import Judgement
from ..data.run import RunRow
from .columns import Columns, Kind, columns_of
from .faults import fault
from .grades import grade_of_value
from .rows import Options
from .values import id_of_value, kind_name, score_of_json

Numbered = Iterable[tuple[int | None, Any]]
_EXAMPLES: dict[Kind, str] = {
    "run": '{"query_id": "q1", "doc_id": "d1", "score": 12.5}',
    "qrels": '{"query_id": "q1", "doc_id": "d1", "rel": 1}',
}


def run_rows(items: Numbered, source: str) -> Iterator[RunRow]:
    """The rows of a run, with the line of each."""
    for line, values, columns in _parts(items, "run", source):
        query, doc = _ids(values, columns, source, line)
        score = score_of_json(values[columns.value], query=query, doc=doc, source=source, line=line)
        yield RunRow(query, doc, score, _rank(values, columns), line, _tag(values, columns))


def judgements(items: Numbered, source: str, options: Options) -> Iterator[Judgement]:
    """The judgements of qrels, with the line of each."""
    for line, values, columns in _parts(items, "qrels", source):
        query, doc = _ids(values, columns, source, line)
        grade = grade_of_value(values[columns.value], options.grade_map, query=query, doc=doc, source=source, line=line)
        yield Judgement(query, doc, grade, line)


def _parts(items: Numbered, kind: Kind, source: str) -> Iterator[tuple[int | None, list[Any], Columns]]:
    found: dict[tuple[str, ...], Columns] = {}
    for line, item in items:
        if not isinstance(item, dict):
            raise fault("json-shape", source=source, line=line, kind=kind_name(item), expected=_EXAMPLES[kind])
        names = tuple(item)
        columns = found.get(names)
        if columns is None:
            columns = found[names] = columns_of(names, kind, source=source, line=line)
        yield line, list(item.values()), columns


def _ids(values: list[Any], columns: Columns, source: str, line: int | None) -> tuple[str, str]:
    query = id_of_value(values[columns.query], "query", source=source, line=line)
    return query, id_of_value(values[columns.doc], "document", source=source, line=line)


def _rank(values: list[Any], columns: Columns) -> int | None:
    rank = None if columns.rank is None else values[columns.rank]
    whole = isinstance(rank, int) and not isinstance(rank, bool) and abs(rank) < 10**18
    return rank if whole else None


def _tag(values: list[Any], columns: Columns) -> str | None:
    tag = None if columns.tag is None else values[columns.tag]
    return tag if isinstance(tag, str) else None
