"""Searches chunks of the documents, and ranks a document by its best chunk."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import numpy as np

from rankproof._data import format_versions
from rankproof._data.corpus import PARTITION_SIZE, Corpus, Partition
from rankproof._data.dataset import Query, chunk_separator, document_of_chunk
from rankproof._data.identity import identity_key
from rankproof._data.ordering import Ranking, rank_documents
from rankproof._data.partition_builder import PartitionBuilder
from rankproof._data.text import pluralise
from rankproof._executors.base import Report
from rankproof._io.array_file import open_arrays, write_arrays
from rankproof._io.corpus_store import StoredPartition, indexed_corpus, write_partition
from rankproof._registry import Option
from rankproof.stages._base import BuildContext, Cost, QueryTimer, Stage
from rankproof.stages._chunking import Chunking, TokenizerName, Unit, document_chunks
from rankproof.stages._fields import Depth, check_settings
from rankproof.stages._partitions import PreparedPartitions

CollapseRule = Literal["best"]
BEST_CHUNK_RULE = "a document has the score of its best chunk"
_CHUNKS, _COUNTS = "chunks.arrays", "counts.arrays"
_REPORTED_DOCUMENTS = 1_000


def collapse_ranking(
    ranking: Ranking, document_of: Callable[[str], str], *, pool: int | None, depth: int | None = None
) -> Ranking:
    """The best `depth` documents, each with the score of its best chunk among the first `pool`.

    Documents with equal scores are ordered as in every ranking, the larger id first.
    """
    chunks, scores = ranking
    best: dict[str, float] = {}
    for chunk, score in zip(chunks[:pool], scores[:pool].tolist(), strict=True):
        best.setdefault(document_of(chunk), score)
    docs, values = rank_documents(list(best), np.array(list(best.values()), dtype=np.float64))
    return docs[:depth], values[:depth]


WHOLE_DOCUMENTS_NOTE = (
    "answers are read from whole documents, not from chunks; put `chunked` around the answering system to answer from chunks"
)


@dataclass(frozen=True)
class Chunked:
    """Runs the input stage on chunks of `size` units that overlap by `overlap` units (None: size // 5).

    Its ranking of chunks is collapsed to documents. `pool` limits the chunks that are used (None: all). The depth of the input
    stage counts chunks, `depth` counts documents.
    """

    stage: Annotated[Stage, Option("the system that searches the chunks; its depth is in chunks", key="of")]
    size: Annotated[int, Option("how many units a chunk has", least=1)] = 200
    overlap: Annotated[int | None, Option("how many units it shares with the previous chunk (default: size / 5)", least=0)] = None
    unit: Annotated[Unit, Option("the unit that is counted: words, sentences or tokens")] = "words"
    tokenizer: Annotated[TokenizerName, Option("the tokenizer whose tokens are counted: wordllama")] = "wordllama"
    pool: Annotated[int | None, Option("number of top chunks to use (default: all)", least=1)] = None
    rule: Annotated[CollapseRule, Option("how chunks become documents: best")] = "best"
    depth: Depth = 100
    kind: ClassVar[str] = "chunks"

    def __post_init__(self) -> None:
        check_settings(self)
        if self.overlap is None:
            object.__setattr__(self, "overlap", self.size // 5)
        Chunking(self.size, self._shared, self.unit, self.tokenizer)
        if self.pool is not None and self.pool >= self.stage.depth:
            object.__setattr__(self, "pool", None)

    @property
    def chunking(self) -> Chunking:
        """How the documents are split."""
        return Chunking(self.size, self._shared, self.unit, self.tokenizer)

    @property
    def _shared(self) -> int:
        return 0 if self.overlap is None else self.overlap

    def revision(self) -> str:
        """The version of the tokenizer that determines the chunks."""
        return self.chunking.revision()

    def inputs(self) -> tuple[Stage, ...]:
        """The stage that ranks chunks."""
        return (self.stage,)

    def input_context(self, context: BuildContext) -> BuildContext:
        """The context with the chunks as its corpus; equal chunking gives the same corpus key."""
        key = identity_key(context.corpus_key, "chunks", self.chunking)
        return replace(context, corpus=self._split(context).corpus, corpus_key=key)

    def build(self, context: BuildContext) -> ChunkedSearcher:
        """Splits the documents, unless they are split."""
        return ChunkedSearcher(self, self._split(context))

    def _split(self, context: BuildContext) -> SplitCorpus:
        splitter = ChunkSplitter(self.chunking, chunk_separator(context.corpus), context.corpus.source)
        key = identity_key("chunks", format_versions.CORPUS, splitter.chunking, splitter.separator)
        chunks = PreparedPartitions(context, splitter, key, label="splitting documents into chunks", kind="chunks")
        return replace(chunks.prepare_all(), seconds=chunks.seconds)


@dataclass(frozen=True, slots=True)
class ChunkCounts:
    """The files with the chunks of a partition, each with its number of chunks and their digest, and counts of its documents."""

    files: tuple[tuple[Path, int, int], ...]
    documents: int
    without_chunks: int


@dataclass(frozen=True, eq=False, slots=True)
class SplitCorpus:
    """The chunks of all documents, counts of documents, the separator of chunk ids, and the seconds that splitting took."""

    corpus: Corpus
    documents: int
    without_chunks: int
    separator: str
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class ChunkSplitter:
    """Splits the documents of a partition into chunks, which are a partition, or several where there are many chunks."""

    chunking: Chunking
    separator: str
    source: str

    def prepare(self, partition: Partition, folder: Path, report: Report) -> ChunkCounts:
        """Writes the chunks of the partition, unless they are there."""
        if not (folder / _COUNTS).exists():
            self._write(partition, folder, report)
        else:
            report(len(partition))
        facts = open_arrays(folder / _COUNTS).facts
        files = tuple((folder / name, size, int(digest, 16)) for name, size, digest in facts["files"])
        return ChunkCounts(files, len(partition), facts["without_chunks"])

    def _write(self, partition: Partition, folder: Path, report: Report) -> None:
        builder, files, without_chunks = PartitionBuilder(), list[tuple[str, int, str]](), 0
        for done, document in enumerate(partition.documents(), start=1):
            chunks = list(document_chunks(document, self.chunking, self.separator))
            without_chunks += not chunks
            for chunk in chunks:
                builder.add(chunk)
            if builder.is_full(PARTITION_SIZE) or done == len(partition):
                files += [_write_chunks(folder, builder)] if len(builder) else []
                builder = builder.following()
            if done % _REPORTED_DOCUMENTS == 0 or done == len(partition):
                report((done - 1) % _REPORTED_DOCUMENTS + 1)
        write_arrays(folder / _COUNTS, {}, {"files": files, "without_chunks": without_chunks})

    def combine(self, statistics: Iterable[ChunkCounts], folder: Path) -> SplitCorpus:
        """The corpus of all chunks; the index of their ids is a file."""
        counts = list(statistics)
        partitions, first = list[StoredPartition](), 0
        for path, size, digest in (file for one in counts for file in one.files):
            partitions.append(StoredPartition(path, len(partitions), first, size, digest))
            first += size
        corpus = indexed_corpus(folder, partitions, self.source)
        without_chunks = sum(one.without_chunks for one in counts)
        return SplitCorpus(corpus, sum(one.documents for one in counts), without_chunks, self.separator)


def _write_chunks(folder: Path, builder: PartitionBuilder) -> tuple[str, int, str]:
    name = f"{builder.number}.{_CHUNKS}"
    write_partition(folder / name, builder)
    return name, len(builder), f"{builder.digest:x}"


def whole_documents_note(stage: Stage) -> tuple[str, ...]:
    """A note on answers that are read from whole documents although chunks were searched."""
    return (WHOLE_DOCUMENTS_NOTE,) if _is_chunked(stage) else ()


def _is_chunked(stage: Stage) -> bool:
    return isinstance(stage, Chunked) or any(map(_is_chunked, stage.inputs()))


class ChunkedSearcher:
    """Collapses a ranking of chunks to documents."""

    def __init__(self, stage: Chunked, split: SplitCorpus) -> None:
        self._stage, self._split = stage, split
        self._document_of = partial(document_of_chunk, separator=split.separator)

    def search(self, query: Query, inputs: Sequence[Ranking], timer: QueryTimer) -> Ranking:
        """The documents of the chunks, ranked by their best chunk."""
        with timer.part("search"):
            return collapse_ranking(inputs[0], self._document_of, pool=self._stage.pool, depth=self._stage.depth)

    def cost(self) -> Cost:
        """The time of splitting."""
        return Cost(seconds=self._split.seconds)

    def facts(self) -> Mapping[str, Any]:
        """The chunking, the number of chunks and the rule."""
        stage, chunks = self._stage, len(self._split.corpus)
        return {
            "unit": stage.unit,
            "size": stage.size,
            "overlap": stage.overlap,
            "chunks": chunks,
            "chunks_a_document": chunks / max(self._split.documents, 1),
            "pool": stage.pool,
            "rule": BEST_CHUNK_RULE,
        }

    def notes(self) -> Sequence[str]:
        """A note on documents that cannot be found."""
        without_chunks = self._split.without_chunks
        return (
            [f"{pluralise(without_chunks, 'document has', 'documents have')} neither title nor text and cannot be found"]
            if without_chunks
            else []
        )

    def close(self) -> None:
        """Does nothing: no resource is open."""
