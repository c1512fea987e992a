"""How often decisions by people's labels and a machine judge are wrong, with judges from useless to good.

People's values are real. A round draws n questions with replacement, and m of them for people to label; the judge has a value of
each question. The truth is people's mean over all questions of the set. A decision is wrong if a named system is truly more than
the margin below the best one. Costs are unknown. Labels decide with the limits for many looks, as in `compare`.

`judges`: 15 systems on the collections of `benchmarks.real_values`, with simulated judges. `rag`: answers with people's labels
and real judges, every pair of systems; also with people's values of the judge's favourite changed until it is truly 2.01 pp below
the other system. `missing`: of two systems, one has no value where people's values of it are worst.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import combinations, permutations

import numpy as np

from rankproof._analysis.decision.decide import MARGIN
from rankproof._analysis.decision.scenarios import MissingValues, scenario_choices
from rankproof._data.arrays import BoolArray, FloatArray
from rankproof._statistics.decision_rule import PairEstimates, Risks, Selection, pair_estimates, risks, select
from rankproof._statistics.labelled_means import labelled_means
from rankproof._statistics.options import Looks

from .decision_rule import Choice, Random, choose, is_wrong, margin_of, print_above
from .real_values import LabelledSet, labelled_sets, real_values
from .simulation import Cell, StoredCells

MEASURES = ("nDCG@10", "P@10")
QUESTIONS = {30: 300, 50: 300, 100: 1_000, 200: 1_000}
"""The number of questions for each number of labelled ones."""
SYSTEMS = (2, 3, 7)
ROUNDS, RAG_ROUNDS, MISSING_ROUNDS = 100, 300, 400
HIDDEN, HIDING_QUESTIONS = (0.01, 0.03, 0.05, 0.10, 0.30, 0.50), 100
HEADER = (
    "judge",
    "systems",
    f"judge alone, {QUESTIONS[200]:,} questions",
    *(f"{labelled} of {questions:,} labelled" for labelled, questions in QUESTIONS.items()),
    "not decided at 30: leader right / wrong",
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


Drawn = tuple[FloatArray, FloatArray, FloatArray]
"""People's and the judge's values by question and system, and the true means of the systems."""
Draw = Callable[[int, Random], Drawn]
"""Draws so many questions."""


def simulated_draw(values: FloatArray, judge: Judge, systems: int, questions: int, random: Random) -> Drawn:
    """Some of the systems, with a simulated judge."""
    shown = random.permutation(values.shape[1])[:systems]
    people, truth = values[random.integers(0, len(values), questions)][:, shown], values[:, shown].mean(axis=0)
    return people, judge(people, truth, random), truth


def real_draw(labelled_set: LabelledSet, shown: Sequence[int], questions: int, random: Random) -> Drawn:
    """These systems, with a real judge."""
    return *labelled_set.drawn(questions, shown, random), labelled_set.truth(shown)


def simulated(draw: Draw, labelled: int, rounds: int, random: Random) -> Cell:
    """Shares of covered differences, and of decided and wrong rounds by labels, by labels with the judge, and by the judge."""
    ways = ("labels", "both", "judge")
    names = ("covered", "lead right", "lead wrong", *(f"{what} {way}" for what in ("decided", "wrong") for way in ways))
    counts = dict.fromkeys(names, 0.0)
    for _ in range(rounds):
        people, judged, truth = draw(QUESTIONS[labelled], random)
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
        low, high = both.difference_interval(0, 1, both.interval_floor())
        counts["covered"] += low <= truth[0] - truth[1] <= high
        if not choices["both"].systems:
            leads_wrongly = is_wrong(Choice((choices["both"].best,), 0), truth)
            counts["lead wrong" if leads_wrongly else "lead right"] += 1
    return {name: float(count / rounds) for name, count in counts.items()}


def judge_cells(stored: StoredCells, judge: str, labelled: int, systems: int, rounds: int) -> Iterator[Cell]:
    """The cells of one simulated judge on every collection and measure."""
    for collection in real_values():
        for measure in MEASURES:
            name = f"{collection.collection}, {measure}, {judge}, {labelled}, {systems}"
            draw = partial(simulated_draw, collection.values[measure], JUDGES[judge], systems)
            yield stored.cell(name, partial(simulated, draw, labelled, rounds))


def at_margin(labelled_set: LabelledSet, pair: Sequence[int]) -> LabelledSet:
    """The pair with people's values of the judge's favourite changed, so that it is truly 2.01 pp below the other.

    Its values of random questions are lowered to 0, or raised to 1, as many as needed.
    """
    first, second = sorted(pair, key=lambda at: -float(labelled_set.judged[at].mean()))
    people = list(labelled_set.people)
    wanted = people[second].mean() - MARGIN - 0.0001
    people[first] = moved_mean(people[first], float(wanted), np.random.default_rng(0))
    return replace(labelled_set, people=tuple(people))


def moved_mean(values: FloatArray, wanted: float, random: Random) -> FloatArray:
    """The values with random ones set to 0 or 1, and one in part, so that their mean is the wanted one."""
    order = random.permutation(len(values))
    changes = (0.0 if values.mean() > wanted else 1.0) - values[order]
    before = np.cumsum(changes) - changes
    left = len(values) * (wanted - values.mean()) - before
    moved = values.copy()
    moved[order] += np.where(changes < 0, np.clip(left, changes, 0), np.clip(left, 0, changes))
    return moved


def rag_draws(labelled_set: LabelledSet) -> Iterator[tuple[str, Draw]]:
    """Each pair, each pair with a true gap of 2.01 pp, and all systems if there are more than two."""
    systems = range(len(labelled_set.people))
    for pair in combinations(systems, 2):
        yield "2", partial(real_draw, labelled_set, pair)
        yield "2, gap 2.01 pp", partial(real_draw, at_margin(labelled_set, pair), pair)
    if len(systems) > 2:
        yield str(len(systems)), partial(real_draw, labelled_set, systems)


def row(name: str, systems: str, by_labelled: dict[int, list[Cell]]) -> str:
    """Percent decided (by labels alone) / decided and wrong / wrong in the worst cell; coverage of the interval."""
    alone = by_labelled[200]
    texts = [f"{_percent(alone, 'decided judge'):.0f} / {_wrong(alone, 'judge')}"]
    for cells in by_labelled.values():
        decided = f"{_percent(cells, 'decided both'):.0f} ({_percent(cells, 'decided labels'):.0f})"
        texts.append(f"{decided} / {_wrong(cells, 'both')}; {_percent(cells, 'covered'):.1f}")
    texts.append(f"{_percent(by_labelled[30], 'lead right'):.0f} / {_percent(by_labelled[30], 'lead wrong'):.0f}")
    return f"| {name} | {systems} | {' | '.join(texts)} |"


def _percent(cells: Sequence[Cell], name: str) -> float:
    return 100 * float(np.mean([cell[name] for cell in cells]))


def _wrong(cells: Sequence[Cell], way: str) -> str:
    return f"{_percent(cells, f'wrong {way}'):.1f} / {100 * max(cell[f'wrong {way}'] for cell in cells):.1f}"


Row = tuple[str, str, dict[int, list[Cell]]]
"""The judge, the systems, and the cells by number of labelled questions."""


def judge_rows(rounds: int) -> Iterator[Row]:
    """Simulated judges, and all of them together."""
    stored = StoredCells("judge_labels", f"{rounds} rounds, many looks")
    every: dict[int, dict[int, list[Cell]]] = {systems: {labelled: [] for labelled in QUESTIONS} for systems in SYSTEMS}
    for judge in JUDGES:
        for systems, together in every.items():
            by_labelled = {labelled: list(judge_cells(stored, judge, labelled, systems, rounds)) for labelled in QUESTIONS}
            yield judge, str(systems), by_labelled
            for labelled, cells in by_labelled.items():
                together[labelled] += cells
    for systems, together in every.items():
        yield "all six", str(systems), together


def rag_rows(rounds: int) -> Iterator[Row]:
    """Real judges of answers and passages."""
    stored = StoredCells("rag_labels", f"{rounds} rounds, many looks")
    rows: dict[tuple[str, str], dict[int, list[Cell]]] = {}
    for number, labelled_set in enumerate(labelled_sets()):
        name = f"{labelled_set.name}, {labelled_set.judge}"
        for at, (systems, draw) in enumerate(rag_draws(labelled_set)):
            by_labelled = rows.setdefault((name, systems), {labelled: [] for labelled in QUESTIONS})
            for labelled in QUESTIONS:
                simulate = partial(simulated, draw, labelled, rounds)
                by_labelled[labelled].append(stored.cell(f"{name}, {number}, {at}, {labelled}", simulate))
    for (name, systems), by_labelled in rows.items():
        yield name, systems, by_labelled


def with_missing(values: FloatArray, missing: MissingValues) -> Choice:
    """The choice that is the same in every scenario; missing values are 0 in `values`."""

    def chosen_by(estimates: PairEstimates) -> tuple[Risks, Selection]:
        limits = risks(estimates, margin_of(values.mean(axis=0)))
        return limits, select(estimates, limits, [None] * values.shape[1])

    choice = choose(values, [None] * values.shape[1])
    if not choice.systems:
        return choice
    scenarios = scenario_choices(values, None, missing, {}, choice.systems, 1.0, chosen_by)
    return choice if all(scenario.keeps(choice.systems) for scenario in scenarios) else Choice((), choice.best)


def hidden_worst(column: FloatArray, share: float) -> BoolArray:
    """Which values are among the lowest, so many of them."""
    order = np.argsort(column, kind="stable")
    return np.isin(np.arange(len(column)), order[: round(share * len(column))])


WAYS = ("left out", "no answer", "abstained", "no value")


def missing_cell(labelled_set: LabelledSet, pair: Sequence[int], share: float, rounds: int, random: Random) -> Cell:
    """The second system hides its worst values: shares of decided and of wrong rounds by how missing values are treated.

    By `no answer` a hidden value is truly 0; by the others the truth is what people say of the hidden answers.
    """
    counts = {f"{what} {way}": 0.0 for way in WAYS for what in ("decided", "wrong")}
    truth, second = labelled_set.truth(pair), labelled_set.people[pair[1]]
    silent = np.array([truth[0], np.where(hidden_worst(second, share), 0.0, second).mean()])
    for _ in range(rounds):
        people, _ = labelled_set.drawn(HIDING_QUESTIONS, pair, random)
        hidden = np.zeros(people.shape, dtype=np.bool_)
        hidden[:, 1] = hidden_worst(people[:, 1], share)
        none, values = np.zeros_like(hidden), np.where(hidden, 0.0, people)
        choices = {
            "left out": choose(people[~hidden[:, 1]], [None, None]),
            "no answer": with_missing(values, MissingValues(hidden, none, none)),
            "abstained": with_missing(values, MissingValues(none, hidden, none)),
            "no value": with_missing(values, MissingValues(none, none, hidden)),
        }
        for way, choice in choices.items():
            counts[f"decided {way}"] += bool(choice.systems)
            counts[f"wrong {way}"] += is_wrong(choice, silent if way == "no answer" else truth)
    return {name: float(count / rounds) for name, count in counts.items()}


def missing_cells(rounds: int) -> Iterator[tuple[float, str, Cell]]:
    """The cells of every share of hidden values, for each ordered pair of systems of each labelled set."""
    stored = StoredCells("missing_answers", f"{rounds} rounds, {HIDING_QUESTIONS} questions")
    judges: dict[str, str] = {}
    sets = [item for item in labelled_sets() if judges.setdefault(item.name, item.judge) == item.judge]
    for share in HIDDEN:
        for number, item in enumerate(sets):
            for pair in permutations(range(len(item.people)), 2):
                name = f"{item.name}, {number}, {pair}, {share}"
                yield share, name, stored.cell(name, partial(missing_cell, item, pair, share, rounds))


def print_missing(rounds: int) -> None:
    """A row for each treatment of missing values, and the cells above 5%."""
    cells = list(missing_cells(rounds))
    print(f"| hidden | {' | '.join(f'{share:.0%}' for share in HIDDEN)} |\n|---|{'---:|' * len(HIDDEN)}")
    for way in WAYS:
        by_share = [[cell for share, _, cell in cells if share == hidden] for hidden in HIDDEN]
        shown = [f"{_percent(found, f'decided {way}'):.0f} / {_wrong(found, way)}" for found in by_share]
        print(f"| {way} | {' | '.join(shown)} |")
    print_above([(f"{name}, {way}", cell[f"wrong {way}"], rounds) for _, name, cell in cells for way in WAYS[1:]])


def main() -> None:
    """Prints the table of a part; ends with 1 if labels with a judge are wrong in more than 5% of the rounds of a row."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.judge_labels", description=__doc__)
    parser.add_argument("part", nargs="?", choices=("judges", "rag", "missing"), default="judges")
    parser.add_argument("--rounds", type=int)
    asked = parser.parse_args()
    if asked.part == "missing":
        print_missing(asked.rounds or MISSING_ROUNDS)
        return
    print(f"| {' | '.join(HEADER)} |\n|---|{'---:|' * (len(HEADER) - 1)}")
    worst = 0.0
    for name, systems, by_labelled in (
        rag_rows(asked.rounds or RAG_ROUNDS) if asked.part == "rag" else judge_rows(asked.rounds or ROUNDS)
    ):
        print(row(name, systems, by_labelled), flush=True)
        worst = max(worst, *(_percent(cells, "wrong both") for cells in by_labelled.values()))
    raise SystemExit(int(worst > 5))


if __name__ == "__main__":
    main()
