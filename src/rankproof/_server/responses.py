"""HttpResponse, templates."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from markupsafe import Markup

from rankproof._report.page import content_security_policy, package_text, template_environment, template_text
from rankproof._report.page import stylesheet as report_style

HTML, JSON, TEXT = "text/html; charset=utf-8", "application/json", "text/plain; charset=utf-8"


@dataclass(frozen=True, slots=True)
class PageResponse:
    """A status, a body and what its headers say of it."""

    status: int
    kind: str
    body: bytes
    policy: str = "default-src 'none'"
    headers: Mapping[str, str] = field(default_factory=dict)


class HttpError(Exception):
    """A request that is not answered: its status, and words that give nothing away."""

    def __init__(self, status: int, words: str) -> None:
        super().__init__(words)
        self.status, self.words = status, words


def text_response(status: int, words: str) -> PageResponse:
    """A line of text."""
    return PageResponse(status, TEXT, f"{words}\n".encode(errors="backslashreplace"))


def json_response(status: int, value: Mapping[str, Any]) -> PageResponse:
    """A JSON object."""
    return PageResponse(status, JSON, json.dumps(value, ensure_ascii=True, allow_nan=False).encode())


_SHARED_TEMPLATES = ("sheet.html.j2",)
"""Templates of the report that these pages use."""


@cache
def server_stylesheet() -> str:
    """The report's style, and what these pages have beside it."""
    return report_style() + _text("static", "serve.css")


@cache
def judge_script() -> str:
    """What makes the page of judging work."""
    return _text("static", "judge.js")


def html_page(template: str, *, status: int = 200, script: str = "", **values: Any) -> PageResponse:
    """A template filled in as a whole page, with a policy that allows its own script and style alone."""
    shown = (
        template_environment(_template)
        .get_template(template)
        .render(style=Markup(server_stylesheet()), script=Markup(script), **values)
    )
    rules = content_security_policy([script] if script else [], [server_stylesheet()], connect="'self'" if script else "'none'")
    return PageResponse(status, HTML, shown.encode(errors="backslashreplace"), policy=rules)


def _template(name: str) -> str:
    return template_text(name) if name in _SHARED_TEMPLATES else _text("templates", name)


def _text(folder: str, name: str) -> str:
    return package_text(__package__, folder, name)
