"""Evidence made of dicts, for tests of what is done with it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rankproof import evidence_of_runs
from rankproof.analysis.evidence import Evidence
from rankproof.evaluation import Options


def evidence_of(
    qrels: Mapping[str, Mapping[str, int]],
    runs: Mapping[str, Mapping[str, Mapping[str, float]]],
    measures: Sequence[str],
    *,
    skip_missing: bool = False,
) -> Evidence:
    """What evaluating the runs gives, with the rankings."""
    return evidence_of_runs(qrels, runs, list(measures), name="test", options=Options(skip_missing=skip_missing))
