"""Exact distributions of interleaved lists: every outcome of every coin."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import NamedTuple

from rankproof._interleaving.methods import METHODS, STEEPNESS


class DraftedList(NamedTuple):
    """A list with its teams and its probability."""

    docs: tuple[str, ...]
    teams: tuple[int, ...]
    chance: Fraction


class _NextCoin(Exception):  # noqa: N818
    """A coin is asked for that the script does not have."""


class _ScriptedCoins:
    """Coins that come from a list; each has as many sides as the caller says."""

    def __init__(self, script: tuple[int, ...]) -> None:
        self.script, self.used, self.sides = script, 0, 0
        self.chance = Fraction(1)

    def choice(self, candidates: int) -> int:
        if self.used == len(self.script):
            self.sides = candidates
            raise _NextCoin
        self.used += 1
        self.chance /= candidates
        return self.script[self.used - 1]

    def word(self) -> int:
        return self.choice(2)


def all_lists(method: str, rankings: Sequence[Sequence[str]], k: int) -> list[DraftedList]:
    """Every list that a method with equally likely coins can draft, with its probability."""
    if method == "probabilistic":
        return list(_probabilistic_lists(rankings, k))
    lists: dict[tuple[tuple[str, ...], tuple[int, ...]], Fraction] = {}
    scripts: list[tuple[int, ...]] = [()]
    while scripts:
        coins = _ScriptedCoins(scripts.pop())
        try:
            docs, teams = METHODS[method](rankings, k, coins)  # type: ignore[arg-type]
        except _NextCoin:
            scripts += [(*coins.script, side) for side in range(coins.sides)]
            continue
        key = tuple(docs), tuple(teams)
        lists[key] = lists.get(key, Fraction(0)) + coins.chance
    return [DraftedList(docs, teams, chance) for (docs, teams), chance in lists.items()]


def _probabilistic_lists(
    rankings: Sequence[Sequence[str]], k: int, shown: tuple[str, ...] = (), chance: Fraction = Fraction(1)
) -> Iterator[DraftedList]:
    """Every list of probabilistic interleaving, whoever drafted its documents."""
    left = [
        {doc: Fraction(1, (at + 1) ** STEEPNESS) for at, doc in enumerate(ranking) if doc not in shown} for ranking in rankings
    ]
    if len(shown) == k or not all(left):
        yield DraftedList(shown, (), chance)
        return
    for doc in dict.fromkeys(doc for own in left for doc in own):
        drawn = sum((own.get(doc, Fraction(0)) / sum(own.values()) for own in left), Fraction(0)) / len(rankings)
        yield from _probabilistic_lists(rankings, k, (*shown, doc), chance * drawn)
