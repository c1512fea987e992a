"""Recall against depth: R@k of each system for k from 1 to 100."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from rankproof._charts.curves import Curve, curve_chart, curve_value_axis
from rankproof._charts.model import Axis, Chart, Medium, Scale, Tick

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
