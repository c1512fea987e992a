"""Systems with the same rankings, or the same answers and contexts, are one system in a decision."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import rankproof as rp
from rankproof._analysis.compare.comparison import Comparison, compare_inputs
from rankproof._analysis.compare.decision_data import same_systems, systems_without_documents, timing_notes
from rankproof._analysis.compare.joined_values import common_values
from rankproof._analysis.decision.record import Costs
from rankproof._analysis.inputs import AnalysisInput, input_from_result
from rankproof._analysis.options import CompareOptions
from rankproof._cli.main import main
from rankproof._data.qrels import Qrels
from rankproof._evaluation import sources
from support.compared_systems import result_of, target_at
from support.small_results import small_results

QRELS = {f"q{at}": {"target": 1} for at in range(40)}
BM25 = target_at([1, 2] * 20)
OTHER = target_at([2, 1, 3, 2] * 10)
SCALED = {query: {doc: 7 * score for doc, score in docs.items()} for query, docs in reversed(BM25.items())}
"""The rankings of `BM25` with other scores and another order of queries."""
TAIL = {query: {**docs, "further": 0.001} for query, docs in BM25.items()}
"""The values of `BM25` with a further document at the end of each ranking."""
FAST: dict[str, Any] = {"samples": 1_000, "resamples": 200}


def compared(runs: Mapping[str, Any], **options: Any) -> Comparison:
    return rp.compare(QRELS, runs, ["RR"], **FAST, **options)


def test_two_systems_with_the_same_rankings_leave_nothing_to_decide() -> None:
    found = compared({"a": BM25, "b": SCALED})
    decision = found.decision
    assert (decision.outcome, decision.reason, decision.decided) == (None, "one_system", False)
    assert decision.sentences == (
        "No decision: b has the same rankings as a on all 40 queries.",
        "a has 0.750 RR (95% CI [0.669, 0.831]); n = 40.",
    )
    assert (decision.risk, decision.race, decision.needed, decision.against) == (None, 2, None, ())
    assert [(system.name, system.value, system.risk, system.same_as) for system in decision.by_system] == [
        ("a", 0.75, None, None),
        ("b", 0.75, None, "a"),
    ]
    assert found.systems == ("a", "b")
    plain = found.to_dict()["decision"]
    assert (plain["outcome"], plain["reason"], plain["by_system"][1]["same_as"]) == (None, "one_system", "a")


def test_three_systems_with_the_same_rankings_are_named_in_one_sentence() -> None:
    first = compared({"a": BM25, "b": SCALED, "c": BM25}).decision.sentences[0]
    assert first == "No decision: b and c have the same rankings as a on all 40 queries."


def test_two_systems_with_the_same_rankings_need_not_stand_side_by_side() -> None:
    decision = compared({"a": BM25, "b": TAIL, "c": SCALED}).decision
    assert [system.same_as for system in decision.by_system] == [None, None, "a"]


def test_the_same_values_by_other_rankings_are_two_systems() -> None:
    decision = compared({"a": BM25, "b": TAIL}).decision
    assert (decision.outcome, decision.reason) == ("not_decided", "risk")
    assert decision.sentences[0].startswith("Not decided: no query tells the systems apart, but")
    assert [system.same_as for system in decision.by_system] == [None, None]


def test_other_rankings_of_unjudged_queries_are_other_systems() -> None:
    decision = compared({"a": {**BM25, "unjudged": {"x": 1.0}}, "b": {**BM25, "unjudged": {"y": 1.0}}}).decision
    assert decision.reason == "risk"


def test_copies_count_once_in_the_risks_the_limits_and_the_race() -> None:
    runs = {"a": BM25, "b": OTHER, "c": target_at([1, 3, 2, 1] * 10)}
    alone = compared(runs).decision
    copied = compared({**runs, **{f"copy{at}": SCALED for at in range(4)}, "second": OTHER}).decision
    assert copied.by_system[:3] == alone.by_system
    assert (copied.race, copied.risk, copied.limit, copied.needed) == (alone.race, alone.risk, alone.limit, alone.needed)
    assert [system.same_as for system in copied.by_system] == [None] * 3 + ["a"] * 4 + ["b"]
    first = copied.of("copy0")
    assert (first.risk, first.limit, first.rival) == (alone.of("a").risk, alone.of("a").limit, alone.of("a").rival)
    assert copied.sentences[1:3] == (
        "copy0, copy1, copy2 and copy3 have the same rankings as a: they count as one system.",
        "second has the same rankings as b: they count as one system.",
    )


def test_the_chosen_system_and_its_copies_are_marked_and_only_one_is_named() -> None:
    runs = {"best": target_at([1] * 40), "twin": target_at([1] * 40), "worse": target_at([4, 5] * 20), "poor": OTHER}
    found = compared(runs)
    assert (found.decision.outcome, found.decision.systems) == ("ship", ("best",))
    assert found.decision.marked == {"best", "twin"}
    assert found.table.highlighted == {0, 1}
    assert not any("It was chosen from" in sentence for sentence in found.decision.sentences)
    assert found.decision.sentences[1] == "twin has the same rankings as best: they count as one system."


@pytest.mark.parametrize(
    ("costs", "baseline", "first"),
    [
        ({"a": 3.0, "b": 1.0}, None, "b"),
        ({"a": 3.0, "b": 1.0}, "a", "b"),
        ({"a": 1.05, "b": 1.0}, "a", "a"),
        ({"a": 1.05, "b": 1.0}, "other", "b"),
        ({"b": 1.0}, None, "a"),
        (None, "b", "b"),
        (None, "other", "a"),
    ],
)
def test_the_cheapest_copy_stands_for_its_group_or_the_baseline_at_equal_or_unknown_costs(
    costs: dict[str, float] | None, baseline: str | None, first: str
) -> None:
    known = None if costs is None else {"other": 2.0, **costs}
    decision = compared({"a": BM25, "b": BM25, "other": OTHER}, costs=known, baseline=baseline).decision
    assert [system.same_as for system in decision.by_system if system.name not in (first, "other")] == [first]
    assert decision.of("a").cost == (costs or {}).get("a")


def test_a_copy_of_the_baseline_has_no_p_in_the_table_of_systems() -> None:
    runs = {"a": BM25, "b": BM25, "other": OTHER}
    found = compared(runs, baseline="a")
    at = {column.name: place for place, column in enumerate(found.table.columns)}
    _, copy, other = found.table.rows
    assert [copy[at[name]] for name in ("difference", "p", "p adjusted", "verdict", "same as")] == [0.0, None, None, "same", "a"]
    assert other[at["p"]] is not None
    assert "same as" not in {column.name for column in compared({"a": BM25, "other": OTHER}).table.columns}
    assert len(found.pairs) == 2


def test_values_without_rankings_are_not_merged() -> None:
    values = result_of({name: {"RR": [0.5, 1.0] * 20} for name in ("a", "b")})
    inputs = AnalysisInput("values", "", Qrels({f"q{at:03}": {"target": 1} for at in range(40)}), {}, values)
    assert compare_inputs(inputs, options=CompareOptions(**FAST)).decision.reason == "risk"


def test_a_file_that_is_aligned_while_it_is_read_is_not_merged_and_not_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    qrels, runs = split(written(tmp_path, {"a": BM25, "b": SCALED}))
    assert rp.compare(qrels, runs, **FAST).decision.reason == "one_system"
    monkeypatch.setattr(sources, "_MAX_KEPT_BYTES", 0)
    monkeypatch.setattr(sources, "read_source", lambda *_: pytest.fail("a large file is read"))
    inputs = input_from_result(rp.evaluate(qrels, runs, ["RR"]))
    assert systems_without_documents(inputs) == ()
    assert same_systems(inputs, common_values(inputs.result), Costs(), None) == {}


def test_a_repeated_run_is_the_same_only_with_the_same_repeats() -> None:
    same = compared({"a": BM25, "a#2": OTHER, "b": BM25, "b#2": OTHER}).decision
    assert (same.reason, same.of("b").same_as) == ("one_system", "a")
    swapped = compared({"a": BM25, "a#2": OTHER, "b": OTHER, "b#2": BM25}).decision
    assert swapped.of("b").same_as is None


def rows_of(answer: str, contexts: list[str]) -> list[dict[str, Any]]:
    return [
        {"question": f"is it {at}?", "answer": answer, "contexts": contexts, "reference": f"Cats purr {'at night' * (at % 3)}."}
        for at in range(40)
    ]


def test_the_same_answers_from_the_same_contexts_are_one_system_and_from_others_are_not() -> None:
    same, other = rows_of("Cats purr.", ["Cats purr at night."]), rows_of("Cats purr.", ["Dogs bark."])
    decision = rp.compare(rp.evaluate_answers({"a": same, "b": same}, measures=["F1"]), **FAST).decision
    assert decision.sentences[0] == "No decision: b has the same answers and contexts as a on all 40 questions."
    decision = rp.compare(rp.evaluate_answers({"a": same, "b": other}, measures=["F1"]), **FAST).decision
    assert decision.reason != "one_system"


def written(folder: Path, runs: Mapping[str, Mapping[str, Mapping[str, float]]]) -> list[str]:
    files = [folder / "qrels", *(folder / f"{name}.run" for name in runs)]
    files[0].write_text("".join(f"{query} 0 target 1\n" for query in QRELS))
    for file, run in zip(files[1:], runs.values(), strict=True):
        lines = (f"{query} Q0 {doc} 1 {score} t\n" for query, docs in run.items() for doc, score in docs.items())
        file.write_text("".join(lines))
    return list(map(str, files))


def split(files: list[str]) -> tuple[str, dict[str, str]]:
    return files[0], {Path(file).stem: file for file in files[1:]}


def test_every_view_names_the_system_with_the_same_rankings(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    same = "No decision: b has the same rankings as a on all 40 queries."
    files = written(tmp_path, {"a": BM25, "b": SCALED})
    for form in ("table", "markdown", "json"):
        assert main(["compare", *files, "-m", "RR", "--format", form, "--samples", "1000"]) == 0
        out = capsys.readouterr().out
        assert same in out
        assert "same as" in out
    plain = json.loads(out)
    assert (plain["decision"]["outcome"], plain["decision"]["reason"]) == (None, "one_system")
    assert plain["tables"][0]["rows"][1]["same as"] == "a"
    found = compared({"a": BM25, "b": SCALED})
    assert same in repr(found)
    assert same in repr(found.decision)
    assert "same as" in repr(found.decision)


def test_the_report_and_its_summary_mark_copies(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    queries = tuple(f"q{at:02}" for at in range(40))
    docs = {query: {"d1": 3.0, "d2": 2.0} for query in queries}
    results = small_results(("bm25", "twin"), queries, scores={"bm25": docs, "twin": docs})
    rp.save_results(results, tmp_path / "results")
    same = "No decision: twin has the same rankings as bm25 on all 40 queries."
    for name in ("page.html", "page.md"):
        assert main(["report", str(tmp_path / "results"), "-o", str(tmp_path / name)]) == 0
        page = (tmp_path / name).read_text()
        assert same in page
        assert "same as" in page


def test_a_build_with_the_rankings_of_its_baseline_passes_the_gate() -> None:
    runs = [rp.evaluate(QRELS, {"a": run}, ["RR"]) for run in (BM25, SCALED)]
    assert rp.gate(runs[1], baseline=runs[0]).outcome == "passed"


def test_a_copy_takes_no_part_in_stability() -> None:
    runs = {"other": target_at([1, 2, 3, 4] * 10), "twin": target_at([1, 2] * 20), "a": target_at([1, 2] * 20)}
    winners = rp.stability(QRELS, runs, primary="RR").tables[1]
    assert {row[0] for row in winners.rows} == {"other", "twin"}


def test_times_of_different_runs_are_noted_only_where_they_would_be_the_costs() -> None:
    inputs = replace(
        AnalysisInput("values", "", Qrels({}), {}, result_of({"a": {"RR": [1.0]}})), timed_apart="a and b were timed apart"
    )
    (note,) = timing_notes(inputs, Costs())
    assert note.startswith("latency is not comparable: a and b were timed apart; ")
    assert not list(timing_notes(inputs, Costs("money", {"a": 1.0})))
    assert not list(timing_notes(replace(inputs, timed_apart=""), Costs()))
