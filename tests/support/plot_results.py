"""Results of any size, also with hostile names, for charts and exports."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from rankproof import evaluate
from rankproof._analysis.inputs import AnalysisInput, input_from_results
from rankproof._data.arrays import FloatArray
from rankproof._data.dataset import Queries, Query
from rankproof._data.qrels import Qrels
from rankproof._data.run import Run
from rankproof._results.experiment_result import TIME_COLUMNS, ExperimentResult
from support.small_results import small_results

HOSTILE = (
    "$x^{2}$ \\frac{a}{b}",
    "<script>alert(1)</script>",
    "a\u202eb\x1b[31m",
    "=cmd|' /C calc'!A0",
    "@SUM(1+1)",
    "W" * 90,
    "日本語のシステム",
    "%s%n {0} \\n \\input{x}",
    "../../etc/passwd",
    "&amp; \"q\" 'x' ]]>",
    "_a_^b~`#&%{}",
    "\n\nline",
    "🙂 -- [*]",
    "tab\there",
    "{",
    "</text><svg onload=alert(1)>",
)
MEASURES = ("nDCG@10", "RR@10", "R@20", "NumRet")


def wide_results(
    names: Sequence[str], queries: Sequence[str], *, growth: float = 2.0, measures: Sequence[str] = MEASURES
) -> ExperimentResult:
    """Systems each better and slower than the one before, by a fixed seed."""
    draws = np.random.default_rng(7)
    docs = [f"d{at}" for at in range(30)]
    grades = {query: dict(zip(draws.choice(docs, 5, replace=False).tolist(), (3, 2, 1, 0, 0), strict=True)) for query in queries}
    qrels = Qrels.from_dict(grades)
    runs = {name: _run(name, 0.3 + 0.2 * at, grades, docs, draws) for at, name in enumerate(names)}
    results = small_results(names, queries, docs)
    system_runs = tuple(
        replace(system_run, stored_run=runs[system_run.name], times=_times(0.05 * growth**at, at, len(queries), draws))
        for at, system_run in enumerate(results.system_runs)
    )
    fields = [{"category": HOSTILE[at % 4] if names == HOSTILE else f"kind {at % 3}"} for at in range(len(queries))]
    return replace(
        results,
        result=evaluate(qrels, runs, list(measures)),
        system_runs=system_runs,
        qrels=qrels,
        texts=Queries([Query(query, "what is it?", fields=each) for query, each in zip(queries, fields, strict=True)]),
        provenance={"dataset": "tiny", "documents": 30, "created": "2026-01-02T03:04:05Z"},
        rel=1,
    )


def wide_input(systems: int, queries: int) -> AnalysisInput:
    """The analysis input of so many systems and queries."""
    names = [f"a system with the number {at}" for at in range(systems)]
    return input_from_results(wide_results(names, [f"q{at}" for at in range(queries)], growth=1.2))


def hostile_results() -> ExperimentResult:
    """Results whose systems, queries and segments have hostile names."""
    return replace(wide_results(HOSTILE, [f"{name}{at}" for at, name in enumerate(HOSTILE)]), name=HOSTILE[0])


def _run(name: str, skill: float, grades: dict[str, dict[str, int]], docs: list[str], draws: np.random.Generator) -> Run:
    scored = {
        query: {doc: float(draws.normal() + skill * judged.get(doc, 0)) for doc in docs} for query, judged in grades.items()
    }
    return Run.from_dict(scored, name=name)


def _times(mean: float, at: int, count: int, draws: np.random.Generator) -> dict[str, FloatArray]:
    shares = {
        "search": 1.0,
        "network": 0.5 * (at > 3),
        "embed": float(at > 0),
        "rerank": 2.0 * (at > 1),
        "generate": 5.0 * (at > 2),
    }
    times = {part: draws.gamma(4.0, mean / 4, count) * share for part, share in shares.items()}
    return {part: times[part] if part in times else sum(times.values(), np.zeros(count)) for part in TIME_COLUMNS}
