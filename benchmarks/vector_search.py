"""Speed of exact vector search: rankproof, faiss and numpy.

Times are CPU seconds on one thread, best of several interleaved rounds. Each measurement is a fresh process
(`python -m benchmarks.vector_search TOOL COUNT FOLDER`) that prints its times and saves what it found. faiss is set to use BLAS,
which by default it does only for larger products.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from .evaluation_tool import best

TOOLS = ("rankproof", "faiss", "numpy")
SIZES = (19_000, 200_000)
QUERIES, DIMENSIONS, DEPTH = 1_000, 384, 100
LAST_BITS = 1e-6
Matrix = np.ndarray[Any, np.dtype[np.float32]]
Found = tuple[np.ndarray[Any, np.dtype[np.int64]], np.ndarray[Any, np.dtype[np.float64]]]
Search = Callable[[Matrix], Found]


def rankproof_search(vectors: Matrix) -> Callable[[Matrix], Any]:
    """Our store in memory, with ids as text."""
    from rankproof.stores._memory import Memory

    store = Memory().open("bench", vectors.shape[1], "")
    store.add([f"{at:07}" for at in range(len(vectors))], vectors)
    return lambda queries: store.search(queries, DEPTH)


def faiss_search(vectors: Matrix) -> Callable[[Matrix], Any]:
    """faiss' flat index."""
    import faiss

    faiss.omp_set_num_threads(1)
    faiss.cvar.distance_compute_blas_threshold = 1
    index = faiss.IndexFlatIP(vectors.shape[1])
    index.add(vectors)
    return lambda queries: index.search(queries, DEPTH)


def numpy_search(vectors: Matrix) -> Callable[[Matrix], Any]:
    """A matrix product and argpartition, in blocks of queries."""

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
    path = folder / f"searching-{count}.npz"
    if path.exists():
        return
    numbers = np.random.default_rng(count)
    centres = numbers.standard_normal((200, DIMENSIONS), np.float32)
    both = []
    for size in (count, QUERIES):
        rows = 0.7 * centres[numbers.integers(0, 200, size)] + numbers.standard_normal((size, DIMENSIONS), np.float32)
        both.append(rows / np.linalg.norm(rows, axis=1, keepdims=True))
    folder.mkdir(parents=True, exist_ok=True)
    np.savez(path, vectors=both[0], queries=both[1])


def measure_tool(tool: str, count: int, folder: Path) -> None:
    """One measurement: the batch, then single queries; prints JSON and saves what was found."""
    with np.load(folder / f"searching-{count}.npz") as data:
        vectors, queries = data["vectors"], data["queries"]
    search = SEARCHES[tool](vectors)
    search(queries[:2])
    batch, found = best(lambda: search(queries), at_least=1.0, most=5)
    single, _ = best(lambda: search(queries[:1]), at_least=0.3, most=100)
    rows, scores = _as_arrays(found)
    np.savez(folder / f"found-{tool}-{count}.npz", rows=rows, scores=scores)
    print(json.dumps({"batch": batch, "single": single}))


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
        "| vectors | tool | CPU s for the batch | queries/s | speed relative to faiss | one query, ms | same top 100 |",
        "|---:|---|---:|---:|---:|---:|---|",
    ]
    for count, tools in measured.items():
        for tool, times in tools.items():
            ratio = tools["faiss"]["batch"] / times["batch"]
            row = f"| {count:,} | {tool} | {times['batch']:.3f} | {QUERIES / times['batch']:,.0f} | {ratio:.2f}"
            lines.append(f"{row} | {1000 * times['single']:.2f} | {agreement(tool, count, folder)} |")
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
