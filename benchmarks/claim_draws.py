"""Decisions by labels of single claims drawn at random: how often the interval holds the truth, and what is decided.

Two systems answer 150 questions with the claims of ExpertQA, drawn with replacement. A share of the second one's supported claims
is made unsupported, so that it is truly the gap below the first. People label some of the claims of both.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from functools import partial

import numpy as np

from rankproof._statistics.decision_rule import risks
from rankproof._statistics.labelled_means import ClaimSample, claim_sample_means

from .label_coverage import JUDGES, Claims, answer_weights, expertqa
from .simulation import Cell, StoredCells

QUESTIONS, MARGIN = 150, 0.02
GAPS = (0.0201, 0.15)
LABELS = (50, 100, 200)
FAVOURS_WORSE = "favours the worse"
NAMES = ("overlap", "5% errors", "random", FAVOURS_WORSE)


def drawn_sample(
    members: Sequence[np.ndarray], claims: Claims, share: float, judge: str, labels: int, random: np.random.Generator
) -> ClaimSample:
    """The claims of both systems, with labels of some; of the second system a share of the supported claims is not."""
    rows = [members[question] for question in random.integers(0, len(members), 2 * QUESTIONS)]
    chosen, answers = np.concatenate(rows), np.repeat(np.arange(2 * QUESTIONS), [len(own) for own in rows])
    systems, questions = answers % 2, answers // 2
    human = claims.labels[chosen] * ~((systems == 1) & (random.random(len(chosen)) < share))
    shown = Claims(answers, human, claims.overlap[chosen])
    credits = np.maximum(human, systems) if judge == FAVOURS_WORSE else JUDGES[judge](shown, random)
    labelled = np.full(len(chosen), np.nan)
    seen = random.permutation(len(chosen))[:labels]
    labelled[seen] = human[seen]
    return ClaimSample(questions, systems, answer_weights(shown), credits, labelled, np.zeros((QUESTIONS, 2)))


def simulate(claims: Claims, gap: float, judge: str, labels: int, rounds: int, random: np.random.Generator) -> Cell:
    """Shares of rounds: the interval holds the gap, decided, decided and wrong; and the mean half width."""
    members = [np.flatnonzero(claims.questions == question) for question in range(int(claims.questions.max()) + 1)]
    share = gap / float(np.mean([claims.labels[rows].mean() for rows in members]))
    holds = decided = wrong = width = 0.0
    for _ in range(rounds):
        _, means = claim_sample_means(drawn_sample(members, claims, share, judge, labels, random))
        low, high = means.difference_interval(0, 1, means.interval_floor())
        good = risks(means.pairs(), MARGIN, "many").good
        holds, decided, wrong = holds + (low <= gap <= high), decided + bool(good), wrong + (1 in good)
        width += (high - low) / 2
    return {"holds": holds / rounds, "decided": decided / rounds, "wrong": wrong / rounds, "half width": width / rounds}


def main() -> None:
    """Prints a row for each gap, judge and number of labels."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.claim_draws", description=__doc__)
    parser.add_argument("--rounds", type=int, default=1_000)
    rounds = parser.parse_args().rounds
    claims, stored = expertqa(), StoredCells("claim_draws", f"{rounds} rounds")
    print("| gap | judge | labels | % coverage | half width | % decided | % decided and wrong |")
    print("|---:|---|---:|---:|---:|---:|---:|")
    for gap in GAPS:
        for judge in NAMES:
            for labels in LABELS:
                name = f"{gap}; {judge}; {labels}"
                cell = stored.cell(name, partial(simulate, claims, gap, judge, labels, rounds))
                shares = " | ".join(f"{100 * cell[figure]:.1f}" for figure in ("decided", "wrong"))
                coverage = f"{100 * cell['holds']:.1f} | {cell['half width']:.3f}"
                print(f"| {100 * gap:.4g} pp | {judge} | {labels} | {coverage} | {shares} |")


if __name__ == "__main__":
    main()
