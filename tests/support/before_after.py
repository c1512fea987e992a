"""Results before and after a change, on the same data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache

from rankproof import evaluate
from rankproof._data.qrels import Qrels
from rankproof._data.run import Run
from rankproof._evaluation.result import Result, SystemResult
from rankproof._results.experiment_result import ExperimentResult
from support.decision_folders import Scores, made_folder
from support.small_results import small_results

SKILLS_BEFORE = {"bm25": 0.3, "dense": 0.6, "hybrid": 0.7, "old": 0.2}
SKILLS_AFTER = {"bm25": 0.3, "dense": 0.5, "hybrid": 1.6, "new": 0.9}


@cache
def before_after(n: int = 60) -> tuple[ExperimentResult, ExperimentResult]:
    """bm25 is the same in both, hybrid is better on most queries, and each has a system that the other lacks."""
    before, after = made_folder(SKILLS_BEFORE, n=n), made_folder(SKILLS_AFTER, n=n, change=_with_losses)
    toml = 'name = "shop"\n[systems.hybrid]\nstage = "fuse"\nk = {}\n'
    return (
        replace(before, name="shop", experiment=toml.format(60), provenance={**before.provenance, "rankproof": "1.0"}),
        replace(after, name="shop", experiment=toml.format(10), provenance={**after.provenance, "rankproof": "1.1"}),
    )


def _with_losses(runs: dict[str, Scores]) -> dict[str, Scores]:
    """Every tenth ranking of hybrid is turned around."""
    turned = {
        query: {doc: -score for doc, score in docs.items()} if at % 10 == 0 else docs
        for at, (query, docs) in enumerate(runs["hybrid"].items())
    }
    return {**runs, "hybrid": turned}


def ranked_results(
    grades: Mapping[str, Mapping[str, int]], rankings: Mapping[str, Mapping[str, Sequence[str]]], measures: Sequence[str]
) -> ExperimentResult:
    """Results of these rankings, documents best first."""
    qrels = Qrels.from_dict(grades)
    runs = {
        name: Run.from_dict({query: {doc: -at for at, doc in enumerate(docs)} for query, docs in each.items()}, name=name)
        for name, each in rankings.items()
    }
    made = small_results(tuple(rankings), tuple(grades), ("d1", "d2"))
    system_runs = tuple(replace(one, stored_run=runs[one.name], kind="retrieval") for one in made.system_runs)
    return replace(made, qrels=qrels, result=evaluate(qrels, runs, list(measures)), system_runs=system_runs, rel=1)


def without_judgements(results: ExperimentResult) -> ExperimentResult:
    """The same rankings, with nothing judged."""
    systems = tuple(SystemResult(one.name, {}, ()) for one in results.system_runs)
    return replace(results, qrels=Qrels.from_dict({}), result=Result((), systems))
