"""A real Chromium for pages, which a test watches: it fails by what the console says and by any request to elsewhere."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from rankproof._report.page import render_report
from rankproof._results.experiment_result import ExperimentResult
from support.results_server import BEFORE_STOP

NAMES = ("chromium", "chromium-browser", "google-chrome")
ARGUMENTS = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync"),
)
OURS = ("file:", "data:", "blob:", "http://127.0.0.1:", "http://localhost:")
DESKTOP = {"width": 1280, "height": 900}
PHONE = {"width": 390, "height": 844}
READY = "window.rankproof && rankproof.ready"
"""Waits until a report has expanded its data."""


@dataclass
class Watched:
    """What a page did besides showing itself."""

    requests: list[str] = field(default_factory=list)
    said: list[str] = field(default_factory=list)
    dialogs: list[str] = field(default_factory=list)

    def watch(self, page: Any) -> None:
        page.on("request", lambda request: self.requests.append(request.url))
        page.on("console", lambda message: self.said.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: self.said.append(f"error: {error}"))
        page.on("dialog", self._met)

    def _met(self, dialog: Any) -> None:
        self.dialogs.append(dialog.message)
        dialog.dismiss()

    @property
    def outside(self) -> list[str]:
        return [url for url in self.requests if not url.startswith(OURS)]

    @property
    def faults(self) -> list[str]:
        return [line for line in self.said if line.startswith(("error:", "warning:", "assert:"))]


@pytest.fixture(scope="package")
def browser() -> Iterator[Any]:
    """One Chromium for all pages; without one the test is skipped, where the whole suite is asked for it fails."""
    path = next((found for name in NAMES if (found := shutil.which(name))), None)
    if path is None:
        reason = "there is no Chromium: install the package chromium"
        pytest.fail(reason) if os.environ.get("RANKPROOF_TESTS") == "whole" else pytest.skip(reason)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=path, args=list(ARGUMENTS))
        yield launched
        launched.close()


@pytest.fixture
def watched() -> Watched:
    """What the test's pages do."""
    return Watched()


@contextmanager
def pages(browser: Any, watched: Watched) -> Iterator[Callable[..., Any]]:
    """Makes pages with the options of a browser's context; in the end none has done what it must not.

    The pages of a server are closed before it stops.
    """
    contexts = []

    def make(**options: Any) -> Any:
        context = browser.new_context(**{"viewport": DESKTOP, "reduced_motion": "reduce", **options})
        contexts.append(context)
        page = context.new_page()
        watched.watch(page)
        return page

    def close_pages(address: str = "") -> None:
        host = urlsplit(address).netloc
        for page in [page for context in contexts for page in context.pages if host in page.url]:
            assert page.evaluate("window.harmed") is None
            page.close()

    BEFORE_STOP.append(close_pages)
    try:
        yield make
    finally:
        BEFORE_STOP.remove(close_pages)
    close_pages()
    for context in contexts:
        context.close()
    assert watched.faults == []
    assert watched.dialogs == []
    assert watched.outside == []


@pytest.fixture
def new_page(browser: Any, watched: Watched) -> Iterator[Callable[..., Any]]:
    """The same for one test."""
    with pages(browser, watched) as make:
        yield make


@pytest.fixture
def page(new_page: Callable[..., Any]) -> Any:
    """A page at desktop size in light colours."""
    return new_page()


@pytest.fixture
def opened(new_page: Callable[..., Any], tmp_path: Path, watched: Watched) -> Callable[..., Any]:
    """Opens a report as a file; any other request is an error."""

    def open_page(report: ExperimentResult | str, fragment: str = "", **options: Any) -> Any:
        path = tmp_path / "report.html"
        text = report if isinstance(report, str) else render_report(report)
        path.write_bytes(text.encode(errors="backslashreplace"))
        page = new_page(**options)
        page.goto(f"{path.as_uri()}{fragment}")
        page.evaluate(READY)
        assert {url.partition("#")[0] for url in watched.requests} == {path.as_uri()}
        return page

    return open_page
