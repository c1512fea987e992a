"""Systematic sampling in proportion to size, without replacement."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rankproof._data.arrays import BoolArray, FloatArray, IntArray
from rankproof._statistics.deterministic import VariateStream


class Drawn(NamedTuple):
    """The units drawn, in the order of the units, the chance of each, and those of both parts; certain ones are in both."""

    units: IntArray
    chances: FloatArray
    held_out: BoolArray
    kept: BoolArray


def draw(sizes: FloatArray, count: int, held_out: int = 0, seed: int = 0) -> Drawn:
    """So many units for each of two parts, each with a chance in proportion to its size (Madow 1949), in random order.

    A unit whose share is at least one draw is certain, and is in both parts; the parts share no other unit. The chance is that of
    being in the first part, which has the same units for any seed of the second.
    """
    stream = VariateStream(seed, "traffic")
    keys = stream.uniforms(len(sizes))
    certain = certain_units(sizes, count, held_out)
    rest = np.flatnonzero(~certain)
    draws = count + held_out - (2 if held_out else 1) * int(certain.sum())
    draws = min(max(draws, 0), len(rest))
    order = rest[np.argsort(keys[rest], kind="stable")]
    chosen = _systematic(sizes[order], draws, float(stream.uniforms(1)[0]))
    drawn = order[chosen]
    # The order of draws is random, so any part of them is a sample of the same kind.
    mixed = drawn[np.argsort(stream.uniforms(len(drawn)), kind="stable")]
    first = min(max(count - int(certain.sum()), 0), len(mixed))
    in_first, in_second = certain.copy(), certain & bool(held_out)
    in_first[mixed[:first]], in_second[mixed[first:]] = True, True
    units = np.flatnonzero(in_first | in_second)
    total = float(sizes[rest].sum())
    both = np.where(certain, 1.0, np.minimum(sizes * draws / total, 1.0) if total else 1.0)
    of_first = np.where(certain, 1.0, both * (first / draws if draws else 1.0))
    of_second = np.where(certain, 1.0, both * ((draws - first) / draws if draws else 1.0))
    chances = np.where(in_first[units], of_first[units], of_second[units])
    return Drawn(units, chances, in_second[units], in_first[units])


def certain_units(sizes: FloatArray, count: int, held_out: int = 0) -> BoolArray:
    """The units whose share of what is left is at least one draw, one after the other."""
    parts = 2 if held_out else 1
    certain = np.zeros(len(sizes), dtype=bool)
    if count + held_out >= len(sizes) and not held_out:
        return np.ones(len(sizes), dtype=bool)
    while True:
        draws, total = count + held_out - parts * int(certain.sum()), float(sizes[~certain].sum())
        more = ~certain & (sizes * draws >= total)
        # Both parts need the certain units, so a small part cannot have more of them than it has places.
        if draws <= 0 or not more.any() or int((certain | more).sum()) > min(count, held_out or count):
            return certain
        certain |= more


def _systematic(sizes: FloatArray, draws: int, start: float) -> IntArray:
    """The units at equal steps of the cumulated sizes, from a random start."""
    if not draws:
        return np.zeros(0, dtype=np.int64)
    ends = np.cumsum(sizes)
    marks = (np.arange(draws) + start) * (ends[-1] / draws)
    return np.unique(np.minimum(np.searchsorted(ends, marks, side="right"), len(sizes) - 1)).astype(np.int64)
