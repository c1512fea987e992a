"""Labels beside points, where they cover neither each other nor another point."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..views.boxes import Box
from .canvas import SMALL, width_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Point = tuple[float, float]
_AWAY = 6.0
_SIDES = [(1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (1, -1), (-1, 1), (-1, -1)]
_RINGS = (1.0, 2.2, 3.6)
_MARK, _LINE = 5.0, 0.8


def placed(
    axis: Axes, points: Sequence[Point], texts: Sequence[str], strong: Sequence[bool], lines: Sequence[tuple[Point, Point]] = ()
) -> None:
    """Each text on the side of its point that is most free of marks, texts and upright or level lines.

    A thin line leads to one that had to move away.
    """
    figure = axis.get_figure(root=True)
    assert figure is not None
    figure.draw_without_rendering()
    scale = 72 / figure.dpi

    def spot_of(point: Point) -> Point:
        x, y = axis.transData.transform(point) * scale
        return float(x), float(y)

    spots = list(map(spot_of, points))
    frame = axis.get_window_extent()
    inside = Box(frame.x0 * scale, frame.y0 * scale, frame.x1 * scale, frame.y1 * scale)
    taken = [Box(x - _MARK, y - _MARK, x + _MARK, y + _MARK) for x, y in spots]
    taken += [_thick(spot_of(start), spot_of(end)) for start, end in lines]
    for at, text in enumerate(texts):
        size = (width_of(text, SMALL, bold=strong[at]) * 72, SMALL)
        own, others = spots[at], [box for place, box in enumerate(taken) if place != at]
        moves = [(side, ring) for ring in _RINGS for side in _SIDES]
        (across, up), ring = min(moves, key=lambda move: _cost(_box(own, size, *move), others, inside, move[1]))
        taken.append(_box(own, size, (across, up), ring))
        axis.annotate(
            text,
            points[at],
            (across * _AWAY * ring, up * _AWAY * ring),
            textcoords="offset points",
            ha={1: "left", -1: "right", 0: "center"}[across],
            va={1: "bottom", -1: "top", 0: "center"}[up],
            size=SMALL,
            weight="bold" if strong[at] else "normal",
            arrowprops={"arrowstyle": "-", "lw": 0.4, "color": "#888888"} if ring > 1 else None,
            annotation_clip=False,
        )


def _thick(start: Point, end: Point) -> Box:
    (left, right), (low, high) = (sorted(pair) for pair in zip(start, end, strict=True))
    return Box(left - _LINE, low - _LINE, right + _LINE, high + _LINE)


def _box(spot: Point, size: tuple[float, float], side: tuple[int, int], ring: float) -> Box:
    """Where the text would stand, in points."""
    x, y = (spot[at] + side[at] * _AWAY * ring for at in (0, 1))
    left, low = x - size[0] * (1 - side[0]) / 2, y - size[1] * (1 - side[1]) / 2
    return Box(left, low, left + size[0], low + size[1])


def _cost(box: Box, others: Sequence[Box], inside: Box, ring: float) -> float:
    """How much it covers of others and how far it stands out of the frame, and a little for standing away."""
    return sum(box.shared(other) for other in others) + 2 * box.outside(inside) + ring
