"""The systems of an experiment as text, Markdown, JSON and CSV."""

import csv
import io
import json
import re
from dataclasses import asdict, replace

import pytest

from rankproof._analysis.compare.summary import compare_results
from rankproof._render import systems
from rankproof._render.formats import RenderOptions
from rankproof._results.experiment_result import ExperimentResult
from support.small_results import MEASURES, small_results

NAMES = ("bm25-title", "bm25", "minilm", "hybrid-z", "late-interaction")
USUAL = ["nDCG@10", "RR@10", "R@100", "P@10", "Success@1"]
HOSTILE = ["\x1b[31mred", "[red]x[/red]", "a|b", "=1+1", "new\nline", "\u202eabc", "<b>"]


def shown_run(results: ExperimentResult, options: RenderOptions) -> str:
    return systems.render_run(results, compare_results(results), options)


def test_a_run_shows_the_decision_then_one_table_at_80_columns() -> None:
    lines = shown_run(small_results(NAMES, measures=USUAL[:3]), RenderOptions()).splitlines()
    assert lines[:3] == [
        "small (dataset tiny), 4 documents, 3 queries, 5 systems",
        "",
        "Not decided: a decision needs at least 30 queries (n = 3).",
    ]
    assert lines[3] == "late-interaction has the same rankings as bm25-title: they count as one system."
    assert lines[4].startswith("bm25-title leads with 1.000 nDCG@10 at 1.62 ms; n = 3.")
    rule = next(at for at, line in enumerate(lines) if line.startswith("──"))
    assert lines[rule - 1].split() == [
        "system",
        "nDCG@10",
        "vs",
        "bm25",
        "pp",
        "(95%",
        "CI)",
        "p",
        "adjusted",
        "ms",
        "p50",
        "risk",
    ]
    assert {line.removeprefix("> ").split()[0] for line in lines[rule + 1 : rule + 6]} == {*NAMES}
    values = [line.removeprefix("> ").split()[1] for line in lines[rule + 1 : rule + 6]]
    assert values == sorted(values, reverse=True)
    assert len(lines) <= 24


@pytest.mark.parametrize("width", [40, 60, 80, 100, 140, 200])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    shown = shown_run(small_results(NAMES, measures=USUAL), RenderOptions(width=width))
    assert max(map(len, shown.splitlines())) <= width


def test_a_wide_terminal_also_shows_the_risk_and_exploratory_measures() -> None:
    results = replace(small_results(NAMES, [f"q{at}" for at in range(40)], measures=USUAL), rel=1)
    shown = shown_run(results, RenderOptions(width=200))
    assert all(title in shown for title in ("nDCG@10", "RR@10", "R@100", "risk", "ms p50"))


def test_a_system_without_a_gain_is_listed_with_the_time_that_it_takes_or_saves() -> None:
    same = {"q1": {"d1": 1.0}, "q2": {"d1": 1.0}, "q3": {"d1": 1.0}}
    results = small_results(("a", "b"), scores={"a": same, "b": same})
    assert systems.system_sentences(results, ()) == ["b does not improve nDCG@10 over a and takes 0.50 ms more per query (p50)."]
    first, second = results.system_runs
    quick = replace(second, times={part: values / 4 for part, values in first.times.items()})
    sentences = systems.system_sentences(replace(results, system_runs=(first, quick)), ())
    assert sentences == ["b does not improve nDCG@10 over a and saves 1.22 ms per query (p50)."]
    assert systems.system_sentences(small_results(("a",))) == []


def test_the_gain_of_a_measure_outside_0_to_1_is_not_in_percentage_points() -> None:
    shown = systems.systems_markdown(small_results(("a", "b"), measures=["NumRet", "bpref"]), RenderOptions())
    assert "pp" not in shown
    assert "gain (vs)" in shown
    assert "†" not in shown


def test_where_lower_is_better_a_rise_is_the_loss() -> None:
    judged, not_judged = ({query: {doc: 1.0} for query in ("q1", "q2", "q3")} for doc in ("d1", "d2"))
    worse = small_results(("a", "b"), measures=["Unjudged@1"], scores={"a": judged, "b": not_judged})
    assert systems.system_sentences(worse, ()) == [
        "b raises Unjudged@1 (lower is better) by 100.00 pp against a and takes 0.50 ms more per query (p50)."
    ]
    assert (
        systems.system_sentences(small_results(("a", "b"), measures=["Unjudged@1"], scores={"a": not_judged, "b": judged})) == []
    )
    (same,) = systems.system_sentences(small_results(("a", "b"), measures=["Unjudged@1"], scores={"a": judged, "b": judged}), ())
    assert same.startswith("b does not improve Unjudged@1 over a and takes")


def test_a_loss_that_is_not_significant_is_marked_and_an_untested_one_names_the_test() -> None:
    results = small_results(("a", "b"), scores={"a": _ranked("d1", "d4"), "b": _ranked("d4", "d1")})
    (sure,) = systems.system_sentences(results, ())
    assert "against a and takes 0.50 ms" in sure
    (unsure,) = systems.system_sentences(results, {"b"})
    assert "against a (not significant) and takes 0.50 ms" in unsure
    assert systems.system_sentences(results)[0] == sure
    assert "`rankproof compare`" in systems.system_sentences(results)[1]


def test_a_loss_that_rounds_to_zero_without_extra_time_is_left_out() -> None:
    many = {f"q{at}": {"d1": 2.0, "d4": 1.0} for at in range(20_000)}
    results = small_results(
        ("a", "b"), list(many), scores={"a": many, "b": {**many, "q7": {"d1": 1.0, "d4": 2.0}}}, measures=["RR@10"]
    )
    first, second = results.system_runs
    (sentence,) = systems.system_sentences(results, ())
    assert sentence.startswith("b loses less than 0.01 pp RR@10 against a and takes")
    assert systems.system_sentences(replace(results, system_runs=(first, replace(second, times=first.times))), ()) == []


def _ranked(first: str, second: str) -> dict[str, dict[str, float]]:
    return {query: {first: 2.0, second: 1.0} for query in ("q1", "q2", "q3")}


def test_the_recall_of_an_approximate_search_comes_with_its_time() -> None:
    results = small_results(("a", "b"))
    first, second = results.system_runs
    results = replace(results, system_runs=(first, replace(second, facts={"recall_of_exact": 0.97531, "recall_depth": 100})))
    sentence = "b uses approximate search: it finds 97.53% of the exact nearest neighbours in 1.12 ms per query (search p50)."
    assert systems.approximate_search_notes(results) == [sentence]
    assert sentence in systems.systems_markdown(results, RenderOptions())
    assert [row["recall_of_exact"] for row in csv.DictReader(io.StringIO(systems.run_csv(results, None, RenderOptions())))] == [
        "",
        "0.97531",
    ]


@pytest.mark.parametrize("hostile", HOSTILE, ids=ascii)
def test_no_format_interprets_a_hostile_name(hostile: str) -> None:
    results = small_results((hostile, "b"), measures=MEASURES)
    for shown in (shown_run(results, RenderOptions()), systems.systems_markdown(results, RenderOptions())):
        assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", shown)
    assert "<b>" not in systems.systems_markdown(results, RenderOptions())
    rows = list(csv.reader(io.StringIO(systems.run_csv(results, None, RenderOptions()))))
    assert len(rows) == 3
    assert not rows[1][0].startswith("=")
    assert json.loads(systems.run_json(results, None, RenderOptions()))["systems"][0]["name"] == hostile


def test_markdown_has_a_row_per_system_and_the_systems_without_a_gain() -> None:
    lines = systems.systems_markdown(small_results(NAMES, measures=USUAL), RenderOptions()).splitlines()
    assert lines[0].startswith("| system | nDCG@10 | pp (vs) | RR@10 | R@100 | P@10 |")
    assert lines[6].startswith("| 5 late-interaction | **1.0000†** | +36.91 (4) |")
    assert lines[8] == "Latency: 3 queries, asked one at a time after a warm-up."
    assert lines[10].startswith("bm25 loses 56.93 pp nDCG@10 against bm25-title")


def test_json_has_the_shape_of_an_evaluation_and_the_costs() -> None:
    results = small_results(NAMES, measures=USUAL)
    found = json.loads(systems.run_json(results, None, RenderOptions()))
    system = found["systems"][4]
    assert found["queries"] == 3
    assert system["measures"]["nDCG@10"] == {"value": 1.0, "summary": "mean", "queries": 3}
    total = results.system_runs[4].time_of("total")
    assert total is not None
    assert system["times_ms"]["total"] == asdict(total)
    assert "per_query" not in json.dumps(found)


def test_measures_that_cannot_decide_leave_the_table_of_values() -> None:
    results = small_results(("a", "b"), measures=["NumRet"])
    assert compare_results(results) is None
    assert "NumRet (sum)" in shown_run(results, RenderOptions())
