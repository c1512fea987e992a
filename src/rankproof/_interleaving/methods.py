"""The methods of interleaving: how one list is drafted from several rankings, and what clicks on it say about each.

Every method drafts slot by slot, so the list of a larger k continues that of a smaller one. Coins come from SHA-256, so that any
language drafts the same lists.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterator, Sequence
from hashlib import sha256
from itertools import chain, zip_longest
from struct import Struct

TEAM_DRAFT, PLAIN, PROBABILISTIC, PAIRWISE, MULTILEAVING = (
    "team-draft",
    "team-draft-plain",
    "probabilistic",
    "pairwise",
    "team-draft-multileaving",
)
SHARED = -1
"""The team of a document that no system drafted alone."""
STEEPNESS = 3
"""The exponent of the ranks by which `probabilistic` draws documents (Hofmann et al. 2011)."""
Ranking = Sequence[str]
Drafted = tuple[list[str], list[int]]
_WORDS = Struct(">8I")
_WORD_RANGE = 1 << 32


class Coins:
    """Random numbers from the text of an experiment and a seed: the 32-bit words, big end first, of SHA-256 of
    experiment NUL seed NUL counter in UTF-8, where the counter is a decimal number from 0."""

    __slots__ = ("_counter", "_text", "_words")

    def __init__(self, experiment: str, seed: str) -> None:
        self._text, self._counter = f"{experiment}\0{seed}\0".encode("utf-8", "surrogatepass"), 0
        self._words: list[int] = []

    def word(self) -> int:
        """The next word."""
        if not self._words:
            digest = sha256(self._text + str(self._counter).encode()).digest()
            self._words = list(reversed(_WORDS.unpack(digest)))
            self._counter += 1
        return self._words.pop()

    def choice(self, candidates: int) -> int:
        """The place of one of several candidates."""
        return self.word() % candidates


def team_draft(rankings: Sequence[Ranking], k: int, coins: Coins) -> Drafted:
    """Both systems draft in turn, a coin says who is first; a document that both would draft is shared.

    Two different documents take the next two slots in either order, so both systems have drafted equally often after them.
    """
    first, second = rankings
    docs, teams, shown = list[str](), list[int](), set[str]()
    at = other = 0
    while len(docs) < k:
        while at < len(first) and first[at] in shown:
            at += 1
        while other < len(second) and second[other] in shown:
            other += 1
        if at == len(first) or other == len(second):
            break
        pair = first[at], second[other]
        if pair[0] == pair[1]:
            docs.append(pair[0])
            teams.append(SHARED)
        else:
            leader = coins.word() & 1
            docs += (pair[leader], pair[1 - leader])
            teams += (leader, 1 - leader)
        shown.update(pair)
    return _filled(rankings, docs, teams, k)


def team_draft_plain(rankings: Sequence[Ranking], k: int, coins: Coins) -> Drafted:
    """Rounds in which every system drafts its best document that is not shown, in random order (Radlinski et al. 2008)."""
    docs, teams, shown = list[str](), list[int](), set[str]()
    while len(docs) < k and all(_next_of(ranking, shown) is not None for ranking in rankings):
        waiting = list(range(len(rankings)))
        while waiting and len(docs) < k:
            team = waiting.pop(coins.choice(len(waiting)) if len(waiting) > 1 else 0)
            doc = _next_of(rankings[team], shown)
            if doc is not None:
                docs.append(doc)
                teams.append(team)
                shown.add(doc)
    return _filled(rankings, docs, teams, k)


def _next_of(ranking: Ranking, shown: set[str]) -> str | None:
    return next((doc for doc in ranking if doc not in shown), None)


def _filled(rankings: Sequence[Ranking], docs: list[str], teams: list[int], k: int) -> Drafted:
    """The first k slots; where a system has nothing left to draft, the documents of the others are shared."""
    if len(docs) < k:
        shown = set(docs)
        for doc in by_rank(rankings):
            if doc not in shown:
                shown.add(doc)
                docs.append(doc)
                teams.append(SHARED)
    return docs[:k], teams[:k]


def by_rank(rankings: Sequence[Ranking]) -> Iterator[str]:
    """The documents of all systems: the first of each, the second of each, and so on."""
    return (doc for doc in chain.from_iterable(zip_longest(*rankings)) if doc is not None)


def pairwise(rankings: Sequence[Ranking], k: int, coins: Coins) -> Drafted:
    """Each slot gets one of the documents that any system has at its rank or above, all equally likely (Oosterhuis and de Rijke
    2017); candidates are ordered by rank, then by system. No document has a team."""
    docs, candidates, known = list[str](), list[str](), set[str]()
    while len(docs) < k:
        slot = len(docs)
        for ranking in rankings:
            if slot < len(ranking) and ranking[slot] not in known:
                known.add(ranking[slot])
                candidates.append(ranking[slot])
        if not candidates:
            break
        docs.append(candidates.pop(coins.choice(len(candidates))))
    return docs, []


def probabilistic(rankings: Sequence[Ranking], k: int, coins: Coins) -> Drafted:
    """Each slot is drafted by a random system, which draws a document in proportion to 1 / rank³ (Hofmann et al. 2011)."""
    docs, teams, shown = list[str](), list[int](), set[str]()
    weights = [[(doc, 1.0 / rank**STEEPNESS) for rank, doc in enumerate(ranking, 1)] for ranking in rankings]
    while len(docs) < k:
        left = [[(doc, weight) for doc, weight in column if doc not in shown] for column in weights]
        if not all(left):
            break
        team = coins.choice(len(rankings))
        doc = _drawn(left[team], coins.word() / _WORD_RANGE)
        docs.append(doc)
        teams.append(team)
        shown.add(doc)
    return _filled(rankings, docs, teams, k)


def _drawn(weighted: Sequence[tuple[str, float]], share: float) -> str:
    """The document at this share of the sum of weights."""
    target = share * sum(weight for _, weight in weighted)
    for doc, weight in weighted:
        target -= weight
        if target < 0:
            return doc
    return weighted[-1][0]


METHODS: dict[str, Callable[[Sequence[Ranking], int, Coins], Drafted]] = {
    TEAM_DRAFT: team_draft,
    PLAIN: team_draft_plain,
    PROBABILISTIC: probabilistic,
    PAIRWISE: pairwise,
    MULTILEAVING: team_draft_plain,
}
"""The methods by name."""
FOR_TWO = (TEAM_DRAFT, PLAIN, PROBABILISTIC)
"""The methods for exactly two systems."""
NEED_RANKINGS = (PROBABILISTIC, PAIRWISE)
"""The methods whose credit needs the rankings that a list was made of."""
TEAM_METHODS = (TEAM_DRAFT, PLAIN, MULTILEAVING)
"""The methods whose credit is the number of clicks on documents of a system."""


Docs = Sequence[Hashable]
_NOWHERE = 1 << 31


def pairwise_credit(rankings: Sequence[Docs], docs: Docs, clicked: Collection[int]) -> list[float]:
    """The credit of each system by preferences between documents (Oosterhuis and de Rijke 2017).

    `clicked` are places in `docs` from 0. A clicked document is preferred to the others above the last click, and to the next
    one. A preference counts if both documents stand where both could have stood, divided by the chance of that.
    """
    ranks = [{doc: rank for rank, doc in enumerate(ranking, 1)} for ranking in rankings]
    candidates = _candidates(rankings, len(docs))
    scores = [0.0] * len(rankings)
    for better, worse in _preferences(len(docs), clicked):
        pair = [(own.get(docs[better], _NOWHERE), own.get(docs[worse], _NOWHERE)) for own in ranks]
        first, second = sorted((min(above for above, _ in pair), min(below for _, below in pair)))
        if min(better, worse) + 1 < second:
            continue
        weight = 1.0
        for left in candidates[first - 1 : second - 1]:
            weight *= left / (left - 1)
        for system, (above, below) in enumerate(pair):
            scores[system] += weight * ((above < below) - (above > below))
    return scores


def _preferences(length: int, clicked: Collection[int]) -> Iterator[tuple[int, int]]:
    """Pairs of places: a clicked document, and another that the user has seen and not clicked."""
    seen = min(max(clicked, default=-1) + 2, length)
    skipped = [place for place in range(seen) if place not in clicked]
    return ((place, other) for place in sorted(clicked) for other in skipped)


def _candidates(rankings: Sequence[Docs], length: int) -> list[int]:
    """How many documents each slot was drawn from."""
    known, counts = set[Hashable](), list[int]()
    for slot in range(length):
        known.update(ranking[slot] for ranking in rankings if slot < len(ranking))
        counts.append(len(known) - slot)
    return counts


def probabilistic_credit(rankings: Sequence[Docs], docs: Docs, clicked: Collection[int]) -> list[float]:
    """The credit of each system: for each click the chance that the system drafted the document (Hofmann et al. 2011)."""
    scores = [0.0] * len(rankings)
    weights = [{doc: 1.0 / rank**STEEPNESS for rank, doc in enumerate(ranking, 1)} for ranking in rankings]
    for place, doc in enumerate(docs[: max(clicked, default=-1) + 1]):
        if not all(weights):
            break
        if place in clicked:
            drawn = [own.get(doc, 0.0) / sum(own.values()) for own in weights]
            for system, chance in enumerate(drawn):
                scores[system] += chance / sum(drawn)
        for own in weights:
            own.pop(doc, None)
    return scores
