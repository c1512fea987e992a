"""Analysis inputs made of dicts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rankproof._analysis.inputs import AnalysisInput, input_from_runs
from rankproof._evaluation.options import EvaluateOptions


def input_of(
    qrels: Mapping[str, Mapping[str, int]],
    runs: Mapping[str, Mapping[str, Mapping[str, float]]],
    measures: Sequence[str],
    *,
    skip_missing: bool = False,
    weights: Mapping[str, float] | None = None,
) -> AnalysisInput:
    """What evaluating the runs gives, with the rankings."""
    options = EvaluateOptions(skip_missing=skip_missing, weights=weights)
    return input_from_runs(qrels, runs, list(measures), name="test", options=options)
