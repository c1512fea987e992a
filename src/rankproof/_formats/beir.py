"""BEIR rows: `query-id corpus-id score`, separated by tabs, with that header or, if the format is named, without."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rankproof._data.grades import GradeReader
from rankproof._data.qrels import Judgement, Qrels
from rankproof._data.row_errors import row_error
from rankproof._data.run import Run, RunRow
from rankproof._data.validation import checked_id
from rankproof._formats import native
from rankproof._formats.columns import Kind, is_header
from rankproof._formats.csv import TSV, qrels_table
from rankproof._formats.fields import parse_score
from rankproof._formats.rows import ParseOptions, build_qrels, build_run
from rankproof._formats.trec import numbered_lines
from rankproof._io.file_errors import file_error
from rankproof._io.streams import ByteSource

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
