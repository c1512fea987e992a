"""Searches chunks of the documents, and ranks a document by its best chunk."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, get_args

import numpy as np

from rankproof._data import format_versions, validation
from rankproof._data.corpus import PARTITION_SIZE, Corpus, Document, Partition
from rankproof._data.dataset import Query, chunk_id, chunk_separator, document_of_chunk
from rankproof._data.identity import identity_key
from rankproof._data.ordering import Ranking, rank_documents
from rankproof._data.partition_builder import PartitionBuilder
from rankproof._data.sentences import SENTENCE_RULES, Span, sentence_starts
from rankproof._data.text import pluralise
from rankproof._executors.base import Report
from rankproof._io.array_files import open_arrays, write_arrays
from rankproof._io.corpus_store import StoredPartition, indexed_corpus, write_partition
from rankproof._registry import Option
from rankproof.errors import UsageError
from rankproof.models._wordllama import token_starts, tokenizer_revision
from rankproof.stages._base import BuildContext, Cost, QueryTimer, Searcher, Stage
from rankproof.stages._fields import Depth, check_settings
from rankproof.stages._partitions import PreparedPartitions


def chunk_spans(starts: Sequence[int], length: int, size: int, overlap: int) -> list[Span]:
    """The chunks of a text of this length whose units start there.

    A unit ends at the start of the next one, and the first unit starts at 0, so no text is lost. Neighbours share exactly
    `overlap` units; only the last chunk may be shorter than `size`; no chunk lies inside the one before.
    """
    bounds = [0, *starts[1:], length]
    firsts = range(0, max(len(starts) - overlap, 1), size - overlap) if starts else ()
    return [(bounds[first], bounds[min(first + size, len(starts))]) for first in firsts]


Unit = Literal["words", "sentences", "tokens"]
TokenizerName = Literal["wordllama"]
UNITS: tuple[Unit, ...] = get_args(Unit)
_WORD = re.compile(r"\S+")


def unit_starts(text: str, unit: Unit, tokenizer: TokenizerName) -> list[int]:
    """The position of the first character of each unit; none in a blank text.

    Words are separated by whitespace. Several tokens for one character count as one.
    """
    if not text.strip():
        return []
    return _tokenizer(tokenizer)(text) if unit == "tokens" else _STARTS[unit](text)


def unit_revision(unit: Unit, tokenizer: TokenizerName) -> str:
    """The version of the tokenizer or of the rules for sentences that determines the chunks, "" for words."""
    if unit == "sentences":
        return f"sentences {SENTENCE_RULES}"
    return TOKENIZERS[tokenizer][1]() if unit == "tokens" else ""


def _tokenizer(name: TokenizerName) -> Callable[[str], list[int]]:
    return TOKENIZERS[name][0]


def _word_starts(text: str) -> list[int]:
    return [match.start() for match in _WORD.finditer(text)]


_STARTS: Mapping[str, Callable[[str], list[int]]] = {"words": _word_starts, "sentences": sentence_starts}
TOKENIZERS: Mapping[TokenizerName, tuple[Callable[[str], list[int]], Callable[[], str]]] = {
    "wordllama": (token_starts, tokenizer_revision)
}


DOCUMENT, CHUNK, START, END = "document", "chunk", "start", "end"


@dataclass(frozen=True, slots=True)
class Chunking:
    """Chunks of `size` units; neighbours share `overlap` units."""

    size: int
    overlap: int
    unit: Unit
    tokenizer: TokenizerName

    def __post_init__(self) -> None:
        validation.checked_integer("size", self.size)
        validation.checked_integer("overlap", self.overlap, least=0)
        validation.checked_choice("unit", self.unit, UNITS)
        validation.checked_choice("tokenizer", self.tokenizer, tuple(TOKENIZERS))
        if self.overlap >= self.size:
            what = f"overlap is {self.overlap}, but a chunk has {self.size} {self.unit}"
            raise UsageError(what, fix="choose an overlap below the size")

    def revision(self) -> str:
        """The version of the tokenizer or of the rules for sentences that determines the chunks, "" for words."""
        return unit_revision(self.unit, self.tokenizer)

    def spans(self, document: Document) -> list[Span]:
        """The chunks of the text; a document with only a title has one empty chunk, an empty document has none."""
        starts = unit_starts(document.text, self.unit, self.tokenizer)
        spans = chunk_spans(starts, len(document.text), self.size, self.overlap)
        return spans or ([(0, len(document.text))] if document.title.strip() else [])


def document_chunks(document: Document, chunking: Chunking, mark: str) -> Iterator[Document]:
    """The chunks of a document; each has its title and its fields, so that stages read it like a document."""
    for number, (start, end) in enumerate(chunking.spans(document), start=1):
        own = {DOCUMENT: document.id, CHUNK: number, START: start, END: end}
        fields = {**document.fields, **own}
        yield Document(chunk_id(document.id, mark, number), document.text[start:end], document.title, fields, document.line)


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
class Chunked(Stage):
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
        for path, size, digest in (file for count in counts for file in count.files):
            partitions.append(StoredPartition(path, len(partitions), first, size, digest))
            first += size
        corpus = indexed_corpus(folder, partitions, self.source)
        without_chunks = sum(count.without_chunks for count in counts)
        return SplitCorpus(corpus, sum(count.documents for count in counts), without_chunks, self.separator)


def _write_chunks(folder: Path, builder: PartitionBuilder) -> tuple[str, int, str]:
    name = f"{builder.number}.{_CHUNKS}"
    write_partition(folder / name, builder)
    return name, len(builder), f"{builder.digest:x}"


def whole_documents_note(stage: Stage) -> tuple[str, ...]:
    """A note on answers that are read from whole documents although chunks were searched."""
    return (WHOLE_DOCUMENTS_NOTE,) if _is_chunked(stage) else ()


def _is_chunked(stage: Stage) -> bool:
    return isinstance(stage, Chunked) or any(map(_is_chunked, stage.inputs()))


class ChunkedSearcher(Searcher):
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
