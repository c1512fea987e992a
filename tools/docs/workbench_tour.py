"""A person's way through the workbench in a real browser, with numbered pictures: `python -m tools.docs.workbench_tour`.

The person finds a query that fails, types a variant of it, grades three documents, moves a setting, proves it and takes the link.
The pictures in docs/img show the sample, fused from two fields.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .pictures import IMAGES, browser, finish_picture, opened, served

EXPERIMENT = """\
dataset = "sample"

[systems.title]
stage = "bm25"
fields = ["title"]

[systems.bm25]
stage = "bm25"

[systems.fused]
stage = "fuse"
of = ["title", "bm25"]
"""
SIZE = (1440, 900)
WAIT_MS = 30_000
GRADES = (("0", 0), ("1", 1), ("2", 2))
"""The grades that the person gives to the first three documents of B."""

Shot = Callable[[str], None]


def tour(page: Any, base: str, shot: Shot) -> str:
    """Takes the steps in the bench of the newest results, and returns the address of the last view."""
    page.set_default_timeout(WAIT_MS)
    page.goto(f"{base}/bench?a=bm25&b=fused")
    page.wait_for_selector(".bench-side .card")
    page.select_option("#group", "failed-first")
    page.locator(".bench-queries .query").first.click()
    page.wait_for_selector(".bench-side .card")
    shot("failing-query")
    text = page.input_value("#text")
    page.fill("#text", f"{text} instructions")
    page.keyboard.press("Enter")
    page.wait_for_function("() => document.querySelectorAll('.bench-side .card').length > 3")
    shot("typed-variant")
    page.go_back()
    page.wait_for_selector(".bench-side >> nth=1 >> .grade-button")
    side = page.locator(".bench-side").nth(1)
    for grade, place in GRADES:
        side.locator(".card").nth(place).locator(f"[data-grade='{grade}']").click()
        page.wait_for_function("grade => document.getElementById('graded').textContent.includes(`grade ${grade}`)", arg=grade)
    shot("graded")
    page.locator(".knobs [data-knob^='weight']").first.evaluate(
        "one => { one.value = one.max * 0.8; for (const kind of ['input', 'change']) one.dispatchEvent(new Event(kind)); }"
    )
    page.wait_for_url("**ch=**")
    page.wait_for_selector(".effect svg")
    shot("moved-weight")
    page.locator(".knobs .prove").click()
    page.wait_for_selector(".proof")
    page.locator(".proof .plan").scroll_into_view_if_needed()
    shot("proof")
    return str(page.url)


def main() -> None:
    """Runs the sample, serves it, and takes the pictures; says how long the steps took."""
    with tempfile.TemporaryDirectory() as folder, browser() as running:
        results = Path(folder, "fused")
        file = Path(folder, "fused.toml")
        file.write_text(EXPERIMENT, encoding="utf-8")
        subprocess.run([sys.executable, "-m", "rankproof", "run", str(file), "-o", str(results), "--quiet"], check=True)
        judged = ("--judge", str(Path(folder, "people.qrels")), "--edit", "--assessor", "ann")
        with served(str(results), *judged) as address, opened(running, address, SIZE, "light") as page:
            number = iter(range(1, 100))

            def shot(name: str) -> None:
                path = IMAGES / f"workbench-{next(number)}-{name}.png"
                page.screenshot(path=path)
                finish_picture(path, mark=False)

            started = time.monotonic()
            print(tour(page, address.partition("/?")[0], shot))
            print(f"{time.monotonic() - started:.1f} s", file=sys.stderr)


if __name__ == "__main__":
    main()
