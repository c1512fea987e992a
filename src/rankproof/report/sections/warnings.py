"""What to beware of before the verdict is believed: few queries, holes in the judgements, and what the tools noted."""

from __future__ import annotations

from collections.abc import Iterator

from ...analysis.statistics.intervals import FEW
from ...analysis.wording import amount, counted
from ...errors import shown
from ..holes import judged_shares
from ..material import Material
from ..words import sentence_of

_SMALL = 50
_WHOLE = 0.995
_GRAVE = ("missing-queries", "machine-judgements", "nothing-judged", "no-relevant")


def warnings(material: Material) -> Iterator[str]:
    """A sentence for each."""
    n = material.one.queries
    if n < FEW:
        yield f"{counted(n, 'query is', 'queries are')} very few: another sample of queries could turn the order round."
    elif n < _SMALL:
        yield f"{counted(n, 'query is', 'queries are')} few: see the intervals before the values."
    yield from _blind(material)
    yield from _holes(material)
    yield from _graves(material)


def _blind(material: Material) -> Iterator[str]:
    """The least difference that could have been found, where some pair could not be told apart."""
    unsure = [pair for pair in material.comparisons if pair.verdict == "cannot tell" and pair.detectable]
    if unsure:
        least = min(pair.detectable or 0.0 for pair in unsure)
        yield (
            f"{len(unsure)} of {len(material.comparisons)} pairs of systems cannot be told apart: with these queries a difference"
            f" under {amount(least, material.one.measure)} is missed more often than once in 5 times."
        )


def _holes(material: Material) -> Iterator[str]:
    shares = judged_shares(material)
    worst = min(shares.share, key=shares.share.__getitem__)
    if shares.share[worst] < _WHOLE:
        also = "" if worst == material.best else f", and {1 - shares.share[worst]:.1%} of what {shown(worst)} shows"
        yield (
            f"{1 - shares.share[material.best]:.1%} of what {shown(material.best)} shows in its first {shares.cutoff}{also} was"
            " judged by nobody and counts as not relevant; the part on holes says how far the values could move."
        )


def _graves(material: Material) -> Iterator[str]:
    """Notes about means and judgements, each once."""
    notes = [note for system in material.climb.result.systems for note in system.notes if note.code in _GRAVE]
    for text in dict.fromkeys(note.text for note in notes):
        yield sentence_of(text)
