"""CPU time of the bench of `rankproof serve`: `python -m benchmarks.workbench_latency DATASET…`.

BM25 and its fusion with BM25 on titles run on each dataset; then the server's own routes answer typed queries, moves of a
weight, and grades with the values that follow from them. Prints the median and the 95th percentile in CPU milliseconds.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from tools.small_experiment import SYSTEMS

from rankproof._server.api import Api, Feature
from rankproof._server.bench.feature import Bench
from rankproof._server.bench.live import LiveBench
from rankproof._server.bench.queries import LibraryDocuments
from rankproof._server.grading import Grading
from rankproof._server.judgement_log import JudgementLog
from rankproof._server.judging_page import JudgingPage
from rankproof._server.judging_queue import DocumentTexts, QueueOptions
from rankproof._server.library import ResultsLibrary
from rankproof._server.pages import JudgingViews
from rankproof._workbench.workbench import SystemsWorkbench

TIMES = 40
Ask = Callable[[str, dict[str, Any] | None], Any]


def main() -> None:
    """Measures each dataset."""
    for dataset in sys.argv[1:] or ["sample"]:
        with tempfile.TemporaryDirectory() as folder:
            _measure(dataset, Path(folder))


def _measure(dataset: str, folder: Path) -> None:
    file, results = folder / "fused.toml", folder / "results"
    source = str(Path(dataset).absolute()) if Path(dataset).is_dir() else dataset
    file.write_text(f"dataset = {json.dumps(source)}\n{SYSTEMS}", encoding="utf-8")
    command = [sys.executable, "-m", "rankproof", "run", str(file), "-o", str(results), "--quiet", "--no-report"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    library, log = ResultsLibrary([str(results)]), JudgementLog(str(folder / "people.qrels"))
    views = JudgingViews(library, JudgingPage(log, "ann"), DocumentTexts(), QueueOptions())
    bench = Bench(library, LibraryDocuments(None))
    live = LiveBench(bench, SystemsWorkbench(library, folder / "cache", edit=True))
    parts: list[Feature] = [bench, live, Grading(library, views)]
    api = Api(library, {"edit", "judge"}, (route for part in parts for route in part.routes()))

    def ask(path: str, body: dict[str, Any] | None) -> Any:
        reply = api.answer(path, "", body, "ann")
        assert reply.status == 200, reply.body[:300]
        return reply

    id = library.entries()[0].id
    loaded = library.results(library.entries()[0])
    queries = loaded.queries
    texts = [loaded.texts[query].text for query in queries]
    pair = {"a": "bm25", "b": "fused"}
    print(f"{dataset}: {len(queries):,} queries, {loaded.provenance.get('documents'):,} documents")
    _report("typed query, both systems", lambda at: _search(ask, id, pair, f"{texts[at % len(texts)]} {at}"))
    _report("move of a weight", lambda at: _move(ask, id, pair, round(0.01 * (1 + at % 98), 2)))
    docs = [(query, doc) for query in queries[:TIMES] for doc in list(loaded.qrels[query])[:1]]
    _report("grade, and the decision after it", lambda at: _grade(ask, id, *docs[at % len(docs)], at % 2))
    for part in parts:
        part.close()
    log.close()


def _search(ask: Ask, id: str, pair: dict[str, str], text: str) -> None:
    for system in pair.values():
        ask(f"/api/r/{id}/bench/search", {"system": system, "text": text, "changes": {}, "depth": 10})


def _move(ask: Ask, id: str, pair: dict[str, str], share: float) -> None:
    ask(f"/api/r/{id}/bench/effect", {**pair, "changes": {"weights": [1 - share, share]}})


def _grade(ask: Ask, id: str, query: str, doc: str, grade: int) -> None:
    ask(f"/api/r/{id}/grades", {"query": query, "doc": doc, "grade": grade})
    ask(f"/api/r/{id}/progress", None)


def _report(name: str, step: Callable[[int], object]) -> None:
    """The first time builds indexes and loads results, so it is shown alone."""
    times = []
    for at in range(TIMES + 1):
        started = time.process_time()
        step(at)
        times.append(1000 * (time.process_time() - started))
    p50, p95 = np.percentile(times[1:], [50, 95])
    print(f"  {name:34} p50 {p50:6.1f}  p95 {p95:6.1f}  first {times[0]:7.1f}", flush=True)


if __name__ == "__main__":
    main()
