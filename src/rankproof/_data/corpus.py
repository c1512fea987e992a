"""Documents as columns of UTF-8 text in partitions, found by the hash of their id."""

from __future__ import annotations

import hashlib
from bisect import bisect_right
from collections.abc import ItemsView, Iterable, Iterator, Mapping, Sequence, ValuesView
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankproof._data.arrays import Entries, IdIndex, has_native_scanner
from rankproof._data.text import clip_text, pluralise
from rankproof._data.view import View, Viewed, collection_view

PARTITION_SIZE = 250_000
"""Documents of a partition."""
SHOWN_TITLE, SHOWN_TEXT = 25, 40
NO_FIELDS: Mapping[str, Any] = MappingProxyType({})
DIGESTS = 1 << 256
"""Sums of digests are taken modulo this number."""


@dataclass(frozen=True, slots=True)
class TextRecord:
    """One text with its id, title and other fields."""

    id: str
    text: str
    title: str = ""
    fields: Mapping[str, Any] = field(default_factory=lambda: NO_FIELDS)
    line: int | None = field(default=None, compare=False)


class Document(TextRecord):
    """One document; `fields` has the other fields of its source."""

    __slots__ = ()


class TextColumn(Sequence[str]):
    """Texts as UTF-8 bytes one after another; text `row` is `data[offsets[row]:offsets[row + 1]]`."""

    __slots__ = ("_bytes", "_starts", "data", "offsets")

    def __init__(self, offsets: NDArray[np.int64], data: NDArray[np.uint8]) -> None:
        self.offsets, self.data = offsets, data
        self._starts, self._bytes = offsets.data, data.data

    @classmethod
    def of(cls, texts: Sequence[bytes]) -> TextColumn:
        """The column of these texts."""
        offsets = np.zeros(len(texts) + 1, dtype=np.int64)
        np.cumsum([len(text) for text in texts], out=offsets[1:])
        return cls(offsets, np.frombuffer(b"".join(texts), dtype=np.uint8))

    def bytes_at(self, row: int) -> bytes:
        """The text of the row in UTF-8."""
        return self._bytes[self._starts[row] : self._starts[row + 1]].tobytes()

    def __getitem__(self, row: Any) -> Any:
        if isinstance(row, slice):
            return [self[at] for at in range(len(self))[row]]
        return text_of_utf8(self.bytes_at(range(len(self))[row]))

    def __iter__(self) -> Iterator[str]:
        return (text_of_utf8(self.bytes_at(row)) for row in range(len(self)))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __reduce__(self) -> tuple[Any, ...]:
        return TextColumn, (self.offsets, self.data)


def text_of_utf8(text: bytes) -> str:
    """UTF-8 as text; a lone surrogate of a text made in Python is kept."""
    try:
        return text.decode()
    except UnicodeDecodeError:
        return text.decode(errors="surrogatepass")


class DocumentColumns(NamedTuple):
    """The columns of some documents.

    `fields` has the other fields as compact JSON in ASCII, empty where there are none. A line is 0 where it is unknown. `order`
    has the rows by id, larger id first in the order of bytes, so that the larger id of a tie has the lower position.
    """

    ids: TextColumn
    titles: TextColumn
    texts: TextColumn
    fields: TextColumn
    lines: NDArray[np.int64]
    entries: Entries
    order: NDArray[np.int32]


class Partition:
    """Some documents of a corpus in input order.

    `first` is the position in the corpus of the first document, and `digest` the sum of the digests of all documents.
    """

    def __init__(self, number: int, first: int, size: int, digest: int, columns: DocumentColumns | None = None) -> None:
        self.number, self.first, self.digest, self._size, self._columns = number, first, digest, size, columns

    @property
    def columns(self) -> DocumentColumns:
        """The columns; a partition on file opens them on first use."""
        if self._columns is None:
            self._columns = self._opened_columns()
        return self._columns

    def _opened_columns(self) -> DocumentColumns:
        raise NotImplementedError

    def release(self) -> None:
        """Closes the columns of a partition on file until they are used again, so that few partitions are in memory."""

    @property
    def ids(self) -> TextColumn:
        """The ids."""
        return self.columns.ids

    @property
    def titles(self) -> TextColumn:
        """The titles, empty where there are none."""
        return self.columns.titles

    @property
    def texts(self) -> TextColumn:
        """The texts."""
        return self.columns.texts

    @property
    def fields(self) -> TextColumn:
        """The other fields as compact JSON, empty where there are none."""
        return self.columns.fields

    @property
    def lines(self) -> NDArray[np.int64]:
        """The line of each document in its file, 0 where it is unknown."""
        return self.columns.lines

    @property
    def order(self) -> NDArray[np.int32]:
        """The rows by id, larger id first, so that the larger id of a tie has the lower position."""
        return self.columns.order

    def __len__(self) -> int:
        return self._size

    def document(self, row: int) -> Document:
        """The document of the row."""
        ids, titles, texts, fields, lines, *_ = self.columns
        more = fields.bytes_at(row)
        return Document(
            text_of_utf8(ids.bytes_at(row)),
            text_of_utf8(texts.bytes_at(row)),
            text_of_utf8(titles.bytes_at(row)),
            _parsed_fields(more) if more else NO_FIELDS,
            lines.item(row) or None,
        )

    def documents(self) -> Iterator[Document]:
        """The documents, each made when it is asked for."""
        return map(self.document, range(len(self)))

    def other_fields(self) -> Iterator[Mapping[str, Any]]:
        """The other fields of the documents that have some."""
        rows = np.flatnonzero(np.diff(self.fields.offsets))
        return (_parsed_fields(self.fields.bytes_at(row)) for row in map(int, rows))


def _parsed_fields(text: bytes) -> Mapping[str, Any]:
    from json import loads

    return MappingProxyType(loads(text))


class Partitions(Sequence[Partition]):
    """The partitions of a corpus, and the partition and row of each position."""

    def __init__(self, partitions: Iterable[Partition]) -> None:
        self._partitions = tuple(partitions)
        self._firsts = [partition.first for partition in self._partitions]
        self.documents = sum(map(len, self._partitions))

    def __getitem__(self, number: Any) -> Any:
        return self._partitions[number]

    def __len__(self) -> int:
        return len(self._partitions)

    def at(self, position: int) -> tuple[Partition, int]:
        """The partition of the document at the position, and its row."""
        number = bisect_right(self._firsts, position) - 1
        return self._partitions[number], position - self._firsts[number]

    def id_at(self, position: int) -> bytes:
        """The id at the position in UTF-8."""
        partition, row = self.at(position)
        return partition.ids.bytes_at(row)


class _DocumentsView(ValuesView[Document]):
    _mapping: Corpus

    def __iter__(self) -> Iterator[Document]:
        return self._mapping.documents()


class _ItemsView(ItemsView[str, Document]):
    _mapping: Corpus

    def __iter__(self) -> Iterator[tuple[str, Document]]:
        return ((document.id, document) for document in self._mapping.documents())


class Corpus(Viewed, Mapping[str, Document]):
    """Document id to document, in input order; checked when built, and immutable. A document is made when it is asked for."""

    __slots__ = ("_index", "partitions", "source")

    def __init__(self, records: Iterable[Document] = (), *, source: str = "", partition_size: int = PARTITION_SIZE) -> None:
        from rankproof._data.partition_builder import IdCheck, build_partitions

        self.source, self.partitions = source, build_partitions(records, source, partition_size)
        self._index = IdIndex(IdCheck(self.partitions, source).entries(), self.partitions.id_at)

    def _position(self, key: object) -> int | None:
        return self._index.position(key.encode(errors="surrogatepass")) if isinstance(key, str) else None

    def missing(self, ids: Iterable[str]) -> list[str]:
        """The ids that no document has, in their order."""
        asked = list(ids)
        if not has_native_scanner():
            return [key for key in asked if key not in self]
        from rankproof._native import documents

        positions = documents.find(
            asked,
            self._index.entries,
            [(partition.first, partition.ids.offsets, partition.ids.data) for partition in self.partitions],
        )
        return [asked[at] for at in np.flatnonzero(np.frombuffer(positions, dtype=np.int64) < 0)]

    def _place(self, key: str) -> tuple[Partition, int]:
        position = self._position(key)
        if position is None:
            raise KeyError(key)
        return self.partitions.at(position)

    def row_of(self, key: str) -> tuple[int, int]:
        """The number of the document's partition and its row in it."""
        partition, row = self._place(key)
        return partition.number, row

    def __getitem__(self, key: str) -> Document:
        partition, row = self._place(key)
        return partition.document(row)

    def __contains__(self, key: object) -> bool:
        return self._position(key) is not None

    def __reduce__(self) -> tuple[Any, ...]:
        return corpus_of_partitions, (self.partitions, self._index.entries, self.source)

    def __iter__(self) -> Iterator[str]:
        return (key for partition in self.partitions for key in partition.ids)

    def __len__(self) -> int:
        return self.partitions.documents

    def values(self) -> ValuesView[Document]:
        """The documents in input order."""
        return _DocumentsView(self)

    def items(self) -> ItemsView[str, Document]:
        """The ids with their documents in input order."""
        return _ItemsView(self)

    def documents(self) -> Iterator[Document]:
        """The documents in input order, each made when it is asked for; a partition is released after its last one."""
        for partition in self.partitions:
            yield from partition.documents()
            partition.release()

    def release(self) -> None:
        """Releases all partitions: after documents were read in any order, all of their text may be in memory."""
        for partition in self.partitions:
            partition.release()

    def positions_by_id(self) -> NDArray[np.int64]:
        """The positions of all documents, larger ids first in the order of bytes."""
        from heapq import merge

        sorted_ids = [_ids_in_order(partition) for partition in self.partitions]
        return np.fromiter((position for _, position in merge(*sorted_ids, reverse=True)), np.int64, len(self))

    def fingerprint(self) -> str:
        """A sha256 of ids, titles, texts and fields, the same for any order of documents and any partitions."""
        total = sum(partition.digest for partition in self.partitions) % DIGESTS
        return hashlib.sha256(f"{len(self)} {total:064x}".encode()).hexdigest()

    def repartitioned(self, size: int) -> Corpus:
        """The same documents in partitions of that size."""
        return Corpus(self.documents(), source=self.source, partition_size=size)

    def _view(self) -> View:
        shown = (
            (document.id, clip_text(document.title, SHOWN_TITLE), clip_text(document.text, SHOWN_TEXT))
            for document in self.documents()
        )
        title = f"{type(self).__name__} {self.source}: {pluralise(len(self), 'text')}"
        return collection_view(title, {"id": "text", "title": "text", "text": "text"}, shown, len(self))


def _ids_in_order(partition: Partition) -> Iterator[tuple[bytes, int]]:
    # Bytes of UTF-8 sort like code points, which is the order of ties in all engines.
    bytes_at, first = partition.ids.bytes_at, partition.first
    return ((bytes_at(row), first + row) for row in map(int, partition.order))


def corpus_of_partitions(partitions: Partitions, entries: Entries, source: str) -> Corpus:
    """The corpus of partitions whose ids are checked; `entries` has the hashes and positions of all ids."""
    corpus = Corpus.__new__(Corpus)
    corpus.source, corpus.partitions, corpus._index = source, partitions, IdIndex(entries, partitions.id_at)
    return corpus
