"""Partitions of a corpus on file: written in one pass, found again by the state of the input, and mapped into memory."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import stat
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from rankproof._data import format_versions
from rankproof._data.corpus import (
    PARTITION_SIZE,
    Corpus,
    Document,
    DocumentColumns,
    Partition,
    Partitions,
    TextColumn,
    corpus_of_partitions,
)
from rankproof._data.partition_builder import PARTITION_BYTES, DocumentChunk, IdCheck, InputFile, PartitionBuilder, rows_by_id
from rankproof._io.array_files import ArrayBlocks, cache_io_error, open_arrays, write_arrays
from rankproof._io.cache_items import CacheHold, mark_used
from rankproof._io.open import Progress
from rankproof._io.paths import TemporaryPath, cache_home, temporary_folder, working_folder
from rankproof.errors import RankproofError

_TEXT_COLUMNS = ("ids", "titles", "texts", "fields")
_INDEX = "index.arrays"
_TICK_NANOSECONDS = 50_000_000
"""Two changes of a file within one tick of the clock may leave it with the same times."""


@dataclass(frozen=True, slots=True)
class CorpusStorage:
    """How documents are kept: those of a large corpus in files below `home`, a cache folder; None: in a temporary folder.

    A corpus with at most `most_in_memory` bytes of text has no files. `progress` is called while large files are read.
    """

    home: Path | None = field(default_factory=cache_home)
    partition_size: int = PARTITION_SIZE
    most_in_memory: int = 1 << 25
    progress: Progress | None = field(default=None, compare=False)

    def key(self, paths: Sequence[str]) -> str | None:
        """A key of the input files and their state; None where they cannot be found again."""
        states = [_file_state(path) for path in paths]
        if self.home is None or not paths or None in states:
            return None
        parts = [format_versions.CORPUS, self.partition_size, PARTITION_BYTES, states]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()

    def folder(self, key: str) -> Path:
        """The folder of the partitions of that key."""
        assert self.home is not None
        return self.home / "corpora" / key[:32]


def _file_state(path: str) -> list[Any] | None:
    """Path, device, inode, size and times of a regular file; None where it is none, or was changed just now."""
    try:
        state = os.stat(path)
    except OSError:
        return None
    if not stat.S_ISREG(state.st_mode) or time.time_ns() - max(state.st_ctime_ns, state.st_mtime_ns) < _TICK_NANOSECONDS:
        return None
    return [os.path.realpath(path), state.st_dev, state.st_ino, state.st_size, state.st_mtime_ns, state.st_ctime_ns]


class StoredPartition(Partition):
    """A partition on file; it is pickled as its path."""

    def __init__(self, path: Path, number: int, first: int, size: int, digest: int, folder: object = None) -> None:
        super().__init__(number, first, size, digest)
        self.path = path
        # Released with the last partition: a temporary folder is removed then, and a cache folder may be cleared.
        self._folder = folder

    def _opened_columns(self) -> DocumentColumns:
        arrays = open_arrays(self.path).arrays
        ids, titles, texts, fields = (TextColumn(arrays[f"{name}.offsets"], arrays[f"{name}.data"]) for name in _TEXT_COLUMNS)
        return DocumentColumns(ids, titles, texts, fields, arrays["lines"], arrays["entries"], arrays["order"])

    def release(self) -> None:
        """Closes the file until it is used again; columns that are still referred to keep it open."""
        self._columns = None

    def __reduce__(self) -> tuple[Any, ...]:
        return StoredPartition, (self.path, self.number, self.first, len(self), self.digest)


def write_partition(path: Path, builder: PartitionBuilder) -> None:
    """Writes the documents of the builder as a partition."""
    arrays: dict[str, Any] = {}
    for column, name in enumerate(_TEXT_COLUMNS):
        offsets = builder.offsets(column)
        arrays[f"{name}.offsets"] = offsets
        arrays[f"{name}.data"] = ArrayBlocks(np.dtype(np.uint8), (int(offsets[-1]),), builder.blocks(column))
    arrays |= {"lines": builder.lines(), "entries": builder.entries(), "order": rows_by_id(builder.column(0))}
    write_arrays(path, arrays)


class CorpusWriter:
    """Collects documents into partitions, in memory at first and in files where there are many."""

    def __init__(self, storage: CorpusStorage, paths: Sequence[str]) -> None:
        self._storage, self._paths, self._key = storage, paths, storage.key(paths)
        self._builder, self._bytes, self._files = PartitionBuilder(), 0, list[InputFile]()
        self._kept: list[PartitionBuilder] = []
        self._written: list[StoredPartition] = []
        self._folder: TemporaryPath | None = None
        self._hold: CacheHold | None = None

    def begin_file(self, name: str) -> None:
        """Says that the next documents are of the file of that name."""
        self._files.append(InputFile(self._builder.first + len(self._builder), name))

    @property
    def room(self) -> tuple[int, int]:
        """How many documents and bytes of text the current partition may still take."""
        return self._storage.partition_size - len(self._builder), PARTITION_BYTES - self._builder.bytes

    def add(self, document: Document) -> None:
        """Adds one document, whose id is checked."""
        self._builder.add(document)
        self._close_full()

    @property
    def open_partition(self) -> PartitionBuilder:
        """The partition that the next document belongs to."""
        return self._builder

    def newest_partition(self) -> Partition:
        """The last of the full partitions."""
        return self._kept[-1].partition() if self._kept else self._written[-1]

    def add_chunk(self, chunk: DocumentChunk) -> None:
        """Adds the documents of a chunk, which fit into the room."""
        self._builder.add_chunk(chunk)
        self._close_full()

    def _close_full(self) -> None:
        if self._builder.is_full(self._storage.partition_size):
            self._close_partition()

    def _close_partition(self) -> None:
        self._kept.append(self._builder)
        self._bytes += self._builder.bytes
        self._builder = self._builder.following()
        if self._bytes > self._storage.most_in_memory:
            self._write_kept()

    def _write_kept(self) -> None:
        folder = Path(self._open_folder().path)
        for builder in self._kept:
            path = folder / _partition_name(builder.number)
            write_partition(path, builder)
            self._written.append(StoredPartition(path, builder.number, builder.first, len(builder), builder.digest))
        self._kept.clear()

    def _open_folder(self) -> TemporaryPath:
        if self._folder is None:
            if self._storage.home is not None:
                self._hold = CacheHold(self._storage.home)
            self._folder = _new_folder(self._storage, self._key)
        return self._folder

    def check_ids(self, source: str) -> None:
        """Raises an error if an id among the documents so far occurs twice."""
        kept = [builder.partition() for builder in (*self._kept, self._builder)]
        IdCheck(Partitions([*self._written, *kept]), source, self._files).check()

    def corpus(self, source: str) -> Corpus:
        """The corpus of all documents."""
        if len(self._builder):
            self._close_partition()
        if self._folder is None:
            partitions = Partitions(builder.partition() for builder in self._kept)
            return corpus_of_partitions(partitions, IdCheck(partitions, source, self._files).entries(), source)
        self._write_kept()
        _write_index(Path(self._folder.path), self._written, source, self._files)
        # A file that is mapped into memory cannot be moved on Windows.
        self._written.clear()
        corpus = self._in_place(self._folder, source)
        self._folder = None
        return corpus

    def _in_place(self, folder: TemporaryPath, source: str) -> Corpus:
        """The corpus at its final place, or in a temporary folder where the input changed while it was read."""
        if self._key is None or self._storage.key(self._paths) != self._key:
            return open_corpus(Path(folder.path), source, keep=_TemporaryFolder(folder))
        final = self._storage.folder(self._key)
        try:
            os.rename(folder.path, final)
            folder.close()
        except OSError as error:
            # Another process may have read the same files meanwhile.
            if not (final / _INDEX).exists():
                raise cache_io_error(final, error) from None
            folder.remove()
        return open_corpus(final, source, keep=self._hold)

    def discard(self) -> None:
        """Removes the files of a corpus that is not finished."""
        self._written.clear()
        if self._folder is not None:
            self._folder.remove()
            self._folder = None


def _write_index(folder: Path, written: Sequence[StoredPartition], source: str, files: Sequence[InputFile] = ()) -> None:
    partitions = Partitions(written)
    check = IdCheck(partitions, source, files)
    facts = {"partitions": [[len(partition), f"{partition.digest:x}", os.stat(partition.path).st_size] for partition in written]}
    blocks = ArrayBlocks(np.dtype(np.uint64), (partitions.documents, 2), check.blocks())
    write_arrays(folder / _INDEX, {"entries": blocks}, facts)
    check.raise_repeat()


def indexed_corpus(folder: Path, partitions: Sequence[StoredPartition], source: str) -> Corpus:
    """The corpus of these partitions; the index of their ids is written into the folder, unless it is there."""
    if not (folder / _INDEX).exists():
        _write_index(folder, partitions, source)
    return corpus_of_partitions(Partitions(partitions), open_arrays(folder / _INDEX).arrays["entries"], source)


@contextlib.contextmanager
def writing_corpus(storage: CorpusStorage, paths: Sequence[str], source: str) -> Iterator[CorpusWriter]:
    """A writer; where the input has an error, an id that occurs twice before it is reported first, and no file is left."""
    writer = CorpusWriter(storage, paths)
    try:
        try:
            yield writer
        except RankproofError:
            writer.check_ids(source)
            raise
    finally:
        writer.discard()


def _partition_name(number: int) -> str:
    return f"{number:06d}.arrays"


def _new_folder(storage: CorpusStorage, key: str | None) -> TemporaryPath:
    """A folder to write into: beside its final place, or a temporary one; what killed passes left there is removed."""
    above = Path(tempfile.gettempdir()) if key is None else storage.folder(key).parent
    try:
        if key is None:
            return working_folder(os.fspath(above))
        above.mkdir(parents=True, exist_ok=True)
        return temporary_folder(os.fspath(above))
    except OSError as error:
        raise cache_io_error(above, error) from None


def find_corpus(storage: CorpusStorage, paths: Sequence[str], source: str) -> Corpus | None:
    """The corpus that an earlier pass over the same files has stored; one that lacks files is removed."""
    key = storage.key(paths)
    if key is None or not storage.folder(key).exists():
        return None
    assert storage.home is not None
    folder, hold = storage.folder(key), CacheHold(storage.home)
    with contextlib.suppress(OSError):
        os.stat(folder / _INDEX)
        corpus = open_corpus(folder, source, keep=hold)
        sizes = [os.stat(partition.path).st_size for partition in corpus.partitions if isinstance(partition, StoredPartition)]
        if sizes == [size for *_, size in _facts(folder)["partitions"]]:
            mark_used(folder)
            return corpus
    shutil.rmtree(folder, ignore_errors=True)
    return None


def _facts(folder: Path) -> Mapping[str, Any]:
    return open_arrays(folder / _INDEX).facts


class _TemporaryFolder:
    """Removes a folder when it is no longer used."""

    def __init__(self, folder: TemporaryPath) -> None:
        import weakref

        weakref.finalize(self, folder.remove)


def open_corpus(folder: Path, source: str, *, keep: _TemporaryFolder | CacheHold | None = None) -> Corpus:
    """The corpus in the folder; its partitions are opened on first use, and refer to `keep`."""
    index, first, partitions = open_arrays(folder / _INDEX), 0, []
    for number, (size, digest, _) in enumerate(index.facts["partitions"]):
        partitions.append(StoredPartition(folder / _partition_name(number), number, first, size, int(digest, 16), keep))
        first += size
    return corpus_of_partitions(Partitions(partitions), index.arrays["entries"], source)
