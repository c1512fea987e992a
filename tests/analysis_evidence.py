"""Evidence made of dicts, for tests of what is done with it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rankproof import evaluate
from rankproof.analysis.evidence import Evidence
from rankproof.data.qrels import Qrels
from rankproof.data.reading import Reading
from rankproof.data.run import Run


def evidence_of(
    qrels: Mapping[str, Mapping[str, int]], runs: Mapping[str, Mapping[str, Mapping[str, float]]], measures: Sequence[str]
) -> Evidence:
    """What evaluating the runs gives, with the rankings."""
    judged = Qrels.from_dict(qrels)
    made = {name: Run.from_dict(run, name=name) for name, run in runs.items()}
    return Evidence("test", judged.fingerprint(), judged, made, evaluate(judged, made, list(measures)), 1, Reading())
