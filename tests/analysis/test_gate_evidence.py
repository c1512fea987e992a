"""What the gate is not sure of: missing values, unjudged documents, and machine judges that people check with labels."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import rankproof as rp
from rankproof._analysis.decision.scenarios import MissingValues, without_worst_value
from rankproof._analysis.gate.baseline import Baseline, baseline_json, make_baseline, parse_baseline
from rankproof._analysis.gate.gate import run_gate
from rankproof._analysis.gate.result import GateResult
from rankproof._analysis.gate.rules import GateCheck, GateOptions
from rankproof._analysis.inputs import AnalysisInput
from rankproof._cli.main import main
from rankproof._data.qrels import Qrels
from rankproof._evaluation.result import MeasureResult, Result, SystemResult
from rankproof._results.decision_settings import Completeness
from rankproof.measures import parse_measure
from support.labelled_results import with_contexts, write_claim_labels

N = 120
FAITHFULNESS = "Faithfulness(judge='overlap')"
PERFECT = dict.fromkeys(range(N), 1.0)
HALF = dict.fromkeys(range(60), 1.0)


def query(at: int) -> str:
    return f"q{at:03}"


def answers(values: Mapping[int, float], reason: str, measure: str = FAITHFULNESS) -> AnalysisInput:
    """A system with these values; the other questions have none, for one reason."""
    numbers = np.array(list(values.values()))
    reasons = {query(at): reason for at in range(N) if at not in values}
    found = MeasureResult(parse_measure(measure), float(numbers.mean()), tuple(map(query, values)), numbers, reasons=reasons)
    result = Result(tuple(map(query, range(N))), (SystemResult("s", {measure: found}, ()),))
    return AnalysisInput("log", "", Qrels({}), {}, result)


def bounded(values: Mapping[int, float], reason: str, threshold: str = f"{FAITHFULNESS}>=0.9") -> GateCheck:
    options = GateOptions.of(thresholds=[threshold], labels_by="people")
    return run_gate(answers(values, reason), None, options).checks[0]


def saved(inputs: AnalysisInput) -> Baseline:
    """The baseline as it is read back from its file."""
    return parse_baseline(baseline_json(make_baseline(inputs, version="0", made="")), "baseline.json")


def gate(now: AnalysisInput, before: AnalysisInput) -> tuple[GateCheck, GateCheck]:
    """The check of the queries and that of the drop."""
    queries, drop = run_gate(now, saved(before), GateOptions.of(labels_by="people")).checks
    return queries, drop


@pytest.mark.parametrize("reason", ["missing", "error"])
def test_a_threshold_counts_questions_without_an_answer_as_the_worst_value(reason: str) -> None:
    check = bounded(HALF, reason)
    assert (check.result, check.value, check.n) == ("failed", 0.5, 120)
    assert check.sentence.endswith("s did not answer 60 of 120 questions; they count as 0.")


def test_a_threshold_is_unsure_if_abstentions_decide_it() -> None:
    check = bounded(HALF, "abstained")
    assert check.result == "unsure"
    assert (
        "s abstained on 50% of the questions; with abstentions as wrong the check fails, without them it passes" in check.sentence
    )


def test_a_threshold_is_unsure_if_questions_on_which_the_judge_failed_decide_it() -> None:
    check = bounded(HALF, "failed")
    assert check.result == "unsure"
    words = "with these at their worst the check fails, with those of the other systems at their best it passes"
    assert f"the judge gave s no value for 50% of the questions; {words}" in check.sentence
    assert bounded(dict.fromkeys(range(119), 1.0), "failed").result == "passed"


def test_a_threshold_fails_in_each_scenario_if_it_is_far_off() -> None:
    assert bounded(dict.fromkeys(range(100), 0.2), "failed").result == "failed"
    assert bounded(dict.fromkeys(range(100), 0.2), "abstained").result == "failed"


def test_an_upper_bound_counts_missing_values_in_both_directions() -> None:
    assert bounded(dict.fromkeys(range(60), 0.2), "failed", f"{FAITHFULNESS}<=0.5").result == "unsure"
    assert bounded(dict.fromkeys(range(N), 0.2), "failed", f"{FAITHFULNESS}<=0.5").result == "passed"


@pytest.mark.parametrize("reason", ["missing", "error"])
def test_a_build_that_stops_answering_drops(reason: str) -> None:
    queries, drop = gate(answers(HALF, reason), answers(PERFECT, ""))
    assert (queries.result, drop.result) == ("failed", "failed")
    assert drop.change is not None
    assert (drop.change.before, drop.change.now, drop.change.n) == (1.0, 0.5, 120)


def test_a_drop_is_unsure_if_abstentions_decide_it_and_the_questions_are_present() -> None:
    queries, drop = gate(answers(HALF, "abstained"), answers(PERFECT, ""))
    assert (queries.result, drop.result) == ("passed", "unsure")
    assert "s abstained on 50% of the questions; with abstentions as wrong the check fails" in drop.sentence


def test_a_pass_is_unsure_if_missing_values_of_the_baseline_decide_it() -> None:
    _, drop = gate(answers(dict.fromkeys(range(N), 0.8), ""), answers(HALF, "failed"))
    assert drop.result == "unsure"
    assert "the judge gave the baseline no value for 50% of the questions" in drop.sentence
    assert "with these at their worst the check passes, with those of the other systems at their best it fails" in drop.sentence


def with_silent_repeats(inputs: AnalysisInput) -> AnalysisInput:
    """Each question was asked three times, and the system abstained twice."""
    (own,) = inputs.result.systems
    measured = own.measures[FAITHFULNESS]
    values = {query: np.array([value, 0.0, 0.0]) for query, value in measured.per_query.items()}
    reasons = dict.fromkeys(values, ("abstained", "abstained"))
    repeated = replace(measured, values=measured.values / 3, repeats=values, repeat_reasons=reasons)
    return replace(inputs, result=replace(inputs.result, systems=(replace(own, measures={FAITHFULNESS: repeated}),)))


def test_a_drop_is_unsure_if_abstaining_repeats_of_either_build_decide_it() -> None:
    perfect = answers(PERFECT, "")
    _, drop = gate(with_silent_repeats(perfect), perfect)
    assert drop.result == "unsure"
    assert "s abstained on 67% of the answers; with abstentions as wrong the check fails, without them it passes" in drop.sentence
    _, rise = gate(answers(dict.fromkeys(range(N), 0.6), ""), with_silent_repeats(perfect))
    assert rise.result == "unsure"
    assert "the baseline abstained on 67% of the answers; with abstentions as wrong the check passes" in rise.sentence


def test_missing_values_of_a_measure_without_a_highest_value_are_an_obstacle() -> None:
    none, some = np.zeros((N, 2), bool), np.array([[at < 2, False] for at in range(N)])
    text = without_worst_value(parse_measure("DCG@10"), MissingValues(some, none, none), ("s", "the baseline"))
    assert text == "s has no DCG@10 for 1.7% of the questions, and DCG@10 has no worst value"
    assert not without_worst_value(parse_measure("nDCG@10"), MissingValues(some, none, none), ("s", "the baseline"))


QUERIES = [query(at) for at in range(60)]
QRELS = {one: {f"{one}-r{at}": 1 for at in range(3)} for one in QUERIES}
OLD = {one: [*QRELS[one], "x", "y"] for one in QUERIES}
NEW = {one: [f"{one}-r0", f"{one}-n1", f"{one}-n2", f"{one}-n3", f"{one}-r1"] for one in QUERIES}


def ranked(
    now: Mapping[str, list[str]], path: Path, judgements: Completeness | None = None, measure: str = "nDCG@5"
) -> GateResult:
    rp.gate(QRELS, {"s": OLD}, measure, save=path)
    return rp.gate(QRELS, {"s": now}, baseline=path, judgements=judgements)


def test_a_drop_that_depends_on_unjudged_documents_is_unsure(tmp_path: Path) -> None:
    found = ranked(NEW, tmp_path / "base.json")
    (drop,) = (check for check in found.checks if check.kind == "drop")
    assert drop.result == "unsure"
    assert "s may not have been judged. Of the documents that only the baseline shows in its top 5, 60 of 180" in drop.sentence
    assert "of those of s 0 of 180" in drop.sentence
    assert drop.sentence.endswith(
        "Next: rankproof audit QRELS RUN… -m nDCG@5 --judge-next 20, or --judgements complete if nothing relevant is missing."
    )


def test_a_rise_is_unsure_if_only_a_deeper_top_of_the_new_build_was_judged(tmp_path: Path) -> None:
    judged = {one: {f"{one}-r0": 1, f"{one}-r1": 1} for one in QUERIES}
    before = {one: [f"{one}-r1" if at % 2 else f"{one}-o", "x", "y"] for at, one in enumerate(QUERIES)}
    rp.gate(judged, {"s": before}, "P@1", save=tmp_path / "base.json")
    (rise,) = (check for check in rp.gate(judged, {"s": NEW}, baseline=tmp_path / "base.json").checks if check.kind == "drop")
    assert rise.result == "unsure"
    assert "the baseline may not have been judged. Perhaps only the top 5 of s was; of the other documents" in rise.sentence
    assert "in the top 1 of the baseline 0 of 30 are known to be relevant." in rise.sentence


def test_complete_judgements_make_unjudged_documents_worthless(tmp_path: Path) -> None:
    assert ranked(NEW, tmp_path / "base.json", "complete").outcome == "failed"


def test_a_drop_without_new_documents_fails(tmp_path: Path) -> None:
    moved = {one: ["x", "y", *QRELS[one]] for one in QUERIES}
    assert ranked(moved, tmp_path / "base.json").outcome == "failed"


def test_a_measure_without_a_cutoff_is_not_checked_for_unjudged_documents(tmp_path: Path) -> None:
    assert ranked(NEW, tmp_path / "base.json", measure="AP").outcome == "failed"


def test_the_command_reads_that_judgements_are_complete(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("qrels").write_text("".join(f"{one} 0 {doc} 1\n" for one, docs in QRELS.items() for doc in docs))
    for name, run in (("old", OLD), ("new", NEW)):
        rows = (f"{one} Q0 {doc} {at} {-at} s\n" for one, docs in run.items() for at, doc in enumerate(docs, start=1))
        Path(f"{name}.run").write_text("".join(rows))
    assert main(["gate", "qrels", "old.run", "-m", "nDCG@5", "--save", "base.json", "--quiet"]) == 0
    assert main(["gate", "qrels", "new.run", "--baseline", "base.json"]) == 0
    assert main(["gate", "qrels", "new.run", "--baseline", "base.json", "--judgements", "complete"]) == 3


def test_an_allowed_drop_of_another_measure_needs_a_checked_judge_as_well() -> None:
    contains = answers(PERFECT, "missing", "Contains").result.systems[0].measures
    before = answers(PERFECT, "missing")
    system = replace(before.result.systems[0], measures={**contains, **before.result.systems[0].measures})
    inputs = replace(before, result=replace(before.result, systems=(system,)))
    first = replace(saved(inputs).systems[0], digest="another")
    options = GateOptions.of(primary="Contains", max_drops={FAITHFULNESS: 0.05})
    gate = run_gate(inputs, replace(saved(inputs), systems=(first,)), options)
    assert {check.measure: check.result for check in gate.checks} == {"": "passed", "Contains": "passed", FAITHFULNESS: "unsure"}
    assert gate.verdict.startswith("The gate is unsure (judge not checked)")
    without = run_gate(inputs, replace(saved(inputs), systems=(first,)), GateOptions.of(primary="Contains"))
    assert without.passed


def build(place: Path, answer: str, supported: float, labelled: int, questions: int = 80) -> Path:
    """A results folder of one system whose Faithfulness is by overlap; people support this share of its answers."""
    place.mkdir(exist_ok=True)
    contexts = ["Cats purr at night."]
    rows = [{"query": query(at), "question": f"What of {at}?", "answer": answer, "contexts": contexts} for at in range(questions)]
    (place / "s.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    folder = place / "results"
    assert main(["answers", str(place / "s.jsonl"), "-m", "Faithfulness", "-o", str(folder), "--quiet"]) == 0
    if not labelled:
        return folder
    write_claim_labels(
        folder, ("s",), labelled, lambda claim, place: "supported" if place < supported * labelled else "not_stated"
    )
    return folder


WORDY, OTHER = "Cats purr at night.", "Cats purr at night"


def drop_of(found: GateResult) -> GateCheck:
    return next(check for check in found.checks if check.kind == "drop")


def test_labels_of_both_builds_correct_the_judge(tmp_path: Path) -> None:
    old, new = build(tmp_path / "old", WORDY, 1.0, 60), build(tmp_path / "new", OTHER, 0.5, 60)
    rp.gate(old, save=tmp_path / "base.json")
    drop = drop_of(rp.gate(new, baseline=tmp_path / "base.json"))
    assert drop.result == "failed"
    assert drop.sentence.startswith(
        "By people's labels of 60 of 80 questions and overlap on all, s: Faithfulness(judge='overlap')"
    )
    assert drop.change is not None
    assert (drop.change.before, drop.change.now, drop.change.labelled, drop.change.limit) == (1.0, 0.5, 60, 0.006)
    better = drop_of(rp.gate(old, baseline=new))
    assert (better.result, better.judge) == ("passed", "")


def test_labels_of_one_build_alone_leave_a_pass_unsure(tmp_path: Path) -> None:
    plain, labelled = build(tmp_path / "old", WORDY, 1.0, 0), build(tmp_path / "new", OTHER, 1.0, 60)
    found = rp.gate(labelled, baseline=plain)
    assert "unsure (labels are of this build only)" in drop_of(found).sentence
    assert found.verdict.startswith("The gate is unsure (labels are of this build only): ")
    assert "unsure (labels are of the baseline only)" in drop_of(rp.gate(plain, baseline=labelled)).sentence


def test_fewer_than_thirty_labelled_questions_check_no_judge(tmp_path: Path) -> None:
    old, new = build(tmp_path / "old", WORDY, 1.0, 60), build(tmp_path / "new", OTHER, 1.0, 29)
    assert "unsure (29 labelled questions, 30 are needed)" in drop_of(rp.gate(new, baseline=old)).sentence


def test_labels_of_other_contexts_do_not_count_in_the_gate(tmp_path: Path) -> None:
    old, new = build(tmp_path / "old", OTHER, 0.5, 60), build(tmp_path / "new", WORDY, 1.0, 60)
    assert drop_of(rp.gate(new, baseline=old)).result == "passed"
    with_contexts(new, [tmp_path / "new" / "s.jsonl"], "Cats purr at night, they say.")
    assert "unsure (labels are of the baseline only)" in drop_of(rp.gate(new, baseline=old)).sentence


def test_a_threshold_needs_labels_of_the_build_alone(tmp_path: Path) -> None:
    folder = build(tmp_path / "new", "Dogs bark in darkness.", 1.0, 60)
    (check,) = rp.gate(folder, thresholds="Faithfulness>=0.9").checks
    assert (check.result, check.value, check.n) == ("passed", 1.0, 60)
    assert check.sentence.startswith("By people's labels of 60 of 80 questions and overlap on all, s: ")
    (check,) = rp.gate(build(tmp_path / "none", WORDY, 1.0, 0), thresholds="Faithfulness>=0.9").checks
    assert "unsure (judge not checked)" in check.sentence
