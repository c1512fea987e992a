"""The bench: builds and searches each distinct stage once, on a clock, and keeps what it finds."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field

from ..data.identity import key_of
from ..data.queries import Query
from ..data.ranking import Ranking
from ..stages.base import BatchSearcher, Block, Ground, Searcher, Stage
from ..stages.clock import Clock
from ..version import __version__
from .asked import Asked, answers_block, answers_of
from .cache import StageCache
from .interrupts import closed_after, interrupts_first
from .keep import JournalKeep, MemoryKeep
from .outcome import Outcome
from .provenance import now
from .ranking_rules import refuse_wrong
from .threads import blas_threads

_BLOCK = 16
_SHAPE = 2
"""Of what is kept: raised when outcomes hold something else."""
_WARM_UP = 3


@dataclass(frozen=True, eq=False, slots=True)
class Bench:
    """One dataset's documents and queries, and where finished work is kept."""

    ground: Ground
    queries: Sequence[Query]
    queries_key: str
    keep: JournalKeep | MemoryKeep
    cache: StageCache | None
    found: dict[Stage, Outcome] = field(default_factory=dict)

    def outcome(self, stage: Stage, label: str) -> Outcome:
        """What the stage gives: computed in this process, kept from an earlier one, or computed now."""
        if stage not in self.found:
            below = [self.outcome(part, label) for part in stage.below()]
            key = key_of(__version__, _SHAPE, self.ground.corpus_key, self.queries_key, stage)
            kept = self.cache.find(key) if self.cache else None
            self.found[stage] = kept or self._computed(stage, key, below, label)
        return self.found[stage]

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
            )
        if self.cache:
            self.cache.put(key, outcome)
        self.keep.forget(key)
        return outcome

    def _asked(self, stage: Stage, searcher: Searcher, key: str, below: Sequence[Outcome], label: str) -> Asked:
        """Every query on its own, in blocks that are kept as they come."""

        def one(index: int, clock: Clock) -> Ranking:
            return searcher.search(self.queries[index], [each.rankings[index] for each in below], clock)

        warm = False

        def make(block: int) -> Block:
            nonlocal warm
            if not warm:
                for index in range(min(_WARM_UP, len(self.queries))):
                    one(index, Clock())
                warm = True
            queries = self.queries[block * _BLOCK : (block + 1) * _BLOCK]
            clocks = [Clock() for _ in queries]
            rankings = [one(block * _BLOCK + at, clock) for at, clock in enumerate(clocks)]
            refuse_wrong(rankings, queries, stage, self.ground.corpus, label)
            return answers_block(rankings, clocks)

        count = -(-len(self.queries) // _BLOCK)
        blocks, _ = self.keep.blocks(key, count, make, label=f"{label}: asking", items=len(self.queries))
        return answers_of(blocks)

    def _throughput(self, searcher: Searcher) -> float | None:
        """Queries a second when all are asked together, None for a searcher without a batch of its own."""
        if not isinstance(searcher, BatchSearcher) or not self.queries:
            return None
        searcher.search_all(self.queries[:_WARM_UP])
        start = time.perf_counter()
        searcher.search_all(self.queries)
        return len(self.queries) / max(time.perf_counter() - start, 1e-9)
