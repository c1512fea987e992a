"""The vectors of SciFact in every store that runs in this process: `python -m benchmarks.vector_stores markdown`.

The vectors are those of WordLlama, encoded once. Each store is filled, searched by every query of the collection, one at a time,
and compared with exact search in memory. The time of a query is the 10th percentile, which other processes hardly change.
Libraries of numpy use one thread, LanceDB all. Needs the extra bench. Does nothing without the collection.
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from tempfile import TemporaryDirectory

import numpy as np
from threadpoolctl import threadpool_limits
from tools import shared_folder

import rankproof as rp
from rankproof._data.arrays import Matrix
from rankproof._data.ordering import Ranking
from rankproof.models import WordLlama
from rankproof.stages._fields import passage_texts
from rankproof.stores import Chroma, LanceDB, Memory, Milvus, PgVector, Qdrant
from rankproof.stores._base import Store, ann_recall

DATA = shared_folder.DATA / "scifact"
DEPTH, BATCH = 100, 1_000
STORES: dict[str, Store] = {
    "`memory`": Memory(),
    "`pgvector`": PgVector(),
    "`pgvector`, `hnsw`": PgVector(index="hnsw"),
    "`chroma`": Chroma(),
    "`lancedb`": LanceDB(),
    "`lancedb`, `hnsw-sq`": LanceDB("hnsw-sq"),
    "`qdrant`": Qdrant(),
    "`qdrant`, `hnsw`": Qdrant(index="hnsw"),
    "`milvus`": Milvus(),
    "`milvus`, `hnsw`": Milvus(index="hnsw"),
}


@dataclass(frozen=True)
class Measured:
    """A store: seconds until it can be searched, the milliseconds of a query, its bytes and what it found."""

    seconds: float
    milliseconds: float
    size: int
    found: list[Ranking]


def main() -> None:
    """Fills and searches every store once and prints the table."""
    if reason := shared_folder.missing_data("scifact"):
        print(f"{reason}: skipped", file=sys.stderr)
        return
    dataset = rp.read_dataset(DATA)
    texts = passage_texts(dataset.corpus, ("title", "text"))
    encoder = WordLlama().load()
    vectors = encoder.encode(list(texts.values()))
    queries = encoder.encode([query.text for query in dataset.queries.values()])
    with threadpool_limits(1):
        measured = {name: measure(store, list(texts), vectors, queries) for name, store in STORES.items()}
    exact = measured["`memory`"].found
    print(f"| store | ready s | query ms p10 | recall of the top {DEPTH} | MB |\n|:---|---:|---:|---:|---:|")
    for name, one in measured.items():
        recall = f"{ann_recall(one.found, exact):.4f}".lstrip("0")
        print(f"| {name} | {one.seconds:.1f} | {one.milliseconds:.1f} | {recall} | {one.size / 1e6:.0f} |")


def measure(store: Store, ids: list[str], vectors: Matrix, queries: Matrix) -> Measured:
    """Fills the store in batches, as the dense stage does, and asks each query alone."""
    with TemporaryDirectory() as folder:
        begin = time.perf_counter()
        with store.open("benchmark", vectors.shape[1], folder if store.needs_folder else "") as held:
            for start in range(0, len(ids), BATCH):
                held.add(ids[start : start + BATCH], vectors[start : start + BATCH])
            size = held.size()
            held.search(queries[:1], DEPTH)
            seconds, times, found = time.perf_counter() - begin, [], []
            for query in queries:
                asked = time.perf_counter()
                found += held.search(query[np.newaxis], DEPTH)
                times.append(time.perf_counter() - asked)
    return Measured(seconds, 1000 * float(np.quantile(times, 0.1)), size, found)


if __name__ == "__main__":
    main()
