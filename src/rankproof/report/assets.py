"""The templates, the style and the scripts that lie beside this file."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from markupsafe import Markup, escape

from ..errors import visible

if TYPE_CHECKING:
    from jinja2 import Environment

STYLES = (
    *("report.css", "sheets.css", "widths.css", "charts.css", "explorer.css"),
    *("explorer-table.css", "explorer-phone.css", "explorer-query.css", "print.css"),
)
SCRIPTS = (
    "dom.js",
    "state.js",
    *(f"explorer-{part}.js" for part in ("view", "model", "columns", "head", "grid", "keys", "controls", "words", "details")),
    *(f"explorer-{part}.js" for part in ("measures", "explain", "rankings", "answers", "panel")),
    "explorer.js",
    "page.js",
)
"""In the order in which they run: one script, each file a part of it."""
_NUMBERS = re.compile(r"\b[pn] [=<] [\d.]+|\d (?:pp|ms|s|MB|kB)\b")


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
    return environment(template_text).get_template(template).render(**values)


@cache
def environment(source: Callable[[str], str]) -> Environment:
    """How templates are filled in, given where their text comes from."""
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    made = Environment(
        loader=FunctionLoader(source),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_seen,
    )
    made.filters |= {"lines": _lines, "tied": _tied}
    return made


def template_text(name: str) -> str:
    """The text of a template."""
    return _text("templates", name)


def _seen(value: Any) -> Any:
    """Text as people can see it; Markup was made by us."""
    return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _lines(text: str) -> Markup:
    """A text of several lines, each as people can see it."""
    return Markup("\n").join(escape(visible(line.rstrip("\r").replace("\t", "    "))) for line in text.split("\n"))


def _tied(text: str) -> str:
    """A sentence whose numbers stay on the line of what they count."""
    return _NUMBERS.sub(lambda found: found.group().replace(" ", "\u00a0"), visible(text))


def text_beside(package: str, folder: str, name: str) -> str:
    """The text of a file that lies in a folder of a package."""
    return (files(package) / folder / name).read_text(encoding="utf-8")


def _text(folder: str, name: str) -> str:
    return text_beside(__package__, folder, name)
