"""What each command imports: evaluation needs no retrieval, and a command loads little more than it runs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from rankproof._engine_choice import is_built
from support.examples import sampled

CODE = """
import sys
from rankproof._cli.main import main
for verb in sys.argv[1].split(","):
    assert main([verb, *sys.argv[2:], "--quiet"]) == 0
    print(verb, *(name for name in sys.modules if name.partition(".")[0] == "rankproof"), file=sys.stderr)
"""
RETRIEVAL = ("stages", "models", "stores", "_llm", "_experiment")
FIRST_CALL = """
import sys
import numpy
before = set(sys.modules)
import rankproof
rankproof.evaluate({"q1": {"d1": 1}}, {"q1": {"d1": 0.9}}, ["nDCG@10"])
print(*(set(sys.modules) - before))
"""
PARTS_OF_FIRST_CALL: dict[str, str] = {
    "": "errors _engine_choice _extras _registry _version",
    "_align": "engine hits native",
    "_data": "arrays grades ordering qrels row_errors run text validation view",
    "_evaluation": "evaluate notes options result sources user_forms value_ranges",
    "_formats": "columns",
    "_io": "file_errors",
    "_native": "align",
    "_statistics": "deterministic means",
    "measures": "_base _gains _own _parse _registry _relevant _trec_names",
}
"""The modules of the first evaluation of values in memory, by package."""
LATE = {"decimal", "fractions", "hashlib", "ipaddress", "json", "pathlib", "pkgutil", "string", "threading", "urllib.parse"}
"""Modules of Python that are slow to import and that this evaluation does not need."""


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    qrels, first, second = tmp_path / "qrels.txt", tmp_path / "first.run", tmp_path / "second.run"
    qrels.write_text("".join(f"q{at} 0 d1 1\n" for at in range(4)))
    first.write_text("".join(f"q{at} Q0 d1 1 2 a\nq{at} Q0 d2 2 1 a\n" for at in range(4)))
    second.write_text("".join(f"q{at} Q0 d2 1 2 b\nq{at} Q0 d1 2 1 b\n" for at in range(4)))
    return [str(qrels), str(first), str(second)]


def loaded_modules(verbs: Sequence[str], files: Sequence[str]) -> dict[str, list[str]]:
    """The modules of rankproof that are loaded after each of the commands, which one process runs in this order."""
    command = [sys.executable, "-c", CODE, ",".join(verbs), *files]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return {verb: names for verb, *names in map(str.split, done.stderr.splitlines())}


@pytest.mark.parametrize(("verb", "most"), [("eval", 78), ("compare", 140)])
def test_a_command_on_run_files_loads_few_modules(files: list[str], verb: str, most: int) -> None:
    assert len(loaded_modules([verb], files)[verb]) <= most


@pytest.mark.skipif(not is_built(), reason="needs the native engine")
def test_the_first_evaluation_of_values_in_memory_loads_what_it_needs_only() -> None:
    code = [sys.executable, "-c", FIRST_CALL]
    environment = {**os.environ, "RANKPROOF_ENGINE": "native"}
    done = subprocess.run(code, env=environment, capture_output=True, text=True, timeout=60, check=True)
    loaded = set(done.stdout.split())
    packages = [f"rankproof.{name}".rstrip(".") for name in PARTS_OF_FIRST_CALL]
    modules = [
        f"{package}.{name}"
        for package, names in zip(packages, PARTS_OF_FIRST_CALL.values(), strict=True)
        for name in names.split()
    ]
    assert {name for name in loaded if name.partition(".")[0] == "rankproof"} <= {*packages, *modules}
    assert loaded.isdisjoint(LATE)


def test_an_analysis_of_run_files_loads_no_retrieval(files: list[str]) -> None:
    verbs = ["eval", "compare", "audit", "baselines", "diagnose", "segments"]
    loaded = loaded_modules(verbs, files)
    assert min(map(len, loaded.values())) >= 30
    for verb, names in loaded.items():
        assert {name.split(".")[1] for name in names if "." in name}.isdisjoint(RETRIEVAL), verb


@pytest.mark.parametrize("options", sampled([[], ["--measures", "F1"]], 2))
def test_answers_by_word_overlap_load_no_model(tmp_path: Path, options: list[str]) -> None:
    log = tmp_path / "log.jsonl"
    row = {"question": "Who sat?", "answer": "The cat sat.", "contexts": ["The cat sat down."], "reference": "The cat."}
    log.write_text("".join(json.dumps({**row, "question": f"Who sat {at}?"}) + "\n" for at in range(4)))
    names = loaded_modules(["answers"], [str(log), *options])["answers"]
    assert {name.split(".")[1] for name in names if "." in name}.isdisjoint({*RETRIEVAL, "_judge"})
