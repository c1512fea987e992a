"""All pages of the project with their examples run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from itertools import groupby
from pathlib import Path

from .api_pages import PAGES, api_pages
from .measure_pages import family_files, measure_pages
from .page import fresh_page
from .session import ExampleError, Session, session

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PROJECT_PAGES = (ROOT / "README.md", ROOT / "CONTRIBUTING.md")
"""The pages with examples that are not part of the site."""
_SHARED = DOCS / "tutorial"
_GENERATED = (DOCS / "measures", DOCS / "api")


def pages() -> list[Path]:
    """The pages of the project, then those of the site, generated ones included, sorted so that the tutorial is in one piece."""
    measures = {DOCS / "measures" / name for name in family_files()}
    api = {DOCS / "api" / f"{name}.md" for name in PAGES}
    return [*PROJECT_PAGES, *sorted({*DOCS.rglob("*.md"), *measures, *api})]


@cache
def generated_pages() -> dict[Path, str]:
    """The generated pages, before their examples are run."""
    measures = {DOCS / "measures" / name: text for name, text in measure_pages().items()}
    return {**measures, **{DOCS / "api" / name: text for name, text in api_pages().items()}}


def fresh_pages(wanted: Iterable[Path], *, keep_times: bool) -> Iterator[tuple[Path, str]]:
    """Each page with its fresh text; the tutorial is one session."""
    wanted = list(wanted)
    generated = generated_pages() if any(page.parent in _GENERATED for page in wanted) else {}
    for _, group in groupby(wanted, key=lambda page: _SHARED if page.parent == _SHARED else page):
        with session() as running:
            for page in group:
                yield page, _fresh(page, generated.get(page), running, keep_times=keep_times)


def _fresh(page: Path, text: str | None, running: Session, *, keep_times: bool) -> str:
    try:
        return fresh_page(text or page.read_text(encoding="utf-8"), running, keep_times=keep_times)
    except ExampleError as error:
        raise ExampleError(f"{page.relative_to(ROOT)}: {error}") from error
