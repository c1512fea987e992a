"""The landing page of the documentation in a real browser: accessible, and with the sample report beside it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]

pytestmark = [pytest.mark.browser, pytest.mark.slow]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of the site as `make docs` builds it, without running the examples."""
    pytest.importorskip("mkdocs")
    pytest.importorskip("mkdocstrings")
    folder = tmp_path_factory.mktemp("site")
    built = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)],
        cwd=ROOT,
        env={**os.environ, "RANKPROOF_DOCS": "shown", "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert built.returncode == 0, built.stderr
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(SimpleHTTPRequestHandler, directory=str(folder))) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.mark.parametrize(("width", "colours"), [(1280, "light"), (1280, "dark"), (390, "light")])
@pytest.mark.parametrize("name", ["index.html", "results.html"])
def test_a_page_of_the_site_has_no_accessibility_fault(
    site: str, new_page: Callable[..., Any], name: str, width: int, colours: str
) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    page = new_page(viewport={"width": width, "height": 900}, color_scheme=colours)
    page.goto(f"{site}/{name}")
    page.locator(".md-content").wait_for()
    violations = axe.run(page).response["violations"]
    assert [(violation["id"], violation["nodes"][0]["html"]) for violation in violations] == []


def test_the_landing_page_leads_to_the_sample_report(site: str, new_page: Callable[..., Any]) -> None:
    page = new_page(viewport={"width": 1280, "height": 900})
    page.goto(f"{site}/index.html")
    page.get_by_role("link", name="report of the built-in sample").click()
    page.locator("#decision").wait_for()
    assert page.title().endswith("rankproof")
    assert page.locator("main > section").count() >= 5
