"""Placement of labels beside points with the least overlap."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

Spot = tuple[float, float]
_SIDES = ((1, 0), (-1, 0), (0, -1), (0, 1), (1, -1), (1, 1), (-1, -1), (-1, 1))
_RINGS = (1.0, 2.2, 3.6)
_AWAY, _MARK, _OUTSIDE = 0.7, 0.5, 20.0
"""Distance of a label and radius of a mark, in text heights; the cost factor of leaving the chart."""


class Box(NamedTuple):
    """A rectangle; y grows downwards."""

    left: float
    top: float
    right: float
    bottom: float

    @property
    def width(self) -> float:
        """From left to right."""
        return self.right - self.left

    @property
    def height(self) -> float:
        """From top to bottom."""
        return self.bottom - self.top

    @property
    def centre(self) -> Spot:
        """The centre of the rectangle."""
        return (self.left + self.right) / 2, (self.top + self.bottom) / 2

    def shared(self, other: Box) -> float:
        """The area of the intersection."""
        across = min(self.right, other.right) - max(self.left, other.left)
        down = min(self.bottom, other.bottom) - max(self.top, other.top)
        return max(across, 0.0) * max(down, 0.0)

    def outside(self, frame: Box) -> float:
        """The area outside the frame."""
        return self.width * self.height - self.shared(frame)


def place_labels(spots: Sequence[Spot], widths: Sequence[float], size: float, lines: Sequence[Box], within: Box) -> list[Box]:
    """A box for each label, placed greedily where it overlaps least."""
    mark = _MARK * size
    taken = [*lines, *(Box(x - mark, y - mark, x + mark, y + mark) for x, y in spots)]
    boxes = []
    for spot, width in zip(spots, widths, strict=True):
        choices = [(_beside(spot, width, size, side, ring), ring) for ring in _RINGS for side in _SIDES]
        best, _ = min(choices, key=lambda choice: _cost(choice[0], taken, within) + 0.1 * size * choice[1])
        taken.append(best)
        boxes.append(best)
    return boxes


def _beside(spot: Spot, width: float, height: float, side: tuple[int, int], ring: float) -> Box:
    x, y = (spot[at] + side[at] * _AWAY * ring * height for at in (0, 1))
    left, top = x - width * (1 - side[0]) / 2, y - height * (1 - side[1]) / 2
    return Box(left, top, left + width, top + height)


def _cost(box: Box, taken: Sequence[Box], within: Box) -> float:
    """The overlap, plus a penalty for leaving the chart."""
    return sum(box.shared(other) for other in taken) + _OUTSIDE * box.outside(within)
