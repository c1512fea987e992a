"""The gate's files: the baseline as JSON, JUnit XML, and the comment."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

import rankproof as rp
from rankproof._analysis.gate.baseline import Baseline, baseline_json, make_baseline, parse_baseline
from rankproof._analysis.gate.gate import run_gate
from rankproof._analysis.gate.result import GateResult, gate_table
from rankproof._analysis.gate.rules import GateOptions, threshold_of
from rankproof._analysis.query_groups import group_queries
from rankproof._cli.main import main
from rankproof._render.ci import MAX_LISTED, as_comment, as_junit
from rankproof.errors import InputError, UsageError
from support.gate_inputs import QUERIES, gate_input, ranks

EVIL = "<b>&\"'@team ]]> `x` \x00\x1b[31m\u202e\ufffe\ud7ff |"


def baseline(name: str = "s") -> Baseline:
    return make_baseline(gate_input({name: ranks(1, 2)}, measures=["RR", "P@5"]), version="0.1", made="2026-01-01T00:00:00Z")


def failed_gate(name: str = "s") -> GateResult:
    now = gate_input({name: ranks(2, 3)}, measures=["RR", "P@5"])
    return run_gate(
        now, baseline(name), GateOptions(thresholds=(threshold_of("RR>=0.5"),)), groupings=[group_queries(now, "category")]
    )


@pytest.mark.parametrize("name", ["s", EVIL])
def test_a_baseline_is_read_back_as_it_was(name: str) -> None:
    before = baseline(name)
    after = parse_baseline(baseline_json(before), "b.json")
    assert baseline_json(after) == baseline_json(before)
    assert [system.name for system in after.systems] == [name]
    assert after.systems[0].measures == before.systems[0].measures


def test_a_weighted_baseline_is_read_back_with_its_weights() -> None:
    weights = {query: 1.0 + at for at, query in enumerate(QUERIES)}
    before = make_baseline(gate_input({"s": ranks(1, 2)}, weights=weights), version="0.1", made="")
    after = parse_baseline(baseline_json(before), "b.json")
    assert after.weights == weights
    assert baseline_json(after) == baseline_json(before)
    assert json.loads(baseline_json(before))["systems"][0]["measures"]["RR"]["value"] < 0.75


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ({"q00": 1.0}, "a query has no weight"),
        ({"q00": -1.0}, "a weight is not a finite number of at least 0"),
        ({}, "queries give"),
    ],
)
def test_a_baseline_with_damaged_weights_is_rejected(weights: dict[str, float], message: str) -> None:
    known = {query: 1.0 + at for at, query in enumerate(QUERIES)}
    plain = json.loads(baseline_json(make_baseline(gate_input({"s": ranks(1, 2)}, weights=known), version="0.1", made="")))
    with pytest.raises(InputError, match=message):
        parse_baseline(json.dumps({**plain, "weights": weights}), "b.json")


def test_a_baseline_with_a_value_that_the_measure_cannot_have_is_rejected() -> None:
    plain = json.loads(baseline_json(baseline()))
    measure = plain["systems"][0]["measures"]["RR"]
    measure["per_query"] = dict.fromkeys(measure["per_query"], 5.0)
    measure["value"] = 5.0
    with pytest.raises(InputError, match="the file is damaged or was edited"):
        parse_baseline(json.dumps(plain), "b.json")


def test_a_baseline_that_names_python_code_does_not_import_it() -> None:
    text = baseline_json(baseline()).replace('"RR"', '"no_such_module:measure"')
    with pytest.raises(InputError, match="no_such_module:measure is Python code, which a file of data cannot name"):
        parse_baseline(text, "b.json")


def test_a_baseline_says_what_it_is() -> None:
    plain = json.loads(baseline_json(baseline()))
    assert (plain["format"], plain["schema"], plain["rankproof"]) == ("rankproof-baseline", 7, "0.1")
    assert plain["systems"][0]["measures"]["RR"]["value"] == 0.75


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not JSON"),
        ("[]", "the document is not an object"),
        ("{}", "this is not a baseline; pass a file that gate(save=FILE) wrote"),
        ('{"format": "rankproof-results"}', "this is not a baseline"),
        (
            '{"format": "rankproof-baseline", "schema": 1}',
            "the file has format version 1, this version of rankproof reads 7; save it again with gate(save=FILE)",
        ),
        (
            '{"format": "rankproof-baseline", "schema": 7}',
            "rankproof is missing; the file is damaged or was edited: save the baseline",
        ),
    ],
)
def test_a_file_that_is_not_a_baseline_is_refused(text: str, message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        parse_baseline(text, "b.json")


def put(plain: Any, path: str, value: Any) -> str:
    *before, last = path.split("/")
    at = plain
    for key in before:
        at = at[int(key) if key.isdigit() else key]
    if value is None:
        del at[last]
    else:
        at[last] = value
    return json.dumps(plain)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("fingerprint", None),
        ("qrels_fingerprint", None),
        ("rel", "1"),
        ("read_options", []),
        ("systems", []),
        ("systems/0/name", 7),
        ("systems/0/missing", [1]),
        ("systems/0/measures", {}),
        ("systems/0/measures/RR/value", 0.7),
        ("systems/0/measures/RR/per_query/q01", 0.25),
        ("systems/0/measures/RR/per_query/q01", True),
        ("systems/0/measures/RR/per_query/q01", 10**400),
        ("systems/0/measures/RR", {"value": 0.0, "per_query": {}}),
        ("systems/0/measures/xyz", {"value": 0, "per_query": {}}),
    ],
)
def test_a_baseline_that_was_changed_is_refused(path: str, value: Any) -> None:
    with pytest.raises(InputError, match=r"b\.json: .*save the baseline again"):
        parse_baseline(put(json.loads(baseline_json(baseline())), path, value), "b.json")


def test_a_number_that_overflows_to_infinity_is_refused() -> None:
    text = baseline_json(baseline()).replace('"q01": 0.5', '"q01": 1e999', 1)
    with pytest.raises(InputError, match="not a finite number"):
        parse_baseline(text, "b.json")


def test_a_baseline_that_is_cut_anywhere_is_refused() -> None:
    text = baseline_json(baseline())
    for end in range(0, len(text) - 2, 97):
        with pytest.raises(InputError):
            parse_baseline(text[:end], "b.json")


@pytest.mark.parametrize("name", ["s", EVIL])
def test_junit_has_a_case_for_each_check(name: str) -> None:
    gate = failed_gate(name)
    text = as_junit(gate, name=f"gate {name}", made="2026-01-02T03:04:05Z")
    (suite,) = ElementTree.fromstring(text.encode())
    cases = suite.findall("testcase")
    assert len(cases) == len(gate.checks)
    assert suite.attrib["tests"] == str(len(cases))
    assert suite.attrib["failures"] == str(len(suite.findall("testcase/failure"))) == "4"
    assert suite.attrib["timestamp"] == "2026-01-02T03:04:05"
    assert [child.tag for child in suite if child.tag != "testcase"] == ["properties", "system-out", "system-err"]
    assert {case.attrib["classname"] for case in cases} == {f"rankproof.gate.{one.kind}" for one in gate.checks}
    assert len({(case.attrib["classname"], case.attrib["name"]) for case in cases}) == len(cases)


def test_a_failure_carries_its_sentence() -> None:
    (suite,) = ElementTree.fromstring(as_junit(failed_gate(), name="gate", made="2026-01-02T03:04:05Z").encode())
    messages = [failure.attrib["message"] for failure in suite.iter("failure")]
    assert messages[0].startswith("s: RR fell from 0.7500 to 0.4167 (-0.3333, n = 40): a significant drop")


def test_the_comment_lists_failures_first_and_mentions_nobody() -> None:
    text = as_comment(failed_gate(EVIL))
    assert text.startswith("### rankproof: The gate failed: RR of ")
    assert text.index("**Failed**") < text.index("<details>")
    assert "<b>" not in text
    assert "@team" not in text
    assert "\x1b" not in text


def test_the_first_line_says_which_measure_fell_and_by_how_much() -> None:
    assert failed_gate().verdict.startswith("The gate failed: RR of s fell by 33.3 pp (0.750 to 0.417); 4 of ")


def test_the_comment_of_a_gate_that_passed_names_no_failure() -> None:
    one = gate_input({"s": ranks(1, 2)}, measures=["RR", "P@5"])
    text = as_comment(run_gate(one, baseline(), GateOptions()))
    assert text.startswith("### rankproof: The gate passed: 3 checks\n")
    assert "**Failed**" not in text


def test_a_long_comment_is_cut_and_says_by_how_much() -> None:
    failed = tuple(check for check in failed_gate().checks if not check.passed)
    text = as_comment(GateResult(failed[:1] * (MAX_LISTED + 12)))
    assert "- … and 12 more" in text
    assert text.count("a significant drop") == MAX_LISTED


def test_the_function_saves_the_baseline_of_the_command(tmp_path: Path) -> None:
    qrels, run = {f"q{at}": {"d1": 1} for at in range(40)}, {f"q{at}": {"d1": 2.0, "d2": 1.0} for at in range(40)}
    paths = [str(tmp_path / name) for name in ("qrels.json", "bm25.json", "command.json", "python.json")]
    for path, content in zip(paths, (qrels, run), strict=False):
        Path(path).write_text(json.dumps(content))
    assert main(["gate", paths[0], paths[1], "--save", paths[2], "--quiet"]) == 0
    found = rp.gate(paths[0], {"bm25": paths[1]}, save=paths[3])
    assert found.passed
    assert any(note.endswith("python.json: saved bm25 with nDCG@10, RR@10, R@100 on 40 queries") for note in found.notes)
    one, other = (json.loads(Path(path).read_text()) for path in paths[2:])
    assert {**one, "made": ""} == {**other, "made": ""}
    assert rp.gate(paths[0], {"bm25": paths[1]}, baseline=paths[3], save=paths[2]).passed


def test_a_failed_gate_does_not_replace_the_baseline(tmp_path: Path) -> None:
    qrels, bad = {f"q{at}": {"d1": 1} for at in range(40)}, {f"q{at}": {"d2": 1.0} for at in range(40)}
    path = tmp_path / "baseline.json"
    found = rp.gate(qrels, bad, thresholds="RR>=0.5", save=path)
    assert not found.passed
    assert found.notes[-1].endswith("baseline.json was not written, because the gate failed")
    assert not path.exists()


def test_every_output_says_unsure_in_the_same_words() -> None:
    now = gate_input({"s": [2, *ranks(1, 2)[1:]]}, measures=["RR"])
    gate = run_gate(now, baseline(), GateOptions())
    assert gate.verdict == "The gate is unsure: 1 of 2 checks is unsure"
    assert str(gate).startswith(gate.verdict)
    assert as_comment(gate).startswith(f"### rankproof: {gate.verdict}\n\n**Unsure**")
    assert (gate_table(gate, GateOptions()).title, gate_table(gate, GateOptions()).facts["outcome"]) == (gate.verdict, "unsure")
    (suite,) = ElementTree.fromstring(as_junit(gate, name="gate", made="2026-01-02T03:04:05Z").encode())
    assert (suite.attrib["failures"], suite.attrib["skipped"]) == ("0", "1")
    assert (suite.findtext("system-out") or "").startswith(gate.verdict)
    assert replace(gate, unsure="fail").verdict == "The gate failed: 1 of 2 checks is unsure, and --unsure fail is set"
    (strict,) = ElementTree.fromstring(as_junit(replace(gate, unsure="fail"), name="gate", made="2026-01-02T03:04:05Z").encode())
    assert (strict.attrib["failures"], strict.attrib["skipped"]) == ("1", "0")


SMALL = {f"q{at}": {"d1": 1} for at in range(30)}, {f"q{at}": {"d1": 1.0} for at in range(30)}


@pytest.mark.parametrize("text", ["my notes", '{"format": "rankproof-result"}', "\0\1"])
def test_a_file_that_is_no_baseline_is_not_replaced(text: str, tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text(text)
    with pytest.raises(UsageError, match=r"notes\.txt exists and is not a baseline; specify another file, or remove this one"):
        rp.gate(*SMALL, save=path)
    assert path.read_text() == text


def test_a_baseline_is_saved_into_a_device_and_an_empty_file(tmp_path: Path) -> None:
    (tmp_path / "empty.json").write_text("")
    for path in ("/dev/null", tmp_path / "empty.json"):
        assert rp.gate(*SMALL, save=path).notes
    assert parse_baseline((tmp_path / "empty.json").read_text(), "empty.json").systems


def test_wrong_kinds_of_thresholds_and_segments_are_named() -> None:
    with pytest.raises(UsageError, match="thresholds contains an int; pass text, or a list of texts"):
        rp.gate(*SMALL, thresholds=[3])  # type: ignore[list-item]
    with pytest.raises(UsageError, match="by cannot be an int; pass the name of a field"):
        rp.segments(*SMALL, by=3)  # type: ignore[arg-type]


def test_a_drop_that_no_measure_can_have_is_an_error(tmp_path: Path) -> None:
    rp.gate(*SMALL, ["nDCG@10"], save=tmp_path / "b.json")
    with pytest.raises(UsageError, match=r"nDCG@10 cannot drop by 5, so this bound holds nothing; write a number below 1"):
        rp.gate(*SMALL, baseline=str(tmp_path / "b.json"), max_drops={"nDCG@10": 5})
