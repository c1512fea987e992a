"""`python -m tools.docs [refresh]`: checks what the pages show, or writes what they should."""

from __future__ import annotations

import difflib
import sys

from .site import ROOT, fresh_pages, pages


def run(arguments: list[str]) -> int:
    """0 where every page shows what its examples give, or has been made to."""
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
