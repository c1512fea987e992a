"""Documents as columns of UTF-8 text in partitions, found by the hash of their id."""

from __future__ import annotations

import hashlib
import struct
from bisect import bisect_left
from collections.abc import ItemsView, Iterable, Iterator, Mapping, Sequence, ValuesView
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankproof._data.row_errors import row_error
from rankproof._data.table import Column
from rankproof._data.text import clip_text, pluralise
from rankproof._data.validation import checked_id
from rankproof._data.view import View, Viewed, collection_view
from rankproof.errors import RankproofError, UsageError, for_message

PARTITION_SIZE = 250_000
"""Documents of a partition."""
SHOWN_TITLE, SHOWN_TEXT = 25, 40
NO_FIELDS: Mapping[str, Any] = MappingProxyType({})
_DIGEST_BYTES = 32
_LENGTHS = struct.Struct("<4Q")


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
        return bytes(self._bytes[self._starts[row] : self._starts[row + 1]])

    def __getitem__(self, row: Any) -> Any:
        if isinstance(row, slice):
            return [self[at] for at in range(len(self))[row]]
        return decoded(self.bytes_at(range(len(self))[row]))

    def __iter__(self) -> Iterator[str]:
        return (decoded(self.bytes_at(row)) for row in range(len(self)))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __reduce__(self) -> tuple[Any, ...]:
        return TextColumn, (self.offsets, self.data)


def decoded(text: bytes) -> str:
    """UTF-8 as text; a lone surrogate of a text made in Python is kept."""
    try:
        return text.decode()
    except UnicodeDecodeError:
        return text.decode(errors="surrogatepass")


@dataclass(frozen=True, eq=False)
class Partition:
    """Some documents of a corpus in input order.

    `fields` has the other fields as compact JSON in ASCII, empty where there are none. A line is 0 where it is unknown. `first`
    is the position in the corpus of the first document, and `digest` the sum of the digests of all documents.
    """

    number: int
    first: int
    ids: TextColumn
    titles: TextColumn
    texts: TextColumn
    fields: TextColumn
    lines: NDArray[np.int64]
    digest: int

    @cached_property
    def order(self) -> NDArray[np.int32]:
        """The rows by id, larger id first in the order of bytes, so that the larger id of a tie has the lower position."""
        rows = sorted(range(len(self)), key=self.ids.bytes_at, reverse=True)
        return np.array(rows, dtype=np.int32)

    def __len__(self) -> int:
        return len(self.lines)

    def document(self, row: int) -> Document:
        """The document of the row."""
        from json import loads

        more = self.fields.bytes_at(row)
        return Document(
            self.ids[row],
            self.texts[row],
            self.titles[row],
            MappingProxyType(loads(more)) if more else NO_FIELDS,
            int(self.lines[row]) or None,
        )

    def documents(self) -> Iterator[Document]:
        """The documents, each made when it is asked for."""
        return map(self.document, range(len(self)))


def id_hash(key: bytes) -> int:
    """The 64-bit hash of an id."""
    return int.from_bytes(hashlib.blake2b(key, digest_size=8).digest(), "little")


def document_digest(parts: Sequence[bytes]) -> int:
    """The digest of id, title, text and fields (JSON with sorted keys), as an integer of 256 bits."""
    content = b"".join((_LENGTHS.pack(*map(len, parts)), *parts))
    return int.from_bytes(hashlib.blake2b(content, digest_size=_DIGEST_BYTES).digest(), "little")


def fields_json(fields: Mapping[str, Any]) -> tuple[bytes, bytes]:
    """The fields as compact JSON in their order and with sorted keys; a value that is not of JSON becomes its text."""
    if not fields:
        return b"", b""
    import json

    kept = json.dumps(dict(fields), separators=(",", ":"), default=str)
    return kept.encode(), json.dumps(json.loads(kept), separators=(",", ":"), sort_keys=True).encode()


class PartitionBuilder:
    """Collects the documents of one partition in memory."""

    def __init__(self, number: int, first: int) -> None:
        self._number, self._first, self._digest = number, first, 0
        self._columns: tuple[list[bytes], ...] = ([], [], [], [])
        self._lines: list[int] = []

    def add(self, record: Document) -> None:
        """Adds one document, whose id is checked."""
        try:
            kept, in_order = fields_json(record.fields)
            parts = [text.encode(errors="surrogatepass") for text in (record.id, record.title, record.text)]
        except (TypeError, ValueError, RecursionError, AttributeError) as error:
            what = f"document {for_message(record.id)} cannot be stored ({for_message(str(error))})"
            raise UsageError(what, fix="pass title and text as text, and fields as values of JSON") from None
        for column, value in zip(self._columns, (*parts, kept), strict=True):
            column.append(value)
        self._lines.append(record.line or 0)
        self._digest += document_digest((*parts, in_order))

    def __len__(self) -> int:
        return len(self._lines)

    def following(self) -> PartitionBuilder:
        """The builder of the next partition."""
        return PartitionBuilder(self._number + 1, self._first + len(self))

    def partition(self) -> Partition:
        """The partition of all documents that were added."""
        ids, titles, texts, fields = map(TextColumn.of, self._columns)
        lines = np.array(self._lines, dtype=np.int64)
        return Partition(self._number, self._first, ids, titles, texts, fields, lines, self._digest)


@dataclass(frozen=True, eq=False, slots=True)
class IdIndex:
    """The hashes of all ids in ascending order, and the position of each document in the corpus."""

    hashes: NDArray[np.uint64]
    positions: NDArray[np.int64]

    @classmethod
    def of(cls, partitions: Sequence[Partition]) -> IdIndex:
        """The index of the documents of these partitions; documents of equal hash are in input order."""
        size = sum(map(len, partitions))
        rows = ((partition, row) for partition in partitions for row in range(len(partition)))
        hashes = np.fromiter((id_hash(one.ids.bytes_at(row)) for one, row in rows), dtype=np.uint64, count=size)
        order = np.argsort(hashes, kind="stable")
        return cls(hashes[order], order.astype(np.int64))

    def candidates(self, key: bytes) -> Iterator[int]:
        """The positions of the documents whose id has the hash of this id."""
        wanted, hashes = id_hash(key), self.hashes.data
        at = bisect_left(hashes, wanted)
        while at < len(hashes) and hashes[at] == wanted:
            yield int(self.positions[at])
            at += 1

    def equal_hashes(self) -> Iterator[list[int]]:
        """The positions of documents that share a hash, in input order."""
        same = self.hashes[1:] == self.hashes[:-1]
        begins = np.flatnonzero(same & ~np.concatenate(([False], same[:-1])))
        for begin in begins.tolist():
            end = begin + 1
            while end < len(self.hashes) and self.hashes[end] == self.hashes[begin]:
                end += 1
            yield sorted(self.positions[begin:end].tolist())


class _IncompleteError(Exception):
    """A record is refused; `partition` has the documents before it that are in no full partition."""

    def __init__(self, partition: Partition, cause: RankproofError) -> None:
        super().__init__(str(cause))
        self.partition, self.cause = partition, cause


def _with_checked_ids(records: Iterable[Document], source: str) -> Iterator[Document]:
    for record in records:
        key = checked_id(record.id, "document", source=source, line=record.line)
        yield record if key is record.id else replace(record, id=key)


def _built(records: Iterator[Document], size: int) -> Iterator[Partition]:
    """The records as partitions of that size, the last one smaller."""
    builder = PartitionBuilder(0, 0)
    try:
        for record in records:
            if len(builder) == size:
                yield builder.partition()
                builder = builder.following()
            builder.add(record)
    except RankproofError as error:
        raise _IncompleteError(builder.partition(), error) from None
    if len(builder):
        yield builder.partition()


class _DocumentsView(ValuesView[Document]):
    _mapping: Corpus

    def __iter__(self) -> Iterator[Document]:
        return self._mapping.documents()


class _ItemsView(ItemsView[str, Document]):
    _mapping: Corpus

    def __iter__(self) -> Iterator[tuple[str, Document]]:
        return ((one.id, one) for one in self._mapping.documents())


class Corpus(Viewed, Mapping[str, Document]):
    """Document id to document, in input order; checked when built, and immutable. A document is made when it is asked for."""

    __slots__ = ("_first", "_index", "partitions", "source")

    def __init__(self, records: Iterable[Document] = (), *, source: str = "", partition_size: int = PARTITION_SIZE) -> None:
        self.source = source
        self.partitions: tuple[Partition, ...] = ()
        try:
            for partition in _built(_with_checked_ids(records, source), partition_size):
                self.partitions += (partition,)
        except _IncompleteError as error:
            # A repeated id before the record at fault is the first error of the input.
            self.partitions += (error.partition,)
            self._index_ids()
            raise error.cause from None
        self._index_ids()

    def _index_ids(self) -> None:
        self._first = [partition.first for partition in self.partitions]
        self._index = IdIndex.of(self.partitions)
        self._check_ids_once()

    def _check_ids_once(self) -> None:
        repeats = [repeat for equal in self._index.equal_hashes() for repeat in self._repeats(equal)]
        if repeats:
            second, first = (self._partition_row(at) for at in min(repeats))
            line, first_line = (partition.lines[row] for partition, row in (second, first))
            where = f"line {first_line}" if first_line else "an earlier record"
            token = second[0].ids[second[1]]
            raise row_error("id-twice", source=self.source, line=int(line) or None, column="document", token=token, first=where)

    def _repeats(self, positions: Sequence[int]) -> Iterator[tuple[int, int]]:
        """The position of each document that repeats an id, and that of the id's first document."""
        seen: dict[bytes, int] = {}
        for position in positions:
            first = seen.setdefault(self._id_bytes(position), position)
            if first != position:
                yield position, first

    def _partition_row(self, position: int) -> tuple[Partition, int]:
        number = bisect_left(self._first, position + 1) - 1
        return self.partitions[number], position - self._first[number]

    def _id_bytes(self, position: int) -> bytes:
        partition, row = self._partition_row(position)
        return partition.ids.bytes_at(row)

    def _position(self, key: object) -> int | None:
        if not isinstance(key, str):
            return None
        wanted = key.encode(errors="surrogatepass")
        return next((at for at in self._index.candidates(wanted) if self._id_bytes(at) == wanted), None)

    def row_of(self, key: str) -> tuple[int, int]:
        """The number of the document's partition and its row in it."""
        position = self._position(key)
        if position is None:
            raise KeyError(key)
        partition, row = self._partition_row(position)
        return partition.number, row

    def __getitem__(self, key: str) -> Document:
        number, row = self.row_of(key)
        return self.partitions[number].document(row)

    def __contains__(self, key: object) -> bool:
        return self._position(key) is not None

    def __iter__(self) -> Iterator[str]:
        return (key for partition in self.partitions for key in partition.ids)

    def __len__(self) -> int:
        return sum(map(len, self.partitions))

    def __bool__(self) -> bool:
        return bool(self.partitions)

    def values(self) -> ValuesView[Document]:
        """The documents in input order."""
        return _DocumentsView(self)

    def items(self) -> ItemsView[str, Document]:
        """The ids with their documents in input order."""
        return _ItemsView(self)

    def documents(self) -> Iterator[Document]:
        """The documents in input order, each made when it is asked for."""
        return (document for partition in self.partitions for document in partition.documents())

    def fingerprint(self) -> str:
        """A sha256 of ids, titles, texts and fields, the same for any order of documents and any partitions."""
        total = sum(partition.digest for partition in self.partitions) % (1 << 8 * _DIGEST_BYTES)
        return hashlib.sha256(f"{len(self)} {total:064x}".encode()).hexdigest()

    def repartitioned(self, size: int) -> Corpus:
        """The same documents in partitions of that size."""
        return Corpus(self.documents(), source=self.source, partition_size=size)

    def _view(self) -> View:
        shown = ((one.id, clip_text(one.title, SHOWN_TITLE), clip_text(one.text, SHOWN_TEXT)) for one in self.documents())
        title = f"{type(self).__name__} {self.source}: {pluralise(len(self), 'text')}"
        return collection_view(title, (Column("id"), Column("title"), Column("text")), shown, len(self))
