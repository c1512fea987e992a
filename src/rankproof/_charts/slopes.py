"""Slope chart of rank moves: one line for each relevant document, thicker for equal moves."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Literal

from rankproof._charts.layout import composed, head_of
from rankproof._charts.model import Axis, Box, Chart, Lines, Mark, Medium, Panel, Scale, Spot, Tick

MoveKind = Literal["kept", "demoted", "promoted", "lost", "found"]
MOVE_KINDS: tuple[MoveKind, ...] = ("kept", "demoted", "promoted", "lost", "found")
"""In drawing order, the most important on top."""
Move = tuple[int | None, int | None]
"""A rank in the baseline and one in the system; None if not retrieved."""
_EDGES = (*range(1, 11), 12, 15, 20, 25, 32, 40, 50, 64, 80, 100, 140, 200, 300, 500, 700, 1000, 1 << 62)
_NAMED = (1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000)
_WIDEST = 7.0
_NOT_RETRIEVED = 1.14
"""The depth of documents that were not retrieved; the deepest rank is at 1."""


def move_kind(move: Move) -> MoveKind:
    """The kind of a move."""
    before, after = move
    if before is None or after is None:
        return "found" if before is None else "lost"
    return "promoted" if after < before else "demoted" if after > before else "kept"


def bin_moves(moves: Iterable[Move]) -> Counter[Move]:
    """The number of moves by binned rank; a bin never changes the kind of a move."""
    counts: Counter[Move] = Counter()
    for move in moves:
        before, after = map(_bin, move)
        counts[move if move_kind((before, after)) != move_kind(move) else (before, after)] += 1
    return counts


def slope_chart(
    medium: Medium, moves: Mapping[Move, int], names: tuple[str, str], title: str, about: str, height: float
) -> Chart:
    """The moves from the system at the left to the one at the right, with their counts."""
    ranks = [rank for move in moves for rank in move if rank is not None]
    deepest, em = min(max(ranks, default=1), _NAMED[-1]), medium.text
    head = head_of(medium, title, ())
    frame = Box(3 * em, head.height + 2.6 * em, medium.width - 3 * em, head.height + height - em)
    scale = Scale(0, _NOT_RETRIEVED)
    ticks = [Tick(_depth(rank, deepest), str(rank)) for rank in _NAMED if rank <= deepest]
    left = Axis(scale, ticks=(*ticks, Tick(_NOT_RETRIEVED, "none")), reverse=True)
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
    """The depth of a rank on a logarithmic scale."""
    return _NOT_RETRIEVED if rank is None else math.log(min(rank, deepest)) / math.log(max(deepest, 2))


def _lines(moves: Mapping[Move, int], deepest: int) -> list[Mark]:
    """One mark for each kind of move and line width, thin lines first."""
    most, marks = max(moves.values(), default=1), list[Mark]()
    for kind in MOVE_KINDS:
        sizes: dict[float, list[tuple[Spot, ...]]] = {}
        for move, times in sorted(moves.items(), key=lambda item: (item[1], str(item[0]))):
            if move_kind(move) == kind:
                size = round(1 + (_WIDEST - 1) * math.sqrt((times - 1) / max(most - 1, 1)), 1)
                sizes.setdefault(size, []).append(((0.0, _depth(move[0], deepest)), (1.0, _depth(move[1], deepest))))
        marks += [Lines(tuple(lines), f"move {kind}", size) for size, lines in sorted(sizes.items())]
    return marks


def _bin(rank: int | None) -> int | None:
    return None if rank is None else _EDGES[bisect_left(_EDGES, rank)]
