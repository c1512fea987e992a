"""Quality against latency: a dot a system, and the steps of those that no other beats in both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from markupsafe import Markup

from ...analysis.statistics.bootstrap import Interval
from .axis import NARROW, across, upward
from .lettering import SIZE, fitted, width_of
from .marks import dot, upright_whisker
from .placing import Box, placed
from .scale import ANY, Scale, quality_scale, time_scale
from .svg import drawing, element, number

_LEFT, _TOP, _BOTTOM = 46.0, 34.0, 44.0
_LONGEST = 170.0


@dataclass(frozen=True, slots=True)
class Point:
    """A system: milliseconds a query, value and interval, and whether it is on the front."""

    name: str
    time: float
    value: float
    shown: str
    interval: Interval | None
    front: bool


def pareto(
    points: Sequence[Point],
    title: str,
    about: str,
    axes: tuple[str, str],
    *,
    less: bool = False,
    width: float,
    height: float,
    within: tuple[float, float] = ANY,
) -> Markup:
    """The points, fastest at the left, best on top: the lowest where `less` is better; `axes` name the times and the values."""
    right = width - (110 if width >= NARROW else 14)
    x = time_scale([point.time for point in points], _LEFT + 4, right)
    ends = [end for point in points for end in (point.interval or (point.value, point.value))]
    y = quality_scale(ends, *((_TOP, height - _BOTTOM) if less else (height - _BOTTOM, _TOP)), within)
    most = 5 if width < NARROW else 8
    parts = across(x, _TOP, height - _BOTTOM, axes[0] + (", logarithmic" if x.log else ""), most=most)
    parts += upward(y, _LEFT, right, axes[1])
    parts += [_steps([point for point in points if point.front], x, y)]
    for point in points:
        parts += upright_whisker(y, point.interval, x(point.time))
        parts.append(dot(x(point.time), y(point.value), point.shown, class_="dot best" if point.front else "dot hollow"))
    return drawing(width, height, title, about, [*parts, *_names(points, x, y, width)])


def _steps(front: list[Point], x: Scale, y: Scale) -> Markup:
    """Across at the value of the faster, then up to the better one."""
    ordered = sorted(front, key=lambda point: point.time)
    first = f"M{number(x(ordered[0].time))} {number(y(ordered[0].value))}"
    path = "".join(f"H{number(x(after.time))}V{number(y(after.value))}" for _, after in pairwise(ordered))
    return element("path", d=f"{first}{path}", class_="front")


def _names(points: Sequence[Point], x: Scale, y: Scale, width: float) -> list[Markup]:
    room = min(_LONGEST, width / 2.6)
    texts = [fitted(point.name, room) for point in points]
    sizes = [(width_of(text), SIZE) for text in texts]
    dots = [(x(point.time), y(point.value)) for point in points]
    lines = [
        Box(left - 3, min(map(y, p.interval)), left + 3, max(map(y, p.interval)))
        for p, (left, _) in zip(points, dots, strict=True)
        if p.interval
    ]
    boxes = placed(dots, sizes, lines, Box(_LEFT, 0, width, max(y.start, y.end)))
    found = []
    for point, text, box in zip(points, texts, boxes, strict=True):
        word = "halo strong" if point.front else "halo"
        found.append(element("text", text, x=box.left, y=box.bottom - 3, class_=word, font_size=SIZE))
    return found
