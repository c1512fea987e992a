"""HTTP responses and the templates of the pages."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from markupsafe import Markup

from rankproof._report.page import content_security_policy, package_text, template_environment, template_text
from rankproof._report.page import stylesheet as report_style

HTML, JSON, TEXT = "text/html; charset=utf-8", "application/json", "text/plain; charset=utf-8"


@dataclass(frozen=True, slots=True)
class PageResponse:
    """A response: status, content type, body, policy and further headers; `assessor` is a name that the browser keeps."""

    status: int
    kind: str
    body: bytes
    policy: str = "default-src 'none'"
    headers: Mapping[str, str] = field(default_factory=dict)
    assessor: str | None = None


class HttpError(Exception):
    """A rejected request, with a status and a text that discloses nothing."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status, self.message = status, message


def text_response(status: int, text: str) -> PageResponse:
    """A plain text response."""
    return PageResponse(status, TEXT, f"{text}\n".encode(errors="backslashreplace"))


def json_response(status: int, value: Mapping[str, Any], assessor: str | None = None) -> PageResponse:
    """A JSON response; `assessor` is a name that the browser keeps."""
    return PageResponse(status, JSON, json.dumps(value, ensure_ascii=True, allow_nan=False).encode(), assessor=assessor)


_SHARED_TEMPLATES = ("section.html.j2", "table.html.j2", "chart.html.j2", "move_legend.html.j2")
"""The templates of the report that the server uses too."""


@cache
def server_stylesheet() -> str:
    """The style sheets of the report and of the server."""
    return report_style() + _text("static", "serve.css")


@cache
def page_script(*names: str) -> str:
    """The scripts of a page, joined in this order."""
    return "".join(_text("static", name) for name in names)


def html_page(template: str, *, status: int = 200, script: str = "", **values: Any) -> PageResponse:
    """Render a template as a page, with a policy that allows only its own script and style."""
    text = (
        template_environment(_template)
        .get_template(template)
        .render(style=Markup(server_stylesheet()), script=Markup(script), **values)
    )
    rules = content_security_policy([script] if script else [], [server_stylesheet()], connect="'self'" if script else "'none'")
    return PageResponse(status, HTML, text.encode(errors="backslashreplace"), policy=rules)


def module_page(template: str, module: str, *, styles: Sequence[str] = (), status: int = 200, **values: Any) -> PageResponse:
    """Render a template as a page with the module /static/MODULE, and style sheets of `static` beside those of all pages.

    The policy allows the modules of this server, no inline script, and only these styles. Data is a block of JSON in the page.
    """
    style = server_stylesheet() + "".join(_text("static", name) for name in styles)
    source = Markup('<script type="module" src="/static/{}"></script>').format(module)
    text = template_environment(_template).get_template(template).render(style=Markup(style), module=source, **values)
    rules = content_security_policy([], [style], connect="'self'", script="'self'")
    return PageResponse(status, HTML, text.encode(errors="backslashreplace"), policy=rules)


def _template(name: str) -> str:
    return template_text(name) if name in _SHARED_TEMPLATES else _text("templates", name)


def _text(folder: str, name: str) -> str:
    return package_text(__package__, folder, name)
