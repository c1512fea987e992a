"""Queries that were made before: the same words again, or nearly so."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable

from .draft import Reason

ALIKE = 0.8
"""Shared words over all words of both, from which two queries are alike."""


class Earlier:
    """The word sets of all queries that stayed."""

    def __init__(self) -> None:
        self._sets: list[frozenset[str]] = []
        self._known: set[frozenset[str]] = set()
        self._with: defaultdict[str, list[int]] = defaultdict(list)

    def reason_against(self, terms: Iterable[str]) -> Reason | None:
        """Whether an earlier one has the same words, or is alike."""
        asked = frozenset(terms)
        if asked in self._known:
            return "same"
        shared = Counter(at for term in asked for at in self._with[term])
        alike = (count / len(asked | self._sets[at]) for at, count in shared.items())
        return "alike" if any(share >= ALIKE for share in alike) else None

    def add(self, terms: Iterable[str]) -> None:
        """Remembers one that stays."""
        asked = frozenset(terms)
        for term in asked:
            self._with[term].append(len(self._sets))
        self._sets.append(asked)
        self._known.add(asked)
