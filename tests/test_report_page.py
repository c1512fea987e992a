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

from hostile_climbs import harmful_climb
from plot_cases import wide_climb
from rankproof import evaluate
from rankproof.data.qrels import Qrels
from rankproof.data.queries import Queries
from rankproof.experiment import Climb
from rankproof.experiment.results.folder import load, save
from rankproof.experiment.rung import TIMES
from rankproof.report import page_of
from rankproof.report.material import Material
from rankproof.report.section import Section
from rankproof.report.sections import FINDINGS, GROUNDS
from rankproof.report.words import signed
from small_climbs import small_climb
from test_answers_results import answering_climb

SECTIONS = (
    *("verdict", "ladder", "pareto", "latency", "measures", "segments", "diagnosis", "movement", "holes"),
    *("notes", "provenance", "definitions"),
)


def sections_of(climb: Climb) -> dict[str, Section]:
    material = Material(climb)
    made = [make(material) for make in (*FINDINGS, *GROUNDS)]
    return {section.key: section for section in made if section is not None}


def climb_of(systems: int = 4, queries: int = 30) -> Climb:
    return wide_climb([f"system-{at}" for at in range(systems)], [f"q{at}" for at in range(queries)])


def without_times(climb: Climb) -> Climb:
    count = len(climb.queries)
    return replace(climb, rungs=tuple(replace(rung, times=dict.fromkeys(TIMES, np.zeros(count))) for rung in climb.rungs))


def test_the_same_climb_gives_the_same_bytes_also_from_its_folder(tmp_path: Path) -> None:
    climb = climb_of()
    save(climb, tmp_path / "out")
    first, again = load(tmp_path / "out"), load(tmp_path / "out")
    assert page_of(climb) == page_of(climb)
    assert page_of(first) == page_of(again)


def test_the_policy_allows_the_script_and_the_style_of_the_page_alone() -> None:
    page = page_of(climb_of())
    (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)
    rules = dict(rule.split(" ", 1) for rule in unescape(policy).split("; "))
    assert rules["default-src"] == rules["connect-src"] == rules["base-uri"] == rules["form-action"] == "'none'"
    for tag, rule in (("script", "script-src"), ("style", "style-src")):
        (text,) = re.findall(rf"<{tag}>(.*?)</{tag}>", page, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert rules[rule] == f"'sha256-{digest}'"


@pytest.mark.parametrize("make", [climb_of, harmful_climb, answering_climb])
def test_markup_has_no_styles_handlers_or_addresses_of_its_own(make: Callable[[], Climb]) -> None:
    body = re.sub(r"<script.*?</script>", "", page_of(make()).partition("</head>")[2], flags=re.DOTALL)
    tags = re.findall(r"<[a-z][^>]*>", body)
    assert tags
    assert not [tag for tag in tags if re.search(r"\s(style|on[a-z]+|src|srcdoc|xlink:href)\s*=", tag)]
    assert {link[:1] for tag in tags for link in re.findall(r'\shref="([^"]*)', tag)} == {"#"}


def test_sections_come_in_their_order() -> None:
    assert tuple(sections_of(climb_of())) == SECTIONS


@pytest.mark.parametrize(
    ("climb", "missing"),
    [
        (without_times(climb_of()), {"pareto", "latency"}),
        (climb_of(systems=1), {"pareto", "movement"}),
        (small_climb(measures=["NumRet"]), {"pareto", "segments", "movement"}),
        (replace(climb_of(), texts=Queries([]), snippets={}), {"segments"}),
        (small_climb(("a",), ("q",)), {"pareto", "movement", "segments"}),
    ],
    ids=["no times", "one system", "counts alone", "no texts", "one query"],
)
def test_what_is_not_there_has_no_section(climb: Climb, missing: set[str]) -> None:
    assert set(SECTIONS) - set(sections_of(climb)) == missing
    assert page_of(climb).endswith("</html>")


def test_answers_and_chunks_have_sections_where_there_are_some() -> None:
    climb = answering_climb()
    found = sections_of(replace(climb, chunks=climb.result))
    assert list(found)[-6:] == ["answers", "chunks", "holes", "notes", "provenance", "definitions"]
    assert any("says" in point for point in found["answers"].points)
    assert {"nDCG@10", "F1(tokens='set')"} <= {term.word for term in found["definitions"].terms}


def climb_of_periods(periods: Mapping[str, int], count: int = 40) -> Climb:
    """Systems that have the relevant document first, but for the first query and every so many after it."""
    queries, docs = [f"q{at}" for at in range(count)], [f"d{at}" for at in range(4)]
    scores = {
        name: {
            query: {docs[(place + (at % period == 0)) % 4]: 1 / (1 + place) for place in range(4)}
            for at, query in enumerate(queries)
        }
        for name, period in periods.items()
    }
    return small_climb(tuple(periods), queries, docs, scores=scores)


def twin_climb() -> Climb:
    """Two systems that differ on next to no query, and a worse one."""
    return climb_of_periods({"good": 40, "twin": 39, "bad": 1})


def test_the_verdict_says_which_is_best_and_from_which_it_cannot_be_told() -> None:
    found = sections_of(twin_climb())["verdict"]
    assert found.lead.startswith("good has the highest nDCG@10 of 3 systems")
    assert found.lead.endswith("but these queries cannot tell it from twin.")
    assert any(sentence.startswith("Cannot tell good from twin in nDCG@10") for sentence in found.sentences)
    assert any("pairs of systems cannot be told apart" in warning for warning in found.warnings)


def test_a_measure_of_which_less_is_better_is_led_by_the_lowest() -> None:
    climb = climb_of()
    result = evaluate(climb.qrels, {rung.name: rung.run for rung in climb.rungs}, ["Unjudged@10"])
    best = min(result.means, key=lambda name: result.means[name]["Unjudged@10"])
    assert Material(replace(climb, result=result)).best == best


def test_a_count_names_no_winner() -> None:
    assert sections_of(small_climb(measures=["NumRet"]))["verdict"].lead == "NumRet does not say which system is better."


def test_a_system_that_answers_is_no_rival_of_the_ranking_that_it_answers_from() -> None:
    climb = answering_climb()
    bm25, says = climb.rungs
    same = replace(climb, rungs=(bm25, replace(says, run=bm25.run)))
    assert Material(same).leaders == ["bm25"]
    assert Material(same).rivals == []


def test_answers_have_a_sentence_in_the_verdict() -> None:
    found = sections_of(answering_climb())["verdict"]
    assert found.lead.endswith("there is no other ranking to hold it against.")
    (said,) = [sentence for sentence in found.sentences if sentence.startswith("says answers, with F1")]
    assert re.search(r"F1\(tokens='set'\) \d\.\d{4} over \d+ queries whose answer is known", said)
    unknown = sections_of(replace(answering_climb(), answers=None))["verdict"]
    assert "says answers, and no right answer is known to hold that against." in unknown.sentences


def test_what_the_test_cannot_tell_apart_is_not_said_to_be_beaten() -> None:
    climb = twin_climb()
    slow = {name: np.full(len(climb.queries), time) for name, time in (("good", 1.0), ("twin", 9.0), ("bad", 20.0))}
    rungs = tuple(replace(rung, times={**rung.times, "total": slow[rung.name]}) for rung in climb.rungs)
    said = " ".join(sections_of(replace(climb, rungs=rungs))["pareto"].sentences)
    assert "good cannot be told from twin in quality" in said
    assert "and is faster: 1.00 ms against 9.00 ms." in said
    assert "good beats bad" in said
    assert "beats twin" not in said


def test_systems_that_tie_are_all_named_the_best() -> None:
    same = {query: {"d1": 1.0} for query in ("q1", "q2")}
    worse = {query: {"d4": 1.0, "d1": 0.5} for query in ("q1", "q2")}
    scores = {"one": same, "two": same, "last": worse}
    card = sections_of(small_climb(("one", "two", "last"), ("q1", "q2"), scores=scores))["verdict"].figures[0]
    assert (card.label, card.value, card.about) == ("Best systems", "one and two", "of 3: these tie")


def test_one_system_is_neither_the_slowest_nor_in_an_order() -> None:
    found = sections_of(small_climb(("bm25",), ("q",)))
    assert found["latency"].sentences[0].startswith("bm25 takes ")
    assert "order" not in found["verdict"].warnings[0]
    assert found["verdict"].figures[0].label == "System"
    page = page_of(small_climb(("bm25",), ("q",)))
    assert "n = 1 queries" not in page


def test_the_differences_that_are_missed_are_told_from_pair_to_pair() -> None:
    climb = climb_of_periods({"a": 40, "b": 20, "c": 13})
    material = Material(climb)
    found = [pair.detectable for pair in material.comparisons if pair.verdict == "cannot tell" and pair.detectable]
    least, most = (f"{100 * each:.2f}" for each in (min(found), max(found)))
    assert least != most
    assert any(f"under {least} to {most} pp, by the pair," in warning for warning in sections_of(climb)["verdict"].warnings)


def test_an_interval_without_0_beside_cannot_tell_is_explained() -> None:
    climb = climb_of_periods({"a": 60, "b": 10, "c": 9, "d": 8}, 60)
    pairs = [pair for pair in Material(climb).comparisons if pair.verdict == "cannot tell" and pair.seen.interval]
    assert any(pair.seen.interval and pair.seen.interval[0] > 0 for pair in pairs)
    notes = sections_of(climb)["verdict"].folded[0].notes
    assert any("an interval without 0 may come with 'cannot tell'" in note for note in notes)


def test_a_table_without_rows_explains_no_columns() -> None:
    climb = small_climb(("bm25",), ("q1", "q2"))
    page = page_of(climb)
    assert "No query fails." in page
    assert "<summary>What the columns mean" not in page.split("No query fails.")[1].split("</div>")[0]


def test_a_difference_that_is_shown_as_nothing_has_no_sign() -> None:
    one = Material(climb_of()).one
    assert [signed(each, one) for each in (-1e-6, 1e-6, 0.01, -0.01)] == ["0.00 pp", "0.00 pp", "+1.00 pp", "-1.00 pp"]


def test_one_answerer_is_told_in_a_whole_sentence_and_drawn_with_intervals() -> None:
    found = sections_of(answering_climb())["answers"]
    assert any(re.fullmatch(r"Answers: the F1\(tokens='set'\) of says is [\d.]+ \(n = \d+\)\.", point) for point in found.points)
    assert any('class="whisker"' in chart.svg for chart in found.charts)
    assert not any("e-05" in chart.svg for chart in found.charts)


def test_segments_by_relevant_documents_are_named_in_words() -> None:
    climb = climb_of()
    grades = {query: {f"d{doc}": 1 for doc in range(1 + at % 2)} for at, query in enumerate(climb.queries)}
    found = sections_of(replace(climb, qrels=Qrels.from_dict(grades)))["segments"]
    captions = [sheet.caption for sheet in (*found.tables, *found.folded)]
    assert sum("by number of relevant documents" in caption for caption in captions) == 2
    assert not any("by relevant" in caption for caption in captions)


def test_definitions_say_which_gain_is_counted() -> None:
    climb = small_climb(measures=["nDCG@10", "nDCG(gain='exp')@10"])
    meant = {term.word: term.meaning for term in sections_of(climb)["definitions"].terms}
    assert meant["nDCG@10"].endswith("Here: the grade.")
    assert meant["nDCG(gain='exp')@10"].endswith("Here: 2^grade - 1.")


def test_few_queries_and_holes_are_told_of() -> None:
    warnings = sections_of(small_climb())["verdict"].warnings
    assert warnings[0].startswith("3 queries are very few")
    assert any("judged by nobody" in warning for warning in warnings)


def test_every_chart_tells_its_numbers_in_words() -> None:
    for section in sections_of(climb_of()).values():
        for chart in section.charts:
            assert re.search(r"<title>[^<]+</title><desc>[^<]*\d[^<]*</desc>", chart.svg), chart.title
