"""Documents and queries as mappings of id to text, datasets, and the ids of chunks."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Generic, Literal, TypeVar

from rankproof._data.arrays import DrawnWeight
from rankproof._data.corpus import SHOWN_TEXT, SHOWN_TITLE, Corpus, TextRecord
from rankproof._data.qrels import Qrels
from rankproof._data.row_errors import row_error
from rankproof._data.table import Column, Table
from rankproof._data.text import clip_text, pluralise
from rankproof._data.validation import checked_id
from rankproof._data.view import View, Viewed, collection_view
from rankproof.errors import InputError, UsageError, type_phrase


def chunk_separator(ids: Iterable[str]) -> str:
    """The separator of document id and chunk number: `#c`, with more `#` where a document id ends like a chunk id."""
    endings = (re.search(r"(#+)c[0-9]+\Z", doc) for doc in ids)
    return "#" * (1 + max((len(ending[1]) for ending in endings if ending), default=0)) + "c"


def chunk_id(doc: str, separator: str, number: int) -> str:
    """The id of a chunk of the document; the first one has number 1."""
    return f"{doc}{separator}{number}"


def document_of_chunk(chunk: str, separator: str) -> str:
    """The id of the chunk's document."""
    return chunk.rpartition(separator)[0]


_Record = TypeVar("_Record", bound=TextRecord)


class Texts(Viewed, Mapping[str, _Record], Generic[_Record]):
    """Id to text, in input order; checked when built, and immutable."""

    __slots__ = ("_records", "source")
    column = "text"

    def __init__(self, records: Iterable[_Record], *, source: str = "") -> None:
        by_id: dict[str, _Record] = {}
        for record in records if isinstance(records, Iterable) else [records]:
            if not isinstance(record, TextRecord):
                raise UsageError(f"a record is {type_phrase(record)}", fix="pass records such as Query(id, text)")
            key = checked_id(record.id, self.column, source=source, line=record.line)
            earlier = by_id.setdefault(key, record)
            if earlier is not record:
                where = f"line {earlier.line}" if earlier.line else "an earlier record"
                raise row_error("id-twice", source=source, line=record.line, column=self.column, token=key, first=where)
        self._records = MappingProxyType(by_id)
        self.source = source

    def __getitem__(self, key: str) -> _Record:
        return self._records[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._records)

    def __len__(self) -> int:
        return len(self._records)

    def _view(self) -> View:
        rows = ((key, clip_text(record.title, SHOWN_TITLE), clip_text(record.text, SHOWN_TEXT)) for key, record in self.items())
        title = f"{type(self).__name__} {self.source}: {pluralise(len(self), 'text')}"
        return collection_view(title, {"id": "text", "title": "text", "text": "text"}, rows, len(self))

    def fingerprint(self) -> str:
        """A sha256 of ids, texts, titles and fields, the same for any order of records."""
        import hashlib
        import json

        digest = hashlib.sha256()
        for key in sorted(self):
            record = self[key]
            parts = [record.id, record.title, record.text, dict(record.fields)]
            digest.update(json.dumps(parts, sort_keys=True, default=str).encode() + b"\n")
        return digest.hexdigest()


WEIGHT_FIELD, CHANCE_FIELD = "weight", "chance"
"""The fields of a query with its share of the traffic, and in a sample of the traffic the chance with which it was drawn."""


class Query(TextRecord):
    """One query; `fields` has the other fields of its source, such as a category."""

    __slots__ = ()


def checked_weight(value: object, query: str, *, source: str = "", line: int | None = None) -> float:
    """The weight of a query, a number above 0; sums and squares of weights up to 1e+100 are finite and not 0."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < math.inf:
        raise row_error("weight-value", source=source, line=line, token=repr(value), query=query)
    if not 1e-100 <= value <= 1e100:
        raise row_error("weight-range", source=source, line=line, token=str(value), query=query)
    return float(value)


class Queries(Texts[Query]):
    """Query id to query."""

    __slots__ = ()
    column = "query"

    @property
    def weights(self) -> dict[str, float] | None:
        """Query to its weight, the field `weight` or that of its metadata: its share of the traffic; None without."""
        if not any(WEIGHT_FIELD in _with_metadata(query) for query in self.values()):
            return None
        for query in self.values():
            if WEIGHT_FIELD not in _with_metadata(query):
                raise row_error("weight-missing", source=self.source, line=query.line, query=query.id, text=query.text)
        return {key: self._weight(query) for key, query in self.items()}

    def _weight(self, query: Query) -> float:
        """The weight; with the chance of the query in a sample of the traffic."""
        fields = _with_metadata(query)
        weight = checked_weight(fields[WEIGHT_FIELD], query.id, source=self.source, line=query.line)
        chance = fields.get(CHANCE_FIELD)
        if chance is None:
            return weight
        if isinstance(chance, bool) or not isinstance(chance, int | float) or not 0 < chance <= 1:
            raise row_error("chance-value", source=self.source, line=query.line, token=str(chance), query=query.id)
        return DrawnWeight(weight, float(chance))


def _with_metadata(query: Query) -> Mapping[str, object]:
    """The fields of a query, and those that its metadata has besides."""
    metadata = query.fields.get("metadata")
    return {**metadata, **query.fields} if isinstance(metadata, Mapping) and metadata else query.fields


DatasetPart = Literal["documents", "judgements"]
_MISSING_PART_FIXES: Mapping[DatasetPart, str] = {
    "judgements": "add qrels/test.tsv, or run without judgements (rankproof run) and grade the rankings (rankproof judge)",
    "documents": "add corpus.jsonl",
}


@dataclass(frozen=True, eq=False, slots=True, repr=False)
class Dataset(Viewed):
    """Documents, queries and judgements; documents or judgements may be empty.

    At least one judged query must be among the queries. Judged documents may be missing from the corpus. `notes` say how the
    dataset was read where it was imported: the columns, and what was dropped.
    """

    name: str
    corpus: Corpus
    queries: Queries
    qrels: Qrels
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.queries:
            raise row_error("no-rows", source=self.queries.source)
        if self.is_judged and not any(query in self.queries for query in self.qrels):
            raise row_error("no-common-query", source=self.qrels.source)
        self.queries.weights  # A wrong weight is an error before any work is done.  # noqa: B018

    @property
    def is_judged(self) -> bool:
        """Whether there is any judgement."""
        return bool(self.qrels)

    @property
    def has_documents(self) -> bool:
        """Whether there is any document; rankings of systems that search elsewhere need none."""
        return bool(self.corpus)

    def require(self, *parts: DatasetPart) -> Dataset:
        """The dataset itself; a part that is empty is an error."""
        filled: Mapping[DatasetPart, bool] = {"documents": self.has_documents, "judgements": self.is_judged}
        for part in parts:
            if not filled[part]:
                raise InputError(f"the dataset has no {part}", fix=_MISSING_PART_FIXES[part], source=self.source)
        return self

    @property
    def source(self) -> str:
        """Where the queries come from: a file, or the name of the dataset."""
        return self.queries.source or self.name

    def fingerprint(self) -> str:
        """A sha256 of all contents, the same for any order of lines."""
        import hashlib

        parts = (self.corpus.fingerprint(), self.queries.fingerprint(), self.qrels.fingerprint())
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()

    def _view(self) -> View:
        judgements = sum(map(len, self.qrels.values()))
        rows = (("documents", len(self.corpus)), ("queries", len(self.queries)), ("judgements", judgements))
        columns = (Column("part"), Column("count", "count"))
        return View(f"Dataset {self.name}", (Table("parts", "", columns, rows),), notes=self.notes)

    def missing_documents(self) -> tuple[str, ...]:
        """Judged documents that are missing from the corpus; none where the dataset has no documents."""
        if not self.has_documents:
            return ()
        judged = {doc: None for docs in self.qrels.values() for doc in docs}
        return tuple(doc for doc in judged if doc not in self.corpus)

    def missing_queries(self) -> tuple[str, ...]:
        """Judged queries without a text."""
        return tuple(query for query in self.qrels if query not in self.queries)
