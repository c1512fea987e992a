"""Rank movement: each relevant document's rank before and after as a line; those that go the same way are one thicker line."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from markupsafe import Markup

from .lettering import SMALL, label
from .svg import drawing, element, number

Way = Literal["kept", "demoted", "promoted", "lost", "found"]
WAYS: tuple[Way, ...] = ("kept", "demoted", "promoted", "lost", "found")
"""In the order in which they are drawn: what matters most lies on top."""
Move = tuple[int | None, int | None]
"""A rank before and one after; None is not retrieved."""
_EDGES = (*range(1, 11), 12, 15, 20, 25, 32, 40, 50, 64, 80, 100, 140, 200, 300, 500, 700, 1000, 1 << 62)
_NAMED = (1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000)
_TOP, _SIDE, _NOWHERE = 40.0, 38.0, 30.0
_WIDEST = 7.0


@dataclass(frozen=True, slots=True)
class _Ladder:
    """Ranks as heights: logarithmic down to the deepest, and below it the line of those not retrieved."""

    deepest: int
    height: float

    @property
    def nowhere(self) -> float:
        """Where what was not retrieved lies."""
        return self.height - 26

    def __call__(self, rank: int | None) -> float:
        if rank is None:
            return self.nowhere
        bottom = self.nowhere - _NOWHERE
        return _TOP + (bottom - _TOP) * math.log(min(rank, self.deepest)) / math.log(max(self.deepest, 2))


def way_of(move: Move) -> Way:
    """What the move is called."""
    before, after = move
    if before is None or after is None:
        return "found" if before is None else "lost"
    return "promoted" if after < before else "demoted" if after > before else "kept"


def slopes(moves: Mapping[Move, int], names: tuple[str, str], title: str, about: str, *, width: float, height: float) -> Markup:
    """The moves from the system at the left to the one at the right, with how often each happened."""
    ranks = [rank for move in moves for rank in move if rank is not None]
    ladder = _Ladder(min(max(ranks, default=1), _NAMED[-1]), height)
    left, right = _SIDE, width - _SIDE
    parts = [
        label(left, 14, names[0], room=width / 2 - _SIDE / 2 - 20, class_="strong"),
        label(right, 14, names[1], room=width / 2 - _SIDE / 2 - 20, anchor="end", class_="strong"),
        *_sides(ladder, left, right),
    ]
    most = max(moves.values(), default=1)
    for way in WAYS:
        for size, path in _paths(moves, way, ladder, (left, right), most):
            parts.append(element("path", d=path, class_=f"move {way}", stroke_width=size))
    return drawing(width, height, title, about, parts)


def binned(moves: Iterable[Move]) -> Counter[Move]:
    """The moves counted, deep ranks put together as no eye could tell them apart; the way of each stays what it was."""
    found: Counter[Move] = Counter()
    for move in moves:
        before, after = map(_bin, move)
        found[move if way_of((before, after)) != way_of(move) else (before, after)] += 1
    return found


def _bin(rank: int | None) -> int | None:
    return None if rank is None else _EDGES[bisect_left(_EDGES, rank)]


def _paths(
    moves: Mapping[Move, int], way: Way, ladder: _Ladder, sides: tuple[float, float], most: int
) -> list[tuple[float, str]]:
    """One path for each width of line, thin ones first."""
    found: dict[float, list[str]] = {}
    for move, times in sorted(moves.items(), key=lambda each: (each[1], str(each[0]))):
        if way_of(move) == way:
            size = round(1 + (_WIDEST - 1) * math.sqrt((times - 1) / max(most - 1, 1)), 1)
            start, end = (number(ladder(rank)) for rank in move)
            found.setdefault(size, []).append(f"M{number(sides[0])} {start}L{number(sides[1])} {end}")
    return [(size, "".join(lines)) for size, lines in sorted(found.items())]


def _sides(ladder: _Ladder, left: float, right: float) -> list[Markup]:
    """The ranks at both sides."""
    parts = []
    ranks = [rank for rank in _NAMED if rank <= ladder.deepest]
    for rank in (*ranks, None):
        y, text = ladder(rank), "none" if rank is None else str(rank)
        parts.append(element("line", x1=left, x2=right, y1=y, y2=y, class_="grid"))
        parts.append(label(left - 6, y + 4, text, room=_SIDE, anchor="end", class_="tick", size=SMALL))
        parts.append(label(right + 6, y + 4, text, room=_SIDE, class_="tick", size=SMALL))
    return parts
