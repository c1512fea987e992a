"""The GitHub Action: its step runs the gate on real files, as a runner would. The workflows: pinned actions, few rights."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from support.paths import ROOT

pytestmark = pytest.mark.skipif(shutil.which("bash") is None or os.name == "nt", reason="the steps are bash scripts")
ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))
GATE_STEP = next(step for step in ACTION["runs"]["steps"] if step.get("id") == "gate")


def run_step(folder: Path, **inputs: str) -> tuple[int, dict[str, str], str]:
    """The exit code of the gate's step, its outputs and the summary of the job."""
    values = {name: str(one.get("default", "")) for name, one in ACTION["inputs"].items()} | inputs
    given = {
        name: re.sub(r"\$\{\{ inputs\.(\w+) \}\}", lambda found: values[found[1]], text)
        for name, text in GATE_STEP["env"].items()
    }
    files = {"GITHUB_OUTPUT": folder / "output", "GITHUB_STEP_SUMMARY": folder / "summary"}
    for path in files.values():
        path.write_text("", "utf-8")
    programs = folder / "bin"
    programs.mkdir(exist_ok=True)
    if not (programs / "python").exists():
        (programs / "python").symlink_to(sys.executable)
    search = f"{programs}{os.pathsep}{os.environ['PATH']}"
    environment: dict[str, str] = {
        **os.environ,
        **given,
        **{name: str(one) for name, one in files.items()},
        "RUNNER_TEMP": str(folder),
        "PATH": search,
    }
    environment["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
    done = subprocess.run(["bash", "-e", "-c", GATE_STEP["run"]], cwd=folder, env=environment, capture_output=True, text=True)
    outputs = dict(line.split("=", 1) for line in files["GITHUB_OUTPUT"].read_text("utf-8").splitlines())
    return done.returncode, outputs, files["GITHUB_STEP_SUMMARY"].read_text("utf-8") + done.stderr


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Judgements, a good and a bad run, and the baseline of the good one."""
    (tmp_path / "qrels.txt").write_text("".join(f"q{at} 0 d{at} 1\nq{at} 0 x{at} 0\n" for at in range(40)), "utf-8")
    for name, doc in (("good", "d"), ("bad run", "x")):
        rows = "".join(f"q{at} Q0 {doc if at < 30 else 'd'}{at} 1 1.0 {name.replace(' ', '-')}\n" for at in range(40))
        (tmp_path / f"{name}.run").write_text(rows, "utf-8")
    save = ["gate", "qrels.txt", "good.run", "--save", "baseline.json", "-m", "nDCG@10"]
    subprocess.run([sys.executable, "-m", "rankproof", *save], cwd=tmp_path, check=True, capture_output=True)
    return tmp_path


@pytest.mark.slow
def test_an_unchanged_run_passes(folder: Path) -> None:
    code, outputs, summary = run_step(folder, files="qrels.txt\ngood.run\n")
    assert (code, outputs["result"]) == (0, "passed")
    assert Path(outputs["junit"]).read_text("utf-8").startswith("<?xml")
    assert "passed" in summary


def test_no_module_of_the_checkout_is_imported(folder: Path) -> None:
    (folder / "rich.py").write_text("raise SystemExit('a file of the checkout was imported')\n", "utf-8")
    code, outputs, summary = run_step(folder, files="qrels.txt\ngood.run\n")
    assert (code, outputs["result"]) == (0, "passed"), summary


@pytest.mark.slow
def test_the_installation_imports_no_module_of_the_checkout(tmp_path: Path) -> None:
    (tmp_path / "pip.py").write_text("raise SystemExit('a file of the checkout was imported')\n", "utf-8")
    (tmp_path / "python").write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n', "utf-8")
    (tmp_path / "python").chmod(0o755)
    install = next(step for step in ACTION["runs"]["steps"] if step["name"] == "Install rankproof")
    environment = {
        **os.environ,
        "SOURCE": "./nothing-is-here",
        "EXTRAS": "",
        "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}",
    }
    done = subprocess.run(["bash", "-e", "-c", install["run"]], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert "nothing-is-here" in done.stderr
    assert "checkout" not in done.stderr + done.stdout


@pytest.mark.slow
def test_a_drop_fails_the_job_and_is_shown_in_its_summary(folder: Path) -> None:
    code, outputs, summary = run_step(folder, files="qrels.txt\nbad run.run\n")
    assert (code, outputs["result"]) == (3, "failed")
    assert "nDCG@10" in summary


@pytest.mark.slow
def test_an_unsure_gate_warns_and_stops_the_job_only_if_asked_to(folder: Path) -> None:
    rows = "".join(f"q{at} Q0 {'x' if at < 2 else 'd'}{at} 1 1.0 other\n" for at in range(40))
    (folder / "other.run").write_text(rows, "utf-8")
    code, outputs, _ = run_step(folder, files="qrels.txt\nother.run\n")
    assert (code, outputs["result"]) == (0, "unsure")
    assert run_step(folder, files="qrels.txt\nother.run\n", options="--unsure\nfail\n")[0] == 3


@pytest.mark.slow
def test_options_are_passed_on(folder: Path) -> None:
    code, outputs, _ = run_step(folder, files="qrels.txt\nbad run.run\n", options="--max-drop\nnDCG@10=0.9\n")
    assert (code, outputs["result"]) == (0, "passed")


@pytest.mark.slow
def test_bad_input_fails_without_a_result(folder: Path) -> None:
    code, outputs, message = run_step(folder, files="qrels.txt\nmissing.run")
    assert (code, outputs) == (2, {})
    assert "missing.run" in message


@pytest.mark.slow
def test_text_of_an_input_is_not_run_as_a_command(folder: Path) -> None:
    run_step(folder, files='$(touch pwned)\n`touch pwned`\n"; touch pwned; "')
    assert not (folder / "pwned").exists()
    assert "${{" not in GATE_STEP["run"]


WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
in_checkout = pytest.mark.skipif(not WORKFLOWS, reason="an sdist has no workflows")
USES = re.compile(r"^ *-? *uses: (.+)$", re.MULTILINE)
PINNED = re.compile(r"[\w.-]+/[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+")


def workflow(path: Path) -> dict[str, Any]:
    """A workflow; YAML reads its key `on` as True."""
    found: dict[str, Any] = {
        "on" if key is True else key: value for key, value in yaml.safe_load(path.read_text("utf-8")).items()
    }
    return found


def steps(path: Path) -> list[dict[str, Any]]:
    return [step for job in workflow(path)["jobs"].values() for step in job["steps"]]


@in_checkout
def test_every_action_of_a_workflow_is_pinned_by_commit_with_its_version() -> None:
    used = [(path.name, action) for path in WORKFLOWS for action in USES.findall(path.read_text("utf-8"))]
    assert len(used) == sum("uses" in step for path in WORKFLOWS for step in steps(path)) >= 10
    assert [place for place in used if not PINNED.fullmatch(place[1])] == []


@in_checkout
def test_no_workflow_has_the_rights_of_the_repository_on_a_pull_request() -> None:
    assert {path.name for path in WORKFLOWS} >= {"tests.yml", "wheels.yml"}
    for path in WORKFLOWS:
        assert workflow(path)["permissions"] == {"contents": "read"}, path.name
        assert "pull_request_target" not in path.read_text("utf-8")
    rights = {
        name: job["permissions"] for path in WORKFLOWS for name, job in workflow(path)["jobs"].items() if "permissions" in job
    }
    assert rights == {"publish": {"id-token": "write"}}


@in_checkout
def test_every_push_and_pull_request_runs_what_continuous_integration_runs() -> None:
    (path,) = [path for path in WORKFLOWS if path.name == "tests.yml"]
    found = workflow(path)
    assert set(found["on"]) == {"push", "pull_request"}
    assert found["concurrency"]["cancel-in-progress"] is True
    (job,) = found["jobs"].values()
    assert job["timeout-minutes"] <= 360
    assert [step["run"] for step in steps(path) if "run" in step] == [".ci/run"]
    assert os.access(ROOT / ".ci" / "run", os.X_OK)
