"""Speed and memory of BM25 on large corpora: rankproof, tantivy on one thread, and bm25s with numba.

    python -m benchmarks.bm25_scale 200000 1000000 [--rounds N]

The documents are those of `benchmarks.scale`, with 48 to 216 words. Each tool runs in a fresh process on one thread, in turn;
the best of several rounds counts. Times are CPU seconds, the memory is the largest resident size. Indexing begins with a JSONL
file: rankproof reads, checks and fingerprints it, tantivy gets what `json.loads` reads. bm25s has the weights of rankproof's
index and searches only: its own index of a million documents takes over 4 GB.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from importlib.metadata import version
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from rankproof._data.corpus import Corpus
from rankproof._data.dataset import Query
from rankproof._experiment.cache import DiskBlockCache
from rankproof._formats.read import read_folder_texts
from rankproof._io.corpus_store import CorpusStorage
from rankproof.stages import BM25
from rankproof.stages._base import BuildContext, QueryTimer
from rankproof.stages._bm25 import BM25Partitions, BM25Searcher, TermAnalysis, idf
from rankproof.stages._bm25_index import pair_factors

from . import scale
from .evaluation_tool import best

DEPTHS, SINGLE = (100, 1000), 200
Figures = dict[str, float]


def read_queries(folder: Path) -> list[str]:
    """The texts of the queries."""
    return [json.loads(line)["text"] for line in (folder / "queries.jsonl").read_text(encoding="utf-8").splitlines()]


def built(folder: Path, work: str) -> tuple[Callable[[int], BM25Searcher], Callable[[], None]]:
    """Reads the documents; returns what builds the searcher of a depth, with one index for all, and what removes the hits."""
    corpus, _ = read_folder_texts(str(folder), storage=CorpusStorage(Path(work)))
    cache = DiskBlockCache(Path(work), lambda label, done, total: None)
    context = BuildContext(corpus, corpus.fingerprint(), cache)
    return lambda depth: BM25(depth=depth).build(context), lambda: cache.forget("")


def peak_mb() -> float:
    """The largest resident size of this process so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def per_query_ms(search: Callable[[str], Any], queries: Sequence[str]) -> float:
    """The CPU milliseconds of a query, asked alone, after a warm-up."""
    list(map(search, queries[:SINGLE]))
    seconds, _ = best(lambda: list(map(search, queries[:SINGLE])), at_least=2.0)
    return 1000 * seconds / SINGLE


def rankproof_figures(folder: Path) -> Figures:
    """Reading and indexing, then queries one by one and in a batch."""
    with TemporaryDirectory(dir=folder) as work:
        start = time.process_time()
        searcher_of, remove_hits = built(folder, work)
        searcher, queries = searcher_of(DEPTHS[0]), read_queries(folder)
        found = {"index s": time.process_time() - start, "index MB": peak_mb()}
        found["one query ms"] = per_query_ms(lambda text: searcher.search(Query("q", text), (), QueryTimer()), queries)
        terms = [searcher.terms.tokenize(text) for text in queries]
        for depth in DEPTHS:
            found[f"batch q/s, top {depth}"] = rate(searcher_of(depth).search_terms, terms, remove_hits)
        return {**found, "peak MB": peak_mb()}


def rate(search: Callable[[list[list[str]]], Any], terms: list[list[str]], before: Callable[[], None] = lambda: None) -> float:
    """Queries a CPU second of a batch, after a warm-up; `before` runs before each batch."""

    def batch() -> Any:
        before()
        return search(terms)

    search(terms[:2])
    seconds, _ = best(batch, at_least=2.0)
    return len(terms) / seconds


def tantivy_figures(folder: Path) -> Figures:
    """The same for tantivy with its English stemmer; it has no batches."""
    import tantivy

    schema = tantivy.SchemaBuilder().add_text_field("text", tokenizer_name="en_stem", index_option="freq").build()
    with TemporaryDirectory(dir=folder) as work:
        start = time.process_time()
        index = tantivy.Index(schema, path=work)
        writer = index.writer(heap_size=128_000_000, num_threads=1)
        for text in _passages(folder):
            writer.add_document(tantivy.Document(text=text))
        writer.commit()
        writer.wait_merging_threads()
        found = {"index s": time.process_time() - start, "index MB": peak_mb()}
        index.reload()
        searcher = index.searcher()

        def search(text: str) -> Any:
            return searcher.search(index.parse_query(text, ["text"]), DEPTHS[0], count=False).hits

        found["one query ms"] = per_query_ms(search, read_queries(folder))
        return {**found, "peak MB": peak_mb()}


def _passages(folder: Path) -> Iterator[str]:
    with (folder / "corpus.jsonl").open(encoding="utf-8") as lines:
        for line in lines:
            record = json.loads(line)
            yield f"{record['title']} {record['text']}"


def bm25s_figures(folder: Path) -> Figures:
    """Batches of terms over the weights of rankproof's index."""
    stage, (corpus, _) = BM25(), read_folder_texts(str(folder), storage=CorpusStorage(None))
    terms = TermAnalysis().analyzer()
    index = _with_weights(stage, corpus.repartitioned(len(corpus)))
    asked = [terms.tokenize(text) for text in read_queries(folder)]
    ways = {depth: partial(index.retrieve, k=depth, show_progress=False) for depth in DEPTHS}
    return {f"batch q/s, top {depth}": rate(way, asked) for depth, way in ways.items()}


def _with_weights(stage: BM25, corpus: Corpus) -> Any:
    """An index of bm25s with the weights of the one partition of the corpus."""
    import bm25s

    arrays = BM25Partitions(TermAnalysis(), stage.fields, stage.k1, stage.b).postings(corpus.partitions[0])
    starts = arrays.segment_starts[arrays.term_segments]
    idfs = np.array([idf(found, len(corpus)) for found in np.diff(starts).tolist()], np.float32).astype(np.float64)
    blocks, sizes = arrays.segment_blocks, np.diff(arrays.segment_starts)
    factors = pair_factors(arrays, stage.k1, stage.b, float(arrays.lengths.mean()))
    pairs = np.repeat(arrays.block_pairs[blocks], sizes) + (arrays.postings >> 16)
    index = bm25s.BM25(method="atire", idf_method="lucene", backend="numba")
    index.scores = {
        "data": (np.repeat(idfs, np.diff(starts)) * factors[pairs]).astype(np.float32),
        "indices": (np.repeat(arrays.block_rows[blocks], sizes) + (arrays.postings & 0xFFFF)).astype(np.int32),
        "indptr": starts,
        "num_docs": len(corpus),
    }
    text, bounds = arrays.term_bytes.tobytes(), pairwise(arrays.term_offsets.tolist())
    index.vocab_dict = {text[start:end].decode(): number for number, (start, end) in enumerate(bounds)}
    index.unique_token_ids_set = set(index.vocab_dict.values())
    index.nonoccurrence_array = None
    return index


FIGURES: dict[str, Callable[[Path], Figures]] = {
    "rankproof": rankproof_figures,
    "tantivy": tantivy_figures,
    "bm25s": bm25s_figures,
}


def measured(folder: Path, rounds: int) -> dict[str, Figures]:
    """The best figures of each tool: the least times and memory, the highest rates."""
    one_thread = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL", "NUMBA")}
    best_of: dict[str, Figures] = {tool: {} for tool in FIGURES}
    for turn in range(rounds):
        for tool, known in best_of.items():
            print(f"{folder.name}: {tool}, round {turn + 1} of {rounds}", file=sys.stderr)
            command = [sys.executable, "-m", "benchmarks.bm25_scale", "--tool", tool, str(folder)]
            done = subprocess.run(command, env={**os.environ, **one_thread}, stdout=subprocess.PIPE, check=True)
            for name, value in json.loads(done.stdout.splitlines()[-1]).items():
                better = max if "q/s" in name else min
                known[name] = better(known.get(name, value), value)
    return best_of


def table(count: int, found: dict[str, Figures]) -> list[str]:
    """The figures as Markdown, with the ratio of rankproof to the better peer."""
    lines = [f"| {count:,} documents | {' | '.join(found)} | rankproof is |", "|---|---:|---:|---:|---|"]
    for name, own in found["rankproof"].items():
        others = [figures[name] for tool, figures in found.items() if tool != "rankproof" and name in figures]
        cells = " | ".join(
            f"{figures[name]:,.{0 if figures[name] >= 100 else 1}f}" if name in figures else "–" for figures in found.values()
        )
        ratio = own / max(others) if "q/s" in name else min(others) / own
        lines.append(f"| {name} | {cells} | {ratio:.2f} times {'as small' if 'MB' in name else 'as fast'} |")
    return lines


def main() -> None:
    """Prints a Markdown table for each size."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.bm25_scale", description=__doc__)
    parser.add_argument("sizes", type=int, nargs="*", default=[200_000, 1_000_000])
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--tool", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.tool:
        print(json.dumps(FIGURES[arguments.tool[0]](Path(arguments.tool[1]))))
        return
    print(", ".join(f"{name} {version(name)}" for name in ("rankproof", "tantivy", "bm25s", "numba")))
    for count in arguments.sizes:
        with TemporaryDirectory() as home:
            folder = Path(home) / f"{count} documents"
            scale.make(count, folder)
            print("", *table(count, measured(folder, arguments.rounds)), sep="\n", flush=True)


if __name__ == "__main__":
    main()
