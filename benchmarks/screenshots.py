"""Screenshots of the report for docs/img, by the installed Chromium: `python -m benchmarks.screenshots RESULTS [BEFORE]`."""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

import rankproof
from rankproof._report.page import render_report
from rankproof._results.folder import load_results

IMAGES = Path(__file__).parents[1] / "docs" / "img"
MOST = 400_000
COLOURS = 128
SHOTS: dict[str, dict[str, Any]] = {
    "report-light": {"viewport": {"width": 1280, "height": 2190}, "color_scheme": "light"},
    "report-dark": {"viewport": {"width": 1280, "height": 1500}, "color_scheme": "dark"},
    "report-phone": {"viewport": {"width": 390, "height": 1800}, "color_scheme": "light"},
    "changes": {"viewport": {"width": 1280, "height": 1500}, "color_scheme": "light"},
    "changes-queries": {"viewport": {"width": 1280, "height": 1100}, "color_scheme": "dark"},
}
STARTS = {"report-light": "", "report-dark": "#segments", "report-phone": "", "changes": "", "changes-queries": "#moved"}
"""Which part each shows."""
OPEN_FIRST = "all => all.slice(0, 1).forEach(one => { one.open = true; })"


def main() -> None:
    """Opens the page at each size, and keeps what is seen."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.screenshots", description=__doc__)
    parser.add_argument("results", metavar="RESULTS", help="a folder that `rankproof run` wrote")
    parser.add_argument("before", nargs="?", metavar="BEFORE", help="an earlier one, for the pictures of what changed")
    args = parser.parse_args()
    from playwright.sync_api import sync_playwright

    rankproof.report(args.results, path=IMAGES / "decision.png")
    shrink(IMAGES / "decision.png")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        page, changes = Path(folder, "report.html"), Path(folder, "changes.html")
        page.write_bytes(render_report(load_results(args.results)).encode(errors="backslashreplace"))
        if args.before is not None:
            rankproof.report(args.results, before=args.before, path=changes)
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"])
        for name in SHOTS:
            if not name.startswith("changes"):
                _shoot(browser, page, name)
            elif args.before is not None:
                _shoot(browser, changes, name)
        browser.close()


def shrink(path: Path) -> None:
    """Writes the picture again with few colours."""
    from PIL import Image

    Image.open(path).convert("RGB").quantize(COLOURS).save(path, optimize=True)


def _shoot(browser: Any, page: Path, name: str) -> None:
    context = browser.new_context(**SHOTS[name], reduced_motion="reduce")
    view = context.new_page()
    view.goto(f"{page.as_uri()}{STARTS[name]}")
    view.eval_on_selector_all(".changed-query", OPEN_FIRST)
    goal = IMAGES / f"{name}.png"
    view.screenshot(path=goal)
    context.close()
    shrink(goal)
    size = goal.stat().st_size
    print(f"{goal.relative_to(IMAGES.parents[1])}: {size:,} bytes", file=sys.stderr)
    assert size < MOST, "a picture for a page of docs is small"


if __name__ == "__main__":
    main()
