"""Search as a map over the partitions of the corpus and a merge of the best documents, with the same bits for any partitions."""

from __future__ import annotations

import hashlib
import os
import pickle
import time
from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from rankproof._data import format_versions
from rankproof._data.arrays import FloatArray, IntArray
from rankproof._data.corpus import Corpus, Partition, decoded
from rankproof._data.identity import identity_key
from rankproof._data.ordering import Ranking
from rankproof._executors.base import ONE_CORE, Report, Resources
from rankproof._io.array_file import open_arrays, write_arrays
from rankproof._version import __version__
from rankproof.stages._base import BuildContext, PartitionKind

StatisticsT = TypeVar("StatisticsT")
TotalsT = TypeVar("TotalsT")
QueriesT = TypeVar("QueriesT", bound=Sized)
IndexT = TypeVar("IndexT")
TotalsT_co = TypeVar("TotalsT_co", covariant=True)
QueriesT_contra = TypeVar("QueriesT_contra", bound=Sized, contravariant=True)
_PREPARED, _HITS = "prepared.arrays", "hits.arrays"
_MERGED_HITS = 1 << 18
"""The number of hits that are sorted at once."""


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
            found = self.retriever.open(place.partition, place.folder, self.totals).search(self.queries, self.k)
            arrays = {"rows": found.rows, "scores": found.scores, "counts": found.counts}
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


def _retriever_key(retriever: object) -> str:
    """A key of the settings of a retriever; one that cannot be pickled has a new key each time."""
    try:
        content = pickle.dumps(retriever)
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
        self._keys = [identity_key("partition", key, partition_key(one)) for one in context.corpus.partitions]
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

    def opened(self, open_one: Callable[[Partition, Path, TotalsT], IndexT]) -> list[IndexT]:
        """Each partition, opened by this function."""
        return [open_one(place.partition, place.folder, self.totals) for place in self._places]

    def size(self) -> int:
        """The bytes of all files."""
        folders = dict.fromkeys([self._shared, *(place.folder for place in self._places)])
        return sum(file.stat().st_size for folder in folders for file in folder.iterdir() if file.name != _PREPARED)

    @cached_property
    def _places(self) -> list[_Place]:
        return [_Place(one, self._folder(key)) for one, key in zip(self._context.corpus.partitions, self._keys, strict=True)]

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
        places = [_Place(one.partition, one.folder, folder / f"{one.partition.number}.{_HITS}") for one in self._places]
        saved = [open_arrays(one.hits).facts["seconds"] for one in places if one.hits and one.hits.exists()]
        context.block_cache.add_saved_seconds(sum(saved) / min(context.executor.workers, len(places)))
        found = context.executor.map(
            _Search(self._retriever, self.totals, queries, k),
            places,
            label="searching partitions",
            total=len(context.corpus),
            progress=context.progress,
            resources=self._resources,
        )
        return merge_rankings(context.corpus, map(_read_hits, found), len(queries), k)

    def search_one(self, query: QueriesT, k: int) -> Ranking:
        """The ranking of a batch of one query, in this process: for its latency."""
        return self.search_here(query, k)[0]

    def search_here(self, queries: QueriesT, k: int) -> list[Ranking]:
        """The rankings of a batch, in this process."""
        found = (index.search(queries, k) for index in self._indexes)
        return merge_rankings(self._context.corpus, found, len(queries), k)

    @cached_property
    def _indexes(self) -> list[PartitionIndex[QueriesT]]:
        return self.opened(self._retriever.open)


@dataclass(frozen=True, eq=False, slots=True)
class _Merged:
    """The best documents so far: partition and row, and the scores, best first, with -inf beyond the last document."""

    numbers: NDArray[np.int32]
    rows: NDArray[np.signedinteger[Any]]
    scores: FloatArray

    @classmethod
    def of(cls, number: int, hits: PartitionHits) -> _Merged:
        """The hits of one partition."""
        is_hit = np.arange(hits.scores.shape[1]) < np.asarray(hits.counts)[:, np.newaxis]
        return cls(np.full(hits.rows.shape, number, np.int32), hits.rows, np.where(is_hit, hits.scores, -np.inf))

    def of_queries(self, some: slice) -> _Merged:
        """Those of some queries."""
        return _Merged(self.numbers[some], self.rows[some], self.scores[some])


def merge_rankings(corpus: Corpus, found: Iterable[PartitionHits], queries: int, k: int) -> list[Ranking]:
    """The k best documents of all partitions for each query, by score and then by id, larger first.

    `found` has the hits of each partition, in order. Those of a large batch are merged as they come, so that few are in memory.
    """
    parts = [_Merged(np.zeros((queries, 0), np.int32), np.zeros((queries, 0), np.int32), np.zeros((queries, 0)))]
    for number, hits in enumerate(found):
        parts.append(_Merged.of(number, hits))
        if sum(part.scores.size for part in parts) > _MERGED_HITS:
            parts = [_merged(parts, corpus, k)]
    return _rankings(_merged(parts, corpus, k), corpus)


def _merged(parts: Sequence[_Merged], corpus: Corpus, k: int) -> _Merged:
    """The k best documents, for some queries at a time."""
    filled = [part for part in parts if part.scores.shape[1]] or parts[:1]
    if len(filled) == 1:
        return filled[0]
    width = sum(part.scores.shape[1] for part in filled)
    step = max(1, _MERGED_HITS // width)
    slices = [slice(start, start + step) for start in range(0, len(filled[0].scores), step)]
    blocks = [_merged_block([part.of_queries(some) for part in filled], corpus, k) for some in slices]
    columns = ((getattr(block, name) for block in blocks) for name in ("numbers", "rows", "scores"))
    return _Merged(*(np.concatenate(list(column)) for column in columns)) if blocks else filled[0]


def _merged_block(parts: Sequence[_Merged], corpus: Corpus, k: int) -> _Merged:
    """The k best documents; each part is in order already, which makes the stable sort linear."""
    scores = np.concatenate([part.scores for part in parts], axis=1)
    order = np.argsort(-scores, axis=1, kind="stable")
    each = [np.concatenate([getattr(part, name) for part in parts], axis=1) for name in ("numbers", "rows")]
    numbers, rows, scores = (np.take_along_axis(values, order, axis=1) for values in (*each, scores))
    source = np.repeat(np.arange(len(parts)), [part.scores.shape[1] for part in parts])[order]
    lowest = np.maximum(scores[:, [min(k, scores.shape[1]) - 1]], np.finfo(np.float64).min)
    tied = (scores[:, 1:] == scores[:, :-1]) & (source[:, 1:] != source[:, :-1]) & (scores[:, 1:] >= lowest)
    for query, score in dict.fromkeys((query, scores[query, at]) for query, at in np.argwhere(tied).tolist()):
        _sort_ties(numbers[query], rows[query], scores[query], score, corpus)
    return _Merged(numbers[:, :k].copy(), rows[:, :k].copy(), scores[:, :k].copy())


def _sort_ties(
    numbers: NDArray[np.int32], rows: NDArray[np.signedinteger[Any]], scores: FloatArray, score: float, corpus: Corpus
) -> None:
    """Sorts the documents of that score in place, larger id first."""
    start, end = (int(np.searchsorted(-scores, -score, side)) for side in ("left", "right"))
    places = zip(numbers[start:end].tolist(), rows[start:end].tolist(), strict=True)
    by_id = sorted(places, key=lambda place: corpus.partitions[place[0]].ids.bytes_at(place[1]), reverse=True)
    numbers[start:end], rows[start:end] = zip(*by_id, strict=True)


def _ids(partition: Partition, rows: NDArray[np.signedinteger[Any]]) -> NDArray[Any]:
    """The ids of the rows; a row that occurs often is decoded once."""
    bytes_at = partition.ids.bytes_at
    if len(rows) < len(partition):
        return np.array([decoded(bytes_at(row)) for row in rows.tolist()], dtype=object)
    is_wanted = np.zeros(len(partition), dtype=bool)
    is_wanted[rows] = True
    ids = np.empty(len(partition), dtype=object)
    ids[is_wanted] = [decoded(bytes_at(row)) for row in np.flatnonzero(is_wanted).tolist()]
    found: NDArray[Any] = ids[rows]
    return found


def _rankings(best: _Merged, corpus: Corpus) -> list[Ranking]:
    is_hit = best.scores > -np.inf
    numbers, rows = best.numbers[is_hit], best.rows[is_hit]
    docs, starts = np.empty(len(rows), dtype=object), [0, *np.cumsum(is_hit.sum(axis=1)).tolist()]
    for number in np.unique(numbers).tolist():
        chosen = numbers == number
        docs[chosen] = _ids(corpus.partitions[number], rows[chosen])
    return [
        (docs[start:end].tolist(), scores[: end - start].copy())
        for (start, end), scores in zip(pairwise(starts), best.scores, strict=True)
    ]
