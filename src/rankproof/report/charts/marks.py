"""What stands for a value: a dot, and a line for its interval."""

from __future__ import annotations

from markupsafe import Markup

from ...analysis.statistics.bootstrap import Interval
from .scale import Scale
from .svg import element

_RADIUS, _CAP = 5.0, 4.0


def dot(x: float, y: float, told: str, *, class_: str = "dot") -> Markup:
    """A dot that says on hovering what it stands for."""
    return element("circle", element("title", told), cx=x, cy=y, r=_RADIUS, class_=class_)


def whisker(scale: Scale, interval: Interval | None, y: float) -> list[Markup]:
    """An interval as a line with ends; nothing where there is none."""
    if interval is None:
        return []
    low, high = scale(interval[0]), scale(interval[1])
    ends = [element("line", x1=x, x2=x, y1=y - _CAP, y2=y + _CAP, class_="whisker") for x in (low, high)]
    return [element("line", x1=low, x2=high, y1=y, y2=y, class_="whisker"), *ends]


def upright_whisker(scale: Scale, interval: Interval | None, x: float) -> list[Markup]:
    """The same, standing."""
    if interval is None:
        return []
    low, high = scale(interval[0]), scale(interval[1])
    ends = [element("line", x1=x - _CAP, x2=x + _CAP, y1=y, y2=y, class_="whisker") for y in (low, high)]
    return [element("line", x1=x, x2=x, y1=low, y2=high, class_="whisker"), *ends]
