"""The report as text: the same bytes each time, no more power than its policy gives, and sections for what there is."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from html import unescape
from pathlib import Path
from urllib.parse import parse_qs

import numpy as np
import pytest

from rankproof import evaluate
from rankproof._analysis.compare.comparison import compare_inputs
from rankproof._analysis.inputs import input_from_results
from rankproof._data.dataset import Queries, Query
from rankproof._data.qrels import Qrels
from rankproof._report.context import ReportContext
from rankproof._report.elements import Section, as_sentence, signed_difference
from rankproof._report.page import render_report
from rankproof._report.sections import FOLDED_SECTIONS, OPEN_SECTIONS
from rankproof._results.experiment_result import TIME_COLUMNS, ExperimentResult
from rankproof._results.folder import load_results, save_results
from support.answering_results import answering_results
from support.bench_systems import saved_systems
from support.examples import sampled
from support.explorer_pages import blocks_of
from support.hostile_results import harmful_results
from support.plot_results import wide_results
from support.small_results import small_results

SECTIONS = (
    *("decision", "systems", "warnings", "pairs", "steps", "pareto", "latency", "measures", "recall", "segments"),
    *("diagnosis", "movement", "unjudged", "notes", "provenance", "definitions"),
)


def sections_of(results: ExperimentResult) -> dict[str, Section]:
    context = ReportContext(results)
    made = [build(context) for build in (*OPEN_SECTIONS, *FOLDED_SECTIONS)]
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


@pytest.mark.parametrize("make", sampled([harmful_results, made_results, answering_results], 3))
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
        (made_results(systems=1), {"pairs", "pareto", "movement"}),
        (small_results(measures=["NumRet"]), {"pairs", "pareto", "segments", "movement"}),
        (replace(made_results(), texts=Queries([]), snippets={}), {"segments"}),
        (small_results(("a",), ("q",)), {"pairs", "pareto", "movement", "segments"}),
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


def test_the_page_begins_with_the_decision() -> None:
    results = twin_results()
    decision = compare_inputs(input_from_results(results)).decision
    found = sections_of(results)["decision"]
    assert " ".join((found.lead, *found.sentences)) == str(decision)
    assert decision.decided
    assert (decision.systems, decision.baseline) == (("good",), None)
    assert not found.figures


def test_the_picture_has_every_system_against_the_chosen_one_best_first_with_the_margin() -> None:
    results = results_with_periods({"weak": 1, "bm25": 2, "good": 40})
    decision = compare_inputs(input_from_results(results)).decision
    chart = sections_of(results)["decision"].charts[0]
    names = re.findall(r'<text[^>]* text-anchor="end"[^>]*>(good|bm25|weak)</text>', chart.svg)
    assert names == ["good", "bm25", "weak"]
    shown = [f"{-100 * pair.difference:.2f} pp" for pair in decision.against]
    assert len(shown) == 2
    assert all(number in chart.svg for number in shown)
    assert 'class="band"' in chart.svg
    assert f"Shaded: within the margin of {100 * decision.margin:g} pp." in chart.about


def test_a_row_of_the_picture_leads_to_the_queries_on_which_the_system_loses_most() -> None:
    chart = sections_of(results_with_periods({"weak": 1, "bm25": 2, "good": 40}))["decision"].charts[0]
    addresses = re.findall(r'<a href="#queries\?([^"]*)">', chart.svg)
    assert [parse_qs(unescape(address)) for address in addresses] == [
        {"a": ["good"], "sort": ["value"], "measure": ["nDCG@10"]},
        {"a": ["bm25"], "b": ["good"], "sort": ["difference"], "measure": ["nDCG@10"]},
        {"a": ["weak"], "b": ["good"], "sort": ["difference"], "measure": ["nDCG@10"]},
    ]
    assert 'role="group"' in chart.svg


def test_other_measures_have_their_own_picture_and_table_without_a_margin() -> None:
    sections = sections_of(made_results())
    measures = [chart.measure for chart in sections["decision"].charts]
    assert measures == [name for name, _ in sections["systems"].by_measure]
    assert len(measures) > 1
    assert all('class="band"' not in chart.svg or "Shaded" not in chart.about for chart in sections["decision"].charts[1:])
    assert "is exploratory" in sections["systems"].by_measure[1][1].notes[0]
    page = render_report(made_results())
    for measure in measures[1:]:
        assert len(re.findall(rf'data-measure="{re.escape(measure)}" hidden', page)) == 2


@pytest.mark.slow
def test_many_systems_leave_out_what_every_pair_has() -> None:
    names = [f"system {at:02}" for at in range(25)]
    page = render_report(wide_results(names, [f"q{at}" for at in range(40)], growth=1.1))
    assert page.count("exploratory: every pair of systems") == 0
    assert page.count('class="chart small"') == 5
    assert len(page) < 1_000_000


@pytest.mark.slow
def test_25_systems_on_the_sample_fit_in_a_megabyte(tmp_path: Path) -> None:
    pairs = [(k1, b) for k1 in (0.6, 0.9, 1.2, 1.5) for b in (0.2, 0.4, 0.6, 0.8)]
    lexical = "".join(f'[systems.bm25-{at:02}]\nstage = "bm25"\nk1 = {k1}\nb = {b}\n\n' for at, (k1, b) in enumerate(pairs))
    fused = "".join(f'[systems.fused-{at}]\nstage = "fuse"\nof = ["bm25-{at:02}", "bm25-15"]\n\n' for at in range(9))
    results = load_results(saved_systems(tmp_path / "many", systems=f"\n{lexical}{fused}"))
    page = render_report(results)
    assert len(results.system_runs) == 25
    assert len(page.encode()) < 1_000_000
    assert len(blocks_of(page)["details"]["documents"]["ids"]) > 200


def test_an_open_decision_names_the_leading_system() -> None:
    found = sections_of(small_results())["decision"]
    assert found.lead.startswith("Not decided: ")
    assert not found.figures


def test_only_what_most_readers_need_is_open() -> None:
    page = render_report(made_results())
    parts = re.findall(r'<section id="(\w+)" class="([^"]*)"', page)
    assert [key for key, kind in parts if "folded" not in kind] == ["decision", "systems", "warnings", "queries"]
    assert page.count('<details class="fold">') == len(parts) - 4
    assert "<details open" not in page


def test_pairs_by_other_measures_are_exploratory() -> None:
    results = made_results()
    found = sections_of(results)["pairs"]
    assert [table.title for table in (*found.tables, *found.folded)] == [
        "nDCG@10: every pair of systems",
        "RR@10, exploratory: every pair of systems",
        "R@20, exploratory: every pair of systems",
    ]
    assert sections_of(results)["measures"].sentences[-1].startswith("Measures other than nDCG@10 are exploratory")


def test_the_lowest_value_is_best_if_lower_is_better() -> None:
    results = made_results()
    result = evaluate(results.qrels, {system_run.name: system_run.run for system_run in results.system_runs}, ["Unjudged@10"])
    best = min(result.means, key=lambda name: result.means[name]["Unjudged@10"])
    assert ReportContext(replace(results, result=result)).best_systems == [best]


def test_a_count_names_no_winner() -> None:
    assert sections_of(small_results(measures=["NumRet"]))["decision"].lead == "NumRet does not say which system is better."


def test_an_answering_system_is_not_compared_with_its_baseline() -> None:
    results = answering_results()
    bm25, says = results.system_runs
    same = replace(results, system_runs=(bm25, replace(says, stored_run=bm25.run)))
    assert ReportContext(same).best_systems == ["bm25"]
    comparison = ReportContext(same).comparison
    assert comparison is not None
    assert comparison.systems == ("bm25",)


def test_answers_have_a_sentence_in_the_decision() -> None:
    found = sections_of(answering_results())["decision"]
    assert found.lead.startswith("One system, so nothing to decide: bm25 has ")
    (said,) = [sentence for sentence in found.sentences if sentence.startswith("says answers, with F1")]
    assert re.search(r"F1\(tokens='set'\) \d\.\d{4} over \d+ queries with a reference answer", said)
    unknown = sections_of(replace(answering_results(), answers=None))["decision"]
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


def test_one_system_is_neither_slowest_nor_ordered() -> None:
    found = sections_of(small_results(("bm25",), ("q",)))
    assert found["latency"].sentences[0].startswith("bm25 takes ")
    assert not found["decision"].charts
    page = render_report(small_results(("bm25",), ("q",)))
    assert "n = 1 queries" not in page


def test_a_table_without_rows_explains_no_columns() -> None:
    results = small_results(("bm25",), ("q1", "q2"))
    page = render_report(results)
    assert "No query fails." in page
    assert "<summary>What the columns mean" not in page.split("No query fails.")[1].split("</div>")[0]


def test_a_difference_shown_as_zero_has_no_sign() -> None:
    one = ReportContext(made_results()).measured
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
    captions = [sheet.title for sheet in (*found.tables, *found.folded)]
    assert sum("by number of relevant documents" in caption for caption in captions) == 3
    assert not any("by relevant" in caption for caption in captions)


def categorised(*measures: str) -> ExperimentResult:
    """Results of 24 queries in two categories."""
    results = small_results(("a", "b"), tuple(f"q{at:02}" for at in range(24)), measures=list(measures))
    fields = ({"category": "xy"[at % 2]} for at in range(len(results.queries)))
    return replace(
        results, texts=Queries([Query(query, "kettle", fields=each) for query, each in zip(results.queries, fields, strict=True)])
    )


def test_segments_are_rated_in_words_by_a_measure_with_bands() -> None:
    found = sections_of(categorised("nDCG@10", "Success@5", "RR"))
    (rated,) = [sheet for sheet in found["segments"].tables if "rated by the bands" in sheet.title]
    assert rated.title.startswith("Success@5 of each segment by ")
    assert rated.title.endswith("of the profile tutorial")
    assert [row[1] for row in rated.rows] == [12, 12]
    shown = [str(cell) for row in rated.rows for cell in row[2:]]
    assert shown
    assert all(re.match(r"[\d.]+ (good|weak|failing|too few queries)", text) for text in shown), shown
    assert rated.sentences[0].startswith("Bands of the profile tutorial: ")


@pytest.mark.parametrize("field", ["n", "value", "rating", "band", "system"])
def test_a_field_may_have_the_name_of_a_column(field: str) -> None:
    results = categorised("nDCG@10", "Success@5")
    texts = [Query(query, "kettle", fields={field: "xy"[at % 2]}) for at, query in enumerate(results.queries)]
    found = sections_of(replace(results, texts=Queries(texts)))["segments"]
    (rated,) = [sheet for sheet in found.tables if "rated by the bands" in sheet.title]
    assert all(str(cell).partition(" ")[2] for row in rated.rows for cell in row[2:])


def test_segments_are_not_rated_without_a_measure_with_bands() -> None:
    found = sections_of(categorised("nDCG@10"))
    assert not [sheet for sheet in found["segments"].tables if "rated by" in sheet.title]
    assert not [sheet for sheet in found["measures"].folded if "band" in sheet.title]


def test_counted_complexity_is_named_so_and_noted() -> None:
    results = made_results()
    texts = {query: f"kettle{' with a lid' * (at % 4)}" for at, query in enumerate(results.queries)}
    found = sections_of(replace(results, texts=Queries([Query(query, text) for query, text in texts.items()])))["segments"]
    (table,) = [sheet for sheet in found.tables if " by complexity (counted)," in sheet.title]
    assert any("a heuristic for English" in note for note in table.notes)


def test_the_report_says_what_the_bands_of_its_measures_mean() -> None:
    found = sections_of(small_results(measures=["nDCG@10", "Success@5", "RR@10"]))["measures"].folded
    captions = [sheet.title for sheet in found]
    for profile in ("tutorial", "rag"):
        assert sum(caption.startswith(f"Quality bands of the profile {profile}") for caption in captions) == 1
        assert f"What the bands of the profile {profile} mean" in captions
    assert not any("Success@1" in "".join(column.name for column in sheet.columns) for sheet in found)


def test_delays_that_people_notice_are_named() -> None:
    results = made_results(systems=2)
    first, second = results.system_runs
    total = np.full(len(results.queries), 100.0)
    runs = tuple(
        replace(system_run, times={**system_run.times, "search": times, "total": times})
        for system_run, times in ((first, total), (second, total * 2.4))
    )
    said = sections_of(replace(results, system_runs=runs))["latency"].sentences
    assert "People notice a delay above 100 ms; the p95 of these systems is longer: system-1 (240 ms)." in said
    assert not any("People notice" in sentence for sentence in sections_of(results)["latency"].sentences)


def test_definitions_say_what_a_cutoff_means_for_a_person() -> None:
    meant = {
        term.word: term.meaning for term in sections_of(small_results(measures=["Success@1", "Success@7"]))["definitions"].terms
    }
    assert "The first result is enough" in meant["Success@1"]
    assert meant["Success@7"] == "1 if any of the top k documents is relevant, else 0."


def test_definitions_name_the_gain() -> None:
    results = small_results(measures=["nDCG@10", "nDCG(gain='exp')@10"])
    meant = {term.word: term.meaning for term in sections_of(results)["definitions"].terms}
    assert meant["nDCG@10"].endswith("Gain: the grade.")
    assert meant["nDCG(gain='exp')@10"].endswith("Gain: 2^grade - 1.")


def test_few_queries_and_unjudged_documents_are_warnings() -> None:
    warnings = sections_of(small_results())["warnings"].warnings
    assert warnings[0].startswith("3 queries are few")
    assert any("are unjudged" in warning for warning in warnings)


def test_every_chart_has_a_text_alternative_with_its_numbers() -> None:
    charts = [chart for section in sections_of(made_results()).values() for chart in section.charts]
    assert len(charts) >= 3
    for chart in charts:
        assert re.search(r"<title>[^<]+</title><desc>[^<]*\d[^<]*</desc>", chart.svg), chart.title


@pytest.mark.parametrize(
    ("note", "sentence"),
    [
        ("the run has ties", "The run has ties."),
        ("all systems: 2 queries", "All systems: 2 queries."),
        ("static: P@10 is low", "static: P@10 is low."),
        ("bm25-title retrieved nothing", "bm25-title retrieved nothing."),
        ("n = 3 queries is small", "n = 3 queries is small."),
    ],
)
def test_a_note_starts_with_a_capital_unless_with_a_name_or_a_symbol(note: str, sentence: str) -> None:
    assert as_sentence(note) == sentence
