"""The pictures of docs/img that show the demo, drawn from its saved run by the installed Chromium.

`python -m tools.docs.pictures` draws them if they are of another run, with `--all` in any case. `… AFTER BEFORE` draws the
pictures of what changed between two results folders. Pictures of the demo have the digest of its run, which `make docs` checks.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import rankproof
from rankproof._cli.main import main as rankproof_main
from rankproof._results.experiment_result import ExperimentResult

from .demo import demo_digest, unpack_demo
from .site import DOCS

IMAGES = DOCS / "img"
MOST_BYTES = 400_000
_COLOURS = 128
_MARK = "rankproof-demo"
_REPORTS = {
    "report-light": ((1280, 1260), "light", ""),
    "report-dark": ((1280, 1500), "dark", "#segments"),
    "report-phone": ((390, 1660), "light", ""),
    "explorer": ((1280, 1000), "light", "#queries?query=q046"),
}
_CHANGES = {
    "changes": ((1280, 1500), "light", ""),
    "changes-queries": ((1280, 1100), "dark", "#moved"),
}
"""The size of each picture of a page, its colours, and the section that it shows."""
_PLOTS = ("pareto", "latency", "differences", "segments")
_FAST = ("bm25-title", "bm25", "static")
DEMO_PICTURES = (*_REPORTS, "decision", *(f"plot-{kind}" for kind in _PLOTS), "serve-list")
_OPEN_FIRST = "all => all.slice(0, 1).forEach(one => { one.open = true; })"


def stale_pictures(images: Path = IMAGES) -> list[str]:
    """The names of the pictures that do not show the saved run of the demo as it is printed now."""
    mark = f"{_MARK}\0{demo_digest()}".encode()
    paths = [images / f"{name}.png" for name in DEMO_PICTURES]
    return [path.name for path in paths if not path.exists() or mark not in path.read_bytes()]


def main(arguments: Sequence[str]) -> None:
    """Draws the pictures of the demo if one is stale, or those of what changed."""
    parser = argparse.ArgumentParser(prog="python -m tools.docs.pictures", description=__doc__)
    parser.add_argument("changed", nargs="*", metavar="RESULTS", help="for the pictures of what changed: AFTER BEFORE")
    parser.add_argument(
        "--all", action="store_true", help="also draw pictures that show the saved run, if the report looks different"
    )
    args = parser.parse_args(arguments)
    changed = args.changed
    if not changed and not args.all and not stale_pictures():
        return
    with tempfile.TemporaryDirectory() as folder, browser() as running:
        if changed:
            after, before = changed
            page = Path(folder, "changes.html")
            rankproof.report(after, before=before, path=page)
            _draw_pages(running, page, _CHANGES, mark=False)
        else:
            _draw_demo(running, Path(folder))


def _draw_demo(running: Any, folder: Path) -> None:
    demo, fast, page, plots = (folder / name for name in ("demo", "fast", "report.html", "plots"))
    results = unpack_demo(str(demo))
    rankproof.report(demo, path=page)
    _draw_pages(running, page, _REPORTS, mark=True)
    rankproof.report(demo, path=IMAGES / "decision.png")
    finish_picture(IMAGES / "decision.png", mark=True)
    rankproof_main(["plot", str(demo), "--kind", ",".join(_PLOTS), "--by", "category", "--dpi", "100", "-o", str(plots)])
    for kind in _PLOTS:
        shutil.copyfile(plots / f"{kind}.png", IMAGES / f"plot-{kind}.png")
        finish_picture(IMAGES / f"plot-{kind}.png", mark=True)
    rankproof.save_results(_of_systems(results, "fast systems", _FAST), fast)
    with served(str(demo), str(fast)) as address, opened(running, address, (1100, 880), "light") as view:
        view.screenshot(path=IMAGES / "serve-list.png")
    finish_picture(IMAGES / "serve-list.png", mark=True)


def _of_systems(results: ExperimentResult, name: str, systems: Sequence[str]) -> ExperimentResult:
    """The results of some systems."""
    result = replace(results.result, systems=tuple(one for one in results.result.systems if one.name in systems))
    runs = tuple(one for one in results.system_runs if one.name in systems)
    return replace(results, name=name, result=result, system_runs=runs)


def _draw_pages(running: Any, page: Path, shots: dict[str, tuple[tuple[int, int], str, str]], *, mark: bool) -> None:
    for name, (size, colours, start) in shots.items():
        with opened(running, f"{page.as_uri()}{start}", size, colours) as view:
            view.eval_on_selector_all(".changed-query", _OPEN_FIRST)
            view.screenshot(path=IMAGES / f"{name}.png")
        finish_picture(IMAGES / f"{name}.png", mark=mark)


def finish_picture(path: Path, *, mark: bool) -> None:
    """Writes the picture again with few colours and, if it shows the demo, with the digest of its run."""
    from PIL import Image, PngImagePlugin

    about = PngImagePlugin.PngInfo()
    if mark:
        about.add_text(_MARK, demo_digest())
    Image.open(path).convert("RGB").quantize(_COLOURS).save(path, optimize=True, pnginfo=about)
    size = path.stat().st_size
    print(f"{path.relative_to(DOCS.parent)}: {size:,} bytes", file=sys.stderr)
    assert size < MOST_BYTES, "a picture for a page of docs is small"


@contextmanager
def browser() -> Iterator[Any]:
    """The installed Chromium, without a window."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"])
        yield running
        running.close()


@contextmanager
def opened(running: Any, address: str, size: tuple[int, int], colours: str) -> Iterator[Any]:
    """The page in a new browser profile of this size."""
    viewport = {"width": size[0], "height": size[1]}
    context = running.new_context(viewport=viewport, color_scheme=colours, reduced_motion="reduce")
    view = context.new_page()
    view.goto(address)
    yield view
    context.close()


@contextmanager
def served(*arguments: str) -> Iterator[str]:
    """The address of `rankproof serve` with these arguments."""
    command = [sys.executable, "-m", "rankproof", "serve", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        address = re.match(r"http://\S+", process.stdout.readline())
        try:
            assert address is not None, "the server prints its address"
            yield address[0]
        finally:
            process.terminate()


if __name__ == "__main__":
    main(sys.argv[1:])
