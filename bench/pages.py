"""`python -m bench.pages results analysis`: runs the commands that pages of docs/ show, and writes what they print.

Each page keeps its own words: only what stands between a line `<!-- shown: COMMAND -->` and the next `<!-- end -->` is
written anew.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

DOCS = Path(__file__).parents[1] / "docs"
_SHOWN = re.compile(r"(<!-- shown: (.*?) -->\n).*?(<!-- end -->)", re.DOTALL)


def main() -> None:
    """Rewrites the shown parts of the pages that are named."""
    for name in sys.argv[1:]:
        page = DOCS / f"{name}.md"
        text = page.read_text(encoding="utf-8")
        page.write_text(_SHOWN.sub(lambda found: f"{found[1]}{shown(found[2])}{found[3]}", text), encoding="utf-8")


def shown(command: str) -> str:
    """The command and what it printed, as a page shows it: Markdown as it is, other text in a block."""
    print(command, file=sys.stderr)
    words = shlex.split(command)
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
    if "markdown" in words:
        return f"\n```\n{command}\n```\n\n{done.stdout}\n"
    return f"\n```\n$ {command}\n{done.stdout.rstrip()}\n```\n\n"


if __name__ == "__main__":
    main()
