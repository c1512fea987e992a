"""The picture of the decision: how far every other system is from the chosen one, with intervals and the margin."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from rankproof._analysis.compare.comparison import Comparison
from rankproof._analysis.decision.sentences import margin_text
from rankproof._analysis.values import format_points
from rankproof._charts.rows import ValueRow, dot_chart
from rankproof._report.elements import MANY_SYSTEMS, SvgChart, chart_of_widths
from rankproof._report.links import pair_link
from rankproof._statistics.intervals import Interval
from rankproof.errors import for_message
from rankproof.measures._base import Measure
from rankproof.measures._parse import parse_measure

_WIDTH = 470.0
_ROW, _LOW_ROW = 2.2, 1.5
"""The height of a row in text sizes, and with many systems."""


@dataclass(frozen=True, slots=True)
class _Reference:
    """The system that the others are compared with, and the difference of each other system from it, with its interval."""

    system: str
    differences: Mapping[str, tuple[float, Interval | None]]


def difference_charts(comparison: Comparison) -> tuple[SvgChart, ...]:
    """A chart for each measure, the one that decides first; none with one system."""
    return tuple(_chart(comparison, measure, reference) for measure, reference in _references(comparison))


def _references(comparison: Comparison) -> Iterator[tuple[str, _Reference]]:
    decision = comparison.decision
    for measure in comparison.measures:
        first = {pair.other: (-pair.difference, _reverse(pair.ci)) for pair in decision.against}
        if measure == comparison.primary and decision.first is not None and first:
            yield measure, _Reference(decision.first, first)
            continue
        for system in filter(None, (decision.first, comparison.baseline)):
            others = _tested(comparison, measure, system)
            if others and len(others) == len(comparison.systems) - 1:
                yield measure, _Reference(system, others)
                break


def _tested(comparison: Comparison, measure: str, system: str) -> dict[str, tuple[float, Interval | None]]:
    """The difference of each other system from this one by a measure, as it was tested."""
    pairs = [pair for pair in comparison.pairs if pair.measure == measure and system in (pair.system, pair.other)]
    turned = [pair if pair.other == system else pair.swapped() for pair in pairs]
    return {pair.system: (pair.difference, pair.ci) for pair in turned}


def _reverse(interval: Interval | None) -> Interval | None:
    return None if interval is None else (-interval[1], -interval[0])


def _chart(comparison: Comparison, name: str, reference: _Reference) -> SvgChart:
    measure, is_primary = parse_measure(name), name == comparison.primary
    sign = -1.0 if measure.higher_is_better is False else 1.0
    all_differences = {reference.system: (0.0, None), **reference.differences}
    order = sorted(all_differences, key=lambda system: -sign * all_differences[system][0])
    rows = [_row(measure, reference, system, all_differences[system]) for system in order]
    title = f"{name}: difference from {for_message(reference.system)}"
    about = "; ".join(f"{row.name} {row.shown}" for row in rows)
    margin = comparison.decision.margin if is_primary else 0.0
    band = (-margin, margin)
    step = _ROW if len(rows) <= MANY_SYSTEMS else _LOW_ROW
    return chart_of_widths(
        lambda medium: dot_chart(medium, rows, title, about, step=step, band=band),
        title,
        " ".join(_key(measure, margin)),
        len(rows),
        width=_WIDTH,
        measure=name,
    )


def _key(measure: Measure, margin: float) -> Iterator[str]:
    yield "Paired differences with 95% intervals, best first."
    if margin:
        yield f"Shaded: within the margin of {margin_text(margin, measure)}."
    if measure.higher_is_better is False:
        yield "Lower is better."


def _row(measure: Measure, reference: _Reference, system: str, difference: tuple[float, Interval | None]) -> ValueRow:
    size, interval = difference
    if system == reference.system:
        return ValueRow(system, 0.0, "0", best=True, address=pair_link(system, None, str(measure)))
    shown = f"{'+' if size > 0 else ''}{format_points(size, measure)}"
    return ValueRow(system, size, shown, interval, address=pair_link(system, reference.system, str(measure)))
