"""The tables that `python -m benchmarks.language_models` prints, in Markdown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from rankproof._data.dataset import Dataset
from rankproof._judge.agreement import RatedPair, both_graded, confusion_counts, rated_pairs
from rankproof._judge.judge import grade_pairs
from rankproof._judge.judges import Judge, JudgeContext
from rankproof._judge.pairs import QueryDocPair
from rankproof._llm.budget import CallTotals
from rankproof._llm.client import ReplyParseError
from rankproof._llm.prompts import yes_no_score
from rankproof._llm.session import LLMSession
from rankproof._results.experiment_result import ExperimentResult, SystemRun
from rankproof._statistics.agreement import Agreement, ScoredItem, auc, kappa, same_grade
from rankproof.models._chat.base import ChatReply
from rankproof.stages import Pointwise

MEASURES = ("nDCG@10", "RR@10", "Success@1")
ASKED = {"calls": "calls", "tokens_in": "tokens in", "tokens_out": "tokens out", "unreadable": "invalid", "given_up": "given up"}
STATES = ("answered", "abstained", "failed")
GRADES = (0, 1, 2, 3)


def shown(head: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """A Markdown table, the first column to the left."""
    print(f"| {' | '.join(head)} |\n|---|{'---:|' * (len(head) - 1)}")
    for row in rows:
        print(f"| {' | '.join(f'{cell:.3f}' if isinstance(cell, float) else str(cell) for cell in row)} |")
    print()


def reranked(all_results: Sequence[ExperimentResult]) -> None:
    """What each order is worth and what it cost."""
    rows: list[list[object]] = []
    for results, system_run in (
        (each, system_run) for each in all_results for system_run in each.system_runs if system_run.answers is None
    ):
        means, seconds = results.result.means[system_run.name], _seconds(system_run, "total")
        asked = [f"{system_run.total(name):,}" for name in ASKED]
        rows.append([system_run.name, *(means[name] for name in MEASURES), f"{seconds:.2f}", *asked])
    shown(["ranking", *MEASURES, "s per query", *ASKED.values()], rows)


def _seconds(system_run: SystemRun, part: str) -> float:
    """The median seconds of a query; a system that was run has times."""
    times = system_run.time_of(part)
    assert times is not None
    return times.p50 / 1000


def answered(found: ExperimentResult) -> None:
    """What each answer is worth, and how many there are."""
    assert found.answers is not None
    means = found.answers.means
    rows: list[list[object]] = []
    for system_run in found.system_runs:
        if system_run.answers is not None:
            states = [sum(one.state == state for one in system_run.answers.values()) for state in STATES]
            seconds = _seconds(system_run, "generate")
            rows.append([system_run.name, *means[system_run.name].values(), *states, f"{seconds:.2f}"])
    shown(["answers by", *next(iter(means.values())), *STATES, "s per query"], rows)


def judged(dataset: Dataset, pairs: Sequence[QueryDocPair], judges: Mapping[str, Judge], session: LLMSession) -> None:
    """How far each judge agrees with people, and which grades it gave for which."""
    human = {pair: dataset.qrels[pair.query][pair.doc] for pair in pairs if pair.doc in dataset.qrels[pair.query]}
    context = JudgeContext(dataset.queries, dataset.corpus, session)
    found = {}
    for name, judge in judges.items():
        verdicts = grade_pairs(judge, list(human), context, lambda label, done, total: None)
        found[name] = rated_pairs(human, {verdict.pair: verdict.grade for verdict in verdicts})
    shown(
        ["judge", "pairs", "failed", "human mean", "mean of the judge", "same grade", "kappa", "weighted kappa"],
        [[name, *_agreement(rated)] for name, rated in found.items()],
    )
    rows = [[f"{name}, where people gave {grade}", *row] for name, rated in found.items() for grade, row in _confused(rated)]
    shown(["grades by", *map(str, GRADES), "failed"], rows)


def separated(dataset: Dataset, pairs: Sequence[QueryDocPair], value: Pointwise, session: LLMSession) -> None:
    """How well log-probabilities and text of the same replies separate relevant pairs from the others, over all queries."""
    client = session.client(value.model, "rerank")
    scores: dict[str, list[float]] = {"log-probabilities": [], "text": []}
    for query, doc in pairs:
        texts = value.texts(dataset.corpus, [doc])
        reply = client.request(value.request(dataset.queries[query], texts, labels=["passage"]), CallTotals())
        scores["log-probabilities"].append(_odds(reply))
        scores["text"].append(_odds(replace(reply, first=None)))
    truth = [dataset.qrels[query].get(doc, 0) > 0 for query, doc in pairs]
    rows: list[list[object]] = []
    for name, values in scores.items():
        scored = [ScoredItem(pair.query, *one) for pair, one in zip(pairs, zip(values, truth, strict=True), strict=True)]
        rows.append([name, len(truth), sum(truth), auc(scored).value])
    shown(["relevance by", "pairs", "relevant", "area under the ROC curve"], rows)


def _odds(reply: ChatReply) -> float:
    """The odds of Yes against No; by the text alone a half, and even odds where it is neither."""
    try:
        return yes_no_score(reply)[0]
    except ReplyParseError:
        return 0.5 if reply.first is None else 0.0


def _agreement(rated: Sequence[RatedPair]) -> list[object]:
    graded = both_graded(rated)
    given = [each.second for each in graded]
    means = [f"{np.mean(grades):.2f}" if grades else "–" for grades in ([each.human for each in rated], given)]
    kinds = (same_grade(graded), kappa(graded), kappa(graded, "quadratic"))
    return [len(rated), len(rated) - len(graded), *means, *map(_with_interval, kinds)]


def _with_interval(found: Agreement) -> str:
    if found.value is None or found.interval is None:
        return "–" if found.value is None else f"{found.value:.2f}"
    low, high = found.interval
    return f"{found.value:.2f} ({low:.2f} to {high:.2f})"


def _confused(rated: Sequence[RatedPair]) -> list[tuple[int, list[int]]]:
    return list(zip(GRADES, confusion_counts(rated, GRADES, GRADES).tolist(), strict=True))
