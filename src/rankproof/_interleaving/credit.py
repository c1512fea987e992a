"""Credit: what the clicks of one session say about each system, for methods whose documents have no team."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator, Sequence

from rankproof._interleaving.methods import STEEPNESS

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
