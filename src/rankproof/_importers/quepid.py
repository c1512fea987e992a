"""The exports of Quepid: ratings, detailed cases, snapshots and books, in CSV, text and JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from rankproof._data.qrels import Judgement
from rankproof._data.run import Run
from rankproof._data.text import pluralise
from rankproof._formats.columns import COLUMN_NAMES, normalised_name
from rankproof._formats.rows import rank_of_value
from rankproof._formats.source_table import SourceTable
from rankproof._importers.base import Imported, ImportOptions, ImportSource
from rankproof._importers.builder import DatasetBuilder
from rankproof._importers.json_parts import JsonPart, json_documents
from rankproof._io.file_errors import file_error
from rankproof.errors import InputError

_DOC_NAMES = ("docid", "doc_id")
_CASE_COLUMNS = ("query_text", "doc_id", "doc_position")
_CASE_FACTS = ("team_name", "case_name", "case_id", "snapshot_name", "snapshot_time", *_CASE_COLUMNS, "title", "rating")
_UNRATED = ("", "--", "null", "undefined")
_LTR = re.compile(r"(?P<rating>\S+)\s+qid:\S+\s+#\s+(?P<doc>\S+)\s+(?P<query>.*\S)\s*")
_TREC = re.compile(r"(?P<query_id>\S+)\s+0\s+(?P<doc>\S+)\s+(?P<rating>\S+)\s*")
_RATING = re.compile(r"\s*(?:-?[0-9]+(?:\.[0-9]+)?)?\s*")
_SAMPLED_ROWS = 50
_NO_JUDGES = ("clicks", "impressions", "views", "purchases", "orders", "count", "frequency", "ctr", "price", "year")
_EXPORTS = "export Basic, Detailed, Snapshot, LTR or RRE from the case, or the judgements of a book"


@dataclass(frozen=True, slots=True)
class _Row:
    """A query, one of its documents, and what an export says of the pair; each judge has a rating."""

    query: object
    doc: object = None
    ratings: tuple[object, ...] = ()
    title: str = ""
    text: str = ""
    position: int | None = None
    system: str = ""
    query_id: object = None
    information_need: str = ""
    line: int | None = None

    def query_fields(self) -> dict[str, Any]:
        """What the export says of the query."""
        return {"information_need": self.information_need.strip()} if self.information_need.strip() else {}


class QuepidImporter:
    """One or several exports: ratings are judgements, positions are the ranking of a system.

    The ratings of several judges of a book are judgements of one pair; where they differ, `--on-conflict` chooses.
    """

    settings: Mapping[str, str] = {}

    def detect(self, source: ImportSource) -> bool:
        """Whether every file is an export, by its header, first line or keys."""
        return bool(source.plain_files) and all(_rows_of(path, source) is not None for path in source.plain_files)

    def read(self, source: ImportSource, options: ImportOptions) -> Imported:
        """The judgements and rankings of all files."""
        builder = DatasetBuilder(source, options)
        rankings: dict[str, dict[str, dict[str, int]]] = {}
        # The field of a query is kept from the file that names the query first.
        paths = sorted(source.plain_files, key=lambda path: not _has_information_needs(path, source))
        rows = (row for path in paths for row in _rows_of(path, source, named=True) or _no_export(path))
        judges = [name for path in paths for name in _judges(path, source)]
        columns = {"query": "query", "document id": "docid", "judges": ", ".join(judges)} if judges else {}
        imported = builder.imported(_judgements(rows, builder, rankings), "quepid", columns)
        runs = {system: _run(system, ranking) for system, ranking in rankings.items()}
        return replace(imported, runs=runs)


def _no_export(path: str) -> Iterator[_Row]:
    raise InputError("not an export of Quepid", fix=_EXPORTS, source=path)


def _judgements(rows: Iterable[_Row], builder: DatasetBuilder, rankings: dict[str, Any]) -> Iterator[Judgement | None]:
    judged: set[str] = set()
    for row in rows:
        builder.counts.read("rows")
        query = builder.query(row.query_id, row.query, row.query_fields, line=row.line)
        if query is None:
            builder.counts.drop("rows", "without a query", line=row.line)
            continue
        doc = builder.document(row.doc, row.title, row.text, line=row.line) if _plain(row.doc) else None
        if doc is not None and row.position is not None:
            _rank(rankings.setdefault(row.system, {}).setdefault(query, {}), doc, row, builder)
        for rating in row.ratings if doc is not None else ():
            judged |= {query} if _plain(rating) else set()
            yield builder.judgement(query, str(doc), _plain(rating), line=row.line)
    if unrated := len(builder.queries) - len(judged):
        builder.notes.append(f"{pluralise(unrated, 'query', 'queries')} without a rating")
    if not builder.documents:
        builder.notes.append("no documents: the export has ids only; a Detailed export has titles and fields")


def _plain(value: object) -> str:
    """The cell as text; empty where Quepid writes that there is no rating."""
    text = "" if value is None else str(value).strip()
    return "" if text in _UNRATED else text


def _rank(positions: dict[str, int], doc: str, row: _Row, builder: DatasetBuilder) -> None:
    """Takes note of the position of a document, the better one of two."""
    part, position = f"ranked documents of {row.system}", row.position or 0
    builder.counts.read(part)
    if doc in positions:
        builder.counts.drop(part, "that the ranking has twice", line=row.line)
    positions[doc] = min(position, positions.get(doc, position))


def _run(system: str, positions_by_query: Mapping[str, dict[str, int]]) -> Run:
    rankings = {query: sorted(positions, key=positions.__getitem__) for query, positions in positions_by_query.items()}
    return Run(rankings, name=system, source=system)


def _rows_of(path: str, source: ImportSource, *, named: bool = False) -> Iterator[_Row] | None:
    """The rows of a file, None if it is no export; TREC text is one only where the importer is named."""
    kind = source.format_of(path)
    if kind == "json":
        return _rows_of_json(json_documents(replace(source, paths=(path,)))[path])
    if kind != "text":
        return None
    for pattern in (_LTR, _TREC) if named else (_LTR,):
        if pattern.fullmatch(_first_line(path, source)):
            return _rows_of_lines(path, source, pattern)
    table = source.table_of(path, ",")
    names = [normalised_name(name) for name in table.names]
    for fits, read in _TABLES:
        if fits(names, table):
            return read(table, source.system_names[path])
    return None


def _first_line(path: str, source: ImportSource) -> str:
    return next((text.strip() for _, text in source.lines_of(path) if text.strip()), "")


def _rows_of_lines(path: str, source: ImportSource, pattern: re.Pattern[str]) -> Iterator[_Row]:
    """The rows of LTR text, which has the query, and of TREC text, which has only its id."""
    for line, text in source.lines_of(path):
        if not text.strip():
            continue
        match = pattern.fullmatch(text.strip())
        if match is None:
            raise InputError("not a line of this export", fix="export the case again", source=path, line=line)
        parts = match.groupdict()
        query = parts.get("query", parts.get("query_id"))
        yield _Row(query, parts["doc"], (parts["rating"],), query_id=parts.get("query_id"), line=line)


def _cells(table: SourceTable, *, from_browser: bool) -> Iterator[tuple[int, list[str]]]:
    """The cells of each row, filled up to the header's; the browser doubles quotes also in cells without quotes around them."""
    width = len(table.names)
    for line, cells in table.cells():
        if len(cells) > width:
            raise file_error("columns", source=table.source, line=line, found=len(cells), expected=width)
        plain = [cell.replace('""', '"') for cell in cells] if from_browser else list(cells)
        yield line, plain + [""] * (width - len(cells))


def _is_ratings(names: list[str], table: SourceTable) -> bool:
    return len(names) == 3 and names[0] == "query" and names[1] in _DOC_NAMES and names[2] == "rating"


def _rows_of_ratings(table: SourceTable, system: str) -> Iterator[_Row]:
    """A query without ratings is a row of one cell."""
    for line, (query, doc, rating) in _cells(table, from_browser=normalised_name(table.names[1]) == "doc_id"):
        yield _Row(query, doc, (rating,), line=line)


def _is_book(names: list[str], table: SourceTable) -> bool:
    """Whether a column for each judge follows query and docid: names of people, and numbers in the first rows."""
    known = {"title", "text", "description", *_NO_JUDGES, *(name for role in COLUMN_NAMES.values() for name in role)}
    if names[:2] != ["query", "docid"] or len(names) < 3 or known.intersection(names[2:]):
        return False
    return all(_RATING.fullmatch(cell) for _, cells in islice(table.cells(), _SAMPLED_ROWS) for cell in cells[2:])


def _judges(path: str, source: ImportSource) -> tuple[str, ...]:
    """The columns of a book that are read as judges."""
    if source.format_of(path) != "text":
        return ()
    table = source.table_of(path, ",")
    return table.names[2:] if _is_book([normalised_name(name) for name in table.names], table) else ()


def _rows_of_book(table: SourceTable, system: str) -> Iterator[_Row]:
    for line, (query, doc, *ratings) in _cells(table, from_browser=False):
        filled = tuple(rating for rating in ratings if _plain(rating))
        yield _Row(query, doc, filled or ("",), line=line)


def _is_case(names: list[str], table: SourceTable) -> bool:
    return {*_CASE_COLUMNS} <= {*names}


def _rows_of_case(table: SourceTable, system: str) -> Iterator[_Row]:
    """The rows of a detailed export or of a snapshot, whose documents are in the order of the ranking."""
    names = [normalised_name(name) for name in table.names]
    others = [place for place, name in enumerate(names) if name not in _CASE_FACTS]
    for line, cells in _cells(table, from_browser=True):
        row = dict(zip(names, cells, strict=True))
        position = rank_of_value(row["doc_position"].strip())
        if position is None and row["doc_id"].strip():
            raise InputError("Doc Position is not a whole number", fix="export the case again", source=table.source, line=line)
        ratings = (row["rating"],) if "rating" in row else ()
        text = "\n".join(cells[place] for place in others if cells[place].strip())
        named = row.get("snapshot_name", "").strip() or system
        yield _Row(row["query_text"], row["doc_id"], ratings, row.get("title", ""), text, position, named, line=line)


def _has_information_needs(path: str, source: ImportSource) -> bool:
    if source.format_of(path) != "text":
        return False
    table = source.table_of(path, ",")
    return _is_information_need([normalised_name(name) for name in table.names], table)


def _is_information_need(names: list[str], table: SourceTable) -> bool:
    return names == ["query", "information_need"]


def _rows_of_information_need(table: SourceTable, system: str) -> Iterator[_Row]:
    for line, (query, need) in _cells(table, from_browser=False):
        yield _Row(query, information_need=need, line=line)


def _is_general(names: list[str], table: SourceTable) -> bool:
    return {"query_text", "score", "date_last_scored"} <= {*names}


def _rows_of_general(table: SourceTable, system: str) -> Iterator[_Row]:
    raise InputError("the General export has no documents and no ratings", fix=_EXPORTS, source=table.source, line=1)


_Fits = Callable[[list[str], SourceTable], bool]
_TABLES: tuple[tuple[_Fits, Callable[[SourceTable, str], Iterator[_Row]]], ...] = (
    (_is_ratings, _rows_of_ratings),
    (_is_case, _rows_of_case),
    (_is_information_need, _rows_of_information_need),
    (_is_general, _rows_of_general),
    (_is_book, _rows_of_book),
)


def _rows_of_json(document: JsonPart) -> Iterator[_Row] | None:
    """The rows of a book, or of a case as Quepid or the Rated Ranking Evaluator writes it; None for any other file."""
    if document.has("query_doc_pairs"):
        return _rows_of_pairs(document)
    queries = document.value.get("queries") if isinstance(document.value, dict) else None
    first = queries[0] if isinstance(queries, list) and queries and isinstance(queries[0], dict) else {}
    is_quepid = "ratings" in first and ("query" in first or "query_text" in first)
    is_rre = "placeholders" in first and "relevant_documents" in first
    return _rows_of_queries(document) if is_quepid or is_rre else None


def _rows_of_pairs(document: JsonPart) -> Iterator[_Row]:
    for pair in document["query_doc_pairs"].items():
        ratings = tuple(item["rating"].value for item in pair["judgements"].items()) if pair["judgements"].value else ()
        fields = pair["document_fields"].value
        text = "\n".join(str(value) for value in _document_fields(fields).values() if value)
        yield _Row(pair["query_text"].text(), pair["doc_id"].text(), ratings or ("",), text=text)


def _document_fields(value: Any) -> dict[str, Any]:
    """The fields of a document, which a book keeps as JSON in a text."""
    try:
        fields = json.loads(value) if isinstance(value, str) else value
    except ValueError:
        return {"text": value}
    return fields if isinstance(fields, dict) else {}


def _rows_of_queries(document: JsonPart) -> Iterator[_Row]:
    for query in document["queries"].items():
        text = _query_text(query).text()
        pairs = list(_rated_documents(query))
        yield from (_Row(text, doc, (rating,)) for doc, rating in pairs)
        if not pairs:
            yield _Row(text)


def _query_text(query: JsonPart) -> JsonPart:
    if query.has("placeholders"):
        return query["placeholders"]["$query"]
    return query["query_text"] if query.has("query_text") else query["query"]


def _rated_documents(query: JsonPart) -> Iterator[tuple[str, object]]:
    if query.has("relevant_documents"):
        for key, rating in query["relevant_documents"].entries():
            # RRE writes {document: {gain}}, and also {gain: [documents]}.
            yield from (
                ((doc.text(), key) for doc in rating.items())
                if isinstance(rating.value, list)
                else ((key, rating["gain"].value),)
            )
    elif isinstance(query["ratings"].value, dict):
        for doc, rating in query["ratings"].entries():
            yield doc, rating.value
    elif query["ratings"].value is not None:
        for item in query["ratings"].items():
            yield item["doc_id"].text(), item["rating"].value


QUEPID = QuepidImporter()
