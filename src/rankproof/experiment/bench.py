"""The bench: builds and searches each distinct stage once, on a clock, and keeps what it finds."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field, replace

from ..data.identity import key_of
from ..data.queries import Query
from ..data.ranking import Ranking
from ..stages.abilities import BatchSearcher, Regrounded, Requeried
from ..stages.base import Ground, Searcher, Stage
from ..version import __version__
from .asked import Asked, asked_of
from .cache import StageCache
from .interrupts import closed_after, interrupts_first
from .keep import JournalKeep, MemoryKeep
from .outcome import Outcome, answers_above
from .provenance import now
from .ranking_rules import refuse_wrong
from .rounds import WARM_UP, Rounds
from .standing import Standing
from .threads import blas_threads

_SHAPE = 5
"""Of what is kept: raised when outcomes hold something else."""


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
        """What the stage gives: computed in this process, kept from an earlier one, or computed now.

        What rests on something provisional is neither kept nor taken from what was kept.
        """
        if stage not in self.found:
            bench = self.below(stage)
            below = tuple(bench.standing(part, label) for part in stage.below())
            key = key_of(__version__, _SHAPE, self.ground.corpus_key, self._queries_key(), stage)
            sound = not any(each.is_provisional for each in below)
            kept = self.cache.find(key) if self.cache and sound else None
            made = Standing(stage, kept or self._computed(stage, key, below, label, sound=sound), below)
            if not kept and sound:
                self._keep(key, made)
            self.found[stage] = made
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

    def _computed(self, stage: Stage, key: str, below: Sequence[Standing], label: str, *, sound: bool) -> Outcome:
        with interrupts_first(), ExitStack() as stack:
            stack.enter_context(blas_threads(self.ground.threads))
            self.ground.progress(f"{label}: building", 0, 1)
            searcher = stage.build(self.ground)
            stack.enter_context(closed_after(searcher))
            self.ground.progress(f"{label}: building", 1, 1)
            with blas_threads(1):
                asked = self._asked(stage, searcher, below, label, key if sound else None)
            # All queries are asked again together: what the searcher says of its answers below then covers those that were kept.
            throughput = self._throughput(searcher)
            answers, lost = answers_above(asked.answers, [each.outcome for each in below])
            return Outcome(
                asked.rankings,
                asked.times,
                searcher.cost(),
                throughput,
                searcher.facts(),
                (*searcher.notes(), *asked.notes(), *lost),
                now(),
                counts=asked.counts,
                answers=answers,
            )

    def _keep(self, key: str, made: Standing) -> None:
        """Keeps what is finished; an ask that no reply came to may succeed the next time, and what lacks it is not."""
        if self.cache and not made.is_provisional:
            self.cache.put(key, made.outcome)
        self.keep.forget(key)

    def _asked(self, stage: Stage, searcher: Searcher, below: Sequence[Standing], label: str, key: str | None) -> Asked:
        """Every query on its own, in blocks that are kept as they come, where there is a key to keep them under."""

        def refuse(rankings: Sequence[Ranking], queries: Sequence[Query]) -> None:
            refuse_wrong(rankings, queries, stage, self.ground.corpus, label)

        found = [each.outcome.rankings for each in below]
        with closing(Rounds(searcher, self.queries, found, self.ground.desk, refuse)) as rounds:
            told, items = f"{label}: asking", len(self.queries)
            if key is None:
                return asked_of(self.keep.unkept(rounds.count, rounds.make, label=told, items=items))
            blocks, _ = self.keep.blocks(key, rounds.count, rounds.make, label=told, items=items)
            return asked_of(blocks)

    def _throughput(self, searcher: Searcher) -> float | None:
        """Queries a second when all are asked together, None for a searcher without a batch of its own."""
        if not isinstance(searcher, BatchSearcher) or not self.queries:
            return None
        searcher.search_all(self.queries[:WARM_UP])
        start = time.perf_counter()
        searcher.search_all(self.queries)
        return len(self.queries) / max(time.perf_counter() - start, 1e-9)
