"""Names beside their dots, where they cover least."""

from __future__ import annotations

from collections.abc import Sequence

from ...views.boxes import Box

__all__ = ["Box", "placed"]

_GAP = 9.0


def placed(
    dots: Sequence[tuple[float, float]], sizes: Sequence[tuple[float, float]], lines: Sequence[Box], within: Box
) -> list[Box]:
    """A box for each name, one after the other, each at the place around its dot where it covers least."""
    taken = [*lines, *(Box(x - 6, y - 6, x + 6, y + 6) for x, y in dots)]
    found = []
    for spot, size in zip(dots, sizes, strict=True):
        best = min(_around(spot, size), key=lambda box: sum(box.shared(other) for other in taken) + _outside(box, within))
        taken.append(best)
        found.append(best)
    return found


def _outside(box: Box, within: Box) -> float:
    """A name that leaves the picture is worse than any that covers something."""
    return 20 * box.outside(within)


def _around(spot: tuple[float, float], size: tuple[float, float]) -> list[Box]:
    """Beside the dot, aslant of it, above and below; the first of equal ones is taken."""
    (x, y), (wide, high) = spot, (size[0], size[1] + 3)
    beside, before = x + _GAP, x - _GAP - wide
    rises = (-high / 2, -high - 5, 5, -high - 14, 14, -high - 24, 24)
    starts = [(left, y + rise) for rise in rises for left in (beside, before, x - wide / 2)]
    boxes = [Box(left, top, left + wide, top + high) for left, top in starts]
    return [box for box in boxes if not box.left < x < box.right or abs((box.top + box.bottom) / 2 - y) > high / 2 + 4]
