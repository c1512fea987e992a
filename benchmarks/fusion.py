"""Speed of reciprocal rank fusion of two runs of 1,000 queries x 1,000 documents: rankproof and ranx.

Times are CPU seconds on one thread from runs in memory to a run in memory, each in a fresh process, best of several interleaved
rounds. A first fusion, in which ranx compiles, is not timed.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import warnings
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from .evaluation_tool import best

QUERIES, DEPTH, SEED = 1_000, 1_000, 11
TOOLS = ("rankproof", "ranx")
Scores = dict[str, dict[str, float]]


def tables() -> list[Scores]:
    """Two systems that share about two thirds of what they find, best first."""
    random = np.random.default_rng(SEED)
    found: list[Scores] = [{}, {}]
    for query in range(QUERIES):
        pool = random.choice(100_000, size=3 * DEPTH // 2, replace=False)
        for table in found:
            docs, scores = random.permutation(pool)[:DEPTH].tolist(), np.sort(random.random(DEPTH))[::-1].tolist()
            table[f"q{query}"] = {f"d{doc:06d}": score for doc, score in zip(docs, scores, strict=True)}
    return found


def ours(found: list[Scores]) -> tuple[Callable[[], Any], Callable[[Any], Scores]]:
    """Our function, and how to read its run."""
    from rankproof import Run, fuse

    runs = [Run.from_dict(table) for table in found]

    def as_dict(run: Run) -> Scores:
        table: Scores = {query: {} for query in run.queries}
        for row in run.rows():
            table[row.query][row.doc] = row.score
        return table

    return lambda: fuse(runs), as_dict


def theirs(found: list[Scores]) -> tuple[Callable[[], Any], Callable[[Any], Scores]]:
    """ranx's function, and how to read its run."""
    import ranx

    runs = [ranx.Run(table, name=f"run{at}") for at, table in enumerate(found)]
    return lambda: ranx.fuse(runs, norm=None, method="rrf", params={"k": 60}), lambda run: run.to_dict()


def contend(tool: str, folder: Path) -> None:
    """One measurement; prints CPU seconds and leaves the fused scores in the folder."""
    warnings.simplefilter("ignore")
    fuse, as_dict = {"rankproof": ours, "ranx": theirs}[tool](tables())
    fuse()
    seconds, run = best(fuse, at_least=3.0, most=8)
    (folder / f"{tool}.json").write_text(json.dumps(as_dict(run)))
    print(json.dumps(seconds))


def measured(rounds: int, folder: Path) -> dict[str, float]:
    """The least CPU time of each tool."""
    one_thread = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL", "NUMBA")}
    least = dict.fromkeys(TOOLS, float("inf"))
    for turn in range(rounds):
        for tool in TOOLS:
            print(f"fusing: {tool}, round {turn + 1} of {rounds}", file=sys.stderr)
            command = [sys.executable, "-m", "benchmarks.fusion", "--contend", tool, str(folder)]
            done = subprocess.run(command, env={**os.environ, **one_thread}, stdout=subprocess.PIPE, check=True)
            least[tool] = min(least[tool], json.loads(done.stdout.splitlines()[-1]))
    return least


def verdict(folder: Path) -> str:
    """How far the fused scores of the two lie apart."""
    mine, other = (json.loads((folder / f"{tool}.json").read_text()) for tool in TOOLS)
    if {query: set(docs) for query, docs in mine.items()} != {query: set(docs) for query, docs in other.items()}:
        return "other documents"
    worst = max(abs(score - other[query][doc]) for query, docs in mine.items() for doc, score in docs.items())
    return f"the same documents, scores within {worst:.0e}"


def main() -> None:
    """Prints a Markdown table; ranx should take at least five times as long."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fusion", description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--contend", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.contend:
        return contend(arguments.contend[0], Path(arguments.contend[1]))
    with TemporaryDirectory() as folder:
        least = measured(arguments.rounds, Path(folder))
        print(", ".join(f"{name} {version(name)}" for name in TOOLS), "\n")
        print(f"| RRF of 2 x {QUERIES:,} x {DEPTH:,} | CPU s | times rankproof |")
        print("|---|---:|---:|")
        for tool, seconds in least.items():
            print(f"| {tool} | {seconds:.3f} | {seconds / least['rankproof']:.1f} |")
        print("\n" + verdict(Path(folder)))


if __name__ == "__main__":
    main()
