"""A Keep in memory, and the ground that stages are built on in tests."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from tempfile import gettempdir

from rankproof.data.corpus import Corpus, Document
from rankproof.data.queries import Query
from rankproof.data.ranking import Ranking
from rankproof.stages.abilities import Regrounded
from rankproof.stages.base import Block, Ground, Searcher, Stage
from rankproof.stages.clock import Clock


class PlainKeep:
    """Keeps blocks in a dictionary and counts how many it had to make, and how many folders."""

    def __init__(self) -> None:
        self.kept: dict[str, tuple[list[Block], float]] = {}
        self.made = 0
        self.folders = 0

    def blocks(
        self, key: str, count: int, make: Callable[[int], Block], *, label: str, items: int | None = None
    ) -> tuple[list[Block], float]:
        if key not in self.kept:
            start = time.perf_counter()
            self.kept[key] = [make(at) for at in range(count)], time.perf_counter() - start
            self.made += count
        return self.kept[key]

    def folder(self, key: str) -> str:
        self.folders += 1
        return gettempdir()


def corpus_of(texts: Mapping[str, str], titles: Mapping[str, str] | None = None) -> Corpus:
    return Corpus(Document(doc, text, (titles or {}).get(doc, "")) for doc, text in texts.items())


def ground_of(corpus: Corpus, keep: PlainKeep | None = None) -> Ground:
    return Ground(corpus, corpus.fingerprint(), keep or PlainKeep())


def climbed(stage: Stage, ground: Ground, text: str) -> Ranking:
    """One query's ranking by a stage and all those below it."""
    return asked(stage, stage.build(ground), ground, text)


def asked(stage: Stage, searcher: Searcher, ground: Ground, text: str) -> Ranking:
    """One query's ranking by a built stage and all those below it."""
    others = stage.ground_below(ground) if isinstance(stage, Regrounded) else ground
    below = [climbed(part, others, text) for part in stage.below()]
    return searcher.search(Query("q", text), below, Clock())
