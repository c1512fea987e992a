"""Speed of BM25: rankproof and bm25s over the same 20,000 documents, in batch and query by query.

Times are CPU seconds on one thread, each in a fresh process, best of several interleaved rounds. Indexing, imports and
compilation are not timed. Queries are terms (no tokenisation) or text (with tokenisation).
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from rankproof._data.corpus import Corpus, Document
from rankproof._data.dataset import Query
from rankproof._data.ordering import Ranking
from rankproof.stages._base import QueryTimer
from rankproof.stages._bm25 import BM25

from .evaluation_tool import best

DOCUMENTS, QUERIES, DEPTH, SEED = 20_000, 1_000, 100, 7
ROADS = ("batch of terms", "batch of texts", "one text at a time")
TOOLS = ("rankproof", "bm25s")
Found = tuple["np.ndarray[Any, Any]", "np.ndarray[Any, Any]"]
Search = Callable[[int], Any]
Reader = Callable[[Any], Found]


def texts() -> tuple[list[str], list[str]]:
    """Documents and queries whose words follow Zipf's law, as those of any language do."""
    random = np.random.default_rng(SEED)
    up_to = np.cumsum(1 / np.arange(2, 50_002))

    def drawn(count: int, low: int, high: int) -> list[str]:
        places = [np.searchsorted(up_to, random.random(length) * up_to[-1]) for length in random.integers(low, high, size=count)]
        return [" ".join(f"word{at}x" for at in each.tolist()) for each in places]

    return drawn(DOCUMENTS, 20, 200), drawn(QUERIES, 3, 12)


def ours(road: str, documents: list[str], queries: list[str]) -> tuple[Search, Reader]:
    """Our stage, asked for the first so many queries, and how to read what it says."""
    corpus = Corpus(Document(f"{at:05d}", text) for at, text in enumerate(documents))
    searcher = BM25(depth=DEPTH).index(corpus)
    asked = [Query(str(at), text) for at, text in enumerate(queries)]
    terms = [searcher.terms.tokenize(text) for text in queries]
    ways: dict[str, Search] = {
        ROADS[0]: lambda count: searcher.search_terms(terms[:count]),
        ROADS[1]: lambda count: searcher.search_all(asked[:count]),
        ROADS[2]: lambda count: [searcher.search(query, (), QueryTimer()) for query in asked[:count]],
    }
    return ways[road], _table


def _table(rankings: list[Ranking]) -> Found:
    docs, scores = np.zeros((len(rankings), DEPTH), dtype=np.int64), np.zeros((len(rankings), DEPTH))
    for at, (found, values) in enumerate(rankings):
        docs[at, : len(found)], scores[at, : len(values)] = np.array(found, dtype=np.int64), values
    return docs, scores


def theirs(road: str, documents: list[str], queries: list[str]) -> tuple[Search, Reader]:
    """bm25s with numba in batch, without it one query at a time, over the same terms."""
    import bm25s
    import Stemmer

    from rankproof.stages._analyzer import WordAnalyzer

    terms = WordAnalyzer("english", stemming=True, stop_words=True)
    index = bm25s.BM25(method="atire", idf_method="lucene", backend="numpy" if road == ROADS[2] else "numba")
    index.index([terms.tokenize(text) for text in documents], show_progress=False)
    asked, stemmer = [terms.tokenize(text) for text in queries], Stemmer.Stemmer("english")

    def cut(these: list[str]) -> Any:
        pattern = r"(?u)\b\w+\b"
        return bm25s.tokenize(
            these, stopwords="en", stemmer=stemmer, token_pattern=pattern, return_ids=False, show_progress=False
        )

    def ask(these: Any) -> Found:
        found = index.retrieve(these, k=DEPTH, show_progress=False)
        return found.documents, found.scores

    ways: dict[str, Search] = {
        ROADS[0]: lambda count: [ask(asked[:count])],
        ROADS[1]: lambda count: [ask(cut(queries[:count]))],
        ROADS[2]: lambda count: [ask(cut([text])) for text in queries[:count]],
    }
    return ways[road], lambda parts: (
        np.concatenate([docs for docs, _ in parts]),
        np.concatenate([scores for _, scores in parts]),
    )


def contend(tool: str, road: str, folder: Path) -> None:
    """One measurement; prints CPU seconds and leaves what was found in the folder."""
    search, read = {"rankproof": ours, "bm25s": theirs}[tool](road, *texts())
    search(2)
    seconds, found = best(lambda: search(QUERIES), at_least=1.0)
    docs, scores = read(found)
    np.savez(folder / f"{tool}.npz", docs=docs, scores=scores)
    print(json.dumps(seconds))


def measured(road: str, rounds: int, folder: Path) -> dict[str, float]:
    """The least CPU time of each tool."""
    one_thread = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL", "NUMBA")}
    least = dict.fromkeys(TOOLS, float("inf"))
    for turn in range(rounds):
        for tool in TOOLS:
            print(f"{road}: {tool}, round {turn + 1} of {rounds}", file=sys.stderr)
            command = [sys.executable, "-m", "benchmarks.bm25", "--contend", tool, road, str(folder)]
            done = subprocess.run(command, env={**os.environ, **one_thread}, stdout=subprocess.PIPE, check=True)
            least[tool] = min(least[tool], json.loads(done.stdout.splitlines()[-1]))
    return least


def verdict(folder: Path) -> str:
    """Whether both found the same documents with the same scores; where the depth cuts through equal scores either may do."""
    (docs, scores), (others, values) = ((np.load(folder / f"{tool}.npz")[part] for part in ("docs", "scores")) for tool in TOOLS)
    if not np.array_equal(scores.astype(np.float32), values):
        return "other scores"
    for mine, theirs_, score in zip(docs, others, scores, strict=True):
        sure = score > score[-1]
        if set(mine[sure].tolist()) != set(theirs_[sure].tolist()):
            return "other documents"
    return "the same"


def main() -> None:
    """Prints a Markdown table; bm25s' time over ours should be at least 1.2."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.bm25", description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--contend", nargs=3, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.contend:
        tool, road, folder = arguments.contend
        return contend(tool, road, Path(folder))
    print(", ".join(f"{name} {version(name)}" for name in ("rankproof", "bm25s", "numba")), "\n")
    print(f"| BM25, {DOCUMENTS:,} documents, {QUERIES:,} queries | rankproof q/s | bm25s q/s | ratio | top {DEPTH} |")
    print("|---|---:|---:|---:|---|")
    for road in ROADS:
        with TemporaryDirectory() as folder:
            least = measured(road, arguments.rounds, Path(folder))
            rates = [QUERIES / least[tool] for tool in TOOLS]
            print(f"| {road} | {rates[0]:,.0f} | {rates[1]:,.0f} | {rates[0] / rates[1]:.2f} | {verdict(Path(folder))} |")


if __name__ == "__main__":
    main()
