"""Charts as SVG: escaped, within their frame, and true to the numbers."""

from __future__ import annotations

import math
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankproof._analysis.pareto import dominated_by, pareto_front
from rankproof._charts.curves import bin_moves, move_kind, slope_chart
from rankproof._charts.draw import svg_of
from rankproof._charts.latency import ParetoAxes, ParetoPoint, SystemTimes, pareto_chart, place_labels, shares_chart, spread_chart
from rankproof._charts.model import Axis, Box, Chart, Label, Medium, Panel, Scale, free_panel, time_scale, value_scale
from rankproof._charts.rows import ValueRow, dot_chart
from rankproof._charts.text import fitted, text_width
from rankproof.errors import escape_invisible
from support.hostile_results import TEXTS

ranks = st.one_of(st.none(), st.integers(1, 3000))
moves = st.lists(st.tuples(ranks, ranks).filter(lambda move: move != (None, None)), max_size=60)
times = st.floats(1e-4, 1e6)


def parsed(chart: Chart) -> ElementTree.Element:
    return ElementTree.fromstring(svg_of(chart))


def places(scale: Scale, values: list[float]) -> list[float]:
    panel = Panel(Box(10, 0, 300, 1), Axis(scale), Axis(Scale(0, 1)))
    return [panel.place((value, 0))[0] for value in values]


@pytest.mark.parametrize("text", TEXTS)
def test_any_text_is_one_text_of_the_picture(text: str) -> None:
    medium = Medium(10)
    label = Label(1, 1, text, 8, role=text, tip=text)
    found = parsed(Chart("name", text, text, medium, 10, (free_panel(medium, 10, [label]),)))
    assert [child.tag for child in found] == ["title", "desc", "text"]
    assert [child.text for child in found[:2]] == [escape_invisible(text)] * 2
    assert [*found[2].itertext()] == [escape_invisible(text)] * 2
    assert found[2].attrib["class"] == escape_invisible(text)


@given(st.text(max_size=80), st.floats(20, 400))
def test_a_fitted_text_has_room(text: str, room: float) -> None:
    found = fitted(text, room, 13)
    assert text_width(found, 13) <= room
    first, _, last = found.partition("…")
    assert found == text or (text.startswith(first) and text.endswith(last))


def test_names_that_differ_at_their_end_differ_when_cut() -> None:
    assert len({fitted(f"{'a system ' * 20}{number}", 120, 13) for number in range(1, 4)}) == 3


@given(st.lists(times, min_size=1, max_size=20))
def test_times_keep_their_order_and_stay_in_the_frame(values: list[float]) -> None:
    scale = time_scale(values)
    found = places(scale, sorted(values))
    assert found == sorted(found)
    assert all(10 <= place <= 300 for place in found)
    assert all(scale.low <= tick <= scale.high for tick in scale.ticks())


@given(st.lists(st.floats(-1, 1), min_size=1, max_size=20))
def test_values_stay_in_the_frame_and_ticks_are_few(values: list[float]) -> None:
    scale = value_scale(values)
    assert all(10 <= place <= 300 for place in places(scale, values))
    assert len(scale.ticks(6)) <= 8


@pytest.mark.parametrize(("values", "low", "high"), [([0.0], 0.0, 0.05), ([1.0], 0.94, 1.0), ([0.0, 1.0], 0.0, 1.0)])
def test_an_axis_ends_where_its_measure_does(values: list[float], low: float, high: float) -> None:
    scale = value_scale(values, (0.0, 1.0))
    assert (scale.low, scale.high) == pytest.approx((low, high))


def test_ticks_are_round() -> None:
    assert Scale(0.41, 0.83).ticks(5) == [0.5, 0.6, 0.7, 0.8]
    assert Scale(0.02, 80, log=True).ticks(8) == [0.03, 0.1, 0.3, 1, 3, 10, 30]


@given(moves)
def test_binning_ranks_keeps_the_count_of_each_kind_of_move(found: list[tuple[int | None, int | None]]) -> None:
    together = bin_moves(found)
    assert together.total() == len(found)
    kinds = [move_kind(move) for move in found]
    for kind in set(kinds):
        assert sum(times for move, times in together.items() if move_kind(move) == kind) == kinds.count(kind)


@given(moves)
def test_slopes_stay_in_the_picture(found: list[tuple[int | None, int | None]]) -> None:
    picture = parsed(slope_chart(Medium(300), bin_moves(found), ("a", "b"), "t", "d", 200))
    for path in picture.iter("path"):
        for point in path.attrib["d"].replace("M", " ").replace("L", " ").split()[1::2]:
            assert 0 <= float(point) <= 200
    for line in picture.iter("line"):
        assert all(0 <= float(line.attrib[end]) <= 200 for end in ("y1", "y2"))


@given(st.lists(st.tuples(st.text(max_size=60), st.floats(0, 1), st.text(max_size=60)), min_size=1, max_size=8), st.booleans())
def test_long_words_leave_room_for_the_dots(systems: list[tuple[str, float, str]], wide: bool) -> None:
    width = 880 if wide else 340
    rows = [ValueRow(name, value, f"{value:.4f}", None, aside) for name, value, aside in systems]
    picture = parsed(dot_chart(Medium(width), rows, "t", "d"))
    left = max((float(one.attrib["x"]) for one in picture.iter("text") if one.attrib["text-anchor"] == "end"), default=0)
    assert all(left < float(dot.attrib["cx"]) < width - 50 for dot in picture.iter("circle"))


def test_a_dot_lies_between_the_ends_of_its_interval() -> None:
    rows = [ValueRow("a", 0.5, "0.5000", (0.4, 0.6)), ValueRow("b", 0.7, "0.7000", (0.65, 0.72), "+0.2", best=True)]
    picture = parsed(dot_chart(Medium(800), rows, "t", "d"))
    spots = [float(circle.attrib["cx"]) for circle in picture.iter("circle")]
    whiskers = [line for line in picture.iter("line") if line.attrib["class"] == "whisker"]
    lines = [(float(line.attrib["x1"]), float(line.attrib["x2"])) for line in whiskers]
    spans = [span for span in lines if span[0] != span[1]]
    assert all(low < place < high for place, (low, high) in zip(spots, spans, strict=True))
    assert spots[0] < spots[1]


def test_bars_are_as_wide_as_their_shares() -> None:
    first = SystemTimes("a", {"embed": 1.0, "search": 3.0, "rerank": 0.0}, 3, 5)
    rows = [first, SystemTimes("b", {"embed": 0.0, "search": 2.0, "rerank": 2.0}, 3, 9)]
    picture = parsed(shares_chart(Medium(800), rows, "t", "d"))
    bars = [one for one in picture.iter("rect") if one.attrib["class"].startswith("stage ") and float(one.attrib["height"]) > 15]
    widths = [float(one.attrib["width"]) for one in bars]
    assert widths[0] * 3 == pytest.approx(widths[1], rel=1e-3)
    assert widths[2] == pytest.approx(widths[3])
    marks = [one.attrib.get("class") for one in parsed(spread_chart(Medium(300), rows, "t", "d"))]
    assert (marks.count("dot best"), marks.count("dot hollow")) == (2, 2)


def test_the_front_is_one_line_over_its_points() -> None:
    systems = (("a", 1, 0.1, True), ("b", 5, 0.05, False), ("c", 9, 0.4, True))
    points = [ParetoPoint(name, time, value, front=on) for name, time, value, on in systems]
    picture = parsed(pareto_chart(Medium(600), "pareto", "t", "d", (), points, ParetoAxes("ms", "v")))
    (line,) = [one for one in picture.iter("path") if one.attrib["class"] == "front"]
    assert line.attrib["d"].count("L") == 2
    assert [one.attrib["class"] for one in picture.iter("circle")] == ["dot best", "dot hollow", "dot best"]


@given(st.dictionaries(st.text("abc", min_size=1, max_size=3), st.tuples(times, st.floats(0, 1)), min_size=1))
def test_a_system_is_on_the_front_or_beaten_by_one_that_is(systems: dict[str, tuple[float, float]]) -> None:
    waits, worths = ({name: pair[at] for name, pair in systems.items()} for at in (0, 1))
    best = pareto_front(waits, worths)
    assert best
    for name in systems:
        beaten = dominated_by(waits, worths, name)
        assert (name in best) == (not beaten)
        assert name in best or set(beaten) & set(best)


def test_names_beside_dots_do_not_cover_each_other() -> None:
    spots = [(100.0, 100.0), (104.0, 101.0), (96.0, 99.0)]
    boxes = place_labels(spots, [60.0] * 3, 13.0, [], Box(0, 0, 400, 300))
    assert all(math.isclose(one.shared(other), 0) for at, one in enumerate(boxes) for other in boxes[at + 1 :])
