"""The templates, the style and the script that lie beside this file; the report's style comes first."""

from __future__ import annotations

from functools import cache
from typing import Any

from markupsafe import Markup

from ..report.assets import environment, template_text, text_beside
from ..report.assets import style as report_style
from ..report.policy import policy
from .reply import HTML, Reply

_SHARED = ("sheet.html.j2",)
"""Templates of the report that these pages use."""


@cache
def style() -> str:
    """The report's style, and what these pages have beside it."""
    return report_style() + _text("static", "serve.css")


@cache
def judge_script() -> str:
    """What makes the page of judging work."""
    return _text("static", "judge.js")


def page(template: str, *, status: int = 200, script: str = "", **values: Any) -> Reply:
    """A template filled in as a whole page, with a policy that allows its own script and style alone."""
    shown = environment(_template).get_template(template).render(style=Markup(style()), script=Markup(script), **values)
    rules = policy([script] if script else [], [style()], connect="'self'" if script else "'none'")
    return Reply(status, HTML, shown.encode(errors="backslashreplace"), policy=rules)


def _template(name: str) -> str:
    return template_text(name) if name in _SHARED else _text("templates", name)


def _text(folder: str, name: str) -> str:
    return text_beside(__package__, folder, name)
