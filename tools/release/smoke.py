"""Tests an installed rankproof without extras: version, evaluation, comparison, and the native modules."""

import json
import subprocess
import sys
import tempfile
from importlib import import_module
from pathlib import Path

QRELS = "q1 0 d1 2\nq1 0 d2 0\nq2 0 d3 1\n"
RUN = "q1 Q0 d2 1 9.1 bm25\nq1 Q0 d1 2 8.7 bm25\nq2 Q0 d3 1 4.2 bm25\n"


def output_of(folder: Path, *arguments: str) -> str:
    """The output of a command; a failure ends the test."""
    command = [sys.executable, "-m", "rankproof", *arguments]
    return subprocess.run(command, cwd=folder, check=True, stdout=subprocess.PIPE, text=True, encoding="utf-8").stdout


def wanted(found: object, holds: bool) -> None:
    """Exits with what was found if a condition does not hold, also under -O."""
    if not holds:
        sys.exit(f"unexpected: {found}")


def main() -> None:
    """Runs the test; the first failure ends it."""
    stubs = sorted(Path(import_module("rankproof._native").__path__[0]).glob("*.pyi"))
    wanted("no stubs of native modules", bool(stubs))
    for stub in stubs:
        import_module(f"rankproof._native.{stub.stem}")
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        (folder / "qrels.txt").write_text(QRELS, encoding="utf-8")
        (folder / "bm25.run").write_text(RUN, encoding="utf-8")
        version = output_of(folder, "--version")
        wanted(version, "native reader" in version)
        values = json.loads(output_of(folder, "eval", "qrels.txt", "bm25.run", "-m", "RR", "--format", "json"))
        wanted(values, values["systems"][0]["measures"]["RR"]["value"] == 0.75)
        sample = json.loads(output_of(folder, "eval", "--sample", "--format", "json"))
        wanted(sample, len(sample["systems"]) == 3)
        (folder / "dense.run").write_text(RUN.replace("9.1", "8.1").replace("bm25", "dense"), encoding="utf-8")
        compared = json.loads(output_of(folder, "compare", "qrels.txt", "bm25.run", "dense.run", "-m", "RR", "--format", "json"))
        wanted(compared, "dense" in json.dumps(compared))
    print(version.splitlines()[0])


if __name__ == "__main__":
    main()
