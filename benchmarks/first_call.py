"""CPU time of the first evaluation in a process, imports included, of one query with one document.

    python -m benchmarks.first_call [--source FOLDER]...

Each process is fresh, the tools take turns, and the best of several rounds counts. `--source` adds another version of rankproof:
the folder that contains its package.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

ROUNDS = 15
OWN = Path(__file__).parents[1] / "src"
CALLS: Mapping[str, str] = {
    "rankproof": 'import rankproof; rankproof.evaluate({"q1": {"d1": 1}}, {"q1": {"d1": 0.9}}, ["nDCG@10"])',
    "pytrec_eval": "import pytrec_eval; "
    'pytrec_eval.RelevanceEvaluator({"q1": {"d1": 1}}, {"ndcg_cut.10"}).evaluate({"q1": {"d1": 0.9}})',
}
TIMED = "import time; {before}; start = time.process_time(); {call}; print(time.process_time() - start)"


def seconds(call: str, before: str, source: Path) -> float:
    """The CPU seconds of the call in a fresh process, after the import `before`; compiled modules are kept."""
    environment = {**os.environ, "PYTHONPATH": str(source), "OPENBLAS_NUM_THREADS": "1"}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    command = [sys.executable, "-c", TIMED.format(before=before, call=call)]
    return float(subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout)


def measured(sources: Mapping[str, Path], rounds: int) -> dict[str, list[float]]:
    """For each tool, the least seconds after numpy is imported, and without any import before."""
    found: dict[str, list[float]] = {name: [float("inf")] * 2 for name in sources}
    for _ in range(rounds):
        for name, source in sources.items():
            call = CALLS.get(name, CALLS["rankproof"])
            for at, before in enumerate(("import numpy", "pass")):
                found[name][at] = min(found[name][at], seconds(call, before, source))
    return found


def main() -> None:
    """Prints a Markdown table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.first_call", description=__doc__)
    parser.add_argument("--source", type=Path, action="append", default=[], metavar="FOLDER", help="another version of rankproof")
    parser.add_argument("--rounds", type=int, default=ROUNDS, metavar="N", help=f"processes of each kind (default {ROUNDS})")
    args = parser.parse_args()
    sources = {**dict.fromkeys(CALLS, OWN), **{f"rankproof in {folder}": folder.resolve() for folder in args.source}}
    print("| first call | ms after numpy | ms in all |\n|---|---:|---:|")
    for name, (after, whole) in measured(sources, args.rounds).items():
        print(f"| {name} | {1000 * after:.0f} | {1000 * whole:.0f} |")


if __name__ == "__main__":
    main()
