"""A user's script as `mypy --strict` must see it: `make check` sees it beside the code, `make package-test` with the wheel."""

from collections.abc import Sequence
from pathlib import Path
from typing import assert_type

import rankproof as rp


def measured(qrels: Path, run: Path) -> float:
    """Files, dicts, measures as text or values, and what comes back."""
    result = rp.evaluate(qrels, {"mine": run}, ["nDCG@10", rp.measures.RR @ 10, rp.measures.nDCG(gain="exp") @ 10])
    assert_type(result, rp.Result)
    assert_type(result.means, dict[str, dict[str, float]])
    assert_type(result.per_query("mine"), dict[str, dict[str, float]])
    for note in result.notes["mine"]:
        assert_type(note, rp.types.Note)
    judged, ranked = rp.read_qrels(qrels), rp.read_run(run)
    assert_type(judged, rp.Qrels)
    assert_type(rp.fuse([ranked, ranked], "rrf", k=60), rp.Run)
    return result.means["mine"]["nDCG@10"]


def compared(qrels: Path, runs: dict[str, Path]) -> str:
    """Functions on judgements and runs, on a result, and the values that come back."""
    comparison = rp.compare(qrels, runs, primary="nDCG@10", order="score", rel=1)
    assert_type(comparison, rp.types.Comparison)
    assert_type(comparison.decision, rp.types.Decision)
    assert_type(comparison.pairs, Sequence[rp.types.PairRecord])
    result = rp.evaluate(qrels, runs)
    assert_type(result.compare(), rp.types.Comparison)
    assert_type(rp.explain(result, query="q1"), rp.types.Explanation)
    assert_type(rp.audit(result, ties=True), rp.types.Audit)
    assert_type(rp.segments(result, by="relevant"), rp.types.Segments)
    assert_type(rp.gate(result, baseline=result), rp.types.GateResult)
    assert_type(rp.doctor(qrels, runs), rp.types.DoctorReport)
    return str(comparison.decision)


def experimented(folder: Path) -> rp.ExperimentResult:
    """Stages, models and stores as values, and an experiment of them."""
    first = rp.stages.BM25(k1=1.2, b=0.75)
    second = rp.stages.Dense(rp.models.WordLlama(), store=rp.stores.Memory())
    experiment = rp.Experiment({"bm25": first, "static": second, "both": rp.stages.RRF([first, second], k=60)}, "sample")
    results = rp.run(experiment, rp.types.RunOptions())
    assert_type(results, rp.ExperimentResult)
    rp.save_results(results, folder)
    assert_type(rp.load_results(folder), rp.ExperimentResult)
    return results


def refused(text: str) -> str:
    """Errors form one tree."""
    try:
        return str(rp.parse_measure(text))
    except rp.errors.UsageError as error:
        assert_type(error, rp.errors.UsageError)
        return str(error)
    except rp.errors.RankproofError:
        raise
