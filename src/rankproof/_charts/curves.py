"""Charts of curves: several systems, recall against depth, differences by query, and slopes of rank moves."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from rankproof._charts.layout import EDGE, LegendKey, composed, head_of, key_list, key_list_size, row_links
from rankproof._charts.model import (
    Area,
    Axis,
    Box,
    Chart,
    ChartLink,
    ErrorBar,
    Lines,
    Mark,
    Medium,
    Panel,
    Point,
    Scale,
    Spot,
    Tick,
    series,
    series_role,
    value_axis,
)


@dataclass(frozen=True, slots=True)
class Curve:
    """A system's values; `marked` are the indices with a marker, `spans` the intervals, `end` the number in the legend.

    `doubtful` curves have hollow markers. `addresses` are those of the marked points.
    """

    name: str
    xs: Sequence[float]
    ys: Sequence[float]
    end: float
    marked: Sequence[int]
    spans: Sequence[tuple[float, float] | None] = ()
    doubtful: bool = False
    addresses: Sequence[str] = ()


def curve_chart(
    medium: Medium, name: str, title: str, notes: Sequence[str], curves: Sequence[Curve], axes: tuple[Axis, Axis], key: str
) -> Chart:
    """The curves with a legend under the title `key`, the highest number first; below the chart if it is narrow."""
    em, head = medium.text, head_of(medium, title, notes)
    keys = _keys(medium, curves)
    wide, high = key_list_size(medium, keys)
    top = head.height + 1.8 * em
    right = medium.width - (EDGE * em if medium.narrow else wide + (EDGE + 1.5) * em)
    frame = Box((2.8 + EDGE) * em, top, right, top + max(24 * em, 0 if medium.narrow else high))
    marks = [mark for at, curve in enumerate(curves) for mark in _marks(medium, curve, at)]
    bottom = frame.bottom + 3 * em
    left, start = (EDGE * em, bottom) if medium.narrow else (right + 1.5 * em, top)
    listed = key_list(medium, keys, key, left, start)
    height = bottom + high + em if medium.narrow else bottom
    panel = Panel(frame, *axes, tuple(marks))
    links = (*_point_links(panel, curves, em), *_key_links(curves, Box(left, start, left + wide, start + high)))
    return replace(composed(medium, name, title, "", head, [panel], height, listed), links=links)


def _point_links(panel: Panel, curves: Sequence[Curve], em: float) -> Iterator[ChartLink]:
    """An area around each marked point with an address."""
    for curve in curves:
        for index, address in zip(curve.marked, curve.addresses, strict=False):
            x, y = panel.place((curve.xs[index], curve.ys[index]))
            box = Box(x - em / 2, y - em / 2, x + em / 2, y + em / 2)
            yield ChartLink(box, address, f"{curve.name}: {curve.ys[index]:.3f} at {curve.xs[index]:g}")


def _key_links(curves: Sequence[Curve], box: Box) -> tuple[ChartLink, ...]:
    """The entries of the legend lead where the last point of their curve leads; the first row is the title."""
    rows = [(curves[at].name, curves[at].addresses[-1] if curves[at].addresses else "") for at in _order(curves)]
    return tuple(replace(link, box=link.box._replace(left=box.left)) for link in row_links([("", ""), *rows], box, box.right))


def _order(curves: Sequence[Curve]) -> list[int]:
    """The order of the legend, the highest number first."""
    return sorted(range(len(curves)), key=lambda at: -curves[at].end)


def _keys(medium: Medium, curves: Sequence[Curve]) -> list[LegendKey]:
    names = medium.names([curve.name for curve in curves], 15 * medium.text, small=True)
    return [
        LegendKey(f"{curves[at].end:.3f}  {names[at]}", _role(curves[at], at), series(at).marker, line=True)
        for at in _order(curves)
    ]


def _role(curve: Curve, at: int) -> str:
    return f"{series_role(at)}{' hollow' if curve.doubtful else ''}"


def _marks(medium: Medium, curve: Curve, at: int) -> list[Mark]:
    spots = list(zip(curve.xs, curve.ys, strict=True))
    marks: list[Mark] = [
        ErrorBar((x, span[0]), (x, span[1]), 0.2 * medium.text, f"{series_role(at)} interval")
        for (x, _), span in zip(spots, curve.spans, strict=False)
        if span
    ]
    marks.append(Lines((tuple(spots),), series_role(at)))
    marker, role = series(at).marker, _role(curve, at)
    return [*marks, *(Point(*spots[index], 0.27 * medium.text, role, marker) for index in curve.marked)]


def curve_value_axis(curves: Sequence[Curve], name: str) -> Axis:
    """The axis of values from 0, up to 1 if they come near it."""
    most = max(max(curve.ys) for curve in curves)
    return value_axis(Scale(0, 1.02 if most > 0.6 else max(1.15 * most, 0.01)), name)


def differences_chart(
    medium: Medium, name: str, title: str, notes: Sequence[str], sizes: Sequence[float], keys: tuple[str, str, str], axis: str
) -> Chart:
    """`sizes` are sorted from the largest gain to the largest loss; `keys` name gains, losses and ties."""
    em = medium.text
    gains, losses, ties = keys
    head = head_of(medium, title, notes, [LegendKey(gains, "gain"), LegendKey(losses, "loss"), LegendKey(ties, "tie", line=True)])
    top = head.height + 1.8 * em
    frame = Box((3.6 + EDGE) * em, top, medium.width - EDGE * em, top + 22 * em)
    low, high = min(*sizes, 0.0), max(*sizes, 0.0)
    pad = max(0.05 * (high - low), 1e-3)
    y = value_axis(Scale(low - pad, high + pad), axis)
    x = _query_axis(len(sizes), 5 if medium.narrow else 8)
    return composed(medium, name, title, "", head, [Panel(frame, x, y, tuple(_difference_marks(sizes)))], frame.bottom + 3 * em)


def _query_axis(count: int, most: int) -> Axis:
    scale = Scale(0, count)
    ticks = tuple(Tick(value, f"{value:,.0f}") for value in scale.ticks(most) if value == int(value))
    return Axis(scale, "queries, the largest gain first", ticks, grid=False)


def _difference_marks(sizes: Sequence[float]) -> list[Mark]:
    """One area for the gains and one for the losses, which is fast for any number of queries."""
    higher, lower = sum(size > 0 for size in sizes), sum(size < 0 for size in sizes)
    equal = len(sizes) - higher - lower
    marks: list[Mark] = [Lines((((0, 0), (len(sizes), 0)),), "zero")]
    if higher:
        marks.append(Area(_outline(sizes[:higher], 0), "gain"))
    if lower:
        marks.append(Area(_outline(sizes[higher + equal :], higher + equal), "loss"))
    return [*marks, Lines((((higher, 0), (higher + equal, 0)),), "tie")] if equal else marks


def _outline(sizes: Sequence[float], first: int) -> tuple[Spot, ...]:
    steps = [(first + at + side, size) for at, size in enumerate(sizes) for side in (0, 1)]
    return (first, 0.0), *steps, (first + len(sizes), 0.0)


DEPTHS = (*range(1, 11), 12, 15, 20, 25, 30, 40, 50, 60, 70, 80, 90, 100)
_MARKED_DEPTHS = (1, 2, 3, 5, 10, 20, 50, 100)


def recall_chart(
    medium: Medium,
    title: str,
    notes: Sequence[str],
    recalls: Mapping[str, Sequence[float]],
    address: Callable[[str, int], str] | None = None,
) -> Chart:
    """The curves of the systems from their recalls at `DEPTHS`; k is on a logarithmic scale.

    `address` gives where the point of a system at a depth leads.
    """
    marked = [DEPTHS.index(depth) for depth in _MARKED_DEPTHS]
    curves = [
        Curve(name, DEPTHS, ys, ys[-1], marked, addresses=[address(name, depth) for depth in _MARKED_DEPTHS] if address else ())
        for name, ys in recalls.items()
    ]
    ticks = tuple(Tick(depth, str(depth)) for depth in _MARKED_DEPTHS)
    axes = Axis(Scale(0.93, 107, log=True), "k, number of documents", ticks), curve_value_axis(curves, "R@k")
    return curve_chart(medium, "recall", title, notes, curves, axes, "R@100")


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
