"""Prints how many lines of each C file were reached, and which were not, from what llvm-cov exports: `covered_lines.py FILE`."""

from __future__ import annotations

import os
import sys
from itertools import groupby
from pathlib import Path

LEAST = 0.95
FOLDER = "src/rankproof/_native/"


def reached(info: str) -> dict[str, dict[int, bool]]:
    """Whether each line of each file of the package was reached, by any of the programs."""
    files: dict[str, dict[int, bool]] = {}
    for record in info.split("end_of_record\n"):
        rows = record.splitlines()
        path = next((os.path.normpath(row[3:]) for row in rows if row.startswith("SF:")), "")
        if FOLDER not in path:
            continue
        lines = files.setdefault(path.rpartition(FOLDER)[2], {})
        for line, count in (map(int, row[3:].split(",")[:2]) for row in rows if row.startswith("DA:")):
            lines[line] = lines.get(line, False) or count > 0
    return files


def ranges(lines: list[int]) -> str:
    """Line numbers with neighbours joined: 3, 7-9."""
    groups = groupby(enumerate(lines), key=lambda pair: pair[1] - pair[0])
    spans = ([line for _, line in group] for _, group in groups)
    return ", ".join(str(span[0]) if len(span) == 1 else f"{span[0]}-{span[-1]}" for span in spans)


def main(info: Path) -> int:
    """Prints the table; 1 where fewer lines were reached than must be."""
    files = reached(info.read_text(encoding="utf-8"))
    total = sum(map(len, files.values()))
    hit = sum(sum(lines.values()) for lines in files.values())
    for path, lines in sorted(files.items()):
        missed = sorted(line for line, found in lines.items() if not found)
        print(f"{path:32} {len(lines) - len(missed):5} of {len(lines):5}  {ranges(missed)}")
    print(f"{hit:,} of {total:,} lines, {hit / total:.2%}")
    return 0 if hit >= LEAST * total else 1


if __name__ == "__main__":
    raise SystemExit(main(Path(sys.argv[1])))
