"""`python -m tools.docs [refresh] [PAGE...]`: checks the output shown in all or some pages, or refreshes it."""

from __future__ import annotations

import difflib
import sys
from pathlib import Path

from .site import ROOT, fresh_pages, pages


def run(arguments: list[str]) -> int:
    """0 if every page is up to date, or has been refreshed."""
    stale, refresh = 0, arguments[:1] == ["refresh"]
    chosen = {Path(name).resolve() for name in arguments[refresh:]}
    for page, new in fresh_pages([page for page in pages() if not chosen or page in chosen], keep_times=True):
        old = page.read_text(encoding="utf-8") if page.exists() else ""
        if old == new:
            continue
        if refresh:
            page.parent.mkdir(exist_ok=True)
            page.write_text(new, encoding="utf-8")
            print(f"refreshed {page.relative_to(ROOT)}")
            continue
        stale += 1
        name = str(page.relative_to(ROOT))
        print(*difflib.unified_diff(old.splitlines(), new.splitlines(), name, f"{name} (fresh)", lineterm=""), sep="\n")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
