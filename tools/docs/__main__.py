"""`python -m tools.docs [refresh]`: checks the output shown in the pages, or refreshes it."""

from __future__ import annotations

import difflib
import sys

from .site import ROOT, fresh_pages, pages


def run(arguments: list[str]) -> int:
    """0 if every page is up to date, or has been refreshed."""
    stale = 0
    for page, new in fresh_pages(pages(), keep_times=True):
        old = page.read_text(encoding="utf-8") if page.exists() else ""
        if old == new:
            continue
        if arguments == ["refresh"]:
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
