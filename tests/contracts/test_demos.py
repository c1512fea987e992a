"""The demos run from an installed rankproof, and the output of the notebook is up to date."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import Any

import nbformat
import pytest
from demos.execute import NOTEBOOK, executed

import rankproof as rp
from rankproof._sample import sample_folder
from rankproof.ir_eval._measures import evaluate_all
from rankproof.ir_eval._retrievers import run_system
from support.paths import ROOT

DEMOS = ROOT / "demos"


@pytest.mark.slow
def test_bm25_step_by_step_adds_up_by_hand_and_by_the_index() -> None:
    shown = _output("bm25_step_by_step.py")
    assert "by hand 1.0977, by rankproof 1.0977" in shown
    assert "by hand 0.2004, by rankproof 0.2004" in shown
    assert "adds 0.9304" in shown
    assert "adds 0.1673" in shown
    sums = re.findall(r"^(\d+\.\d+)  grade .*\n +=(.*)$", shown, re.MULTILINE)
    assert len(sums) == 3
    for score, terms in sums:
        assert sum(map(float, re.findall(r"(\d+\.\d{3}) \(", terms))) == pytest.approx(float(score), abs=0.002)


@pytest.mark.slow
def test_the_comparison_of_gains_shows_both_on_lists_and_on_real_rankings() -> None:
    shown = _output("dcg_comparison.py")
    assert "= 1.89, " in shown
    assert "= 4.42, 2.3 times" in shown
    with sample_folder() as folder:
        data = rp.read_dataset(folder)
    run = run_system(data.queries, data.corpus, "embed", 10, model="wordllama")
    values = [evaluate_all(run, data.qrels, 10, method)["NDCG@10"] for method in ("linear", "exponential")]
    assert re.search(rf"^embed +{values[0]:.4f} +{values[1]:.4f}$", shown, re.MULTILINE)


@pytest.mark.slow
def test_prompts_are_measured_with_an_interval_and_without_a_claim() -> None:
    shown = _output("embeddings_with_prompts.py")
    assert len(re.findall(r"nDCG@10 0\.\d{4}", shown)) == 3
    assert len(re.findall(r"95% CI \[-?\d+\.\d\d, -?\d+\.\d\d\]", shown)) == 2
    assert "wordllama was not trained with prompts" in shown


def test_the_notebook_imports_public_names_only() -> None:
    cells = nbformat.read(NOTEBOOK, as_version=4).cells  # type: ignore[no-untyped-call]
    assert sum("rankproof" in cell.source for cell in cells) >= 2
    assert not any("rankproof._" in cell.source for cell in cells)


def test_the_notebook_shows_tables_and_charts_inline() -> None:
    cells = nbformat.read(NOTEBOOK, as_version=4).cells  # type: ignore[no-untyped-call]
    html = [
        output.data["text/html"] for cell in cells for output in cell.get("outputs", ()) if "text/html" in output.get("data", {})
    ]
    assert sum("<table>" in one for one in html) >= 4
    assert any("Ship " in one or "Not decided" in one for one in html)
    assert sum(one.count("<svg") for one in html) == 3


@pytest.mark.slow
def test_the_notebook_runs_and_shows_what_was_committed() -> None:
    committed = nbformat.read(NOTEBOOK, as_version=4)  # type: ignore[no-untyped-call]
    nbformat.validate(committed)
    shown = [_shown(cell) for cell in committed.cells]
    assert sum(map(bool, shown)) >= 8
    assert [_shown(cell) for cell in executed(NOTEBOOK).cells] == shown


def test_the_notebook_contains_no_path_of_a_machine() -> None:
    text = NOTEBOOK.read_text(encoding="utf-8")
    assert not re.search(r"/home/|/root/|/tmp/|/work/|site-packages|[A-Z]:\\\\", text)
    assert '"output_type": "error"' not in text


def test_the_readme_names_every_demo() -> None:
    readme = (DEMOS / "README.md").read_text(encoding="utf-8")
    files = [path.name for path in DEMOS.iterdir() if path.suffix in (".py", ".ipynb") and path.name != "__init__.py"]
    assert len(files) >= 3
    assert [name for name in files if name not in readme] == []


def _output(name: str) -> str:
    run = subprocess.run(
        [sys.executable, "-W", "error", DEMOS / name], capture_output=True, text=True, encoding="utf-8", check=True
    )
    assert run.stderr == ""
    return run.stdout


def _shown(cell: Any) -> list[str]:
    """The text of every output of a cell, and the kinds in which it is shown."""
    return [
        output.text if "text" in output else f"{' '.join(sorted(output.data))}: {output.data.get('text/plain')}"
        for output in cell.get("outputs", ())
    ]
