"""Corpus, Queries, Dataset, chunk ids."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Generic, TypeVar

from rankproof._data.qrels import Qrels
from rankproof._data.row_errors import row_error
from rankproof._data.validation import checked_id


def chunk_separator(ids: Iterable[str]) -> str:
    """What stands between a document's id and a chunk's number: `#c`, with more of `#` where a document's id ends like that."""
    endings = (re.search(r"(#+)c[0-9]+\Z", doc) for doc in ids)
    return "#" * (1 + max((len(found[1]) for found in endings if found), default=0)) + "c"


def document_of_chunk(chunk: str, mark: str) -> str:
    """The document that the chunk is of."""
    return chunk.rpartition(mark)[0]


@dataclass(frozen=True, slots=True)
class TextRecord:
    """One text and whatever else its source says about it."""

    id: str
    text: str
    title: str = ""
    fields: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    line: int | None = field(default=None, compare=False)


_Record = TypeVar("_Record", bound=TextRecord)


class Texts(Mapping[str, _Record], Generic[_Record]):
    """Id to text, in the order they came; built from records, checked, and never changed after."""

    __slots__ = ("_records", "source")
    column = "text"

    def __init__(self, records: Iterable[_Record], *, source: str = "") -> None:
        found: dict[str, _Record] = {}
        for record in records:
            key = checked_id(record.id, self.column, source=source, line=record.line)
            earlier = found.setdefault(key, record)
            if earlier is not record:
                where = f"line {earlier.line}" if earlier.line else "an earlier place"
                raise row_error("id-twice", source=source, line=record.line, column=self.column, token=key, first=where)
        self._records = MappingProxyType(found)
        self.source = source

    def __getitem__(self, key: str) -> _Record:
        return self._records[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._records)

    def __len__(self) -> int:
        return len(self._records)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.source}: {len(self)} texts>"

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


class Document(TextRecord):
    """One document; `fields` holds what its source has besides title and text."""

    __slots__ = ()


class Corpus(Texts[Document]):
    """Document id to document."""

    __slots__ = ()
    column = "document"


class Query(TextRecord):
    """One query; `fields` holds what its source has besides the text, such as a category."""

    __slots__ = ()


class Queries(Texts[Query]):
    """Query id to query."""

    __slots__ = ()
    column = "query"


@dataclass(frozen=True, eq=False, slots=True)
class Dataset:
    """Refused where no judged query is among the queries; judged documents may be missing from the corpus, and are listed."""

    name: str
    corpus: Corpus
    queries: Queries
    qrels: Qrels

    def __post_init__(self) -> None:
        if not any(query in self.queries for query in self.qrels):
            raise row_error("strange-queries", source=self.qrels.source)

    def fingerprint(self) -> str:
        """A sha256 of everything in it, the same for any order of lines."""
        import hashlib

        parts = (self.corpus.fingerprint(), self.queries.fingerprint(), self.qrels.fingerprint())
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()

    def missing_documents(self) -> tuple[str, ...]:
        """Judged documents that the corpus lacks."""
        judged = {doc: None for docs in self.qrels.values() for doc in docs}
        return tuple(doc for doc in judged if doc not in self.corpus)

    def missing_queries(self) -> tuple[str, ...]:
        """Judged queries whose text is not there."""
        return tuple(query for query in self.qrels if query not in self.queries)
