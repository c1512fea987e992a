"""JSON and JSONL."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache, partial
from typing import Any, TypeVar

from rankproof._data.grades import GradeReader
from rankproof._data.qrels import Judgement, Qrels
from rankproof._data.row_errors import MAX_LINE_BYTES, row_error
from rankproof._data.run import Run, RunRow
from rankproof._formats import native
from rankproof._formats import rows as records
from rankproof._formats.columns import Kind, find_columns, kind_from_names
from rankproof._formats.rows import ParseOptions, build_qrels, build_run, id_of_value, json_type_name, ranked_rows, score_of_json
from rankproof._io import strict_json
from rankproof._io.file_errors import file_error
from rankproof._io.open import BOM, decode_line, numbered_text_lines, read_all_bytes
from rankproof._io.streams import ByteSource
from rankproof.errors import InputError

_Row = TypeVar("_Row")
_EXPECTED = "{query: {document: number}}, or an array of row objects"


def native_reader(options: ParseOptions, kind: Kind, *, by_line: bool = False) -> native.ReadTable:
    """The reader in C, for a row on each line or for one value."""

    @cache
    def places_of(names: tuple[str, ...]) -> native.Places:
        if len(set(names)) < len(names):
            return native.NO_PLACES
        return native.places_of(find_columns(names, kind, order=options.read_options.order))

    return lambda align, stream: align.read_json(stream, kind == "run", by_line, places_of, native.BLOCK_BYTES)


class JsonFormat:
    """One JSON value in a file."""

    keeps_judge_labels, keeps_empty_queries = True, True

    def read_qrels(self, source: ByteSource, options: ParseOptions) -> Qrels:
        return native.read_qrels(source, native_reader(options, "qrels"), options) or self._plain_qrels(source, options)

    def read_run(self, source: ByteSource, name: str, options: ParseOptions) -> Run:
        return native.read_run(source, name, native_reader(options, "run"), options) or self._plain_run(source, name, options)

    def _plain_qrels(self, source: ByteSource, options: ParseOptions) -> Qrels:
        content = JsonContent(source)
        if content.is_array:
            return records.read_judgements(content.items(), source.name, options)
        grades = GradeReader(source.name, options.grade_map, line_now=content.line)
        return build_qrels(content.with_item_lines(_judgements(content, grades)), grades)

    def _plain_run(self, source: ByteSource, name: str, options: ParseOptions) -> Run:
        content = JsonContent(source)
        made = partial(build_run, name=name, source=source.name, read_options=options.read_options)
        if content.is_array:
            return made(records.run_rows(content.items(), source.name, options))
        if options.read_options.order == "rank":
            raise row_error("rank-missing", source=source.name)
        return made(content.with_item_lines(_run_rows(content)), queries=list(content.value))

    def kind(self, source: ByteSource, options: ParseOptions) -> Kind | None:
        value = JsonContent(source).value
        if isinstance(value, list):
            return kind_from_names(tuple(value[0])) if value and isinstance(value[0], dict) else None
        numbers = [number for docs in value.values() if isinstance(docs, dict) for number in docs.values()]
        return "run" if any(isinstance(number, float) for number in numbers) else None

    def run_blocks(self, run: Run) -> Iterator[bytes]:
        scores: dict[str, dict[str, float]] = {query: {} for query in run.queries}
        for row in ranked_rows(run):
            scores[row.query][row.doc] = row.score
        return _json_blocks(scores)

    def qrels_blocks(self, qrels: Qrels) -> Iterator[bytes]:
        if qrels.subtopics or qrels.judge_labels:
            return _array_blocks(_qrels_records(qrels))
        return _json_blocks({query: dict(docs) for query, docs in qrels.items()})


class JsonContent:
    """The JSON value of a file, and the path of the current item, used to find the line of an error."""

    def __init__(self, source: ByteSource, *, nan_is_null: bool = False) -> None:
        data = read_all_bytes(source)
        if not data:
            raise row_error("empty", source=source.name)
        self.source, self.path = source.name, ()
        self._lines: dict[strict_json.JsonPath, list[int]] = {}
        self.text = _decode_utf8(data.removeprefix(BOM), source.name)
        self.value = strict_json.parse_strict_json(self.text, source=source.name, nan_is_null=nan_is_null)
        if not isinstance(self.value, dict | list):
            raise file_error("json-shape", source=source.name, kind=json_type_name(self.value), expected=_EXPECTED)

    value: Any
    path: strict_json.JsonPath

    @property
    def is_array(self) -> bool:
        return isinstance(self.value, list)

    def items(self) -> Iterator[tuple[int, Any]]:
        """The items of an array of rows, with the line of each."""
        return zip(strict_json.item_lines(self.text, source=self.source), self.value, strict=True)

    def lines_inside(self, path: strict_json.JsonPath) -> list[int]:
        """The line of each key or item directly inside the value at the path; they are searched once."""
        if path not in self._lines:
            self._lines[path] = strict_json.lines_inside(self.text, path)
        return self._lines[path]

    def cells(self, expected: str) -> Iterator[tuple[str, str, Any]]:
        """Query, document and number of each entry of a mapping of mappings."""
        for query, docs in self.value.items():
            self.path = (query,)
            id_of_value(query, "query", source=self.source, line=None)
            if not isinstance(docs, dict):
                raise row_error("not-a-mapping", source=self.source, query=query, kind=json_type_name(docs), value=expected)
            for doc, number in docs.items():
                self.path = (query, doc)
                yield query, id_of_value(doc, "document", source=self.source, line=None), number

    def with_item_lines(self, rows: Iterator[_Row]) -> Iterator[_Row]:
        """The rows; an error among them gets the line of its item."""
        try:
            yield from rows
        except InputError as error:
            raise InputError(error.what, fix=error.fix, source=self.source, line=self.line()) from None

    def line(self) -> int | None:
        """The line of the current item."""
        return strict_json.line_of(self.text, self.path)


def _run_rows(content: JsonContent) -> Iterator[RunRow]:
    for query, doc, number in content.cells("a number"):
        yield RunRow(query, doc, score_of_json(number, query=query, doc=doc, source=content.source, line=None))


def _judgements(content: JsonContent, grades: GradeReader) -> Iterator[Judgement]:
    for query, doc, number in content.cells("an integer grade"):
        yield Judgement(query, doc, grades.of_value(number, query=query, doc=doc, line=None))


def _decode_utf8(data: bytes, name: str) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        start = data.rfind(b"\n", 0, error.start) + 1
        return decode_line(data[start : error.end], data.count(b"\n", 0, error.start) + 1, name)


def _qrels_records(qrels: Qrels) -> Iterator[dict[str, Any]]:
    for row in qrels.rows():
        subtopic = {"subtopic": row.subtopic} if row.subtopic else {}
        judge = {"judged_by": row.judged_by} if qrels.judge_labels else {}
        yield {"query_id": row.query, **subtopic, "doc_id": row.doc, "rel": row.grade, **judge}


def _array_blocks(records: Iterable[dict[str, Any]]) -> Iterator[bytes]:
    yield b"["
    for index, record in enumerate(records):
        yield (b",\n" if index else b"\n") + json_line(record).rstrip()
    yield b"\n]\n"


def _json_blocks(table: dict[str, Any]) -> Iterator[bytes]:
    import json

    yield b"{"
    for index, (query, docs) in enumerate(table.items()):
        line = f"{json.dumps(query, ensure_ascii=False)}: {json.dumps(docs, ensure_ascii=False, allow_nan=False)}"
        yield (",\n" if index else "\n").encode() + line.encode()
    yield b"\n}\n"


JSON = JsonFormat()


def parsed_lines(source: ByteSource, *, limit: int = MAX_LINE_BYTES, nan_is_null: bool = False) -> Iterator[tuple[int, Any]]:
    """The value of every line that is neither blank nor a comment, with the line number."""
    for line, text in numbered_text_lines(source, limit=limit):
        if text.strip() and not text.startswith("#"):
            yield line, strict_json.parse_strict_json(text.rstrip("\r\n"), source=source.name, line=line, nan_is_null=nan_is_null)


class JsonLinesFormat:
    """One JSON object a line."""

    keeps_judge_labels, keeps_empty_queries = True, False

    def read_qrels(self, source: ByteSource, options: ParseOptions) -> Qrels:
        qrels = native.read_qrels(source, native_reader(options, "qrels", by_line=True), options)
        return qrels or records.read_judgements(parsed_lines(source), source.name, options)

    def read_run(self, source: ByteSource, name: str, options: ParseOptions) -> Run:
        run = native.read_run(source, name, native_reader(options, "run", by_line=True), options)
        return run or self._plain_run(source, name, options)

    def _plain_run(self, source: ByteSource, name: str, options: ParseOptions) -> Run:
        rows = records.run_rows(parsed_lines(source), source.name, options)
        return build_run(rows, name=name, source=source.name, read_options=options.read_options)

    def kind(self, source: ByteSource, options: ParseOptions) -> Kind | None:
        first = next(parsed_lines(source), (0, None))[1]
        return kind_from_names(tuple(first)) if isinstance(first, dict) else None

    def run_blocks(self, run: Run) -> Iterator[bytes]:
        tag = {"tag": run.tags[0]} if len(run.tags) == 1 else {}
        for row in ranked_rows(run):
            yield json_line({"query_id": row.query, "doc_id": row.doc, "rank": row.rank, "score": row.score, **tag})

    def qrels_blocks(self, qrels: Qrels) -> Iterator[bytes]:
        return map(json_line, _qrels_records(qrels))


def json_line(record: dict[str, Any]) -> bytes:
    """One line of JSONL with its line ending."""
    import json

    return json.dumps(record, ensure_ascii=False, allow_nan=False).encode() + b"\n"


JSONL = JsonLinesFormat()
