"""The charts of a comparison: there where there is something to draw, the same bytes each time, unharmed by any name."""

from __future__ import annotations

import pytest

from rankproof._charts.model import Label, Lines, Panel
from rankproof._plots.settings import PlotSettings
from rankproof._tokenizer_lab.tables import draw_tokenizer_charts, latency
from support.plot_results import HOSTILE
from support.tokenizer_comparisons import comparison_of, entry_of, wide_comparison

QUICK = PlotSettings(dpi=50)


@pytest.mark.slow
def test_charts_are_drawn_for_what_there_is() -> None:
    assert list(draw_tokenizer_charts(wide_comparison(["a", "b"]), QUICK)) == ["quality", "latency", "pareto"]
    every = draw_tokenizer_charts(wide_comparison(["a", "b"], languages=["own", "th"], edits=2), QUICK)
    assert list(every) == ["quality", "latency", "pareto", "typos", "languages"]
    assert all(picture.startswith(b"\x89PNG") for picture in every.values())


@pytest.mark.slow
def test_the_same_comparison_gives_the_same_bytes() -> None:
    one, other = (draw_tokenizer_charts(wide_comparison(["a", "b"], edits=1), QUICK) for _ in range(2))
    assert one == other


@pytest.mark.slow
@pytest.mark.parametrize(("width", "names"), [(3.3, HOSTILE[:3]), (7.0, HOSTILE)], ids=["narrow", "wide"])
def test_hostile_names_are_drawn(width: float, names: tuple[str, ...]) -> None:
    comparison = wide_comparison(names, languages=["own", "<b>"], edits=1)
    assert len(draw_tokenizer_charts(comparison, PlotSettings(width=width, dpi=50))) == 5


def test_the_line_of_100_ms_is_drawn_and_slow_queries_are_counted() -> None:
    comparison = comparison_of([entry_of("quick", [[0.5, 0.4]], ms=1.0), entry_of("slow", [[0.4, 0.6]], ms=150.0)])
    stack, spread, _ = latency(comparison, QUICK).panels
    assert limits(stack) == limits(spread) == [100.0, 100.0]
    assert [mark.text.partition(", ")[2] for mark in spread.marks if isinstance(mark, Label)] == ["", "2 slow"]


def limits(panel: Panel) -> list[float]:
    """The times that are marked by a line."""
    return [x for mark in panel.marks if isinstance(mark, Lines) and mark.role == "limit" for x, _ in mark.lines[0]]


def test_systems_without_spread_or_time_are_drawn() -> None:
    comparison = comparison_of([entry_of("none", [[0.0, 0.0]], ms=0.0)])
    assert len(draw_tokenizer_charts(comparison, QUICK)) == 3
