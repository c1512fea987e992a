"""Parts of a picture, and how much they cover of each other."""

from __future__ import annotations

from typing import NamedTuple


class Box(NamedTuple):
    """Its sides and its two heights, the smaller number as `top`, whichever way the picture counts."""

    left: float
    top: float
    right: float
    bottom: float

    def shared(self, other: Box) -> float:
        """The area that both cover."""
        across = min(self.right, other.right) - max(self.left, other.left)
        down = min(self.bottom, other.bottom) - max(self.top, other.top)
        return max(across, 0.0) * max(down, 0.0)

    @property
    def area(self) -> float:
        """Width times height."""
        return (self.right - self.left) * (self.bottom - self.top)

    def outside(self, frame: Box) -> float:
        """How much of it the frame does not hold."""
        return self.area - self.shared(frame)
