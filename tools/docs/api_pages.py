"""The API pages: a table of public names, and the mkdocstrings entry of each."""

from __future__ import annotations

import inspect
from typing import Any

import rankproof as rp
from rankproof.measures import MEASURES, Measure

from .measure_pages import file_of

PAGES: dict[str, tuple[str, tuple[str, ...]]] = {
    "evaluating": ("Evaluating and comparing", ("evaluation", "analysis", "measures", "_fusion")),
    "data": ("Data and files", ("data", "formats")),
    "experiments": ("Experiments", ("experiment", "asking")),
    "stages": ("Stages", ("stages",)),
    "models": ("Models and stores", ("models", "stores")),
    "errors": ("Errors", ("errors",)),
}
"""File to title and the packages that it shows."""
_VALUES = ("stages", "models", "stores")


def api_pages() -> dict[str, str]:
    """The text of each page by the name of its file."""
    return {f"{name}.md": _page(title, _names(packages)) for name, (title, packages) in PAGES.items()}


def _names(packages: tuple[str, ...]) -> list[str]:
    return [name for name in rp.__all__ if rp._HOME[name].partition(".")[0] in packages]


def _page(title: str, names: list[str]) -> str:
    measures = [name for name in names if isinstance(getattr(rp, name), Measure)]
    others = [name for name in names if name not in measures]
    rows = "".join(f"| `{name}` | {_sentence(getattr(rp, name))} |\n" for name in others)
    text = f"# {title}\n\n| name | what it is |\n| :--- | :--- |\n{rows}"
    if measures:
        links = ", ".join(f"[`{name}`](../measures/{file_of(MEASURES[getattr(rp, name).name])})" for name in measures)
        text += f"\nMeasures: {links}.\n"
    return text + "".join(f"\n::: {_path(name)}\n{_options(name)}" for name in others)


def _options(name: str) -> str:
    """Stages, models and stores are plain values: their methods are internal."""
    return "    options:\n      members: false\n" if rp._HOME[name].partition(".")[0] in _VALUES else ""


def _path(name: str) -> str:
    """Where the name is defined: a function and its module may share one in the package."""
    value = getattr(rp, name)
    return f"{value.__module__}.{value.__qualname__}"


def _sentence(value: Any) -> str:
    """The first paragraph of a docstring, on one line."""
    text = (inspect.getdoc(value) or "").partition("\n\n")[0]
    return " ".join(text.split()).replace("|", "\\|")
