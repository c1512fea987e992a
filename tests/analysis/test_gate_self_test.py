"""`gate --self-test`: false alarms between halves of repeats, the spread of a mean, and thresholds that fail by chance."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import rankproof as rp
from rankproof._analysis.gate.rules import GateOptions, threshold_of
from rankproof._analysis.gate.self_test import RepeatedSystem, chance_to_miss, half_outcomes, self_test
from rankproof._analysis.inputs import AnalysisInput
from rankproof._cli.main import main
from rankproof._data.qrels import Qrels
from rankproof._evaluation.result import MeasureResult, Result, SystemResult
from rankproof._results.experiment_result import REPEATS_FACT
from rankproof._statistics.decision_rule import Margin
from rankproof.errors import UsageError
from rankproof.measures._parse import parse_measure
from support.gate_inputs import gate_input, ranks
from support.small_results import small_results

QRELS = {f"q{at}": {"d": 1} for at in range(60)}
DRAWS = np.random.default_rng(3)
RUNS = {name: {query: ["d"] if DRAWS.random() < 0.8 else ["x"] for query in QRELS} for name in ("a", "a#2", "a#3", "a#4")}


def test_the_spread_is_that_of_the_repeats_of_a_build() -> None:
    values = tuple(np.array([0.4, 0.6]) for _ in range(50))
    system = RepeatedSystem("s", parse_measure("RR"), values, per_build=2)
    assert system.spread == pytest.approx(math.sqrt(0.02 / 2 / 50))


def test_halves_of_one_system_rarely_fail_a_gate() -> None:
    draws = np.random.default_rng(1)
    values = tuple((draws.random(4) < 0.7).astype(float) for _ in range(100))
    outcomes = half_outcomes(RepeatedSystem("s", parse_measure("RR"), values, 4), None, rounds=200)
    assert outcomes.count("failed") <= 0.05 * 200
    assert outcomes.count("unsure") > 0


def test_whole_runs_that_differ_are_not_mixed_query_by_query() -> None:
    draws = np.random.default_rng(2)
    values = tuple((draws.random(2) < (0.9, 0.7)).astype(float) for _ in range(300))
    runs, repeats = (RepeatedSystem("s", parse_measure("RR"), values, 1, are_runs=are_runs) for are_runs in (True, False))
    assert 0.4 < half_outcomes(runs, None, rounds=200).count("failed") / 200 < 0.6
    assert half_outcomes(repeats, None, rounds=200).count("failed") / 200 < 0.06
    assert runs.runs_differ_p() < 0.01
    assert repeats.runs_differ_p() == 1
    assert runs.spread == pytest.approx(runs.run_means.std(ddof=1))
    assert repeats.spread < runs.spread / 3


def test_runs_that_differ_by_chance_alone_are_not_called_different() -> None:
    draws = np.random.default_rng(4)
    found = []
    for _ in range(60):
        values = tuple((draws.random(4) < 0.8).astype(float) for _ in range(60))
        found.append(RepeatedSystem("s", parse_measure("RR"), values, 4, are_runs=True).runs_differ_p(rounds=200) <= 0.05)
    assert sum(found) <= 8


def test_two_runs_ten_points_apart_do_not_pass_the_self_test() -> None:
    better = {query: ["d"] for query in QRELS}
    worse = {query: ["d"] if at % 6 else ["x"] for at, query in enumerate(QRELS)}
    gate = rp.gate(QRELS, {"a": better, "a#2": worse}, "RR", self_test=True)
    (check,) = gate.checks
    assert check.result == "unsure"
    assert "Its runs differ by more than chance within queries explains (1.0000, 0.8333; p = 0.00" in check.sentence


def test_the_margin_of_a_self_test_is_a_share_of_the_better_side() -> None:
    draws = np.random.default_rng(1)
    lower = tuple((draws.random(4) < 0.05).astype(float) for _ in range(100))
    higher = tuple(1 - values for values in lower)
    systems = (RepeatedSystem("s", parse_measure(name), values, 4) for name, values in (("Unjudged@2", lower), ("RR", higher)))
    first, second = (half_outcomes(system, Margin(0.05, is_share=True), rounds=100) for system in systems)
    assert first == second


def test_a_self_test_has_the_allowed_drop_of_its_measure_as_margin() -> None:
    plain, loose = (
        self_test(gate_input({"a": ranks(1, 2), "b": ranks(2, 1)}), GateOptions(max_drops=drops)) for drops in ({}, {"RR": 0.9})
    )
    assert "100% were unsure" in plain.checks[0].sentence
    assert "100% passed" in loose.checks[0].sentence


def test_a_threshold_fails_by_chance_by_its_distance_in_spreads() -> None:
    assert chance_to_miss(0.9, 0.01, threshold_of("RR>=0.89")) == pytest.approx(0.1587, abs=1e-4)
    assert chance_to_miss(0.9, 0.01, threshold_of("RR<=0.92")) == pytest.approx(0.0228, abs=1e-4)
    assert chance_to_miss(0.9, 0.0, threshold_of("RR>=0.9")) == 0
    assert chance_to_miss(0.9, 0.0, threshold_of("RR>0.9")) == 1


def test_repeats_of_a_system_are_tested_against_each_other() -> None:
    gate = rp.gate(QRELS, RUNS, "RR", self_test=True, thresholds="RR>=0.8")
    halves, bound = gate.checks
    assert (gate.outcome, halves.result, bound.result) == ("unsure", "passed", "unsure")
    assert gate.verdict == "The self-test is unsure: 1 of 2 checks is unsure"
    assert halves.sentence.startswith("a: of 1,000 gates between random halves of its runs ")
    assert "fails by chance in " in bound.sentence


def test_a_self_test_that_fails_too_often_says_the_limit() -> None:
    found = {"a": 0.9, "a#2": 0.5, "a#3": 0.5}
    runs = {
        name: {query: ["d" if at < share * len(QRELS) else "x"] for at, query in enumerate(QRELS)}
        for name, share in found.items()
    }
    (halves,) = rp.gate(QRELS, runs, "RR", self_test=True).checks
    assert halves.result == "unsure"
    assert " failed (limit 5%), " in halves.sentence


def test_two_runs_of_one_system_are_its_repeats(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "qrels.txt").write_text("".join(f"{query} 0 d 1\n" for query in QRELS))
    for name, run in (("first", RUNS["a"]), ("second", RUNS["a#2"])):
        (tmp_path / f"{name}.run").write_text("".join(f"{query} Q0 {docs[0]} 1 1.0 s\n" for query, docs in run.items()))
    files = [str(tmp_path / name) for name in ("qrels.txt", "first.run", "second.run")]
    assert main(["gate", *files, "-m", "RR", "--self-test"]) == 0
    out = capsys.readouterr().out
    assert "The self-test passed: 1 check" in out
    assert "first and second: of 1,000 gates between random halves" in out
    assert main(["gate", *files, "--self-test", "--baseline", files[0]]) == 2
    assert main(["gate", *files, "--self-test", "--log", str(tmp_path / "looks.jsonl")]) == 2
    assert main(["gate", *files, "--self-test", "--primary", "P@5"]) == 0
    assert "the mean of P@5 varies" in " ".join(capsys.readouterr().out.split())


def test_a_self_test_has_the_notes_on_its_values_in_the_command_and_in_python(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "qrels.txt").write_text("".join(f"{query} 0 d 1\n" for query in QRELS))
    for name in ("first", "second"):
        (tmp_path / f"{name}.run").write_text("".join(f"{query} Q0 {doc} 1 1.0 s\n" for query in QRELS for doc in "dx"))
    qrels, *runs = (str(tmp_path / name) for name in ("qrels.txt", "first.run", "second.run"))
    assert main(["gate", qrels, *runs, "-m", "RR", "--self-test", "--notes"]) == 0
    shown = " ".join(capsys.readouterr().err.split())
    notes = rp.gate(qrels, dict(zip(("first", "second"), runs, strict=True)), "RR", self_test=True).notes
    assert notes
    assert all(note in shown for note in notes)


def test_a_self_test_is_of_the_primary_measure_under_the_rel_in_use() -> None:
    (halves,) = rp.gate(QRELS, RUNS, self_test=True, primary="P@1", rel=2).checks
    assert halves.measure.startswith("P(rel=2)@1")


def test_a_system_without_repeats_is_refused() -> None:
    with pytest.raises(UsageError, match="a self-test needs a system that was run more than once"):
        rp.gate(QRELS, RUNS["a"], "RR", self_test=True)


@pytest.mark.parametrize(("facts", "halves"), [({REPEATS_FACT: 2}, "runs"), ({}, "repeats")])
def test_answers_of_a_repeated_run_are_whole_runs_and_those_of_a_log_are_not(facts: dict[str, int], halves: str) -> None:
    measure, queries = parse_measure("EM"), tuple(QRELS)
    repeats = {query: np.array([1.0, float(at % 6 > 0)]) for at, query in enumerate(queries)}
    values = np.array([each.mean() for each in repeats.values()])
    result = MeasureResult(measure, float(values.mean()), queries, values, repeats=repeats)
    inputs = AnalysisInput("log", "", Qrels({}), {}, Result(queries, (SystemResult("s", {"EM": result}, ()),)))
    run = replace(small_results(("s",), ["q1"], ["d1"]).system_runs[0], facts=facts)
    (check,) = self_test(replace(inputs, system_runs=(run,)), GateOptions(primary="EM")).checks
    assert f"gates between random halves of its {halves} " in check.sentence
    assert ("Its runs differ" in check.sentence) == (halves == "runs")
