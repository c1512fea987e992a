"""Where the time goes: each system's milliseconds as parts of a whole, and how they spread."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from ...views.ladder_grid import shown_time
from .axis import NARROW, across, names_room
from .lettering import SMALL, label, width_of
from .marks import dot
from .scale import time_scale
from .svg import drawing, element

_STEP, _BAR, _TOTAL, _KEY = 34.0, 18.0, 78.0, 30.0
_LEAST_NAMED = 34.0


@dataclass(frozen=True, slots=True)
class Times:
    """A system's mean milliseconds by stage, and p50 and p95 of the whole."""

    name: str
    parts: Mapping[str, float]
    p50: float
    p95: float

    @property
    def whole(self) -> float:
        """The mean of the whole."""
        return sum(self.parts.values())


def shares(rows: Sequence[Times], title: str, about: str, *, width: float) -> Markup:
    """A bar a system as wide as the picture, cut into its stages; the mean of the whole at the right."""
    left = names_room([row.name for row in rows], width)
    used = [part for part in rows[0].parts if any(row.parts[part] > 0 for row in rows)]
    room = width - left - _TOTAL
    parts = _key(used, left)
    for at, row in enumerate(rows):
        y = _KEY + _STEP * (at + 0.5)
        parts.append(label(left - 6, y + 4.5, row.name, room=left - 8, anchor="end"))
        parts += _bar(row, used, left, y, room)
        parts.append(label(width, y + 4.5, f"{shown_time(row.whole)} ms", room=_TOTAL, anchor="end", class_="figure"))
    return drawing(width, _KEY + _STEP * len(rows) + 6, title, about, parts)


def spread(rows: Sequence[Times], title: str, about: str, *, width: float) -> Markup:
    """From p50, filled, to p95, hollow."""
    left = names_room([row.name for row in rows], width)
    scale = time_scale([time for row in rows for time in (row.p50, row.p95)], left + 8, width - 12)
    bottom = 8 + _STEP * len(rows)
    axis = "milliseconds a query" + (", logarithmic" if scale.log else "")
    parts = across(scale, 4, bottom, axis, most=5 if width < NARROW else 8)
    for at, row in enumerate(rows):
        y = 8 + _STEP * (at + 0.5)
        told = f"{row.name}: p50 {shown_time(row.p50)} ms, p95 {shown_time(row.p95)} ms"
        parts.append(label(left - 6, y + 4.5, row.name, room=left - 8, anchor="end"))
        parts.append(element("line", x1=scale(row.p50), x2=scale(row.p95), y1=y, y2=y, class_="reach"))
        parts += [dot(scale(row.p50), y, told, class_="dot best"), dot(scale(row.p95), y, told, class_="dot hollow")]
    return drawing(width, bottom + 40, title, about, parts)


def _key(used: Sequence[str], left: float) -> list[Markup]:
    parts, x = [], left
    for part in used:
        parts.append(element("rect", x=x, y=4, width=13, height=13, rx=2, class_=f"stage stage-{part}"))
        parts.append(element("rect", x=x, y=4, width=13, height=13, rx=2, class_=f"hatch hatch-{part}"))
        parts.append(label(x + 19, 15, part, room=90, size=SMALL))
        x += 19 + width_of(part, SMALL) + 20
    return parts


def _bar(row: Times, used: Sequence[str], left: float, y: float, room: float) -> list[Markup]:
    parts, x, whole = [], left, row.whole
    for part in used:
        share = row.parts[part] / whole if whole > 0 else 0.0
        if share <= 0:
            continue
        told = element("title", f"{row.name}: {part} {shown_time(row.parts[part])} ms, {share:.1%}")
        spot = {"x": x, "y": y - _BAR / 2, "width": share * room, "height": _BAR}
        parts.append(element("rect", told, class_=f"stage stage-{part}", **spot))
        parts.append(element("rect", told, class_=f"hatch hatch-{part}", **spot))
        if share * room > _LEAST_NAMED:
            middle = x + share * room / 2
            parts.append(label(middle, y + 4, f"{share:.0%}", room=40, anchor="middle", class_=f"on-{part}", size=SMALL))
        x += share * room
    return parts
