"""How often the decision of `compare` is wrong, on samples of real per-query values and in normal worst cases.

A round draws n queries with replacement from a collection, and some of its 15 systems. The truth is the mean over all queries. A
decision is wrong if a named system is truly more than the margin below the best one. Costs are random, the order of the systems
from cheap to expensive, or unknown. In the worst case all systems but one are truly 2.01 pp below it, and cheap. With rare
failures these systems have the value 0 on 2.01% of the queries, and 1 on the others like the best one. In conversations, the
differences of the turns are correlated. With many looks a decision is made every 10 queries until one is decided.

`waiting` compares the rule with the former one, which drew the means and took a risk of 5% for any number of systems: the queries
that decide, and what it costs and saves to wait with the first system, BM25, where nothing is decided.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from rankproof._analysis.decision.decide import MARGIN, MIN_QUERIES, RELATIVE_MARGIN
from rankproof._data.arrays import FloatArray
from rankproof._statistics.decision_rule import LOOK_LIMITS, pair_estimates, risks, select
from rankproof._statistics.options import Looks

from .real_values import real_values
from .simulation import Cell, StoredCells

SIZES, SYSTEMS = (30, 50, 100, 200, 300), (2, 3, 7, 15)
OTHER_SIZES, OTHER_SYSTEMS = (30, 100, 300), (2, 7)
WORST_SIZES, WORST_SYSTEMS = (100, 300, 1_000), (3, 7, 15, 30)
WORST_ROUNDS = 4
"""Rounds of a worst case for each round of real values."""
RARE_SYSTEMS = (2, 7)
CONVERSATIONS, ALIKE, TURNS_DEVIATION = ((40, 5), (40, 10), (100, 5)), (0.0, 0.3, 0.7), 0.3
"""Numbers of conversations and of turns of each, the correlation of differences within one, and their standard deviation."""
ROUNDS = 1_000
FIRST_LOOK, LAST_LOOK, LOOK_EVERY = 30, 1_000, 10
SMALL = 0.1
GROWING_SIZES = (30, 40, 50, 70, 100, 140, 200, 300, 400, 600, 800, 1_000)
WAITING_SIZES, WAITING_SYSTEMS, FORMER_DRAWS = (50, 100), (2, 7, 15), 2_000
Random = np.random.Generator


@dataclass(frozen=True, slots=True)
class Choice:
    """The chosen systems by index, none if nothing is decided, and the system with the highest mean."""

    systems: tuple[int, ...]
    best: int


def margin_of(means: FloatArray) -> float:
    """The usual margin."""
    return float(min(MARGIN, RELATIVE_MARGIN * means.max()))


def choose(values: FloatArray, costs: Sequence[float | None], looks: Looks = "one") -> Choice:
    """The choice of the rule on values between 0 and 1, of which higher ones are better."""
    estimates, margin = pair_estimates(values), margin_of(values.mean(axis=0))
    if len(values) < MIN_QUERIES or margin <= 0:
        return Choice((), estimates.best)
    return Choice(select(estimates, risks(estimates, margin, looks), costs).systems, estimates.best)


def is_wrong(choice: Choice, truth: FloatArray) -> bool:
    """Whether a named system is truly more than the margin below the best."""
    short = truth.max() - truth
    return any(short[at] > margin_of(truth) for at in choice.systems)


def real_cell(values: FloatArray, n: int, systems: int, rounds: int, random: Random, *, looks: Looks = "one") -> Cell:
    """Shares of decided and of wrong rounds for each kind of cost, and mean regrets."""
    counts = dict.fromkeys(("decided", "wrong at random", "wrong by order", "wrong unknown", "either", "regret", "baseline"), 0.0)
    for _ in range(rounds):
        shown = np.sort(np.concatenate([[0], 1 + random.permutation(values.shape[1] - 1)[: systems - 1]]))
        sample = values[random.integers(0, len(values), n)][:, shown]
        truth = values[:, shown].mean(axis=0)
        orders = {"at random": random.permutation(systems), "by order": np.arange(systems)}
        costs: dict[str, list[float | None]] = {name: [2.0**at for at in order.tolist()] for name, order in orders.items()}
        costs["unknown"] = [None] * systems
        found = {name: choose(sample, each, looks) for name, each in costs.items()}
        for name, choice in found.items():
            counts[f"wrong {name}"] += is_wrong(choice, truth)
        first = found["at random"]
        counts["decided"] += bool(first.systems)
        counts["either"] += len(found["unknown"].systems) > 1
        counts["regret"] += float(truth.max() - truth[first.systems[0] if first.systems else first.best])
        counts["baseline"] += float(truth.max() - truth[0])
    return {name: float(count / rounds) for name, count in counts.items()}


def worst_case(n: int, systems: int, rounds: int, random: Random, *, deviation: float = 0.2, best_noise: float = 1.0) -> Cell:
    """All systems but the first are truly 2.01 pp below it and cheaper; normal values."""
    counts = dict.fromkeys(("decided", "wrong"), 0.0)
    truth = np.full(systems, 0.5)
    truth[0] += MARGIN + 0.0001
    costs = [1.0 + systems, *(1.0 + 0.01 * at for at in range(systems - 1))]
    for _ in range(rounds):
        noise = random.normal(0, deviation / np.sqrt(2), (n, systems))
        noise[:, 0] *= best_noise
        choice = choose(truth + noise, costs)
        counts["decided"] += bool(choice.systems)
        counts["wrong"] += is_wrong(choice, truth)
    return {name: float(count / rounds) for name, count in counts.items()}


def rare_failures(n: int, systems: int, rounds: int, random: Random) -> Cell:
    """All systems but the first fail on 2.01% of the queries, and are cheaper; the others have the best value everywhere."""
    counts = dict.fromkeys(("decided", "wrong"), 0.0)
    rate = MARGIN + 0.0001
    truth = np.array([1.0, *([1 - rate] * (systems - 1))])
    for _ in range(rounds):
        values = (random.random((n, systems)) >= 1 - truth).astype(np.float64)
        choice = choose(values, [2.0**systems, *(2.0**at for at in range(systems - 1))])
        counts["decided"] += bool(choice.systems)
        counts["wrong"] += is_wrong(choice, truth)
    return {name: float(count / rounds) for name, count in counts.items()}


def many_looks(draw: Callable[[Random, int], FloatArray], truth: FloatArray, rounds: int, random: Random, looks: Looks) -> Cell:
    """A look every 10 queries until something is decided."""
    counts = dict.fromkeys(("decided", "wrong", "queries"), 0.0)
    systems = len(truth)
    for _ in range(rounds):
        values, order = draw(random, LAST_LOOK), [2.0**at for at in random.permutation(systems).tolist()]
        for n in range(FIRST_LOOK, LAST_LOOK + 1, LOOK_EVERY):
            choice = choose(values[:n], order, looks)
            if choice.systems:
                counts["decided"] += 1
                counts["wrong"] += is_wrong(choice, truth)
                break
        counts["queries"] += n
    return {name: float(count / rounds) for name, count in counts.items()}


def former_choice(values: FloatArray, costs: Sequence[float], random: Random) -> Choice:
    """The cheapest system that is more than 2 pp below the best in at most 5% of draws of the means.

    The covariance of the draws counts one further query, in which each system varies as much as systems do within a query.
    """
    n, systems = values.shape
    scale, means = np.cov(values.T) / n, values.mean(axis=0)
    within = max(0.0, (np.trace(scale) - scale.sum() / systems) / (systems - 1))
    scale += np.eye(systems) * within / (n - 1)
    spread = np.sqrt((n - 1) / random.chisquare(n - 1, (FORMER_DRAWS, 1)))
    sampled = means + random.multivariate_normal(np.zeros(systems), scale, FORMER_DRAWS, method="eigh") * spread
    too_low = sampled < sampled.max(axis=1, keepdims=True) - MARGIN
    safe = np.flatnonzero(too_low.mean(axis=0) <= LOOK_LIMITS["one"]).tolist() if n >= MIN_QUERIES else []
    return Choice(tuple(sorted(safe, key=costs.__getitem__)[:1]), int(means.argmax()))


def waiting_cell(values: FloatArray, n: int, systems: int, rounds: int, random: Random) -> Cell:
    """Decided and wrong rounds by both rules; where the rule does not decide, the leader against waiting with the first system.

    Waiting costs if the leader is truly more than the margin above the first system, and saves if it is as much below it.
    """
    names = ("open", "leader wrong", "costs", "saves", "leader regret", "waiting regret")
    counts = dict.fromkeys((*(f"{what} {rule}" for rule in ("now", "former") for what in ("decided", "wrong")), *names), 0.0)
    for _ in range(rounds):
        shown = np.concatenate([[0], 1 + random.permutation(values.shape[1] - 1)[: systems - 1]])
        sample, truth = values[random.integers(0, len(values), n)][:, shown], values[:, shown].mean(axis=0)
        costs = [2.0**at for at in random.permutation(systems).tolist()]
        choices = {"now": choose(sample, costs), "former": former_choice(sample, costs, random)}
        for rule, choice in choices.items():
            counts[f"decided {rule}"] += bool(choice.systems)
            counts[f"wrong {rule}"] += is_wrong(choice, truth)
        if not choices["now"].systems:
            add_waiting(counts, truth, choices["now"].best)
    return {name: float(count / rounds) for name, count in counts.items()}


def add_waiting(counts: dict[str, float], truth: FloatArray, leader: int) -> None:
    """Counts an open round: what shipping the leader, and waiting with the first system, lose against the best."""
    gain, margin = float(truth[leader] - truth[0]), margin_of(truth)
    counts["open"] += 1
    counts["leader wrong"] += is_wrong(Choice((leader,), leader), truth)
    counts["costs"] += gain > margin
    counts["saves"] += gain < -margin
    counts["leader regret"] += float(truth.max() - truth[leader])
    counts["waiting regret"] += float(truth.max() - truth[0])


def drawn(values: FloatArray, random: Random, n: int) -> FloatArray:
    """Queries of a collection with replacement."""
    sampled: FloatArray = values[random.integers(0, len(values), n)]
    return sampled


def normal_at_margin(systems: int, deviation: float, random: Random, n: int) -> FloatArray:
    """Normal values of systems that are 2.01 pp below the first."""
    values: FloatArray = 0.5 + random.normal(0, deviation / np.sqrt(2), (n, systems))
    values[:, 0] += MARGIN + 0.0001
    return values


@dataclass(frozen=True, slots=True)
class Row:
    """The cells of one collection, measure and number of systems, by number of queries."""

    name: str
    systems: int
    cells: dict[int, Cell]


def real_rows(stored: StoredCells, rounds: int) -> Iterator[Row]:
    """Every row of real values: all sizes by nDCG@10, fewer by other measures and by means ten times as small."""
    for one in real_values():
        measures = {**one.values, "nDCG@10 / 10": SMALL * one.values["nDCG@10"]}
        for measure, values in measures.items():
            primary = measure == "nDCG@10"
            for systems in SYSTEMS if primary else OTHER_SYSTEMS:
                name = f"{one.collection}, {measure}"
                sizes = SIZES if primary else OTHER_SIZES
                cells = {n: stored.cell(f"{name}, {systems}, {n}", partial(real_cell, values, n, systems, rounds)) for n in sizes}
                yield Row(name, systems, cells)


def worst_rows(stored: StoredCells, rounds: int) -> Iterator[Row]:
    """Normal worst cases, also with a best system of five times less noise."""
    for noise in (1.0, 0.2):
        for systems in WORST_SYSTEMS:
            cells = {
                n: stored.cell(
                    f"worst case, {noise}, {systems}, {n}, {rounds}", partial(worst_case, n, systems, rounds, best_noise=noise)
                )
                for n in WORST_SIZES
            }
            yield Row(f"worst case, noise of the best x {noise:g}", systems, cells)


def rare_rows(stored: StoredCells, rounds: int) -> Iterator[Row]:
    """Systems that fail on few queries: the rule needs more queries than it asks for to notice them."""
    for systems in RARE_SYSTEMS:
        cells = {
            n: stored.cell(f"rare failures, {systems}, {n}", partial(rare_failures, n, systems, rounds))
            for n in (*SIZES, WORST_SIZES[-1])
        }
        yield Row("rare failures", systems, cells)


def conversations_cell(conversations: int, turns: int, alike: float, rounds: int, random: Random) -> Cell:
    """Shares of decided and of wrong rounds, with each turn as a query of its own and by conversations.

    The cheaper one of two systems is truly 2.01 pp below.
    """
    groups = np.repeat(np.arange(conversations), turns)
    shares = np.sqrt([alike, 1 - alike]) * TURNS_DEVIATION
    counts = dict.fromkeys(("decided by turns", "wrong by turns", "decided", "wrong"), 0)
    for _ in range(rounds):
        best = random.normal(0.5, 0.1, len(groups))
        apart = random.normal(0, shares[0], conversations)[groups] + random.normal(0, shares[1], len(groups))
        values = np.column_stack([best, best - MARGIN - 0.0001 + apart])
        for kind, known in ((" by turns", None), ("", groups)):
            estimates = pair_estimates(values, None, known)
            chosen = select(estimates, risks(estimates, MARGIN), [2.0, 1.0]).systems
            counts[f"decided{kind}"] += bool(chosen)
            counts[f"wrong{kind}"] += 1 in chosen
    return {name: count / rounds for name, count in counts.items()}


def print_conversations(stored: StoredCells, rounds: int) -> list[Simulated]:
    """The table of conversations; only the rows by conversations count."""
    print("| conversations x turns: % decided / % wrong | correlation | each turn a query | by conversations |")
    print("|---|---:|---:|---:|")
    simulated = []
    for conversations, turns in CONVERSATIONS:
        for alike in ALIKE:
            name = f"{conversations} x {turns}"
            cell = stored.cell(f"{name}, {alike}", partial(conversations_cell, conversations, turns, alike, rounds))
            shown = (f"{100 * cell[f'decided{kind}']:.0f} / {100 * cell[f'wrong{kind}']:.1f}" for kind in (" by turns", ""))
            print(f"| {name} | {alike:g} | {' | '.join(shown)} |")
            simulated.append((f"conversations, {name}, correlation {alike:g}", cell["wrong"], rounds))
    print()
    return simulated


def look_rows(stored: StoredCells, rounds: int) -> Iterator[tuple[str, int, Looks, Cell]]:
    """Looks every 10 queries, by the limits for many looks and for one."""
    for looks in LOOK_LIMITS:
        for systems in (2, 7):
            for one in real_values():
                values = one.values["nDCG@10"][:, :systems]
                simulated = partial(many_looks, partial(drawn, values), values.mean(axis=0), rounds, looks=looks)
                yield one.collection, systems, looks, stored.cell(f"looks {looks}, {one.collection}, {systems}", simulated)
            for deviation in (0.2, 0.5):
                truth = np.array([0.5 + MARGIN + 0.0001, *([0.5] * (systems - 1))])
                simulated = partial(many_looks, partial(normal_at_margin, systems, deviation), truth, rounds, looks=looks)
                name = f"normal, sd {deviation}"
                yield name, systems, looks, stored.cell(f"looks {looks}, {name}, {systems}", simulated)


def wrong(cell: Cell) -> float:
    """The share of wrong decisions, for the costs with most of them."""
    return max(share for name, share in cell.items() if name.startswith("wrong"))


def print_rows(title: str, rows: Sequence[Row], sizes: Sequence[int]) -> None:
    """A table of decided and wrong shares."""
    print(f"| {title}: % decided / % decided and wrong | systems | {' | '.join(f'n = {n:,}' for n in sizes)} |")
    print(f"|---|---:|{'---:|' * len(sizes)}")
    for row in rows:
        cells = [
            f"{100 * row.cells[n]['decided']:.0f} / {100 * wrong(row.cells[n]):.1f}" if n in row.cells else "" for n in sizes
        ]
        print(f"| {row.name} | {row.systems} | {' | '.join(cells)} |")
    print()


Simulated = tuple[str, float, int]
"""A cell in words, its share of wrong decisions, and its rounds."""


def waiting_rows(stored: StoredCells, rounds: int) -> Iterator[tuple[str, int, dict[int, Cell]]]:
    """The cells of each collection and number of systems by nDCG@10, for growing numbers of queries."""
    for collection in real_values():
        values = collection.values["nDCG@10"]
        for systems in WAITING_SYSTEMS:
            name = f"waiting, {collection.collection}, {systems}"
            cells = {
                n: stored.cell(f"{name}, {n}, {rounds}", partial(waiting_cell, values, n, systems, rounds)) for n in GROWING_SIZES
            }
            yield collection.collection, systems, cells


def enough(cells: dict[int, Cell], rule: str, share: float) -> str:
    """The fewest queries with which a rule decides so many rounds."""
    return next((f"{n:,}" for n, cell in cells.items() if cell[f"decided {rule}"] >= share), f"> {max(cells):,}")


def print_waiting(stored: StoredCells, rounds: int) -> list[Simulated]:
    """Queries to a decision and wrong decisions by both rules, then what waiting costs and saves."""
    rows = list(waiting_rows(stored, rounds))
    print("| | systems | half decided: now, former | 80% decided: now, former | most wrong: now, former |")
    print("|---|---:|---:|---:|---:|")
    for name, systems, cells in rows:
        needed = [f"{enough(cells, 'now', share)}, {enough(cells, 'former', share)}" for share in (0.5, 0.8)]
        most = ", ".join(f"{100 * max(cell[f'wrong {rule}'] for cell in cells.values()):.1f}" for rule in ("now", "former"))
        print(f"| {name} | {systems} | {' | '.join(needed)} | {most} |")
    print("\n| systems | n | % not decided | leader wrong | waiting costs / saves | regret of the leader / of waiting, pp |")
    print("|---:|---:|---:|---:|---:|---:|")
    for systems in WAITING_SYSTEMS:
        for n in WAITING_SIZES:
            print(f"| {systems} | {n} | {waiting_text([cells[n] for _, count, cells in rows if count == systems])} |")
    print()
    return [
        (f"{name}, {systems} systems, n = {n:,}", cell["wrong now"], rounds)
        for name, systems, cells in rows
        for n, cell in cells.items()
    ]


def waiting_text(cells: Sequence[Cell]) -> str:
    """Means over collections: of all rounds those not decided; of these the leader's errors, costs, savings and regrets."""
    total = {name: float(np.mean([cell[name] for cell in cells])) for name in cells[0]}
    of_open = {name: 100 * value / total["open"] if total["open"] else 0.0 for name, value in total.items()}
    shares = f"{of_open['leader wrong']:.0f} | {of_open['costs']:.0f} / {of_open['saves']:.0f}"
    return f"{100 * total['open']:.0f} | {shares} | {of_open['leader regret']:.1f} / {of_open['waiting regret']:.1f}"


def print_part(title: str, rows: Sequence[Row], sizes: Sequence[int], rounds: int) -> list[Simulated]:
    """The table of a part, and its cells."""
    print_rows(title, rows, sizes)
    return [
        (f"{row.name}, {row.systems} systems, n = {n:,}", wrong(cell), rounds) for row in rows for n, cell in row.cells.items()
    ]


def print_looks(stored: StoredCells, rounds: int) -> list[Simulated]:
    """The table of looks; the limits for one look are not meant for them and do not count."""
    print("| a look every 10 queries: % decided / % wrong / mean n | systems | limits for one look | for many looks |")
    print("|---|---:|---:|---:|")
    by_case: dict[tuple[str, int], dict[Looks, Cell]] = {}
    for name, systems, looks, cell in look_rows(stored, rounds):
        by_case.setdefault((name, systems), {})[looks] = cell
    for (name, systems), cells in by_case.items():
        shown = (f"{100 * cell['decided']:.0f} / {100 * cell['wrong']:.1f} / {cell['queries']:.0f}" for cell in cells.values())
        print(f"| {name} | {systems} | {' | '.join(shown)} |")
    print()
    return [
        (f"many looks, {name}, {systems} systems", cells["many"]["wrong"], rounds) for (name, systems), cells in by_case.items()
    ]


def print_above(cells: Sequence[Simulated]) -> None:
    """The cells above the limit, with how far above it they are for the noise of the simulation."""
    limit = LOOK_LIMITS["one"]
    above = sorted((cell for cell in cells if cell[1] > limit), key=lambda cell: -cell[1])
    print(f"{len(above)} of {len(cells)} cells are above 5%.")
    print("\n| cell | % wrong | standard errors above 5% |\n|---|---:|---:|" if above else "")
    for name, share, rounds in above:
        print(f"| {name} | {100 * share:.1f} | {(share - limit) / (limit * (1 - limit) / rounds) ** 0.5:.1f} |")


PARTS = ("real", "normal", "rare", "conversations", "looks", "waiting")


def main() -> None:
    """Prints the tables and the cells above 5%; ends with 1 if one of real or normal values is by more than the noise.

    Rare failures do not count: they are a known limit of the rule. Nor do looks and waiting, which have few rounds.
    """
    parser = argparse.ArgumentParser(prog="python -m benchmarks.decision_rule", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(PARTS))
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    asked = parser.parse_args()
    rounds, parts = asked.rounds, asked.parts or PARTS
    if unknown := [part for part in parts if part not in PARTS]:
        parser.error(f"no part {unknown[0]!r}; parts are {', '.join(PARTS)}")
    stored = StoredCells("decision_rule", f"{rounds} rounds, margin {MARGIN} or {RELATIVE_MARGIN}, limits {LOOK_LIMITS}")
    counted, known = list[Simulated](), list[Simulated]()
    if "real" in parts:
        counted += print_part("real values", list(real_rows(stored, rounds)), SIZES, rounds)
    if "normal" in parts:
        counted += print_part(
            "normal values", list(worst_rows(stored, WORST_ROUNDS * rounds)), WORST_SIZES, WORST_ROUNDS * rounds
        )
    if "rare" in parts:
        known += print_part("values 0 and 1", list(rare_rows(stored, rounds)), (*SIZES, WORST_SIZES[-1]), rounds)
    if "conversations" in parts:
        counted += print_conversations(stored, 2 * rounds)
    if "looks" in parts:
        known += print_looks(stored, max(100, rounds // 5))
    if "waiting" in parts:
        known += print_waiting(stored, rounds // 2)
    print_above([*counted, *known])
    limit = LOOK_LIMITS["one"]
    noise = 2 * (limit * (1 - limit) / rounds) ** 0.5
    raise SystemExit(int(max((share for _, share, _ in counted), default=0.0) > limit + noise))


if __name__ == "__main__":
    main()
