"""`python -m bench.loading`: a results folder of 7,000 queries and 3 systems loaded, against `rankproof eval` of the same files.

Timed is the CPU time of a whole process, start of Python included, the best of several rounds, the jobs taking turns.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from rankproof import evaluate
from rankproof.data.qrels import Qrels
from rankproof.data.queries import Queries, Query
from rankproof.data.run import Run
from rankproof.experiment import Climb, Rung
from rankproof.experiment.results.folder import is_results_folder, save
from rankproof.experiment.rung import TIMES

QUERIES, DEPTH, DOCUMENTS, SEED = 7_000, 98, 20_000, 5
SYSTEMS = ("bm25", "dense", "hybrid")
MEASURES = ("nDCG@10", "RR@10", "R@100")
LOAD = "import sys; from rankproof.experiment.results.folder import load; load(sys.argv[1])"
MOST = 2.0
"""How many times as much as `eval` loading may take."""


def climb() -> Climb:
    """A climb of three systems that found documents at random, one of them judged relevant for each query."""
    random = np.random.default_rng(SEED)
    queries = tuple(f"q{at}" for at in range(QUERIES))
    docs = np.array([f"d{at:07d}" for at in range(DOCUMENTS)])
    runs = {name: _run(name, queries, docs, random) for name in SYSTEMS}
    qrels = Qrels.from_dict({query: {str(docs[at]): 1} for at, query in enumerate(queries)})
    return Climb(
        name="large",
        fingerprint="f" * 64,
        queries=queries,
        result=evaluate(qrels, runs, MEASURES),
        rungs=tuple(_rung(run, random) for run in runs.values()),
        qrels=qrels,
        texts=Queries([Query(query, f"what is the answer to question {query}?") for query in queries]),
        snippets={str(doc): f"The text of document {doc} in a few words." for doc in docs},
        experiment='name = "large"\n',
        provenance={"documents": DOCUMENTS},
    )


def _run(name: str, queries: tuple[str, ...], docs: np.ndarray, random: np.random.Generator) -> Run:
    def ranking() -> tuple[list[str], np.ndarray]:
        start, step = random.integers(len(docs)), random.integers(1, 97)
        return docs[(start + step * np.arange(DEPTH)) % len(docs)].tolist(), np.sort(random.random(DEPTH))[::-1] * 20

    return Run.of_rankings(name, queries, (ranking() for _ in queries))


def _rung(run: Run, random: np.random.Generator) -> Rung:
    return Rung(
        name=run.name,
        kind="retrieval",
        stage={"kind": "BM25"},
        run=run,
        times={part: random.random(QUERIES) for part in TIMES},
        index_seconds=1.0,
        index_bytes=1,
        throughput=None,
        over=None,
    )


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
    parser = argparse.ArgumentParser(prog="python -m bench.loading", description=__doc__)
    parser.add_argument(
        "--folder", type=Path, default=Path(__file__).parent / "work" / "results", help="where the folder is kept"
    )
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    if not is_results_folder(str(arguments.folder)):
        arguments.folder.parent.mkdir(parents=True, exist_ok=True)
        save(climb(), arguments.folder)
    best = measured(arguments.folder, arguments.rounds)
    eval_seconds = best["rankproof eval"][0]
    print(
        f"| {QUERIES:,} queries, {len(SYSTEMS)} systems, {QUERIES * DEPTH * len(SYSTEMS):,} lines | CPU s | peak MB | times eval |"
    )
    print("|---|---:|---:|---:|")
    for name, (seconds, memory) in best.items():
        print(f"| {name} | {seconds:.2f} | {memory:.0f} | {seconds / eval_seconds:.2f} |")
    sys.exit(best["load the folder"][0] > MOST * eval_seconds)


if __name__ == "__main__":
    main()
