"""Both renderers draw every chart: the same words, the same number of marks, nothing outside the picture."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from xml.etree import ElementTree

import pytest
from matplotlib.text import Text

from rankproof._charts.curves import Curve, curve_chart, slope_chart
from rankproof._charts.draw import svg_of
from rankproof._charts.figure import drawable, figure_of, figure_style
from rankproof._charts.latency import SystemTimes, shares_chart, spread_chart
from rankproof._charts.layout import missing_chart
from rankproof._charts.model import Axis, Bar, Chart, Label, Medium, Point, Scale, value_axis
from rankproof._charts.rows import ValueRow, dot_chart
from rankproof._charts.text import text_width
from rankproof._plots.registry import PLOT_KINDS
from rankproof._plots.settings import PlotSettings
from rankproof._tokenizer_lab.tables import tokenizer_charts
from support.plot_results import HOSTILE, wide_input
from support.tokenizer_comparisons import wide_comparison

SVG_TEXT, SVG_SHAPES = "text", ("rect", "circle")
FILE = Medium(504, text=8.5, small=7.5, large=10.5, clean=drawable)
PHONE = Medium(340, clean=drawable)
MEDIA = {"file": FILE, "column": replace(FILE, width=245), "page": Medium(880, clean=drawable), "phone": PHONE}
TIMES = [SystemTimes(name, {"embed": 1.0, "search": 3.0, "rerank": 0.0, "generate": 9.0}, 12, 30) for name in HOSTILE[:4]]
ROWS = [ValueRow(name, 0.1 * at, f"{0.1 * at:.4f}", (0, 0.12 * at), name, best=at == 3) for at, name in enumerate(HOSTILE[:4])]
CURVES = [Curve(name, (0, 1), (0.1 * at, 0.9), 0.9, (0, 1)) for at, name in enumerate(HOSTILE)]
AXES = Axis(Scale(0, 1)), value_axis(Scale(0, 1), "value")
BUILDERS: dict[str, Callable[[Medium], Chart]] = {
    "dots": lambda medium: dot_chart(medium, ROWS, "title", "about"),
    "shares": lambda medium: shares_chart(medium, TIMES, "title", "about"),
    "spread": lambda medium: spread_chart(medium, TIMES, "title", "about"),
    "slopes": lambda medium: slope_chart(medium, {(1, 2): 3, (None, 40): 1}, HOSTILE[:2], "title", "about", 300),
    "curves": lambda medium: curve_chart(medium, "curves", "title", ["note"], CURVES, AXES, "end"),
    "missing": lambda medium: missing_chart(medium, "missing", "title", ["note"], "There is nothing to draw."),
}


def of_files() -> list[Chart]:
    settings = PlotSettings()
    charts = [chart for kind in PLOT_KINDS for chart in PLOT_KINDS[kind](wide_input(12, 9), settings)]
    comparison = wide_comparison(["a", "b"], languages=["en", "th"], edits=2)
    return [*charts, *tokenizer_charts(comparison, settings)]


def texts_of_svg(chart: Chart) -> list[str]:
    root = ElementTree.fromstring(svg_of(chart))
    return sorted((one[-1].tail if len(one) else one.text) or "" for one in root.iter(SVG_TEXT))


def texts_of_figure(chart: Chart) -> list[str]:
    with figure_style():
        return sorted(text.get_text() for text in figure_of(chart).findobj(Text) if isinstance(text, Text) and text.get_text())


def assert_alike(chart: Chart) -> None:
    assert texts_of_svg(chart) == texts_of_figure(chart), chart.name
    marks = [mark for panel in chart.panels for mark in panel.marks]
    boxes = sum(2 if mark.role.startswith("stage ") else 1 for mark in marks if isinstance(mark, Bar))
    discs = sum(isinstance(mark, Point) and mark.marker == "o" for mark in marks)
    root = ElementTree.fromstring(svg_of(chart))
    assert [len(list(root.iter(shape))) for shape in SVG_SHAPES] == [boxes, discs]


def assert_inside(chart: Chart) -> None:
    frame = chart.frame
    for panel in chart.panels:
        for mark in panel.marks:
            if isinstance(mark, Label):
                x, y = panel.place((mark.x, mark.y))
                width = text_width(mark.text, mark.size, bold="strong" in mark.role)
                left = x + mark.dx - {"start": 0.0, "middle": width / 2, "end": width}[mark.anchor]
                assert frame.left - 1 <= left, (chart.name, mark.text)
                assert left + width <= frame.right + 1, (chart.name, mark.text)
                assert frame.top <= y + mark.dy <= frame.bottom, (chart.name, mark.text)


@pytest.mark.parametrize("medium", MEDIA.values(), ids=MEDIA)
@pytest.mark.parametrize("build", BUILDERS.values(), ids=BUILDERS)
def test_a_chart_has_the_same_words_and_marks_from_both_renderers(build: Callable[[Medium], Chart], medium: Medium) -> None:
    chart = build(medium)
    assert_alike(chart)
    assert_inside(chart)


@pytest.mark.slow
def test_every_chart_of_files_can_be_drawn_for_the_page_as_well() -> None:
    charts = of_files()
    assert {chart.name for chart in charts} >= {*PLOT_KINDS, "quality", "typos", "languages"}
    for chart in charts:
        assert_alike(chart)
        assert_inside(chart)


@pytest.mark.slow
def test_building_a_chart_twice_gives_equal_values() -> None:
    assert of_files() == of_files()
    assert all(build(PHONE) == build(PHONE) for build in BUILDERS.values())
