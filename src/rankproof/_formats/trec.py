"""Formats of trec_eval, and rows that C reads"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from rankproof._data.grades import GradeReader
from rankproof._data.qrels import Judgement, Qrels, are_named_subtopics, label_in_second, subtopic_of
from rankproof._data.row_errors import MAX_LINE_BYTES, row_error
from rankproof._data.run import Run, RunRow
from rankproof._data.validation import checked_id
from rankproof._formats import native
from rankproof._formats.columns import Kind
from rankproof._formats.rows import _DECIMAL, ParseOptions, build_qrels, build_run, parse_rank, parse_score, ranked_rows
from rankproof._io.file_errors import file_error
from rankproof._io.open import decode_line, raw_lines
from rankproof._io.streams import ByteSource
from rankproof.errors import InputError


def numbered_lines(source: ByteSource) -> Iterator[tuple[int, bytes]]:
    """Every line with a row, and its number from 1."""
    for number, line in raw_lines(source):
        row = line.rstrip(b"\r\n")
        if row.startswith(b"#") or not row.strip():
            continue
        if not row.isascii():
            decode_line(row, number, source.name)
        yield number, row


def run_columns_error(columns: int, *, source: str, line: int) -> InputError:
    """The error for a line of a run without six columns."""
    code = "run-is-qrels" if columns == 4 and line == 1 else "run-columns"
    return row_error(code, source=source, line=line, found=columns)


def run_rows(source: ByteSource) -> Iterator[RunRow]:
    """The rows of a TREC run.

    The tag is the rest of the line. With more than six columns, a rank that is not a whole number or a tag that begins with a
    number is an error: an id then contains white space, which shifts the columns.
    """
    for line, text in numbered_lines(source):
        columns = text.split()
        if len(columns) < 6 or (len(columns) > 6 and (parse_rank(columns[3]) is None or _DECIMAL.fullmatch(columns[5]))):
            raise run_columns_error(len(columns), source=source.name, line=line)
        query, _, doc, rank, score, tag = text.split(maxsplit=5)
        _check_nul(text, query, doc, source.name, line)
        value = parse_score(score, source=source.name, line=line)
        yield RunRow(query.decode(), doc.decode(), value, parse_rank(rank), line, tag.rstrip().decode())


def qrels_columns_error(columns: int, *, source: str, line: int) -> InputError:
    """The error for a line of qrels without four columns."""
    code = {3: "qrels-three", 6: "qrels-is-run"}.get(columns, "qrels-columns")
    return row_error(code, source=source, line=line, found=columns)


def read_marked_qrels(source: ByteSource, options: ParseOptions) -> Qrels:
    """The judgements of TREC qrels whose second column has more than one value."""
    return native.read_subtopics(source, options) or read_plain_qrels(source, options)


def read_plain_qrels(source: ByteSource, options: ParseOptions) -> Qrels:
    """The judgements of TREC qrels, read in Python."""
    grades = GradeReader(source.name, options.grade_map)
    return build_qrels(qrels_rows(source, grades), grades, options.on_conflict)


def qrels_rows(source: ByteSource, grades: GradeReader) -> Iterator[Judgement]:
    """The judgements of TREC qrels; the second column is a subtopic, or says who judged."""
    for line, text in numbered_lines(source):
        columns = text.split()
        if len(columns) != 4:
            raise qrels_columns_error(len(columns), source=source.name, line=line)
        query, second, doc, grade = columns
        _check_nul(text, query, doc, source.name, line)
        value = grades.of_text(grade.decode(), line=line)
        name = second.decode()
        yield Judgement(query.decode(), doc.decode(), value, line, label_in_second(name), subtopic_of(name))


def _check_nul(text: bytes, query: bytes, doc: bytes, source: str, line: int) -> None:
    """Refuses a NUL byte in an id of the row."""
    if b"\0" in text:
        for column, id in (("query", query), ("document", doc)):
            checked_id(id.decode(), column, source=source, line=line)


_SPACE = frozenset(" \t\n\r\x0b\x0c")


class TrecFormat:
    """Columns separated by white space: four in qrels, six in a run."""

    keeps_judge_labels, keeps_empty_queries = True, False

    def read_qrels(self, source: ByteSource, options: ParseOptions) -> Qrels:
        qrels = native.read_qrels(source, self.native_reader("qrels"), options)
        return qrels or read_marked_qrels(source, options)

    def read_run(self, source: ByteSource, name: str, options: ParseOptions) -> Run:
        run = native.read_run(source, name, self.native_reader("run"), options)
        return run or build_run(run_rows(source), name=name, source=source.name, read_options=options.read_options)

    def native_reader(self, kind: Kind) -> native.ReadTable:
        """The reader in C."""
        return lambda align, stream: align.read_table(stream, kind == "run", native.BLOCK_BYTES, native.WIDEST_SCAN)

    def kind(self, source: ByteSource, options: ParseOptions) -> Kind | None:
        columns = len(next(numbered_lines(source), (0, b""))[1].split())
        kinds: dict[int, Kind] = {4: "qrels", 6: "run"}
        return kinds.get(min(columns, 6))

    def run_blocks(self, run: Run) -> Iterator[bytes]:
        tag = _tag(run)
        for row in ranked_rows(run):
            _check_writable(row.query, row.doc)
            yield _line(row.query, row.doc, f"{row.query} Q0 {row.doc} {row.rank} {row.score!r} {tag}\n")

    def qrels_blocks(self, qrels: Qrels) -> Iterator[bytes]:
        if qrels.subtopics and not are_named_subtopics(qrels):
            raise file_error("unwritable-judge")
        for row in qrels.rows():
            _check_writable(row.query, row.doc, row.subtopic)
            yield _line(row.query, row.doc, f"{row.query} {row.subtopic or row.judge_label or 0} {row.doc} {row.grade}\n")


def _tag(run: Run) -> str:
    """The run's only tag, or else its name as one word."""
    if len(run.tags) == 1:
        return run.tags[0].replace("\r", " ").replace("\n", " ").strip(" \t\x0b\x0c") or "run"
    return "_".join(run.name.split()) or "run"


def _check_writable(query: str, doc: str, subtopic: str = "") -> None:
    for column, text in (("query", query), ("document", doc), ("subtopic", subtopic)):
        if not _SPACE.isdisjoint(text):
            raise file_error("unwritable-id", column=column, token=text, reason="contains white space")
    if query.startswith(("#", "\ufeff")):
        raise file_error("unwritable-id", column="query", token=query, reason="begins with # or a byte-order mark")


def _line(query: str, doc: str, text: str) -> bytes:
    line = text.encode()
    if len(line) > MAX_LINE_BYTES:
        raise file_error("unwritable-line", query=query, doc=doc)
    return line


TREC = TrecFormat()


PREFERENCE_FORMATS = {"prefs": "query group subgroup doc level", "qrels_prefs": "query group doc level"}
"""The columns of each format."""


class PreferenceRow(NamedTuple):
    """One row of preferences: within a subgroup, a document of a higher level is preferred to one of a lower level."""

    query: str
    group: str
    subgroup: str
    doc: str
    level: float
    line: int


def preference_rows(source: ByteSource, form: str) -> Iterator[PreferenceRow]:
    """The rows of the file; a row without a column for the subgroup is in subgroup 0."""
    names = PREFERENCE_FORMATS[form]
    count = len(names.split())
    for line, text in numbered_lines(source):
        parts = text.split()
        if len(parts) != count:
            raise row_error("preference-columns", source=source.name, line=line, found=len(parts), count=count, names=names)
        query, doc = parts[0].decode(), parts[-2].decode()
        if b"\0" in text:
            for column, id in (("query", query), ("document", doc)):
                checked_id(id, column, source=source.name, line=line)
        subgroup = parts[2].decode() if count == 5 else "0"
        yield PreferenceRow(query, parts[1].decode(), subgroup, doc, _level(parts[-1], source.name, line), line)


def _level(token: bytes, source: str, line: int) -> float:
    level = float(token) if _DECIMAL.fullmatch(token) else -1.0
    if not 0 <= level < float("inf"):
        raise row_error("level", source=source, line=line, token=token.decode())
    return level
