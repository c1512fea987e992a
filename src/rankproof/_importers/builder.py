"""Builds a dataset from rows: queries and documents each once, ids made where there are none, and counts of what is dropped."""

from __future__ import annotations

import datetime
import decimal
import json
import weakref
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import numpy as np

from rankproof._data.arrays import Entries, IdIndex, merged_entries
from rankproof._data.corpus import Corpus, Document, Partition, Partitions
from rankproof._data.dataset import WEIGHT_FIELD, Dataset, Queries, Query
from rankproof._data.grades import GradeReader, describe_converted
from rankproof._data.partition_builder import fields_json
from rankproof._data.qrels import Judgement, Qrels, qrels_of_rows
from rankproof._data.text import encodable, first_ids, pluralise
from rankproof._data.validation import ID_DIGITS, checked_id, made_id
from rankproof._formats.columns import normalised_name
from rankproof._formats.rows import id_of_value, is_nan
from rankproof._formats.texts import with_parsed_fields
from rankproof._importers.base import ImportCounts, Imported, ImportOptions, ImportReport, ImportSource, missing_parts
from rankproof._io.corpus_store import CorpusStorage, CorpusWriter
from rankproof._io.file_errors import file_error
from rankproof.errors import InputError, for_message

Fields = Callable[[], dict[str, Any]]
"""Makes the other fields of a query or document, when it first comes."""
_NO_GRADE = ("nan", "null", "<na>", "\\n")
"""What programs write for a cell without a value."""
_MADE_FROM = {"query": "a query's text (after q)", "document": "a document's title and text (after d)"}
_RESERVED = {"_id", "id", "title", "text"}
_SHOWN_FILES = 5
_CACHED_ROWS = 1 << 18
_PLAIN_TYPES = frozenset((str, type(None)))
"""Types of cells of which equal values are the same id, unlike 1 and 1.0."""
_UNREAD_FIX = "write the documents as lines of JSON with _id and text, and the judgements with a header or as a TREC file"


class ImportedDocuments:
    """The documents of an import, the first of each id; they are in partitions and not kept as Python objects."""

    def __init__(self, storage: CorpusStorage) -> None:
        self._writer = CorpusWriter(storage, ())
        # An import that fails between two rows must not leave temporary files.
        weakref.finalize(self, self._writer.discard)
        self._full: list[Partition] = []
        self._use_index(np.empty((0, 2), dtype=np.uint64))
        self._count = 0

    def _use_index(self, entries: Entries) -> None:
        self._rows: dict[str, int] = {}
        """The rows of the partition that is not full."""
        self._partitions = Partitions(self._full)
        self._index = IdIndex(entries, self._partitions.id_at)

    def __len__(self) -> int:
        return self._count

    def __contains__(self, key: object) -> bool:
        return key in self._rows or (isinstance(key, str) and self._position(key) is not None)

    def _position(self, key: str) -> int | None:
        return self._index.position(key.encode(errors="surrogatepass")) if self._full else None

    def content_of(self, key: str) -> tuple[str, str, bytes] | None:
        """Title, text and fields (JSON) of the document; None where there is none of that id."""
        if (row := self._rows.get(key)) is not None:
            return self._writer.open_partition.content_at(row)
        if (position := self._position(key)) is None:
            return None
        partition, row = self._partitions.at(position)
        return partition.titles[row], partition.texts[row], partition.columns.fields.bytes_at(row)

    def add(self, document: Document) -> None:
        """Adds a document whose id is checked and new."""
        self._rows[document.id] = len(self._rows)
        self._count += 1
        self._writer.add(document)
        if not len(self._writer.open_partition):
            self._index_newest()

    def _index_newest(self) -> None:
        newest = self._writer.newest_partition()
        self._full.append(newest)
        parts = [(0, self._index.entries), (newest.first, newest.columns.entries)]
        self._use_index(np.concatenate(list(merged_entries(parts))))
        newest.release()

    def corpus(self, source: str) -> Corpus:
        """The corpus of all documents."""
        return self._writer.corpus(source)

    def discard(self) -> None:
        """Removes the files of documents that become no corpus."""
        self._writer.discard()


@dataclass(slots=True)
class IdCounts:
    """How many ids of rows are made from the content, are given beside content, and had white space around them."""

    made: int = 0
    given: int = 0
    trimmed: int = 0

    def add(self, made: int, from_rows: int, trimmed: int) -> None:
        self.made += made
        self.given += from_rows
        self.trimmed += trimmed

    def values(self) -> tuple[int, int, int]:
        return self.made, self.given, self.trimmed


class RepeatedCells:
    """The ids of rows by some of their cells: a row whose cells have come before adds to the counts of ids and nothing else."""

    def __init__(self, counts: IdCounts, names: Sequence[str]) -> None:
        self._counts, self._names = counts, names
        # The hash of cells alone, as documents may be long.
        self._known: dict[int, tuple[str, tuple[int, int, int]]] = {}

    def id_of(self, row: Mapping[str, Any], add: Callable[[], str | None]) -> str | None:
        """The id of the row, which `add` gives for new cells."""
        cells = tuple(map(row.get, self._names))
        if not _PLAIN_TYPES.issuperset(map(type, cells)):
            return add()
        key = hash(cells)
        if (repeated := self._known.get(key)) is not None:
            self._counts.add(*repeated[1])
            return repeated[0]
        before = self._counts.values()
        if (known := add()) is not None:
            self._remember(key, known, before)
        return known

    def _remember(self, key: int, known: str, before: tuple[int, int, int]) -> None:
        if len(self._known) >= _CACHED_ROWS:
            self._known.clear()
        made, from_rows, trimmed = (now - earlier for now, earlier in zip(self._counts.values(), before, strict=True))
        self._known[key] = known, (made, from_rows, trimmed)


class DatasetBuilder:
    """The queries, documents and counts of an import.

    A query or document that comes again adds nothing; where its text or fields differ, the first is kept and the others are
    counted, but two weights of a query are an error. The fields of a query may come without its text.
    """

    def __init__(self, source: ImportSource, options: ImportOptions) -> None:
        self.source, self.options, self.counts = source, options, ImportCounts()
        self.place = self.query_source = source.name
        """The file that is read now, and the file of queries, for messages."""
        self.grades = GradeReader(source.name, options.grade_map)
        self.queries: dict[str, Query] = {}
        self.documents = ImportedDocuments(source.storage)
        self.notes: list[str] = []
        self._unread = ""
        self.joins_texts = False
        """Whether a query without an id is the one of the same text that has an id; rows with ids come first."""
        self._ids_of_texts: dict[str, dict[str, None]] = {}
        self._joined: set[str] = set()
        self._textless: dict[str, int | None] = {}
        self._textless_queries: dict[str, int | None] = {}
        self._changed: dict[str, set[str]] = {"query": set(), "document": set()}
        self._changed_fields: dict[str, set[str]] = {"query": set(), "document": set()}
        self._textless_fields: dict[str, dict[str, Any]] = {}
        self._weights: dict[str, tuple[Any, str, int | None]] = {}
        self._id_counts = {"query": IdCounts(), "document": IdCounts()}
        self._spaced_documents = 0

    def query(self, key: object, text: object, fields: Fields = dict, *, line: int | None = None) -> str | None:
        """The id of the query, which is made from its text where the key is empty; None where both are."""
        plain = self.text(text, line)
        joined = self._id_of_text(plain, line) if self.joins_texts and _is_empty(key) else None
        known = joined or self._key(key, "query", [plain] if plain else [], line)
        if known is None:
            return None
        if self.joins_texts and plain and not _is_empty(key):
            self._ids_of_texts.setdefault(plain, {})[known] = None
        new_fields = fields()
        self._check_weight(known, plain or known, new_fields.get(WEIGHT_FIELD), line)
        if plain:
            earlier = self.queries.get(known)
            if earlier is None:
                self.queries[known] = Query(known, plain, fields=MappingProxyType(new_fields), line=line)
            else:
                if earlier.text != plain:
                    self._changed["query"].add(known)
                self._add_fields(earlier, new_fields)
        else:
            self._textless_queries.setdefault(known, line)
            if new_fields and self._textless_fields.setdefault(known, new_fields) != new_fields:
                self._changed_fields["query"].add(known)
        return known

    def _id_of_text(self, text: str, line: int | None) -> str | None:
        """The id that other rows give a query of exactly this text; two ids are an error."""
        ids = list(self._ids_of_texts.get(text, ())) if text else []
        if len(ids) > 1:
            what = f"the query {for_message(text)} has two ids, {for_message(ids[0])} and {for_message(ids[1])}"
            raise InputError(what, fix="keep one of them, or give the rows here an id", source=self.place, line=line)
        self._joined.update(ids)
        return ids[0] if ids else None

    def _check_weight(self, key: str, shown: str, weight: Any, line: int | None) -> None:
        """Refuses a second weight of a query that differs from the first."""
        if weight is None:
            return
        first, place, first_line = self._weights.setdefault(key, (weight, self.place, line))
        if weight != first:
            where = place if first_line is None else f"{place}:{first_line}"
            what = f"the weight of query {for_message(shown)} is {weight} here and {first} at {where}"
            raise InputError(what, fix="sum them, or keep one row per query", source=self.place, line=line)

    def _add_fields(self, query: Query, fields: Mapping[str, Any]) -> None:
        """Gives a query further fields; of two values of a field, the first is kept."""
        if any(query.fields.get(name, value) != value for name, value in fields.items()):
            self._changed_fields["query"].add(query.id)
        if fields.keys() - query.fields.keys():
            self.queries[query.id] = replace(query, fields=MappingProxyType({**fields, **query.fields}))

    def parse_query_fields(self, names: Iterable[str]) -> None:
        """Reads these fields, whose values are texts, as numbers or as true and false."""
        for query in [query for key, query in self.queries.items() if key in self._textless_fields]:
            self._add_fields(query, self._textless_fields[query.id])
        self.queries.update(with_parsed_fields(self.queries, names))

    def document(
        self,
        key: object,
        title: object,
        text: object,
        fields: Fields = dict,
        *,
        line: int | None = None,
        may_be_empty: bool = False,
    ) -> str | None:
        """The id of the document, which is made from title and text where the key is empty; None where all are.

        A document without title and text is dropped unless it `may_be_empty`, as in a corpus.
        """
        name, plain = self.text(title, line), self.text(text, line)
        known = self._key(key, "document", [name, plain] if name or plain else [], line)
        if known is not None and (name or plain or may_be_empty):
            earlier = self.documents.content_of(known)
            if earlier is None:
                self.documents.add(Document(known, plain, name, MappingProxyType(fields()), line))
                self._spaced_documents += len(known.split()) > 1
            else:
                if earlier[:2] != (name, plain):
                    self._changed["document"].add(known)
                if (new_fields := fields_json(fields())[0]) and new_fields != earlier[2]:
                    self._changed_fields["document"].add(known)
        elif known is not None:
            self._textless.setdefault(known, line)
        return known

    def judgement(
        self, query: str, doc: str, grade: object, *, judge_label: str = "", line: int | None = None
    ) -> Judgement | None:
        """The judgement; None, and counted, where the grade is empty."""
        self.counts.read("judgements")
        token = _grade_text(grade)
        if not token or (token.lower() in _NO_GRADE and token not in (self.options.grade_map or ())):
            self.counts.drop("judgements", "without a grade", line=line)
            return None
        return Judgement(query, doc, self.grades.of_text(token, line=line), line, judge_label)

    def judged_ids(
        self, query: object, doc: object, grade: object, *, judge_label: str = "", line: int | None = None
    ) -> Judgement | None:
        """The judgement of a query and a document that are given by their ids; None, and counted, where one is empty."""
        keys = [self._key(key, column, [], line) for key, column in ((query, "query"), (doc, "document"))]
        if keys[0] is None or keys[1] is None:
            self.counts.read("judgements")
            self.counts.drop("judgements", f"without a {'document' if keys[0] else 'query'}", line=line)
            return None
        return self.judgement(keys[0], keys[1], grade, judge_label=judge_label, line=line)

    def text(self, value: object, line: int | None) -> str:
        """The cell as text without white space around it; empty where there is none."""
        plain = value.strip() if isinstance(value, str) else _cell_text(value)
        if not plain.isascii():
            try:
                plain.encode()
            except UnicodeEncodeError:
                token = for_message(plain)
                raise file_error("text-surrogate", source=self.place, line=line, role="text", token=token) from None
        return plain

    def note_unread_files(self, names: Sequence[str], why: str = "") -> None:
        """Notes files that are not read, the first of them by name; a dataset of nothing else than queries is then an error."""
        self._unread = f"not read{why}: {first_ids(names, _SHOWN_FILES)}"
        self.notes.append(self._unread + (f" ({len(names):,} files)" if len(names) > _SHOWN_FILES else ""))

    def imported(
        self, judgements: Iterable[Judgement | None], importer: str, columns: Mapping[str, str] | None = None
    ) -> Imported:
        """The dataset; the judgements are read first, as reading them adds queries and documents."""
        try:
            qrels = qrels_of_rows(filter(None, judgements), self.grades, self.options.on_conflict)
        except BaseException:
            self.documents.discard()
            raise
        if self._unread and not len(qrels) and not len(self.documents):
            self.documents.discard()
            raise InputError(f"no document and no judgement; {self._unread}", fix=_UNREAD_FIX, source=self.source.name)
        self._count_texts()
        self._count_dropped_judgements(qrels)
        corpus = self.documents.corpus(self.source.name)
        queries = Queries(self.queries.values(), source=self.query_source)
        dataset = Dataset(self.source.stem, corpus, queries, qrels)
        converted = (describe_converted(qrels.converted),) if qrels.converted else ()
        notes = (*self.notes, *converted, *self._own_notes(), *missing_parts(dataset))
        return Imported(dataset, ImportReport(importer, self.source.name, self.counts.parts(), columns or {}, notes))

    def _count_texts(self) -> None:
        """Counts the queries and documents, and those that have no text."""
        self.counts.read("queries", len(self.queries))
        self._drop_textless("queries", self._textless_queries, self.queries, "without a text")
        self.counts.read("documents", len(self.documents))
        if self.documents:
            self._drop_textless("documents", self._textless, self.documents, "without a title or text")

    def _count_dropped_judgements(self, qrels: Qrels) -> None:
        """Counts the judgements of a pair that another judgement of it replaces."""
        self.counts.drop_repeats(qrels)
        kept = sum(map(len, qrels.values()))
        other = next((part.kept for part in self.counts.parts() if part.part == "judgements"), kept) - kept
        if other:
            self.counts.drop("judgements", f"second grades of a pair (--on-conflict {self.options.on_conflict})", count=other)

    def _drop_textless(self, part: str, textless: Mapping[str, int | None], kept: Container[str], reason: str) -> None:
        missing = {key: line for key, line in textless.items() if key not in kept}
        if missing:
            self.counts.read(part, len(missing))
            self.counts.drop(part, reason, count=len(missing), line=next(iter(missing.values())))

    def _key(self, value: object, column: str, content: list[str], line: int | None) -> str | None:
        counts, has_content = self._id_counts[column], bool(content)
        if isinstance(value, str):
            key = value.strip()
            trimmed = len(key) < len(value) and bool(key)
        else:
            key, trimmed = "" if _is_empty(value) else id_of_value(value, column, source=self.place, line=line), False
        if not key and not content:
            return None
        counts.add(not key, bool(key) and has_content, trimmed)
        return checked_id(key, column, source=self.place, line=line) if key else made_id(column, content)

    def _own_notes(self) -> Iterator[str]:
        for what, changed in (("text", self._changed), ("value of a field", self._changed_fields)):
            for column, keys in changed.items():
                if keys:
                    have = pluralise(len(keys), column, "queries" if column == "query" else "documents")
                    yield f"{have} with more than one {what}; the first of each is kept"
        made = [_MADE_FROM[column] for column, counts in self._id_counts.items() if counts.made]
        if made:
            yield f"ids are made from the content, the first {ID_DIGITS} digits of the sha256 of {' and '.join(made)}"
        if self._joined:
            have = pluralise(len(self._joined), "query", "queries")
            yield f"{have} without an id in one file and with an id in another: joined by the exact text"
        for column in (column for column, counts in self._id_counts.items() if counts.made and counts.given):
            rows = pluralise(self._id_counts[column].made, "row has", "rows have")
            if column == "query" and self.joins_texts:
                yield f"{rows} the text of a query that no file gives an id"
                continue
            yield f"{rows} no {column} id, others have one: a {column} with and without an id is counted as two"
        if trimmed := sum(counts.trimmed for counts in self._id_counts.values()):
            yield f"white space around {pluralise(trimmed, 'id')} is removed"
        spaced = sum(1 for key in self.queries if len(key.split()) > 1)
        if spaced or self._spaced_documents:
            counts = f"{pluralise(spaced, 'query id')}, {pluralise(self._spaced_documents, 'document id')}"
            yield f"ids with white space inside ({counts}) are kept; TREC files cannot hold them"


def _is_empty(value: object) -> bool:
    """Whether the cell has no value."""
    return not value.strip() if isinstance(value, str) else value is None or is_nan(value)


def plain_value(value: Any) -> Any:
    """The cell as a value of JSON."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, str):
        return encodable(value)
    if isinstance(value, int | float | bool) or value is None:
        return None if is_nan(value) else value
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    if isinstance(value, decimal.Decimal):
        return float(value)
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    if isinstance(value, Mapping):
        return {encodable(str(key)): plain_value(item) for key, item in value.items()}
    return [plain_value(item) for item in value] if isinstance(value, list | tuple | np.ndarray) else str(value)


def _cell_text(value: object) -> str:
    """A cell that is not text as text: items of a list on lines of their own."""
    plain = plain_value(value)
    if isinstance(plain, list):
        return "\n".join(filter(None, map(_cell_text, plain)))
    if isinstance(plain, dict):
        return json.dumps(plain, ensure_ascii=False)
    return "" if plain is None else str(plain).strip()


def plain_fields(row: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    """The cells that are not empty, by the names of their fields."""
    if not names:
        return {}
    values = {encodable(field): plain_value(row.get(name)) for name, field in names.items()}
    return {field: value for field, value in values.items() if value is not None and value != ""}


def field_names(names: Iterable[str], reserved: Container[str] = ()) -> dict[str, str]:
    """The field of each column: its name, with the prefix `field_` where the files of a dataset use it or it is reserved."""
    return {name: f"field_{name}" if normalised_name(name) in _RESERVED or name in reserved else name for name in names}


def number_in(value: Any) -> Any:
    """The number that a text is; any other value as it is."""
    try:
        return float(value) if isinstance(value, str) else value
    except ValueError:
        return value


def _grade_text(value: object) -> str:
    if isinstance(value, str):
        return value.strip()
    plain = plain_value(value)
    return "" if plain is None else str(plain).lower() if isinstance(plain, bool) else str(plain)


def ids_by_cells(builder: DatasetBuilder, column: str, names: Sequence[str]) -> RepeatedCells:
    """The ids of rows by these cells, in which the queries or documents of a table repeat."""
    return RepeatedCells(builder._id_counts[column], names)
