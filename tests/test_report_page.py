"""The report as text: the same bytes each time, no more power than its policy gives, and sections for what there is."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Callable
from dataclasses import replace
from html import unescape
from pathlib import Path

import numpy as np
import pytest

from hostile_climbs import harmful_climb
from plot_cases import wide_climb
from rankproof import evaluate
from rankproof.data.queries import Queries
from rankproof.experiment import Climb
from rankproof.experiment.results.folder import load, save
from rankproof.experiment.rung import TIMES
from rankproof.report import page_of
from rankproof.report.material import Material
from rankproof.report.section import Section
from rankproof.report.sections import FINDINGS, GROUNDS
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
        (small_climb(measures=["NumRet"]), {"segments", "movement"}),
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


def test_the_verdict_says_which_is_best_and_from_which_it_cannot_be_told() -> None:
    names, queries = ("good", "twin", "bad"), [f"q{at}" for at in range(40)]
    docs, asked = [f"d{at}" for at in range(4)], list(enumerate(queries))
    periods = {"good": 40, "twin": 39, "bad": 1}
    scores = {
        name: {query: {docs[(place + (at % period == 0)) % 4]: 1 / (1 + place) for place in range(4)} for at, query in asked}
        for name, period in periods.items()
    }
    found = sections_of(small_climb(names, queries, docs, scores=scores))["verdict"]
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


def test_few_queries_and_holes_are_told_of() -> None:
    warnings = sections_of(small_climb())["verdict"].warnings
    assert warnings[0].startswith("3 queries are very few")
    assert any("judged by nobody" in warning for warning in warnings)


def test_every_chart_tells_its_numbers_in_words() -> None:
    for section in sections_of(climb_of()).values():
        for chart in section.charts:
            assert re.search(r"<title>[^<]+</title><desc>[^<]*\d[^<]*</desc>", chart.svg), chart.title
