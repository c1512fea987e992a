"""Speed of the report of 6,980 queries x 5 systems: written, opened and sorted in the installed Chromium.

Writing is timed in CPU seconds, for rankings of 10 and of 100 documents; the page shows the first 10 of either. Times in the
browser are by its own clock, the median of several rounds: from navigation to the load event, and from a click on a column head
to the next frame.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from rankproof import Qrels, Run, evaluate
from rankproof._data.arrays import IntArray
from rankproof._data.dataset import Queries, Query
from rankproof._report.page import render_report
from rankproof._results.experiment_result import TIME_COLUMNS, ExperimentResult, SystemRun

QUERIES, SYSTEMS, DOCUMENTS, SEED = 6_980, 5, 20_000, 3
DEPTHS = (10, 100)
MEASURES = ("nDCG@10", "RR@10", "R@100", "P@10", "Success@1", "Success@5")
WORDS = ("salt", "pepper", "vinegar", "flour", "butter", "onion", "garlic", "thyme", "lemon", "honey", "cream", "barley")
SORTED = """async () => {
  const start = performance.now();
  document.querySelector(".explorer .head button").click();
  await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  return performance.now() - start;
}"""
READY = "rankproof.ready.then(() => performance.now())"


def results_of(depth: int) -> ExperimentResult:
    """Systems that find the one relevant document of a query ever more often, and snippets of 300 characters."""
    draws = np.random.default_rng(SEED)
    ids, docs = [f"q{at}" for at in range(QUERIES)], [f"d{at}" for at in range(DOCUMENTS)]
    right = draws.integers(0, DOCUMENTS, QUERIES)
    qrels = Qrels.from_dict({query: {docs[at]: 1} for query, at in zip(ids, right.tolist(), strict=True)})
    runs = {f"system-{at}": _run(f"system-{at}", ids, docs, right, 0.5 + 0.07 * at, depth, draws) for at in range(SYSTEMS)}
    return ExperimentResult(
        name="bench",
        fingerprint="0" * 64,
        queries=tuple(ids),
        result=evaluate(qrels, runs, list(MEASURES)),
        system_runs=tuple(_system_run(run, at, list(runs), draws) for at, run in enumerate(runs.values())),
        qrels=qrels,
        texts=Queries(
            [Query(query, f"how much {WORDS[at % 12]}?", fields={"kind": WORDS[at % 5]}) for at, query in enumerate(ids)]
        ),
        snippets={doc: " ".join(draws.choice(WORDS, 50).tolist())[:300] for doc in docs},
        experiment="",
        provenance={"documents": DOCUMENTS},
    )


def _run(
    name: str, ids: list[str], docs: list[str], right: IntArray, share: float, depth: int, draws: np.random.Generator
) -> Run:
    scores = np.arange(depth, 0, -1, dtype=np.float64)
    rankings = []
    for goal in right.tolist():
        found = draws.choice(DOCUMENTS, depth, replace=False)
        found = found[found != goal]
        if draws.random() < share:
            found = np.insert(found, min(int(draws.geometric(0.4)) - 1, len(found)), goal)[:depth]
        rankings.append(([docs[at] for at in found.tolist()], scores[: len(found)]))
    return Run.from_rankings(name, ids, rankings)


def _system_run(run: Run, at: int, names: list[str], draws: np.random.Generator) -> SystemRun:
    times = draws.gamma(2.0, 1.0 + at, QUERIES)
    return SystemRun(
        name=run.name,
        kind="retrieval",
        stage={},
        stored_run=run,
        times={part: times if part in ("search", "total") else np.zeros(QUERIES) for part in TIME_COLUMNS},
        index_seconds=0.0,
        index_bytes=0,
        throughput=None,
        builds_on=names[at - 1] if at else None,
    )


def in_browser(text: bytes, rounds: int) -> tuple[float, float]:
    """Seconds to open the page and to sort its table."""
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        path = Path(folder, "report.html")
        path.write_bytes(text)
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"])
        found = [_seen(browser, path) for _ in range(rounds)]
        browser.close()
    opened, sorted_ = (median(column) / 1000 for column in zip(*found, strict=True))
    return opened, sorted_


def _seen(browser: Any, path: Path) -> tuple[float, float]:
    page = browser.new_page()
    page.goto(path.as_uri())
    found = page.evaluate(READY), page.evaluate(SORTED)
    page.close()
    return found


def rows(rounds: int) -> Sequence[str]:
    """A line of the table for each depth."""
    lines = []
    for depth in DEPTHS:
        results = results_of(depth)
        start = time.process_time()
        text = render_report(results).encode(errors="backslashreplace")
        made = time.process_time() - start
        opened, ordered = in_browser(text, rounds)
        lines.append(f"| {depth} | {made:.1f} | {len(text) / 1e6:.1f} | {opened:.2f} | {ordered:.2f} |")
    return lines


def main() -> None:
    """Prints a Markdown table; the page should open and sort in 2 seconds and have less than 8 MB."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.report_page", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    print(f"| documents per query, {QUERIES:,} x {SYSTEMS} | create, CPU s | MB | open, s | sort, s |")
    print("|---:|---:|---:|---:|---:|")
    print("\n".join(rows(rounds)))


if __name__ == "__main__":
    main()
