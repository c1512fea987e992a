"""Results of many shapes, on which every verb must give the same decision."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from rankproof import evaluate
from rankproof._data.dataset import Queries, Query
from rankproof._data.qrels import Qrels
from rankproof._data.run import Run
from rankproof._results.decision_settings import DecisionSettings
from rankproof._results.experiment_result import TIME_COLUMNS, ExperimentResult
from support.small_results import small_results

MEASURES = ("nDCG@10", "RR@10", "R@20")
Scores = Mapping[str, Mapping[str, float]]


def made_folder(
    skills: Mapping[str, float],
    *,
    n: int = 60,
    seed: int = 0,
    times: Mapping[str, float] | None = None,
    judged: int = 20,
    measures: Sequence[str] = MEASURES,
    rel: int = 1,
    weights: Callable[[int], float] | None = None,
    change: Callable[[dict[str, Scores]], dict[str, Scores]] = lambda runs: runs,
) -> ExperimentResult:
    """Systems that find relevant documents by their skill; `judged` of 20 documents have a grade, `times` are p50 in ms."""
    draws, queries, docs = np.random.default_rng(seed), [f"q{at}" for at in range(n)], [f"d{at}" for at in range(20)]
    grades = {query: dict(zip(docs[:judged], draws.choice([0, 0, 0, 1, 2], judged).tolist(), strict=True)) for query in queries}
    for query in queries:
        grades[query][docs[0]] = 2
    drawn = {name: _scores(skill, grades, docs, draws) for name, skill in skills.items()}
    runs = {name: Run.from_dict(scores, name=name) for name, scores in change(drawn).items()}
    results = small_results(tuple(skills), queries, docs)
    fields = [{"category": f"kind {at % 2}", **({} if weights is None else {"weight": weights(at)})} for at in range(n)]
    texts = Queries([Query(query, "what is it?", fields=each) for query, each in zip(queries, fields, strict=True)])
    qrels = Qrels.from_dict(grades)
    spent = {name: 1.0 + at for at, name in enumerate(skills)} if times is None else times
    system_runs = tuple(
        replace(each, stored_run=runs[each.name], kind="retrieval", times=_times(spent.get(each.name, 0.0), n))
        for each in results.system_runs
    )
    return replace(
        results,
        result=evaluate(qrels, runs, list(measures), rel=rel, weights=texts.weights),
        system_runs=system_runs,
        qrels=qrels,
        texts=texts,
        rel=rel,
    )


def _scores(skill: float, grades: Mapping[str, Mapping[str, int]], docs: Sequence[str], draws: np.random.Generator) -> Scores:
    return {query: {doc: float(draws.normal() + skill * judged.get(doc, 0)) for doc in docs} for query, judged in grades.items()}


def _times(median: float, n: int) -> dict[str, np.ndarray]:
    return {part: np.full(n, median if part in ("search", "total") else 0.0) for part in TIME_COLUMNS}


def _empty(*names: str) -> Callable[[dict[str, Scores]], dict[str, Scores]]:
    """These systems retrieve nothing for every query."""
    return lambda runs: {name: {query: {} for query in scores} if name in names else scores for name, scores in runs.items()}


def _twins(one: str, other: str) -> Callable[[dict[str, Scores]], dict[str, Scores]]:
    """The other system has the ranking of the first."""
    return lambda runs: {**runs, other: runs[one]}


def _tied(runs: dict[str, Scores]) -> dict[str, Scores]:
    """Scores rounded to whole numbers, so that many documents tie."""
    return {
        name: {query: {doc: float(round(score)) for doc, score in docs.items()} for query, docs in scores.items()}
        for name, scores in runs.items()
    }


def _without_queries(name: str, many: int) -> Callable[[dict[str, Scores]], dict[str, Scores]]:
    """One system lacks the first queries."""
    return lambda runs: {**runs, name: dict(list(runs[name].items())[many:])}


def _answering(results: ExperimentResult) -> ExperimentResult:
    """The last system answers from the ranking of the first."""
    *ranking, last = results.system_runs
    system_runs = (*ranking, replace(last, kind="answer", builds_on=ranking[0].name, stored_run=ranking[0].run))
    runs = {one.name: one.run for one in system_runs}
    return replace(results, system_runs=system_runs, result=evaluate(results.qrels, runs, list(MEASURES)))


def _settled(results: ExperimentResult, **settings: Any) -> ExperimentResult:
    """The experiment has settings of the decision."""
    return replace(results, decision_settings=DecisionSettings(**settings))


TWO = {"bm25": 0.4, "dense": 0.9}
FOUR = {"bm25": 0.3, "dense": 0.6, "hybrid": 0.9, "late": 1.0}
MANY = {f"system {at}": 0.2 + 0.1 * at for at in range(8)}
FOLDERS: dict[str, Callable[[], ExperimentResult]] = {
    "two systems": lambda: made_folder(TWO),
    "a clear winner": lambda: made_folder({"bm25": 0.1, "dense": 3.0}, n=80),
    "a winner that is also the baseline": lambda: made_folder({"bm25": 3.0, "dense": 0.1}, n=80),
    "equal skills": lambda: made_folder({"bm25": 0.6, "dense": 0.6}, seed=1),
    "four systems": lambda: made_folder(FOUR, n=120),
    "four systems, few queries": lambda: made_folder(FOUR, n=12),
    "29 queries": lambda: made_folder(FOUR, n=29),
    "30 queries": lambda: made_folder(FOUR, n=30),
    "two queries": lambda: made_folder(TWO, n=2),
    "eight systems": lambda: made_folder(MANY, n=90),
    "no system is called bm25": lambda: made_folder({"one": 0.4, "two": 0.9, "three": 1.2}),
    "bm25 is not the first system": lambda: made_folder({"dense": 0.9, "bm25": 0.4, "late": 1.1}),
    "bm25 retrieves nothing": lambda: made_folder(FOUR, change=_empty("bm25")),
    "two systems retrieve nothing": lambda: made_folder(FOUR, change=_empty("dense", "late")),
    "identical systems": lambda: made_folder({**TWO, "copy": 0.9}, change=_twins("dense", "copy")),
    "tied scores": lambda: made_folder(FOUR, change=_tied),
    "unjudged documents": lambda: made_folder(FOUR, n=80, judged=6),
    "one system lacks queries": lambda: made_folder(FOUR, change=_without_queries("hybrid", 9)),
    "equal latencies": lambda: made_folder(FOUR, times=dict.fromkeys(FOUR, 5.0)),
    "the best is the fastest": lambda: made_folder(FOUR, times={"bm25": 9.0, "dense": 7.0, "hybrid": 5.0, "late": 1.0}),
    "no latencies": lambda: made_folder(FOUR, times={}),
    "other measures first": lambda: made_folder(FOUR, measures=("RR@10", "R@20", "nDCG@10")),
    "grade 2 is relevant": lambda: made_folder(FOUR, rel=2),
    "weighted queries": lambda: made_folder(FOUR, n=90, weights=lambda at: 1.0 + at % 7),
    "few queries have most of the weight": lambda: made_folder(FOUR, n=90, weights=lambda at: 100.0 if at < 3 else 0.5),
    "no nDCG@10": lambda: made_folder(FOUR, measures=("P@5", "RR@10")),
    "another primary measure": lambda: _settled(made_folder(FOUR), primary="RR@10"),
    "a wide margin": lambda: _settled(made_folder(FOUR, n=90), margin=0.1),
    "a named baseline": lambda: _settled(made_folder(FOUR), baseline="dense"),
    "given costs": lambda: _settled(made_folder(FOUR, n=90), margin=0.1, costs={"late": 9.0, "hybrid": 1.0, "dense": 2.0}),
    "an answering system": lambda: _answering(made_folder(FOUR)),
    "hostile names": lambda: made_folder({"<b>a</b>": 0.4, "b & 'c'": 0.9, "d\u202ee": 1.1}),
}
"""By what is special about them."""
