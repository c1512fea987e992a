"""Results whose per-query values are given, for tests of comparisons."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rankproof._analysis.compare.comparison import compare_inputs
from rankproof._analysis.compare.joined_values import MeasuresLike, join_systems
from rankproof._analysis.inputs import AnalysisInput
from rankproof._analysis.options import CompareOptions
from rankproof._data.qrels import Qrels
from rankproof._data.table import Table
from rankproof._evaluation.result import MeasureResult, Result, SystemResult
from rankproof.measures import parse_measure

FAST: dict[str, Any] = {"samples": 2_000, "resamples": 500}


def result_of(values: Mapping[str, Mapping[str, Sequence[float] | Mapping[str, float]]]) -> Result:
    """System to measure to values; queries are named by their place where no name is given."""
    systems = []
    for name, measures in values.items():
        found = {}
        for text, row in measures.items():
            named = dict(row) if isinstance(row, Mapping) else {f"q{at:03}": value for at, value in enumerate(row)}
            measure, numbers = parse_measure(text), np.array(list(named.values()), np.float64)
            found[str(measure)] = MeasureResult(measure, measure.summarise(numbers), tuple(named), numbers)
        systems.append(SystemResult(name, found, ()))
    queries = {query: None for system in systems for one in system.measures.values() for query in one.query_ids}
    return Result(tuple(queries), tuple(systems))


def comparison_tables(
    result: Result, *, baseline: str | None = None, measures: MeasuresLike = None, **options: Any
) -> list[Table]:
    """The tables that `rankproof compare` shows: verdicts by measure, letters, and all numbers."""
    settings = CompareOptions(**options)
    join_systems(result, measures)
    inputs = AnalysisInput("values", "", Qrels({}), {}, result)
    return list(compare_inputs(inputs, baseline=baseline, measures=measures, options=settings).tables)


def target_at(ranks: Sequence[int]) -> dict[str, dict[str, float]]:
    """A run that has each query's one target at a rank."""
    return {
        f"q{at}": {("target" if place == rank else f"other{place}"): 1.0 / place for place in range(1, 11)}
        for at, rank in enumerate(ranks)
    }


def noise(seed: int, spread: float) -> Any:
    return np.random.default_rng(seed).normal(0, spread, 60)


BASE = np.random.default_rng(4).random(60)
SYSTEMS = {
    "weak": {"nDCG@10": (BASE - 0.2 + noise(1, 0.05)).tolist()},
    "base": {"nDCG@10": BASE.tolist()},
    "near": {"nDCG@10": (BASE + noise(2, 0.01)).tolist()},
    "good": {"nDCG@10": (BASE + 0.1 + noise(3, 0.05)).tolist()},
}
