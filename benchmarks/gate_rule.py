"""How often the gate passes, fails and is unsure, on changes with real differences per query and a known true change.

The differences between two real systems on all queries of a collection are shifted to a true change; a build draws n queries with
replacement. A change touches every query, or one in five. With the anchor, 30 releases of -0.5 pp each are gated one after the
other on the same n queries: what passes or is unsure is accepted, and the loss is the true loss of the last accepted one.

The third table shows how often a gate fails a build with the drop that saving its baseline says is detected with 80% chance: a
drop of lost values, or of a change that moves each query or one in five. Near 1, a baseline keeps one in ten imperfect values.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from functools import partial

import numpy as np

from rankproof._data.arrays import FloatArray
from rankproof._statistics.gate_rule import detectable_drop, paired_change, raises_alarm

from .real_values import real_values
from .simulation import Cell, StoredCells

SIZES, CHANGES, TOUCHED = (50, 100, 200, 400), (0.0, -0.01, -0.02, -0.03), (1.0, 0.2)
MARGIN, LEVEL = 0.02, 0.5
RELEASES, SLOW_LOSS = 30, -0.005
ROUNDS = 1_000
POWER_CHANGES = (("lost values", 0.2, True), ("every query", 1.0, False), ("one in five", 0.2, False))
Random = np.random.Generator


def differences(values: FloatArray, change: float, touched: float, random: Random) -> FloatArray:
    """The differences of two random systems on a share of the queries, shifted so that their mean is the change."""
    one, other = random.permutation(values.shape[1])[:2]
    is_touched = random.random(len(values)) < touched
    apart = np.where(is_touched, values[:, one] - values[:, other], 0.0)
    return np.asarray(apart + is_touched * (change - apart.mean()) / is_touched.mean())


def outcome_cell(collections: list[FloatArray], rounds: int, touched: float, change: float, n: int, random: Random) -> Cell:
    """The shares of builds that pass, fail and are unsure."""
    counts = dict.fromkeys(("passed", "failed", "unsure"), 0)
    for at in range(rounds):
        apart = differences(collections[at % len(collections)], change, touched, random)
        sample = apart[random.integers(0, len(apart), n)]
        counts[paired_change(LEVEL + sample, np.full(n, LEVEL)).outcome(MARGIN)] += 1
    return {name: count / rounds for name, count in counts.items()}


def release_cell(collections: list[FloatArray], rounds: int, anchored: bool, change: float, n: int, random: Random) -> Cell:
    """The true loss after 30 releases, the builds that were stopped, and the true loss at the first alarm."""
    losses, stopped, first = [], [], []
    for at in range(rounds):
        values = collections[at % len(collections)]
        queries = random.integers(0, len(values), n)
        accepted, true, latched, stops, alarm = np.zeros(n), 0.0, False, 0, None
        for _ in range(RELEASES):
            build = accepted + differences(values, change, 0.2, random)[queries]
            below = paired_change(LEVEL + build, np.full(n, LEVEL))
            if anchored:
                recovered = below.difference >= -MARGIN / 2
                latched = raises_alarm(-below.difference, below.p, MARGIN) or (latched and not recovered)
                alarm = true + change if latched and alarm is None else alarm
            if latched or paired_change(LEVEL + build, LEVEL + accepted).outcome(MARGIN) == "failed":
                stops += 1
                continue
            accepted, true = build, true + change
        losses.append(-true)
        stopped.append(stops)
        first += [] if alarm is None else [-alarm]
    return {"loss": float(np.mean(losses)), "stopped": float(np.mean(stopped)), "alarm": float(np.mean(first or [0.0]))}


def outcome_rows(stored: StoredCells, rounds: int) -> Iterator[tuple[float, float, list[Cell]]]:
    """The cells of each true change and share of touched queries, by number of queries."""
    collections = [collection.values["nDCG@10"] for collection in real_values()]
    for touched in TOUCHED:
        for change in CHANGES:
            simulate = partial(outcome_cell, collections, rounds, touched, change)
            yield touched, change, [stored.cell(f"outcomes {touched} {change} {n}", partial(simulate, n)) for n in SIZES]


def release_rows(stored: StoredCells, rounds: int) -> Iterator[tuple[float, bool, list[Cell]]]:
    """The cells of 30 releases, with and without the anchor."""
    collections = [collection.values["nDCG@10"] for collection in real_values()]
    for change in (SLOW_LOSS, 0.0):
        for anchored in (True, False):
            simulate = partial(release_cell, collections, rounds, anchored, change)
            yield change, anchored, [stored.cell(f"releases {change} {anchored} {n}", partial(simulate, n)) for n in SIZES[1:]]


def power_cell(collections: list[FloatArray], rounds: int, touched: float, is_lost: bool, n: int, random: Random) -> Cell:
    """The share of builds that fail, and the mean drop, where builds have the drop that their baseline says is detected."""
    failed, drops = 0, []
    for at in range(rounds):
        every = collections[at % len(collections)]
        values = every[random.integers(0, len(every), n)]
        drop = detectable_drop(values, None, touched)
        if is_lost:
            build = np.where(random.random(n) < drop / values.mean(), 0.0, values)
        else:
            moves = random.choice(every - every.mean(), n) - drop / touched
            build = values + np.where(random.random(n) < touched, moves, 0.0)
        failed += paired_change(build, values).outcome(MARGIN) == "failed"
        drops.append(drop)
    return {"failed": failed / rounds, "drop": float(np.mean(drops))}


def power_rows(stored: StoredCells, rounds: int) -> Iterator[tuple[str, str, list[Cell]]]:
    """The cells of baselines with usual values and with values near 1, by number of queries."""
    usual = [collection.values["nDCG@10"][:, 0] for collection in real_values()]
    for name, values in (("usual", usual), ("near 1", list(map(near_one, usual)))):
        for change, touched, is_lost in POWER_CHANGES:
            simulate = partial(power_cell, values, rounds, touched, is_lost)
            yield name, change, [stored.cell(f"power {name} {change} {n}", partial(simulate, n)) for n in SIZES]


def near_one(values: FloatArray) -> FloatArray:
    """All values of 1, and one in ten of as many others."""
    perfect, others = values[values == 1], values[values < 1]
    return np.concatenate([perfect, others[: len(perfect) // 10]])


def main() -> None:
    """Prints the tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gate_rule", description=__doc__)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    rounds = parser.parse_args().rounds
    stored = StoredCells("gate_rule", f"{rounds} rounds")
    print("| touched | true change | " + " | ".join(f"n = {n}" for n in SIZES) + " |")
    print("|---:|---:|" + "---:|" * len(SIZES))
    for touched, change, cells in outcome_rows(stored, rounds):
        shown = [f"{100 * cell['passed']:.0f}/{100 * cell['failed']:.1f}/{100 * cell['unsure']:.0f}" for cell in cells]
        print(f"| {100 * touched:.0f}% | {100 * change:+.0f} pp | {' | '.join(shown)} |")
    print("\n| 30 releases of | anchor | " + " | ".join(f"n = {n}" for n in SIZES[1:]) + " |")
    print("|---:|---|" + "---:|" * len(SIZES[1:]))
    for change, anchored, cells in release_rows(stored, max(50, rounds // 10)):
        shown = [f"{100 * cell['loss']:.1f} pp, {cell['stopped']:.1f} stopped" for cell in cells]
        print(f"| {100 * change:+.1f} pp | {'yes' if anchored else 'no'} | {' | '.join(shown)} |")
    print("\n| baseline | drop | " + " | ".join(f"n = {n}" for n in SIZES) + " |")
    print("|---|---|" + "---:|" * len(SIZES))
    for name, kind, cells in power_rows(stored, rounds):
        print(
            f"| {name} | {kind} | "
            + " | ".join(f"{100 * cell['failed']:.0f}% of {100 * cell['drop']:.1f} pp" for cell in cells)
            + " |"
        )


if __name__ == "__main__":
    main()
