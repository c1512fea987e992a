"""The templates, the style and the scripts that lie beside this file."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Any

from markupsafe import Markup, escape

from ..errors import visible

STYLES = ("report.css", "charts.css", "explorer.css", "print.css")
SCRIPTS = (
    "dom.js",
    "state.js",
    *(f"explorer-{part}.js" for part in ("view", "model", "columns", "head", "grid", "keys", "controls", "words", "details")),
    *(f"explorer-{part}.js" for part in ("measures", "explain", "rankings", "answers", "panel")),
    "explorer.js",
    "page.js",
)
"""In the order in which they run: one script, each file a part of it."""


@cache
def style() -> str:
    """Every style sheet in one."""
    return "".join(_text("static", name) for name in STYLES)


@cache
def script() -> str:
    """Every script in one, readable as it was written."""
    return "".join(_text("static", name) for name in SCRIPTS)


def rendered(template: str, **values: Any) -> str:
    """A template filled in; every value is escaped unless it is Markup, and nothing in it is invisible."""
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    environment = Environment(
        loader=FunctionLoader(lambda name: _text("templates", name)),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_seen,
    )
    environment.filters["lines"] = _lines
    return environment.get_template(template).render(**values)


def _seen(value: Any) -> Any:
    """Text as people can see it; Markup was made by us."""
    return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _lines(text: str) -> Markup:
    """A text of several lines, each as people can see it."""
    return Markup("\n").join(escape(visible(line.rstrip("\r").replace("\t", "    "))) for line in text.split("\n"))


def _text(folder: str, name: str) -> str:
    return (files(__package__) / folder / name).read_text(encoding="utf-8")
