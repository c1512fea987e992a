"""The cells of one row (of JSON, Parquet or a frame) as a row of a run or of qrels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from ..data.marks import mark_of
from ..data.qrels import Judgement
from ..data.run import RunRow
from .columns import Columns
from .grades import GradeMap, grade_of_value
from .values import id_of_value, rank_of_value, score_of_cell, score_of_rank


class ScoreReader(Protocol):
    """What turns a value into a score."""

    def __call__(self, value: object, /, *, query: str, doc: str, source: str, line: int | None) -> float: ...


def run_row(
    cells: Sequence[Any], columns: Columns, *, source: str, line: int | None, score_of: ScoreReader = score_of_cell
) -> RunRow:
    """The row of a run whose cells stand where the columns say."""
    query = id_of_value(cells[columns.query], "query", source=source, line=line)
    doc = id_of_value(cells[columns.doc], "document", source=source, line=line)
    rank = None if columns.rank is None else rank_of_value(cells[columns.rank])
    tag = None if columns.tag is None else cells[columns.tag]
    if columns.scored:
        score = score_of(cells[columns.value], query=query, doc=doc, source=source, line=line)
    else:
        score = score_of_rank(rank, source=source, line=line)
    return RunRow(query, doc, score, rank, line, tag if isinstance(tag, str) else None)


def judgement(cells: Sequence[Any], columns: Columns, grade_map: GradeMap | None, *, source: str, line: int | None) -> Judgement:
    """The judgement whose cells stand where the columns say."""
    query = id_of_value(cells[columns.query], "query", source=source, line=line)
    doc = id_of_value(cells[columns.doc], "document", source=source, line=line)
    grade = grade_of_value(cells[columns.value], grade_map, query=query, doc=doc, source=source, line=line)
    return Judgement(query, doc, grade, line, "" if columns.mark is None else mark_of(str(cells[columns.mark])))
