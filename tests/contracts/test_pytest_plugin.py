"""The pytest fixture `rankproof_gate`, in tests that pytest runs in its own process."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

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


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Judgements, a good and a bad run, the baseline of the good one, and tests of them."""
    (tmp_path / "qrels.txt").write_text("".join(f"q{at} 0 d{at} 1\nq{at} 0 x{at} 0\n" for at in range(40)), "utf-8")
    for name, doc in (("good", "d"), ("bad", "x")):
        rows = "".join(f"q{at} Q0 {doc if at < 30 else 'd'}{at} 1 1.0 {name}\n" for at in range(40))
        (tmp_path / f"{name}.run").write_text(rows, "utf-8")
    save = ["gate", "qrels.txt", "good.run", "--save", "baseline.json", "-m", "nDCG@10"]
    subprocess.run([sys.executable, "-m", "rankproof", *save], cwd=tmp_path, check=True, capture_output=True)
    (tmp_path / "test_search.py").write_text(TESTS, "utf-8")
    return tmp_path


def run_test(folder: Path, name: str) -> subprocess.CompletedProcess[str]:
    plugin = [] if _is_installed() else ["-p", "pytest_rankproof"]
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-rA", *plugin, f"test_search.py::{name}"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, encoding="utf-8")


def _is_installed() -> bool:
    from importlib.metadata import entry_points

    return any(point.value == "pytest_rankproof" for point in entry_points(group="pytest11"))


@pytest.mark.slow
def test_an_unchanged_run_passes_and_the_checks_are_printed(folder: Path) -> None:
    done = run_test(folder, "test_unchanged")
    assert done.returncode == 0, done.stdout
    assert "The gate passed" in done.stdout


@pytest.mark.slow
def test_a_significant_drop_fails_with_the_checks_and_without_a_traceback(folder: Path) -> None:
    done = run_test(folder, "test_worse")
    assert done.returncode == 1
    assert "The gate failed" in done.stdout
    assert "significant drop" in done.stdout
    assert "Traceback" not in done.stdout
    assert "pytest_rankproof.py" not in done.stdout


@pytest.mark.slow
def test_an_unsure_gate_warns_and_fails_only_if_asked_to(folder: Path) -> None:
    done = run_test(folder, "test_unsure")
    assert done.returncode == 0, done.stdout
    assert "UserWarning: The gate is unsure: 1 of 1 check is unsure" in done.stdout
    assert run_test(folder, "test_unsure_fails").returncode == 1


@pytest.mark.slow
def test_a_threshold_needs_no_baseline(folder: Path) -> None:
    assert run_test(folder, "test_threshold").returncode == 0


@pytest.mark.slow
def test_a_missing_file_is_an_error_that_names_it(folder: Path) -> None:
    done = run_test(folder, "test_no_file")
    assert done.returncode == 1
    assert "missing.run" in done.stdout
