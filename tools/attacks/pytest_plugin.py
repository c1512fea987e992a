"""Hostile uses of the pytest fixture `rankproof_gate`: `python -m tools.attacks.pytest_plugin`.

Every use must fail its test with an error of rankproof, a TypeError of a wrong call, or the checks of the gate. None passes, none
is an internal error of pytest, and no control character reaches the output. The tests run alone, in two processes of pytest-xdist
and with the plug-in named once more.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from xml.etree import ElementTree

from rankproof._cli.main import main as rankproof

_TESTS = """
import pytest

RUN = {"q": {"d": 1}}
BASELINES = ["broken.json", "text.json", "missing.json", "folder", "loop", "/dev/zero", "b.run", 3, b"x", "", "\\0", "\\ud800",
             ["baseline.json"], {"a": 1}, float("nan")]
NAMES = ["\\x1b[31mred\\x07", "a\\nb", "x" * 100_000, "\\u202eevil", "<script>", "%s%n", "", 7, None, "\\ud800"]
ARGUMENTS = [(), ("qrels.txt",), ("missing", "a.run"), ("qrels.txt", "missing"), (None, None), ("qrels.txt", {}), (3, 4),
             ({}, {}), (RUN, {"q": {"d": float("nan")}}), (RUN, {"q": {"d": "x"}})]
SETTINGS = [{"thresholds": "x"}, {"thresholds": "nDCG@10>="}, {"thresholds": 3}, {"thresholds": "os:system>=1"},
            {"baseline": "baseline.json", "margin": float("nan")}, {"baseline": "baseline.json", "margin": -1},
            {"baseline": "baseline.json", "unsure": "maybe"}, {"nothing": 1}, {"baseline": "baseline.json", "rel": "x"},
            {"save": "/nonexistent/x.json"}, {"save": "a.run"}, {"save": "pipe"}, {}]

@pytest.mark.parametrize("at", range(len(BASELINES)))
def test_baseline(rankproof_gate, at):
    rankproof_gate("qrels.txt", "a.run", baseline=BASELINES[at])

@pytest.mark.parametrize("at", range(len(NAMES)))
def test_name(rankproof_gate, at):
    rankproof_gate("qrels.txt", {NAMES[at]: "b.run"}, thresholds="nDCG@10>=0.99")

@pytest.mark.parametrize("at", range(len(ARGUMENTS)))
def test_arguments(rankproof_gate, at):
    rankproof_gate(*ARGUMENTS[at], thresholds="nDCG@10>=0.1")

@pytest.mark.parametrize("at", range(len(SETTINGS)))
def test_settings(rankproof_gate, at):
    rankproof_gate("qrels.txt", "a.run", **SETTINGS[at])
"""
_USES = 48
_WAYS = {"alone": (), "in two processes": ("-n", "2"), "named once more": ("-p", "pytest_rankproof")}
_EXPECTED = re.compile(r"rankproof\.errors\.|rankproof\._io\.file_errors\.|TypeError: |The gate failed")
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f\u202a-\u202e]")


def _write_project(folder: Path) -> None:
    (folder / "qrels.txt").write_text("".join(f"q{at} 0 d{at} 1\nq{at} 0 x{at} 0\n" for at in range(40)), encoding="utf-8")
    for name, doc in (("a", "d"), ("b", "x")):
        rows = "".join(f"q{at} Q0 {doc}{at} 1 1.0 {name}\n" for at in range(40))
        (folder / f"{name}.run").write_text(rows, encoding="utf-8")
    saved = [str(folder / name) for name in ("qrels.txt", "a.run")]
    assert rankproof(["gate", *saved, "--save", str(folder / "baseline.json"), "-m", "nDCG@10", "--quiet"]) == 0
    (folder / "broken.json").write_text(json.dumps({"format": 3}), encoding="utf-8")
    (folder / "text.json").write_text("x", encoding="utf-8")
    (folder / "folder").mkdir()
    (folder / "loop").symlink_to("loop")
    os.mkfifo(folder / "pipe")
    (folder / "test_hostile.py").write_text(_TESTS, encoding="utf-8")


def failures(folder: Path, options: tuple[str, ...]) -> list[str]:
    """What is wrong with the tests, run with these options of pytest."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:randomly", "--tb=short", "--color=no"]
    record = folder / "tests.xml"
    record.unlink(missing_ok=True)
    ran = subprocess.run(
        [*command, *options, f"--junitxml={record}", "test_hostile.py"], cwd=folder, capture_output=True, text=True, check=False
    )
    if ran.returncode != 1 or not record.exists():
        return [f"pytest ended with {ran.returncode}: {(ran.stdout + ran.stderr)[-500:]}"]
    problems = [f"{_CONTROL.findall(ran.stdout)[:3]} in the output"] if _CONTROL.search(ran.stdout) else []
    cases = ElementTree.parse(record).findall(".//testcase")
    if len(cases) != _USES:
        problems.append(f"{len(cases)} tests ran, not {_USES}")
    for case in cases:
        text = "".join(failure.text or "" for failure in case.findall("failure"))
        if not _EXPECTED.search(text):
            problems.append(f"{case.attrib['name']}: {text[-300:] or 'passed'}")
    return problems


def main() -> int:
    """Prints a row for each way to run the tests; 1 if a use did not fail in plain words."""
    print("| `rankproof_gate` | uses | failures |\n|---|---:|---:|")
    count = 0
    with TemporaryDirectory(prefix="rankproof-attacks-") as name:
        folder = Path(name)
        _write_project(folder)
        for way, options in _WAYS.items():
            problems = failures(folder, options)
            count += len(problems)
            print(f"| {way} | {_USES} | {len(problems)} |", flush=True)
            for problem in problems:
                print(f"{way}: {problem}", file=sys.stderr, flush=True)
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main())
