"""The mkdocs hooks: fresh output in every page, links to files outside docs, the sample report.

A committed page that differs from its fresh output is a warning, and so is a picture of another run of the demo.
"""

from __future__ import annotations

import logging
import os
import re
import tempfile
from os.path import normpath
from pathlib import Path
from typing import Any

import rankproof

from .api_pages import reference_entries
from .demo import unpack_demo
from .page import built, differs
from .pictures import stale_pictures
from .session import ExampleError
from .site import DOCS, PROJECT_PAGES, ROOT, fresh_pages

_log = logging.getLogger("mkdocs.plugins.rankproof")
_LINK = re.compile(r"(?<!!)\[(?P<text>[^\]]+)\]\((?P<target>(?:\.\./)+[^)#]+)(?:#[^)]*)?\)")
_STALE = "%s shows other output than its examples give; run: make docs-refresh"
SAMPLE_REPORT = "sample-report.html"
_shown: dict[str, str] = {}


def on_pre_build(config: Any) -> None:
    """Runs every example once, and checks the pictures of the demo.

    With RANKPROOF_DOCS=shown the pages keep the output that they show, which tests compare.
    """
    if os.environ.get("RANKPROOF_DOCS") == "shown":
        return
    folder = Path(config["docs_dir"])
    pages = sorted(folder.rglob("*.md"))
    try:
        for page, text in fresh_pages(pages, keep_times=False):
            _shown[page.relative_to(folder).as_posix()] = text
        if folder.samefile(DOCS):
            _check_project()
    except ExampleError as error:
        _log.warning("an example fails: %s", error)


def _check_project() -> None:
    """Warns of pages outside the site with other output, and of pictures that show another run than the text."""
    for page, text in fresh_pages(PROJECT_PAGES, keep_times=False):
        if differs(page.read_text(encoding="utf-8"), text):
            _log.warning(_STALE, page.name)
    if stale := stale_pictures():
        _log.warning("%s: not drawn from the run that the pages show; run: make docs-refresh", ", ".join(stale))


def on_post_build(config: Any) -> None:
    """Writes the report of the saved run of the demo beside the pages, for the landing page."""
    with tempfile.TemporaryDirectory() as folder:
        rankproof.report(unpack_demo(folder), path=Path(config["site_dir"], SAMPLE_REPORT))


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """The page without directives, with fresh output."""
    name = page.file.src_uri
    if differs(markdown, _shown.get(name, markdown)):
        _log.warning(_STALE, name)
    return _inside(built(_shown.get(name, markdown)), DOCS / name) + _entries(name)


def _entries(name: str) -> str:
    """The reference entries of an API page."""
    folder, _, page = name.removesuffix(".md").rpartition("/")
    entries = reference_entries(page) if folder == "api" else ""
    return f"\n## Reference\n{entries}" if entries else ""


def _inside(markdown: str, page: Path) -> str:
    """Links to files of the project that are no documents become their paths."""

    def path_of(match: re.Match[str]) -> str:
        target = Path(normpath(page.parent / match["target"]))
        if target.is_relative_to(DOCS):
            return match[0]
        path = target.relative_to(ROOT).as_posix()
        text = match["text"].strip("`")
        return f"`{path}`" if path.endswith(text) else f"{match['text']} (`{path}`)"

    return _LINK.sub(path_of, markdown)
