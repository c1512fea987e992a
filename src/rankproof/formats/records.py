"""Rows that are objects with named fields: lines of JSONL, items of a JSON array."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from ..data.qrels import Judgement
from ..data.run import RunRow
from .cells import judgement, run_row
from .columns import Columns, Kind, columns_of
from .faults import fault
from .rows import Options
from .values import kind_name, score_of_json

Numbered = Iterable[tuple[int | None, Any]]
_EXAMPLES: dict[Kind, str] = {
    "run": '{"query_id": "q1", "doc_id": "d1", "score": 12.5}',
    "qrels": '{"query_id": "q1", "doc_id": "d1", "rel": 1}',
}


def run_rows(items: Numbered, source: str, options: Options) -> Iterator[RunRow]:
    """The rows of a run, with the line of each."""
    for line, values, columns in _parts(items, "run", source, options):
        yield run_row(values, columns, source=source, line=line, score_of=score_of_json)


def judgements(items: Numbered, source: str, options: Options) -> Iterator[Judgement]:
    """The judgements of qrels, with the line of each."""
    for line, values, columns in _parts(items, "qrels", source, options):
        yield judgement(values, columns, options.grade_map, source=source, line=line)


def _parts(items: Numbered, kind: Kind, source: str, options: Options) -> Iterator[tuple[int | None, list[Any], Columns]]:
    found: dict[tuple[str, ...], Columns] = {}
    for line, item in items:
        if not isinstance(item, dict):
            raise fault("json-shape", source=source, line=line, kind=kind_name(item), expected=_EXAMPLES[kind])
        names = tuple(item)
        columns = found.get(names)
        if columns is None:
            columns = found[names] = columns_of(names, kind, source=source, line=line, order=options.reading.order)
        yield line, list(item.values()), columns
