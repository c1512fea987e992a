"""Two ways through the workbench in a real browser, with numbered pictures.

`PYTHONPATH=tests python -m tools.docs.workbench_tour` takes them. On the sample, a person finds a query that fails, types a
variant of it, grades three documents, moves a setting, proves it and takes the link. On a search engine behind HTTP the person
also changes the body of its requests, and the engine is late once.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from support.sample_engine import SampleEngine
from tools.small_experiment import SAMPLE_EXPERIMENT

from .pictures import IMAGES, browser, finish_picture, opened, served

ENGINE_EXPERIMENT = """\
dataset = "sample"

[systems.bm25]
stage = "bm25"

[systems.engine]
stage = "http"
url = "{url}/search"
body = {{query = "{{query}}", boost = 1}}
ids = "ids[]"
scores = "scores[]"
texts = "texts[]"
timeout = 2
"""
BODY = '{"query": "{query}", "boost": 3}'
"""The body of requests that the person writes."""
SIZE = (1440, 900)
WAIT_MS = 30_000
GRADES = (("0", 0), ("1", 1), ("2", 2))
"""The grades that the person gives to the first three documents of B."""

Shot = Callable[[str], None]


def tour(page: Any, base: str, shot: Shot) -> str:
    """Takes the steps on the sample in the bench of the newest results, and returns the address of the last view."""
    _find_query(page, f"{base}/bench?a=bm25&b=fused")
    shot("failing-query")
    _type_variant(page)
    page.wait_for_function("() => document.querySelectorAll('.bench-side .card').length > 3")
    shot("typed-variant")
    page.go_back()
    _grade(page)
    shot("graded")
    _move_weight(page)
    shot("moved-weight")
    _prove(page)
    shot("proof")
    return str(page.url)


def engine_tour(page: Any, base: str, shot: Shot, engine: SampleEngine) -> str:
    """Takes the steps on the engine, and returns the address of the last view."""
    _find_query(page, f"{base}/bench?a=bm25&b=engine")
    shot("failing-query")
    _type_variant(page)
    side = page.locator(".bench-side").nth(1)
    side.get_by_text(" ms, asked ").wait_for()
    shot("typed-variant")
    engine.hangs = True
    page.go_back()
    page.wait_for_selector(".bench-side >> nth=1 >> .card")
    _type_variant(page, "slowly")
    side.get_by_text("the engine did not answer").wait_for()
    shot("late")
    engine.hangs = False
    page.go_back()
    _grade(page)
    page.locator(".knobs summary").click()
    page.locator("[data-knob='body']").fill(BODY)
    page.locator("[data-knob='body']").blur()
    page.locator(".knobs .rebuild").click()
    page.wait_for_selector(".effect svg")
    shot("changed-body")
    page.locator(".knobs .reset").click()
    page.locator("[data-knob='of']").select_option("bm25")
    page.wait_for_selector(".knobs [data-knob^='weight']")
    _move_weight(page, 0.5)
    _prove(page)
    shot("proof")
    return str(page.url)


def _find_query(page: Any, address: str) -> None:
    page.set_default_timeout(WAIT_MS)
    page.goto(address)
    page.wait_for_selector(".bench-side .card")
    page.select_option("#group", "failed-first")
    page.locator(".bench-queries .query").first.click()
    page.wait_for_selector(".bench-side .card")


def _type_variant(page: Any, more: str = "instructions") -> None:
    page.fill("#text", f"{page.input_value('#text')} {more}")
    page.keyboard.press("Enter")
    page.wait_for_url("**t=**")


def _grade(page: Any) -> None:
    page.wait_for_selector(".bench-side >> nth=1 >> .grade-button")
    side = page.locator(".bench-side").nth(1)
    for grade, place in GRADES:
        side.locator(".card").nth(place).locator(f"[data-grade='{grade}']").click()
        page.wait_for_function("grade => document.getElementById('graded').textContent.includes(`grade ${grade}`)", arg=grade)


def _move_weight(page: Any, share: float = 0.8) -> None:
    page.locator(".knobs [data-knob^='weight']").first.evaluate(
        "(slider, share) => { slider.value = slider.max * share;"
        " for (const kind of ['input', 'change']) slider.dispatchEvent(new Event(kind)); }",
        share,
    )
    page.wait_for_url("**ch=**")
    page.wait_for_selector(".effect svg")


def _prove(page: Any) -> None:
    page.locator(".knobs .prove").click()
    page.wait_for_selector(".proof")
    page.locator(".proof .plan").scroll_into_view_if_needed()


@contextmanager
def _bench(running: Any, experiment: str, folder: Path, shots: str) -> Iterator[tuple[Any, str, Shot]]:
    """The results of an experiment in a server that saves grades: its page, its address, and what takes a picture."""
    results, file = folder / shots, folder / f"{shots}.toml"
    file.write_text(experiment, encoding="utf-8")
    subprocess.run([sys.executable, "-m", "rankproof", "run", str(file), "-o", str(results), "--quiet"], check=True)
    judged = ("--judge", str(folder / f"{shots}.qrels"), "--edit", "--assessor", "ann")
    numbers = iter(range(1, 100))
    with served(str(results), *judged) as address, opened(running, address, SIZE, "light") as page:

        def shot(name: str) -> None:
            path = IMAGES / f"{shots}-{next(numbers)}-{name}.png"
            page.screenshot(path=path)
            finish_picture(path, mark=False)

        yield page, address.partition("/?")[0], shot


def main() -> None:
    """Runs the sample and the engine, serves both, and takes the pictures; says how long the steps took."""
    with tempfile.TemporaryDirectory() as folder, browser() as running:
        with _bench(running, SAMPLE_EXPERIMENT, Path(folder), "workbench") as (page, base, shot):
            started = time.monotonic()
            print(tour(page, base, shot))
            print(f"{time.monotonic() - started:.1f} s", file=sys.stderr)
        with SampleEngine() as engine:
            experiment = ENGINE_EXPERIMENT.format(url=engine.url)
            with _bench(running, experiment, Path(folder), "workbench-engine") as (page, base, shot):
                started = time.monotonic()
                print(engine_tour(page, base, shot, engine))
                print(f"{time.monotonic() - started:.1f} s", file=sys.stderr)


if __name__ == "__main__":
    main()
