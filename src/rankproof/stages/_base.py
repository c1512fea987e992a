"""Stage, Searcher, Scorer, BuildContext, Timer."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from rankproof._data.answers import Answer
from rankproof._data.arrays import FloatArray
from rankproof._data.dataset import Corpus, Query
from rankproof._data.ordering import Ranking
from rankproof._data.run import PARTS, Part
from rankproof._io.journal import Block
from rankproof._llm.budget import Estimate
from rankproof._llm.call_counts import COUNT_NAMES, CallCounter, CountName
from rankproof._llm.session import LLMSession
from rankproof.models._chat.base import ChatModel


class QueryTimer:
    """Milliseconds by part, 0 for those that never ran.

    `cut` is how many pairs of query and passage a model cut short, `cut_queries` is 1 where it read the query alone and cut it;
    `counts` is what asking language models came to.
    """

    __slots__ = ("counts", "cut", "cut_queries", "milliseconds")

    def __init__(self) -> None:
        self.milliseconds: dict[Part, float] = dict.fromkeys(PARTS, 0.0)
        self.cut = 0
        self.cut_queries = 0
        self.counts: dict[CountName, int] = dict.fromkeys(COUNT_NAMES, 0)

    @contextmanager
    def part(self, name: Part) -> Iterator[None]:
        """Adds the time that the block takes."""
        start = time.perf_counter()
        try:
            yield
        finally:
            self.milliseconds[name] += (time.perf_counter() - start) * 1000

    def counter(self, name: Part) -> TimerCounts:
        """A tally whose asks count on this clock, their time as that part's: a kept reply has the time that it took at first."""
        return TimerCounts(self, name)


class TimerCounts:
    """Counts asks on a clock."""

    __slots__ = ("_clock", "_part")

    def __init__(self, timer: QueryTimer, part: Part) -> None:
        self._clock, self._part = timer, part

    def count(self, name: CountName, more: int = 1) -> None:
        self._clock.counts[name] += more

    def add_seconds(self, seconds: float) -> None:
        self._clock.milliseconds[self._part] += seconds * 1000


Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class Cost:
    """What building took: seconds of work (remembered, where it was done in an earlier start) and bytes of the index.

    `shared` says which of it belongs to several stages, vectors for instance: by key, the seconds and bytes of each.
    """

    seconds: float = 0.0
    bytes: int = 0
    shared: Mapping[str, tuple[float, int]] = field(default_factory=dict)


class BlockCache(Protocol):
    """Where slow work is kept block by block, so that a second start goes on after the last whole block."""

    def blocks(
        self, key: str, count: int, make: Callable[[int], Block], *, label: str, items: int | None = None
    ) -> tuple[list[Block], float]:
        """Blocks 0 to count - 1, made or remembered, and the seconds that making all of them took.

        `items` is how many passages or queries the blocks hold in all; progress is told in them.
        """
        ...

    def folder(self, key: str) -> str:
        """An existing folder for files of an embedded database, cleared when the run ends."""
        ...


@dataclass(frozen=True, eq=False, slots=True)
class BuildContext:
    """What a stage is built on."""

    corpus: Corpus
    corpus_key: str
    block_cache: BlockCache
    threads: int = 1
    progress: Progress = field(default=lambda label, done, total: None)
    session: LLMSession = field(default_factory=LLMSession)


class Searcher(Protocol):
    """A stage ready to search."""

    def search(self, query: Query, inputs: Sequence[Ranking], timer: QueryTimer) -> Ranking:
        """The ranking of one query; `below` has one ranking for each stage below, in their order."""
        ...

    def cost(self) -> Cost:
        """What building took."""
        ...

    def facts(self) -> Mapping[str, Any]:
        """What a reader should know of models, stores and settings, as JSON; asked after the searches."""
        ...

    def notes(self) -> Sequence[str]:
        """Sentences that a reader must see; asked after the searches."""
        ...

    def close(self) -> None:
        """Lets go of whatever is open."""
        ...


class Stage(Protocol):
    """A rung: equal stages are built and searched once. `depth` is how many documents its rankings keep."""

    @property
    def depth(self) -> int: ...

    def inputs(self) -> tuple[Stage, ...]:
        """The stages whose rankings it takes."""
        ...

    def build(self, context: BuildContext) -> Searcher: ...


@runtime_checkable
class BatchSearcher(Searcher, Protocol):
    """A searcher that answers many queries faster together than one by one."""

    def search_all(self, queries: Sequence[Query]) -> list[Ranking]:
        """The same rankings, up to the last bits of the scores."""
        ...


@runtime_checkable
class LLMSearcher(Searcher, Protocol):
    """A searcher that waits for a language model: `lanes` queries go at once, and its times are those of the replies."""

    @property
    def concurrency(self) -> int: ...


@runtime_checkable
class AnsweringSearcher(Searcher, Protocol):
    """A searcher that also answers; the rankings of a stage above keep the answers."""

    def answer(self, query: Query, ranking: Ranking, timer: QueryTimer) -> Answer:
        """The answer from its own ranking; a failure is an answer too, of that state."""
        ...


@runtime_checkable
class ReplacesCorpus(Stage, Protocol):
    """A stage whose stages below search other documents, such as chunks."""

    def input_context(self, context: BuildContext) -> BuildContext:
        """What the stages below are built on; its corpus_key differs from the one given."""
        ...


@runtime_checkable
class ReplacesQueries(Stage, Protocol):
    """A stage whose stages below are asked other queries, such as rewritten ones."""

    def input_queries(self, context: BuildContext, queries: Sequence[Query]) -> Sequence[Query]:
        """One query for each, under the same ids; what this asks of a model, its searcher finds in the book again."""
        ...


@runtime_checkable
class EstimatesCost(Protocol):
    """A stage or scorer that may ask a language model, and can say beforehand how much."""

    @property
    def chat(self) -> ChatModel | None:
        """The model that it asks, None where it asks none."""
        ...

    def estimate(self, queries: Sequence[Query], context: BuildContext) -> Estimate:
        """What asking for all queries comes to at most, but for repeated attempts."""
        ...


class LoadedScorer(Protocol):
    """A scorer ready to score."""

    def scores(self, query: Query, docs: Sequence[str]) -> FloatArray:
        """One finite number a document; higher is better, the scale is the scorer's own."""
        ...

    def cost(self) -> Cost:
        """What building took."""
        ...

    def facts(self) -> Mapping[str, Any]:
        """What a reader should know, as JSON."""
        ...

    def notes(self) -> Sequence[str]:
        """Sentences that a reader must see."""
        ...

    def close(self) -> None:
        """Lets go of whatever is open."""
        ...


@runtime_checkable
class ReportsTruncation(LoadedScorer, Protocol):
    """A scorer that does not read every pair of query and document to its end."""

    def cut(self, query: Query, docs: Sequence[str]) -> int:
        """How many of the documents are, with the query, too long to be read whole."""
        ...


@runtime_checkable
class ReportsQueryTruncation(LoadedScorer, Protocol):
    """A scorer that reads the query alone, and not every one to its end."""

    def cut_queries(self, query: Query) -> int:
        """1 where the query is too long to be read whole, else 0."""
        ...


@runtime_checkable
class LLMQueryScorer(LoadedScorer, Protocol):
    """A scorer that waits for a language model; its time is that of the replies, and `lanes` queries may be scored at once."""

    @property
    def concurrency(self) -> int: ...

    def scores_counting_calls(self, query: Query, docs: Sequence[str], counter: CallCounter) -> FloatArray:
        """The scores, with what asking came to on the tally; the order given where the model was of no use, counted as such."""
        ...


class Scorer(Protocol):
    """The frozen value that stands for a scorer: `Pairs(model)`, `Similarity(model)`, `MaxSim(model)`, `Keywords()`."""

    def build(self, context: BuildContext) -> LoadedScorer: ...


@runtime_checkable
class EstimatesScorerCost(Protocol):
    """The value of a scorer that asks a language model, and can say beforehand how much."""

    @property
    def chat(self) -> ChatModel:
        """The model that it asks."""
        ...

    def estimate_top(self, queries: Sequence[Query], context: BuildContext, top: int) -> Estimate:
        """What scoring `top` documents of every query comes to, but for repeated attempts."""
        ...


@runtime_checkable
class LimitsDepth(Protocol):
    """The value of a scorer whose work grows faster than the number of documents: it takes no more than `most` of them."""

    @property
    def most(self) -> int: ...
