"""Documents to partitions in memory: columns, digests, order, and the check that no id occurs twice."""

from __future__ import annotations

import hashlib
import struct
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankproof._data.arrays import Entries, equal_hashes, has_native_scanner, id_hash, merged_entries, sorted_entries
from rankproof._data.corpus import DIGESTS, Document, DocumentColumns, Partition, Partitions, TextColumn, text_of_utf8
from rankproof._data.row_errors import row_error
from rankproof._data.validation import checked_id
from rankproof.errors import InputError, RankproofError, UsageError, for_message

PARTITION_BYTES = 1 << 28
"""A partition with this many bytes of text is full."""
_DIGEST_BYTES = 32
_SINGLE_DOCUMENTS = 4096
"""So many documents are objects before they are joined to columns."""
_LENGTHS = struct.Struct("<4Q")


@dataclass(frozen=True, slots=True)
class InputFile:
    """A file of a corpus, and the position of its first document."""

    first: int
    name: str


def document_digest(parts: Sequence[bytes]) -> int:
    """The digest of id, title, text and fields (JSON with sorted keys), as an integer of 256 bits."""
    # With the lengths, no text can move from title to text without changing the digest.
    content = b"".join((_LENGTHS.pack(*map(len, parts)), *parts))
    return int.from_bytes(hashlib.blake2b(content, digest_size=_DIGEST_BYTES).digest(), "little")


def fields_json(fields: Mapping[str, Any]) -> tuple[bytes, bytes]:
    """The fields as compact JSON in their order and with sorted keys; a value that is not of JSON becomes its text."""
    if not fields:
        return b"", b""
    in_order, sorted_by_key = _encoders()
    kept = in_order(dict(fields))
    if len(fields) == 1 and all(type(item) is str for pair in fields.items() for item in pair):
        return kept.encode(), kept.encode()
    return kept.encode(), sorted_by_key(kept).encode()


@cache
def _encoders() -> tuple[Callable[[Any], str], Callable[[str], str]]:
    """Values as compact JSON, in which one that is not of JSON is its text, and compact JSON with its keys sorted."""
    import json

    in_order = json.JSONEncoder(separators=(",", ":"), default=str)
    by_key = json.JSONEncoder(separators=(",", ":"), sort_keys=True)
    return in_order.encode, lambda text: by_key.encode(json.loads(text))


class DocumentChunk(NamedTuple):
    """Some documents that were read at once: for ids, titles, texts and fields the bytes and where each text ends."""

    columns: Sequence[tuple[bytes, NDArray[np.int64]]]
    lines: NDArray[np.int64]
    hashes: NDArray[np.uint64]
    digest: int


class PartitionBuilder:
    """Collects the documents of one partition in memory."""

    def __init__(self, number: int = 0, first: int = 0) -> None:
        self.number, self.first, self.bytes, self._size, self._digest = number, first, 0, 0, 0
        self._chunks: list[DocumentChunk] = []
        self._chunk_ends: list[int] = []
        """The row after the last one of each chunk."""
        self._single: list[tuple[Sequence[bytes], int, int]] = []

    def __len__(self) -> int:
        return self._size

    def is_full(self, size: int) -> bool:
        """Whether the partition has that many documents, or much text."""
        return self._size >= size or self.bytes >= PARTITION_BYTES

    def following(self) -> PartitionBuilder:
        """The builder of the next partition."""
        return PartitionBuilder(self.number + 1, self.first + len(self))

    def add(self, record: Document) -> None:
        """Adds one document, whose id is checked."""
        try:
            kept, in_order = fields_json(record.fields)
            parts = [text.encode(errors="surrogatepass") for text in (record.id, record.title, record.text)]
        except (TypeError, ValueError, RecursionError, AttributeError) as error:
            what = f"document {for_message(record.id)} cannot be stored ({for_message(str(error))})"
            raise UsageError(what, fix="pass title and text as text, and fields as values of JSON") from None
        self._single.append(((*parts, kept), record.line or 0, id_hash(parts[0])))
        if len(self._single) == _SINGLE_DOCUMENTS:
            self._join_single()
        self._count(1, sum(map(len, (*parts, kept))), document_digest((*parts, in_order)))

    def content_at(self, row: int) -> tuple[str, str, bytes]:
        """Title, text and fields (JSON) of a document."""
        chunk = bisect_right(self._chunk_ends, row)
        place = row - (self._chunk_ends[chunk - 1] if chunk else 0)
        if chunk == len(self._chunks):
            _, title, text, fields = self._single[place][0]
        else:
            _, title, text, fields = (_text_at(column, place) for column in self._chunks[chunk].columns)
        return text_of_utf8(title), text_of_utf8(text), fields

    def add_chunk(self, chunk: DocumentChunk) -> None:
        """Adds the documents of the chunk."""
        if len(chunk.lines):
            self._join_single()
            self._append_chunk(chunk)
            self._count(len(chunk.lines), sum(len(data) for data, _ in chunk.columns), chunk.digest)

    def _count(self, size: int, count: int, digest: int) -> None:
        self._size, self.bytes = self._size + size, self.bytes + count
        # A sum, so that the fingerprint depends neither on the order of documents nor on partitions.
        self._digest = (self._digest + digest) % DIGESTS

    def _join_single(self) -> None:
        if self._single:
            texts, lines, hashes = zip(*self._single, strict=True)
            columns = [(b"".join(column), np.cumsum([len(text) for text in column])) for column in zip(*texts, strict=True)]
            self._append_chunk(DocumentChunk(columns, np.array(lines), np.array(hashes, dtype=np.uint64), 0))
            self._single = []

    def _append_chunk(self, chunk: DocumentChunk) -> None:
        self._chunks.append(chunk)
        self._chunk_ends.append((self._chunk_ends[-1] if self._chunk_ends else 0) + len(chunk.lines))

    @property
    def digest(self) -> int:
        """The sum of the digests of all documents."""
        return self._digest

    def blocks(self, column: int) -> Iterator[NDArray[np.uint8]]:
        """The bytes of a column, block by block."""
        self._join_single()
        return (np.frombuffer(chunk.columns[column][0], dtype=np.uint8) for chunk in self._chunks)

    def offsets(self, column: int) -> NDArray[np.int64]:
        """Where each text of a column begins, and the end of the last."""
        self._join_single()
        parts, before = [np.zeros(1, dtype=np.int64)], 0
        for chunk in self._chunks:
            data, ends = chunk.columns[column]
            parts.append(ends + before)
            before += len(data)
        return np.concatenate(parts)

    def lines(self) -> NDArray[np.int64]:
        """The line of each document."""
        self._join_single()
        return np.concatenate([np.zeros(0, dtype=np.int64), *(chunk.lines for chunk in self._chunks)])

    def entries(self) -> Entries:
        """The entries of the ids."""
        self._join_single()
        return sorted_entries(np.concatenate([np.zeros(0, dtype=np.uint64), *(chunk.hashes for chunk in self._chunks)]))

    def column(self, column: int) -> TextColumn:
        """A whole column."""
        return TextColumn(self.offsets(column), np.concatenate([np.zeros(0, dtype=np.uint8), *self.blocks(column)]))

    def partition(self) -> Partition:
        """The partition of all documents that were added, in memory."""
        ids, titles, texts, fields = map(self.column, range(4))
        columns = DocumentColumns(ids, titles, texts, fields, self.lines(), self.entries(), rows_by_id(ids))
        return Partition(self.number, self.first, len(self), self.digest, columns)


def _text_at(column: tuple[bytes, NDArray[np.int64]], row: int) -> bytes:
    data, ends = column
    return data[int(ends[row - 1]) if row else 0 : int(ends[row])]


def rows_by_id(ids: TextColumn) -> NDArray[np.int32]:
    """The rows, larger ids first in the order of bytes."""
    if has_native_scanner():
        from rankproof._native import documents

        return np.frombuffer(documents.order(ids.offsets, ids.data), dtype=np.int32)
    return np.array(sorted(range(len(ids)), key=ids.bytes_at, reverse=True), dtype=np.int32)


class _IncompleteError(Exception):
    """A record is refused; `partition` has the documents before it that are in no full partition."""

    def __init__(self, partition: Partition, cause: RankproofError) -> None:
        super().__init__(str(cause))
        self.partition, self.cause = partition, cause


def build_partitions(records: Iterable[Document], source: str, size: int) -> Partitions:
    """The records as partitions in memory, the last one smaller; a repeated id before a refused record is the first error."""
    built: list[Partition] = []
    try:
        built.extend(_built(with_checked_ids(records, source), size))
    except _IncompleteError as error:
        IdCheck(Partitions([*built, error.partition]), source).check()
        raise error.cause from None
    return Partitions(built)


def with_checked_ids(records: Iterable[Document], source: str) -> Iterator[Document]:
    """The records with ids as text; a wrong id is an error."""
    for record in records:
        key = checked_id(record.id, "document", source=source, line=record.line)
        yield record if key is record.id else replace(record, id=key)


def _built(records: Iterator[Document], size: int) -> Iterator[Partition]:
    builder = PartitionBuilder()
    try:
        for record in records:
            if builder.is_full(size):
                yield builder.partition()
                builder = builder.following()
            builder.add(record)
    except RankproofError as error:
        raise _IncompleteError(builder.partition(), error) from None
    if len(builder):
        yield builder.partition()


class IdCheck:
    """Merges the entries of all partitions, and finds the first document whose id occurs before."""

    def __init__(self, partitions: Partitions, source: str, files: Sequence[InputFile] = ()) -> None:
        self._partitions, self._source, self._files = partitions, source, files
        self._first_repeat: tuple[int, int] | None = None

    def blocks(self) -> Iterator[Entries]:
        """The entries in ascending order, block by block."""
        for block in merged_entries([(partition.first, partition.columns.entries) for partition in self._partitions]):
            for positions in equal_hashes(block):
                self._note_repeats(positions)
            yield block

    def check(self) -> None:
        """Raises an error with both lines if an id occurs twice."""
        for _ in self.blocks():
            pass
        self.raise_repeat()

    def entries(self) -> Entries:
        """All entries, in memory; a repeated id is an error."""
        entries = np.concatenate(list(self.blocks()))
        self.raise_repeat()
        return entries

    def _note_repeats(self, positions: Sequence[int]) -> None:
        seen: dict[bytes, int] = {}
        for position in positions:
            first = seen.setdefault(self._partitions.id_at(position), position)
            if first != position and (self._first_repeat is None or position < self._first_repeat[0]):
                self._first_repeat = position, first

    def raise_repeat(self) -> None:
        """Raises the error of a repeated id in the blocks so far."""
        if self._first_repeat is not None:
            raise self._repeat_error(*self._first_repeat)

    def _repeat_error(self, position: int, first: int) -> InputError:
        (partition, row), (other, other_row) = self._partitions.at(position), self._partitions.at(first)
        source, first_source = self._source_of(position), self._source_of(first)
        line, first_line = int(partition.lines[row]), int(other.lines[other_row])
        where = f"line {first_line}" if source == first_source else f"{first_source}:{first_line}"
        return row_error(
            "id-twice",
            source=source,
            line=line or None,
            column="document",
            token=partition.ids[row],
            first=where if first_line else "an earlier record",
        )

    def _source_of(self, position: int) -> str:
        return next((file.name for file in reversed(self._files) if file.first <= position), self._source)
