"""`compare --by`: the difference of two systems in each segment of queries."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rankproof as rp
from rankproof._analysis.compare.comparison import Comparison, compare_inputs
from rankproof._analysis.compare.joined_values import JoinedValues
from rankproof._analysis.compare.segment_differences import segment_differences
from rankproof._analysis.inputs import AnalysisInput
from rankproof._analysis.options import CompareOptions
from rankproof._analysis.query_groups import Grouping, group_queries
from rankproof._cli.main import main
from rankproof._statistics.paired import holm
from rankproof.errors import UsageError
from rankproof.measures._parse import parse_measure
from support.analysis_inputs_with_texts import input_of, one_target, ranked_at

FAST = CompareOptions(samples=2_000)
SEGMENTS = {"dosage": 20, "names": 40, "rare": 5}


def worse_on_dosage(**systems: int) -> AnalysisInput:
    """`new` puts the target at rank 4 or 5 for dosage queries, where `base` has 1 or 2; elsewhere it is the other way round."""
    queries = [f"{segment}{at}" for segment, size in SEGMENTS.items() for at in range(size)]
    low = {query: 4 + int(query[-1]) % 2 for query in queries}
    high = {query: 1 + int(query[-1]) % 2 for query in queries}
    dosage = [query for query in queries if query.startswith("dosage")]
    runs = {
        "base": ranked_at({**low, **{query: high[query] for query in dosage}}),
        "new": ranked_at({**high, **{query: low[query] for query in dosage}}),
        **{name: ranked_at(dict.fromkeys(queries, rank)) for name, rank in systems.items()},
    }
    fields = {query: {"kind": query.rstrip("0123456789")} for query in queries}
    return input_of(one_target(queries), runs, fields=fields)


def compared(inputs: AnalysisInput, **options: Any) -> Comparison:
    return compare_inputs(inputs, groupings=[group_queries(inputs, "kind")], options=FAST, **options)


def test_a_leader_that_is_worse_in_one_segment_is_named_with_that_segment() -> None:
    found = compared(worse_on_dosage())
    by_segment = {row.segment: row for row in found.segments}
    assert {row.system for row in found.segments} == {"new"}
    assert {name: (row.n, row.verdict) for name, row in by_segment.items()} == {
        "dosage": (20, "worse"),
        "names": (40, "better"),
        "rare": (5, "too few queries"),
    }
    assert found.segments[0].segment == "dosage"
    (table,) = found.further_tables
    (sentence,) = table.sentences
    assert sentence.startswith("new is significantly worse than base in 1 of 2 tested segments: dosage (-")
    assert "significantly better in 1: names (+" in sentence
    assert any("fewer than 10 queries are not tested: 1 (rare)" in note for note in found.notes)


def test_the_difference_and_interval_of_a_segment_are_those_of_a_comparison_of_its_queries() -> None:
    inputs = worse_on_dosage()
    (row,) = [row for row in compared(inputs).segments if row.segment == "names"]
    joined = {system.name: system.measures["nDCG@10"].per_query for system in inputs.result.systems}
    names = [query for query in inputs.result.queries if query.startswith("names")]
    apart = np.array([joined["new"][query] - joined["base"][query] for query in names])
    assert row.difference == pytest.approx(apart.mean())
    assert row.ci is not None
    assert sum(row.ci) / 2 == pytest.approx(apart.mean())


def test_p_is_corrected_over_every_segment_of_every_pair() -> None:
    found = compared(worse_on_dosage(third=3), baseline="base")
    assert {(row.system, row.other) for row in found.segments} == {("new", "base"), ("third", "base")}
    tested = [row for row in found.segments if row.p is not None]
    assert len(tested) == 4
    assert [row.p_adjusted for row in tested] == pytest.approx(holm(np.array([row.p for row in tested])))
    assert len(found.further_tables[0].sentences) == 2


def test_segments_without_ten_queries_are_not_tested() -> None:
    inputs = worse_on_dosage()
    found = compare_inputs(inputs, groupings=[group_queries(only_rare(inputs), "kind")], options=FAST)
    assert {row.p for row in found.segments} == {None}
    assert found.further_tables[0].sentences == ("No segment has 10 queries, so none is tested.",)


def only_rare(inputs: AnalysisInput) -> AnalysisInput:
    rare = tuple(query for query in inputs.result.queries if query.startswith("rare"))
    return replace(inputs, result=replace(inputs.result, queries=rare))


def test_conversations_with_too_few_units_in_a_segment_are_not_tested() -> None:
    """The 20 queries on dosage are turns of 4 conversations, the 40 on names of 8."""
    inputs = worse_on_dosage()
    assert inputs.texts is not None
    turns = [
        replace(query, fields={**query.fields, "session": f"{query.fields['kind']}{at // 5}"})
        for at, query in enumerate(inputs.texts.values())
    ]
    found = compared(replace(inputs, texts=rp.Queries(turns)))
    assert {(row.n, row.units, row.verdict) for row in found.segments} == {
        (20, 4, "too few conversations"),
        (40, 8, "too few conversations"),
        (5, 1, "too few conversations"),
    }
    assert found.further_tables[0].sentences == ("No segment has 10 conversations, so none is tested.",)
    assert any("fewer than 10 conversations are not tested: 3 (dosage, names, rare)" in note for note in found.notes)


def test_equal_systems_on_turns_of_conversations_seldom_differ_in_a_segment() -> None:
    """300 rounds of two segments of 12 and 24 sessions of 5 turns whose differences go together."""
    generator, groups = np.random.default_rng(4), np.repeat(np.arange(36), 5)
    grouping = Grouping("kind", {"a": tuple(f"q{at:03}" for at in range(60)), "b": tuple(f"q{at:03}" for at in range(60, 180))})
    options = CompareOptions(samples=200)
    alarms = {"conversations": 0, "turns": 0}
    for _ in range(300):
        apart = 0.8 * generator.normal(size=36)[groups] + 0.6 * generator.normal(size=180)
        values = np.column_stack([0.5 + apart / 20, np.full(180, 0.5)])[None]
        joined = JoinedValues(tuple(f"q{at:03}" for at in range(180)), ("one", "two"), (parse_measure("nDCG@10"),), values, ())
        for name, clusters in (("conversations", groups), ("turns", None)):
            rows = segment_differences(joined, grouping, [("one", "two")], options, clusters)
            alarms[name] += any(row.verdict in ("better", "worse") for row in rows)
    assert alarms["conversations"] <= 25
    assert alarms["turns"] > 80


def test_a_test_of_all_pairs_is_refused() -> None:
    inputs = worse_on_dosage(third=3)
    with pytest.raises(UsageError, match=r"cannot test segments; use test=.randomisation"):
        compare_inputs(inputs, groupings=[group_queries(inputs, "kind")], options=CompareOptions(test="tukey"))


def test_one_system_has_no_differences() -> None:
    inputs = input_of(one_target(["a0", "a1"]), {"only": ranked_at({"a0": 1, "a1": 2})}, fields={"a0": {"kind": "x"}})
    assert compared(inputs).segments == ()


def write_files(folder: Path) -> list[str]:
    qrels, segments = folder / "qrels.txt", folder / "segments.csv"
    qrels.write_text("".join(f"q{at} 0 d{at} 1\n" for at in range(40)))
    segments.write_text("".join(f"q{at},{'even' if at % 2 == 0 else 'odd'}\n" for at in range(40)))
    paths = []
    for name, first in (("one", 0), ("two", 1)):
        run = folder / f"{name}.run"
        lines = [(at, "x", at % 2 != first) for at in range(40)] + [(at, f"d{at}", True) for at in range(40)]
        run.write_text("".join(f"q{at} Q0 {doc} 0 {2 if doc == 'x' and up else 1} t\n" for at, doc, up in lines))
        paths.append(str(run))
    return [str(qrels), *paths, str(segments)]


def test_the_command_and_the_function_give_the_same_segments(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    qrels, one, two, segments = write_files(tmp_path)
    command = ["compare", qrels, one, two, "-m", "RR", "--by-file", segments]
    assert main([*command, "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    groups = {f"q{at}": "even" if at % 2 == 0 else "odd" for at in range(40)}
    found = rp.compare(qrels, {"one": one, "two": two}, "RR", by=groups)
    plain = [row.to_dict() | {"by": "segments.csv"} for row in found.segments]
    assert json.loads(json.dumps(plain)) == document["segments"]
    assert len(plain) == 2
    for view in ("table", "markdown", "csv"):
        assert main([*command, "--format", view]) == 0
        assert "even" in capsys.readouterr().out
    assert "even" in str(found)


def test_run_files_have_no_field_and_the_error_says_how_to_add_the_queries(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    qrels, one, two, _ = write_files(tmp_path)
    assert main(["compare", qrels, one, two, "--by", "kind"]) == 2
    assert "no query has a field kind; add the queries with --dataset, pass a results folder" in capsys.readouterr().err
