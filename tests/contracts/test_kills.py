"""A run that is killed again and again ends with the same numbers (`python -m tools.fuzz.kill_run 50` does it at length)."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from support.paths import ROOT


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL is a POSIX signal")
def test_a_run_killed_at_random_moments_finds_the_same_and_computes_no_finished_stage_again(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tools.fuzz.kill_run", "3", "--seed", "7", "--folder", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("3 kills over ")
