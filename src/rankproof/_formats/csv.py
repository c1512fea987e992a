"""Tables whose columns a delimiter separates: CSV, TSV and BEIR."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from rankproof._data.grades import GradeReader
from rankproof._data.qrels import Judgement, Qrels
from rankproof._data.row_errors import MAX_LINE_BYTES, row_error
from rankproof._data.run import Run, RunRow
from rankproof._data.validation import checked_id
from rankproof._formats import native
from rankproof._formats.columns import Columns, Kind, find_columns, is_header, kind_from_names
from rankproof._formats.rows import (
    ParseOptions,
    build_qrels,
    build_run,
    judge_in,
    parse_score,
    rank_of_value,
    ranked_rows,
    score_of_rank,
    subtopic_of_value,
)
from rankproof._formats.trec import numbered_lines
from rankproof._io.file_errors import file_error
from rankproof._io.open import numbered_text_lines
from rankproof._io.streams import ByteSource

Lines = Iterator[tuple[int, str]]
Row = tuple[int, list[str], bool]
_QUOTE = '"'
_MAY_NEED_QUOTES = re.compile('["\\n\\r#\ufeff]').search


def split_rows(lines: Lines, delimiter: str, source: str) -> Iterator[Row]:
    """Each row that is not blank: its first line, its fields, and whether it begins with an unquoted #."""
    for number, line in lines:
        text = line.rstrip("\r\n")
        if not text.strip():
            continue
        # Not the csv module, which accepts text after a closing quote.
        fields = text.split(delimiter) if _QUOTE not in text else _QuotedRow(number, line, lines, delimiter, source).fields()
        yield number, fields, text.startswith("#")


class _QuotedRow:
    """One row with quotes, which may span lines."""

    def __init__(self, number: int, line: str, lines: Lines, delimiter: str, source: str) -> None:
        self.number, self.line, self.lines, self.delimiter, self.source = number, line, lines, delimiter, source
        self.first, self.at = number, 0

    def fields(self) -> list[str]:
        cells: list[str] = []
        while True:
            cells.append(self._quoted() if self.line.startswith(_QUOTE, self.at) else self._bare())
            rest = self.line[self.at :]
            if not rest.strip("\r\n"):
                return cells
            if not rest.startswith(self.delimiter):
                raise file_error("quote-text", source=self.source, line=self.number, column=self.at + 1)
            self.at += len(self.delimiter)

    def _bare(self) -> str:
        end = self.line.find(self.delimiter, self.at)
        field = self.line[self.at :].rstrip("\r\n") if end < 0 else self.line[self.at : end]
        self.at += len(field)
        return field

    def _quoted(self) -> str:
        opened, parts, size = self.number, [], 0
        self.at += 1
        while True:
            end = self.line.find(_QUOTE, self.at)
            if end < 0:
                parts.append(self.line[self.at :])
                size += len(parts[-1])
                self._next_line(opened, size)
                continue
            parts.append(self.line[self.at : end])
            doubled = self.line.startswith(_QUOTE, end + 1)
            self.at = end + 1 + doubled
            if not doubled:
                return "".join(parts)
            parts.append(_QUOTE)

    def _next_line(self, opened: int, size: int) -> None:
        if size > MAX_LINE_BYTES:
            raise file_error("field-long", source=self.source, line=opened)
        following = next(self.lines, None)
        if following is None:
            raise file_error("quote-open", source=self.source, line=opened)
        self.number, self.line = following
        self.at = 0


def delimited_line(fields: Sequence[str], delimiter: str) -> str:
    """One row with its line ending; fields are quoted where needed."""
    line = delimiter.join(fields)
    if all(fields) and not _MAY_NEED_QUOTES(line) and line.count(delimiter) == len(fields) - 1:
        return line + "\n"
    return delimiter.join(_quote_field(field, delimiter) for field in fields) + "\n"


def _quote_field(field: str, delimiter: str) -> str:
    plain = field and not field.startswith(("#", "\ufeff")) and not any(char in field for char in (delimiter, _QUOTE, "\n", "\r"))
    return field if plain else _QUOTE + field.replace(_QUOTE, _QUOTE * 2) + _QUOTE


JUDGE_LABEL_COLUMN, SUBTOPIC_COLUMN = "judged-by", "subtopic"
_OTHER_DELIMITERS = (";", "\t", ",", "|")


@dataclass(frozen=True, slots=True)
class DelimitedFormat:
    """A table in text; the delimiter is the format's own unless the options name another."""

    delimiter: str
    keeps_judge_labels: ClassVar[bool] = True
    keeps_empty_queries: ClassVar[bool] = False

    def read_qrels(self, source: ByteSource, options: ParseOptions) -> Qrels:
        qrels = native.read_qrels(source, self.native_reader(source, options, "qrels"), options)
        return qrels or self._plain_qrels(source, options)

    def _plain_qrels(self, source: ByteSource, options: ParseOptions) -> Qrels:
        grades = GradeReader(source.name, options.grade_map)
        return build_qrels(self._judgements(source, options, grades), grades, options.on_conflict)

    def read_run(self, source: ByteSource, name: str, options: ParseOptions) -> Run:
        run = native.read_run(source, name, self.native_reader(source, options, "run"), options)
        return run or build_run(self._rows(source, options), name=name, source=source.name, read_options=options.read_options)

    def native_reader(self, source: ByteSource, options: ParseOptions, kind: Kind) -> native.ReadTable:
        """The reader in C, for a delimiter in ASCII."""
        delimiter = options.delimiter or self.delimiter

        def read(align: Any, stream: Any) -> Any:
            if not "\0" < delimiter <= "\x7f":
                return None
            header, names = next(self._table(source, options))
            places = native.places_of(find_columns(names, kind, order=options.read_options.order))
            return align.read_delimited(stream, kind == "run", ord(delimiter), header, len(names), places, native.BLOCK_BYTES)

        return read

    def kind(self, source: ByteSource, options: ParseOptions) -> Kind | None:
        return kind_from_names(next(self._table(source, options))[1])

    def run_blocks(self, run: Run) -> Iterator[bytes]:
        tag = run.tags[0] if len(run.tags) == 1 else None
        tail = [] if tag is None else [tag]
        yield delimited_line(["query_id", "doc_id", "rank", "score", *(["tag"] if tail else [])], self.delimiter).encode()
        for row in ranked_rows(run):
            fields = [row.query, row.doc, str(row.rank), repr(row.score), *tail]
            yield delimited_line(fields, self.delimiter).encode()

    def qrels_blocks(self, qrels: Qrels) -> Iterator[bytes]:
        yield from qrels_table(qrels, ("query_id", "doc_id", "relevance"), self.delimiter)

    def _rows(self, source: ByteSource, options: ParseOptions) -> Iterator[RunRow]:
        table = self._table(source, options)
        header, names = next(table)
        columns = find_columns(names, "run", source=source.name, line=header, order=options.read_options.order)
        for line, fields in table:
            query, doc = _ids(fields, columns, source.name, line)
            rank = None if columns.rank is None else rank_of_value(fields[columns.rank])
            if columns.scored:
                score = _score(fields[columns.value], source.name, line)
            else:
                score = score_of_rank(rank, source=source.name, line=line)
            yield RunRow(query, doc, score, rank, line, None if columns.tag is None else fields[columns.tag])

    def _judgements(self, source: ByteSource, options: ParseOptions, grades: GradeReader) -> Iterator[Judgement]:
        table = self._table(source, options)
        header, names = next(table)
        columns = find_columns(names, "qrels", source=source.name, line=header)
        for line, fields in table:
            query, doc = _ids(fields, columns, source.name, line)
            grade = grades.of_text(fields[columns.value], line=line)
            label = judge_in(fields, columns)
            yield Judgement(query, doc, grade, line, label, _subtopic(fields, columns, source.name, line))

    def _table(self, source: ByteSource, options: ParseOptions) -> Iterator[tuple[int, list[str]]]:
        """The header, then every row with as many fields; comments are skipped."""
        delimiter = options.delimiter or self.delimiter
        header: list[str] = []
        count = 0
        for line, fields, comment in split_rows(numbered_text_lines(source), delimiter, source.name):
            if comment and len(fields) != len(header):
                continue
            if comment:
                raise file_error("comment-or-row", source=source.name, line=line)
            if not header:
                _check_column_count(fields, source.name, line)
                header = fields
            elif len(fields) != len(header):
                raise file_error("columns", source=source.name, line=line, found=len(fields), expected=len(header))
            count += 1
            yield line, fields
        if count < 2:
            raise file_error("header-only", source=source.name) if count else row_error("no-rows", source=source.name)


def qrels_table(qrels: Qrels, header: Sequence[str], delimiter: str) -> Iterator[bytes]:
    """Judgements under a header of three names; further columns have the subtopic, and the judge if any is a machine."""
    subtopic = [SUBTOPIC_COLUMN] if qrels.subtopics else []
    judge = [JUDGE_LABEL_COLUMN] if qrels.judge_labels else []
    yield delimited_line([*header, *subtopic, *judge], delimiter).encode()
    for row in qrels.rows():
        more = [*([row.subtopic] if subtopic else []), *([row.judged_by] if judge else [])]
        yield delimited_line([row.query, row.doc, str(row.grade), *more], delimiter).encode()


def _ids(fields: list[str], columns: Columns, source: str, line: int) -> tuple[str, str]:
    return (
        checked_id(fields[columns.query], "query", source=source, line=line),
        checked_id(fields[columns.doc], "document", source=source, line=line),
    )


def _subtopic(fields: list[str], columns: Columns, source: str, line: int) -> str:
    return "" if columns.subtopic is None else subtopic_of_value(fields[columns.subtopic], source=source, line=line)


def _score(token: str, source: str, line: int) -> float:
    whole, comma, part = token.partition(",")
    # A decimal comma is a wrong locale, not a wrong number: the message says so.
    if comma and part.isdigit() and whole.lstrip("+-").isdigit():
        raise file_error("decimal-comma", source=source, line=line, token=token)
    return parse_score(token.encode(), source=source, line=line)


def _check_column_count(fields: list[str], source: str, line: int) -> None:
    other = next((char for char in _OTHER_DELIMITERS if char in fields[0]), None)
    # One column is nearly always a table with another delimiter.
    if len(fields) == 1 and other is not None:
        raise file_error("header-one", source=source, line=line, delimiter="\\t" if other == "\t" else other)
    if len(fields) == 1 and len(fields[0].split()) > 2:
        raise file_error("header-blanks", source=source, line=line)


CSV = DelimitedFormat(",")
TSV = DelimitedFormat("\t")


HEADER = ("query-id", "corpus-id", "score")
_PLACES: native.Places = (0, 1, 2, -1, -1, -1)


class BeirFormat:
    """Three columns; the third is a grade in qrels, a score in a run."""

    keeps_judge_labels, keeps_empty_queries = True, False

    def read_qrels(self, source: ByteSource, options: ParseOptions) -> Qrels:
        if _has_header(source):
            return TSV.read_qrels(source, options)
        qrels = native.read_qrels(source, self.native_reader(source, "qrels"), options)
        return qrels or self._plain_qrels(source, options)

    def _plain_qrels(self, source: ByteSource, options: ParseOptions) -> Qrels:
        grades = GradeReader(source.name, options.grade_map)
        return build_qrels(_judgements(source, grades), grades, options.on_conflict)

    def read_run(self, source: ByteSource, name: str, options: ParseOptions) -> Run:
        if _has_header(source):
            return TSV.read_run(source, name, options)
        if options.read_options.order == "rank":
            raise row_error("rank-missing", source=source.name)
        run = native.read_run(source, name, self.native_reader(source, "run"), options)
        return run or build_run(_run_rows(source), name=name, source=source.name, read_options=options.read_options)

    def native_reader(self, source: ByteSource, kind: Kind) -> native.ReadTable:
        """The reader in C of rows without a header; the delimiter 0 is any white space."""

        def read(align: Any, stream: Any) -> Any:
            delimiter = ord("\t") if _is_tabbed(next(numbered_lines(source), (0, b""))[1]) else 0
            return align.read_delimited(stream, kind == "run", delimiter, 0, len(HEADER), _PLACES, native.BLOCK_BYTES)

        return read

    def kind(self, source: ByteSource, options: ParseOptions) -> Kind | None:
        return "qrels"

    def run_blocks(self, run: Run) -> Iterator[bytes]:
        raise file_error("convert-beir-run")

    def qrels_blocks(self, qrels: Qrels) -> Iterator[bytes]:
        return qrels_table(qrels, HEADER, "\t")


def _has_header(source: ByteSource) -> bool:
    line = next(numbered_lines(source), (0, b""))[1].decode()
    return is_header(line.split("\t"))


def _is_tabbed(line: bytes) -> bool:
    return b"\t" in line


def _fields(source: ByteSource) -> Iterator[tuple[int, str, str, str]]:
    """Rows without a header: columns separated by tabs if the first row has any, else by white space."""
    tabs: bool | None = None
    for line, text in numbered_lines(source):
        tabs = _is_tabbed(text) if tabs is None else tabs
        fields = text.split(b"\t") if tabs else text.split()
        if len(fields) != len(HEADER):
            raise file_error("columns-beir", source=source.name, line=line, found=len(fields))
        query, doc, value = (field.decode() for field in fields)
        yield (
            line,
            checked_id(query, "query", source=source.name, line=line),
            checked_id(doc, "document", source=source.name, line=line),
            value,
        )


def _judgements(source: ByteSource, grades: GradeReader) -> Iterator[Judgement]:
    for line, query, doc, value in _fields(source):
        yield Judgement(query, doc, grades.of_text(value, line=line), line)


def _run_rows(source: ByteSource) -> Iterator[RunRow]:
    for line, query, doc, value in _fields(source):
        yield RunRow(query, doc, parse_score(value.encode(), source=source.name, line=line), None, line)


BEIR = BeirFormat()
