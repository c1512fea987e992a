"""Rows of tables as runs and qrels; texts and cells as ids, scores and ranks."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Protocol

import numpy as np

from rankproof._data.grades import GradeMap, GradeReader, checked_grade_map
from rankproof._data.ordering import best_first_order, resolve_duplicates
from rankproof._data.qrels import Judgement, Qrels, judge_label, label_of, qrels_of_rows, subtopic_of
from rankproof._data.row_errors import OnConflict, row_error
from rankproof._data.run import Run, RunRow, checked_score
from rankproof._data.validation import ReadOptions, checked_id
from rankproof._formats.columns import Columns, Kind, find_columns
from rankproof._io.file_errors import DamagedFileError, file_error
from rankproof.errors import InputError

_DECIMAL = re.compile(rb"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_INTEGER = re.compile(rb"[+-]?[0-9]+")
_NOT_FINITE = re.compile(rb"[+-]?(?:inf|infinity|nan)", re.IGNORECASE)


def parse_score(token: bytes, *, source: str = "", line: int | None = None) -> float:
    """A decimal in ASCII as a float64; other spellings that Python or C accept are errors."""
    if not _DECIMAL.fullmatch(token):
        code = "score-header" if _may_be_header(token, line) else "score-text"
        code = "score-infinite" if _NOT_FINITE.fullmatch(token) else code
        raise row_error(code, source=source, line=line, token=token.decode())
    score = float(token)
    if not math.isfinite(score):
        raise row_error("score-range", source=source, line=line, token=token.decode())
    return score


def _may_be_header(token: bytes, line: int | None) -> bool:
    return line == 1 and token[:1].isalpha()


def parse_rank(token: bytes) -> int | None:
    """The rank if it is a whole number of at most 18 digits, else None."""
    return int(token) if _INTEGER.fullmatch(token) and len(token.lstrip(b"+-")) <= 18 else None


def id_of_value(value: object, column: str, *, source: str, line: int | None) -> str:
    """The value as an id: text, bytes as UTF-8, or an integer as its decimal text; null and floats are errors."""
    if value is None or is_nan(value):
        raise file_error("id-null", source=source, line=line, column=column)
    if isinstance(value, bytes):
        value = _decoded(value, column, source, line)
    if isinstance(value, float):
        raise file_error("id-float", source=source, line=line, column=column, token=repr(value))
    return checked_id(value, column, source=source, line=line)


def score_of_json(value: object, *, query: str, doc: str, source: str, line: int | None) -> float:
    """A JSON number as a score; an infinity is a number outside the range of float64."""
    if isinstance(value, float) and math.isinf(value):
        raise row_error("score-range", source=source, line=line, token=f"of document {doc} for query {query}")
    return checked_score(value, query=query, doc=doc, source=source, line=line)


def score_of_cell(value: object, *, query: str, doc: str, source: str, line: int | None) -> float:
    """The value of a typed column as a score; null is an error."""
    if value is None:
        raise file_error("score-null", source=source, line=line)
    if type(value).__name__ == "Decimal":
        value = float(str(value))
    return checked_score(value, query=query, doc=doc, source=source, line=line)


def score_of_rank(rank: int | None, *, source: str, line: int | None) -> float:
    """The score of a row in a table with ranks only: minus the rank."""
    if rank is None:
        raise row_error("rank-text", source=source, line=line)
    return -float(rank)


def rank_of_value(value: object) -> int | None:
    """The value as a rank if it is a whole number, also as float or text, else None."""
    if isinstance(value, str):
        whole, _, part = value.partition(".")
        return None if part.strip("0") else parse_rank(whole.encode(errors="replace"))
    if isinstance(value, np.integer | np.floating):
        value = value.item()
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool) or abs(value) >= 1 << 63:
        return None
    return value


def is_nan(value: object) -> bool:
    """Whether the value is a float NaN."""
    return isinstance(value, float | np.floating) and math.isnan(value)


def _decoded(value: bytes, column: str, source: str, line: int | None) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        raise file_error("encoding", source=source, line=line, encoding="UTF-8", reason=f"in a {column} id") from None


def json_type_name(value: object) -> str:
    """The JSON type of a value, for a message."""
    names = {dict: "an object", list: "a list", str: "text", bool: "true or false", type(None): "null"}
    return names.get(type(value), "a number")


@dataclass(frozen=True, slots=True)
class ParseOptions:
    """Options for parsing a file."""

    delimiter: str | None = None
    grade_map: GradeMap | None = None
    read_options: ReadOptions = field(default_factory=ReadOptions)
    on_conflict: OnConflict = "error"

    def __post_init__(self) -> None:
        checked_grade_map(self.grade_map)


def build_run(rows: Iterable[RunRow], *, name: str, source: str, read_options: ReadOptions, queries: Iterable[str] = ()) -> Run:
    """The run of the rows in input order; without rows it is an error.

    A duplicate is reported before an error further down, but not before a corrupt file.
    """
    kept: list[RunRow] = []
    try:
        for row in rows:
            if read_options.order == "rank" and row.rank is None:
                raise row_error("rank-text", source=source, line=row.line)
            kept.append(row)
    except DamagedFileError:
        raise
    except InputError:
        resolve_duplicates(Run.from_rows(kept, source=source), read_options)
        raise
    run = Run.from_rows(kept, name=name, source=source, queries=queries)
    if not run.queries:
        raise row_error("no-rows", source=source)
    return run


def build_qrels(rows: Iterable[Judgement], grades: GradeReader, on_conflict: OnConflict = "error") -> Qrels:
    """The qrels of the rows, whose grades the reader reads; without rows they are an error."""
    qrels = qrels_of_rows(rows, grades, on_conflict)
    if not qrels:
        raise row_error("no-rows", source=grades.source)
    return qrels


def run_without_duplicates(run: Run, read_options: ReadOptions) -> Run:
    """The run without duplicates, as `read_options` says."""
    if not _has_duplicates(run):
        return run
    groups, _ = resolve_duplicates(run, read_options)
    rows = [row for group in groups.values() for row in group]
    kept = Run.from_rows(rows, name=run.name, source=run.source, queries=run.queries)
    return kept.changed(tags=run.tags)


def _has_duplicates(run: Run) -> bool:
    ends = run.offsets.tolist()
    return any(len(set(run.docs[start:end])) < end - start for start, end in pairwise(ends))


def ranked_rows(run: Run) -> Iterator[RunRow]:
    """Every row, query by query, best first, with ranks from 1."""
    infinite = run.scores[~np.isfinite(run.scores)]
    if len(infinite):
        raise row_error("score-infinite", source=run.source, token=str(infinite[0]))
    for index, query in enumerate(run.queries):
        start, end = int(run.offsets[index]), int(run.offsets[index + 1])
        docs, scores = run.docs[start:end], run.scores[start:end].tolist()
        for rank, at in enumerate(best_first_order(docs, run.scores[start:end]).tolist(), start=1):
            yield RunRow(query, docs[at], scores[at], rank)


class ScoreReader(Protocol):
    """A function from a value to a score."""

    def __call__(self, value: object, /, *, query: str, doc: str, source: str, line: int | None) -> float: ...


def run_row(
    cells: Sequence[Any], columns: Columns, *, source: str, line: int | None, score_of: ScoreReader = score_of_cell
) -> RunRow:
    """The row of a run with these cells."""
    query = id_of_value(cells[columns.query], "query", source=source, line=line)
    doc = id_of_value(cells[columns.doc], "document", source=source, line=line)
    rank = None if columns.rank is None else rank_of_value(cells[columns.rank])
    tag = None if columns.tag is None else cells[columns.tag]
    if columns.scored:
        score = score_of(cells[columns.value], query=query, doc=doc, source=source, line=line)
    else:
        score = score_of_rank(rank, source=source, line=line)
    return RunRow(query, doc, score, rank, line, tag if isinstance(tag, str) else None)


def judgement(cells: Sequence[Any], columns: Columns, grades: GradeReader, *, line: int | None) -> Judgement:
    """The judgement with these cells."""
    query = id_of_value(cells[columns.query], "query", source=grades.source, line=line)
    doc = id_of_value(cells[columns.doc], "document", source=grades.source, line=line)
    grade = grades.of_value(cells[columns.value], query=query, doc=doc, line=line)
    label = judge_in(cells, columns)
    subtopic = "" if columns.subtopic is None else subtopic_of_value(cells[columns.subtopic], source=grades.source, line=line)
    return Judgement(query, doc, grade, line, label, subtopic)


def judge_in(cells: Sequence[Any], columns: Columns) -> str:
    """The label of the judge in these cells, an empty one for people; the column of iterations names machines only."""
    if columns.judge_label is not None:
        return judge_label(cells[columns.judge_label])
    return "" if columns.subtopic is None else label_of(str(cells[columns.subtopic]))


def subtopic_of_value(value: object, *, source: str, line: int | None) -> str:
    """The name of a subtopic; an empty one for a missing value, and for a text that says who judged."""
    if value is None or value == "" or is_nan(value):
        return ""
    return subtopic_of(id_of_value(value, "subtopic", source=source, line=line))


NumberedItems = Iterable[tuple[int | None, Any]]
_EXAMPLES: dict[Kind, str] = {
    "run": '{"query_id": "q1", "doc_id": "d1", "score": 12.5}',
    "qrels": '{"query_id": "q1", "doc_id": "d1", "rel": 1}',
}


def run_rows(items: NumberedItems, source: str, options: ParseOptions) -> Iterator[RunRow]:
    """The rows of a run, with the line of each."""
    for line, values, columns in _row_parts(items, "run", source, options):
        yield run_row(values, columns, source=source, line=line, score_of=score_of_json)


def read_judgements(items: NumberedItems, source: str, options: ParseOptions) -> Qrels:
    """The qrels of items, each with its line."""
    grades = GradeReader(source, options.grade_map)
    return build_qrels(judgements(items, grades, options), grades, options.on_conflict)


def judgements(items: NumberedItems, grades: GradeReader, options: ParseOptions) -> Iterator[Judgement]:
    """The judgements of items, with the line of each."""
    for line, values, columns in _row_parts(items, "qrels", grades.source, options):
        yield judgement(values, columns, grades, line=line)


def _row_parts(
    items: NumberedItems, kind: Kind, source: str, options: ParseOptions
) -> Iterator[tuple[int | None, list[Any], Columns]]:
    known_columns: dict[tuple[str, ...], Columns] = {}
    for line, item in items:
        if not isinstance(item, dict):
            raise file_error("json-shape", source=source, line=line, kind=json_type_name(item), expected=_EXAMPLES[kind])
        names = tuple(item)
        columns = known_columns.get(names)
        if columns is None:
            columns = known_columns[names] = find_columns(names, kind, source=source, line=line, order=options.read_options.order)
        yield line, list(item.values()), columns
