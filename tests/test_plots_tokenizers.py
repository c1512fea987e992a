"""The charts of a comparison: there where there is something to draw, the same bytes each time, unharmed by any name."""

from __future__ import annotations

import numpy as np
import pytest

from compared import comparison_of, entry_of, wide_comparison
from plot_cases import HOSTILE
from rankproof.plots.canvas import drawing
from rankproof.plots.sheet import PlotSettings
from rankproof.plots.tokenizers import tokenizer_pictures
from rankproof.plots.tokenizers_time import latency

QUICK = PlotSettings(dpi=50)


def test_charts_are_drawn_for_what_there_is() -> None:
    assert list(tokenizer_pictures(wide_comparison(["a", "b"]), QUICK)) == ["quality", "latency", "pareto"]
    every = tokenizer_pictures(wide_comparison(["a", "b"], languages=["own", "th"], edits=2), QUICK)
    assert list(every) == ["quality", "latency", "pareto", "typos", "languages"]
    assert all(picture.startswith(b"\x89PNG") for picture in every.values())


def test_the_same_comparison_gives_the_same_bytes() -> None:
    one, other = (tokenizer_pictures(wide_comparison(["a", "b"], edits=1), QUICK) for _ in range(2))
    assert one == other


@pytest.mark.parametrize(("width", "names"), [(3.3, HOSTILE[:3]), (7.0, HOSTILE)], ids=["narrow", "wide"])
def test_hostile_names_are_drawn(width: float, names: tuple[str, ...]) -> None:
    comparison = wide_comparison(names, languages=["own", "<b>"], edits=1)
    assert len(tokenizer_pictures(comparison, PlotSettings(width=width, dpi=50))) == 5


def test_the_line_of_100_ms_is_drawn_and_slow_queries_are_counted() -> None:
    comparison = comparison_of([entry_of("quick", [[0.5, 0.4]], ms=1.0), entry_of("slow", [[0.4, 0.6]], ms=150.0)])
    with drawing():
        stack, spread = latency(comparison, QUICK).figure.axes
    assert [np.asarray(line.get_xdata()).tolist() for line in stack.get_lines()] == [[100.0, 100.0]]
    assert "2 slow" in [text.get_text() for text in spread.texts]


def test_systems_without_spread_or_time_are_drawn() -> None:
    comparison = comparison_of([entry_of("none", [[0.0, 0.0]], ms=0.0)])
    assert len(tokenizer_pictures(comparison, QUICK)) == 3
