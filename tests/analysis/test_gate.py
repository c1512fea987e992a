"""What passes the gate and what does not."""

from __future__ import annotations

from dataclasses import replace

import pytest

import rankproof as rp
from rankproof import Run
from rankproof._analysis.gate.baseline import Baseline, make_baseline
from rankproof._analysis.gate.gate import GateResult, gate_table, run_gate
from rankproof._analysis.gate.rules import GateOptions, Threshold, check_threshold, max_drop_of, threshold_of
from rankproof._analysis.inputs import AnalysisInput, input_from_runs
from rankproof._analysis.query_groups import Grouping, by_list, group_queries
from rankproof._evaluation.options import EvaluateOptions
from rankproof.errors import UsageError
from support.compared_systems import comparison_tables
from support.gate_inputs import QUERIES, gate_input, ranks

SAME = ranks(1, 2)
CLEARLY_WORSE = ranks(2, 3)
SLIGHTLY_WORSE = [2, *SAME[1:]]


def saved(one: AnalysisInput) -> Baseline:
    return make_baseline(one, version="0", made="2026-01-01T00:00:00Z")


def gate_of(before: list[int], now: list[int], settings: GateOptions | None = None, *, measure: str = "RR") -> GateResult:
    old, new = gate_input({"s": before}, measures=[measure]), gate_input({"s": now}, measures=[measure])
    return run_gate(new, saved(old), settings or GateOptions())


def sentences(gate: GateResult, kind: str) -> list[str]:
    return [check.sentence for check in gate.checks if check.kind == kind]


def test_the_saved_system_passes_its_own_gate() -> None:
    gate = gate_of(SAME, SAME)
    assert gate.passed
    assert sentences(gate, "drop") == ["s: RR is the same on every query, 0.7500 (n = 40): nothing changed."]
    assert sentences(gate, "queries") == ["s: all 40 queries of the baseline are present."]


def test_a_significant_drop_fails_with_its_numbers() -> None:
    gate = gate_of(SAME, CLEARLY_WORSE)
    assert not gate.passed
    assert sentences(gate, "drop") == ["s: RR fell from 0.7500 to 0.4167 (-0.3333, n = 40): a significant drop (p < 0.0001)."]


def test_a_drop_that_is_not_significant_passes_and_is_notable() -> None:
    gate = gate_of(SAME, SLIGHTLY_WORSE)
    assert gate.passed
    (sentence,) = sentences(gate, "drop")
    assert sentence == "s: RR fell from 0.7500 to 0.7375 (-0.0125, n = 40): a drop, not significant (p = 1.0000)."
    assert sentence in " ".join(gate_table(gate, GateOptions()).sentences)


def test_a_significant_gain_is_notable() -> None:
    gate = gate_of(CLEARLY_WORSE, SAME)
    assert gate.passed
    assert "rose from 0.4167 to 0.7500 (+0.3333, n = 40): a significant gain (p < 0.0001)" in sentences(gate, "drop")[0]


def exploratory_gate(before: list[int], now: list[int], settings: GateOptions, measure: str) -> GateResult:
    old, new = (gate_input({"s": places}, measures=["P@10", measure]) for places in (before, now))
    return run_gate(new, saved(old), settings)


def test_a_measure_where_lower_is_better_drops_when_it_rises() -> None:
    gate = exploratory_gate(SAME, CLEARLY_WORSE, GateOptions(max_drops={"Unjudged@2": 0.1}), "Unjudged@2")
    assert not gate.passed
    assert "Unjudged@2 rose" in sentences(gate, "drop")[1]
    assert exploratory_gate(CLEARLY_WORSE, SAME, GateOptions(max_drops={"Unjudged@2": 0.1}), "Unjudged@2").passed


def test_a_drop_of_an_exploratory_measure_is_shown_and_passes() -> None:
    gate = exploratory_gate(SAME, CLEARLY_WORSE, GateOptions(), "RR")
    assert gate.passed
    assert sentences(gate, "drop")[1].endswith(
        "a significant drop (p < 0.0001); the measure is exploratory and cannot fail the gate."
    )
    assert not exploratory_gate(SAME, CLEARLY_WORSE, GateOptions(primary="RR"), "RR").passed
    assert not exploratory_gate(SAME, CLEARLY_WORSE, GateOptions(max_drops={"RR": 0.01}), "RR").passed


@pytest.mark.parametrize(
    ("primary", "message"), [("AP", "AP is not in the baseline"), ("Unjudged@2", "Unjudged@2 does not rank systems")]
)
def test_a_primary_measure_that_cannot_decide_is_refused(primary: str, message: str) -> None:
    with pytest.raises(UsageError, match=f"{message}; choose from: P@10"):
        exploratory_gate(SAME, SAME, GateOptions(primary=primary), "Unjudged@2")


def test_a_baseline_that_ranks_no_systems_is_refused() -> None:
    with pytest.raises(UsageError, match="no measure of the baseline ranks systems: Unjudged@2; save a baseline with nDCG@10"):
        gate_of(SAME, SAME, measure="Unjudged@2")


def test_the_decision_is_between_the_systems_and_the_saved_ones_that_changed() -> None:
    old = saved(gate_input({"a": CLEARLY_WORSE, "b": SAME}))
    same, new = (run_gate(gate_input({"a": now, "b": SAME}), old, GateOptions()) for now in (CLEARLY_WORSE, ranks(1, 1)))
    assert same.comparison is not None
    assert new.comparison is not None
    assert (same.comparison.systems, new.comparison.systems) == (("a", "b"), ("a", "b", "a (baseline)"))
    assert (same.comparison.decision.system, new.comparison.decision.system) == ("b", "a")
    assert gate_table(new, GateOptions()).sentences[0] == " ".join(new.comparison.decision.sentences)
    assert gate_of(SAME, SAME).comparison is None


def test_the_saved_version_gets_a_name_of_its_own() -> None:
    gate = run_gate(
        gate_input({"a": SAME, "a (baseline)": SAME}), saved(gate_input({"a": CLEARLY_WORSE, "b": SAME})), GateOptions()
    )
    assert gate.comparison is not None
    assert gate.comparison.systems == ("a", "a (baseline)", "a (baseline) (baseline)")


def test_a_system_that_retrieves_nothing_fails() -> None:
    last = gate_input({"s": ranks(2, 2)}, measures=["P@1"])
    empty = replace(last, runs={"s": Run.from_dict({}, name="s")})
    gate = run_gate(empty, saved(gate_input({"s": SAME}, measures=["P@1"])), GateOptions())
    assert sentences(gate, "system") == ["s retrieved nothing."]
    assert not gate.passed


@pytest.mark.parametrize(("allowed", "passes"), [(0.34, True), (0.33, False)])
def test_an_allowed_drop_takes_the_place_of_the_test(allowed: float, passes: bool) -> None:
    gate = gate_of(SAME, CLEARLY_WORSE, GateOptions(max_drops={"RR": allowed}))
    assert gate.passed is passes
    assert f"the allowed {allowed:g}" in sentences(gate, "drop")[0]


def test_more_than_the_allowed_drop_fails_although_it_is_not_significant() -> None:
    assert not gate_of(SAME, SLIGHTLY_WORSE, GateOptions(max_drops={"RR": 0.01})).passed


def test_an_allowed_drop_of_a_measure_outside_the_baseline_is_refused() -> None:
    with pytest.raises(UsageError, match=r"P@5 is not in the baseline.*choose from: RR"):
        gate_of(SAME, SAME, GateOptions(max_drops={"P@5": 0.1}))


@pytest.mark.parametrize(
    ("bound", "passes"), [("RR>=0.75", True), ("RR > 0.75", False), ("RR<=0.75", True), ("mrr<0.75", False), ("RR>=.8", False)]
)
def test_a_threshold_is_met_or_missed_exactly(bound: str, passes: bool) -> None:
    gate = run_gate(gate_input({"s": SAME}), None, GateOptions(thresholds=(threshold_of(bound),)))
    assert gate.passed is passes
    assert sentences(gate, "threshold")[0].startswith("s: RR is 0.7500 (n = 40) and ")
    assert gate_table(gate, GateOptions()).records()[0]["n"] == 40


@pytest.mark.parametrize(
    ("text", "bounds", "passes", "outcome"),
    [
        ("RR>=0.5", (0.6, 0.9), True, "and meets"),
        ("RR>=0.7", (0.6, 0.9), False, "and can miss"),
        ("RR<=0.8", (0.6, 0.9), False, "and can miss"),
        ("RR>=0.8", (0.6, 0.9), False, "and misses"),
    ],
)
def test_a_threshold_is_met_only_if_questions_on_which_the_judge_failed_cannot_change_it(
    text: str, bounds: tuple[float, float], passes: bool, outcome: str
) -> None:
    check = check_threshold("s", threshold_of(text), 0.75, 30, bounds)
    assert check.passed is passes
    assert outcome in check.sentence
    assert "from 0.6000 to 0.9000 with the questions on which the judge failed" in check.sentence


def test_the_gate_reads_the_bounds_of_failed_questions_from_the_result() -> None:
    inputs = gate_input({"s": SAME})
    system = inputs.result.systems[0]
    found = {name: replace(one, bounds=(0.6, 0.9)) for name, one in system.measures.items()}
    failed = replace(inputs, result=replace(inputs.result, systems=(replace(system, measures=found),)))
    assert run_gate(inputs, None, GateOptions(thresholds=(threshold_of("RR>=0.7"),))).passed
    assert not run_gate(failed, None, GateOptions(thresholds=(threshold_of("RR>=0.7"),))).passed


def test_a_threshold_means_the_measure_under_the_rel_in_use() -> None:
    one = gate_input({"s": SAME}, measures=["RR"], rel=2)
    assert run_gate(one, None, GateOptions(thresholds=(Threshold("RR", ">=", 0.7),))).passed


@pytest.mark.parametrize("text", ["", "RR", ">=1", "RR>=", "RR>=x", "RR>=nan", "RR=>1", "xyz>=1", "RR>=1>=2"])
def test_text_that_is_not_a_threshold_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        threshold_of(text)


@pytest.mark.parametrize("text", ["", "RR", "=1", "RR=", "RR=x", "RR=-1", "RR=inf", "xyz=1"])
def test_text_that_is_not_an_allowed_drop_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        max_drop_of(text)


def test_a_drop_may_be_allowed_for_a_measure_with_parameters() -> None:
    assert max_drop_of("nDCG(gain='exp')@10=0.02") == ("nDCG(gain='exp')@10", 0.02)


def test_missing_queries_fail_the_gate_whatever_the_mean() -> None:
    places = [1 if query == "q07" else place for query, place in zip(QUERIES, SAME, strict=True)]
    now = gate_input({"s": places}, left_out=["q08"])
    gate = run_gate(now, saved(gate_input({"s": SAME})), GateOptions())
    assert not gate.passed
    assert sentences(gate, "queries") == ["s: 1 of 40 queries of the baseline are missing: q08."]


def test_queries_that_were_missing_before_may_stay_so() -> None:
    old = gate_input({"s": SAME}, left_out=["q08"])
    assert run_gate(gate_input({"s": SAME}, left_out=["q08"]), saved(old), GateOptions()).passed
    assert run_gate(gate_input({"s": SAME}), saved(old), GateOptions()).passed


def test_a_missing_system_fails_and_a_new_one_is_noted() -> None:
    old = saved(gate_input({"a": SAME, "b": SAME}))
    gate = run_gate(gate_input({"b": SAME, "c": SAME}), old, GateOptions())
    assert [check.system for check in gate.checks if not check.passed] == ["a"]
    assert gate.notes == ("c is not in the baseline and not compared with it",)
    assert run_gate(gate_input({"b": SAME, "c": SAME}), old, GateOptions(), systems=["b"]).passed


def test_a_single_system_is_compared_with_the_only_saved_one_under_any_name() -> None:
    gate = run_gate(gate_input({"new": CLEARLY_WORSE}), saved(gate_input({"old": SAME})), GateOptions())
    assert not gate.passed
    assert gate.notes == ("new is compared with old, the only system of the baseline",)


def test_no_system_in_common_is_refused() -> None:
    old = saved(gate_input({"a": SAME, "b": SAME}))
    with pytest.raises(UsageError, match="no system has the name of a system in the baseline"):
        run_gate(gate_input({"c": SAME, "d": SAME}), old, GateOptions())


def test_nothing_measured_is_refused_and_no_pass() -> None:
    old = saved(gate_input({"s": SAME}))
    with pytest.raises(UsageError, match="no measure of the baseline was evaluated; evaluate some of: RR"):
        run_gate(gate_input({"s": SAME}, measures=["P@5"]), old, GateOptions())


def test_other_data_is_refused() -> None:
    old = saved(gate_input({"s": SAME}, fingerprint="b" * 64))
    with pytest.raises(UsageError, match="was saved with other data"):
        run_gate(gate_input({"s": SAME}), old, GateOptions())


def test_unknown_fingerprints_are_not_compared() -> None:
    old = saved(gate_input({"s": SAME}, fingerprint=""))
    assert run_gate(gate_input({"s": SAME}), old, GateOptions()).passed
    assert run_gate(gate_input({"s": SAME}, fingerprint=""), saved(gate_input({"s": SAME})), GateOptions()).passed


def test_other_judgements_are_refused_although_the_dataset_is_the_same() -> None:
    old = saved(gate_input({"s": SAME[:20]}, queries=QUERIES[:20]))
    with pytest.raises(UsageError, match=r"was saved with other data than cases \(fingerprints of judgements: "):
        run_gate(gate_input({"s": SAME}), old, GateOptions())


def test_the_table_says_how_changes_were_tested() -> None:
    new = gate_input({"s": CLEARLY_WORSE}, measures=["RR", "P@1"])
    settings = GateOptions(seed=7, alpha=0.01, samples=5_000)
    gate = run_gate(
        new, saved(gate_input({"s": SAME}, measures=["RR", "P@1"])), settings, groupings=[group_queries(new, "category")]
    )
    assert gate_table(gate, settings).sentences[-1] == (
        "Method: sign-flip randomisation test (5,000 flips, exact up to 14 queries), two-sided, alpha 0.01, Holm over 1 test of"
        " drops and over 2 tests of segments; seed 7."
    )


@pytest.mark.parametrize("skip", [False, True])
def test_queries_that_a_run_lacks_are_noted_and_counted(skip: bool) -> None:
    qrels = {query: {"good": 1} for query in QUERIES}
    run = {query: {"good": 1.0} for query in QUERIES[:30]}
    some = input_from_runs(qrels, {"s": run}, ["RR"], options=EvaluateOptions(skip_missing=skip))
    gate = run_gate(some, None, GateOptions(thresholds=(threshold_of("RR>=0.5"),)))
    fate = "left out" if skip else "score 0"
    assert [note.partition(":")[2].partition(":")[0] for note in gate.notes] == [
        f" 10 judged queries are not in the run and {'are ' if skip else ''}{fate}"
    ]
    assert gate.checks[0].n == (30 if skip else 40)


def test_another_rel_is_refused() -> None:
    with pytest.raises(UsageError, match="saved with rel=2, this run has rel=1"):
        run_gate(gate_input({"s": SAME}), saved(gate_input({"s": SAME}, rel=2)), GateOptions())


def test_values_are_joined_by_query_and_not_by_place() -> None:
    backwards = gate_input({"s": SAME[::-1]}, queries=QUERIES[::-1])
    gate = run_gate(backwards, saved(gate_input({"s": SAME})), GateOptions())
    assert "nothing changed" in sentences(gate, "drop")[0]


def test_a_drop_in_one_segment_fails_though_the_whole_rises() -> None:
    old, new = gate_input({"s": ranks(1, 3)}), gate_input({"s": ranks(2, 1)})
    gate = run_gate(new, saved(old), GateOptions(), groupings=[group_queries(new, "category")])
    failed = [check for check in gate.checks if not check.passed]
    assert [(check.kind, check.segment) for check in failed] == [("segment", "category easy")]
    assert failed[0].sentence == (
        "s: RR in category easy fell from 1.0000 to 0.5000 (-0.5000, n = 20): "
        "a significant drop (p < 0.0001 after Holm's correction over 2 tests)."
    )


def test_weights_of_queries_count_in_every_mean() -> None:
    weights = {query: 9.0 if at % 2 else 1.0 for at, query in enumerate(QUERIES)}
    old, new = (gate_input({"s": places}, weights=weights) for places in (SAME, CLEARLY_WORSE))
    same = run_gate(old, saved(old), GateOptions(), groupings=[Grouping("all", {"all": QUERIES})])
    assert [check.change.now for check in same.checks if check.change] == pytest.approx([0.55, 0.55])
    gate = run_gate(new, saved(old), GateOptions(), groupings=[Grouping("all", {"all": QUERIES})])
    drop, segment = [check.change for check in gate.checks if check.change]
    assert (drop.before, drop.now) == (segment.before, segment.now) == pytest.approx((0.55, 0.35))
    assert drop.p == segment.p


def test_p_is_what_compare_finds_for_the_same_tests() -> None:
    old = gate_input({"s": SAME}, measures=["RR"])
    worse = [place + (at % 5 == 0) for at, place in enumerate(SAME)]
    gate = run_gate(gate_input({"s": worse}, measures=["RR"]), saved(old), GateOptions(seed=3))
    both = comparison_tables(gate_input({"now": worse, "old": SAME}, measures=["RR"]).result, baseline="old", seed=3)
    theirs = {record["measure"]: record["p adjusted"] for record in both[-1].records()}
    mine = {check.measure: check.change.p for check in gate.checks if check.change}
    assert mine == theirs


def test_sums_are_left_out_and_noted() -> None:
    old = saved(gate_input({"s": SAME}, measures=["RR", "NumRet"]))
    gate = run_gate(gate_input({"s": SAME}, measures=["RR", "NumRet"]), old, GateOptions())
    assert gate.notes == ("measures not tested, because they are not means or do not measure quality: NumRet",)


@pytest.mark.parametrize("places", [[9, 9, 9], [1, 1, 1]])
def test_a_gate_that_cannot_fail_does_not_pass(places: list[int]) -> None:
    old = gate_input({"s": [1, 1, 1]}, queries=QUERIES[:3])
    gate = run_gate(gate_input({"s": places}, queries=QUERIES[:3]), saved(old), GateOptions())
    assert [check.name for check in gate.checks if not check.passed] == ["test"]
    assert sentences(gate, "test") == [
        "Not testable: with 3 queries no drop can be significant: the smallest p of this test is 0.25, and one test"
        " may need 0.05; use more queries: at least 6; or use --max-drop."
    ]


MANY = ("a", "b", "c", "d", "e", "f")


def test_a_gate_with_too_few_samples_to_fail_says_so() -> None:
    old, new = (gate_input(dict.fromkeys(MANY, places)) for places in (SAME, CLEARLY_WORSE))
    gate = run_gate(new, saved(old), GateOptions(samples=100))
    assert sentences(gate, "test") == [
        "Not testable: with 40 queries no drop can be significant: the smallest p of this test is 0.0099, and one"
        " test may need 0.0083; use more samples: at least 119; or use --max-drop."
    ]
    enough = run_gate(new, saved(old), GateOptions(samples=119))
    assert not enough.passed
    assert sentences(enough, "test") == []


def test_drops_that_all_have_a_bound_of_their_own_can_always_fail() -> None:
    old = gate_input({"s": [1, 1, 1]}, queries=QUERIES[:3])
    gate = run_gate(gate_input({"s": [9, 9, 9]}, queries=QUERIES[:3]), saved(old), GateOptions(max_drops={"RR": 0.1}))
    assert not gate.passed
    assert gate.notes == ()


def by_first(one: AnalysisInput, first: int) -> Grouping:
    return by_list(one, {query: "a" if at < first else "b" for at, query in enumerate(QUERIES)}, "list")


def test_segments_that_cannot_fail_are_noted() -> None:
    old, new = gate_input({"s": SAME}), gate_input({"s": CLEARLY_WORSE})
    gate = run_gate(new, saved(old), GateOptions(), groupings=[by_first(new, 5)])
    assert gate.notes == ("1 of 2 segment tests have too few queries to be significant: fewer than 7",)
    none = run_gate(new, saved(old), GateOptions(samples=100, alpha=0.01), groupings=[by_first(new, 5)])
    assert none.notes == ()
    assert [check.name for check in none.checks if check.kind == "test"] == ["test in segments"]
    assert sentences(none, "test") == [
        "Not testable: with 35 queries no drop in a segment can be significant: the smallest p of this test is"
        " 0.0099, and one test may need 0.005; use more samples: at least 199; or leave the segments out."
    ]


@pytest.mark.parametrize("wrong", [{"alpha": 0.0}, {"alpha": 0.5}, {"alpha": float("nan")}, {"samples": 10}, {"samples": 10**9}])
def test_settings_out_of_range_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(UsageError):
        GateOptions(**wrong)  # type: ignore[arg-type]


def test_failed_checks_come_first_and_stand_out() -> None:
    table = gate_table(gate_of(SAME, CLEARLY_WORSE), GateOptions())
    assert table.title == "The gate failed: 1 of 2 checks failed"
    assert [row[:2] for row in table.rows] == [("s RR", "failed"), ("s queries", "passed")]
    assert table.highlighted == {0}
    assert table.facts["passed"] is False


def test_in_python_the_baseline_may_be_a_run_on_the_same_judgements() -> None:
    qrels = {f"q{at}": {"d1": 1} for at in range(40)}
    good, bad = (dict.fromkeys(qrels, docs) for docs in (["d1", "d2"], ["d2", "d3"]))
    assert rp.gate(qrels, good, baseline=good).passed
    assert not rp.gate(qrels, {"a": bad}, baseline={"a": good}).passed
    assert rp.gate(qrels, {"a": good, "b": bad}, baseline={"a": good, "b": good}, systems="a").passed
