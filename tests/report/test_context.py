"""Who is held against whom in the report: only systems that rank, and only by measures that say which is better."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

import pytest

from rankproof import evaluate
from rankproof._analysis.values import mean_intervals
from rankproof._charts.draw import svg_of
from rankproof._charts.latency import ParetoAxes, ParetoPoint, pareto_chart
from rankproof._charts.model import Medium
from rankproof._report.context import ReportContext
from rankproof._report.elements import Section, SvgChart
from rankproof._report.page import render_report, render_template, template_environment, template_text
from rankproof._report.sections import FOLDED_SECTIONS, OPEN_SECTIONS
from rankproof._report.sections.latency import pareto_section
from rankproof._report.sections.systems import steps_section
from rankproof._results.experiment_result import ExperimentResult
from rankproof.measures import parse_measure
from support.answering_results import answering_results
from support.plot_results import wide_results
from support.small_results import small_results


def sections_of(results: ExperimentResult) -> dict[str, Section]:
    made = [build(ReportContext(results)) for build in (*OPEN_SECTIONS, *FOLDED_SECTIONS)]
    return {section.key: section for section in made if section is not None}


def charts_of(make: Callable[[ReportContext], Section | None], results: ExperimentResult) -> tuple[SvgChart, ...]:
    section = make(ReportContext(results))
    assert section is not None
    return section.charts


def answering_three() -> ExperimentResult:
    """bm25, another that ranks, and one that answers from bm25 and so has its ranking."""
    results = small_results(("bm25", "dense", "says"), [f"q{at}" for at in range(6)])
    first, second, last = results.system_runs
    system_runs = (first, second, replace(last, kind="answer", builds_on="bm25", stored_run=first.run))
    runs = {system_run.name: system_run.run for system_run in system_runs}
    return replace(results, system_runs=system_runs, result=evaluate(results.qrels, runs, ["nDCG@10", "RR@10"]))


def test_a_measure_without_a_better_direction_names_no_best_system() -> None:
    results = small_results(measures=["NumRet"])
    found = sections_of(results)
    assert not found["decision"].charts
    assert [*found["decision"].sentences, *found["steps"].points] == []
    assert not {"pareto", "pairs"} & {*found}
    assert not re.search(r"(?<!-)\b[Bb]est\b", "".join(str(chart) for chart in found["steps"].charts))
    assert [note for table in found["steps"].tables for note in table.notes if "best" in note] == []


def test_an_answering_system_is_not_on_the_front_nor_among_leaders() -> None:
    found = sections_of(answering_three())
    (table,) = found["pareto"].tables
    assert [row[0] for row in table.rows] == ["bm25", "dense"]
    assert not [said for said in found["pareto"].sentences if "says" in said]
    assert found["measures"].sentences[0] == "bm25 leads by 2 of 2 measures."
    assert sections_of(answering_results()).get("pareto") is None


def test_answering_systems_do_not_add_tests_to_the_correction() -> None:
    context = ReportContext(answering_three())
    assert context.comparison is not None
    assert {frozenset((pair.system, pair.other)) for pair in context.comparison.pairs} == {frozenset(("bm25", "dense"))}
    assert context.pair("says", "bm25") is None


@pytest.mark.parametrize(("less", "top"), [(False, "a"), (True, "b")])
def test_the_best_is_on_top_in_both_directions(less: bool, top: str) -> None:
    systems = [ParetoPoint("a", 1, 0.9, (0.8, 0.95), front=True), ParetoPoint("b", 5, 0.1, (0.05, 0.2), front=True)]
    picture = str(svg_of(pareto_chart(Medium(600), "pareto", "t", "d", (), systems, ParetoAxes("ms", "v", less=less))))
    heights = [float(y) for y in re.findall(r'<circle cx="[^"]*" cy="([^"]*)"', picture)]
    assert min(zip(heights, "ab", strict=True))[1] == top


def test_the_front_says_if_lower_is_better(monkeypatch: pytest.MonkeyPatch) -> None:
    results = wide_results(["a", "b"], [f"q{at}" for at in range(20)], measures=["P@5"])
    for less, said in ((False, "P@5 (better upwards)"), (True, "P@5 (lower is better, better upwards)")):
        monkeypatch.setattr(type(parse_measure("P@5")), "higher_is_better", not less)
        assert said in charts_of(pareto_section, results)[0].svg


def test_intervals_equal_those_of_the_plots_and_name_their_method() -> None:
    results = wide_results(["a", "b"], [f"q{at}" for at in range(1_200)], measures=["nDCG@10", "RR@10"])
    context = ReportContext(results)
    values = {(one.name, name): each for one in results.result.systems for name, each in one.measures.items()}
    assert context.intervals == mean_intervals(values)
    assert context.sampling == "Student's t"
    for make in (steps_section, pareto_section):
        assert all(context.sampling in chart.about for chart in charts_of(make, results))


def test_links_are_beside_the_name_and_escaped() -> None:
    results = small_results()
    linked = render_report(results, [("/", "All results"), ('/x"onclick="y', "<b>")])
    expected = '<span class="beside"><a href="/">All results</a> · <a href="/x&#34;onclick=&#34;y">&lt;b&gt;</a></span>'
    assert f'<p class="brand">rankproof {expected}</p>' in linked
    assert '<p class="brand">rankproof</p>' in render_report(results)


def test_only_sections_with_moves_have_the_legend_of_moves() -> None:
    for asked in (True, False):
        section = Section("movement" if not asked else "other", "t", "q?", has_move_legend=asked)
        assert ('class="key move-legend"' in render_template("section.html.j2", section=section)) == asked


def test_templates_are_read_once() -> None:
    assert template_environment(template_text) is template_environment(template_text)
