"""The templates, the style and the scripts that lie beside this file."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Any

STYLES = ("report.css",)
SCRIPTS = ("dom.js", "state.js", "explorer.js")
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
    """A template filled in; every value is escaped unless it is Markup."""
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    load = FunctionLoader(lambda name: _text("templates", name))
    environment = Environment(loader=load, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    return environment.get_template(template).render(**values)


def _text(folder: str, name: str) -> str:
    return (files(__package__) / folder / name).read_text(encoding="utf-8")
