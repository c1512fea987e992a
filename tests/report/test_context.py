"""Who is held against whom in the report: only systems that rank, and only by measures that say which is better."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

import pytest

from rankproof import evaluate
from rankproof._analysis.values import mean_intervals
from rankproof._charts.model import Medium
from rankproof._charts.pareto import ParetoAxes, ParetoPoint, pareto_chart
from rankproof._charts.svg import svg_of
from rankproof._report.context import ReportContext
from rankproof._report.elements import Section, SvgChart
from rankproof._report.page import render_report, render_template, template_environment, template_text
from rankproof._report.sections import FINDING_SECTIONS
from rankproof._report.sections.latency import pareto_section
from rankproof._report.sections.systems import systems_section
from rankproof._results.experiment_result import ExperimentResult
from rankproof.measures import parse_measure
from support.answering_results import answering_results
from support.plot_results import wide_results
from support.small_results import small_results


def sections_of(results: ExperimentResult) -> dict[str, Section]:
    made = [make(ReportContext(results)) for make in FINDING_SECTIONS]
    return {section.key: section for section in made if section is not None}


def charts_of(make: Callable[[ReportContext], Section | None], results: ExperimentResult) -> tuple[SvgChart, ...]:
    section = make(ReportContext(results))
    assert section is not None
    return section.charts


def answering_three() -> ExperimentResult:
    """bm25, another that ranks, and one that answers from bm25 and so has its ranking."""
    results = small_results(("bm25", "dense", "says"), [f"q{at}" for at in range(6)])
    first, second, last = results.system_runs
    system_runs = (first, second, replace(last, kind="answer", baseline="bm25", run=first.run))
    runs = {system_run.name: system_run.run for system_run in system_runs}
    return replace(results, system_runs=system_runs, result=evaluate(results.qrels, runs, ["nDCG@10", "RR@10"]))


def test_where_a_measure_names_no_winner_no_part_of_the_page_names_one() -> None:
    results = small_results(measures=["NumRet"])
    found = sections_of(results)
    assert [figure.label for figure in found["verdict"].figures] == ["Queries"]
    assert [*found["verdict"].sentences, *found["verdict"].folded, *found["ladder"].points] == []
    assert "pareto" not in found
    assert not re.search(r"(?<!-)\b[Bb]est\b", "".join(str(chart) for chart in found["ladder"].charts))
    assert [note for table in found["ladder"].tables for note in table.notes if "best" in note] == []


def test_a_system_that_answers_is_no_rival_on_the_front_nor_among_leaders() -> None:
    found = sections_of(answering_three())
    (table,) = found["pareto"].tables
    assert table.grid.rows == ("bm25", "dense")
    assert not [said for said in found["pareto"].sentences if "says" in said]
    assert found["measures"].sentences == ("bm25 leads by 2 of 2 measures.",)
    assert sections_of(answering_results()).get("pareto") is None


def test_identical_rankings_of_answers_are_no_tests_that_others_pay_for() -> None:
    material = ReportContext(answering_three())
    assert [{pair.observed.one, pair.observed.other} for pair in material.comparisons] == [{"bm25", "dense"}]
    assert material.comparison("says", "bm25") is None


@pytest.mark.parametrize(("less", "top"), [(False, "a"), (True, "b")])
def test_the_best_is_on_top_whichever_end_of_the_measure_that_is(less: bool, top: str) -> None:
    systems = [ParetoPoint("a", 1, 0.9, (0.8, 0.95), front=True), ParetoPoint("b", 5, 0.1, (0.05, 0.2), front=True)]
    picture = str(svg_of(pareto_chart(Medium(600), "pareto", "t", "d", (), systems, ParetoAxes("ms", "v", less=less))))
    heights = [float(y) for y in re.findall(r'<circle cx="[^"]*" cy="([^"]*)"', picture)]
    assert min(zip(heights, "ab", strict=True))[1] == top


def test_the_front_says_where_less_is_better(monkeypatch: pytest.MonkeyPatch) -> None:
    results = wide_results(["a", "b"], [f"q{at}" for at in range(20)], measures=["P@5"])
    for less, said in ((False, "P@5 (better upwards)"), (True, "P@5 (less is better, better upwards)")):
        monkeypatch.setattr(type(parse_measure("P@5")), "higher_is_better", not less)
        assert said in charts_of(pareto_section, results)[0].svg


def test_intervals_are_those_of_the_plots_and_say_how_they_were_made() -> None:
    results = wide_results(["a", "b"], [f"q{at}" for at in range(1_200)], measures=["nDCG@10", "RR@10"])
    material = ReportContext(results)
    values = {(one.name, name): each for one in results.result.systems for name, each in one.measures.items()}
    assert material.intervals == mean_intervals(values)
    assert material.sampling == "bootstrap, BCa, 8,333 resamples"
    for make in (systems_section, pareto_section):
        assert all(material.sampling in chart.about for chart in charts_of(make, results))


def test_links_stand_beside_the_maker_where_they_are_given_and_are_only_text() -> None:
    results = small_results()
    linked = render_report(results, [("/", "All results"), ('/x"onclick="y', "<b>")])
    expected = '<span class="beside"><a href="/">All results</a> · <a href="/x&#34;onclick=&#34;y">&lt;b&gt;</a></span>'
    assert f'<p class="maker">rankproof {expected}</p>' in linked
    assert '<p class="maker">rankproof</p>' in render_report(results)


def test_the_key_of_moves_stands_where_a_section_asks_for_it() -> None:
    for asked in (True, False):
        section = Section("movement" if not asked else "other", "t", "q?", has_move_legend=asked)
        assert ('class="key ways"' in render_template("section.html.j2", section=section)) == asked


def test_templates_are_read_once() -> None:
    assert template_environment(template_text) is template_environment(template_text)
