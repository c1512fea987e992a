"""A small retriever over partitions: the sum of tf / df of the query's words, with many ties."""

from __future__ import annotations

import os
import signal
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rankproof._data.corpus import Partition
from rankproof._executors.base import Report
from rankproof._io.array_files import open_arrays, write_arrays
from rankproof.stages._partitions import PartitionHits

PREPARED, SEARCHED = "prepared.log", "searched.log"
KILL = "RANKPROOF_KILL"
"""The variable with what is killed, such as `prepared.log 5`."""


@dataclass(frozen=True)
class WordRetriever:
    """Logs each partition that it prepares or searches, and kills its process before one that a variable names."""

    log: Path
    factor: float = 1.0

    def prepare(self, partition: Partition, folder: Path, report: Report) -> Counter[str]:
        path = folder / "words.arrays"
        if not path.exists():
            _kill(PREPARED, partition)
            self.note(PREPARED, partition)
            write_arrays(path, {}, {"words": [text.split() for text in partition.texts]})
        report(len(partition))
        return Counter(word for words in open_arrays(path).facts["words"] for word in set(words))

    def combine(self, statistics: Iterable[Counter[str]], folder: Path) -> Counter[str]:
        return sum(statistics, Counter())

    def open(self, partition: Partition, folder: Path, totals: Counter[str]) -> WordIndex:
        _kill(SEARCHED, partition)
        self.note(SEARCHED, partition)
        return WordIndex(partition, open_arrays(folder / "words.arrays").facts["words"], totals, self.factor)

    def note(self, name: str, partition: Partition) -> None:
        with open(self.log / name, "a", encoding="utf-8") as file:
            file.write(f"{partition.number}\n")


def _kill(name: str, partition: Partition) -> None:
    if os.environ.get(KILL) == f"{name} {partition.number}":
        os.kill(os.getpid(), signal.SIGKILL)


@dataclass(frozen=True)
class WordIndex:
    partition: Partition
    words: Sequence[Sequence[str]]
    totals: Counter[str]
    factor: float = 1.0

    def search(self, queries: Sequence[str], k: int) -> PartitionHits:
        k = min(k, len(self.partition))
        rows, scores = np.full((len(queries), k), -7, np.int32), np.full((len(queries), k), np.nan)
        counts = np.zeros(len(queries), np.int64)
        for at, query in enumerate(queries):
            each = [sum(words.count(word) / self.totals[word] for word in query.split() if word in words) for words in self.words]
            found = sorted((row for row in self.partition.order.tolist() if each[row]), key=lambda row: -each[row])[:k]
            counts[at] = len(found)
            rows[at, : len(found)], scores[at, : len(found)] = found, [self.factor * each[row] for row in found]
        return PartitionHits(rows, scores, counts)
