"""Speed of loading a results folder of 7,000 queries and 3 systems, beside `rankproof eval` of the same files.

Times are CPU seconds of a whole process, including the start of Python, best of several interleaved rounds.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

QUERIES, DEPTH = 7_000, 98
SYSTEMS = ("bm25", "dense", "hybrid")
MEASURES = ("nDCG@10", "RR@10", "R@100")
LOAD = "import sys; from rankproof._results.folder import load_results; load_results(sys.argv[1])"
MOST = 2.0
"""How many times as much as `eval` loading may take."""


def jobs(folder: Path) -> Mapping[str, list[str]]:
    """The commands that take turns, by their name."""
    files = [str(folder / "qrels.tsv"), *(str(folder / "runs" / f"{name}.trec.gz") for name in SYSTEMS)]
    rankproof = [sys.executable, "-m", "rankproof"]
    measures = ["-m", ",".join(MEASURES)]
    return {
        "rankproof eval": [*rankproof, "eval", *files, *measures],
        "load the folder": [sys.executable, "-c", LOAD, str(folder)],
        "rankproof compare, run files": [*rankproof, "compare", *files, *measures],
        "rankproof compare, folder": [*rankproof, "compare", str(folder), *measures],
    }


def cost(command: list[str]) -> tuple[float, float]:
    """CPU seconds and peak MB of one process."""
    one_thread = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL")}
    process = subprocess.Popen(command, env={**os.environ, **one_thread}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise subprocess.CalledProcessError(process.returncode, command)
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def measured(folder: Path, rounds: int) -> dict[str, tuple[float, float]]:
    """The round of each job that took the least CPU time."""
    best: dict[str, tuple[float, float]] = {}
    for turn in range(rounds):
        for name, command in jobs(folder).items():
            print(f"loading: {name}, round {turn + 1} of {rounds}", file=sys.stderr)
            best[name] = min(best.get(name, (float("inf"), 0.0)), cost(command))
    return best


def main() -> None:
    """Prints a Markdown table; exits with 1 where loading takes more than twice the time of `eval`."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.load_results", description=__doc__)
    parser.add_argument(
        "--folder", type=Path, default=Path(__file__).parent / "work" / "results", help="where the folder is kept"
    )
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    subprocess.run([sys.executable, "-m", "benchmarks.large_results", str(arguments.folder)], check=True)
    best = measured(arguments.folder, arguments.rounds)
    eval_seconds = best["rankproof eval"][0]
    lines = QUERIES * DEPTH * len(SYSTEMS)
    print(f"| {QUERIES:,} queries, {len(SYSTEMS)} systems, {lines:,} lines | CPU s | peak MB | times eval |")
    print("|---|---:|---:|---:|")
    for name, (seconds, memory) in best.items():
        print(f"| {name} | {seconds:.2f} | {memory:.0f} | {seconds / eval_seconds:.2f} |")
    sys.exit(best["load the folder"][0] > MOST * eval_seconds)


if __name__ == "__main__":
    main()
