"""A shape of a given number of parameters."""

from __future__ import annotations

from dataclasses import replace

from ...errors import UsageError
from .kinds import kind_named
from .shape import BUCKETS, HASHES, Body, Shape
from .shape import parameters as _count

TOLERANCE = 0.01
_STEPS = (8, 4, 2, 1)
_WIDEST = 65_536


def fitted(
    kind: str,
    vocabulary: int,
    *,
    parameters: int,
    body: Body = "transformer",
    width: int = 256,
    depth: int = 4,
    heads: int = 4,
    characters: int = 512,
) -> Shape:
    """The shape whose hidden width brings the whole net to so many parameters, within 1 %.

    What a small vocabulary saves the layers get, as in ByT5 (Xue et al. 2022, TACL 10).
    """
    narrow = _narrowest(kind, vocabulary, body, width, depth, heads, characters)
    for step in _STEPS:
        shape = replace(narrow, hidden=_closest(narrow, parameters, step))
        if _misses(shape, parameters) <= TOLERANCE:
            return shape
    raise _unfit(shape, parameters)


def check_least(
    kind: str, vocabulary: int, *, parameters: int, body: Body, width: int, depth: int, heads: int, characters: int
) -> None:
    """Refuses fewer parameters than any net with these layers and so many tokens has."""
    narrow = _narrowest(kind, vocabulary, body, width, depth, heads, characters)
    if _count(narrow) > parameters * (1 + TOLERANCE):
        raise _unfit(narrow, parameters)


def _narrowest(kind: str, vocabulary: int, body: Body, width: int, depth: int, heads: int, characters: int) -> Shape:
    named = kind_named(kind)
    hashes, buckets = (HASHES, BUCKETS) if named.hashed else (0, 0)
    return Shape(kind, vocabulary, body, width, depth, heads, 1, named.stride, hashes, buckets, characters)


def _closest(narrow: Shape, wanted: int, step: int) -> int:
    """The multiple of the step whose net is nearest to the number wanted; the number rises with the width."""
    low, high = 1, _WIDEST // step
    while low < high:
        middle = (low + high) // 2
        low, high = (middle + 1, high) if _count(replace(narrow, hidden=middle * step)) < wanted else (low, middle)
    near = [max(low - 1, 1) * step, low * step]
    return min(near, key=lambda hidden: _misses(replace(narrow, hidden=hidden), wanted))


def _misses(shape: Shape, wanted: int) -> float:
    return abs(_count(shape) - wanted) / max(wanted, 1)


def _unfit(nearest: Shape, wanted: int) -> UsageError:
    least, most = (_count(replace(nearest, hidden=hidden)) for hidden in (8, _WIDEST))
    what = f"{nearest.kind} of {nearest.vocabulary:,} tokens, width {nearest.width} and depth {nearest.depth}"
    if wanted > most:
        return UsageError(f"{what} has at most {most:,} parameters, not {wanted:,}", fix="choose fewer, or raise width or depth")
    if wanted >= least:
        return UsageError(f"{what} cannot have {wanted:,} parameters within 1 %", fix=f"choose {_count(nearest):,}")
    fix = f"raise the parameters to {least:,} or more, lower width or depth, or choose a smaller vocabulary"
    return UsageError(f"{what} has at least {least:,} parameters, and {wanted:,} were asked for", fix=fix)
