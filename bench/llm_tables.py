"""The tables that `python -m bench.llm` prints, in Markdown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from rankproof.asking.asker import UnreadableError
from rankproof.asking.desk import Desk
from rankproof.asking.tally import Sums
from rankproof.asking.yes_no import yes_no
from rankproof.data.arrays import BoolArray, FloatArray
from rankproof.data.dataset import Dataset
from rankproof.experiment import Climb
from rankproof.judging.agreement import Rated, Statistic, agreed, confusion, kappa, rated_pairs
from rankproof.judging.grading import verdicts_of
from rankproof.judging.judge import Judge, JudgingGround
from rankproof.judging.pairs import Pair
from rankproof.models.chat.port import Reply
from rankproof.stages import Pointwise

MEASURES = ("nDCG@10", "RR@10", "Success@1")
ASKED = {"calls": "asks", "tokens_in": "tokens in", "tokens_out": "tokens out", "unreadable": "of no use", "given_up": "given up"}
STATES = ("answered", "abstained", "failed")
GRADES = (0, 1, 2, 3)


def shown(head: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """A Markdown table, the first column to the left."""
    print(f"| {' | '.join(head)} |\n|---|{'---:|' * (len(head) - 1)}")
    for row in rows:
        print(f"| {' | '.join(f'{cell:.3f}' if isinstance(cell, float) else str(cell) for cell in row)} |")
    print()


def reranked(climbs: Sequence[Climb]) -> None:
    """What each order is worth and what it cost."""
    rows: list[list[object]] = []
    for climb, rung in ((each, rung) for each in climbs for rung in each.rungs if rung.answers is None):
        means, seconds = climb.result.means[rung.name], rung.time_of("total")["p50"] / 1000
        asked = [f"{rung.total(name):,}" for name in ASKED]
        rows.append([rung.name, *(means[name] for name in MEASURES), f"{seconds:.2f}", *asked])
    shown(["ranking", *MEASURES, "s a query", *ASKED.values()], rows)


def answered(found: Climb) -> None:
    """What each answer is worth, and how many there are."""
    assert found.answers is not None
    means = found.answers.means
    rows: list[list[object]] = []
    for rung in found.rungs:
        if rung.answers is not None:
            states = [sum(one.state == state for one in rung.answers.values()) for state in STATES]
            seconds = rung.time_of("generate")["p50"] / 1000
            rows.append([rung.name, *means[rung.name].values(), *states, f"{seconds:.2f}"])
    shown(["answers by", *next(iter(means.values())), *STATES, "s a query"], rows)


def judged(dataset: Dataset, pairs: Sequence[Pair], judges: Mapping[str, Judge], desk: Desk) -> None:
    """How far each judge agrees with people, and which grades it gave for which."""
    human = {pair: dataset.qrels[pair.query][pair.doc] for pair in pairs if pair.doc in dataset.qrels[pair.query]}
    ground = JudgingGround(dataset.queries, dataset.corpus, desk)
    found = {}
    for name, judge in judges.items():
        verdicts = verdicts_of(judge, list(human), ground, lambda label, done, total: None)
        found[name] = rated_pairs(human, {verdict.pair: verdict.grade for verdict in verdicts})
    shown(
        ["judge", "pairs", "failed", "mean by people", "mean by it", "the same grade", "kappa", "weighted kappa"],
        [[name, *_agreement(rated)] for name, rated in found.items()],
    )
    rows = [[f"{name}, where people gave {grade}", *row] for name, rated in found.items() for grade, row in _confused(rated)]
    shown(["grades by", *map(str, GRADES), "failed"], rows)


def told_apart(dataset: Dataset, pairs: Sequence[Pair], value: Pointwise, desk: Desk) -> None:
    """How well either reading of the same replies tells relevant pairs from the others, over all queries."""
    asker = desk.asker(value.model, "rerank")
    scores: dict[str, list[float]] = {"log-probabilities": [], "text": []}
    for query, doc in pairs:
        texts = value.texts(dataset.corpus, [doc])
        reply = asker.ask(value.ask(dataset.queries[query], texts, labels=["passage"]), Sums())
        scores["log-probabilities"].append(_odds(reply))
        scores["text"].append(_odds(replace(reply, first=None)))
    truth = np.array([dataset.qrels[query].get(doc, 0) > 0 for query, doc in pairs])
    rows = [[name, len(truth), int(truth.sum()), _area(truth, np.array(values))] for name, values in scores.items()]
    shown(["relevance by", "pairs", "relevant", "area under the ROC curve"], rows)


def _odds(reply: Reply) -> float:
    """How much rather Yes than No; half by the text, and even odds, where it is neither."""
    try:
        return yes_no(reply)[0]
    except UnreadableError:
        return 0.5 if reply.first is None else 0.0


def _area(truth: BoolArray, scores: FloatArray) -> float:
    """The chance that a relevant pair scores higher than another, ties counting half."""
    apart = scores[truth][:, None] - scores[~truth][None, :]
    return float(((apart > 0) + (apart == 0) / 2).mean())


def _agreement(rated: Sequence[Rated]) -> list[object]:
    graded = [each.judge for each in rated if each.judge is not None]
    means = [f"{np.mean(grades):.2f}" if grades else "–" for grades in ([each.human for each in rated], graded)]
    kinds = (agreed(rated, ""), kappa(rated, ""), kappa(rated, "", weighted=True))
    return [len(rated), len(rated) - len(graded), *means, *map(_with_interval, kinds)]


def _with_interval(found: Statistic) -> str:
    if found.value is None or found.interval is None:
        return "–" if found.value is None else f"{found.value:.2f}"
    low, high = found.interval
    return f"{found.value:.2f} ({low:.2f} to {high:.2f})"


def _confused(rated: Sequence[Rated]) -> list[tuple[int, list[int]]]:
    return list(zip(GRADES, confusion(rated, GRADES, GRADES).tolist(), strict=True))
