"""Where chunks begin and end: so many units each, a part of them shared with the chunk before."""

from __future__ import annotations

from collections.abc import Sequence

Span = tuple[int, int]
"""The characters from the first number to before the second."""


def spans(starts: Sequence[int], length: int, size: int, overlap: int) -> list[Span]:
    """The chunks of a text of that length whose units start there.

    A unit reaches to the start of the next, and the first from the very beginning, so that nothing between units is lost.
    Neighbours share exactly `overlap` units; only the last chunk may be shorter than `size`; none lies inside the one before.
    """
    bounds = [0, *starts[1:], length]
    firsts = range(0, max(len(starts) - overlap, 1), size - overlap) if starts else ()
    return [(bounds[first], bounds[min(first + size, len(starts))]) for first in firsts]
