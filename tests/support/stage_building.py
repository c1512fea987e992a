"""A Keep in memory, and the ground that stages are built on in tests."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from tempfile import gettempdir

from rankproof._data.dataset import Corpus, Document, Query
from rankproof._data.ordering import Ranking
from rankproof._io.journal import Block
from rankproof.stages._base import BuildContext, QueryTimer, ReplacesCorpus, Searcher, Stage


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


def ground_of(corpus: Corpus, block_cache: PlainKeep | None = None) -> BuildContext:
    return BuildContext(corpus, corpus.fingerprint(), block_cache or PlainKeep())


def climbed(stage: Stage, context: BuildContext, text: str) -> Ranking:
    """One query's ranking by a stage and all those below it."""
    return asked(stage, stage.build(context), context, text)


def asked(stage: Stage, searcher: Searcher, context: BuildContext, text: str) -> Ranking:
    """One query's ranking by a built stage and all those below it."""
    others = stage.input_context(context) if isinstance(stage, ReplacesCorpus) else context
    below = [climbed(part, others, text) for part in stage.inputs()]
    return searcher.search(Query("q", text), below, QueryTimer())
