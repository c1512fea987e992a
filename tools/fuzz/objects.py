"""Fuzzes what Python passes to the native code, and the JSON of reports: `python -m tools.fuzz.objects [SECONDS]`.

Each case is made from its number, so that a finding can be repeated: `python -m tools.fuzz.objects --target dicts --case 17`.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from pathlib import Path

from tools.fuzz import arrow_tables, dicts, public_functions, result_documents

Target = Callable[[random.Random, Path], None]
TARGETS: dict[str, Target] = {
    "dicts": dicts.check,
    "arrow tables": arrow_tables.check,
    "result documents": result_documents.check_document,
    "report pages": result_documents.check_page,
    "public functions": public_functions.check,
}


def failure(target: Target, case: int, folder: Path) -> str | None:
    """The traceback of a case that did not hold, None where it did."""
    try:
        target(random.Random(case), folder)
    except Exception:
        return traceback.format_exc()
    return None


def fuzz(name: str, seconds: float, first: int, folder: Path) -> int:
    """Runs cases of a target until the time has passed; the number of findings."""
    end, case, findings = time.monotonic() + seconds, first, 0
    while time.monotonic() < end:
        found = failure(TARGETS[name], case, folder)
        if found is not None:
            findings += 1
            print(f"{name}, case {case}:\n{found}", file=sys.stderr)
        case += 1
    print(f"{name}: {case - first} executions, {findings} findings", flush=True)
    return findings


def main(arguments: list[str]) -> int:
    """1 where there is a finding."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("seconds", type=float, nargs="?", default=60)
    parser.add_argument("--target", choices=TARGETS, help="only this target")
    parser.add_argument("--first", type=int, default=0, help="the number of the first case")
    parser.add_argument("--case", type=int, help="only this case of --target")
    given = parser.parse_args(arguments)
    if given.case is not None and given.target is None:
        parser.error("--case needs --target")
    with tempfile.TemporaryDirectory() as folder:
        if given.case is not None:
            found = failure(TARGETS[given.target], given.case, Path(folder))
            print(found or "no finding")
            return found is not None
        names = [given.target] if given.target else list(TARGETS)
        return sum(fuzz(name, given.seconds, given.first, Path(folder)) for name in names) > 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
