"""CSV and TSV with a header line that names the columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..data.ids import checked_id
from ..data.marks import PEOPLE, mark_of
from ..data.qrels import Judgement, Qrels
from ..data.refusals import refusal
from ..data.run import Run, RunRow
from ..data.source import Source
from .columns import Columns, Kind, columns_of, kind_by_names
from .delimited import joined, split_rows
from .faults import fault
from .grades import grade_of_text
from .lines import numbered_text
from .ranked import ranked_rows
from .rows import Options, qrels_of, run_of
from .trec import parse_score
from .values import rank_of_value, score_of_rank

MARK = "judged-by"
_OTHER_DELIMITERS = (";", "\t", ",", "|")


@dataclass(frozen=True, slots=True)
class Delimited:
    """A table in text; the delimiter is the format's own unless another is named."""

    delimiter: str

    def read_qrels(self, source: Source, options: Options) -> Qrels:
        return qrels_of(self._judgements(source, options), source=source.name)

    def read_run(self, source: Source, name: str, options: Options) -> Run:
        return run_of(self._rows(source, options), name=name, source=source.name, reading=options.reading)

    def kind(self, source: Source, options: Options) -> Kind | None:
        return kind_by_names(next(self._table(source, options))[1])

    def run_blocks(self, run: Run) -> Iterator[bytes]:
        tag = run.tags[0] if len(run.tags) == 1 else None
        tail = [] if tag is None else [tag]
        yield joined(["query_id", "doc_id", "rank", "score", *(["tag"] if tail else [])], self.delimiter).encode()
        for row in ranked_rows(run):
            fields = [row.query, row.doc, str(row.rank), repr(row.score), *tail]
            yield joined(fields, self.delimiter).encode()

    def qrels_blocks(self, qrels: Qrels) -> Iterator[bytes]:
        yield from qrels_table(qrels, ("query_id", "doc_id", "relevance"), self.delimiter)

    def _rows(self, source: Source, options: Options) -> Iterator[RunRow]:
        table = self._table(source, options)
        header, names = next(table)
        columns = columns_of(names, "run", source=source.name, line=header, order=options.reading.order)
        for line, fields in table:
            query, doc = _ids(fields, columns, source.name, line)
            rank = None if columns.rank is None else rank_of_value(fields[columns.rank])
            if columns.scored:
                score = _score(fields[columns.value], source.name, line)
            else:
                score = score_of_rank(rank, source=source.name, line=line)
            yield RunRow(query, doc, score, rank, line, None if columns.tag is None else fields[columns.tag])

    def _judgements(self, source: Source, options: Options) -> Iterator[Judgement]:
        table = self._table(source, options)
        header, names = next(table)
        columns = columns_of(names, "qrels", source=source.name, line=header)
        for line, fields in table:
            query, doc = _ids(fields, columns, source.name, line)
            grade = grade_of_text(fields[columns.value], options.grade_map, source=source.name, line=line)
            yield Judgement(query, doc, grade, line, "" if columns.mark is None else mark_of(fields[columns.mark]))

    def _table(self, source: Source, options: Options) -> Iterator[tuple[int, list[str]]]:
        """The header, then every row, all with as many fields; comments are left out."""
        delimiter = options.delimiter or self.delimiter
        header: list[str] = []
        count = 0
        for line, fields, comment in split_rows(numbered_text(source), delimiter, source.name):
            if comment and len(fields) != len(header):
                continue
            if comment:
                raise fault("comment-or-row", source=source.name, line=line)
            if not header:
                _refuse_one_column(fields, source.name, line)
                header = fields
            elif len(fields) != len(header):
                raise fault("columns", source=source.name, line=line, found=len(fields), expected=len(header))
            count += 1
            yield line, fields
        if count < 2:
            raise fault("header-only", source=source.name) if count else refusal("no-rows", source=source.name)


def qrels_table(qrels: Qrels, header: Sequence[str], delimiter: str) -> Iterator[bytes]:
    """Judgements under a header of three names; a fourth says who made each, where any was made by a machine."""
    yield joined([*header, *([MARK] if qrels.marks else [])], delimiter).encode()
    for query, docs in qrels.items():
        for doc, grade in docs.items():
            mark = [qrels.marks.get((query, doc), PEOPLE)] if qrels.marks else []
            yield joined([query, doc, str(grade), *mark], delimiter).encode()


def _ids(fields: list[str], columns: Columns, source: str, line: int) -> tuple[str, str]:
    return (
        checked_id(fields[columns.query], "query", source=source, line=line),
        checked_id(fields[columns.doc], "document", source=source, line=line),
    )


def _score(token: str, source: str, line: int) -> float:
    whole, comma, part = token.partition(",")
    if comma and part.isdigit() and whole.lstrip("+-").isdigit():
        raise fault("decimal-comma", source=source, line=line, token=token)
    return parse_score(token.encode(), source=source, line=line)


def _refuse_one_column(fields: list[str], source: str, line: int) -> None:
    other = next((char for char in _OTHER_DELIMITERS if char in fields[0]), None)
    if len(fields) == 1 and other is not None:
        raise fault("header-one", source=source, line=line, delimiter="\\t" if other == "\t" else other)
    if len(fields) == 1 and len(fields[0].split()) > 2:
        raise fault("header-blanks", source=source, line=line)


CSV = Delimited(",")
TSV = Delimited("\t")
