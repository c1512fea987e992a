"""Speed of all measures of trec_eval together: rankproof, pytrec_eval, and trec_eval where it is on the path.

`python -m benchmarks.all_trec` prints CPU seconds from files to the values of every query, each tool in a fresh process, tools
taking turns, the best of several rounds. Imports are not timed; the time of trec_eval is that of the whole program.
"""

from __future__ import annotations

import random
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

CASES = {"all_trec": (500, 1000, 200), "all_prefs": (50, 1000, 400)}
"""Queries, retrieved documents and judged documents of each nickname; preferences are those of the grades."""
_FORMATS = {"all_trec": "qrels", "all_prefs": "qrels_prefs"}
_ROUNDS = 5


def main() -> None:
    """Prints a Markdown table, or as a child process the seconds of one tool."""
    if sys.argv[1:]:
        tool, nickname, folder = sys.argv[1:]
        print(_TOOLS[tool](nickname, Path(folder)))
        return
    tools = [tool for tool in _TOOLS if tool != "trec_eval" or shutil.which(tool)]
    print(f"| measures | queries x documents | {' | '.join(tools)} |\n| :--- | :--- |{' ---: |' * len(tools)}")
    for nickname, (queries, retrieved, judged) in CASES.items():
        with tempfile.TemporaryDirectory() as folder:
            write_files(Path(folder), queries, retrieved, judged)
            best = {tool: min(times) for tool, times in _measured(nickname, folder, tools).items()}
        cells = [_cell(seconds, best["rankproof"]) for seconds in best.values()]
        print(f"| `{nickname}` | {queries} x {retrieved:,}, {judged} judged | {' | '.join(cells)} |")


def _cell(seconds: float, ours: float) -> str:
    return "–" if seconds == float("inf") else f"{seconds:.2f} s ({seconds / ours:.1f}x)"


def write_files(folder: Path, queries: int, retrieved: int, judged: int) -> None:
    """Random judgements with grades 0 to 3, and a random run that finds most of the judged documents."""
    chance = random.Random(20)
    docs = [f"doc{number:05d}" for number in range(3 * retrieved)]
    with (folder / "qrels").open("w") as qrels, (folder / "run").open("w") as run:
        for query in range(queries):
            found = chance.sample(docs, retrieved)
            known = [*chance.sample(found, judged // 2), *chance.sample(docs, judged - judged // 2)]
            qrels.writelines(f"{query} 0 {doc} {chance.choice((0, 0, 0, 1, 2, 3))}\n" for doc in dict.fromkeys(known))
            run.writelines(f"{query} Q0 {doc} {rank} {chance.random():.6f} tag\n" for rank, doc in enumerate(found, start=1))


def _measured(nickname: str, folder: str, tools: list[str]) -> dict[str, list[float]]:
    times: dict[str, list[float]] = {tool: [] for tool in tools}
    for _ in range(_ROUNDS):
        for tool in tools:
            command = [sys.executable, "-m", "benchmarks.all_trec", tool, nickname, folder]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            times[tool].append(float(done.stdout))
    return times


def _rankproof(nickname: str, folder: Path) -> float:
    import rankproof

    rankproof.evaluate({"q": {"a": 1}}, {"q": {"a": 1.0}}, [nickname])
    start = time.process_time()
    rankproof.evaluate(folder / "qrels", folder / "run", [nickname]).per_query()
    return time.process_time() - start


def _pytrec_eval(nickname: str, folder: Path) -> float:
    """All measures that pytrec_eval has, which lack those of preferences and three of all_trec."""
    if nickname != "all_trec":
        return float("inf")
    import pytrec_eval

    start = time.process_time()
    with (folder / "qrels").open() as lines:
        evaluator = pytrec_eval.RelevanceEvaluator(pytrec_eval.parse_qrel(lines), pytrec_eval.supported_measures)
    with (folder / "run").open() as lines:
        evaluator.evaluate(pytrec_eval.parse_run(lines))
    return time.process_time() - start


def _trec_eval(nickname: str, folder: Path) -> float:
    command = ["trec_eval", "-q", "-R", _FORMATS[nickname], "-m", nickname, str(folder / "qrels"), str(folder / "run")]
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


_TOOLS: dict[str, Callable[[str, Path], float]] = {
    "rankproof": _rankproof,
    "trec_eval": _trec_eval,
    "pytrec_eval": _pytrec_eval,
}


if __name__ == "__main__":
    main()
