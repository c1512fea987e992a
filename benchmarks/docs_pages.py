"""Runs the commands that pages of docs/ show and writes their output: `python -m benchmarks.docs_pages results analysis`.

Only the text between a line `<!-- shown: COMMAND -->` and the next `<!-- end -->` is replaced.
`<!-- shown: COMMAND; columns A, B -->` shows these columns of the Markdown table that the command prints, and nothing else of it.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

from tools.shared_folder import SHARED

DOCS = Path(__file__).parents[1] / "docs"
_SHOWN = re.compile(r"(<!-- shown: (.*?) -->\n).*?(<!-- end -->)", re.DOTALL)


def main() -> None:
    """Rewrites the shown parts of the pages that are named."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.docs_pages", description=__doc__)
    parser.add_argument("pages", nargs="+", metavar="PAGE")
    parser.add_argument("--only", default="", metavar="TEXT", help="run the commands that hold this text")
    asked = parser.parse_args()

    def anew(found: re.Match[str]) -> str:
        return f"{found[1]}{shown(found[2])}{found[3]}" if asked.only in found[2] else found[0]

    for name in asked.pages:
        page = DOCS / f"{name}.md"
        page.write_text(_SHOWN.sub(anew, page.read_text(encoding="utf-8")), encoding="utf-8")


def shown(directive: str) -> str:
    """The command and what it printed, as a page shows it: Markdown as it is or by its columns, other text in a block."""
    command, _, columns = directive.partition("; columns ")
    print(command, file=sys.stderr)
    words = shlex.split(command)
    if "RANKPROOF_SHARED" in os.environ:
        words = [re.sub(r"^\.\./shared(?=/)", lambda _: str(SHARED), word) for word in words]
    done = subprocess.run(
        [sys.executable, "-m", *words],
        cwd=DOCS.parent,
        env={**os.environ, "COLUMNS": "100", "NO_COLOR": "1"},
        stdout=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        check=False,
    )
    if done.returncode not in (0, 3):
        raise SystemExit(f"{command}: exit {done.returncode}")
    if "markdown" in words or words[0].startswith("benchmarks."):
        spoken = f"python -m {command}" if words[0].startswith("benchmarks.") else command
        text = with_columns(done.stdout, columns.split(", ")) if columns else done.stdout.rstrip()
        return f"\n```\n{spoken}\n```\n\n{text}\n\n"
    return f"\n```\n$ {command}\n{done.stdout.rstrip()}\n```\n\n"


def with_columns(text: str, names: list[str]) -> str:
    """The named columns of the Markdown table in a text."""
    rows = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("|")]
    places = [rows[0].index(name) for name in names]
    return "\n".join(f"| {' | '.join(row[place] for place in places)} |" for row in rows)


if __name__ == "__main__":
    main()
