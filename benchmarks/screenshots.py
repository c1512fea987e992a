"""Screenshots of the report for docs/img, by the installed Chromium: `python -m benchmarks.screenshots RESULTS`."""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from rankproof._report.page import render_report
from rankproof._results.folder import load_results

IMAGES = Path(__file__).parents[1] / "docs" / "img"
MOST = 400_000
SHOTS: dict[str, dict[str, Any]] = {
    "report-light": {"viewport": {"width": 1280, "height": 2190}, "color_scheme": "light"},
    "report-dark": {"viewport": {"width": 1280, "height": 1500}, "color_scheme": "dark"},
    "report-phone": {"viewport": {"width": 390, "height": 1800}, "color_scheme": "light"},
}
STARTS = {"report-light": "", "report-dark": "#segments", "report-phone": ""}
"""Which part each shows."""


def main() -> None:
    """Opens the page at each size, and keeps what is seen."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.screenshots", description=__doc__)
    parser.add_argument("results", metavar="RESULTS", help="a folder that `rankproof run` wrote")
    results = parser.parse_args().results
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        page = Path(folder, "report.html")
        page.write_bytes(render_report(load_results(results)).encode(errors="backslashreplace"))
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"])
        for name in SHOTS:
            _shoot(browser, page, name)
        browser.close()


def _shoot(browser: Any, page: Path, name: str) -> None:
    context = browser.new_context(**SHOTS[name], reduced_motion="reduce")
    view = context.new_page()
    view.goto(f"{page.as_uri()}{STARTS[name]}")
    goal = IMAGES / f"{name}.png"
    view.screenshot(path=goal)
    context.close()
    size = goal.stat().st_size
    print(f"{goal.relative_to(IMAGES.parents[1])}: {size:,} bytes", file=sys.stderr)
    assert size < MOST, "a picture for a page of docs is small"


if __name__ == "__main__":
    main()
