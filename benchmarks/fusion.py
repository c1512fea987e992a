"""Speed of every fusion method on three runs of 50 queries x 1,000 documents: rankproof and ranx.

Times are CPU seconds on one thread from runs in memory to a run in memory, each tool in a fresh process, best of several
interleaved rounds. A first fusion, in which ranx compiles, is not timed, and neither is the fit of a trained method.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from .evaluation_tool import best

RUNS, QUERIES, DEPTH, SEED = 3, 50, 1_000, 11
TOOLS = ("rankproof", "ranx")
Scores = dict[str, dict[str, float]]
WEIGHTS = [0.2, 0.3, 0.5]
PARAMETERS: dict[str, dict[str, Any]] = {
    "min": {},
    "max": {},
    "med": {},
    "sum": {},
    "anz": {},
    "mnz": {},
    "gmnz": {"gamma": 0.5},
    "wsum": {"weights": WEIGHTS},
    "wmnz": {"weights": WEIGHTS},
    "mixed": {"weights": WEIGHTS},
    "isr": {},
    "log_isr": {},
    "logn_isr": {"sigma": 0.01},
    "rrf": {"k": 60},
    "rbc": {"phi": 0.95},
    "bordafuse": {},
    "w_bordafuse": {"weights": WEIGHTS},
    "condorcet": {},
    "w_condorcet": {"weights": WEIGHTS},
    "bayesfuse": {},
    "mapfuse": {},
    "posfuse": {},
    "probfuse": {},
    "segfuse": {},
    "slidefuse": {},
}
"""The methods by their names in ranx, which are also ours, with parameters."""
SCORED = ("min", "max", "med", "sum", "anz", "mnz", "gmnz", "wsum", "wmnz", "mixed", "segfuse")
LEARNED = dict.fromkeys(("posfuse", "probfuse", "segfuse", "slidefuse"), "probs") | {
    "bayesfuse": "log_odds",
    "mapfuse": "map_scores",
}
"""Trained methods, and the argument that takes what ranx learned."""
UNDEFINED = ("condorcet", "w_condorcet")
"""Methods whose scores in ranx change with PYTHONHASHSEED."""


def tables() -> list[Scores]:
    """Systems that share about two thirds of what they find, best first."""
    random = np.random.default_rng(SEED)
    found: list[Scores] = [{} for _ in range(RUNS)]
    for query in range(QUERIES):
        pool = random.choice(100_000, size=3 * DEPTH // 2, replace=False)
        for table in found:
            docs, scores = random.permutation(pool)[:DEPTH].tolist(), np.sort(random.random(DEPTH))[::-1].tolist()
            table[f"q{query}"] = {f"d{doc:06d}": score for doc, score in zip(docs, scores, strict=True)}
    return found


def judgements(found: list[Scores]) -> dict[str, dict[str, int]]:
    """Some documents near the top of the first system, for the trained methods."""
    return {query: dict.fromkeys([*docs][3:60:7], 1) for query, docs in found[0].items()}


Fusion = tuple[Callable[[], Any], Callable[[Any], Scores]]
"""A fusion, and how to read its run."""


def ours(found: list[Scores]) -> Callable[[str], Fusion]:
    """Our function for each method."""
    from rankproof import Run, fuse
    from rankproof._fusion.fuse import fit_fusion
    from rankproof._fusion.method import method_named

    runs = [Run.from_dict(table) for table in found]

    def as_dict(run: Run) -> Scores:
        table: Scores = {query: {} for query in run.queries}
        for row in run.rows():
            table[row.query][row.doc] = row.score
        return table

    def fusion(method: str) -> Fusion:
        settings = dict(PARAMETERS[method])
        if method_named(method).fit:
            settings["fitted"] = fit_fusion(method, judgements(found), runs)
        return lambda: fuse(runs, method, **settings), as_dict

    return fusion


def theirs(found: list[Scores]) -> Callable[[str], Fusion]:
    """ranx's function for each method; those that use ranks do not normalise."""
    import ranx
    from ranx import fusion

    runs = [ranx.Run(table, name=f"run{at}") for at, table in enumerate(found)]

    def fused(method: str) -> Fusion:
        parameters, norm = dict(PARAMETERS[method]), "min-max" if method in SCORED else None
        if method in LEARNED:
            more = {"n_segments": 10} if method == "probfuse" else {}
            learned = getattr(fusion, f"{method}_train")(ranx.Qrels(judgements(found)), runs, **more)
            parameters |= {LEARNED[method]: learned} | ({"w": 5} if method == "slidefuse" else {})
        return lambda: ranx.fuse(runs, norm=norm, method=method, params=parameters), lambda run: run.to_dict()

    return fused


def contend(tool: str, folder: Path) -> None:
    """Measures every method; prints CPU seconds and leaves the fused scores in the folder."""
    warnings.simplefilter("ignore")
    fusion, seconds = {"rankproof": ours, "ranx": theirs}[tool](tables()), {}
    for method in PARAMETERS:
        fuse, as_dict = fusion(method)
        fuse()
        seconds[method], run = best(fuse, at_least=0.5, most=5)
        scores = as_dict(run)
        (folder / f"{tool}.{method}.json").write_text(json.dumps(scores))
    print(json.dumps(seconds))


def measured(rounds: int, folder: Path) -> dict[str, dict[str, float]]:
    """The least CPU time of each tool and method."""
    one_thread = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL", "NUMBA")}
    least: dict[str, dict[str, float]] = {tool: dict.fromkeys(PARAMETERS, float("inf")) for tool in TOOLS}
    for turn in range(rounds):
        for tool in TOOLS:
            print(f"fusing: {tool}, round {turn + 1} of {rounds}", file=sys.stderr)
            command = [sys.executable, "-m", "benchmarks.fusion", "--contend", tool, str(folder)]
            done = subprocess.run(command, env={**os.environ, **one_thread}, stdout=subprocess.PIPE, check=True)
            for method, seconds in json.loads(done.stdout.splitlines()[-1]).items():
                least[tool][method] = min(least[tool][method], seconds)
    return least


def difference(folder: Path, method: str) -> str:
    """How far the fused scores of the two lie apart."""
    mine, other = (json.loads((folder / f"{tool}.{method}.json").read_text()) for tool in TOOLS)
    if method in UNDEFINED:
        return "not defined in ranx"
    if {query: set(docs) for query, docs in mine.items()} != {query: set(docs) for query, docs in other.items()}:
        return "other documents"
    return f"{max(abs(score - other[query][doc]) for query, docs in mine.items() for doc, score in docs.items()):.0e}"


def rows(least: dict[str, dict[str, float]], folder: Path) -> Iterator[str]:
    """The lines of a Markdown table."""
    yield ", ".join(f"{name} {version(name)}" for name in TOOLS) + "\n"
    yield f"| fusion of {RUNS} x {QUERIES:,} x {DEPTH:,} | rankproof, CPU s | ranx, CPU s | times | scores differ by |"
    yield "|---|---:|---:|---:|---:|"
    for method in PARAMETERS:
        mine, other = (least[tool][method] for tool in TOOLS)
        yield f"| {method} | {mine:.3f} | {other:.3f} | {other / mine:.1f} | {difference(folder, method)} |"


def main() -> None:
    """Prints a Markdown table; ranx should take at least ten times as long."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fusion", description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--contend", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.contend:
        return contend(arguments.contend[0], Path(arguments.contend[1]))
    with TemporaryDirectory() as folder:
        print("\n".join(rows(measured(arguments.rounds, Path(folder)), Path(folder))))


if __name__ == "__main__":
    main()
