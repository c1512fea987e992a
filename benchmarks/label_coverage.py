"""How often the 95% intervals of a judge with 100 human labels hold the truth: corrected means, AUC and kappa.

A round draws questions with replacement, and 100 of their claims at random, which people label. The truth is the value over
all questions. The claims are those of ExpertQA with its experts' labels, or simulated ones with dependent claims in a question.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from tools import shared_folder

from rankproof._data.arrays import FloatArray, IntArray
from rankproof._data.wording.stop_words import stop_words_of
from rankproof._statistics.agreement import Agreement, RatedItem, ScoredItem, auc, kappa
from rankproof._statistics.intervals import Interval
from rankproof._statistics.prediction_powered import JudgedItem, MeanEstimate, corrected_mean
from rankproof.measures._answers import shared_words

from .simulation import Cell, StoredCells

EXPERTQA = shared_folder.DATA / "expertqa" / "data.jsonl"
LABELS, ROUNDS, TRUTH_CLAIMS = 100, 2_000, 400_000
MOST_CHARACTERS = 4_500
BOUNDS = (0.93, 0.97)
THRESHOLD = 0.5
FIGURES = ("claims", "answers", "AUC", "kappa")


@dataclass(frozen=True, eq=False, slots=True)
class Claims:
    """Claims with their question (from 0), the label of people, 0 or 1, and the share of their words in the evidence."""

    questions: IntArray
    labels: FloatArray
    overlap: FloatArray


Judge = Callable[[Claims, np.random.Generator], FloatArray]
Source = Callable[[np.random.Generator], Claims]


def with_errors(share: float) -> Judge:
    """A judge that gives the wrong label to so many claims."""
    return lambda claims, random: np.abs(claims.labels - (random.random(len(claims.labels)) < share))


def noisy_score(claims: Claims, random: np.random.Generator) -> FloatArray:
    """A score that is higher for supported claims."""
    return np.clip(0.3 + 0.4 * claims.labels + random.normal(0, 0.25, len(claims.labels)), 0, 1)


JUDGES: dict[str, Judge] = {
    "overlap": lambda claims, random: claims.overlap,
    "5% errors": with_errors(0.05),
    "noisy score": noisy_score,
    "random": lambda claims, random: random.random(len(claims.labels)),
    "always yes": lambda claims, random: np.ones(len(claims.labels)),
}


def expertqa() -> Claims:
    """The claims of ExpertQA whose evidence is all text, with a label of support."""
    questions, labels, overlap = [], [], []
    for at, line in enumerate(EXPERTQA.read_text().splitlines()):
        answer = json.loads(line)
        for claim in answer["claims"]:
            evidence = " ".join(answer["contexts"][place] for place in claim["evidence"])
            whole = claim["evidence"] and len(claim["evidence"]) == claim["evidence_raw"]
            if whole and len(evidence) <= MOST_CHARACTERS and claim["support"] not in (None, "", "N/A"):
                words = shared_words(claim["text"], evidence, stop_words=stop_words_of("english"))
                questions.append(at)
                labels.append(float(claim["support"] == "Complete"))
                overlap.append(len(words.shared) / max(1, len(words.answer)))
    places = np.unique(questions, return_inverse=True)[1].astype(np.int64)
    return Claims(places, np.array(labels), np.array(overlap))


def drawn_questions(claims: Claims) -> Source:
    """As many questions as there are, with replacement."""
    members = [np.flatnonzero(claims.questions == question) for question in range(int(claims.questions.max()) + 1)]

    def draw(random: np.random.Generator) -> Claims:
        chosen = [members[question] for question in random.integers(0, len(members), len(members))]
        rows = np.concatenate(chosen)
        return Claims(np.repeat(np.arange(len(chosen)), [len(one) for one in chosen]), claims.labels[rows], claims.overlap[rows])

    return draw


def simulated(questions: int, each: int, share: float, alike: float, random: np.random.Generator) -> Claims:
    """So many claims a question on average; `alike` is the correlation of the labels of two claims of a question."""
    shares = random.beta(share * (1 / alike - 1), (1 - share) * (1 / alike - 1), questions)
    rows = np.repeat(np.arange(questions), 1 + random.poisson(each - 1, questions))
    labels = (random.random(len(rows)) < shares[rows]).astype(np.float64)
    return Claims(rows, labels, np.zeros(len(rows)))


def answer_weights(claims: Claims) -> FloatArray:
    """The weight of a claim in the mean over answers: one over the claims of its answer."""
    return np.asarray(1 / np.bincount(claims.questions)[claims.questions])


def truths(claims: Claims, judge: Judge, random: np.random.Generator) -> dict[str, float | None]:
    """The value of each figure over all claims."""
    scores, weights = judge(claims, random), answer_weights(claims)
    return {
        "claims": float(claims.labels.mean()),
        "answers": float((weights * claims.labels).sum() / weights.sum()),
        "AUC": _auc(claims, scores).value,
        "kappa": _kappa(claims, scores).value,
    }


def simulate(
    source: Source, judge: Judge, truth: dict[str, float | None], rounds: int, random: np.random.Generator
) -> dict[str, float]:
    """The share of rounds whose interval holds the truth, of those that have an interval, and the mean width of each."""
    found: dict[str, list[Interval | None]] = {}
    for _ in range(rounds):
        claims = source(random)
        for name, interval in _intervals(claims, judge(claims, random), random).items():
            found.setdefault(name, []).append(interval)
    cell: dict[str, float] = {}
    for name, intervals in found.items():
        target = truth[name.partition(", ")[0]]
        known = [interval for interval in intervals if interval is not None]
        shown = target is not None and len(known) >= rounds / 2
        cell[name] = float(np.mean([low <= (target or 0.0) <= high for low, high in known])) if shown else math.nan
        cell[f"{name}, width"] = float(np.mean([high - low for low, high in known])) if shown else math.nan
    return cell


def _intervals(claims: Claims, scores: FloatArray, random: np.random.Generator) -> dict[str, Interval | None]:
    chosen = random.permutation(len(scores))[:LABELS]
    seen = set(chosen.tolist())
    found: dict[str, Interval | None] = {}
    for name, weights in (("claims", np.ones(len(scores))), ("answers", answer_weights(claims))):
        columns = zip(claims.questions.tolist(), scores.tolist(), claims.labels.tolist(), weights.tolist(), strict=True)
        items = [
            JudgedItem(str(question), score, label if at in seen else None, weight)
            for at, (question, score, label, weight) in enumerate(columns)
        ]
        mean = corrected_mean(items, (0.0, 1.0))
        empty = MeanEstimate(0.0, None)
        by_people, by_both = (mean.human, mean.corrected) if mean else (empty, empty)
        found |= {name: by_both.interval, f"{name}, labels alone": by_people.interval}
    labelled = Claims(claims.questions[chosen], claims.labels[chosen], claims.overlap[chosen])
    return found | {"AUC": _auc(labelled, scores[chosen]).interval, "kappa": _kappa(labelled, scores[chosen]).interval}


def _auc(claims: Claims, scores: FloatArray) -> Agreement:
    columns = zip(claims.questions.tolist(), scores.tolist(), claims.labels.tolist(), strict=True)
    return auc([ScoredItem(str(question), score, label > 0) for question, score, label in columns])


def _kappa(claims: Claims, scores: FloatArray) -> Agreement:
    columns = zip(claims.questions.tolist(), claims.labels.tolist(), scores.tolist(), strict=True)
    return kappa([RatedItem(str(question), int(label), int(score >= THRESHOLD)) for question, label, score in columns])


@dataclass(frozen=True, slots=True)
class Case:
    """A row of the table; `checked` says that its coverage must be within the bounds."""

    name: str
    source: Source
    whole: Claims
    judge: str
    checked: bool = True


def cases() -> list[Case]:
    """The rows of the table."""
    real = expertqa()
    rows = [Case("ExpertQA", drawn_questions(real), real, judge) for judge in ("overlap", "5% errors", "random", "always yes")]
    rows += [Case("ExpertQA, the same answers", lambda random: real, real, judge, False) for judge in ("overlap", "5% errors")]
    for questions, each, share, alike in (
        (150, 6, 0.5, 0.15),
        (150, 6, 0.8, 0.15),
        (150, 6, 0.95, 0.15),
        (30, 20, 0.7, 0.2),
        (20, 25, 0.7, 0.2),
        (20, 25, 0.9, 0.2),
        (8, 60, 0.7, 0.2),
    ):
        make = partial(simulated, questions, each, share, alike)
        whole = simulated(TRUTH_CLAIMS // each, each, share, alike, np.random.default_rng(questions))
        name = f"{questions} questions, {each} claims each, {share:.0%} supported"
        rows += [Case(name, make, whole, judge) for judge in ("noisy score", "5% errors")]
    return rows


def main() -> None:
    """Prints the coverage of each case; ends with 1 if a corrected mean is outside the bounds where it must not be."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.label_coverage", description=__doc__)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    rounds = parser.parse_args().rounds
    stored = StoredCells("label_coverage", f"{rounds} rounds, {LABELS} labels")
    print(
        "| % coverage at 100 labels | judge | mean over claims | mean over answers | width with / without judge | AUC | kappa |"
    )
    print("|---|---|---:|---:|---:|---:|---:|")
    wrong = 0
    for case in cases():
        judge = JUDGES[case.judge]
        truth = truths(case.whole, judge, np.random.default_rng(0))
        cell = stored.cell(f"{case.name}; {case.judge}", partial(simulate, case.source, judge, truth, rounds))
        print(f"| {case.name} | {case.judge} | {' | '.join(_shown(cell))} |")
        wrong += case.checked and not all(BOUNDS[0] <= cell[name] <= BOUNDS[1] for name in ("claims", "answers"))
    raise SystemExit(int(wrong > 0))


def _shown(cell: Cell) -> Sequence[str]:
    width = f"{cell['answers, width']:.3f} / {cell['answers, labels alone, width']:.3f}"
    claims, answers, *others = ("–" if math.isnan(cell[name]) else f"{100 * cell[name]:.1f}" for name in FIGURES)
    return claims, answers, width, *others


if __name__ == "__main__":
    main()
