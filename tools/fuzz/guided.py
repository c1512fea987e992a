"""Public functions with bytes that atheris changes where that reaches new code: `python -m tools.fuzz.guided SECONDS FOLDER`.

FOLDER keeps the corpus, report.txt with the number of executions, and an input for each place that raised an error which is
not of rankproof.
`--case FILE` calls the function again with such an input.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import traceback
import warnings
from collections import Counter
from importlib import import_module
from pathlib import Path

_LONGEST = 60
"""Seconds after which a call hangs."""
_MOST_BYTES = 1000
_SEEDS = 200
_REPORTED_AFTER = 500


def main(arguments: list[str]) -> int:
    """Ends with libFuzzer."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("seconds", type=int, nargs="?", default=60)
    parser.add_argument("folder", type=Path, nargs="?", default=Path(__file__).parent / "work" / "guided")
    parser.add_argument("--case", type=Path, help="only this input")
    asked = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    if asked.case is not None:
        print(import_module("tools.fuzz.public_functions").call(asked.case.read_bytes(), asked.case.parent))
        return 0
    atheris = import_module("atheris")
    corpus, findings = asked.folder / "corpus", asked.folder / "findings"
    for folder in (corpus, findings):
        folder.mkdir(parents=True, exist_ok=True)
    for seed in range(_SEEDS):
        (corpus / f"seed{seed}").write_bytes(random.Random(seed).randbytes(_MOST_BYTES))
    calls: Counter[str] = Counter()
    places: Counter[str] = Counter()

    def call(content: bytes) -> None:
        try:
            calls[functions.call(content, work)] += 1
        except Exception as error:
            place = place_of(error)
            if not places[place]:
                (findings / place).write_bytes(content)
                traceback.print_exc()
            places[place] += 1
        # libFuzzer ends the process itself, so the report is written as it goes.
        if (calls.total() + places.total()) % _REPORTED_AFTER == 0:
            (asked.folder / "report.txt").write_text(_report(calls, places), encoding="utf-8")

    # Most modules are imported by the first call that needs them.
    with atheris.instrument_imports(include=["rankproof"]), tempfile.TemporaryDirectory() as scratch:
        functions, work = import_module("tools.fuzz.public_functions"), Path(scratch)
        limits = [f"-max_total_time={asked.seconds}", f"-timeout={_LONGEST}", f"-max_len={_MOST_BYTES}", "-rss_limit_mb=4096"]
        atheris.Setup([sys.argv[0], str(corpus), f"-artifact_prefix={findings}/", "-len_control=0", *limits], call)
        atheris.Fuzz()
    return 0


def place_of(error: Exception) -> str:
    """The type of the error, and the last line of rankproof that it came through."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "rankproof" in frame.filename]
    place = f"{Path(frames[-1].filename).stem}-{frames[-1].lineno}" if frames else "outside"
    return f"{type(error).__name__}-{place}"


def _report(calls: Counter[str], places: Counter[str]) -> str:
    """The calls of each function, and where errors that are not of rankproof came from."""
    lines = [f"{name}: {count}" for name, count in sorted(calls.items())]
    return "\n".join([*lines, *places, f"{calls.total() + places.total():,} executions, {len(places)} findings", ""])


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
