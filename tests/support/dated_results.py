"""Results of the same queries at several dates, whose first system gets slowly worse."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from rankproof._data.qrels import Qrels
from rankproof._results.experiment_result import ExperimentResult
from rankproof._results.judgements import with_judgements
from support.results_server import saved
from support.small_results import small_results

QUERIES = tuple(f"q{at}" for at in range(40))
DOCS = ("d1", "d2", "d3", "d4")
MEASURES = ("nDCG@10", "RR@10")


def results_with(failing: int, other: str = "base") -> ExperimentResult:
    """Results in which `main` ranks the relevant document last for the first `failing` queries, and the other one for 20."""
    scores = {"main": _scores(failing), other: _scores(20)}
    return small_results(("main", other), QUERIES, DOCS, measures=MEASURES, scores=scores)


def _scores(failing: int) -> dict[str, dict[str, float]]:
    first, last = (9.0, 3.0, 2.0, 1.0), (1.0, 3.0, 2.0, 9.0)
    return {query: dict(zip(DOCS, last if at < failing else first, strict=True)) for at, query in enumerate(QUERIES)}


def saved_series(home: Path, failing: Sequence[int] = (0, 2, 4, 6), rejudged: int | None = None) -> list[Path]:
    """A folder for each number of failing queries, a month apart; from the place `rejudged` on the judgements are others."""
    folders = []
    for at, count in enumerate(failing):
        results = results_with(count)
        if rejudged is not None and at >= rejudged:
            results = with_judgements(results, Qrels.from_dict({query: {"d1": 2, "d2": 1, "d4": 0} for query in QUERIES}))
        made = {"created": f"2026-{at + 1:02}-01T09:30:00Z", "dataset": "shop"}
        folders.append(saved(home / f"run-{at + 1}", replace(results, name=f"nightly {at + 1}", provenance=made)))
    return folders
