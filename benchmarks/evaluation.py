"""Speed and memory of evaluation: rankproof and other tools on every workload, as ratios of CPU time.

The tools are interleaved; each value is the best of several rounds.
"""

from __future__ import annotations

import argparse
import compileall
import json
import os
import platform
import resource
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import rankproof

from . import workloads

PEERS = ("pytrec_eval", "ir_measures", "ranx")
PLAN: dict[str, tuple[str, ...]] = {
    "big": ("rankproof", "rankproof-2-threads", *PEERS),
    "graded": ("rankproof", *PEERS),
    "shuffled": ("rankproof", "pytrec_eval"),
    "many": ("rankproof", *PEERS),
    "dicts": ("rankproof", "pytrec_eval"),
    "parquet": ("rankproof",),
}
TITLES = {
    "big": "7 M lines from file (6,980 x 1,000)",
    "graded": "43 x 1,000 from file",
    "shuffled": "43 x 1,000, lines shuffled",
    "many": "100 runs of 50 x 1,000",
    "dicts": "7 M rows, dicts in memory",
    "parquet": "7 M rows from Parquet (peers: the same run as text)",
}
SAME_TEXT = {"parquet": "big"}
Measured = dict[str, Any]


def main() -> None:
    """Runs the plan and prints a Markdown table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.evaluation", description=__doc__)
    parser.add_argument("--folder", type=Path, default=Path(__file__).parent / "work", help="where the workloads are kept")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", nargs="*", choices=list(PLAN), help="these workloads alone")
    arguments = parser.parse_args()
    workloads.make(arguments.folder)
    chosen = {name: PLAN[name] for name in arguments.only or PLAN}
    measured = {name: measure(name, tools, arguments.folder, arguments.rounds) for name, tools in chosen.items()}
    print("\n".join(report(measured, arguments.folder)))


def measure(workload: str, tools: tuple[str, ...], folder: Path, rounds: int) -> dict[str, Measured]:
    """The best of so many rounds for each tool, the tools taking turns."""
    best: dict[str, Measured] = {}
    for turn in range(rounds):
        for tool in tools:
            print(f"{workload}: {tool}, round {turn + 1} of {rounds}", file=sys.stderr)
            found = contend(tool, workload, folder)
            if tool not in best or found["seconds"] < best[tool]["seconds"]:
                best[tool] = found
    return best


def contend(tool: str, workload: str, folder: Path) -> Measured:
    """One measurement in a fresh process, on one thread unless the tool is asked for more."""
    one_thread = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL", "NUMBA", "POLARS_MAX")}
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.evaluation_tool", tool, workload, str(folder)],
        env={**os.environ, **one_thread},
        stdout=subprocess.PIPE,
        check=True,
    )
    found: Measured = json.loads(done.stdout.splitlines()[-1])
    return found


def report(measured: dict[str, dict[str, Measured]], folder: Path) -> list[str]:
    """The table, the agreement of the numbers, and the cold start."""
    bare = interpreter_mb()
    lines = [
        f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}; "
        + ", ".join(f"{name} {version(name)}" for name in ("rankproof", "pytrec-eval-terrier", "ir_measures", "ranx")),
        "",
        "| workload | tool | CPU s | times rankproof | peak MB above the interpreter |",
        "|---|---|---:|---:|---:|",
    ]
    for workload, found in measured.items():
        ours = found["rankproof"]["seconds"]
        others = {name: one for name, one in measured.get(SAME_TEXT.get(workload, ""), {}).items() if name in PEERS}
        for tool, one in {**found, **others}.items():
            ratio, peak = one["seconds"] / ours, one["peak_mb"] - bare
            lines.append(f"| {TITLES[workload]} | {tool} | {one['seconds']:.4f} | {ratio:.1f} | {peak:.0f} |")
    return [*lines, "", *agreement(measured, folder), "", *cold_start(folder)]


def agreement(measured: dict[str, dict[str, Measured]], folder: Path) -> list[str]:
    """Whether the numbers are the same: one thread and two, text and Parquet, pytrec_eval and our float32 reading."""
    lines = []
    if "big" in measured:
        ours = measured["big"]["rankproof"]["means"]
        lines.append(f"1 and 2 threads: {_verdict(ours, measured['big']['rankproof-2-threads']['means'])}")
        if "parquet" in measured:
            lines.append(f"text and Parquet: {_verdict(ours, measured['parquet']['rankproof']['means'])}")
    for workload in ("big", "graded", "many"):
        if workload in measured:
            float32 = contend("rankproof-float32", workload, folder)["means"]
            peer = measured[workload]["pytrec_eval"]["means"]
            lines.append(f"{workload}: --compat trec_eval-9 and pytrec_eval: {_verdict(float32, peer)}")
    return lines


def _verdict(left: list[list[float]], right: list[list[float]]) -> str:
    worst = max(abs(a - b) for pair in zip(left, right, strict=True) for a, b in zip(*pair, strict=True))
    return "identical" if worst == 0 else f"largest difference of a mean {worst:.1e}"


def cold_start(folder: Path, rounds: int = 10) -> list[str]:
    """CPU time of a whole process for three queries, above one that imports numpy; bytecode is there, as after any install."""
    compileall.compile_dir(Path(rankproof.__file__).parent, quiet=1)
    evaluation = [sys.executable, "-m", "rankproof", "eval", str(folder / "tiny.qrels"), str(folder / "tiny.run")]
    numpy = [sys.executable, "-c", "import numpy"]
    pairs = [(child_seconds(evaluation), child_seconds(numpy)) for _ in range(rounds)]
    ours, base = (min(column) for column in zip(*pairs, strict=True))
    return [f"cold `rankproof eval` on 3 queries: {ours:.3f} CPU s; `import numpy`: {base:.3f}; difference: {ours - base:.3f}"]


def child_seconds(command: list[str]) -> float:
    """CPU time of one child process."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def interpreter_mb() -> float:
    """Peak memory of an interpreter that does nothing."""
    code = "print(open('/proc/self/status').read().partition('VmHWM:')[2].split()[0])"
    return int(subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, check=True).stdout) / 1024


if __name__ == "__main__":
    main()
