"""Charts: whatever the names and however many, every letter lies inside the picture, and it says what it rests on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache

import matplotlib
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib import colormaps
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.text import Text
from matplotlib.textpath import text_to_path

from rankproof._analysis.inputs import AnalysisInput, input_from_results, join_inputs
from rankproof._analysis.pareto import pareto_front, stage_means
from rankproof._analysis.query_groups import group_queries
from rankproof._analysis.values import mean_intervals
from rankproof._charts.figure import FONT, drawable, figure_of, figure_style
from rankproof._charts.model import DARK_TEXT_FROM, HEAT_SCALE, Chart, Label, series
from rankproof._charts.text import fitted, fitted_names, text_width, wrapped
from rankproof._plots.charts import MOST, draw_plots, means_by, query_differences
from rankproof._plots.registry import PLOT_KINDS
from rankproof._plots.settings import PlotSettings, of_measure
from rankproof._report.context import ReportContext
from rankproof._results.decision_settings import DecisionSettings
from rankproof.errors import UsageError
from support.examples import crossed
from support.plot_results import HOSTILE, hostile_results, wide_input, wide_results

CASES: dict[str, Callable[[], AnalysisInput]] = {
    "hostile": lambda: input_from_results(hostile_results()),
    "30 systems": lambda: wide_input(30, 12),
    "one system": lambda: wide_input(1, 5),
    "one query": lambda: wide_input(2, 1),
    "10 systems": lambda: wide_input(10, 25),
}


@cache
def case_inputs(case: str) -> AnalysisInput:
    return CASES[case]()


def drawn(kind: str, inputs: AnalysisInput, settings: PlotSettings | None = None) -> list[Chart]:
    with figure_style():
        charts: list[Chart] = PLOT_KINDS[kind](inputs, settings or PlotSettings(dpi=100))
        return charts


def figure_drawn(chart: Chart) -> Figure:
    with figure_style():
        figure = figure_of(chart)
        figure.draw_without_rendering()
    return figure


def texts_of(figure: Figure) -> list[Text]:
    """All that can be read."""
    return [text for text in figure.findobj(Text) if isinstance(text, Text) and text.get_text().strip()]


def said(chart: Chart) -> str:
    return " ".join(text.get_text() for text in texts_of(figure_drawn(chart)))


@pytest.mark.parametrize(("kind", "case"), crossed(dict.fromkeys(PLOT_KINDS, tuple(CASES))))
def test_no_text_leaves_the_chart_and_none_is_parsed_as_a_formula(kind: str, case: str) -> None:
    for chart in drawn(kind, case_inputs(case)):
        figure = figure_drawn(chart)
        width, height = figure.bbox.width, figure.bbox.height
        for text in texts_of(figure):
            box = text.get_window_extent()
            inside = box.x0 >= -1 and box.y0 >= -1 and box.x1 <= width + 1 and box.y1 <= height + 1
            assert inside, (chart.name, text.get_text(), box)
            assert not text.get_parse_math()
            assert text.get_text().isprintable()


@pytest.mark.parametrize("kind", PLOT_KINDS)
def test_a_chart_for_one_column_of_a_page_keeps_its_text_inside_too(kind: str) -> None:
    for chart in drawn(kind, wide_input(4, 12), PlotSettings(width=3.4, dpi=100)):
        figure = figure_drawn(chart)
        for text in texts_of(figure):
            box = text.get_window_extent()
            assert box.x0 >= -1, (chart.name, text.get_text())
            assert box.x1 <= figure.bbox.width + 1, (chart.name, text.get_text())


@pytest.mark.parametrize("kind", PLOT_KINDS)
def test_every_chart_says_the_data_and_the_number_of_queries(kind: str) -> None:
    (chart,) = drawn(kind, wide_input(3, 12))
    assert "tiny, n = 12 queries" in said(chart)


@pytest.mark.parametrize(
    ("kind", "measure"),
    [
        *((kind, "Normalised discounted cumulative gain") for kind in ("bars", "pareto", "differences", "segments")),
        ("recall", "Recall"),
        ("precision-recall", "Interpolated precision at a recall"),
        ("latency", "milliseconds"),
    ],
)
def test_a_chart_says_its_measure_in_full(kind: str, measure: str) -> None:
    (chart,) = drawn(kind, wide_input(3, 12))
    assert measure in said(chart)


def test_charts_of_one_measure_are_drawn_for_each_that_was_asked_for() -> None:
    charts = drawn("differences", wide_input(3, 12), PlotSettings(all_measures=True))
    assert [chart.name for chart in charts] == ["differences-nDCG@10", "differences-RR@10", "differences-R@20"]


def test_a_chart_without_times_says_so() -> None:
    inputs = replace(wide_input(2, 4), system_runs=())
    for kind in ("pareto", "latency"):
        (chart,) = drawn(kind, inputs)
        assert "Run files have no times" in chart.missing
        assert "Run files have no times" in said(chart)


def test_one_system_has_no_differences_and_the_chart_says_so() -> None:
    (chart,) = drawn("differences", wide_input(1, 4))
    assert "There is only one system" in said(chart)


def test_measures_that_are_no_means_have_bars_and_no_differences() -> None:
    inputs = input_from_results(wide_results(["a", "b"], ["q1", "q2"], measures=["NumRet"]))
    assert "no intervals" in said(drawn("bars", inputs)[0])
    for kind in ("pareto", "differences", "segments"):
        assert drawn(kind, inputs)[0].missing == "No evaluated measure is a mean over the queries."


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=12))
def test_exactly_the_nondominated_systems_are_on_the_front(points: list[tuple[int, int]]) -> None:
    times = {str(at): float(time) for at, (time, _) in enumerate(points)}
    values = {str(at): float(value) for at, (_, value) in enumerate(points)}
    best = set(pareto_front(times, values))
    for name in times:
        beaten = any(
            (times[other] < times[name] and values[other] >= values[name])
            or (times[other] <= times[name] and values[other] > values[name])
            for other in times
        )
        assert (name in best) is not beaten


@pytest.mark.parametrize(
    ("measure", "label"), [("nDCG@10", "better upwards"), ("Unjudged@10", "lower is better, better upwards")]
)
def test_the_best_is_on_top_in_both_directions(measure: str, label: str) -> None:
    inputs = input_from_results(wide_results(["a", "b", "c"], [f"q{at}" for at in range(25)], measures=[measure]))
    (chart,) = drawn("pareto", inputs)
    panel = chart.panels[0]
    values = inputs.result.means
    heights = {name: panel.place((1.0, each[measure]))[1] for name, each in values.items()}
    choose = min if measure == "Unjudged@10" else max
    assert min(heights, key=heights.__getitem__) == choose(values, key=lambda name: values[name][measure])
    assert panel.y.name == f"{measure} ({label})"


def test_an_answering_system_is_not_on_the_front() -> None:
    results = wide_results(["bm25", "says"], [f"q{at}" for at in range(5)])
    first, second = results.system_runs
    (chart,) = drawn("pareto", input_from_results(replace(results, system_runs=(first, replace(second, kind="answer")))))
    assert "bm25" in said(chart)
    assert "says" not in said(chart)


def test_intervals_name_their_method() -> None:
    inputs = wide_input(2, 1250)
    for kind in ("bars", "differences", "pareto"):
        assert "Student's t" in said(drawn(kind, inputs)[0])


def test_the_report_and_the_charts_have_the_same_intervals() -> None:
    results = wide_results(["a", "b"], [f"q{at}" for at in range(1250)], measures=["nDCG@10"])
    values = of_measure(input_from_results(results), "nDCG@10")
    mine = mean_intervals(values)
    assert {name: ReportContext(results).intervals[name, "nDCG@10"] for name in values} == mine


def test_a_difference_has_the_interval_that_compare_gives_it() -> None:
    results = wide_results(["a", "b", "c"], [f"q{at}" for at in range(40, 0, -1)], measures=["nDCG@10"])
    gaps = query_differences(input_from_results(results), "nDCG@10", PlotSettings(system="b", against="a"))
    pair = ReportContext(results).pair("b", "a")
    assert pair
    assert gaps.interval == pytest.approx(pair.ci, abs=1e-12)


def test_a_count_names_no_winner_in_bold() -> None:
    inputs = input_from_results(wide_results(["a", "b"], [f"q{at}" for at in range(25)], measures=["nDCG@10", "Judged@10"]))
    (chart,) = drawn("bars", inputs)
    roles = [[mark.role for mark in panel.marks if isinstance(mark, Label)] for panel in chart.panels[:2]]
    assert [each.count("figure strong") for each in roles] == [1, 0]


def test_differences_fall_and_their_counts_are_all_queries() -> None:
    inputs = wide_input(3, 25)
    settings = PlotSettings(system=inputs.systems[0], against=inputs.systems[2])
    gaps = query_differences(inputs, "nDCG@10", settings)
    assert (np.diff(gaps.sizes) <= 0).all()
    assert sum(gaps.counts) == len(gaps.queries) == 25
    values = {system.name: system.measures["nDCG@10"].per_query for system in inputs.result.systems}
    for query, size in zip(gaps.queries, gaps.sizes.tolist(), strict=True):
        assert size == pytest.approx(values[gaps.system][query] - values[gaps.other][query], abs=1e-12)
    assert (gaps.system, gaps.other) == (inputs.systems[0], inputs.systems[2])


def test_the_best_system_is_compared_with_the_one_it_builds_on() -> None:
    inputs = wide_input(3, 25)
    gaps = query_differences(inputs, "nDCG@10", PlotSettings())
    system_run = next(system_run for system_run in inputs.system_runs if system_run.name == gaps.system)
    best = max(inputs.result.means.items(), key=lambda item: item[1]["nDCG@10"])
    assert (gaps.system, gaps.other) == (best[0], system_run.builds_on)


def test_a_best_system_that_builds_on_no_other_is_compared_with_the_baseline() -> None:
    inputs = wide_input(3, 25)
    one = query_differences(inputs, "nDCG@10", PlotSettings()).system
    inputs = replace(inputs, system_runs=tuple(replace(run, builds_on=None) for run in inputs.system_runs))
    first, *others = (name for name in inputs.systems if name != one)
    assert query_differences(inputs, "nDCG@10", PlotSettings()).other == first
    named = replace(inputs, decision_settings=DecisionSettings(baseline=others[0]))
    assert query_differences(named, "nDCG@10", PlotSettings()).other == others[0]


@pytest.mark.parametrize("kind", ["pareto", "latency"])
def test_times_of_two_experiments_are_not_in_one_chart(kind: str) -> None:
    one, other = (replace(wide_input(2, 5), name=name) for name in ("old", "new"))
    (chart,) = draw_plots(join_inputs([one, other]), [kind], PlotSettings(), "svg")
    assert chart.missing == "Not comparable: old and new were timed in different runs."
    (drawn,) = draw_plots(one, [kind], PlotSettings(), "svg")
    assert not drawn.missing


def test_a_system_is_not_compared_with_itself() -> None:
    inputs = wide_input(3, 4)
    name = inputs.systems[1]
    with pytest.raises(UsageError, match="compared with itself"):
        query_differences(inputs, "nDCG@10", PlotSettings(system=name, against=name))


def test_a_cell_of_the_heat_map_is_the_mean_of_its_segment() -> None:
    inputs = wide_input(3, 10)
    values = of_measure(inputs, "nDCG@10")
    grouping = group_queries(inputs, "category")
    sizes, means = means_by(grouping, values)
    assert sum(sizes.values()) == 10
    for row, segment in enumerate(sizes):
        for column, one in enumerate(values.values()):
            each = [one.per_query[query] for query in grouping.segments[segment]]
            assert means[row, column] == pytest.approx(sum(each) / len(each), abs=1e-12)


def test_of_very_many_segments_the_largest_are_drawn() -> None:
    results = wide_results(["a", "b"], [f"q{at}" for at in range(60)])
    fields = {f"q{at}": str(min(at, 50)) for at in range(60)}
    inputs = input_from_results(results)
    texts = inputs.texts
    assert texts is not None
    queries = type(texts)([replace(texts[query], fields={"category": fields[query]}) for query in texts])
    (chart,) = drawn("segments", replace(inputs, texts=queries))
    assert f"the {MOST} largest of 51 segments" in said(chart)
    assert "50 (n = 10)" in said(chart)


def test_the_stages_of_a_bar_add_up_to_the_total() -> None:
    for system_run in wide_input(5, 9).system_runs:
        total = system_run.time_of("total")
        assert total is not None
        assert sum(stage_means(system_run).values()) == pytest.approx(total.mean)


def test_no_two_of_77_systems_look_alike() -> None:
    assert len({(series(at).colour, series(at).marker) for at in range(77)}) == 77


@pytest.mark.parametrize("text", HOSTILE)
def test_names_keep_their_room_and_both_their_ends(text: str) -> None:
    whole = drawable(text)
    short = fitted(whole, 72, 8.5)
    assert text_width(short, 8.5) <= 72
    assert short == whole or (short[0] == whole[0] and short[-1] == whole[-1] and "…" in short)
    assert all(text_width(line, 8.5) <= 144 for line in wrapped(f"{whole} {whole} {whole}", 144, 8.5))


@pytest.mark.parametrize("text", [*HOSTILE, "Größe naïve Ångström", "Привет, мир", "ΑΒΓ αβγ", "→ ≤ 95% … —", "mmmWWW@%"])
@pytest.mark.parametrize("weight", ["normal", "bold"])
def test_no_text_is_wider_than_estimated(text: str, weight: str) -> None:
    font = FontProperties(family=[FONT], size=8.5, weight=weight)
    width = text_to_path.get_text_width_height_descent(drawable(text), font, ismath=False)[0]
    assert width <= text_width(drawable(text), 8.5, bold=weight == "bold")


def test_text_in_a_heat_map_has_the_colour_of_more_contrast() -> None:
    """WCAG 2: black and white have equal contrast on a luminance of 0.179."""
    for level in np.linspace(0, 1, 200):
        parts = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in colormaps[HEAT_SCALE](level)]
        luminance = 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]
        assert abs(luminance - 0.179) < 0.003 or (level >= DARK_TEXT_FROM) == (luminance > 0.179)


def test_names_that_would_be_equal_when_shortened_get_numbers() -> None:
    names = [f"{'the same beginning ' * 3}{middle}{' and the same end' * 3}" for middle in "ba"]
    short = fitted_names([*names, "other"], 108, 8.5)
    assert all(text_width(name, 8.5) <= 108 for name in short)
    assert short[0].endswith("(2)")
    assert short[1].endswith("(1)")
    assert short[2] == "other"


@pytest.mark.parametrize("kind", PLOT_KINDS)
def test_no_chart_shows_two_systems_under_one_name(kind: str) -> None:
    names = [f"{'zyx the same beginning ' * 3}{middle}{' and the same end' * 3}" for middle in "ba"]
    inputs = input_from_results(wide_results(names, [f"q{at}" for at in range(25)], measures=["nDCG@10"]))
    text = said(drawn(kind, inputs)[0])
    assert "(1)" in text or "zyx" not in text, "the systems have one name"
    assert ("(1)" in text) == ("(2)" in text)


def test_the_settings_of_the_user_are_neither_changed_nor_used() -> None:
    inputs = wide_input(2, 4)
    before = draw_plots(inputs, ["bars"], PlotSettings(dpi=50), "svg")
    with matplotlib.rc_context({"font.size": 33.0, "text.parse_math": True, "svg.hashsalt": "mine"}):
        mine = matplotlib.rcParams.copy()
        again = draw_plots(inputs, ["bars"], PlotSettings(dpi=50), "svg")
        assert all(dict.__getitem__(matplotlib.rcParams, name) == dict.__getitem__(mine, name) for name in mine)
    assert again == before
