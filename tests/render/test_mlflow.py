"""Results in a real MLflow store: a run for each system, once, and nothing sent anywhere."""

from __future__ import annotations

import os
import re
import sqlite3
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankproof._cli.main import main
from rankproof._render.mlflow import MAX_NAME_LENGTH, MAX_VALUE_LENGTH, flatten, legal_names, mlflow_runs, redacted_uri
from rankproof._results.folder import save_results
from support.paths import SOURCE
from support.plot_results import HOSTILE, wide_results

LEGAL = re.compile(r"[A-Za-z0-9_-]([A-Za-z0-9_. -]*[A-Za-z0-9_-])?")
GUARDED = """
import socket, sys
def refused(*arguments): raise SystemExit(f"the network was asked for: {arguments}")
socket.socket.connect = socket.socket.connect_ex = socket.getaddrinfo = refused
from rankproof._cli.main import main
code = main(sys.argv[1:])
import mlflow.telemetry.utils
assert mlflow.telemetry.utils.is_telemetry_disabled()
sys.exit(code)
"""
needs_mlflow = pytest.mark.skipif(
    find_spec("mlflow") is None and os.environ.get("RANKPROOF_TESTS") != "whole",
    reason="mlflow is not installed: the extra mlflow brings it",
)


@given(st.lists(st.text(max_size=300), unique=True, max_size=8))
def test_names_are_legal_and_stay_apart(names: list[str]) -> None:
    found = legal_names(names)
    assert list(found) == names
    assert len(set(found.values())) == len(names)
    assert all(LEGAL.fullmatch(name) and len(name) <= MAX_NAME_LENGTH for name in found.values())


def test_names_of_measures_stay_readable() -> None:
    names = ["nDCG@10", "nDCG(gain='exp')@10", "R@100", "R_at_100", "../x"]
    assert list(legal_names(names).values()) == ["nDCG_at_10", "nDCG_gain_exp_at_10", "R_at_100", "R_at_100-2", "_x"]


def test_a_stage_is_flattened_to_text() -> None:
    stage: dict[str, Any] = {
        "kind": "RRF",
        "of": [{"kind": "BM25", "k1": 1.5}, {"kind": "Dense", "model": "m" * 999}],
        "none": None,
        "no": {},
    }
    found = flatten({"stage": stage})
    assert found["stage.of.0.k1"] == "1.5"
    assert found["stage.none"] == "None"
    assert found["stage.no"] == ""
    assert len(found["stage.of.1.model"]) == MAX_VALUE_LENGTH


def test_an_entry_has_the_identity_the_values_and_the_costs() -> None:
    results = wide_results(["one", "two"], ["q1", "q2", "q3"])
    first, second = mlflow_runs(results)
    assert first.params["stage.k1"] == "1.5"
    assert second.params["builds_on"] == "one"
    assert first.metrics["nDCG_at_10"] == results.result.means["one"]["nDCG@10"]
    assert first.metrics["total_ms_p95"] == getattr(results.system_runs[0].time_of("total"), "p95", None)
    assert "rerank_ms_p50" not in first.metrics
    assert first.tags["rankproof.fingerprint"] == results.fingerprint
    assert first.tags["rankproof.id"] != second.tags["rankproof.id"]
    assert len(first.table.splitlines()) == 1 + 3


@pytest.mark.parametrize(
    ("uri", "shown"),
    [
        ("http://user:secret@host:5000/x?token=secret", "http://host:5000/x"),
        ("sqlite:///mlruns.db", "sqlite:///mlruns.db"),
        ("http://[secret", "the URI"),
    ],
)
def test_a_uri_is_shown_without_its_secrets(uri: str, shown: str) -> None:
    assert redacted_uri(uri) == shown


@pytest.mark.parametrize(
    ("uri", "message"),
    [
        ("sqlite:///nowhere/x.db", "not a file in an existing folder"),
        ("sqlite:///", "not a file in an existing folder"),
        ("postgresql://user:secret@host/db", "postgresql://host/db is not the URI of a tracking store"),
        ("mlruns", "is not the URI of a tracking store; write sqlite:///FILE.db, or http://HOST:PORT"),
    ],
)
def test_a_wrong_uri_is_refused(
    uri: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    save_results(wide_results(["one"], ["q1"]), "results")
    assert main(["export", "results", "--to", "mlflow", "--tracking-uri", uri]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert "secret" not in error


def test_without_the_library_its_extra_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "mlflow", None)
    for name in ("MLFLOW_DISABLE_TELEMETRY", "DO_NOT_TRACK", "MLFLOW_HTTP_REQUEST_MAX_RETRIES"):
        monkeypatch.setenv(name, "true")
    save_results(wide_results(["one"], ["q1"]), "results")
    assert main(["export", "results", "--to", "mlflow"]) == 1
    assert "pip install 'rankproof[mlflow]'" in capsys.readouterr().err


def exported(folder: Path, *argv: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", GUARDED, "export", "results", "--to", "mlflow", *argv]
    env = {"PYTHONPATH": str(SOURCE.parent), "HOME": str(folder), "PATH": os.environ["PATH"]}
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder, env=env)


@needs_mlflow
@pytest.mark.slow
def test_a_local_store_gets_a_run_for_each_system_once_and_nothing_is_sent(tmp_path: Path) -> None:
    results = wide_results(HOSTILE[:4], ["q1", "=q2", "q3"])
    save_results(results, tmp_path / "results")
    first = exported(tmp_path, "--experiment", "search")
    assert first.returncode == 0
    assert all("Judged@10" in line for line in first.stderr.splitlines())
    with sqlite3.connect(tmp_path / "mlruns.db") as database:
        runs = database.execute("select run_uuid, status from runs").fetchall()
        metrics = database.execute(
            "select t.value, m.value from tags t join latest_metrics m using (run_uuid)"
            " where t.key = 'rankproof.system' and m.key = 'nDCG_at_10'"
        ).fetchall()
        experiments = [name for (name,) in database.execute("select name from experiments")]
    database.close()
    assert [status for _, status in runs] == ["FINISHED"] * len(results.system_runs)
    means = [results.result.means[system_run.name]["nDCG@10"] for system_run in results.system_runs]
    assert sorted(value for _, value in metrics) == pytest.approx(sorted(means))
    assert "search" in experiments
    tables = list((tmp_path / "mlruns").glob("*/artifacts/per_query.csv"))
    assert len(tables) == len(results.system_runs)
    again = exported(tmp_path, "--experiment", "search")
    assert (again.returncode, again.stdout) == (0, "")
    assert "already logged" in again.stderr


@pytest.mark.slow
@needs_mlflow
def test_a_file_that_is_not_a_store_is_an_external_error(tmp_path: Path) -> None:
    save_results(wide_results(["one"], ["q1"]), tmp_path / "results")
    (tmp_path / "mlruns.db").write_text("this is no database, and is long enough to be message from one\n" * 20)
    done = exported(tmp_path)
    assert done.returncode == 1
    assert "MLflow at sqlite:///mlruns.db failed" in done.stderr
    assert "Traceback" not in done.stderr
