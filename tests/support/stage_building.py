"""A block cache in memory and a build context for stages."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from tempfile import gettempdir, mkdtemp
from weakref import finalize

from rankproof._data.corpus import Corpus, Document
from rankproof._data.dataset import Query
from rankproof._data.ordering import Ranking
from rankproof._io.array_files import Block
from rankproof.stages._base import BuildContext, PartitionKind, QueryTimer, ReplacesCorpus, Searcher, Stage


class PlainBlockCache:
    """Caches blocks in a dictionary; counts the blocks it computed and the folders it opened."""

    def __init__(self) -> None:
        self.kept: dict[str, tuple[list[Block], float]] = {}
        self.made = 0
        self.folders = 0
        self._partitions = Path(mkdtemp(prefix="rankproof-"))
        finalize(self, shutil.rmtree, self._partitions, ignore_errors=True)

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

    def partition_folder(self, key: str, kind: PartitionKind = "indexes") -> Path:
        folder = self._partitions / key
        folder.mkdir(exist_ok=True)
        return folder

    def hits_folder(self, key: str) -> Path:
        return self.partition_folder(f"hits-{key}")

    def add_saved_seconds(self, seconds: float) -> None:
        return None

    def partition_files(self, name: str) -> list[Path]:
        """The files of that name in the folders of partitions."""
        return sorted(self._partitions.glob(f"*/{name}"))


def corpus_of(texts: Mapping[str, str], titles: Mapping[str, str] | None = None) -> Corpus:
    return Corpus(Document(doc, text, (titles or {}).get(doc, "")) for doc, text in texts.items())


def context_of(corpus: Corpus, block_cache: PlainBlockCache | None = None) -> BuildContext:
    return BuildContext(corpus, corpus.fingerprint(), block_cache or PlainBlockCache())


def ranking_of(stage: Stage, context: BuildContext, text: str) -> Ranking:
    """The ranking of one query by a stage and its inputs."""
    with closing(stage.build(context)) as searcher:
        return search_with(stage, searcher, context, text)


def search_with(stage: Stage, searcher: Searcher, context: BuildContext, text: str) -> Ranking:
    """The ranking of one query by a built stage and its inputs."""
    others = stage.input_context(context) if isinstance(stage, ReplacesCorpus) else context
    below = [ranking_of(part, others, text) for part in stage.inputs()]
    return searcher.search(Query("q", text), below, QueryTimer())
