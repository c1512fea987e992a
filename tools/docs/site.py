"""All pages of the project with their examples run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from itertools import groupby
from pathlib import Path

from .api_pages import PAGES, api_pages
from .measure_pages import all_measures, file_of, measure_pages
from .page import fresh_page
from .session import ExampleError, Session, session

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
_SHARED = DOCS / "tutorial"


def pages() -> list[Path]:
    """The readme and every page, the pages of one session side by side; those that are made are there before they are written."""
    made = {
        *(DOCS / "measures" / file_of(measure) for measure in all_measures()),
        *(DOCS / "api" / f"{name}.md" for name in PAGES),
    }
    return [ROOT / "README.md", *sorted({*DOCS.rglob("*.md"), *made})]


@cache
def made_pages() -> dict[Path, str]:
    """The pages that nobody writes, with their text before examples are run."""
    measures = {DOCS / "measures" / name: text for name, text in measure_pages().items()}
    return {**measures, **{DOCS / "api" / name: text for name, text in api_pages().items()}}


def fresh_pages(wanted: Iterable[Path], *, keep_times: bool) -> Iterator[tuple[Path, str]]:
    """Each page with its fresh text; the tutorial is one session."""
    made = made_pages()
    for _, group in groupby(wanted, key=lambda page: _SHARED if page.parent == _SHARED else page):
        with session() as running:
            for page in group:
                yield page, _fresh(page, made.get(page), running, keep_times=keep_times)


def _fresh(page: Path, text: str | None, running: Session, *, keep_times: bool) -> str:
    try:
        return fresh_page(text or page.read_text(encoding="utf-8"), running, keep_times=keep_times)
    except ExampleError as error:
        raise ExampleError(f"{page.relative_to(ROOT)}: {error}") from error
