"""The report as text: the same bytes each time, no more power than its policy gives, and sections for what there is."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from html import unescape
from pathlib import Path

import numpy as np
import pytest

from rankproof import evaluate
from rankproof._data.dataset import Queries
from rankproof._data.qrels import Qrels
from rankproof._report.context import ReportContext
from rankproof._report.elements import Section, signed_difference
from rankproof._report.page import render_report
from rankproof._report.sections import FINDING_SECTIONS, REFERENCE_SECTIONS
from rankproof._results.experiment_result import TIME_COLUMNS, ExperimentResult
from rankproof._results.folder import load_results, save_results
from support.answering_results import answering_results
from support.hostile_results import harmful_results
from support.plot_results import wide_results
from support.small_results import small_results

SECTIONS = (
    *("verdict", "systems", "pareto", "latency", "measures", "segments", "diagnosis", "movement", "unjudged"),
    *("notes", "provenance", "definitions"),
)


def sections_of(results: ExperimentResult) -> dict[str, Section]:
    context = ReportContext(results)
    made = [build(context) for build in (*FINDING_SECTIONS, *REFERENCE_SECTIONS)]
    return {section.key: section for section in made if section is not None}


def made_results(systems: int = 4, queries: int = 30) -> ExperimentResult:
    return wide_results([f"system-{at}" for at in range(systems)], [f"q{at}" for at in range(queries)])


def without_times(results: ExperimentResult) -> ExperimentResult:
    count = len(results.queries)
    return replace(
        results,
        system_runs=tuple(
            replace(system_run, times=dict.fromkeys(TIME_COLUMNS, np.zeros(count))) for system_run in results.system_runs
        ),
    )


def test_the_same_results_give_the_same_bytes_also_from_their_folder(tmp_path: Path) -> None:
    results = made_results()
    save_results(results, tmp_path / "out")
    first, again = load_results(tmp_path / "out"), load_results(tmp_path / "out")
    assert render_report(results) == render_report(results)
    assert render_report(first) == render_report(again)


def test_the_policy_allows_the_script_and_the_style_of_the_page_alone() -> None:
    page = render_report(made_results())
    (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)
    rules = dict(rule.split(" ", 1) for rule in unescape(policy).split("; "))
    assert rules["default-src"] == rules["connect-src"] == rules["base-uri"] == rules["form-action"] == "'none'"
    for tag, rule in (("script", "script-src"), ("style", "style-src")):
        (text,) = re.findall(rf"<{tag}>(.*?)</{tag}>", page, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert rules[rule] == f"'sha256-{digest}'"


@pytest.mark.parametrize("make", [made_results, harmful_results, answering_results])
def test_markup_has_no_styles_handlers_or_addresses_of_its_own(make: Callable[[], ExperimentResult]) -> None:
    body = re.sub(r"<script.*?</script>", "", render_report(make()).partition("</head>")[2], flags=re.DOTALL)
    tags = re.findall(r"<[a-z][^>]*>", body)
    assert tags
    assert not [tag for tag in tags if re.search(r"\s(style|on[a-z]+|src|srcdoc|xlink:href)\s*=", tag)]
    assert {link[:1] for tag in tags for link in re.findall(r'\shref="([^"]*)', tag)} == {"#"}


def test_sections_come_in_their_order() -> None:
    assert tuple(sections_of(made_results())) == SECTIONS


@pytest.mark.parametrize(
    ("results", "missing"),
    [
        (without_times(made_results()), {"pareto", "latency"}),
        (made_results(systems=1), {"pareto", "movement"}),
        (small_results(measures=["NumRet"]), {"pareto", "segments", "movement"}),
        (replace(made_results(), texts=Queries([]), snippets={}), {"segments"}),
        (small_results(("a",), ("q",)), {"pareto", "movement", "segments"}),
    ],
    ids=["no times", "one system", "counts alone", "no texts", "one query"],
)
def test_missing_data_has_no_section(results: ExperimentResult, missing: set[str]) -> None:
    assert set(SECTIONS) - set(sections_of(results)) == missing
    assert render_report(results).endswith("</html>")


def test_answers_and_chunks_have_sections() -> None:
    results = answering_results()
    found = sections_of(replace(results, chunks=results.result))
    assert list(found)[-6:] == ["answers", "chunks", "unjudged", "notes", "provenance", "definitions"]
    assert any("says" in point for point in found["answers"].points)
    assert {"nDCG@10", "F1(tokens='set')"} <= {term.word for term in found["definitions"].terms}


def results_with_periods(periods: Mapping[str, int], count: int = 40) -> ExperimentResult:
    """Systems that have the relevant document first, but for the first query and every so many after it."""
    queries, docs = [f"q{at}" for at in range(count)], [f"d{at}" for at in range(4)]
    scores = {
        name: {
            query: {docs[(place + (at % period == 0)) % 4]: 1 / (1 + place) for place in range(4)}
            for at, query in enumerate(queries)
        }
        for name, period in periods.items()
    }
    return small_results(tuple(periods), queries, docs, scores=scores)


def twin_results() -> ExperimentResult:
    """Two systems that differ on next to no query, and a worse one."""
    return results_with_periods({"good": 40, "twin": 39, "bad": 1})


def test_the_verdict_names_the_best_system_and_those_not_significantly_worse() -> None:
    found = sections_of(twin_results())["verdict"]
    assert found.lead.startswith("good has the highest nDCG@10 of 3 systems")
    assert found.lead.endswith("but is not significantly better than twin.")
    assert any(sentence.startswith("No significant difference between good and twin in nDCG@10") for sentence in found.sentences)
    assert any("no significant difference" in warning for warning in found.warnings)


def test_the_lowest_value_is_best_if_lower_is_better() -> None:
    results = made_results()
    result = evaluate(results.qrels, {system_run.name: system_run.run for system_run in results.system_runs}, ["Unjudged@10"])
    best = min(result.means, key=lambda name: result.means[name]["Unjudged@10"])
    assert ReportContext(replace(results, result=result)).best == best


def test_a_count_names_no_winner() -> None:
    assert sections_of(small_results(measures=["NumRet"]))["verdict"].lead == "NumRet does not say which system is better."


def test_an_answering_system_is_not_compared_with_its_baseline() -> None:
    results = answering_results()
    bm25, says = results.system_runs
    same = replace(results, system_runs=(bm25, replace(says, run=bm25.run)))
    assert ReportContext(same).best_systems == ["bm25"]
    assert ReportContext(same).not_distinguishable == []


def test_answers_have_a_sentence_in_the_verdict() -> None:
    found = sections_of(answering_results())["verdict"]
    assert found.lead.endswith("there is no other ranking to compare it with.")
    (said,) = [sentence for sentence in found.sentences if sentence.startswith("says answers, with F1")]
    assert re.search(r"F1\(tokens='set'\) \d\.\d{4} over \d+ queries with a reference answer", said)
    unknown = sections_of(replace(answering_results(), answers=None))["verdict"]
    assert "says answers; there are no reference answers to evaluate them with." in unknown.sentences


def test_systems_without_a_significant_difference_are_not_called_better() -> None:
    results = twin_results()
    slow = {name: np.full(len(results.queries), time) for name, time in (("good", 1.0), ("twin", 9.0), ("bad", 20.0))}
    system_runs = tuple(
        replace(system_run, times={**system_run.times, "total": slow[system_run.name]}) for system_run in results.system_runs
    )
    said = " ".join(sections_of(replace(results, system_runs=system_runs))["pareto"].sentences)
    assert "good shows no significant difference in quality from twin" in said
    assert "and is faster: 1.00 ms against 9.00 ms." in said
    assert "good is better and no slower than bad" in said
    assert "no slower than twin" not in said


def test_tied_systems_are_all_named_best() -> None:
    same = {query: {"d1": 1.0} for query in ("q1", "q2")}
    worse = {query: {"d4": 1.0, "d1": 0.5} for query in ("q1", "q2")}
    scores = {"one": same, "two": same, "last": worse}
    card = sections_of(small_results(("one", "two", "last"), ("q1", "q2"), scores=scores))["verdict"].figures[0]
    assert (card.label, card.value, card.about) == ("Best systems", "one and two", "of 3, tied")


def test_one_system_is_neither_slowest_nor_ordered() -> None:
    found = sections_of(small_results(("bm25",), ("q",)))
    assert found["latency"].sentences[0].startswith("bm25 takes ")
    assert "order" not in found["verdict"].warnings[0]
    assert found["verdict"].figures[0].label == "System"
    page = render_report(small_results(("bm25",), ("q",)))
    assert "n = 1 queries" not in page


def test_the_power_warning_has_the_range_over_the_pairs() -> None:
    results = results_with_periods({"a": 40, "b": 20, "c": 13})
    context = ReportContext(results)
    found = [pair.detectable for pair in context.comparisons if pair.verdict == "not significant" and pair.detectable]
    least, most = (f"{100 * each:.2f}" for each in (min(found), max(found)))
    assert least != most
    assert any(
        f"under {least} to {most} pp, depending on the pair," in warning for warning in sections_of(results)["verdict"].warnings
    )


def test_an_interval_without_0_and_no_significant_difference_is_explained() -> None:
    results = results_with_periods({"a": 60, "b": 10, "c": 9, "d": 8}, 60)
    pairs = [pair for pair in ReportContext(results).comparisons if pair.verdict == "not significant" and pair.observed.interval]
    assert any(pair.observed.interval and pair.observed.interval[0] > 0 for pair in pairs)
    notes = sections_of(results)["verdict"].folded[0].notes
    assert any("an interval without 0 can come with 'not significant'" in note for note in notes)


def test_a_table_without_rows_explains_no_columns() -> None:
    results = small_results(("bm25",), ("q1", "q2"))
    page = render_report(results)
    assert "No query fails." in page
    assert "<summary>What the columns mean" not in page.split("No query fails.")[1].split("</div>")[0]


def test_a_difference_shown_as_zero_has_no_sign() -> None:
    one = ReportContext(made_results()).one
    assert [signed_difference(each, one) for each in (-1e-6, 1e-6, 0.01, -0.01)] == ["0.00 pp", "0.00 pp", "+1.00 pp", "-1.00 pp"]


def test_one_answering_system_has_a_sentence_and_charts_with_intervals() -> None:
    found = sections_of(answering_results())["answers"]
    assert any(re.fullmatch(r"Answers: the F1\(tokens='set'\) of says is [\d.]+ \(n = \d+\)\.", point) for point in found.points)
    assert any('class="whisker"' in chart.svg for chart in found.charts)
    assert not any("e-05" in chart.svg for chart in found.charts)


def test_segments_by_relevant_documents_have_a_full_name() -> None:
    results = made_results()
    grades = {query: {f"d{doc}": 1 for doc in range(1 + at % 2)} for at, query in enumerate(results.queries)}
    found = sections_of(replace(results, qrels=Qrels.from_dict(grades)))["segments"]
    captions = [sheet.caption for sheet in (*found.tables, *found.folded)]
    assert sum("by number of relevant documents" in caption for caption in captions) == 2
    assert not any("by relevant" in caption for caption in captions)


def test_definitions_name_the_gain() -> None:
    results = small_results(measures=["nDCG@10", "nDCG(gain='exp')@10"])
    meant = {term.word: term.meaning for term in sections_of(results)["definitions"].terms}
    assert meant["nDCG@10"].endswith("Gain: the grade.")
    assert meant["nDCG(gain='exp')@10"].endswith("Gain: 2^grade - 1.")


def test_few_queries_and_unjudged_documents_are_warnings() -> None:
    warnings = sections_of(small_results())["verdict"].warnings
    assert warnings[0].startswith("3 queries are very few")
    assert any("are unjudged" in warning for warning in warnings)


def test_every_chart_has_a_text_alternative_with_its_numbers() -> None:
    for section in sections_of(made_results()).values():
        for chart in section.charts:
            assert re.search(r"<title>[^<]+</title><desc>[^<]*\d[^<]*</desc>", chart.svg), chart.title
