"""Vectors of passages: encoded partition by partition, kept in array files, and searched there."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from heapq import merge
from itertools import count, islice, repeat
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankproof._data import format_versions
from rankproof._data.arrays import FloatArray, IntArray, Matrix
from rankproof._data.corpus import Partition, text_of_utf8
from rankproof._data.identity import identity_key
from rankproof._data.ordering import Ranking
from rankproof._data.text import pluralise
from rankproof._executors.base import Report, Resources, SerialExecutor
from rankproof._io.array_files import Block, Journal, open_arrays, write_arrays
from rankproof._llm.budget import BudgetError, CallTotals, money_of
from rankproof._llm.embedding import CountingEncoder, load_encoder
from rankproof._llm.session import LLMSession
from rankproof._statistics.collapse import CosineSums
from rankproof._version import __version__
from rankproof.errors import for_message
from rankproof.models._api.embedding import EmbeddingApi
from rankproof.models._api.settings import ModelRequestError
from rankproof.models._base import Encoder, EncoderModel, remote_code_note
from rankproof.models._device import chosen_device, place
from rankproof.stages._base import BuildContext
from rankproof.stages._fields import BUILT_IN_FIELDS, check_known_fields, passages_of
from rankproof.stages._partitions import PartitionedSearch, PartitionHits, document_places
from rankproof.stages._text_vectors import add_prompt, is_blank, text_vectors
from rankproof.stores._base import checked_lengths, checked_vectors
from rankproof.stores._memory import VectorRows, best_kernel, nearest, nearest_by_torch, rounded_dots

FIRST_BLOCK, LARGEST_BLOCK = 256, 1 << 16
BLOCK_SECONDS, SAVE_SECONDS = 2.0, 10.0
"""Blocks grow until one takes BLOCK_SECONDS; finished blocks are saved every SAVE_SECONDS, so a kill loses no more work."""
FILE = "vectors.arrays"
_BLOCK_COUNTS = ("empty", "truncated", "calls", "tokens", "estimated")


@dataclass(frozen=True)
class PassageEncoder:
    """A model and the passages that it encodes; the loaded model stays in its process.

    `session` is for an embedding API, which is called in this process alone.
    """

    model: EncoderModel
    prompt: str
    fields: tuple[str, ...]
    threads: int
    session: LLMSession | None = field(default=None, compare=False, kw_only=True)

    @cached_property
    def encoder(self) -> Encoder:
        """The loaded model."""
        return load_encoder(self.model, self.session or LLMSession(), self.threads)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), tuple(getattr(self, setting.name) for setting in fields(self) if not setting.kw_only)

    def key(self, kind: str) -> str:
        """The cache key of what is encoded, without the documents."""
        code = __version__, format_versions.STAGE_CACHE
        return identity_key(kind, *code, self.model, self.prompt, list(self.fields))

    def encode(
        self, partition: Partition, path: Path, make: Callable[[list[str]], Block], report: Report, *, save_seconds: float
    ) -> list[tuple[Block, float]]:
        """The passages in blocks, shortest first, from the journal or encoded, each with the seconds that it took.

        `rows` of a block are its documents. Blocks that took less than `save_seconds` together are not in the journal.
        """
        rows, size, unsaved = self._rows_by_length(partition), FIRST_BLOCK, list[tuple[Block, float]]()
        with Journal(path) as journal:
            done = sum(len(record.block["rows"]) for record in journal.records())
            report(done)
            while done < len(rows):
                unsaved.append(self._timed_block(partition, rows[done : done + size], make))
                report(min(size, len(rows) - done))
                done += size
                size = min(2 * size, LARGEST_BLOCK) if unsaved[-1][1] < BLOCK_SECONDS else size
                if sum(seconds for _, seconds in unsaved) >= save_seconds:
                    for block, seconds in unsaved:
                        journal.append(block, seconds)
                    unsaved.clear()
            return [*((record.block, record.seconds) for record in journal.records()), *unsaved]

    def _timed_block(
        self, partition: Partition, rows: NDArray[np.int32], make: Callable[[list[str]], Block]
    ) -> tuple[Block, float]:
        start = time.perf_counter()
        texts = passages_of(partition, rows.tolist(), self.fields)
        block = {"rows": rows, **make([add_prompt(self.prompt, text) for text in texts] if self.prompt else texts)}
        return block, time.perf_counter() - start

    def _rows_by_length(self, partition: Partition) -> NDArray[np.int32]:
        """The rows by the bytes of title, text and other fields that are read, then by id, so that a block pads little."""
        columns = [getattr(partition, f"{name}s") for name in BUILT_IN_FIELDS if name in self.fields]
        if set(self.fields) - set(BUILT_IN_FIELDS):
            columns.append(partition.fields)
        lengths = sum((np.diff(column.offsets) for column in columns), np.zeros(len(partition), np.int64))
        rows: NDArray[np.int32] = partition.order[np.argsort(lengths[partition.order], kind="stable")]
        return rows


@dataclass(frozen=True, eq=False, slots=True)
class VectorStatistics:
    """Numbers of passages and of those that are empty (zero) or truncated, dimensions, sums for the mean cosine, seconds.

    `calls`, `tokens` and `estimated` (replies whose tokens are estimated) are those of an embedding API, in whichever run.
    """

    passages: int = 0
    empty: int = 0
    truncated: int = 0
    dimensions: int = 0
    cosines: CosineSums = field(default_factory=lambda: CosineSums(np.zeros(0, np.int64), 0))
    seconds: float = 0.0
    calls: int = 0
    tokens: int = 0
    estimated: int = 0

    def __add__(self, other: VectorStatistics) -> VectorStatistics:
        if not self.passages:
            return other
        return VectorStatistics(
            passages=self.passages + other.passages,
            empty=self.empty + other.empty,
            truncated=self.truncated + other.truncated,
            dimensions=self.dimensions,
            cosines=self.cosines + other.cosines,
            seconds=self.seconds + other.seconds,
            calls=self.calls + other.calls,
            tokens=self.tokens + other.tokens,
            estimated=self.estimated + other.estimated,
        )

    def notes(self) -> list[str]:
        """Notes on collapsed vectors and on truncated or empty passages."""
        notes = [note for note in (self.cosines.collapse_note(),) if note]
        if self.truncated:
            notes.append(truncation_note(self.truncated, self.passages))
        if self.empty:
            notes.append(f"{self.empty} passages are empty; their score is 0 for every query")
        return notes


def truncation_note(cut: int, count: int, what: str = "passages") -> str:
    """A note on truncated passages or queries."""
    is_longer, was = ("is longer", "was") if cut == 1 else ("are longer", "were")
    return f"{cut} of {count} {what} ({cut / count:.0%}) {is_longer} than the model's limit and {was} truncated"


@dataclass(frozen=True)
class VectorRetriever(PassageEncoder):
    """Exact search by inner product, partition by partition; `device` searches batches, with the bits of the CPU."""

    device: str

    def prepare(self, partition: Partition, folder: Path, report: Report) -> VectorStatistics:
        """Encodes the passages into an array file, larger ids first."""
        if (folder / FILE).exists():
            report(len(partition))
        else:
            self._write(partition, folder, report)
        file = open_arrays(folder / FILE)
        facts, vectors = file.facts, file.arrays["vectors"]
        return VectorStatistics(
            passages=len(partition),
            empty=facts["empty"],
            truncated=facts["truncated"],
            dimensions=vectors.shape[1],
            cosines=CosineSums(np.array(file.arrays["sums"]), facts["nonzero"]),
            seconds=facts["seconds"],
            calls=facts["calls"],
            tokens=facts["tokens"],
            estimated=facts["estimated"],
        )

    def combine(self, statistics: Iterable[VectorStatistics], folder: Path) -> VectorStatistics:
        """The statistics of all passages."""
        return sum(statistics, VectorStatistics())

    def open(self, partition: Partition, folder: Path, totals: VectorStatistics) -> VectorIndex:
        """The vectors of the partition."""
        return VectorIndex(partition, folder / FILE, self.device, is_only=len(partition) == totals.passages)

    def _write(self, partition: Partition, folder: Path, report: Report) -> None:
        journal = folder / "vectors.journal"
        blocks = self.encode(partition, journal, self._block, report, save_seconds=SAVE_SECONDS)
        matrix = np.empty((len(partition), blocks[0][0]["vectors"].shape[1]), np.float32)
        places = document_places(partition)
        for block, _ in blocks:
            matrix[places[block["rows"]]] = block["vectors"]
        facts = {name: sum(int(block[name][0]) for block, _ in blocks) for name in _BLOCK_COUNTS}
        seconds = sum(seconds for _, seconds in blocks)
        blocks.clear()
        longest = checked_lengths(matrix, lambda at: for_message(partition.ids[int(partition.order[at])])).max()
        sums = CosineSums.of(matrix)
        more = {"nonzero": sums.count, "longest": float(longest), "seconds": seconds}
        write_arrays(folder / FILE, {"vectors": matrix, "sums": sums.sums}, {**facts, **more})
        journal.unlink(missing_ok=True)

    def _block(self, texts: list[str]) -> Block:
        totals = CallTotals()
        vectors = text_vectors(self.encoder, texts, counter=totals)
        paid = (totals.counts[name] for name in ("calls", "tokens_in", "estimated"))
        numbers = (sum(map(is_blank, texts)), self.encoder.cut(texts), *paid)
        counts = dict(zip(_BLOCK_COUNTS, numbers, strict=True))
        return {
            "vectors": vectors,
            **{name: np.array([count], dtype=np.int64) for name, count in counts.items()},
        }


@dataclass(frozen=True, eq=False)
class VectorIndex:
    """The vectors of one partition, larger ids first."""

    partition: Partition
    path: Path
    device: str
    is_only: bool

    def rows(self) -> VectorRows:
        """The vectors, mapped into memory as long as the result is used: a search of many partitions needs the memory of one."""
        return self._mapped if self.is_only else self._newly_mapped()

    def _newly_mapped(self) -> VectorRows:
        file = open_arrays(self.path)
        return VectorRows(file.arrays["vectors"], file.facts["longest"])

    def search(self, queries: Matrix, k: int) -> PartitionHits:
        """The k nearest passages; a zero vector, of a query without tokens, has none."""
        asked = np.flatnonzero(queries.any(axis=1))
        places, scores = self._nearest(queries[asked], k)
        rows, all_scores = np.zeros((len(queries), places.shape[1]), np.int32), np.zeros((len(queries), places.shape[1]))
        rows[asked], all_scores[asked] = self.partition.order[places], scores
        counts = np.zeros(len(queries), np.int64)
        counts[asked] = places.shape[1]
        return PartitionHits(rows, all_scores, counts)

    def vector(self, row: int) -> Matrix:
        """The vector of a document."""
        vector: Matrix = self._mapped.vectors[self._places[row]]
        return vector

    @cached_property
    def _mapped(self) -> VectorRows:
        return self._newly_mapped()

    def ids(self) -> Iterator[bytes]:
        """The ids in UTF-8 in the order of the vectors, larger ids first."""
        return map(self.partition.ids.bytes_at, self.partition.order.tolist())

    @cached_property
    def _places(self) -> NDArray[np.int32]:
        return document_places(self.partition)

    def _nearest(self, queries: Matrix, k: int) -> tuple[IntArray, FloatArray]:
        # A single query is asked on the CPU, as the vectors do not stay on the device.
        if self.device != "cpu" and len(queries) > 1:
            return nearest_by_torch(self.rows(), queries, k, self.device)
        return nearest(self.rows(), queries, k, best_kernel())


class PassageVectors:
    """The vectors of all passages, encoded or cached; `key` depends on the corpus, the model, the prompt and the fields.

    `device` is where batches are searched.
    """

    def __init__(self, context: BuildContext, model: EncoderModel, prompt: str, fields: Sequence[str]) -> None:
        check_known_fields(context.corpus, fields)
        self.device = chosen_device(getattr(model, "device", "auto"))
        threads = encoding_threads(context)
        if isinstance(model, EmbeddingApi):
            # Requests wait for a server, so other processes would not help, and the budget and the cache are in this one.
            context = replace(context, executor=SerialExecutor())
        retriever = VectorRetriever(model, prompt, tuple(fields), threads, self.device, session=context.session)
        key = retriever.key("passage vectors")
        self._model = model
        self._corpus, self.key, self.encoder = context.corpus, identity_key(key, context.corpus_key), retriever.encoder
        resources = encoding_resources(model)
        self._search = PartitionedSearch(context, retriever, key, label="encoding passages", kind="vectors", resources=resources)
        self._open, self.statistics = retriever.open, self._search.prepare_all()
        self.seconds = self.statistics.seconds

    @cached_property
    def _indexes(self) -> list[VectorIndex]:
        return self._search.open_all(self._open)

    def search_all(self, queries: Matrix, k: int) -> list[Ranking]:
        """The k nearest passages of each query, exactly; none for a zero vector."""
        return self._search.search_all(self._checked(queries), k)

    def search_one(self, query: Matrix, k: int) -> Ranking:
        """As `search_all` with one query, in this process."""
        return self._search.search_one(self._checked(query), k)

    def _checked(self, queries: Matrix) -> Matrix:
        return checked_vectors(queries, self.statistics.dimensions or queries.shape[1])

    def scores(self, docs: Sequence[str], vector: Matrix) -> FloatArray:
        """The inner products of the documents' vectors with the vector."""
        return self.products(self.of_documents(docs), vector)

    def of_documents(self, docs: Sequence[str]) -> Matrix:
        """The vectors of the documents."""
        places = (self._corpus.row_of(doc) for doc in docs)
        return np.array([self._indexes[number].vector(row) for number, row in places], np.float32, ndmin=2)

    @staticmethod
    def products(rows: Matrix, vector: Matrix) -> FloatArray:
        """The inner products of the rows with the vector, as exact search computes them."""
        return rounded_dots(rows, np.arange(len(rows)), vector).astype(np.float64)

    def batches(self, size: int) -> Iterator[tuple[list[str], Matrix]]:
        """Ids and vectors, larger ids first, in batches that do not depend on the partitions."""
        ids = (zip(index.ids(), repeat(number), count()) for number, index in enumerate(self._indexes))
        merged = merge(*ids, reverse=True)
        while part := list(islice(merged, size)):
            names, numbers, rows = (list(column) for column in zip(*part, strict=True))
            yield [text_of_utf8(name) for name in names], self._gathered(np.array(numbers), np.array(rows))

    def _gathered(self, numbers: IntArray, rows: IntArray) -> Matrix:
        """The vectors of these partitions and rows."""
        vectors = np.empty((len(rows), self.statistics.dimensions), np.float32)
        for number in np.unique(numbers).tolist():
            chosen = numbers == number
            vectors[chosen] = self._indexes[number].rows().vectors[rows[chosen]]
        return vectors

    def size(self) -> int:
        """The bytes of the vectors."""
        return self.statistics.passages * self.statistics.dimensions * 4

    def facts(self) -> Mapping[str, Any]:
        """Counts, the mean cosine of two passages (near 1 the vectors have collapsed), and that of a query and its upper case.

        `case_cosine` is below 1 if the encoder distinguishes upper and lower case, None if an embedding API did not encode it.
        """
        return {
            "passages": self.statistics.passages,
            "empty_passages": self.statistics.empty,
            "truncated_passages": self.statistics.truncated,
            **self._paid_facts(),
            "mean_cosine": self.statistics.cosines.mean(),
            "case_cosine": self._case_cosine(),
        }

    def _case_cosine(self) -> float | None:
        """The cosine of a query and its upper case; it is not worth the run if a request fails or the budget is used up."""
        try:
            lower, upper = text_vectors(self.encoder, [_CASE_EXAMPLE, _CASE_EXAMPLE.upper()], "query")
        except (ModelRequestError, BudgetError):
            return None
        return float(rounded_dots(lower[np.newaxis], np.zeros(1, np.int64), upper)[0])

    def _paid_facts(self) -> Mapping[str, Any]:
        """What the vectors cost, for an embedding API."""
        if not isinstance(self._model, EmbeddingApi):
            return {}
        statistics, money = self.statistics, money_of(self._model, self.statistics.tokens, 0)
        return {
            "encoding": {
                "calls": statistics.calls,
                "tokens_in": statistics.tokens,
                "estimated": statistics.estimated,
                "money": money,
            }
        }

    def notes(self) -> list[str]:
        """Notes on the vectors, and on what an embedding API did and cost."""
        notes = [*self.statistics.notes(), *remote_code_note(self._model)]
        if isinstance(self._model, EmbeddingApi) and isinstance(self.encoder, CountingEncoder):
            calls = pluralise(self.statistics.calls, "call")
            money = money_of(self._model, self.statistics.tokens, 0)
            price = f", {money:.4f} money" if money else ""
            about = "about " if self.statistics.estimated else ""
            notes.append(f"encoding the passages took {calls}, {about}{self.statistics.tokens:,} tokens{price}")
            notes += self.encoder.notes()
        return notes


_CASE_EXAMPLE = "how do search engines rank documents"


def encoding_threads(context: BuildContext) -> int:
    """The threads of an encoder: those of the run, or one beside other workers."""
    return context.threads if context.executor.workers == 1 else 1


def encoding_resources(model: EncoderModel) -> Resources:
    """What encoding a partition needs: a GPU if the model runs on one."""
    placed = place(getattr(model, "device", "cpu"), getattr(model, "precision", "auto"), on_cpu="fp32")
    return Resources(gpus=float(placed.on_gpu))
