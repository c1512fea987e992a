"""Other limits of the risk of a decision, tried to decide more often among many systems, on the same rounds as the rule.

Rounds are those of `benchmarks.decision_rule`: samples of real values, here with random costs and with unknown ones, and normal
worst cases. A variant is only worth its price if it decides more often and no worst case is above 5% by more than the noise.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial

import numpy as np

from rankproof._analysis.decision.decide import MARGIN
from rankproof._data.arrays import BoolArray, FloatArray, IntArray
from rankproof._statistics import decision_rule as rule
from rankproof._statistics.decision_rule import LOOK_LIMITS, SIGNIFICANT, PairEstimates, Risks
from rankproof._statistics.distributions import normal_below, normal_quantile

from .decision_rule import Choice, Random, is_wrong, margin_of
from .real_values import real_values
from .simulation import Cell, StoredCells

SYSTEMS, SIZE = 15, 100
WORST_SYSTEMS, WORST_SIZES, WORST_NOISE = (3, 7, 15), (100, 300, 1_000), (1.0, 0.2)
ROUNDS, WORST_ROUNDS, DRAWS = 300, 2, 1_000
LEVEL = 1.645
IN_RACE = -1.0

Costs = Sequence[float | None]
Variant = Callable[[PairEstimates, float, Costs], FloatArray]
"""The needed score of each system against each rival."""


def systems_in_race(estimates: PairEstimates, margin: float, threshold: float = IN_RACE) -> BoolArray:
    """Which systems have a score above the threshold against the best one, itself included."""
    in_race = estimates.scores(margin)[:, estimates.best] > threshold
    in_race[estimates.best] = True
    return np.asarray(in_race)


def formula(estimates: PairEstimates, margin: float, race: float) -> FloatArray:
    """The needed scores of the rule for another size of the race."""
    correlations = rule.rival_correlations(estimates, margin)
    return rule.needed_scores(margin / estimates.errors, max(2, race), correlations=correlations)  # type: ignore[arg-type]


def now(estimates: PairEstimates, margin: float, _: Costs) -> FloatArray:
    """The rule."""
    return formula(estimates, margin, int(systems_in_race(estimates, margin).sum()))


def always_five_percent(estimates: PairEstimates, margin: float, _: Costs) -> FloatArray:
    """No correction for the number of systems: more than any honest limit can decide."""
    return np.full_like(estimates.errors, LEVEL)


def race_above(threshold: float, estimates: PairEstimates, margin: float, _: Costs) -> FloatArray:
    """Fewer systems are in the race."""
    return formula(estimates, margin, int(systems_in_race(estimates, margin, threshold).sum()))


def difference_correlations(estimates: PairEstimates, rival: int, others: IntArray) -> FloatArray:
    """The correlations of the differences of other systems from a rival."""
    variances = estimates.errors**2
    np.fill_diagonal(variances, 0.0)
    spread = estimates.errors[others, rival]
    covariances = variances[others, rival][:, None] + variances[others, rival] - variances[np.ix_(others, others)]
    return np.asarray(covariances / (2 * np.outer(spread, spread)))


def effective_systems(estimates: PairEstimates, margin: float, _: Costs) -> FloatArray:
    """The systems in the race count by the eigenvalues of their correlations (Li and Ji 2005)."""
    needed = np.empty_like(estimates.errors)
    in_race = systems_in_race(estimates, margin)
    for rival in range(len(needed)):
        others = np.flatnonzero(in_race & (np.arange(len(needed)) != rival))
        values = np.abs(np.linalg.eigvalsh(difference_correlations(estimates, rival, others))) if len(others) else np.ones(1)
        count = float(((values >= 1) + values % 1).sum())
        needed[:, rival] = formula(estimates, margin, 1 + count)[:, rival]
    return needed


@cache
def dunnett_quantile(count: int, correlation: float) -> float:
    """The score that the largest of so many equally correlated normal scores exceeds in 5% (Dunnett 1955), by integration."""
    common = np.linspace(-6, 6, 121)
    density = np.exp(-common * common / 2)
    low, high = LEVEL - 0.5, 5.0
    while high - low > 1e-3:
        middle = (low + high) / 2
        scores = (middle + np.sqrt(correlation) * common) / np.sqrt(1 - correlation)
        below = np.array([normal_below(score) for score in scores.tolist()]) ** count
        low, high = (middle, high) if (density * below).sum() / density.sum() < 1 - LOOK_LIMITS["one"] else (low, middle)
    return high


def average_correlation(estimates: PairEstimates, margin: float, _: Costs) -> FloatArray:
    """Dunnett's quantile for the mean correlation of the differences from each rival, which may be above 0.5."""
    in_race = systems_in_race(estimates, margin)
    among = np.full(len(in_race), LEVEL)
    for rival in range(len(in_race)):
        others = np.flatnonzero(in_race & (np.arange(len(in_race)) != rival))
        if len(others) > 1:
            correlations = difference_correlations(estimates, rival, others)
            mean = (correlations.sum() - len(others)) / (len(others) * (len(others) - 1))
            among[rival] = dunnett_quantile(int(in_race.sum()) - 1, round(float(np.clip(mean, 0.0, 0.95)), 2))
    line = formula(estimates, margin, 10**6)
    return np.asarray(np.maximum(LEVEL, np.minimum(among, line)))


def leader_alone(estimates: PairEstimates, margin: float, costs: Costs) -> FloatArray:
    """The system with the highest mean needs no correction."""
    needed = now(estimates, margin, costs)
    needed[estimates.best] = LEVEL
    return needed


def cheaper_systems(estimates: PairEstimates, margin: float, costs: Costs) -> FloatArray:
    """The race of a system has only the systems that are at most as expensive; all of them if costs are unknown."""
    if None in costs:
        return now(estimates, margin, costs)
    in_race, prices = systems_in_race(estimates, margin), np.array(costs, dtype=np.float64)
    cheaper = (in_race & (prices <= 1.1 * prices[:, None])).sum(axis=1)
    by_race = {race: formula(estimates, margin, race) for race in {1 + count for count in cheaper.tolist()}}
    return np.array([by_race[1 + count][at] for at, count in enumerate(cheaper.tolist())])


def smooth_minimum(width: float, estimates: PairEstimates, margin: float, _: Costs) -> FloatArray:
    """The two parts of the needed score go over into each other smoothly, as they do in the worst case of equal noise."""
    race = int(systems_in_race(estimates, margin).sum())
    if race <= 2:
        return np.full_like(estimates.errors, LEVEL)
    below_usual = 0.5 - rule.rival_correlations(estimates, margin)
    among = np.array([normal_quantile(1 - 0.05 / (race - 1) ** (0.83 + 0.44 * share)) for share in below_usual.tolist()])
    line = 1.2 + 0.45 * below_usual + 0.62 * margin / estimates.errors
    smooth = np.minimum(among, line) - width * np.log1p(np.exp(-np.abs(among - line) / width))
    return np.asarray(np.maximum(LEVEL, smooth))


@cache
def normal_draws(count: int, seed: int) -> FloatArray:
    """Normal numbers for so many systems and their opposites."""
    half = np.random.default_rng(seed).normal(size=(DRAWS // 2, count))
    return np.concatenate([half, -half])


def drawn_limits(seed: int, estimates: PairEstimates, margin: float, costs: Costs) -> FloatArray:
    """Against each rival, the score that a system exceeds in 5% of draws if all others are just past the margin below the rival.

    Draws have the covariance of the means, with the further query. A system counts only if it also passes against all others.
    """
    needed = now(estimates, margin, costs)
    racing = np.flatnonzero(systems_in_race(estimates, margin))
    if len(racing) > 2:
        needed[:, racing] = calibrated(estimates.errors[np.ix_(racing, racing)], margin, normal_draws(len(racing), seed))
    return needed


def calibrated(errors: FloatArray, margin: float, draws: FloatArray) -> FloatArray:
    """The needed score against each rival; those against the others enter it, so it is found in a few steps."""
    count = len(errors)
    variances = errors**2
    np.fill_diagonal(variances, 0.0)
    centre = np.eye(count) - 1 / count
    values, vectors = np.linalg.eigh(-0.5 * centre @ variances @ centre)
    means = draws @ (vectors * np.sqrt(np.maximum(values, 0.0))).T
    at_limit = (means[:, :, None] - means[:, None, :]) / errors
    needed = np.full(count, LEVEL)
    for _ in range(5):
        passes = (at_limit + margin / errors >= needed) | np.eye(count, dtype=bool)
        failures = (~passes).sum(axis=2)
        counted = (failures[:, :, None] - ~passes == 0) & ~np.eye(count, dtype=bool)
        largest = np.where(counted, at_limit, -np.inf).max(axis=1)
        found = np.maximum(LEVEL, np.quantile(largest, 1 - LOOK_LIMITS["one"], axis=0, method="lower"))
        needed = (needed + found) / 2 if needed.max() > LEVEL else found
    return needed


VARIANTS: dict[str, Variant] = {
    "the rule": now,
    "limit of 5% for any number of systems": always_five_percent,
    "race: z > -0.5": partial(race_above, -0.5),
    "race: z > 0": partial(race_above, 0.0),
    "effective systems (Li, Ji)": effective_systems,
    "Dunnett, average correlation": average_correlation,
    "leader without correction": leader_alone,
    "only cheaper systems count": cheaper_systems,
    "smooth minimum, width 0.19": partial(smooth_minimum, 0.19),
    "smooth minimum, width 0.35": partial(smooth_minimum, 0.35),
    "calibrated by draws": partial(drawn_limits, 1),
    "calibrated by other draws": partial(drawn_limits, 2),
}


def choose(estimates: PairEstimates, margin: float, costs: Costs, needed: FloatArray) -> Choice:
    """The choice of the rule with these needed scores."""
    diagonal = np.eye(len(needed), dtype=bool)
    good = np.asarray(((estimates.scores(margin) >= needed) | diagonal).all(axis=1))
    below = (estimates.scores() <= -SIGNIFICANT) & ~diagonal
    system_risks = Risks(np.where(good, 0.0, 1.0), np.full(len(good), 0.5), (), 0, below)
    return Choice(rule.select(estimates, system_risks, costs).systems, estimates.best)


def add_round(counts: dict[str, float], values: FloatArray, truth: FloatArray, by_kind: dict[str, Costs]) -> None:
    """Counts the decisions of each variant, and those that are wrong for each kind of costs."""
    estimates, margin = rule.pair_estimates(values), margin_of(values.mean(axis=0))
    decided = dict[str, bool]()
    for variant, needed_scores in VARIANTS.items():
        needed = needed_scores(estimates, margin, next(iter(by_kind.values())))
        for kind, costs in by_kind.items():
            if needed_scores is cheaper_systems:
                needed = needed_scores(estimates, margin, costs)
            choice = choose(estimates, margin, costs, needed)
            counts[f"wrong {kind}, {variant}"] += is_wrong(choice, truth)
            decided[variant] = bool(choice.systems)
        counts[f"decided, {variant}"] += decided[variant]
    counts["seeds differ"] += decided["calibrated by draws"] != decided["calibrated by other draws"]


def empty_counts(kinds: Sequence[str]) -> dict[str, float]:
    """Zero for each share of a cell."""
    names = [f"{share}, {variant}" for variant in VARIANTS for share in ("decided", *(f"wrong {kind}" for kind in kinds))]
    return dict.fromkeys([*names, "seeds differ"], 0.0)


def real_cell(values: FloatArray, rounds: int, random: Random) -> Cell:
    """All systems on samples of real values."""
    counts, truth, systems = empty_counts(("unknown", "random")), values.mean(axis=0), values.shape[1]
    for _ in range(rounds):
        sample = values[random.integers(0, len(values), SIZE)]
        costs: dict[str, Costs] = {
            "unknown": [None] * systems,
            "random": [2.0**at for at in random.permutation(systems).tolist()],
        }
        add_round(counts, sample, truth, costs)
    return {name: float(count / rounds) for name, count in counts.items()}


def worst_cell(n: int, systems: int, noise: float, rounds: int, random: Random) -> Cell:
    """All systems but the first are truly 2.01 pp below it and cheaper; normal values."""
    counts, truth = empty_counts(("cheap", "ordered")), np.full(systems, 0.5)
    truth[0] += MARGIN + 0.0001
    costs: dict[str, Costs] = {
        "cheap": [1.0 + systems, *(1.0 + 0.01 * at for at in range(systems - 1))],
        "ordered": [2.0**systems, *(2.0**at for at in range(systems - 1))],
    }
    for _ in range(rounds):
        values = random.normal(0, 0.2 / np.sqrt(2), (n, systems)) * [noise, *[1.0] * (systems - 1)]
        add_round(counts, truth + values, truth, costs)
    return {name: float(count / rounds) for name, count in counts.items()}


def wrong(cell: Cell, variant: str) -> float:
    """The share of wrong decisions of a variant, for the costs with most of them."""
    return max(share for name, share in cell.items() if name.startswith("wrong") and name.endswith(f", {variant}"))


def worst_cells(stored: StoredCells, rounds: int) -> Iterator[Cell]:
    """The normal worst cases."""
    for noise in WORST_NOISE:
        for systems in WORST_SYSTEMS:
            for n in WORST_SIZES:
                yield stored.cell(f"worst case, {noise}, {systems}, {n}", partial(worst_cell, n, systems, noise, rounds))


def main() -> None:
    """Prints decided shares of real values, and the largest shares of wrong decisions of real and normal values."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.decision_limits", description=__doc__)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    rounds = parser.parse_args().rounds
    stored = StoredCells("decision_limits", f"{rounds} rounds, {SYSTEMS} systems, n = {SIZE}, {DRAWS} draws")
    real = {
        collection.collection: stored.cell(
            collection.collection, partial(real_cell, collection.values["nDCG@10"][:, :SYSTEMS], rounds)
        )
        for collection in real_values()
    }
    worst = list(worst_cells(stored, WORST_ROUNDS * rounds))
    noise = 2 * (0.05 * 0.95 / (WORST_ROUNDS * rounds)) ** 0.5
    print(f"| % decided | {' | '.join(real)} | mean | most wrong, real | most wrong, normal | normal cells above noise |")
    print(f"|---|{'---:|' * (len(real) + 4)}")
    for variant in VARIANTS:
        shares = [cell[f"decided, {variant}"] for cell in real.values()]
        errors = [wrong(cell, variant) for cell in worst]
        most = (max(wrong(cell, variant) for cell in real.values()), max(errors))
        texts = [f"{100 * share:.0f}" for share in shares] + [f"{100 * share:.1f}" for share in (float(np.mean(shares)), *most)]
        print(f"| {variant} | {' | '.join(texts)} | {sum(error > 0.05 + noise for error in errors)} of {len(errors)} |")
    differ = ", ".join(f"{100 * cell['seeds differ']:.1f}" for cell in real.values())
    print(f"\n% of rounds in which two sets of {DRAWS:,} draws do not both decide: {differ}")


if __name__ == "__main__":
    main()
