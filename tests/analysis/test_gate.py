"""What passes the gate and what does not."""

from __future__ import annotations

from dataclasses import replace

import pytest

import rankproof as rp
from rankproof import Run
from rankproof._analysis.compare.comparison import compare_inputs
from rankproof._analysis.gate.baseline import Baseline, SavedValues, make_baseline
from rankproof._analysis.gate.gate import check_queries, run_gate
from rankproof._analysis.gate.result import GateResult, gate_table
from rankproof._analysis.gate.rules import (
    GateOptions,
    Threshold,
    check_threshold,
    max_drop_of,
    threshold_of,
)
from rankproof._analysis.inputs import AnalysisInput, input_from_runs
from rankproof._analysis.query_groups import Grouping, by_list, group_queries
from rankproof._evaluation.options import EvaluateOptions
from rankproof._statistics.decision_rule import Margin
from rankproof.errors import UsageError
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


def test_many_checks_of_unchanged_values_are_counted_in_one_sentence() -> None:
    same, worse = dict.fromkeys("abcd", SAME), {"e": CLEARLY_WORSE}
    old, new = gate_input({**same, "e": SAME}, measures=["RR"]), gate_input({**same, **worse}, measures=["RR"])
    gate = run_gate(new, saved(old), GateOptions())
    first, second, *_ = gate_table(gate, GateOptions()).sentences
    assert first.startswith("failed: e: RR")
    assert second == "passed: 9 checks of values that are the same on every query, or of complete queries."
    assert len(gate_table(gate, GateOptions()).rows) == 10


def test_a_significant_drop_fails_with_its_numbers() -> None:
    gate = gate_of(SAME, CLEARLY_WORSE)
    assert not gate.passed
    assert sentences(gate, "drop") == ["s: RR fell from 0.7500 to 0.4167 (-0.3333, n = 40): a significant drop (p < 0.0001)."]


def test_a_drop_that_is_neither_significant_nor_within_the_margin_is_unsure() -> None:
    gate = gate_of(SAME, SLIGHTLY_WORSE)
    assert gate.outcome == "unsure"
    assert (gate.passed, gate.stops) == (False, False)
    assert gate_of(SAME, SLIGHTLY_WORSE, GateOptions(unsure="fail")).stops
    (sentence,) = sentences(gate, "drop")
    assert sentence == (
        "s: RR fell from 0.7500 to 0.7375 (-0.0125, n = 40): neither shown to be within 2 pp (risk 34%, limit 5%) nor a"
        " significant drop (p = 0.4865); this comparison detects a drop of 5.0 pp with a chance of 80%."
    )
    assert f"unsure: {sentence}" in gate_table(gate, GateOptions()).sentences


def test_a_gain_passes_with_its_risk() -> None:
    gate = gate_of(CLEARLY_WORSE, SAME)
    assert gate.passed
    assert "rose from 0.4167 to 0.7500 (+0.3333, n = 40): not more than 2 pp lower (risk below 0.1%" in sentences(gate, "drop")[0]


def test_a_small_drop_that_is_significant_passes_and_the_first_line_says_so() -> None:
    lower = [place + 1 if place > 30 else place for place in [31] * 40]
    gate = gate_of([31] * 40, lower, GateOptions(margin=Margin(0.01)))
    assert gate.verdict == "The gate passed, but RR of s is measurably worse by 0.1 pp: 2 checks"
    assert "passed, but measurably lower by 0.1 pp (p < 0.0001); not more than 1 pp lower" in sentences(gate, "drop")[0]


def test_equal_values_of_other_rankings_are_not_the_same_system() -> None:
    old, new = gate_input({"s": [1] * 40}), gate_input({"s": [1] * 40})
    other = replace(new, runs={"s": Run.from_dict({query: {"good": 2.0, "y": 1.0} for query in QUERIES}, name="s")})
    assert run_gate(new, saved(old), GateOptions()).outcome == "passed"
    assert run_gate(other, saved(old), GateOptions()).outcome == "unsure"


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


def test_the_decision_is_between_the_systems_as_they_are_now() -> None:
    old = saved(gate_input({"a": CLEARLY_WORSE, "b": SAME}))
    same, new = (run_gate(gate_input({"a": now, "b": SAME}), old, GateOptions()) for now in (CLEARLY_WORSE, ranks(1, 1)))
    assert same.comparison is not None
    assert new.comparison is not None
    assert same.comparison.systems == new.comparison.systems == ("a", "b")
    assert (same.comparison.decision.first, new.comparison.decision.first) == ("b", "a")
    assert gate_table(new, GateOptions()).sentences[-1] == f"Between the systems: {new.comparison.decision}"
    assert gate_of(SAME, SAME).comparison is None


def test_the_decision_between_the_systems_has_the_margin_and_labels_of_the_gate() -> None:
    now = gate_input({"a": CLEARLY_WORSE, "b": SAME})
    gate = run_gate(now, saved(now), GateOptions(margin=Margin(0.4)))
    share = run_gate(now, saved(now), GateOptions(margin=Margin(0.07, is_share=True), labels_by="people"))
    same = compare_inputs(now, margin="7%", labels_by="people")
    assert gate.decision is not None
    assert gate.decision.margin == 0.4
    assert str(share.decision) == str(same.decision)


def test_a_margin_is_in_the_unit_of_the_primary_measure() -> None:
    assert gate_of(SAME, CLEARLY_WORSE, GateOptions(margin=Margin(5.0)), measure="DCG@10").passed
    for options in (GateOptions(margin=Margin(5.0)), GateOptions(margin=Margin(5.0), thresholds=(threshold_of("RR>=0.1"),))):
        with pytest.raises(UsageError, match="margin is 5"):
            gate_of(SAME, CLEARLY_WORSE, options)
    with pytest.raises(UsageError, match="margin is 5"):
        run_gate(gate_input({"s": SAME}), None, GateOptions(thresholds=(threshold_of("RR>=0.1"),), margin=Margin(5.0)))


def test_a_margin_above_1_is_read_for_a_measure_that_is_not_a_fraction() -> None:
    qrels = {query: {"good": 1} for query in QUERIES}
    run = {query: ["good"] for query in QUERIES}
    assert rp.gate(qrels, run, "DCG@10", baseline=run, margin=5).passed


def test_the_default_margin_of_a_threshold_is_a_share_of_the_better_side() -> None:
    changes = []
    for text, values in (("Unjudged@2<=0.06", (0.0, 0.1)), ("RR>=0.94", (1.0, 0.9))):
        bound, system = threshold_of(text), {query: values[at % 2] for at, query in enumerate(QUERIES)}
        change = GateOptions().bound_changes(gate_input({"s": SAME}), bound)
        changes.append(change.against_bound(SavedValues("s", {bound.measure: system}), bound.bound))
    assert "more than 2 pp above" in check_threshold("s", threshold_of("Unjudged@2<=0.06"), changes[0]).sentence
    assert changes[0].risk == pytest.approx(changes[1].risk)


def test_a_system_that_retrieves_nothing_fails() -> None:
    last = gate_input({"s": ranks(2, 2)}, measures=["P@1"])
    empty = replace(last, runs={"s": Run.from_dict({}, name="s")})
    gate = run_gate(empty, saved(gate_input({"s": SAME}, measures=["P@1"])), GateOptions())
    assert sentences(gate, "system") == ["s retrieved nothing."]
    assert not gate.passed


@pytest.mark.parametrize(("allowed", "outcome"), [(0.4, "passed"), (0.33, "unsure"), (0.25, "failed")])
def test_an_allowed_drop_takes_the_place_of_the_margin(allowed: float, outcome: str) -> None:
    gate = gate_of(SAME, CLEARLY_WORSE, GateOptions(max_drops={"RR": allowed}))
    assert gate.outcome == outcome
    assert f"the allowed {allowed:g}" in sentences(gate, "drop")[0]


def test_more_than_the_allowed_drop_fails_although_it_is_not_significant() -> None:
    assert not gate_of(SAME, SLIGHTLY_WORSE, GateOptions(max_drops={"RR": 0.01})).passed


def test_an_allowed_drop_of_a_measure_outside_the_baseline_is_refused() -> None:
    with pytest.raises(UsageError, match=r"P@5 is not in the baseline.*choose from: RR"):
        gate_of(SAME, SAME, GateOptions(max_drops={"P@5": 0.1}))


@pytest.mark.parametrize(
    ("bound", "outcome"),
    [
        ("RR>=0.6", "passed"),
        ("RR>=0.75", "unsure"),
        ("RR > 0.75", "unsure"),
        ("RR<=0.75", "unsure"),
        ("mrr<0.9", "passed"),
        ("RR>=.8", "unsure"),
        ("RR>=.9", "failed"),
        ("RR<.6", "failed"),
    ],
)
def test_a_threshold_is_compared_by_the_rule_of_the_baseline(bound: str, outcome: str) -> None:
    gate = run_gate(gate_input({"s": SAME}), None, GateOptions(thresholds=(threshold_of(bound),)))
    assert gate.outcome == outcome
    assert sentences(gate, "threshold")[0].startswith("s: RR is 0.7500 (n = 40) and ")
    assert gate_table(gate, GateOptions()).records()[0]["n"] == 40


def test_a_threshold_means_the_measure_under_the_rel_in_use() -> None:
    one = gate_input({"s": SAME}, measures=["RR"], rel=2)
    assert run_gate(one, None, GateOptions(thresholds=(Threshold("RR", ">=", 0.6),))).passed


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
    assert sentences(gate, "queries") == ["s: 1 of 40 queries of the baseline are missing or not answered: q08."]


def test_queries_that_were_missing_before_may_stay_so() -> None:
    old = gate_input({"s": SAME}, left_out=["q08"])
    assert run_gate(gate_input({"s": SAME}, left_out=["q08"]), saved(old), GateOptions()).passed
    assert run_gate(gate_input({"s": SAME}), saved(old), GateOptions()).outcome != "failed"


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
    settings = GateOptions()
    gate = run_gate(
        new, saved(gate_input({"s": SAME}, measures=["RR", "P@1"])), settings, groupings=[group_queries(new, "category")]
    )
    assert gate_table(gate, settings).sentences[-1] == (
        "Rule: passed if the risk of being more than the margin worse is at most 5%; failed if a drop is significant (p at most"
        " 0.05); else unsure. p is corrected by Holm over systems, and over segments."
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


def test_a_threshold_is_unsure_on_the_queries_that_a_run_happens_to_have() -> None:
    qrels = {query: {"good": 1} for query in QUERIES}
    options = EvaluateOptions(skip_missing=True)
    for first, result in (("good", "unsure"), ("bad", "failed")):
        run = {query: {first: 1.0} for query in QUERIES[:30]}
        gate = run_gate(
            input_from_runs(qrels, {"s": run}, ["RR"], options=options), None, GateOptions(thresholds=(threshold_of("RR>=0.5"),))
        )
        assert gate.checks[0].result == result
        assert ("unsure: s lacks 10 of 40 queries, which are left out" in gate.checks[0].sentence) == (result == "unsure")


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
    failed = [check for check in gate.checks if check.result == "failed"]
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


def test_the_risk_and_p_are_those_of_the_decision_between_now_and_before() -> None:
    old = gate_input({"s": SAME}, measures=["RR"])
    worse = [place + (at % 5 == 0) for at, place in enumerate(SAME)]
    gate = run_gate(gate_input({"s": worse}, measures=["RR"]), saved(old), GateOptions())
    decision = compare_inputs(gate_input({"now": worse, "old": SAME}, measures=["RR"])).decision
    (change,) = (check.change for check in gate.checks if check.change)
    assert change.risk == decision.of("now").risk
    assert change.error == decision.against[0].error


def test_queries_without_a_relevant_document_have_no_part_in_the_gate() -> None:
    qrels = {**{query: {"good": 1} for query in QUERIES}, "none": {"good": 0}}
    runs = [{query: {"good": 1.0, "bad": grade} for query in qrels} for grade in (0.5, 2.0)]
    old, new = (input_from_runs(qrels, {"s": run}, ["RR"]) for run in runs)
    gate = run_gate(new, saved(old), GateOptions())
    (change,) = (check.change for check in gate.checks if check.change)
    assert (change.n, change.before, change.now) == (40, 1.0, 0.5)
    assert gate.notes == ("1 query has no relevant document and no part in the gate; RR over all 41: s 0.4878",)
    bound = run_gate(old, None, GateOptions(thresholds=(threshold_of("RR>=0.9"),)))
    assert bound.checks[0].value == 1.0


def test_sums_are_left_out_and_noted() -> None:
    old = saved(gate_input({"s": SAME}, measures=["RR", "NumRet"]))
    gate = run_gate(gate_input({"s": SAME}, measures=["RR", "NumRet"]), old, GateOptions())
    assert gate.notes == ("measures not tested, because they are not means or do not measure quality: NumRet",)


@pytest.mark.parametrize("places", [[9, 9, 9], [1, 1, 1]])
def test_a_gate_of_fewer_than_30_queries_is_unsure(places: list[int]) -> None:
    old = gate_input({"s": [1, 1, 1]}, queries=QUERIES[:3])
    gate = run_gate(gate_input({"s": places}, queries=QUERIES[:3]), saved(old), GateOptions())
    assert gate.outcome == "unsure"
    assert sentences(gate, "drop")[0].endswith("the gate needs at least 30 queries (n = 3).")


def by_first(one: AnalysisInput, first: int) -> Grouping:
    return by_list(one, {query: "a" if at < first else "b" for at, query in enumerate(QUERIES)}, "list")


def test_segments_of_few_queries_are_noted() -> None:
    old, new = gate_input({"s": SAME}), gate_input({"s": CLEARLY_WORSE})
    gate = run_gate(new, saved(old), GateOptions(), groupings=[by_first(new, 5)])
    assert gate.notes == ("1 of 2 segment tests have fewer than 30 queries; only large drops in them are significant",)


def test_failed_checks_come_first_and_stand_out() -> None:
    table = gate_table(gate_of(SAME, CLEARLY_WORSE), GateOptions())
    assert table.title == "The gate failed: RR of s fell by 33.3 pp (0.750 to 0.417); 1 of 2 checks failed"
    assert [row[:2] for row in table.rows] == [("s RR", "failed"), ("s queries", "passed")]
    assert table.highlighted == {0}
    assert table.facts["passed"] is False


def test_in_python_the_baseline_may_be_a_run_on_the_same_judgements() -> None:
    qrels = {f"q{at}": {"d1": 1} for at in range(40)}
    good, bad = (dict.fromkeys(qrels, docs) for docs in (["d1", "d2"], ["d2", "d3"]))
    assert rp.gate(qrels, good, baseline=good).passed
    assert not rp.gate(qrels, {"a": bad}, baseline={"a": good}).passed
    assert rp.gate(qrels, {"a": good, "b": bad}, baseline={"a": good, "b": good}, systems="a").passed


def test_a_query_whose_value_only_one_measure_lost_is_missing() -> None:
    before = SavedValues("s", {"EM": {"q1": 1.0, "q2": 1.0}, "Contains": {"q1": 1.0}})
    now = SavedValues("s", {"EM": {"q1": 1.0, "q2": 1.0}, "Contains": {"q2": 1.0}})
    check = check_queries(now, before)
    assert not check.passed
    assert check.sentence == "s: 1 of 2 queries of the baseline are missing or not answered: q1."
