"""Runs every check of a release and says at the end what passed, what failed and what was not found here.

`python -m tools.release.check [NAME …]` runs all checks or those named. Each is a target of make.
Its output is in build/release-check.
"""

from __future__ import annotations

import subprocess
import sys
import time
from typing import Literal, NamedTuple

from tools.release.pythons import ROOT, find, supported

LOGS = ROOT / "build" / "release-check"
ON_PYTHON = "python-"
CHECKS = [
    *("package", "package-test", "size"),
    *(f"{ON_PYTHON}{version}" for version in supported()),
    *("lowest", "sanitize", "native-check", "fuzz", "coverage-native", "attacks", "kills", "mutants", "test-release"),
]
"""In this order: the tests on each Python and with the lowest versions need the wheel that the first one builds."""


class Outcome(NamedTuple):
    """What became of a check; the last line of its output has the counts."""

    name: str
    result: Literal["passed", "failed", "not found"]
    seconds: float
    last_line: str

    def __str__(self) -> str:
        return f"{self.result:<10}{self.seconds:7.0f} s  {self.name:<16} {self.last_line}"


def outcome(name: str) -> Outcome:
    """Runs a check and keeps its output."""
    if name.startswith(ON_PYTHON) and find(name.removeprefix(ON_PYTHON)) is None:
        return Outcome(name, "not found", 0.0, "neither on this machine, nor from uv, nor in Debian")
    LOGS.mkdir(parents=True, exist_ok=True)
    log, began = LOGS / f"{name}.log", time.monotonic()
    with log.open("w", encoding="utf-8") as stream:
        command = ["make", "--no-print-directory", name]
        done = subprocess.run(command, cwd=ROOT, stdout=stream, stderr=subprocess.STDOUT, check=False)
    lines = log.read_text(encoding="utf-8", errors="replace").split("\n")
    last = next((line.strip() for line in reversed(lines) if line.strip()), "")
    return Outcome(name, "failed" if done.returncode else "passed", time.monotonic() - began, last)


def main(names: list[str]) -> int:
    """Prints a line for each check, and all lines again at the end; exit code 1 if a check failed."""
    unknown = [name for name in names if name not in CHECKS]
    if unknown:
        print(f"no check is called {unknown[0]}; known: {', '.join(CHECKS)}")
        return 2
    outcomes = []
    for name in names or CHECKS:
        print(f"{name} …", flush=True)
        outcomes.append(outcome(name))
        print(outcomes[-1], flush=True)
    print("", *outcomes, sep="\n")
    return 1 if any(one.result == "failed" for one in outcomes) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
