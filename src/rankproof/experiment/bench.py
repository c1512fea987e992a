"""The bench: builds and searches each distinct stage once, on a clock, and keeps what it finds."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace

from ..asking.lanes import in_lanes
from ..data.answers import Answer
from ..data.identity import key_of
from ..data.queries import Query
from ..data.ranking import Ranking
from ..stages.base import (
    AnsweringSearcher,
    AskingSearcher,
    BatchSearcher,
    Block,
    Ground,
    Regrounded,
    Requeried,
    Searcher,
    Stage,
)
from ..stages.clock import Clock
from ..version import __version__
from .asked import Asked, asked_block, asked_of
from .cache import StageCache
from .interrupts import closed_after, interrupts_first
from .keep import JournalKeep, MemoryKeep
from .outcome import Outcome
from .provenance import now
from .ranking_rules import refuse_wrong
from .standing import Standing
from .threads import blas_threads

_BLOCK = 16
_SHAPE = 3
"""Of what is kept: raised when outcomes hold something else."""
_WARM_UP = 3


@dataclass(frozen=True, eq=False, slots=True)
class Bench:
    """Documents and queries, and where finished work is kept."""

    ground: Ground
    queries: Sequence[Query]
    keep: JournalKeep | MemoryKeep
    cache: StageCache | None
    found: dict[Stage, Standing] = field(default_factory=dict)
    others: dict[Stage, Bench] = field(default_factory=dict)

    def standing(self, stage: Stage, label: str) -> Standing:
        """What the stage gives: computed in this process, kept from an earlier one, or computed now."""
        if stage not in self.found:
            bench = self.below(stage)
            below = tuple(bench.standing(part, label) for part in stage.below())
            key = key_of(__version__, _SHAPE, self.ground.corpus_key, self._queries_key(), stage)
            kept = self.cache.find(key) if self.cache else None
            outcome = kept or self._computed(stage, key, [each.outcome for each in below], label)
            self.found[stage] = Standing(stage, outcome, below)
        return self.found[stage]

    def below(self, stage: Stage) -> Bench:
        """Where the stages below it are built and asked: on other documents or with other queries, where it says so."""
        if isinstance(stage, Regrounded) and stage not in self.others:
            ground = stage.ground_below(self.ground)
            # Stages on the same other documents, such as two on the same chunks, share what they rest on.
            same = (each for each in self.others.values() if each.ground.corpus_key == ground.corpus_key)
            self.others[stage] = next(same, None) or replace(self, ground=ground, found={}, others={})
        if isinstance(stage, Requeried) and stage not in self.others:
            asked = tuple(stage.queries_below(self.ground, self.queries))
            self.others[stage] = replace(self, queries=asked, found={}, others={})
        return self.others.get(stage, self)

    def _queries_key(self) -> str:
        return key_of([(query.id, query.text) for query in self.queries])

    def _computed(self, stage: Stage, key: str, below: Sequence[Outcome], label: str) -> Outcome:
        with interrupts_first(), ExitStack() as stack:
            stack.enter_context(blas_threads(self.ground.threads))
            self.ground.progress(f"{label}: building", 0, 1)
            searcher = stage.build(self.ground)
            stack.enter_context(closed_after(searcher))
            self.ground.progress(f"{label}: building", 1, 1)
            with blas_threads(1):
                asked = self._asked(stage, searcher, key, below, label)
            # All queries are asked again together: what the searcher says of its answers below then covers those that were kept.
            throughput = self._throughput(searcher)
            outcome = Outcome(
                asked.rankings,
                asked.times,
                searcher.cost(),
                throughput,
                searcher.facts(),
                (*searcher.notes(), *asked.notes()),
                now(),
                counts=asked.counts,
                answers=below[0].answers if asked.answers is None and len(below) == 1 else asked.answers,
            )
        # An ask that no reply came to may succeed the next time: what lacks it is not kept.
        if self.cache and not asked.counts["failed"].any():
            self.cache.put(key, outcome)
        self.keep.forget(key)
        return outcome

    def _asked(self, stage: Stage, searcher: Searcher, key: str, below: Sequence[Outcome], label: str) -> Asked:
        """Every query on its own, in blocks that are kept as they come."""
        answering = searcher if isinstance(searcher, AnsweringSearcher) else None
        lanes = searcher.lanes if isinstance(searcher, AskingSearcher) else 0

        def one(index: int, clock: Clock) -> tuple[Ranking, Answer | None]:
            query = self.queries[index]
            ranking = searcher.search(query, [each.rankings[index] for each in below], clock)
            return ranking, answering.answer(query, ranking, clock) if answering else None

        warm = bool(lanes)

        def make(block: int) -> Block:
            nonlocal warm
            if not warm:
                for index in range(min(_WARM_UP, len(self.queries))):
                    one(index, Clock())
                warm = True
            queries = self.queries[block * _BLOCK : (block + 1) * _BLOCK]
            places = range(block * _BLOCK, block * _BLOCK + len(queries))
            clocks = [Clock() for _ in queries]
            found = in_lanes(self.ground.desk, lambda place: one(*place), list(zip(places, clocks, strict=True)), lanes)
            rankings = [ranking for ranking, _ in found]
            refuse_wrong(rankings, queries, stage, self.ground.corpus, label)
            return asked_block(rankings, clocks, [answer for _, answer in found if answer] if answering else None)

        count = -(-len(self.queries) // _BLOCK)
        blocks, _ = self.keep.blocks(key, count, make, label=f"{label}: asking", items=len(self.queries))
        return asked_of(blocks)

    def _throughput(self, searcher: Searcher) -> float | None:
        """Queries a second when all are asked together, None for a searcher without a batch of its own."""
        if not isinstance(searcher, BatchSearcher) or not self.queries:
            return None
        searcher.search_all(self.queries[:_WARM_UP])
        start = time.perf_counter()
        searcher.search_all(self.queries)
        return len(self.queries) / max(time.perf_counter() - start, 1e-9)
