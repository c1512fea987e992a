"""Hostile files and results folders are refused by every command (`python -m tools.attacks.files` tries all of them)."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from rankproof._cli.parser import COMMANDS
from support.paths import ROOT

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs named pipes, links and limits of memory")
READS_NO_FILE_OF_OTHERS = {"init", "measures", "cache", "models", "completion", "tokenizers", "help", "mcp"}
"""Verbs without an attack; `tokenizers` reads datasets and its own checkpoints, and `mcp` calls the functions of other verbs."""


def test_every_verb_is_attacked() -> None:
    from tools.attacks.files import OVER_FILES, OVER_RESULTS

    assert {*OVER_RESULTS, *OVER_FILES, *READS_NO_FILE_OF_OTHERS} == set(COMMANDS)


@pytest.mark.release
def test_two_commands_for_each_attack_refuse_it() -> None:
    command = [sys.executable, "-m", "tools.attacks.files", "--quick"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "| **0** |" in done.stdout


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "name"), [("embedding", "voyage"), ("rerank", "jina")])
def test_a_fault_of_a_model_api_is_not_silent_in_any_command(kind: str, name: str, tmp_path: Path) -> None:
    from tools.attacks.model_apis import APIS, attempts, with_key_and_without_pauses

    (api,) = (api for api in APIS if (api.kind, api.name) == (kind, name))
    with with_key_and_without_pauses():
        tried = [(verb, list(attempt.failures())) for verb, _, attempt in attempts(api, tmp_path, range(0, 100, 25))]
    assert {verb for verb, _ in tried} == {"run", "tune", "workbench"}
    assert [verb for verb, failures in tried if failures] == []


@pytest.mark.slow
def test_no_grade_is_confirmed_once_the_log_of_three_people_has_changed(tmp_path: Path) -> None:
    from tools.attacks.judgement_logs import ATTACKS, failures

    assert ATTACKS
    for at, attack in enumerate(ATTACKS.values()):
        assert failures(tmp_path / str(at), attack) == []


def test_an_edit_of_any_value_of_a_document_is_tried_once() -> None:
    from tools.attacks.result_edits import edits

    document = {"a": 1, "b": [True, None], "c": {"d": "x"}}
    edited = [repr(changed) for _, changed in edits(document)]
    assert len(edited) == len(set(edited)) == 2 + 1 + 3 + 3 + 1 + 2
    assert repr(document) not in edited
