"""JSON: query to document to number, or an array of row objects."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, TypeVar

from ..data.qrels import Judgement, Qrels
from ..data.refusals import refusal
from ..data.run import Run, RunRow
from ..data.source import Source
from ..errors import InputError
from . import records, strict_json
from .columns import Kind, kind_by_names
from .faults import fault
from .grades import grade_of_value
from .lines import BOM, decoded
from .opening import all_bytes
from .ranked import ranked_rows
from .rows import Options, qrels_of, run_of
from .values import id_of_value, kind_name, score_of_json

_Row = TypeVar("_Row")
_EXPECTED = "query to document to number, or an array of row objects"


class JsonFormat:
    """One JSON value a file."""

    def read_qrels(self, source: Source, options: Options) -> Qrels:
        found = _Content(source)
        if found.is_array:
            return qrels_of(records.judgements(found.items(), source.name, options), source=source.name)
        return qrels_of(found.placed(_judgements(found, options)), source=source.name)

    def read_run(self, source: Source, name: str, options: Options) -> Run:
        found = _Content(source)
        made = partial(run_of, name=name, source=source.name, reading=options.reading)
        if found.is_array:
            return made(records.run_rows(found.items(), source.name, options))
        if options.reading.order == "rank":
            raise refusal("rank-missing", source=source.name)
        return made(found.placed(_run_rows(found)), queries=list(found.value))

    def kind(self, source: Source, options: Options) -> Kind | None:
        value = _Content(source).value
        if isinstance(value, list):
            return kind_by_names(tuple(value[0])) if value and isinstance(value[0], dict) else None
        numbers = [number for docs in value.values() if isinstance(docs, dict) for number in docs.values()]
        return "run" if any(isinstance(number, float) for number in numbers) else None

    def run_blocks(self, run: Run) -> Iterator[bytes]:
        scores: dict[str, dict[str, float]] = {query: {} for query in run.queries}
        for row in ranked_rows(run):
            scores[row.query][row.doc] = row.score
        return _written(scores)

    def qrels_blocks(self, qrels: Qrels) -> Iterator[bytes]:
        return _written({query: dict(docs) for query, docs in qrels.items()})


class _Content:
    """A file's JSON value and the path of the item that is looked at, so that a fault is told with its line."""

    def __init__(self, source: Source) -> None:
        data = all_bytes(source)
        if not data:
            raise refusal("empty", source=source.name)
        self.source, self.path = source.name, ()
        self.text = _decoded(data.removeprefix(BOM), source.name)
        self.value = strict_json.parse(self.text, source=source.name)
        if not isinstance(self.value, dict | list):
            raise fault("json-shape", source=source.name, kind=kind_name(self.value), expected=_EXPECTED)

    value: Any
    path: strict_json.Path

    @property
    def is_array(self) -> bool:
        return isinstance(self.value, list)

    def items(self) -> Iterator[tuple[int, Any]]:
        """The items of an array of rows, with the line of each."""
        return zip(strict_json.item_lines(self.text, source=self.source), self.value, strict=True)

    def cells(self, expected: str) -> Iterator[tuple[str, str, Any]]:
        """Query, document and number of a mapping of mappings."""
        for query, docs in self.value.items():
            self.path = (query,)
            id_of_value(query, "query", source=self.source, line=None)
            if not isinstance(docs, dict):
                raise refusal("not-a-mapping", source=self.source, query=query, kind=kind_name(docs), value=expected)
            for doc, number in docs.items():
                self.path = (query, doc)
                yield query, id_of_value(doc, "document", source=self.source, line=None), number

    def placed(self, rows: Iterator[_Row]) -> Iterator[_Row]:
        """The rows; a fault among them gets the line of the item that has it."""
        try:
            yield from rows
        except InputError as error:
            line = strict_json.line_of(self.text, self.path)
            raise InputError(error.what, fix=error.fix, source=self.source, line=line) from None


def _run_rows(found: _Content) -> Iterator[RunRow]:
    for query, doc, number in found.cells("a number"):
        yield RunRow(query, doc, score_of_json(number, query=query, doc=doc, source=found.source, line=None))


def _judgements(found: _Content, options: Options) -> Iterator[Judgement]:
    for query, doc, number in found.cells("an integer grade"):
        grade = grade_of_value(number, options.grade_map, query=query, doc=doc, source=found.source, line=None)
        yield Judgement(query, doc, grade)


def _decoded(data: bytes, name: str) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        start = data.rfind(b"\n", 0, error.start) + 1
        return decoded(data[start : error.end], data.count(b"\n", 0, error.start) + 1, name)


def _written(table: dict[str, Any]) -> Iterator[bytes]:
    import json

    yield b"{"
    for index, (query, docs) in enumerate(table.items()):
        line = f"{json.dumps(query, ensure_ascii=False)}: {json.dumps(docs, ensure_ascii=False, allow_nan=False)}"
        yield (",\n" if index else "\n").encode() + line.encode()
    yield b"\n}\n"


JSON = JsonFormat()
