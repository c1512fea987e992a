"""Cost and quality of BM25 over words, character n-grams, byte n-grams and BPE, on the shared collections.

`python -m benchmarks.bm25_tokens languages` does so for the languages of XQuAD. Times are CPU seconds on one thread. A * means
that the paired 95% interval of the difference (bootstrap over queries) excludes 0: the difference from the default words, for the
languages from words without stemming. Does nothing without the collections.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from tools import shared_folder

from rankproof import Dataset, evaluate, read_dataset
from rankproof._statistics.intervals import mean_interval
from rankproof._tokenizer_lab.splits import read_languages
from rankproof._tokenizer_lab.systems import stemmer_name
from rankproof._tokenizer_lab.token_counts import TermCounter
from rankproof.stages import BM25
from rankproof.stages._bm25 import BM25Searcher

DATA = shared_folder.DATA
COLLECTIONS = ("scifact", "cranfield", "cosqa", "xquad-en")
MEASURE, ABSENT, COSTED = "nDCG@10", "–", "scifact"
PLAIN = {"stemming": False, "stop_words": False}
OTHERS = (
    *(f"characters-{n}" for n in (2, 3, 4, 5, 6)),
    *(f"bytes-{n}" for n in (3, 4, 6, 8)),
    "bpe-2000",
    "bpe-8000",
    "bpe-30000",
)
STAGES = {"words": BM25(), "words, as they stand": BM25(**PLAIN), **{name: BM25(tokens=name) for name in OTHERS}}  # type: ignore[arg-type]
FOR_LANGUAGES = ("characters-2", "characters-3", "characters-4", "bytes-4", "bytes-6", "bpe-2000", "bpe-8000")


@dataclass(frozen=True, slots=True)
class Tried:
    """One kind of tokens on one collection."""

    values: Mapping[str, float]
    searcher: BM25Searcher
    index_seconds: float
    query_ms: float
    unknown: float

    def mean(self) -> float:
        """The mean over the queries."""
        return float(np.mean(list(self.values.values())))


def tried(stage: BM25, dataset: Dataset) -> Tried:
    """Indexes, searches and evaluates."""
    return measured(lambda: stage.index(dataset.corpus), dataset)


def measured(make: Callable[[], BM25Searcher], dataset: Dataset) -> Tried:
    """What an index costs, and how well it ranks the judged queries."""
    queries = [dataset.queries[query] for query in dataset.qrels]
    index_seconds, searcher = _timed(make)
    searcher.search_all(queries[:2])
    search_seconds, found = _timed(lambda: searcher.search_all(queries))
    run = {query.id: dict(zip(docs, scores.tolist(), strict=True)) for query, (docs, scores) in zip(queries, found, strict=True)}
    values = evaluate(dataset.qrels, run, [MEASURE]).per_query()[MEASURE]
    unknown = TermCounter(searcher).unknown([query.text for query in queries])
    return Tried(values, searcher, index_seconds, 1000 * search_seconds / len(queries), unknown or 0.0)


def _timed(job: Callable[[], Any]) -> tuple[float, Any]:
    start = time.process_time()
    found = job()
    return time.process_time() - start, found


def shown(one: Tried, other: Tried) -> str:
    """The mean, starred where it differs from the other's beyond chance."""
    apart = np.array([one.values[query] - other.values[query] for query in other.values])
    low, high = mean_interval(apart) or (0.0, 0.0)
    return f"{one.mean():.3f}{'*' if low > 0 or high < 0 else ''}"


def collections() -> list[list[str]]:
    """A row for each kind of tokens: its cost on SciFact, and its values on every collection."""
    found = {name: {kind: tried(stage, read_dataset(DATA / name)) for kind, stage in STAGES.items()} for name in COLLECTIONS}
    head = ["tokens", "index MB", "index s", "ms per query", "vocabulary", *(f"{name} {MEASURE}" for name in COLLECTIONS)]
    rows = [[*head, *(f"{name} unknown" for name in COLLECTIONS)]]
    for kind in STAGES:
        cost = found[COSTED][kind]
        costs = [f"{cost.searcher.cost().bytes / 1e6:.1f}", f"{cost.index_seconds:.1f}", f"{cost.query_ms:.2f}"]
        means = [shown(found[name][kind], found[name]["words"]) for name in COLLECTIONS]
        unknown = [f"{found[name][kind].unknown:.1%}" for name in COLLECTIONS]
        rows.append([kind, *costs, f"{cost.searcher.totals.vocabulary:,}", *means, *unknown])
    return rows


def languages() -> list[list[str]]:
    """A row for each language of XQuAD: words as they stand, stems where there is a stemmer, and what needs no language."""
    folder = str(DATA / "xquad-en")
    rows = [["language", "words, as they stand", "stems", *FOR_LANGUAGES]]
    for code, dataset in read_languages(folder, read_dataset(folder), ["all"]).items():
        words = tried(STAGES["words, as they stand"], dataset)
        stemmer = stemmer_name(code)
        stems = shown(tried(BM25(language=stemmer, stop_words=False), dataset), words) if stemmer else ABSENT
        others = [shown(tried(BM25(tokens=name), dataset), words) for name in FOR_LANGUAGES]
        rows.append(["en" if code == "own" else code, f"{words.mean():.3f}", stems, *others])
    return rows


def main() -> None:
    """Prints the table that is asked for as Markdown."""
    if reasons := [*filter(None, map(shared_folder.missing_data, COLLECTIONS))]:
        print(f"{reasons[0]}: skipped", file=sys.stderr)
        return
    print("\n".join(markdown(languages() if sys.argv[1:] == ["languages"] else collections())))


def markdown(rows: list[list[str]]) -> list[str]:
    """The lines of a table, numbers to the right."""
    head, *others = rows
    return [f"| {' | '.join(row)} |" for row in (head, [":---", *["---:"] * (len(head) - 1)], *others)]


if __name__ == "__main__":
    main()
