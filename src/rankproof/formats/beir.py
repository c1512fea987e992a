"""BEIR's rows: `query-id corpus-id score` in tab-separated text, with that header or, where the format is named, without."""

from __future__ import annotations

from collections.abc import Iterator

from ..data.ids import checked_id
from ..data.qrels import Judgement, Qrels
from ..data.refusals import refusal
from ..data.run import Run, RunRow
from ..data.source import Source
from .columns import Kind, is_header
from .csv_format import TSV, qrels_table
from .faults import fault
from .grades import grade_of_text
from .rows import Options, qrels_of, run_of
from .trec import numbered_lines, parse_score

HEADER = ("query-id", "corpus-id", "score")


class BeirFormat:
    """Three columns; the third is a grade in qrels, a score in a run."""

    def read_qrels(self, source: Source, options: Options) -> Qrels:
        if _has_header(source):
            return TSV.read_qrels(source, options)
        return qrels_of(_judgements(source, options), source=source.name)

    def read_run(self, source: Source, name: str, options: Options) -> Run:
        if _has_header(source):
            return TSV.read_run(source, name, options)
        if options.reading.order == "rank":
            raise refusal("rank-missing", source=source.name)
        return run_of(_run_rows(source), name=name, source=source.name, reading=options.reading)

    def kind(self, source: Source, options: Options) -> Kind | None:
        return "qrels"

    def run_blocks(self, run: Run) -> Iterator[bytes]:
        raise fault("convert-beir-run")

    def qrels_blocks(self, qrels: Qrels) -> Iterator[bytes]:
        return qrels_table(qrels, HEADER, "\t")


def _has_header(source: Source) -> bool:
    line = next(numbered_lines(source), (0, b""))[1].decode()
    return is_header(line.split("\t"))


def _fields(source: Source) -> Iterator[tuple[int, str, str, str]]:
    """Rows without a header: columns between tabs where the first row has any, else between white space."""
    tabs: bool | None = None
    for line, text in numbered_lines(source):
        tabs = b"\t" in text if tabs is None else tabs
        fields = text.split(b"\t") if tabs else text.split()
        if len(fields) != len(HEADER):
            raise fault("columns-beir", source=source.name, line=line, found=len(fields))
        query, doc, value = (field.decode() for field in fields)
        yield (
            line,
            checked_id(query, "query", source=source.name, line=line),
            checked_id(doc, "document", source=source.name, line=line),
            value,
        )


def _judgements(source: Source, options: Options) -> Iterator[Judgement]:
    for line, query, doc, value in _fields(source):
        yield Judgement(query, doc, grade_of_text(value, options.grade_map, source=source.name, line=line), line)


def _run_rows(source: Source) -> Iterator[RunRow]:
    for line, query, doc, value in _fields(source):
        yield RunRow(query, doc, parse_score(value.encode(), source=source.name, line=line), None, line)


BEIR = BeirFormat()
