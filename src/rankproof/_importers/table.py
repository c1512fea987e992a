"""A flat table of queries, documents and labels, or several tables that share ids."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from shlex import quote
from typing import Any

from rankproof._data.corpus import Corpus
from rankproof._data.dataset import WEIGHT_FIELD, checked_weight
from rankproof._data.grades import GradeReader
from rankproof._data.qrels import Judgement, judge_label
from rankproof._formats.columns import COLUMN_NAMES, TEXT_ID_NAMES, column_of_role, normalised_name
from rankproof._formats.registry import format_of_suffix
from rankproof._formats.source_table import SourceTable
from rankproof._importers.base import Imported, ImportOptions, ImportSource
from rankproof._importers.builder import DatasetBuilder, field_names, ids_by_cells, number_in, plain_fields, plain_value
from rankproof._importers.folder import tables_of_split
from rankproof.errors import InputError, for_message

NAMES: Mapping[str, tuple[str, ...]] = {
    "query": (
        *("query", "query_text", "search_term", "search_query", "search_terms", "search_text", "user_query", "querytext"),
        *("search", "searchterm", "searchquery", "keyword", "keywords", "question", "q", "topic"),
    ),
    "query id": (*COLUMN_NAMES["query"][:6], "question_id"),
    "document id": (*COLUMN_NAMES["document"][:15], "product_uid", "sku", "asin", "article_id", "url"),
    "title": ("title", "product_title", "product_name", "item_title", "item_name", "doc_title", "page_title", "name", "headline"),
    "text": (
        *("text", "description", "product_description", "item_description", "body", "content", "contents", "passage_text"),
        *("document_text", "doc_text", "snippet", "abstract", "passage", "document", "doc", "chunk"),
    ),
    "grade": (*COLUMN_NAMES["grade"][:-1], "median_relevance", "rating", "relevance_score", "score"),
    "weight": (WEIGHT_FIELD,),
}
"""The names of columns by role, in lower case with _ for other marks; `weight` counts only in a table without documents."""
OPTIONS = {
    "query": "--query-column",
    "query id": "--query-id-column",
    "document id": "--doc-id-column",
    "title": "--title-column",
    "text": "--text-column",
    "grade": "--grade-column",
    "weight": "--weight-column",
}
_LIST_NOTE = "a list of queries; next: add a table of documents, or run an http, sql, python or run system"
_LOG_FIX = "if this is a RAG log: --set question=COLUMN,contexts=COLUMN,answer=COLUMN"
_MAY_BE_IDS = ("passage", "document", "doc")
_SAMPLED_ROWS = 20
_FRACTION = re.compile(r"[+-]?[0-9]*\.[0-9]*[1-9][0-9]*(e[+-]?[0-9]+)?", re.IGNORECASE)
_LAST_CHOICES = {"grade": ("score",), "document id": ("url",), "query": ("topic", "q")}
"""Names that count only where no other name of the role is there."""


@dataclass(frozen=True, slots=True)
class TableRoles:
    """The columns of a table by role; `query_fields` and `fields` have others, each with the name of its field."""

    query: str | None
    query_id: str | None
    doc_id: str | None
    title: str | None
    text: tuple[str, ...]
    grade: str | None
    weight: str | None = None
    judge: str | None = None
    query_fields: Mapping[str, str] = field(default_factory=dict)
    fields: Mapping[str, str] = field(default_factory=dict)
    unused: tuple[str, ...] = ()

    @property
    def has_query(self) -> bool:
        """Whether rows name a query."""
        return self.query is not None or self.query_id is not None

    @property
    def has_document(self) -> bool:
        """Whether rows name a document."""
        return self.doc_id is not None or self.has_text

    @property
    def has_text(self) -> bool:
        """Whether rows have the content of a document."""
        return self.title is not None or bool(self.text)

    @property
    def place(self) -> tuple[bool, bool]:
        """Where the table comes in reading: queries with ids before those without, and tables of one kind before pairs."""
        return self.has_query and self.query_id is None, self.has_query and self.has_document

    def columns_by_role(self) -> dict[str, str]:
        """The columns by role, for a report."""
        columns = {
            "query": self.query,
            "query id": self.query_id,
            "document id": self.doc_id,
            "title": self.title,
            "text": " + ".join(self.text),
            "grade": self.grade,
            "weight": self.weight,
            "judge": self.judge,
            "query fields": ", ".join(self.query_fields),
            "document fields": ", ".join(self.fields),
        }
        return {role: name for role, name in columns.items() if name}

    def fields_of_query(self, row: Mapping[str, Any], source: str, line: int) -> dict[str, Any]:
        """The fields of the row's query; a weight that is no number is an error."""
        fields = plain_fields(row, self.query_fields)
        value = plain_value(row.get(self.weight)) if self.weight else None
        if value is None or value == "":
            return fields
        query = str(row.get(self.query_id or self.query or ""))
        return {**fields, WEIGHT_FIELD: checked_weight(number_in(value), query, source=source, line=line)}


class TableImporter:
    """A flat table, or tables of queries, documents and judgements."""

    has_splits = True
    settings: Mapping[str, str] = {"query-fields": "columns that describe the query and not the document, separated by commas"}

    def detect(self, source: ImportSource) -> bool:
        return source.table is not None

    def read(self, source: ImportSource, options: ImportOptions) -> Imported:
        tables, notes = tables_of_split(source, options.split)
        if not tables:
            raise InputError("no table", fix="specify CSV, TSV, JSONL or Parquet files", source=source.name)
        known = [name for table in tables for name in table.names]
        if unknown := [name for name in _query_fields(options) if name not in known]:
            what = f"no column is called {for_message(unknown[0])}; columns: {_name_list(known)}"
            raise InputError(what, fix="name one of them with --set query-fields=COLUMN", source=source.name, line=1)
        _check_columns(tables, options)
        roles = [find_roles(table, options) for table in tables]
        _check_roles(tables, roles)
        if options.grade_map and not any(table_roles.grade for table_roles in roles):
            what = f"--grade-map is given, but no column is recognised as the grade; columns: {_name_list(known)}"
            raise InputError(what, fix=f"name it: {OPTIONS['grade']} COLUMN", source=source.name, line=1)
        for table, table_roles in zip(tables, roles, strict=True):
            _check_grade(table, table_roles, options)
        builder = DatasetBuilder(source, options)
        builder.joins_texts = len({table_roles.query_id is None for table_roles in roles if table_roles.query is not None}) > 1
        builder.notes += notes
        graded = [table for table, table_roles in zip(tables, roles, strict=True) if table_roles.grade]
        if len(graded) == 1:
            builder.grades = GradeReader(graded[0].source, options.grade_map)
        if others := [name for name in source.files if len(source.files) > 1 and name not in source.tables]:
            builder.note_unread_files(others, ", as they are no tables")
        builder.notes.extend([_LIST_NOTE] if source.is_query_list else _missing_columns(known, roles))
        if unused := dict.fromkeys(name for table_roles in roles for name in table_roles.unused):
            builder.notes.append(
                f"columns that are not used: {_name_list(unused)}; --set query-fields=COLUMN keeps one that describes the query"
            )
        asked = [table.source for table, table_roles in zip(tables, roles, strict=True) if table_roles.query]
        builder.query_source = asked[0] if len(asked) == 1 else source.name
        columns: dict[str, dict[str, None]] = {}
        for role, name in (pair for table_roles in roles for pair in table_roles.columns_by_role().items()):
            columns.setdefault(role, {})[name] = None
        return builder.imported(
            _judgements(tables, roles, builder), "table", {role: _joined_names(role, names) for role, names in columns.items()}
        )


def read_table_documents(source: ImportSource) -> Corpus:
    """The documents of a table, which needs no queries."""
    assert source.table is not None, "the source is a table"
    roles = find_roles(source.table, ImportOptions())
    if not roles.has_text:
        what = f"no column for the text of the document; columns: {_name_list(source.table.names)}"
        raise InputError(what, fix="rename it to text, or import the table first", source=source.name, line=1)
    builder = DatasetBuilder(source, ImportOptions())
    reader = _RowReader(roles, builder)
    for line, row in source.table.rows():
        reader.document(row, line)
    return builder.documents.corpus(source.name)


def find_roles(table: SourceTable, options: ImportOptions) -> TableRoles:
    """The roles of the columns: those named by the options, the others by their names."""
    stated = _stated_columns(table, options)
    columns = {role: stated.get(role) or _guess(role, table, stated) for role in NAMES}
    if not columns["query"] and not columns["query id"]:
        columns["grade"] = stated.get("grade", ())
    columns = {**columns, **_id_of_one_kind(table, columns)}
    single = {role: names[0] if names else None for role, names in columns.items()}
    has_text = bool(single["title"] or columns["text"])
    has_document = has_text or single["document id"] is not None
    if has_document or not (single["query"] or single["query id"]):
        single["weight"] = next(iter(stated.get("weight", ())), None)
    judge_at = column_of_role("judge", table.names) if single["grade"] else None
    single["judge"] = None if judge_at is None else table.names[judge_at]
    taken = {*columns["text"], *single.values()}
    other = [name for name in table.names if name not in taken]
    listed = _query_fields(options)
    of_query = [name for name in other if not has_document or name in listed or normalised_name(name).startswith("query_")]
    rest = [name for name in other if name not in of_query]
    return TableRoles(
        single["query"],
        single["query id"],
        single["document id"],
        single["title"],
        columns["text"],
        single["grade"],
        single["weight"],
        single["judge"],
        field_names(of_query, (WEIGHT_FIELD,) if single["weight"] else ()),
        field_names(rest if has_text else ()),
        () if has_text else tuple(rest),
    )


def _query_fields(options: ImportOptions) -> list[str]:
    return [name.strip() for name in options.settings.get("query-fields", "").split(",") if name.strip()]


def _stated_columns(table: SourceTable, options: ImportOptions) -> dict[str, tuple[str, ...]]:
    """The columns of the table that the options name."""
    named = {role: tuple(name for name in names if name in table.names) for role, names in _columns_of_options(options).items()}
    return {role: names for role, names in named.items() if names}


def _columns_of_options(options: ImportOptions) -> dict[str, tuple[str, ...]]:
    """The columns that the options name, by role."""
    named = {
        "query": options.query_column,
        "query id": options.query_id_column,
        "document id": options.doc_id_column,
        "title": options.title_column,
        "grade": options.grade_column,
        "weight": options.weight_column,
    }
    stated: dict[str, tuple[str, ...]] = {role: (name,) for role, name in named.items() if name is not None}
    return {**stated, "text": options.text_column}


def _check_columns(tables: Sequence[SourceTable], options: ImportOptions) -> None:
    """Refuses the name of a column that no table has."""
    known = list(dict.fromkeys(name for table in tables for name in table.names))
    for role, names in _columns_of_options(options).items():
        if unknown := [name for name in names if name not in known]:
            what = f"no column is called {for_message(unknown[0])}; columns: {_name_list(known)}"
            raise InputError(what, fix=f"name one of them with {OPTIONS[role]}", source=tables[0].source, line=1)


def _guess(role: str, table: SourceTable, stated: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    """The only column whose name tells the role; several are an error."""
    taken = {name for names in stated.values() for name in names}
    free = {name: normalised_name(name) for name in table.names if name not in taken}
    matching = [name for name, plain in free.items() if plain in NAMES[role]]
    if role == "grade" and {*free.values()}.intersection(COLUMN_NAMES["rank"]):
        matching = [name for name in matching if free[name] not in COLUMN_NAMES["score"]]
    last = _LAST_CHOICES.get(role, ())
    sure = [name for name in matching if free[name] not in last] or matching
    if role == "text":
        sure = [name for name in sure if free[name] not in _MAY_BE_IDS or _has_spaces(table, name)]
    if len(sure) > 1:
        what = f"the {role} column may be {' or '.join(map(for_message, sure))}; columns: {_name_list(table.names)}"
        both = f", or several: {' '.join(f'{OPTIONS[role]} {quote(name)}' for name in sure)}" if role == "text" else ""
        raise InputError(what, fix=f"name it: {OPTIONS[role]} {quote(sure[0])}{both}", source=table.source, line=1)
    return tuple(sure)


def _id_of_one_kind(table: SourceTable, columns: Mapping[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
    """Further columns of ids: `id` in a table of only queries or only documents, and one such as `doc` that is not a text."""
    by_name = {normalised_name(name): name for name in table.names}
    taken = {name for names in columns.values() for name in names}
    ids = {plain: name for plain, name in by_name.items() if name not in taken}
    changed: dict[str, tuple[str, ...]] = {}
    if not columns["document id"]:
        named = next((ids[plain] for plain in _MAY_BE_IDS if plain in ids), None)
        changed |= {"document id": (named,)} if named else {}
    has_query = bool(columns["query"] or columns["query id"])
    has_document = bool(columns["document id"] or columns["title"] or columns["text"] or changed)
    for role, kind, fits in (("query id", "query", not has_document), ("document id", "document", not has_query)):
        plain = next((plain for plain in TEXT_ID_NAMES[kind][:2] if plain in ids), None)
        if fits and plain is not None and not columns[role]:
            changed[role] = (ids[plain],)
    return changed


def _has_spaces(table: SourceTable, name: str) -> bool:
    """Whether a cell of the first rows is more than one word."""
    return any(len(str(row.get(name) or "").split()) > 1 for _, row in islice(table.rows(), _SAMPLED_ROWS))


def _check_roles(tables: Sequence[SourceTable], roles: Sequence[TableRoles]) -> None:
    """Refuses tables without queries, a table of neither, and grades without documents; queries alone are a dataset."""
    first = tables[0]
    columns = _name_list(name for table in tables for name in table.names)
    for table, table_roles in zip(tables, roles, strict=True):
        if len(tables) > 1 and not table_roles.has_query and not table_roles.has_document:
            what = f"no column for a query or a document; columns: {_name_list(table.names)}"
            log = f"; {_LOG_FIX}" if format_of_suffix(table.source) == "jsonl" else ""
            fix = f"leave the file out, or name a column, as in --doc-id-column COLUMN{log}"
            raise InputError(what, fix=fix, source=table.source, line=1)
    if not any(role.query is not None for role in roles):
        what = f"no column for the text of the query; columns: {columns}"
        is_corpus = any(role.has_text for role in roles)
        other = ", or add a table of queries" if is_corpus else f"; {_LOG_FIX}"
        raise InputError(what, fix=f"name it: --query-column COLUMN{other}", source=first.source, line=1)
    if not any(role.has_document for role in roles) and any(role.grade for role in roles):
        what = f"no column for the document; columns: {columns}"
        raise InputError(
            what, fix="name its title or text: --title-column COLUMN, --text-column COLUMN", source=first.source, line=1
        )


def _missing_columns(known: Sequence[str], roles: Sequence[TableRoles]) -> Iterator[str]:
    """Says that there are no grades or no texts of documents, and how to name their columns."""
    if not any(role.grade for role in roles):
        yield f"no judgements: no column for the grade among {_name_list(known)}; name it: {OPTIONS['grade']} COLUMN"
    if not any(role.has_text for role in roles):
        yield f"no documents: no column for a title or text among {_name_list(known)}; name it: {OPTIONS['text']} COLUMN"


def _check_grade(table: SourceTable, roles: TableRoles, options: ImportOptions) -> None:
    """Refuses to guess whether fractions in a column such as `score` are grades or the scores of a system."""
    name = roles.grade
    if name is None or options.grade_column is not None or normalised_name(name) not in COLUMN_NAMES["score"]:
        return
    cells = (str(row.get(name)) for _, row in islice(table.rows(), _SAMPLED_ROWS))
    if fraction := next((cell for cell in cells if _FRACTION.fullmatch(cell.strip())), None):
        what = f"{for_message(name)} may hold grades or the scores of a system, such as {fraction.strip()}"
        fix = f"if they are grades, say so: --grade-column {quote(name)}; if not, remove the column"
        raise InputError(what, fix=fix, source=table.source, line=1)


def _judgements(
    tables: Sequence[SourceTable], roles: Sequence[TableRoles], builder: DatasetBuilder
) -> Iterator[Judgement | None]:
    for table, table_roles in sorted(zip(tables, roles, strict=True), key=lambda pair: pair[1].place):
        builder.place = table.source
        part = "rows" if len(tables) == 1 else f"rows of {os.path.basename(table.source)}"
        reader = _RowReader(table_roles, builder, part)
        for line, row in table.rows():
            yield reader.judgement(row, line)
    untyped = [role for table, role in zip(tables, roles, strict=True) if table.untyped]
    builder.parse_query_fields({name for table_roles in untyped for name in table_roles.query_fields.values()})


class _RowReader:
    """Adds the queries, documents and judgements of the rows of one table; `part` is what its rows are called in the counts."""

    def __init__(self, roles: TableRoles, builder: DatasetBuilder, part: str = "rows") -> None:
        self._roles, self._builder, self._part = roles, builder, part
        self._asked: set[str] = set()
        query_cells = (roles.query_id, roles.query, roles.weight, *roles.query_fields)
        document_cells = (roles.doc_id, roles.title, *roles.text, *roles.fields)
        self._query_ids, self._document_ids = (
            ids_by_cells(builder, column, [name for name in names if name is not None])
            for column, names in (("query", query_cells), ("document", document_cells))
        )

    def judgement(self, row: Mapping[Any, Any], line: int) -> Judgement | None:
        """Adds the query and the document of the row; its judgement if it has one."""
        builder, roles = self._builder, self._roles
        builder.counts.read(self._part)
        query = doc = None
        if roles.has_query and (query := self._query(row, line)) is None:
            return None
        if roles.has_document:
            doc = self.document(row, line)
            if doc is None:
                builder.counts.drop(self._part, "without a document", line=line)
                return None
        if query is None or doc is None or roles.grade is None:
            return None
        label = judge_label(row.get(roles.judge)) if roles.judge else ""
        return builder.judgement(query, doc, row.get(roles.grade), judge_label=label, line=line)

    def _query(self, row: Mapping[Any, Any], line: int) -> str | None:
        """The id of the row's query; None, and counted, where it has none."""
        # Which id a text is joined to depends on the rows so far.
        joins = self._builder.joins_texts
        query = self._add_query(row, line) if joins else self._query_ids.id_of(row, lambda: self._add_query(row, line))
        if query is None:
            self._builder.counts.drop(self._part, "without a query", line=line)
            return None
        if query in self._asked and not self._roles.has_document:
            self._builder.counts.drop(self._part, "with the query of an earlier row", line=line)
        self._asked.add(query)
        return query

    def _add_query(self, row: Mapping[Any, Any], line: int) -> str | None:
        builder, roles = self._builder, self._roles
        key, text = row.get(roles.query_id), row.get(roles.query)
        return builder.query(key, text, lambda: roles.fields_of_query(row, builder.place, line), line=line)

    def document(self, row: Mapping[Any, Any], line: int) -> str | None:
        """Adds the document of the row; its id, None where it has none."""
        return self._document_ids.id_of(row, lambda: self._add_document(row, line))

    def _add_document(self, row: Mapping[Any, Any], line: int) -> str | None:
        builder, roles = self._builder, self._roles
        texts = [row.get(name) for name in roles.text]
        text = texts[0] if len(texts) == 1 else "\n".join(filter(None, (builder.text(part, line) for part in texts)))
        key, title = row.get(roles.doc_id), row.get(roles.title)
        return builder.document(key, title, text, lambda: plain_fields(row, roles.fields), line=line)


def _joined_names(role: str, names: Iterable[str]) -> str:
    return (", " if role.endswith("fields") else " or ").join(names)


def _name_list(names: Any) -> str:
    return ", ".join(for_message(name) for name in names)


TABLE = TableImporter()
