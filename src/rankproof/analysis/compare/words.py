"""A verdict as a sentence, with the numbers that it rests on."""

from __future__ import annotations

from ...errors import shown
from ..statistics.correction import NAMES
from ..wording import amount, p_words
from .pairs import Comparison, Seen
from .settings import ComparisonSettings

_COUNTLESS = 1_000_000_000


def sentence(found: Comparison, settings: ComparisonSettings) -> str:
    """What can be said of the pair."""
    seen = found.seen
    one, other, n = shown(seen.one), shown(seen.other), seen.differences.n
    if found.verdict == "same":
        return f"{one} and {other} are the same on every query in {seen.measure} (n = {n:,})."
    evidence = f"{_interval(seen, settings)}, {_p(found.p, settings)}, n = {n:,}"
    if found.verdict == "equivalent":
        margin = amount(settings.margin or 0.0, seen.measure)
        both = f"both one-sided tests {_p(found.equivalence_p or 0.0, settings)}"
        real = "; the difference is real, and too small to matter" if found.p <= settings.alpha else ""
        return f"{one} and {other} are equivalent within {margin} in {seen.measure}: {_signed(seen)} ({evidence}; {both}){real}."
    if found.verdict == "cannot tell":
        return f"Cannot tell {one} from {other} in {seen.measure}: {_signed(seen)} ({evidence}){_missing(found)}."
    return f"{one} is {found.verdict} than {other} in {seen.measure}: {_signed(seen)} ({evidence})."


def _signed(seen: Seen) -> str:
    sign = "+" if seen.differences.mean > 0 else ""
    return sign + amount(seen.differences.mean, seen.measure)


def _interval(seen: Seen, settings: ComparisonSettings) -> str:
    if seen.interval is None:
        return "every query differs by the same: no interval"
    low, high = (amount(end, seen.measure).removesuffix(" pp") for end in seen.interval)
    return f"{settings.percent} interval {low} to {high}"


def _p(p: float, settings: ComparisonSettings) -> str:
    return p_words(p) if settings.correction == "none" else f"{p_words(p)} after {NAMES[settings.correction]}"


def _missing(found: Comparison) -> str:
    """What could have been told with these queries, and how many would tell."""
    n, parts = found.seen.differences.n, []
    if found.detectable is None:
        parts.append("with so few queries no difference could be told")
    elif found.detectable:
        least = amount(found.detectable, found.seen.measure)
        parts.append(f"with these queries {least} would be found 4 times in 5")
    if found.needed is None:
        parts.append("no number of queries confirms a difference of 0")
    elif found.needed > n:
        many = f"about {found.needed:,}" if found.needed < _COUNTLESS else f"more than {_COUNTLESS:,}"
        parts.append(f"to find the one seen 4 times in 5 takes {many} queries")
    return "".join(f"; {part}" for part in parts)
