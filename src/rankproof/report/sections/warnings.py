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
        other = "turn the order round" if len(material.contenders) > 1 else "give quite other values"
        yield f"{counted(n, 'query is', 'queries are')} very few: another sample of queries could {other}."
    elif n < _SMALL:
        yield f"{counted(n, 'query is', 'queries are')} few: see the intervals before the values."
    yield from _blind(material)
    yield from _holes(material)
    yield from _graves(material)


def _blind(material: Material) -> Iterator[str]:
    """The differences that could have been found, from pair to pair, where some could not be told apart."""
    unsure = [pair for pair in material.comparisons if pair.verdict == "cannot tell" and pair.detectable]
    if unsure:
        found = sorted(pair.detectable or 0.0 for pair in unsure)
        least, most = (amount(each, material.one.measure) for each in (found[0], found[-1]))
        limit = least if least == most else f"{least.removesuffix(' pp')} to {most}, by the pair,"
        yield (
            f"{len(unsure)} of {counted(len(material.comparisons), 'pair')} of systems cannot be told apart: with these queries a"
            f" difference under {limit} is missed more often than once in 5 times."
        )


def _holes(material: Material) -> Iterator[str]:
    shares = judged_shares(material)
    worst = min(shares.share, key=shares.share.__getitem__)
    if shares.share[worst] < _WHOLE:
        first = material.best if material.is_contest else worst
        also = "" if worst == first else f", and {1 - shares.share[worst]:.1%} of what {shown(worst)} shows"
        yield (
            f"{1 - shares.share[first]:.1%} of what {shown(first)} shows in its first {shares.cutoff}{also} was"
            " judged by nobody and counts as not relevant; the part on holes says how far the values could move."
        )


def _graves(material: Material) -> Iterator[str]:
    """Notes about means and judgements, each once."""
    notes = [note for system in material.climb.result.systems for note in system.notes if note.code in _GRAVE]
    for text in dict.fromkeys(note.text for note in notes):
        yield sentence_of(text)
