"""How often decisions by people's labels and a machine judge are wrong, with judges from useless to good.

People's values are real: those of 15 systems on the collections of `benchmarks.real_values`. A round draws n questions with
replacement, 2, 3 or 7 of the systems, and m of the questions for people to label. The judge has a value of each question. The
truth is the mean over all questions of the collection. A decision is wrong if a named system is truly more than the margin below
the best one. Costs are unknown. Labels decide with the limits for many looks, as in `compare`. Where nothing is decided, the
leading system may be within the margin or not.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np

from rankproof._data.arrays import FloatArray
from rankproof._statistics.decision_rule import Looks, PairEstimates, pair_estimates, risks, select
from rankproof._statistics.labelled_means import labelled_means

from .decision_rule import Choice, Random, is_wrong, margin_of
from .real_values import real_values
from .simulation import Cell, StoredCells

MEASURES = ("nDCG@10", "P@10")
QUESTIONS = {30: 300, 50: 300, 100: 1_000, 200: 1_000}
"""The number of questions for each number of labelled ones."""
SYSTEMS = (2, 3, 7)
ROUNDS = 100
COLUMNS = (
    "judge",
    "systems",
    "labels",
    "% coverage",
    "% decided by labels",
    "with the judge: decided / wrong / worst cell",
    "judge alone: decided / wrong / worst cell",
    "not decided: leader right / wrong",
)
Judge = Callable[[FloatArray, FloatArray, Random], FloatArray]


def _random(values: FloatArray, truth: FloatArray, random: Random) -> FloatArray:
    return random.permutation(values.ravel()).reshape(values.shape)


def _reversed(values: FloatArray, truth: FloatArray, random: Random) -> FloatArray:
    return 1 - values


def _favours_worst(values: FloatArray, truth: FloatArray, random: Random) -> FloatArray:
    judged = _noisy(0.3, values, truth, random)
    judged[:, truth.argmin()] += 0.3
    return judged


def _noisy(deviation: float, values: FloatArray, truth: FloatArray, random: Random) -> FloatArray:
    return np.asarray(np.clip(values + random.normal(0, deviation, values.shape), 0, 1))


JUDGES: dict[str, Judge] = {
    "random": _random,
    "reversed": _reversed,
    "favours the worst": _favours_worst,
    "noise 0.5": partial(_noisy, 0.5),
    "noise 0.2": partial(_noisy, 0.2),
    "noise 0.05": partial(_noisy, 0.05),
}
"""The judge's values from people's values of the systems and their true means."""


def chosen(estimates: PairEstimates, means: FloatArray, looks: Looks) -> Choice:
    """The choice of the rule, with unknown costs."""
    margin = margin_of(means)
    systems = select(estimates, risks(estimates, margin, looks), [None] * len(means)).systems if margin > 0 else ()
    return Choice(systems, estimates.best)


def simulated(values: FloatArray, judge: Judge, labelled: int, systems: int, rounds: int, random: Random) -> Cell:
    """Shares of covered differences, and of decided and wrong rounds by labels, by labels with the judge, and by the judge."""
    ways = ("labels", "both", "judge")
    names = ("covered", "lead right", "lead wrong", *(f"{what} {way}" for what in ("decided", "wrong") for way in ways))
    counts = dict.fromkeys(names, 0.0)
    for _ in range(rounds):
        shown = random.permutation(values.shape[1])[:systems]
        people, truth = values[random.integers(0, len(values), QUESTIONS[labelled])][:, shown], values[:, shown].mean(axis=0)
        judged = judge(people, truth, random)
        human = people[:labelled]
        both = labelled_means(human, judged[:labelled], judged[labelled:])
        choices = {
            "labels": chosen(pair_estimates(human), human.mean(axis=0), "many"),
            "both": chosen(both.pairs(), both.means, "many"),
            "judge": chosen(pair_estimates(judged), judged.mean(axis=0), "one"),
        }
        for way, choice in choices.items():
            counts[f"decided {way}"] += bool(choice.systems)
            counts[f"wrong {way}"] += is_wrong(choice, truth)
        low, high = both.difference_interval(0, 1)
        counts["covered"] += low <= truth[0] - truth[1] <= high
        if not choices["both"].systems:
            leads_wrongly = is_wrong(Choice((choices["both"].best,), 0), truth)
            counts["lead wrong" if leads_wrongly else "lead right"] += 1
    return {name: float(count / rounds) for name, count in counts.items()}


def cells(stored: StoredCells, judge: str, labelled: int, systems: int, rounds: int) -> Iterator[Cell]:
    """The cells of one judge on every collection and measure."""
    for collection in real_values():
        for measure in MEASURES:
            name = f"{collection.collection}, {measure}, {judge}, {labelled}, {systems}"
            simulate = partial(simulated, collection.values[measure], JUDGES[judge], labelled, systems, rounds)
            yield stored.cell(name, simulate)


def row(judge: str, labelled: int, systems: int, found: Sequence[Cell]) -> str:
    """Means over collections and measures, with the worst cell."""
    mean = {name: 100 * float(np.mean([cell[name] for cell in found])) for name in found[0]}
    worst = {way: 100 * max(cell[f"wrong {way}"] for cell in found) for way in ("both", "judge")}
    decided = f"{mean['decided labels']:.0f} | {mean['decided both']:.0f} / {mean['wrong both']:.1f} / {worst['both']:.0f}"
    alone = f"{mean['decided judge']:.0f} / {mean['wrong judge']:.0f} / {worst['judge']:.0f}"
    open_rounds = f"{mean['lead right']:.0f} / {mean['lead wrong']:.0f}"
    return f"| {judge} | {systems} | {labelled} | {mean['covered']:.1f} | {decided} | {alone} | {open_rounds} |"


def main() -> None:
    """Prints the table; ends with 1 if labels with a judge are wrong in more than 5% of the rounds of a row."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.judge_labels", description=__doc__)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    rounds = parser.parse_args().rounds
    stored, failed = StoredCells("judge_labels", f"{rounds} rounds, many looks"), False
    every: dict[tuple[int, int], list[Cell]] = {}
    print(f"| {' | '.join(COLUMNS)} |\n|---|{'---:|' * (len(COLUMNS) - 1)}")
    for judge in JUDGES:
        for systems in SYSTEMS:
            for labelled in QUESTIONS:
                found = list(cells(stored, judge, labelled, systems, rounds))
                print(row(judge, labelled, systems, found), flush=True)
                failed |= float(np.mean([cell["wrong both"] for cell in found])) > 0.05
                every.setdefault((systems, labelled), []).extend(found)
    for (systems, labelled), found in every.items():
        print(row("all six", labelled, systems, found), flush=True)
    raise SystemExit(int(failed))


if __name__ == "__main__":
    main()
