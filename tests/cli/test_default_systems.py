"""The results folder of the default systems on the built-in sample, in the verbs that need its documents."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rankproof._cli.main import main
from rankproof._experiment.experiment import Experiment, default_systems
from rankproof._experiment.run import RunOptions, run_experiment
from rankproof._results.experiment_result import COLLAPSE_KEY, ExperimentResult
from rankproof._results.folder import save_results


@pytest.fixture
def results() -> ExperimentResult:
    """The default systems without MiniLM, on ten queries."""
    systems = default_systems(wordllama=True, minilm=False)
    return run_experiment(Experiment(systems, measures=["nDCG@10"], limit=10), RunOptions(cache=None))


@pytest.mark.slow
def test_the_documents_of_the_default_systems_are_accepted(
    results: ExperimentResult, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = str(save_results(results, tmp_path / "results"))
    dense = [one for one in results.system_runs if "mean_cosine" in one.facts]
    assert dense
    assert not any(COLLAPSE_KEY in one.facts for one in results.system_runs)
    for system_run in results.system_runs:
        query = system_run.run.queries[0]
        row = next(row for row in system_run.run.rows() if row.query == query)
        asked = ["explain", folder, f"--system={system_run.name}", f"--query={query}", f"--doc={row.doc}", "--dataset", "sample"]
        assert main([*asked, "--format", "json"]) == 0
        (table,) = json.loads(capsys.readouterr().out)["tables"]
        assert "chunk" not in " ".join(table["sentences"])
    assert main(["baselines", folder, "--dataset", "sample", "--format", "json"]) == 0
