"""Small judgements and runs as dicts, and hypothesis strategies for them."""

from __future__ import annotations

from random import Random
from types import ModuleType

import numpy as np
from hypothesis import strategies as st

from rankproof._align import reference
from rankproof._align.hits import Hits
from rankproof._data.qrels import Qrels
from rankproof._data.validation import ReadOptions

Grades = dict[str, dict[str, int]]
Scores = dict[str, dict[str, float]]

QUERIES = [f"q{number}" for number in range(4)]
DOCS = [f"d{number}" for number in range(12)]


def aligned(qrels: Grades, run: Scores, read_options: ReadOptions | None = None, engine: ModuleType = reference) -> Hits:
    """The hits, whose arrays refuse to be written to."""
    hits: Hits = engine.align_dict(engine.judge_qrels(Qrels.from_dict(qrels)), run, "run", read_options or ReadOptions())
    for array in (hits.present, hits.retrieved, hits.offsets, hits.ranks, hits.grades, hits.judged.grades, hits.judged.offsets):
        array.flags.writeable = False
    return hits


def ranked(docs: list[str]) -> dict[str, float]:
    """Documents in this order as a run's scores."""
    return {doc: float(len(docs) - place) for place, doc in enumerate(docs)}


def by_query(hits: Hits, values: np.ndarray[tuple[int], np.dtype[np.float64]]) -> dict[str, float]:
    return dict(zip(hits.queries, values.tolist(), strict=True))


def qrels_of(lowest: int = -2, highest: int = 4) -> st.SearchStrategy[Grades]:
    """Judgements of one to four queries; none has negative grades alone."""
    return _seeds().map(lambda seed: _qrels(Random(seed), lowest, highest))


def runs() -> st.SearchStrategy[Scores]:
    """A run with ties, in any order, that may lack queries or have no document for one."""
    return _seeds().map(lambda seed: _run(Random(seed)))


def _seeds() -> st.SearchStrategy[int]:
    """A seed instead of every entry: large collections then come as often as small ones."""
    return st.integers(0, 2**32)


def _qrels(random: Random, lowest: int, highest: int) -> Grades:
    queries = random.sample(QUERIES, random.randint(1, len(QUERIES)))
    return {query: _judged(random, random.randint(lowest, highest), highest) for query in queries}


def _judged(random: Random, lowest: int, highest: int) -> dict[str, int]:
    docs = random.sample(DOCS, random.randint(1, len(DOCS)))
    grades = {doc: random.randint(lowest, random.randint(lowest, highest)) for doc in docs}
    return grades | {docs[0]: max(grades[docs[0]], 0)}


def _run(random: Random) -> Scores:
    queries = random.sample(QUERIES, random.choice([0, 1, 2, 3, 4, 4, 4]))
    return {query: _scores(random, random.choice([2, 5, 1000])) for query in queries}


def _scores(random: Random, levels: int) -> dict[str, float]:
    docs = random.sample(DOCS, random.choice([0, 1, 4, 8, len(DOCS)]))
    return {doc: random.randint(-levels, levels) / 8 for doc in docs}
