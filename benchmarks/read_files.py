"""Speed of reading a run and judgements of 2 million lines in each text format, by the native reader and by the Python reader.

Times are CPU seconds of a whole process, including the start of Python, best of several interleaved rounds.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from itertools import product
from pathlib import Path

import numpy as np

from rankproof._data.qrels import Qrels
from rankproof._data.run import Run
from rankproof._formats.write import qrels_blocks, run_blocks

from .load_results import cost

QUERIES, DEPTH, DOCUMENTS, SEED = 2_000, 1_000, 8_841_823, 7
FORMATS = ("trec", "csv", "tsv", "jsonl", "json")
ARRAY = "json-rows"
KINDS = ("run", "qrels")
ENGINES = ("native", "reference")
READ = "import sys, rankproof as rp; getattr(rp, f'read_{sys.argv[1]}')(sys.argv[2], format=sys.argv[3])"
WRITE = "import sys, pathlib; from benchmarks.read_files import write_files; write_files(pathlib.Path(sys.argv[1]))"


def write_files(folder: Path) -> None:
    """Writes the run and the judgements in every format; an array of rows is JSONL in brackets."""
    random = np.random.default_rng(SEED)
    docs = [list(map(str, random.choice(DOCUMENTS, DEPTH, replace=False).tolist())) for _ in range(QUERIES)]
    names = [str(query) for query in random.choice(1_100_000, QUERIES, replace=False).tolist()]
    scores = np.sort(random.gamma(9, 1.5, (QUERIES, DEPTH)))[:, ::-1]
    run = Run.from_rankings("bm25", names, zip(docs, scores, strict=True))
    grades = random.choice(4, (QUERIES, DEPTH), p=[0.55, 0.2, 0.18, 0.07]).tolist()
    qrels = Qrels.from_dict({name: dict(zip(ids, row, strict=True)) for name, ids, row in zip(names, docs, grades, strict=True)})
    folder.mkdir(parents=True, exist_ok=True)
    for name in FORMATS:
        (folder / f"run.{name}").write_bytes(b"".join(run_blocks(run, name)))
        (folder / f"qrels.{name}").write_bytes(b"".join(qrels_blocks(qrels, name)))
    for kind in KINDS:
        rows = (folder / f"{kind}.jsonl").read_bytes().rstrip(b"\n").replace(b"\n", b",\n")
        (folder / f"{kind}.{ARRAY}").write_bytes(b"[" + rows + b"]\n")


def job_cost(folder: Path, kind: str, name: str, engine: str) -> tuple[float, float]:
    """CPU seconds and peak MB of reading one file."""
    os.environ["RANKPROOF_ENGINE"] = engine
    return cost([sys.executable, "-c", READ, kind, str(folder / f"{kind}.{name}"), name.partition("-")[0]])


def main() -> None:
    """Prints a Markdown table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.read_files", description=__doc__)
    parser.add_argument("--folder", type=Path, default=Path(__file__).parent / "work" / "files", help="where the files are kept")
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    if not (arguments.folder / f"qrels.{ARRAY}").exists():
        subprocess.run([sys.executable, "-c", WRITE, str(arguments.folder)], check=True)
    best: dict[tuple[str, str, str], tuple[float, float]] = {}
    for turn, job in product(range(arguments.rounds), product(KINDS, (*FORMATS, ARRAY), ENGINES)):
        seconds, peak = job_cost(arguments.folder, *job)
        print(f"{' '.join(job)}, round {turn + 1} of {arguments.rounds}: {seconds:.2f} CPU s, {peak:.0f} MB", file=sys.stderr)
        best[job] = min(best.get(job, (float("inf"), 0.0)), (seconds, peak))
    print(f"| {QUERIES * DEPTH:,} lines | native, CPU s | Python, CPU s | times | native, peak MB | Python, peak MB |")
    print("|---|---:|---:|---:|---:|---:|")
    for kind, name in product(KINDS, (*FORMATS, ARRAY)):
        (native, native_peak), (plain, plain_peak) = (best[kind, name, engine] for engine in ENGINES)
        title = f"{kind}, {name.replace('-rows', ', array of rows')}"
        print(f"| {title} | {native:.2f} | {plain:.2f} | {plain / native:.1f} | {native_peak:.0f} | {plain_peak:.0f} |")


if __name__ == "__main__":
    main()
