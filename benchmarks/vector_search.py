"""Speed and memory of exact vector search: rankproof, faiss and numpy.

Times are CPU seconds on one thread, best of several interleaved rounds. Each measurement is a fresh process
(`python -m benchmarks.vector_search TOOL COUNT FOLDER`) that prints its times and saves what it found. faiss is set to use BLAS,
which by default it does only for larger products. The memory is the largest resident size of the process: rankproof maps the file
of one partition after the other, the others hold all vectors. Its files are written beforehand, and its scores are summed in
float64.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from resource import RUSAGE_SELF, getrusage
from typing import Any, Self

import numpy as np

from rankproof._data.corpus import Corpus, Document
from rankproof._experiment.cache import DiskBlockCache
from rankproof.stages._base import BuildContext
from rankproof.stages._partitions import PartitionedSearch
from rankproof.stages._vectors import VectorRetriever

from .evaluation_tool import best

TOOLS = ("rankproof", "faiss", "numpy")
SIZES = (19_000, 200_000, 1_000_000)
QUERIES, DIMENSIONS, DEPTH = 1_000, 384, 100
LAST_BITS = 1e-6
Matrix = np.ndarray[Any, np.dtype[np.float32]]
Found = tuple[np.ndarray[Any, np.dtype[np.int64]], np.ndarray[Any, np.dtype[np.float64]]]
Search = Callable[[Matrix], Found]


@dataclass(frozen=True)
class StoredVectors:
    """An encoder whose text is the number of a vector."""

    path: str

    def load(self, *, threads: int = 1) -> Self:
        return self

    def revision(self) -> str:
        return "1"

    def encode(self, texts: Sequence[str]) -> Matrix:
        found: Matrix = np.load(self.path, mmap_mode="r")[[int(text) for text in texts]]
        return found

    def cut(self, texts: Sequence[str]) -> int:
        return 0

    def facts(self) -> Mapping[str, Any]:
        return {}


def rankproof_search(path: Path) -> Callable[[Matrix], Any]:
    """Our partitions, with ids as text."""
    count = len(np.load(path, mmap_mode="r"))
    corpus = Corpus(Document(f"{at:07}", str(at)) for at in range(count))
    cache = DiskBlockCache(path.parent / "cache", lambda label, done, total: None)
    retriever = VectorRetriever(StoredVectors(str(path)), "", ("text",), 1, "cpu")
    search = PartitionedSearch(BuildContext(corpus, "", cache), retriever, retriever.key("benchmark"), label="")
    search.prepare_all()
    return lambda queries: search.search_here(queries, DEPTH)


def faiss_search(path: Path) -> Callable[[Matrix], Any]:
    """faiss' flat index."""
    import faiss

    vectors = np.load(path, mmap_mode="r")
    faiss.omp_set_num_threads(1)
    faiss.cvar.distance_compute_blas_threshold = 1
    index = faiss.IndexFlatIP(vectors.shape[1])
    for start in range(0, len(vectors), 10_000):
        index.add(np.array(vectors[start : start + 10_000]))
    return lambda queries: index.search(queries, DEPTH)


def numpy_search(path: Path) -> Callable[[Matrix], Any]:
    """A matrix product and argpartition, in blocks of queries."""
    vectors = np.load(path)

    def search(queries: Matrix) -> Found:
        parts = [_partitioned(queries[start : start + 64] @ vectors.T) for start in range(0, len(queries), 64)]
        return np.concatenate([part[0] for part in parts]), np.concatenate([part[1] for part in parts])

    return search


def _partitioned(products: Matrix) -> Found:
    rows = np.argpartition(products, -DEPTH, axis=1)[:, -DEPTH:]
    scores = np.take_along_axis(products, rows, axis=1)
    order = np.argsort(-scores, axis=1)
    return np.take_along_axis(rows, order, axis=1), np.take_along_axis(scores, order, axis=1).astype(np.float64)


SEARCHES = {"rankproof": rankproof_search, "faiss": faiss_search, "numpy": numpy_search}


def make(count: int, folder: Path) -> None:
    """Vectors in 200 loose clusters and queries from the same, all of length 1."""
    path = _vectors_path(count, folder)
    if path.exists():
        return
    folder.mkdir(parents=True, exist_ok=True)
    numbers = np.random.default_rng(count)
    centres = numbers.standard_normal((200, DIMENSIONS), np.float32)
    np.save(_queries_path(count, folder), _clustered(numbers, centres, QUERIES))
    unfinished = path.with_suffix(".part")
    with unfinished.open("wb") as out:
        shape = {"descr": "<f4", "fortran_order": False, "shape": (count, DIMENSIONS)}
        np.lib.format.write_array_header_1_0(out, shape)
        for start in range(0, count, 10_000):
            _clustered(numbers, centres, min(10_000, count - start)).tofile(out)
    unfinished.rename(path)


def _clustered(numbers: np.random.Generator, centres: Matrix, size: int) -> Matrix:
    rows = 0.7 * centres[numbers.integers(0, len(centres), size)] + numbers.standard_normal((size, DIMENSIONS), np.float32)
    unit: Matrix = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
    return unit


def _vectors_path(count: int, folder: Path) -> Path:
    return folder / f"searched-{count}.npy"


def _queries_path(count: int, folder: Path) -> Path:
    return folder / f"asked-{count}.npy"


def measure_tool(tool: str, count: int, folder: Path) -> None:
    """One measurement: the batch, then single queries; prints JSON and saves what was found."""
    search, queries = SEARCHES[tool](_vectors_path(count, folder)), np.load(_queries_path(count, folder))
    search(queries[:2])
    batch, found = best(lambda: search(queries), at_least=1.0, most=5)
    single, _ = best(lambda: search(queries[:1]), at_least=0.3, most=100)
    rows, scores = _as_arrays(found)
    np.savez(folder / f"found-{tool}-{count}.npz", rows=rows, scores=scores)
    print(json.dumps({"batch": batch, "single": single, "megabytes": getrusage(RUSAGE_SELF).ru_maxrss / 1024}))


def _as_arrays(found: Any) -> Found:
    if isinstance(found, tuple):
        # faiss gives scores first, numpy's way gives rows first.
        rows, scores = found if np.issubdtype(found[0].dtype, np.integer) else (found[1], found[0])
        return rows.astype(np.int64), scores.astype(np.float64)
    return np.array([names for names, _ in found]).astype(np.int64), np.array([scores for _, scores in found])


def measure(count: int, folder: Path, rounds: int) -> dict[str, dict[str, float]]:
    """Each tool's least times, the tools taking turns."""
    least: dict[str, dict[str, float]] = {}
    for turn in range(rounds):
        for tool in TOOLS:
            print(f"{count:,} vectors: {tool}, round {turn + 1} of {rounds}", file=sys.stderr)
            found = _child(tool, count, folder)
            least[tool] = {key: min(value, least.get(tool, found)[key]) for key, value in found.items()}
    return least


def _child(tool: str, count: int, folder: Path) -> dict[str, float]:
    one_thread = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL")}
    command = [sys.executable, "-m", "benchmarks.vector_search", tool, str(count), str(folder)]
    done = subprocess.run(command, env={**os.environ, **one_thread}, stdout=subprocess.PIPE, check=True)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def agreement(tool: str, count: int, folder: Path) -> str:
    """Whether a tool found what we found, but for places swapped within the last bits of float32."""
    with np.load(folder / f"found-{tool}-{count}.npz") as theirs, np.load(folder / f"found-rankproof-{count}.npz") as ours:
        same = float((theirs["rows"] == ours["rows"]).mean())
        apart = float(np.abs(theirs["scores"] - ours["scores"]).max())
    if apart > LAST_BITS:
        return f"no: scores differ by {apart:.1e}"
    return "yes" if same == 1 else f"yes ({1 - same:.3%} of places swapped, scores within {apart:.0e})"


def report(measured: dict[int, dict[str, dict[str, float]]], folder: Path) -> list[str]:
    """A Markdown table; above 1.00 a tool is faster than faiss."""
    versions = ", ".join(f"{name} {version(name)}" for name in ("rankproof", "faiss-cpu", "numpy"))
    lines = [
        f"{platform.processor() or platform.machine()}, one thread, Python {platform.python_version()}; {versions}; "
        f"{QUERIES:,} queries of {DIMENSIONS} dimensions, top {DEPTH}",
        "",
        "| vectors | tool | CPU s for the batch | queries/s | speed relative to faiss | one query, ms | peak MB | same top 100 |",
        "|---:|---|---:|---:|---:|---:|---:|---|",
    ]
    for count, tools in measured.items():
        for tool, times in tools.items():
            ratio = tools["faiss"]["batch"] / times["batch"]
            row = f"| {count:,} | {tool} | {times['batch']:.3f} | {QUERIES / times['batch']:,.0f} | {ratio:.2f}"
            lines.append(f"{row} | {1000 * times['single']:.2f} | {times['megabytes']:,.0f} | {agreement(tool, count, folder)} |")
    return lines


def main() -> None:
    """Measures and prints a table, or, as a child, measures one tool."""
    if len(sys.argv) == 4 and sys.argv[1] in TOOLS:
        return measure_tool(sys.argv[1], int(sys.argv[2]), Path(sys.argv[3]))
    parser = argparse.ArgumentParser(prog="python -m benchmarks.vector_search", description=__doc__)
    parser.add_argument("--folder", type=Path, default=Path(__file__).parent / "work", help="where vectors are kept")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", nargs="*", type=int, choices=SIZES, help="these numbers of vectors alone")
    arguments = parser.parse_args()
    sizes = arguments.only or SIZES
    for count in sizes:
        make(count, arguments.folder)
    measured = {count: measure(count, arguments.folder, arguments.rounds) for count in sizes}
    print("\n".join(report(measured, arguments.folder)))


if __name__ == "__main__":
    main()
