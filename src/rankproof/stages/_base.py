"""The protocols of stages and scorers, the context they are built in, and the timer of a query."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, runtime_checkable

from rankproof._data.answers import Answer
from rankproof._data.arrays import FloatArray
from rankproof._data.corpus import Corpus
from rankproof._data.dataset import Query
from rankproof._data.ordering import Ranking
from rankproof._data.run import PARTS, Part
from rankproof._executors.base import Executor, Progress, SerialExecutor
from rankproof._io.array_files import Block
from rankproof._llm.budget import COUNT_NAMES, CallCounter, CountName, Estimate
from rankproof._llm.session import LLMSession
from rankproof.models._api.settings import PaidModel
from rankproof.models._chat.base import ChatModel


class QueryTimer:
    """The milliseconds of each part of one search, such as retrieval; 0 for a part that did not run.

    `cut` counts the query-passage pairs that a model truncated; `cut_queries` is 1 if it truncated the query alone. `counts` are
    the counts of calls to language models and search engines. `is_recorded` says that the times are those of a recorded request:
    the time of reading it does not count.
    """

    __slots__ = ("counts", "cut", "cut_queries", "is_recorded", "milliseconds")

    def __init__(self) -> None:
        self.milliseconds: dict[Part, float] = dict.fromkeys(PARTS, 0.0)
        self.cut = 0
        self.cut_queries = 0
        self.is_recorded = False
        self.counts: dict[CountName, int] = dict.fromkeys(COUNT_NAMES, 0)

    @contextmanager
    def part(self, name: Part) -> Iterator[None]:
        """Adds the time that the block takes."""
        start = time.perf_counter()
        try:
            yield
        finally:
            self.milliseconds[name] += (time.perf_counter() - start) * 1000

    @contextmanager
    def rest(self, name: Part) -> Iterator[None]:
        """Adds the time that the block takes beyond that of its parts to the longest of them, or without any to this part."""
        start, before = time.perf_counter(), dict(self.milliseconds)
        try:
            yield
        finally:
            parts = {part: after - before[part] for part, after in self.milliseconds.items() if after > before[part]}
            rest = (time.perf_counter() - start) * 1000 - sum(parts.values())
            if not self.is_recorded:
                self.milliseconds[max(parts, key=parts.__getitem__, default=name)] += max(rest, 0.0)

    def counter(self, name: Part) -> TimerCounts:
        """A counter for calls whose time counts as this part; a cached reply counts with the time of its first request."""
        return TimerCounts(self, name)


class TimerCounts:
    """Adds LLM calls and their time to a `QueryTimer`."""

    __slots__ = ("_part", "_timer")

    def __init__(self, timer: QueryTimer, part: Part) -> None:
        self._timer, self._part = timer, part

    def count(self, name: CountName, more: int = 1) -> None:
        self._timer.counts[name] += more

    def add_seconds(self, seconds: float) -> None:
        self._timer.milliseconds[self._part] += seconds * 1000


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost of building an index: seconds and bytes. For a cached index, the seconds are those of the first build.

    `shared` is the part that several stages share, such as vectors: seconds and bytes by key.
    """

    seconds: float = 0.0
    bytes: int = 0
    shared: Mapping[str, tuple[float, int]] = field(default_factory=dict)


PartitionKind = Literal["chunks", "indexes", "vectors"]
"""What the files of a partition are."""


class BlockCache(Protocol):
    """Caches slow work in blocks; an interrupted run continues after its last complete block."""

    def blocks(
        self, key: str, count: int, make: Callable[[int], Block], *, label: str, items: int | None = None
    ) -> tuple[list[Block], float]:
        """Blocks 0 to count - 1, computed or cached, and the seconds that computing all of them took.

        `items` is the number of passages or queries in all blocks; progress is reported in items.
        """
        ...

    def folder(self, key: str) -> str:
        """An existing folder for the files of an embedded database, deleted when the run ends."""
        ...

    def partition_folder(self, key: str, kind: PartitionKind = "indexes") -> Path:
        """An existing folder for the files of one partition, such as its index; kept in the cache if there is one.

        All workers of the executor see the folder. Other runs may use it at the same time, so its files are written atomically.
        """
        ...

    def hits_folder(self, key: str) -> Path:
        """An existing folder for what each partition found for some queries, kept until the stage is cached."""
        ...

    def add_saved_seconds(self, seconds: float) -> None:
        """Adds the time of searches that an interrupted run finished, so that they count in the throughput."""
        ...


@dataclass(frozen=True, slots=True)
class EngineOptions:
    """Options for requests to external search engines.

    `ask_again` ignores recorded replies; with `strict` the first failed query ends the run.
    """

    ask_again: bool = False
    strict: bool = False


@dataclass(frozen=True, eq=False, slots=True)
class BuildContext:
    """What a stage needs to build its index: corpus, cache, threads, progress, LLM session, engine options and executor."""

    corpus: Corpus
    corpus_key: str
    block_cache: BlockCache
    threads: int = 1
    progress: Progress = field(default=lambda label, done, total: None)
    session: LLMSession = field(default_factory=LLMSession)
    engines: EngineOptions = EngineOptions()
    executor: Executor = field(default_factory=SerialExecutor)


class BuiltPart(Protocol):
    """What a searcher or loaded scorer reports; a subclass overrides what is not empty."""

    def cost(self) -> Cost:
        """The cost of building; nothing by default."""
        return Cost()

    def facts(self) -> Mapping[str, Any]:
        """Models, stores and settings as JSON, read after the searches; none by default."""
        return {}

    def notes(self) -> Sequence[str]:
        """Warnings for the user, read after the searches; none by default."""
        return ()

    def close(self) -> None:
        """Closes what is open; nothing by default."""
        return None


class Searcher(BuiltPart, Protocol):
    """A stage that is ready to search."""

    def search(self, query: Query, inputs: Sequence[Ranking], timer: QueryTimer) -> Ranking:
        """The ranking of one query; `inputs` has the ranking of each input stage, in order."""
        ...


class Stage(Protocol):
    """A step of a search system, such as BM25 or reranking; `depth` is the length of its rankings. Equal stages are run once.

    A stage that works on a dataset without documents has the class attribute `needs_documents = False`. The fields of a dataclass
    are checked by their types and Options.
    """

    # No part of the protocol for type checkers, as a stage need not be a dataclass.
    if not TYPE_CHECKING:

        def __post_init__(self) -> None:
            # Late, as the checks know every kind of part, and those are made of stages.
            from rankproof.stages._fields import check_settings

            check_settings(self)

    @property
    def depth(self) -> int: ...

    def inputs(self) -> tuple[Stage, ...]:
        """The stages whose rankings are its input; none by default."""
        return ()

    def build(self, context: BuildContext) -> Searcher: ...


class OneInput(Stage):
    """A stage with one input stage, whose depth it keeps."""

    stage: Stage

    @property
    def depth(self) -> int:
        """The depth of the input stage."""
        return self.stage.depth

    def inputs(self) -> tuple[Stage, ...]:
        """The input stage."""
        return (self.stage,)


class CallsModel:
    """A stage or scorer with one language model."""

    model: ChatModel

    @property
    def paid_model(self) -> PaidModel:
        """The language model."""
        return self.model


@runtime_checkable
class BatchSearcher(Searcher, Protocol):
    """A searcher that ranks all queries at once: these rankings are measured, and `search` is timed on a sample.

    One whose scores depend on the other queries of a batch, such as those of a model, has `batch_invariant = False`.
    """

    def search_all(self, queries: Sequence[Query]) -> list[Ranking]:
        """The rankings of all queries, equal to those of `search` to the last bit."""
        ...


@runtime_checkable
class LLMSearcher(Searcher, Protocol):
    """A searcher that calls a language model: `concurrency` queries run at once, and replies count with their own times."""

    @property
    def concurrency(self) -> int: ...


@runtime_checkable
class AnsweringSearcher(Searcher, Protocol):
    """A searcher that also answers queries; stages that use its ranking keep the answers."""

    def answer(self, query: Query, ranking: Ranking, timer: QueryTimer) -> Answer:
        """The answer from the ranking; a failure is an answer with that state."""
        ...


@runtime_checkable
class ReplacesCorpus(Stage, Protocol):
    """A stage whose input stages search other documents, such as chunks."""

    def input_context(self, context: BuildContext) -> BuildContext:
        """The context of the input stages; its corpus_key differs from the given one."""
        ...


@runtime_checkable
class ReplacesQueries(Stage, Protocol):
    """A stage whose input stages get other queries, such as rewritten ones."""

    def input_queries(self, context: BuildContext, queries: Sequence[Query]) -> Sequence[Query]:
        """One query for each given query, with the same id; replies of a model are cached for the searcher."""
        ...


@runtime_checkable
class EncodesPassages(Protocol):
    """A stage that may encode passages with an embedding API."""

    def passages(self) -> PassagesToEncode | None:
        """The passages that are encoded, None if there are none; stages with equal ones share their vectors."""
        ...


class PassagesToEncode(Hashable, Protocol):
    """Passages that a model encodes."""

    @property
    def model(self) -> Any: ...

    def estimate(self, corpus: Corpus) -> Estimate:
        """The calls of an embedding API; none for a local model."""
        ...


@runtime_checkable
class EstimatesCost(Protocol):
    """A stage that may call a language model or another model API, and can estimate the cost."""

    @property
    def paid_model(self) -> PaidModel | None:
        """The model, None if it calls none."""
        ...

    def estimate(self, queries: Sequence[Query], context: BuildContext) -> Estimate:
        """The cost of the calls for all queries, without repeated attempts."""
        ...


class LoadedScorer(BuiltPart, Protocol):
    """A scorer that is ready to score."""

    def scores(self, query: Query, docs: Sequence[str]) -> FloatArray:
        """One finite score for each document; higher is better, the scale depends on the scorer."""
        ...


@runtime_checkable
class ReportsTruncation(LoadedScorer, Protocol):
    """A scorer that may truncate a pair of query and document."""

    def cut(self, query: Query, docs: Sequence[str]) -> int:
        """The number of documents that are truncated together with the query."""
        ...


@runtime_checkable
class ReportsQueryTruncation(LoadedScorer, Protocol):
    """A scorer that encodes the query alone and may truncate it."""

    def cut_queries(self, query: Query) -> int:
        """1 if the query is truncated, else 0."""
        ...


@runtime_checkable
class LLMQueryScorer(LoadedScorer, Protocol):
    """A scorer that calls a language model; replies count with their own times, and `concurrency` queries run at once."""

    @property
    def concurrency(self) -> int: ...

    def scores_counting_calls(self, query: Query, docs: Sequence[str], counter: CallCounter) -> FloatArray:
        """The scores, with the calls counted; documents keep their order where the model gave no usable reply."""
        ...


class Scorer(Protocol):
    """The settings of a scorer, a frozen value such as `CrossEncoderScorer(model)` or `KeywordScorer()`."""

    def build(self, context: BuildContext) -> LoadedScorer: ...


@runtime_checkable
class EstimatesScorerCost(Protocol):
    """A scorer that calls a language model or another model API, and can estimate the cost."""

    @property
    def paid_model(self) -> PaidModel | None:
        """The model, None if it calls none."""
        ...

    def estimate_top(self, queries: Sequence[Query], context: BuildContext, top: int) -> Estimate:
        """The cost of scoring `top` documents of every query, without repeated attempts."""
        ...


@runtime_checkable
class LimitsDepth(Protocol):
    """A scorer that takes a limited number of documents."""

    def check_top(self, top: int) -> None:
        """Raises an error if it cannot score so many documents of a query."""
        ...
