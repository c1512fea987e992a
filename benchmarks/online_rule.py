"""Simulations of the decision on live traffic: false decisions with many looks, sessions needed, and stated chances.

Users of `live_users` see lists of real systems; returning users have habits of their own. A decision is wrong if it ships or
keeps a system although clicks do not depend on systems. Cells are stored, so that an interrupted simulation goes on.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from rankproof._analysis.online.decide_live import LIKELY_BY_DATA, MIN_USERS
from rankproof._data.arrays import BoolArray, FloatArray, IntArray
from rankproof._interleaving.interleave import Method
from rankproof._statistics.confidence_sequence import ALPHA, decision_chance, growth_needed, interval_width

from .live_users import (
    CLICK_MODELS,
    COLLECTIONS,
    DEPTH,
    DRAFTS,
    Collection,
    Lists,
    attraction,
    clicks,
    collection,
    interleaved_lists,
    preferences,
    single_lists,
)
from .simulation import Cell, StoredCells, upper_bound

LOOK, SESSIONS, USERS = 100, 3_000, 500
TWO: tuple[Method, ...] = ("team-draft", "team-draft-plain", "pairwise", "probabilistic")
THREE: tuple[Method, ...] = ("pairwise", "team-draft-multileaving")
METRICS = ("FirstClickRR", "CTR@1", "CTR@10", "Abandonment", "ClickWithin", "Conversion", "Revenue", "ClicksPerSession")
_POWER, _RATE, _TASTE, _BUYS = 1.96 + 0.8416, 0.01, 1.5, 0.2
_CREDITED = ("pairwise", "probabilistic")
"""Methods whose credit is computed one session at a time; their cells have half of the rounds."""


@dataclass(frozen=True, eq=False)
class Looks:
    """The estimates of many experiments at each look, each an array of looks by experiments."""

    values: FloatArray
    errors: FloatArray
    users: FloatArray
    clicking: FloatArray

    def decides(self, alpha: float = ALPHA, *, fixed: bool = False) -> BoolArray:
        """Whether the interval excludes 0, with enough users with a click; `fixed` is the usual interval of a single look."""
        width = 1.96 if fixed else np.vectorize(lambda users: interval_width(max(users, 1), alpha=alpha))(self.users)
        return np.asarray((self.clicking >= MIN_USERS) & (np.abs(self.values) > width * self.errors))


def user_sums(users: IntArray, values: FloatArray) -> FloatArray:
    """Sums by look, experiment and user, up to each look; `users` and `values` are experiments by sessions."""
    experiments, looks = len(users), users.shape[1] // LOOK
    cell = (np.arange(users.shape[1])[None, :] // LOOK * experiments + np.arange(experiments)[:, None]) * USERS + users
    sums = np.bincount(cell.ravel(), values.ravel(), looks * experiments * USERS).reshape(looks, experiments, USERS)
    return np.asarray(np.cumsum(sums, axis=0))


def one_ratio(users: IntArray, values: FloatArray, clicked: BoolArray, *, floor: float = 1.0) -> Looks:
    """The mean per session with the error of the delta method over users, as the package computes it."""
    sums, sizes = user_sums(users, values), user_sums(users, np.ones(values.shape))
    clicking = (user_sums(users, clicked.astype(np.float64)) > 0).sum(axis=2)
    return Looks(*_ratio(sums, sizes, floor), (sizes > 0).sum(axis=2).astype(np.float64), clicking.astype(np.float64))


def _ratio(sums: FloatArray, sizes: FloatArray, floor: float = 0.0) -> tuple[FloatArray, FloatArray]:
    total = sizes.sum(axis=2)
    value = sums.sum(axis=2) / total
    residuals = ((sums - value[:, :, None] * sizes) ** 2).sum(axis=2)
    return value, np.sqrt(np.maximum(residuals, floor)) / total


def two_ratios(users: IntArray, values: FloatArray, active: BoolArray) -> Looks:
    """The difference of two variants: users with an odd number have the second one."""
    sums, sizes = user_sums(users, values), user_sums(users, np.ones(values.shape))
    seen = user_sums(users, active.astype(np.float64)) > 0
    (low, low_error), (high, high_error) = (_ratio(sums[:, :, arm::2], sizes[:, :, arm::2]) for arm in (0, 1))
    counts = np.minimum(seen[:, :, 0::2].sum(axis=2), seen[:, :, 1::2].sum(axis=2))
    return Looks(
        high - low, np.hypot(low_error, high_error), (sizes > 0).sum(axis=2).astype(np.float64), counts.astype(np.float64)
    )


def drawn(lists: Lists, users: IntArray, model: str, rng: np.random.Generator, *, relevance: bool) -> tuple[IntArray, BoolArray]:
    """The list and the clicks of each session; each user clicks more or less than others, everywhere."""
    queries = rng.integers(0, len(lists.of_query), users.size)
    at = lists.of_query[queries, rng.integers(0, lists.of_query.shape[1], users.size)]
    grades = lists.grades[at]
    taste = rng.normal(0, _TASTE, (len(users), USERS))[np.arange(len(users))[:, None], users].ravel()
    chance = attraction(grades, relevance)
    odds = chance / (1 - chance) * np.exp(taste)[:, None]
    return at, clicks(model, odds / (1 + odds), grades, rng)


def _some(clicked: BoolArray) -> BoolArray:
    """Whether each session has a click."""
    return np.asarray(clicked.any(axis=1))


def null_interleaving(data: Collection, names: Sequence[str], method: Method, model: str, rounds: int) -> Callable[..., Cell]:
    """How often an experiment ever ships or keeps a system although clicks do not depend on documents."""

    def simulate(rng: np.random.Generator) -> Cell:
        lists = interleaved_lists(data, names, method)
        users = rng.integers(0, USERS, (rounds, SESSIONS))
        at, clicked = drawn(lists, users, model, rng, relevance=False)
        alpha = ALPHA / (len(names) - 1)
        pairs = list(combinations(range(len(names)), 2))
        looks = [
            one_ratio(
                users,
                preferences(lists, at, clicked, pair, len(names)).reshape(users.shape),
                _some(clicked).reshape(users.shape),
            )
            for pair in pairs
        ]
        return {
            "wrong": _best_of(looks, pairs, len(names), alpha),
            "fixed": float(looks[0].decides(fixed=True).any(axis=0).mean()),
            "rounds": rounds,
        }

    return simulate


def _best_of(looks: Sequence[Looks], pairs: Sequence[tuple[int, int]], count: int, alpha: float) -> float:
    """The share of experiments in which at any look one system is better than every other one."""
    ever = np.zeros(looks[0].values.shape[1], dtype=bool)
    for system in range(count):
        best = np.ones(looks[0].values.shape, dtype=bool)
        for look, (first, second) in zip(looks, pairs, strict=True):
            if system in (first, second):
                best &= look.decides(alpha) & ((look.values > 0) == (system == second))
        ever |= best.any(axis=0)
    return float(ever.mean())


def null_variants(data: Collection, model: str, rounds: int) -> Callable[..., Cell]:
    """How often an A/B test of one system with itself ever decides, by each metric."""

    def simulate(rng: np.random.Generator) -> Cell:
        lists = single_lists(data, "bm25")
        users = rng.integers(0, USERS, (rounds, SESSIONS))
        _, clicked = drawn(lists, users, model, rng, relevance=True)
        cell = {"rounds": float(rounds)}
        for name, (values, active) in metric_values(clicked, rng).items():
            looks = two_ratios(users, values.reshape(users.shape), active.reshape(users.shape))
            cell |= {name: float(looks.decides().any(axis=0).mean())}
            cell |= {f"fixed {name}": float(looks.decides(fixed=True).any(axis=0).mean())}
        return cell

    return simulate


def metric_values(clicked: BoolArray, rng: np.random.Generator) -> dict[str, tuple[FloatArray, BoolArray]]:
    """The value of each metric in each session, and whether the session counts for the least number of users."""
    any_click = np.asarray(clicked.any(axis=1))
    first = np.where(any_click, clicked.argmax(axis=1), DEPTH)
    bought = (rng.random(clicked.shape) < _BUYS) & clicked
    early = np.asarray(any_click & (rng.exponential(20.0, len(clicked)) < 30))
    spent = np.asarray((bought * rng.lognormal(3, 1, clicked.shape)).sum(axis=1))
    buys = np.asarray(bought.any(axis=1))
    values: dict[str, tuple[FloatArray, BoolArray]] = {
        "FirstClickRR": (np.asarray(np.where(any_click, 1 / (first + 1), 0.0), dtype=np.float64), any_click),
        "CTR@1": (clicked[:, 0].astype(np.float64), any_click),
        "CTR@10": (any_click.astype(np.float64), any_click),
        "Abandonment": (np.asarray(1.0 - any_click), any_click),
        "ClickWithin": (early.astype(np.float64), any_click),
        "Conversion": (buys.astype(np.float64), buys),
        "Revenue": (spent, buys),
        "ClicksPerSession": (clicked.sum(axis=1).astype(np.float64), any_click),
    }
    return values


def power(data: Collection, model: str, sessions: int = 100_000) -> Callable[..., Cell]:
    """Sessions for 80% power at 5%, one look: of A/B tests beside the default interleaving, over pairs of systems."""

    def simulate(rng: np.random.Generator) -> Cell:
        names = list(data.rankings)
        alone = {name: _moments(data, name, model, 4 * sessions, rng) for name in names}
        ratios: list[tuple[float, float]] = []
        wrong = opposite = differing = 0
        for first, second in combinations(names, 2):
            (rr, ctr, count), (other_rr, other_ctr, other_count) = alone[first], alone[second]
            gain = other_rr[0] - rr[0]
            if abs(gain) < _RATE:
                continue
            lists = interleaved_lists(data, (first, second), "team-draft")
            at = lists.of_query[rng.integers(0, data.queries, sessions), rng.integers(0, lists.of_query.shape[1], sessions)]
            clicked = clicks(model, attraction(lists.grades[at], True), lists.grades[at], rng)
            signs = preferences(lists, at, clicked, (0, 1), 2)
            wrong += bool(signs.mean() * gain < 0 and abs(signs.mean()) > 3 * signs.std() / math.sqrt(sessions))
            own = (_POWER / signs.mean()) ** 2 * signs.var()
            ratios.append((_sessions(ctr, other_ctr) / own, _sessions(rr, other_rr) / own))
            change, noise = other_count[0] - count[0], math.sqrt((count[1] + other_count[1]) / (4 * sessions))
            if abs(change) > 3 * noise:
                differing, opposite = differing + 1, opposite + bool(change * gain < 0)
        by_ctr, by_rr = np.array(ratios).T if ratios else np.full((2, 1), np.nan)
        quantiles = {
            f"{name} {q}": float(np.quantile(by, q / 100)) for name, by in (("ctr", by_ctr), ("rr", by_rr)) for q in (10, 50, 90)
        }
        return {**quantiles, "pairs": len(ratios), "wrong": wrong, "differing": differing, "opposite": opposite}

    return simulate


def _moments(data: Collection, name: str, model: str, sessions: int, rng: np.random.Generator) -> list[tuple[float, float]]:
    """The mean and the variance of the first click's RR, of the CTR and of the number of clicks."""
    lists = single_lists(data, name)
    grades = lists.grades[rng.integers(0, data.queries, sessions)]
    values = metric_values(clicks(model, attraction(grades, True), grades, rng), rng)
    return [
        (float(values[metric][0].mean()), float(values[metric][0].var()))
        for metric in ("FirstClickRR", "CTR@10", "ClicksPerSession")
    ]


def _sessions(first: tuple[float, float], second: tuple[float, float]) -> float:
    """Sessions of both variants together that an A/B test needs."""
    gain = abs(second[0] - first[0])
    return math.inf if not gain else 2 * (_POWER / gain) ** 2 * (first[1] + second[1])


def path(data: Collection, model: str, names: tuple[str, str], rounds: int, sessions: int) -> Callable[..., Cell]:
    """After how many sessions experiments with a look every 100 sessions decide, and how many decide wrongly."""

    def simulate(rng: np.random.Generator) -> Cell:
        lists = interleaved_lists(data, names, "team-draft")
        users = rng.integers(0, USERS, (rounds, sessions))
        at, clicked = drawn(lists, users, model, rng, relevance=True)
        signs = preferences(lists, at, clicked, (0, 1), 2).reshape(users.shape)
        looks = one_ratio(users, signs, _some(clicked).reshape(users.shape))
        decides = looks.decides()
        ever, first = decides.any(axis=0), decides.argmax(axis=0)
        right = np.sign(looks.values[first, np.arange(rounds)]) == np.sign(signs.mean())
        when = (first[ever] + 1) * LOOK
        return {
            "decided": float(ever.mean()),
            "wrong": float((ever & ~right).mean()),
            "median": float(np.median(when)) if len(when) else math.nan,
            "preference": float(signs.mean()),
        }

    return simulate


def stated_chance(rounds: int, now: int = 1_000) -> Callable[..., Cell]:
    """Of experiments that are open after 1,000 sessions: how often they decide at the number of sessions stated for 80%."""

    def simulate(rng: np.random.Generator) -> Cell:
        came = stated = 0
        for _ in range(rounds):
            truth, rate = rng.normal(0, 0.05), 0.4
            prefers = np.array([rate / 2 + truth / 2, rate / 2 - truth / 2]).clip(0.001)
            won, lost, _ = rng.multinomial(now, [*prefers, 1 - prefers.sum()])
            value = (won - lost) / now
            error = math.sqrt((won + lost) / now - value**2) / math.sqrt(now)
            if decision_chance(value, error, now, 1.0):
                continue
            growth = growth_needed(value, error, now, chance=LIKELY_BY_DATA)
            if growth is None or growth * now > 1e6:
                continue
            size = math.ceil(growth * now)
            later = rng.multinomial(size - now, [*prefers, 1 - prefers.sum()])
            mean = (won - lost + later[0] - later[1]) / size
            spread = math.sqrt((won + lost + later[0] + later[1]) / size - mean**2) / math.sqrt(size)
            stated, came = stated + 1, came + bool(abs(mean) > interval_width(size) * spread)
        return {"stated": stated, "came": came / stated}

    return simulate


def null_table(stored: StoredCells, data: Sequence[Collection], rounds: int) -> Iterator[str]:
    """The share of experiments that ever decide wrongly, by method and metric, over all cells, and its upper 95% bound."""
    yield "| | experiments | ever decides | upper bound | largest cell | with the interval of a single look |"
    yield "|---|---|---|---|---|---|"
    cells: dict[str, list[tuple[float, float, float]]] = {}
    for own in data:
        for model in CLICK_MODELS:
            for names, methods in ((("bm25", "hybrid"), TWO), (("bm25", "characters", "hybrid"), THREE)):
                for method in methods:
                    count = rounds // 2 if method in _CREDITED else rounds
                    key = f"null {own.name} {model} {method} {len(names)} {count}"
                    cell = stored.cell(key, null_interleaving(own, names, method, model, count))
                    cells.setdefault(f"{method}, {len(names)} systems", []).append((count, cell["wrong"], cell["fixed"]))
            cell = stored.cell(f"null A/B {own.name} {model} {rounds}", null_variants(own, model, rounds))
            for metric in METRICS:
                cells.setdefault(f"A/B, {metric}", []).append((rounds, cell[metric], cell[f"fixed {metric}"]))
    for name, rows in cells.items():
        counts, ever, fixed = np.array(rows).T
        share, bound = float(ever @ counts / counts.sum()), upper_bound(float(ever @ counts / counts.sum()), counts.sum())
        yield f"| {name} | {counts.sum():,.0f} | {share:.1%} | {bound:.1%} | {ever.max():.1%} | {fixed.mean():.0%} |"


def power_table(stored: StoredCells, data: Sequence[Collection]) -> Iterator[str]:
    """The sessions of A/B tests beside those of interleaving."""
    yield "| collection | users | pairs | A/B by CTR | A/B by first-click RR | wrong signs | clicks per session: opposite sign |"
    yield "|---|---|---|---|---|---|---|"
    for own in data:
        for model in CLICK_MODELS:
            cell = stored.cell(f"power {own.name} {model} 100,000", power(own, model))
            by_ctr, by_rr = (
                f"{cell[f'{name} 50']:.1f} ({cell[f'{name} 10']:.1f}–{cell[f'{name} 90']:.0f})" for name in ("ctr", "rr")
            )
            opposite = f"{cell['opposite']:.0f} of {cell['differing']:.0f}"
            yield f"| {own.name} | {model} | {cell['pairs']:.0f} | {by_ctr} | {by_rr} | {cell['wrong']:.0f} | {opposite} |"


def path_table(stored: StoredCells, data: Sequence[Collection], rounds: int) -> Iterator[str]:
    """When experiments decide."""
    yield "| collection, bm25 against hybrid | users | net preference | decided within 6,000 sessions | median sessions | wrong |"
    yield "|---|---|---|---|---|---|"
    for own in data:
        for model in CLICK_MODELS:
            cell = stored.cell(f"path {own.name} {model} {rounds}", path(own, model, ("bm25", "hybrid"), rounds, 6_000))
            median = "–" if math.isnan(cell["median"]) else f"{cell['median']:,.0f}"
            preference, decided = f"{100 * cell['preference']:+.1f} pp", f"{cell['decided']:.0%}"
            yield f"| {own.name} | {model} | {preference} | {decided} | {median} | {cell['wrong']:.1%} |"


def main() -> None:
    """Prints the tables in Markdown."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.online_rule", description=__doc__)
    parser.add_argument("--rounds", type=int, default=200)
    args = parser.parse_args()
    stored, data = StoredCells("online_rule", f"{LOOK} {SESSIONS} {USERS} {DRAFTS}"), [collection(name) for name in COLLECTIONS]
    for table in (null_table(stored, data, args.rounds), power_table(stored, data), path_table(stored, data, args.rounds // 4)):
        print("\n".join(table), end="\n\n", flush=True)
    cell = stored.cell(f"chance {LIKELY_BY_DATA} 4000", stated_chance(4_000))
    print(f"Of {cell['stated']:,.0f} open experiments, {cell['came']:.0%} decided at the sessions stated for a chance of 80%.")


if __name__ == "__main__":
    main()
