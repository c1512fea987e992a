"""The explorer's data: in columns, aligned, small, the same every time, and only ever text."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qs

import pytest

from rankproof import evaluate
from rankproof._data.answers import Answer, Answers
from rankproof._data.dataset import Queries, Query
from rankproof._data.qrels import Qrels
from rankproof._report.claims import round_column, round_number
from rankproof._report.context import ReportContext
from rankproof._report.explorer import DocumentList, explorer_blocks, measure_facts
from rankproof._report.page import SCRIPTS, packed_block, page_script, render_report, stylesheet
from rankproof._report.sections.movement import move_charts
from rankproof._report.sections.segments import segments_section
from rankproof._results.experiment_result import ExperimentResult
from support.explorer_pages import blocks_of, kitchen_results, many_queries, page_alone, unusual_results
from support.hostile_strings import STRINGS
from support.small_results import small_results

Block = dict[str, Any]


@pytest.fixture(scope="module")
def kitchen() -> ExperimentResult:
    return kitchen_results()


@pytest.fixture(scope="module")
def blocks(kitchen: ExperimentResult) -> dict[str, Block]:
    return explorer_blocks(kitchen)


def test_every_column_of_the_table_has_a_cell_for_every_query(kitchen: ExperimentResult, blocks: dict[str, Block]) -> None:
    data, count = blocks["data"], len(kitchen.queries)
    columns = [data["queries"]["ids"], data["queries"]["texts"], *data["first"], *data["unjudged"]]
    columns += [one["of"] for one in data["segments"]] + [one for system in data["values"] for one in system]
    assert {len(one) for one in columns} == {count}
    assert len(data["values"]) == len(data["systems"]) == len(kitchen.system_runs)
    assert {len(system) for system in data["values"]} == {len(data["measures"])}


def test_values_are_those_of_the_result_to_five_digits(kitchen: ExperimentResult, blocks: dict[str, Block]) -> None:
    data = blocks["data"]
    for at, system in enumerate(data["systems"]):
        per_query = kitchen.result.per_query(system["name"])
        for place, measure in enumerate(data["measures"]):
            known = per_query[measure["name"]]
            assert data["values"][at][place] == [pytest.approx(known[query], abs=6e-6) for query in kitchen.queries]


def test_tops_judgements_and_ranks_follow_their_counts(blocks: dict[str, Block]) -> None:
    details = blocks["details"]
    judged, documents = details["judged"], details["documents"]
    assert sum(judged["counts"]) == len(judged["docs"]) == len(judged["grades"])
    assert len(documents["ids"]) == len(documents["texts"]) == len(set(documents["ids"]))
    for system in details["systems"]:
        assert sum(system["counts"]) == len(system["docs"])
        assert len(system["ranks"]) == sum(judged["ranked"]) < len(judged["docs"])
        assert len(system["scores"]) == len(system["docs"])
        assert max(system["counts"]) <= blocks["data"]["top"]
        assert max(system["docs"] + judged["docs"]) < len(documents["ids"])


def test_compared_ranks_are_the_ranks_in_the_baseline() -> None:
    results = small_results(("one", "two"), ("q1",), ("d1", "d2", "d3", "d4"))
    details = explorer_blocks(results)["details"]
    ids = details["documents"]["ids"]
    first, second = details["systems"]
    assert [ids[doc] for doc in second["docs"]] == ["d2", "d3", "d4", "d1"]
    assert second["compared_ranks"] == [2, 3, 4, 1]
    assert first["compared_ranks"] is None
    assert dict(zip((ids[doc] for doc in details["judged"]["docs"]), second["ranks"], strict=False)) == {"d1": 4}
    assert details["judged"]["ranked"] == [1]


def test_a_document_that_the_baseline_lacks_has_baseline_rank_0() -> None:
    scores = {"one": {"q1": {"d1": 1.0}}, "two": {"q1": {"d9": 2.0, "d1": 1.0}}}
    results = small_results(("one", "two"), ("q1",), ("d1", "d2"), scores=scores)
    assert explorer_blocks(results)["details"]["systems"][1]["compared_ranks"] == [0, 1]


def test_ties_have_the_order_of_the_evaluation() -> None:
    scores = {"one": {"q1": {"a": 1.0, "c": 1.0, "b": 1.0}}}
    details = explorer_blocks(small_results(("one",), ("q1",), ("a", "z"), scores=scores))["details"]
    assert [details["documents"]["ids"][doc] for doc in details["systems"][0]["docs"]] == ["c", "b", "a"]


def test_a_query_that_a_system_lacks_has_an_empty_ranking_and_no_relevant_rank() -> None:
    results = small_results(("one",), ("q1", "q2"), scores={"one": {"q1": {"d1": 1.0}}})
    blocks = explorer_blocks(results)
    assert blocks["details"]["systems"][0]["counts"] == [1, 0]
    assert blocks["data"]["first"] == [[1, 0]]


def test_unjudged_counts_the_documents_of_the_top_without_a_grade_of_at_least_zero() -> None:
    results = small_results(("one",), ("q1",), ("d1", "d2", "d3", "d4"))
    results = replace(results, qrels=Qrels.from_dict({"q1": {"d1": 1, "d2": -1, "d4": 0}}))
    assert explorer_blocks(results)["data"]["unjudged"] == [[2]]


def test_a_relevant_document_that_no_system_found_is_among_the_judged_with_rank_zero() -> None:
    results = small_results(("one",), ("q1",), scores={"one": {"q1": {"d2": 1.0}}})
    details = explorer_blocks(results)["details"]
    assert [details["documents"]["ids"][doc] for doc in details["judged"]["docs"]] == ["d1"]
    assert details["systems"][0]["ranks"] == [0]


def test_the_first_relevant_rank_uses_the_lowest_relevant_grade() -> None:
    results = small_results(("one",), ("q1",), ("d1", "d2", "d3"))
    qrels = Qrels.from_dict({"q1": {"d1": 1, "d3": 2}})
    lenient = replace(results, qrels=qrels, rel=1)
    assert explorer_blocks(lenient)["data"]["first"] == [[1]]
    assert explorer_blocks(replace(lenient, rel=2))["data"]["first"] == [[3]]


def test_segments_are_fields_with_few_values_and_no_answers(blocks: dict[str, Block]) -> None:
    names = [one["name"] for one in blocks["data"]["segments"]]
    assert names == ["category", "complexity", "length", "relevant"]


def test_cells_of_every_grouping_lead_to_segments_that_the_table_of_queries_has(kitchen: ExperimentResult) -> None:
    known = {(one["name"], value) for one in explorer_blocks(kitchen)["data"]["segments"] for value in one["values"]}
    section = segments_section(ReportContext(kitchen))
    assert section is not None
    links = [parse_qs(link.partition("?")[2]) for table in section.tables for link in table.links.values()]
    linked = {(*link["field"], *link["segment"]) for link in links}
    assert {field for field, _ in linked} == {"category", "complexity", "length", "relevant"}
    assert {segment for _, segment in linked - known} == {"all queries"}


def test_a_chart_of_rank_movement_leads_to_the_queries_of_its_two_systems() -> None:
    (chart,) = move_charts(ReportContext(small_results(("one", "two"))))
    assert 'href="#queries?a=two&amp;b=one&amp;sort=difference"' in chart.svg


def test_a_query_without_a_segment_is_minus_one() -> None:
    fields: list[dict[str, Any]] = [{"kind": "x"}, {"kind": True}, {"kind": ["a", "list"]}]
    results = replace(small_results(), texts=Queries([Query(f"q{at}", "t", fields=one) for at, one in enumerate(fields, 1)]))
    assert explorer_blocks(results)["data"]["segments"] == [{"name": "kind", "values": ["true", "x"], "of": [1, 0, -1]}]


def test_answers_have_their_state_citations_and_references() -> None:
    results = small_results(("one", "two"), ("q1", "q2"))
    answers = Answers({"q1": Answer("it is d1", cited=("d1", "elsewhere"))})
    texts = Queries([Query("q1", "t", fields={"answers": ["d1", "D1"]}), Query("q2", "t", fields={"answerable": False})])
    results = replace(
        results, texts=texts, system_runs=(results.system_runs[0], replace(results.system_runs[1], answers=answers))
    )
    details = explorer_blocks(results)["details"]
    assert details["systems"][0]["answers"] is None
    answer, nothing = details["systems"][1]["answers"]
    assert (answer["text"], answer["state"], nothing) == ("it is d1", "answered", None)
    assert [details["documents"]["ids"][doc] for doc in answer["cited"]] == ["d1", "elsewhere"]
    assert details["references"] == [["d1", "D1"], []]


def test_the_values_of_answers_are_measures_of_the_systems_that_answer() -> None:
    results = small_results(("one", "two"))
    answered = evaluate(results.qrels, {"two": results.system_runs[1].run}, ["P@1"])
    data = explorer_blocks(replace(results, answers=answered))["data"]
    place = [measure["name"] for measure in data["measures"]].index("P@1")
    assert data["values"][0][place] is None
    assert len(data["values"][1][place]) == 3


def test_malformed_references_do_not_prevent_the_page() -> None:
    results = replace(small_results(), texts=Queries([Query(f"q{at}", "t", fields={"answers": {"a": 1}}) for at in (1, 2, 3)]))
    assert explorer_blocks(results)["details"]["references"] == [None, None, None]


def test_numbers_are_short_and_never_infinite() -> None:
    assert round_column([1 / 3, 1.0, None, float("nan"), float("inf"), 0.0]) == [0.33333, 1, None, None, None, 0]
    assert round_number(12.345678, 3) == 12.346


def test_snippets_have_one_length_that_shrinks_with_their_number() -> None:
    documents = DocumentList()
    documents.indices_of([f"d{at}" for at in range(60_000)])
    texts = documents.columns({f"d{at}": "x" * 1_000 for at in range(60_000)}, {}, {}, {})["texts"]
    assert {len(str(text)) for text in texts} == {81}


def test_a_title_length_is_in_utf16_units() -> None:
    snippets = {"a": "Salt · pepper · both are", "b": "no title · but a dot", "c": "\U0001f9c2 salt", "d": "short"}
    results = small_results(("one",), ("q1",), tuple(snippets))
    titles = {"a": len("Salt · pepper"), "c": 1, "d": 99}
    documents = explorer_blocks(replace(results, snippets=snippets, titles=titles))["details"]["documents"]
    assert dict(zip(documents["ids"], documents["titles"], strict=True)) == {"a": 13, "b": 0, "c": 2, "d": 5}


def test_fields_are_columns_and_those_that_do_not_fit_are_left_out() -> None:
    documents = DocumentList()
    documents.indices_of([f"d{at}" for at in range(1_500)])
    fields = {f"d{at}": {"notes": "x" * 300, "category": "tea"} for at in range(1_499)} | {"d1499": {"brand": "Lark"}}
    columns = documents.columns({}, {}, {}, fields)["fields"]
    assert columns == {"category": [*["tea"] * 1_499, ""], "brand": [*[""] * 1_499, "Lark"]}


def test_the_order_of_the_judgements_does_not_change_a_byte(kitchen: ExperimentResult) -> None:
    shuffled = list(kitchen.qrels.items())
    random.Random(1).shuffle(shuffled)
    again = replace(kitchen, qrels=Qrels.from_dict({query: dict(reversed(list(docs.items()))) for query, docs in shuffled}))
    assert packed_block(explorer_blocks(again)) == packed_block(explorer_blocks(kitchen))


@pytest.mark.slow
def test_the_report_of_the_sample_is_far_below_three_megabytes(kitchen: ExperimentResult) -> None:
    assert len(page_alone(kitchen)) < 500_000
    assert len(render_report(kitchen).encode(errors="backslashreplace")) < 1_500_000


def test_a_thousand_queries_of_five_systems_take_little_more_than_their_numbers() -> None:
    blocks = explorer_blocks(many_queries(1_000, 5))
    assert len(packed_block(blocks["data"])) < 40_000
    assert len(packed_block(blocks["details"])) < 200_000


def test_hostile_strings_stay_strings() -> None:
    blocks = explorer_blocks(unusual_results(STRINGS))
    page = page_alone(unusual_results(STRINGS))
    assert blocks_of(page) == json.loads(json.dumps(blocks))
    assert blocks["data"]["queries"]["ids"] == list(STRINGS)


def test_no_script_parses_text_as_markup_and_no_markup_has_styles() -> None:
    for word in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function", "DOMParser"):
        assert word not in page_script()
    assert "</script" not in page_script()
    assert "</style" not in stylesheet()
    assert len(SCRIPTS) == len(set(SCRIPTS))


def test_a_measure_of_subtopics_has_no_gain_of_grades() -> None:
    qrels = Qrels.from_subtopics({"q1": {"s1": {"a": 1}, "s2": {"b": 1}}})
    result = evaluate(qrels, {"one": {"q1": {"a": 2.0, "b": 1.0}}}, ["alpha_nDCG@10", "nDCG@10"])
    facts = [measure_facts(one.measure, ()) for one in result.systems[0].measures.values()]
    assert [one["gain"] for one in facts] == [None, "linear"]
