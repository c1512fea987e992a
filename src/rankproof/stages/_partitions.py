"""Search as a map over the partitions of the corpus and a merge of the best documents, with the same bits for any partitions."""

from __future__ import annotations

import hashlib
import io
import os
import pickle
import time
from collections.abc import Callable, Iterable, Iterator, Sized
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.util import find_spec
from itertools import islice
from pathlib import Path, PurePath
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from rankproof._data import format_versions
from rankproof._data.arrays import FloatArray, IntArray
from rankproof._data.corpus import Corpus, Partition, text_of_utf8
from rankproof._data.identity import identity_key
from rankproof._data.ordering import Ranking
from rankproof._executors.base import ONE_CORE, Report, Resources
from rankproof._io.array_files import open_arrays, write_arrays
from rankproof._version import __version__
from rankproof.stages._base import BuildContext, PartitionKind

StatisticsT = TypeVar("StatisticsT")
TotalsT = TypeVar("TotalsT")
QueriesT = TypeVar("QueriesT", bound=Sized)
IndexT = TypeVar("IndexT")
TotalsT_co = TypeVar("TotalsT_co", covariant=True)
QueriesT_contra = TypeVar("QueriesT_contra", bound=Sized, contravariant=True)
_PREPARED, _HITS = "prepared.arrays", "hits.arrays"
_MERGED_HITS = 1 << 21
"""The hits of partitions are merged as soon as there are more than this number."""
_ROW_BITS = 32
"""A place of a document is the number of its partition above these bits, and its row below."""
_SHARED_ID_RATIO = 4
"""Ids are decoded once and shared by the queries if there is at least one hit for so many documents."""


@dataclass(frozen=True, eq=False, slots=True)
class PartitionHits:
    """The best rows of a partition: `rows[q, :counts[q]]` are those of query `q`, best first; what is beyond has no meaning."""

    rows: NDArray[np.signedinteger[Any]]
    scores: FloatArray
    counts: IntArray


class PartitionIndex(Protocol[QueriesT_contra]):
    """The index of one partition."""

    def search(self, queries: QueriesT_contra, k: int) -> PartitionHits:
        """The k best rows for each query, or fewer; of equal scores the larger id comes first, as in `Partition.order`.

        A score has the same bits in any partition and in any batch.
        """
        ...


class PartitionPreparer(Protocol[StatisticsT, TotalsT_co]):
    """Prepares the files of each partition: a frozen value that can be pickled, for workers in other processes."""

    def prepare(self, partition: Partition, folder: Path, report: Report) -> StatisticsT:
        """Writes the files of the partition into the folder, unless they are there, and returns its statistics.

        Files are written atomically; work that a kill interrupted is continued. Reports the number of documents done.
        """
        ...

    def combine(self, statistics: Iterable[StatisticsT], folder: Path) -> TotalsT_co:
        """The statistics of all partitions together; the folder is for files of the whole corpus, which all workers see."""
        ...


class PartitionRetriever(PartitionPreparer[StatisticsT, TotalsT], Protocol[StatisticsT, TotalsT, QueriesT_contra]):
    """A retriever that works partition by partition."""

    def open(self, partition: Partition, folder: Path, totals: TotalsT) -> PartitionIndex[QueriesT_contra]:
        """The index of a partition that was prepared in the folder; files are mapped into memory."""
        ...


@dataclass(frozen=True, slots=True)
class _Place:
    """A partition, the folder of its files, and the file of its hits."""

    partition: Partition
    folder: Path
    hits: Path | None = None


@dataclass(frozen=True, slots=True)
class _Prepare(Generic[StatisticsT]):
    """Prepares one partition; the seconds of the first time are kept beside its files."""

    retriever: PartitionPreparer[StatisticsT, Any]

    def __call__(self, place: _Place, report: Report) -> tuple[StatisticsT, float]:
        start, kept = time.perf_counter(), place.folder / _PREPARED
        statistics = self.retriever.prepare(place.partition, place.folder, report)
        place.partition.release()
        # Written once: a cached partition reports the time of its first preparation.
        if not kept.exists():
            write_arrays(kept, {}, {"seconds": time.perf_counter() - start})
        return statistics, open_arrays(kept).facts["seconds"]


@dataclass(frozen=True, slots=True)
class _Search(Generic[TotalsT, QueriesT]):
    """Searches one partition and writes its hits, unless they are there."""

    retriever: PartitionRetriever[Any, TotalsT, QueriesT]
    totals: TotalsT
    queries: QueriesT
    k: int

    def __call__(self, place: _Place, report: Report) -> Path:
        assert place.hits is not None
        if not place.hits.exists():
            start = time.perf_counter()
            hits = self.retriever.open(place.partition, place.folder, self.totals).search(self.queries, self.k)
            arrays = {"rows": hits.rows, "scores": hits.scores, "counts": hits.counts}
            write_arrays(place.hits, arrays, {"seconds": time.perf_counter() - start})
        report(len(place.partition))
        place.partition.release()
        return place.hits


def document_places(partition: Partition) -> NDArray[np.int32]:
    """The position of each row among documents of equal score: larger ids first."""
    places = np.empty(len(partition), np.int32)
    places[partition.order] = np.arange(len(partition), dtype=np.int32)
    return places


def partition_key(partition: Partition) -> str:
    """A key of the documents of the partition and their order: its files have one entry a row."""
    order = hashlib.sha256(np.ascontiguousarray(partition.order).tobytes()).hexdigest()
    return f"{len(partition)} {partition.digest:x} {order}"


class _KeyPickler(pickle.Pickler):
    """Gives equal paths equal bytes; Python 3.12 and later pickle the parts that a path was made of."""

    def reducer_override(self, obj: Any) -> Any:
        """A path by its text; anything else as pickle does it."""
        return (type(obj), (os.fspath(obj),)) if isinstance(obj, PurePath) else NotImplemented


def _retriever_key(retriever: object) -> str:
    """A key of the settings of a retriever; one that cannot be pickled has a new key each time."""
    written = io.BytesIO()
    try:
        _KeyPickler(written).dump(retriever)
        content = written.getvalue()
    except (pickle.PicklingError, TypeError, AttributeError):
        content = os.urandom(32)
    return identity_key(__version__, format_versions.STAGE_CACHE, hashlib.sha256(content).hexdigest())


def _queries_key(queries: object) -> str:
    if isinstance(queries, np.ndarray):
        content = hashlib.sha256(np.ascontiguousarray(queries).tobytes()).hexdigest()
        return identity_key(queries.dtype.str, queries.shape, content)
    return identity_key(queries)


def _read_hits(path: Path) -> PartitionHits:
    arrays = open_arrays(path).arrays
    return PartitionHits(arrays["rows"], arrays["scores"], arrays["counts"])


class PreparedPartitions(Generic[StatisticsT, TotalsT]):
    """The files of all partitions of the corpus; `key` identifies what is prepared, and `label` is shown meanwhile."""

    def __init__(
        self,
        context: BuildContext,
        preparer: PartitionPreparer[StatisticsT, TotalsT],
        key: str,
        *,
        label: str,
        kind: PartitionKind = "indexes",
        resources: Resources = ONE_CORE,
    ) -> None:
        self._context, self._preparer, self._label, self._kind, self._resources = context, preparer, label, kind, resources
        self._keys = [identity_key("partition", key, partition_key(partition)) for partition in context.corpus.partitions]
        self.seconds = 0.0

    def prepare_all(self) -> TotalsT:
        """The statistics of the whole corpus, after every partition is prepared; `seconds` is the time that this took once."""
        context = self._context
        prepared = context.executor.map(
            _Prepare(self._preparer),
            self._places,
            label=self._label,
            total=len(context.corpus),
            progress=context.progress,
            resources=self._resources,
        )
        start, self.seconds = time.perf_counter(), 0.0
        self.totals = self._preparer.combine(self._statistics(prepared), self._shared)
        self.seconds += time.perf_counter() - start
        return self.totals

    def _statistics(self, prepared: Iterator[tuple[StatisticsT, float]]) -> Iterator[StatisticsT]:
        """The statistics of each partition; the time of preparing it counts once, and not the time of waiting for it."""
        start = time.perf_counter()
        for statistics, seconds in prepared:
            self.seconds += seconds - (time.perf_counter() - start)
            yield statistics
            start = time.perf_counter()

    def open_all(self, open_one: Callable[[Partition, Path, TotalsT], IndexT]) -> list[IndexT]:
        """Each partition, opened by this function."""
        return [open_one(place.partition, place.folder, self.totals) for place in self._places]

    def size(self) -> int:
        """The bytes of all files."""
        folders = dict.fromkeys([self._shared, *(place.folder for place in self._places)])
        return sum(file.stat().st_size for folder in folders for file in folder.iterdir() if file.name != _PREPARED)

    @cached_property
    def _places(self) -> list[_Place]:
        return [
            _Place(partition, self._folder(key))
            for partition, key in zip(self._context.corpus.partitions, self._keys, strict=True)
        ]

    @cached_property
    def _shared(self) -> Path:
        return self._folder(identity_key("all partitions", self._keys))

    def _folder(self, key: str) -> Path:
        return self._context.block_cache.partition_folder(key, self._kind)


class PartitionedSearch(PreparedPartitions[StatisticsT, TotalsT], Generic[StatisticsT, TotalsT, QueriesT]):
    """A retriever over all partitions of the corpus."""

    def __init__(
        self,
        context: BuildContext,
        retriever: PartitionRetriever[StatisticsT, TotalsT, QueriesT],
        key: str,
        *,
        label: str,
        kind: PartitionKind = "indexes",
        resources: Resources = ONE_CORE,
    ) -> None:
        super().__init__(context, retriever, key, label=label, kind=kind, resources=resources)
        self._retriever = retriever

    def search_all(self, queries: QueriesT, k: int) -> list[Ranking]:
        """The rankings of a batch, by the executor.

        The hits of a partition stay on disk until the stage is cached, so that a killed run goes on with the next partition.
        """
        if len(self._places) < 2:
            return self.search_here(queries, k)
        context = self._context
        key = identity_key(self._keys, _retriever_key(self._retriever), _queries_key(queries), k)
        folder = context.block_cache.hits_folder(key)
        places = [_Place(place.partition, place.folder, folder / f"{place.partition.number}.{_HITS}") for place in self._places]
        saved = [open_arrays(place.hits).facts["seconds"] for place in places if place.hits and place.hits.exists()]
        # The workers searched partitions side by side, so the saved time is shared among them.
        context.block_cache.add_saved_seconds(sum(saved) / min(context.executor.workers, len(places)))
        files = context.executor.map(
            _Search(self._retriever, self.totals, queries, k),
            places,
            label="searching partitions",
            total=len(context.corpus),
            progress=context.progress,
            resources=self._resources,
        )
        return merge_rankings(context.corpus, map(_read_hits, files), len(queries), k)

    def search_one(self, query: QueriesT, k: int) -> Ranking:
        """The ranking of a batch of one query, in this process: for its latency."""
        return self.search_here(query, k)[0]

    def search_here(self, queries: QueriesT, k: int) -> list[Ranking]:
        """The rankings of a batch, in this process."""
        hits = (index.search(queries, k) for index in self._indexes)
        return merge_rankings(self._context.corpus, hits, len(queries), k)

    @cached_property
    def _indexes(self) -> list[PartitionIndex[QueriesT]]:
        return self.open_all(self._retriever.open)


class _Hits(NamedTuple):
    """The hits of each query, best first: partition and row of the documents, their scores, and the number of hits."""

    places: NDArray[np.int64]
    scores: FloatArray
    counts: NDArray[np.int64]

    @classmethod
    def of(cls, number: int, hits: PartitionHits) -> _Hits:
        """The hits of one partition."""
        places = np.ascontiguousarray(hits.rows, np.int64) | number << _ROW_BITS
        return cls(places, np.ascontiguousarray(hits.scores, np.float64), np.ascontiguousarray(hits.counts, np.int64))

    @classmethod
    def empty(cls, queries: int, width: int) -> _Hits:
        """Room for so many hits of each query."""
        return cls(np.empty((queries, width), np.int64), np.empty((queries, width)), np.zeros(queries, np.int64))


def merge_rankings(
    corpus: Corpus, hits_of_partitions: Iterable[PartitionHits], queries: int, k: int, *, merge: HitMerge | None = None
) -> list[Ranking]:
    """The k best documents of all partitions for each query, by score and then by id, larger first.

    `found` has the hits of each partition, in order. Those of a large batch are merged as they come, so that few are in memory.
    """
    merge = merge or (NativeMerge(corpus) if _has_native_merge() else ReferenceMerge(corpus))
    parts: list[_Hits] = []
    for number, hits in enumerate(hits_of_partitions):
        parts.append(_Hits.of(number, hits))
        if sum(part.scores.size for part in parts) > _MERGED_HITS:
            parts = [_merged(merge, parts, queries, k)]
    best = _merged(merge, parts, queries, k)
    docs = merge.ids(best)
    return [(ids, scores[: len(ids)].copy()) for ids, scores in zip(docs, best.scores, strict=True)]


def _merged(merge: HitMerge, parts: list[_Hits], queries: int, k: int) -> _Hits:
    if len(parts) == 1:
        return parts[0]
    best = _Hits.empty(queries, min(k, sum(part.scores.shape[1] for part in parts)))
    merge.merge(parts, best)
    return best


class HitMerge(Protocol):
    """Merges the hits of partitions and reads their ids."""

    def merge(self, parts: list[_Hits], best: _Hits) -> None:
        """Writes the best hits of all parts, as many as there is room for."""
        ...

    def ids(self, hits: _Hits) -> list[list[str]]:
        """The ids of the hits of each query."""
        ...


@cache
def _has_native_merge() -> bool:
    return find_spec("rankproof._native.merge") is not None


class NativeMerge(HitMerge):
    """Merges in C; ids are compared only where scores are equal, and only those of the best hits are decoded."""

    def __init__(self, corpus: Corpus) -> None:
        self._corpus = corpus

    def merge(self, parts: list[_Hits], best: _Hits) -> None:
        from rankproof._native import merge

        merge.merge_hits(self._id_columns(), list(parts), len(best.counts), best)

    def ids(self, hits: _Hits) -> list[list[str]]:
        """The ids of the hits of each query; in a large batch an id that occurs often is decoded once."""
        from rankproof._native import merge

        is_shared = _SHARED_ID_RATIO * int(hits.counts.sum()) >= len(self._corpus)
        return merge.hit_ids(self._id_columns(), hits, len(hits.counts), is_shared)

    def _id_columns(self) -> list[tuple[NDArray[np.int64], NDArray[np.uint8]]]:
        return [(partition.ids.offsets, partition.ids.data) for partition in self._corpus.partitions]


class ReferenceMerge(HitMerge):
    """Merges in Python: the definition of what the C extension computes, and its replacement where it was not built."""

    def __init__(self, corpus: Corpus) -> None:
        self._corpus = corpus

    def merge(self, parts: list[_Hits], best: _Hits) -> None:
        for query, (places, scores) in enumerate(zip(best.places, best.scores, strict=True)):
            ranked = (zip(part.scores[query].tolist(), part.places[query].tolist(), strict=True) for part in parts)
            hits = [
                hit for part, ranked_part in zip(parts, ranked, strict=True) for hit in islice(ranked_part, part.counts[query])
            ]
            kept = sorted(hits, key=lambda hit: (hit[0], self._id(hit[1])), reverse=True)[: len(scores)]
            best.counts[query] = len(kept)
            scores[: len(kept)], places[: len(kept)] = [score for score, _ in kept], [place for _, place in kept]

    def ids(self, hits: _Hits) -> list[list[str]]:
        rows = zip(hits.places.tolist(), hits.counts.tolist(), strict=True)
        return [[text_of_utf8(self._id(place)) for place in places[:count]] for places, count in rows]

    def _id(self, place: int) -> bytes:
        partition: Partition = self._corpus.partitions[place >> _ROW_BITS]
        return partition.ids.bytes_at(place & (1 << _ROW_BITS) - 1)
