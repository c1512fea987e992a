"""A command that is killed again and again ends with the same output; `make kills` tries all commands."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tools.kills.__main__ import COMMANDS

from support.paths import ROOT


@pytest.mark.release
@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL is a POSIX signal")
@pytest.mark.parametrize("name", ["import", "convert to JSON"])
def test_a_command_killed_at_random_moments_ends_with_the_same_output(name: str, tmp_path: Path) -> None:
    assert name in [kind.name for kind in COMMANDS]
    command = [sys.executable, "-m", "tools.kills", "3", name, "--seed", "7", "--folder", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert ", 0 findings (seed 7)" in done.stdout
