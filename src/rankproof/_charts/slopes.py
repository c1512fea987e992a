"""Rank movement: each relevant document's rank before and after as a line; those that go the same way are one thicker line."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Literal

from rankproof._charts.layout import composed, head_of
from rankproof._charts.model import Axis, Chart, Lines, Mark, Medium, Panel, Tick
from rankproof._charts.placement import Box, Spot
from rankproof._charts.scale import Scale

Way = Literal["kept", "demoted", "promoted", "lost", "found"]
WAYS: tuple[Way, ...] = ("kept", "demoted", "promoted", "lost", "found")
"""In the order in which they are drawn: what matters most lies on top."""
Move = tuple[int | None, int | None]
"""A rank before and one after; None is not retrieved."""
_EDGES = (*range(1, 11), 12, 15, 20, 25, 32, 40, 50, 64, 80, 100, 140, 200, 300, 500, 700, 1000, 1 << 62)
_NAMED = (1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000)
_WIDEST = 7.0
_NOWHERE = 1.14
"""Where what was not retrieved lies, below the deepest rank at 1."""


def way_of(move: Move) -> Way:
    """What the move is called."""
    before, after = move
    if before is None or after is None:
        return "found" if before is None else "lost"
    return "promoted" if after < before else "demoted" if after > before else "kept"


def binned(moves: Iterable[Move]) -> Counter[Move]:
    """The moves counted, deep ranks put together as no eye could tell them apart; the way of each stays what it was."""
    found: Counter[Move] = Counter()
    for move in moves:
        before, after = map(_bin, move)
        found[move if way_of((before, after)) != way_of(move) else (before, after)] += 1
    return found


def slope_chart(
    medium: Medium, moves: Mapping[Move, int], names: tuple[str, str], title: str, about: str, height: float
) -> Chart:
    """The moves from the system at the left to the one at the right, with how often each happened."""
    ranks = [rank for move in moves for rank in move if rank is not None]
    deepest, em = min(max(ranks, default=1), _NAMED[-1]), medium.text
    head = head_of(medium, title, ())
    frame = Box(3 * em, head.height + 2.6 * em, medium.width - 3 * em, head.height + height - em)
    scale = Scale(0, _NOWHERE)
    ticks = [Tick(_depth(rank, deepest), str(rank)) for rank in _NAMED if rank <= deepest]
    left = Axis(scale, ticks=(*ticks, Tick(_NOWHERE, "none")), reverse=True)
    right = Axis(scale, ticks=left.ticks, grid=False, reverse=True, opposite=True)
    panel = Panel(frame, Axis(Scale(0, 1)), left, tuple(_lines(moves, deepest)))
    room = medium.width / 2 - 3 * em
    heads = [
        medium.label(names[0], frame.left, head.height + em, room, role="strong"),
        medium.label(names[1], frame.right, head.height + em, room, anchor="end", role="strong"),
    ]
    panels = [panel, Panel(frame, Axis(Scale(0, 1)), right)]
    return composed(medium, "slopes", title, about, head, panels, head.height + height, heads)


def _depth(rank: int | None, deepest: int) -> float:
    """Ranks as depths on a logarithmic scale."""
    return _NOWHERE if rank is None else math.log(min(rank, deepest)) / math.log(max(deepest, 2))


def _lines(moves: Mapping[Move, int], deepest: int) -> list[Mark]:
    """For each way one mark for each width of line, thin ones first."""
    most, found = max(moves.values(), default=1), list[Mark]()
    for way in WAYS:
        sizes: dict[float, list[tuple[Spot, ...]]] = {}
        for move, times in sorted(moves.items(), key=lambda each: (each[1], str(each[0]))):
            if way_of(move) == way:
                size = round(1 + (_WIDEST - 1) * math.sqrt((times - 1) / max(most - 1, 1)), 1)
                sizes.setdefault(size, []).append(((0.0, _depth(move[0], deepest)), (1.0, _depth(move[1], deepest))))
        found += [Lines(tuple(lines), f"move {way}", size) for size, lines in sorted(sizes.items())]
    return found


def _bin(rank: int | None) -> int | None:
    return None if rank is None else _EDGES[bisect_left(_EDGES, rank)]
