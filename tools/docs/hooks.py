"""The mkdocs hooks: the pages of measures in the navigation, fresh output in every page, links to files outside docs.

A committed page that differs from its fresh output is a warning.
"""

from __future__ import annotations

import logging
import re
from os.path import normpath
from pathlib import Path
from typing import Any

from .measure_pages import measures_nav
from .page import built, differs
from .session import ExampleError
from .site import DOCS, ROOT, fresh_pages

_log = logging.getLogger("mkdocs.plugins.rankproof")
_LINK = re.compile(r"(?<!!)\[(?P<text>[^\]]+)\]\((?P<target>(?:\.\./)+[^)#]+)(?:#[^)]*)?\)")
_shown: dict[str, str] = {}


def on_config(config: Any) -> Any:
    """The configuration with the pages of all measures below `Measures`."""
    for section in config["nav"] or ():
        if isinstance(section, dict) and "Measures" in section:
            section["Measures"] += measures_nav()
    return config


def on_pre_build(config: Any) -> None:
    """Runs every example once."""
    folder = Path(config["docs_dir"])
    pages = sorted(folder.rglob("*.md"))
    try:
        for page, text in fresh_pages(pages, keep_times=False):
            _shown[page.relative_to(folder).as_posix()] = text
    except ExampleError as error:
        _log.warning("an example fails: %s", error)


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """The page without directives, with fresh output."""
    name = page.file.src_uri
    if differs(markdown, _shown.get(name, markdown)):
        _log.warning("%s shows other output than its examples give; run: make docs-refresh", name)
    return _inside(built(_shown.get(name, markdown)), DOCS / name)


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
