"""The pytest fixture `rankproof_gate`, in tests that pytest runs in its own process."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from xml.etree import ElementTree

import pytest

from rankproof._cli.main import main

TESTS = """
def test_unchanged(rankproof_gate):
    result = rankproof_gate("qrels.txt", "good.run", baseline="baseline.json")
    assert result.passed

def test_worse(rankproof_gate):
    rankproof_gate("qrels.txt", "bad.run", baseline="baseline.json")

def test_unsure(rankproof_gate):
    assert rankproof_gate("qrels.txt", "good.run", thresholds="nDCG@10<=1", margin=0.000001).outcome == "unsure"

def test_unsure_fails(rankproof_gate):
    rankproof_gate("qrels.txt", "good.run", thresholds="nDCG@10<=1", margin=0.000001, unsure="fail")

def test_threshold(rankproof_gate):
    rankproof_gate("qrels.txt", {"mine": "good.run"}, thresholds="nDCG@10>=0.9")

def test_no_file(rankproof_gate):
    rankproof_gate("qrels.txt", "missing.run", baseline="baseline.json")
"""


@dataclass(frozen=True, slots=True)
class Done:
    """What pytest printed, and of each test why it failed (empty if it passed) and what it printed."""

    output: str
    failures: dict[str, str]
    printed: dict[str, str]


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Done:
    """The tests on judgements, a good and a bad run, and the baseline of the good one, run by pytest in its own process."""
    folder = tmp_path_factory.mktemp("project")
    (folder / "qrels.txt").write_text("".join(f"q{at} 0 d{at} 1\nq{at} 0 x{at} 0\n" for at in range(40)), "utf-8")
    for name, doc in (("good", "d"), ("bad", "x")):
        rows = "".join(f"q{at} Q0 {doc if at < 30 else 'd'}{at} 1 1.0 {name}\n" for at in range(40))
        (folder / f"{name}.run").write_text(rows, "utf-8")
    qrels, run, baseline = (str(folder / name) for name in ("qrels.txt", "good.run", "baseline.json"))
    assert main(["gate", qrels, run, "--save", baseline, "-m", "nDCG@10", "--quiet"]) == 0
    (folder / "test_search.py").write_text(TESTS, "utf-8")
    records = ["--junitxml=tests.xml", "-o", "junit_logging=system-out"]
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "no:cacheprovider",
        "-rA",
        "-p",
        "pytest_rankproof",
        *records,
        "test_search.py",
    ]
    ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, encoding="utf-8")
    cases = ElementTree.parse(folder / "tests.xml").findall(".//testcase")
    failures = {case.attrib["name"]: "".join(failure.text or "" for failure in case.findall("failure")) for case in cases}
    printed = {case.attrib["name"]: case.findtext("system-out") or "" for case in cases}
    assert len(cases) == 6, ran.stdout
    return Done(ran.stdout, failures, printed)


@pytest.mark.slow
def test_an_unchanged_run_passes_and_the_checks_are_printed(done: Done) -> None:
    assert done.failures["test_unchanged"] == ""
    assert "The gate passed" in done.printed["test_unchanged"]


@pytest.mark.slow
def test_a_significant_drop_fails_with_the_checks_and_without_a_traceback(done: Done) -> None:
    failure = done.failures["test_worse"]
    assert "The gate failed" in failure
    assert "significant drop" in failure
    assert "Traceback" not in done.output
    assert "pytest_rankproof.py" not in done.output


@pytest.mark.slow
def test_an_unsure_gate_warns_and_fails_only_if_asked_to(done: Done) -> None:
    assert done.failures["test_unsure"] == ""
    assert "UserWarning: The gate is unsure: 1 of 1 check is unsure" in done.output
    assert "1 of 1 check is unsure" in done.failures["test_unsure_fails"]


@pytest.mark.slow
def test_a_threshold_needs_no_baseline(done: Done) -> None:
    assert done.failures["test_threshold"] == ""


@pytest.mark.slow
def test_a_missing_file_is_an_error_that_names_it(done: Done) -> None:
    assert "missing.run" in done.failures["test_no_file"]
