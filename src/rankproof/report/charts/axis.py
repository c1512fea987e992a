"""Axes: thin lines, round numbers, and what they count."""

from __future__ import annotations

from markupsafe import Markup

from .lettering import SMALL, label, width_of
from .scale import Scale, tick_text
from .svg import element

NARROW = 500.0
"""Pictures of less than this are for phones."""


def across(scale: Scale, top: float, bottom: float, name: str, *, most: int = 6) -> list[Markup]:
    """An axis below the picture: a line up for each round value, and the name under them."""
    parts = []
    for value in scale.ticks(most):
        x = scale(value)
        parts.append(element("line", x1=x, x2=x, y1=top, y2=bottom, class_="grid"))
        parts.append(label(x, bottom + 15, tick_text(value), room=80, anchor="middle", class_="tick", size=SMALL))
    middle, room = (scale.start + scale.end) / 2, abs(scale.end - scale.start) + 60
    if name:
        parts.append(label(middle, bottom + 33, name, room=room, anchor="middle", class_="axis", size=SMALL))
    return parts


def upward(scale: Scale, left: float, right: float, name: str, *, most: int = 6) -> list[Markup]:
    """An axis left of the picture; its name lies on top, so that nobody has to turn the head."""
    parts = []
    for value in scale.ticks(most):
        y = scale(value)
        parts.append(element("line", x1=left, x2=right, y1=y, y2=y, class_="grid"))
        parts.append(label(left - 7, y + 4, tick_text(value), room=60, anchor="end", class_="tick", size=SMALL))
    top = min(scale.start, scale.end)
    parts.append(label(2, top - 12, name, room=right - 2, class_="axis", size=SMALL))
    return parts


def names_room(names: list[str], width: float) -> float:
    """How much of the width the names at the left may take."""
    widest = max((width_of(name) for name in names), default=0.0)
    return min(1.06 * widest, 0.32 * width) + 12
