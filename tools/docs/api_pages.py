"""The API pages: a table of public names, and the mkdocstrings entry of each."""

from __future__ import annotations

import inspect
from importlib import import_module
from types import ModuleType
from typing import Any

import rankproof as rp
from rankproof.measures import MEASURES, Measure

from .measure_pages import file_of

PAGES: dict[str, tuple[str, tuple[str, ...]]] = {
    "evaluating": ("Evaluating and comparing", ("_evaluation", "_analysis", "_fusion", "_report", "_plots", "measures")),
    "data": ("Data and files", ("_data", "_formats")),
    "experiments": ("Experiments", ("_experiment", "_results", "_llm", "_judge", "_generate")),
    "stages": ("Stages", ("stages",)),
    "models": ("Models and stores", ("models", "stores")),
    "errors": ("Errors", ("errors",)),
}
"""File to title and the packages whose public names it shows."""
_PARTS = ("stages", "models", "stores")
"""Public packages whose names are reached through the package, as in `rp.stages.BM25`."""


def api_pages() -> dict[str, str]:
    """The text of each page by the name of its file."""
    return {f"{name}.md": _page(title, _names(packages)) for name, (title, packages) in PAGES.items()}


def _names(packages: tuple[str, ...]) -> dict[str, Any]:
    """Public names and values defined in the packages."""
    parts = {f"{part}.{name}": value for part in packages if part in _PARTS for name, value in _public(part)}
    top = {name: getattr(rp, name) for name in rp.__all__}
    shown = [id(value) for value in parts.values()]
    return {name: value for name, value in top.items() if _package(value) in packages and id(value) not in shown} | parts


def _public(part: str) -> list[tuple[str, Any]]:
    module = import_module(f"rankproof.{part}")
    return [(name, getattr(module, name)) for name in module.__all__]


def _package(value: Any) -> str:
    """The package of rankproof that defines the value; a module belongs to none."""
    if isinstance(value, ModuleType):
        return ""
    path: str = value.__module__ if isinstance(value, type) or inspect.isfunction(value) else type(value).__module__
    return path.removeprefix("rankproof.").partition(".")[0]


def _page(title: str, names: dict[str, Any]) -> str:
    measures = [value for value in names.values() if isinstance(value, Measure)]
    others = {name: value for name, value in names.items() if not isinstance(value, Measure)}
    rows = "".join(f"| `{name}` | {_sentence(value)} |\n" for name, value in others.items())
    text = f"# {title}\n\n| name | what it is |\n| :--- | :--- |\n{rows}"
    if measures:
        links = ", ".join(f"[`{one.name}`](../measures/{file_of(MEASURES[one.name])})" for one in measures)
        text += f"\nMeasures: {links}.\n"
    return text + "".join(f"\n::: {value.__module__}.{value.__qualname__}\n{_options(value)}" for value in others.values())


def _options(value: Any) -> str:
    """Stages, models and stores are plain values: their methods are internal."""
    return "    options:\n      members: false\n" if _package(value) in _PARTS else ""


def _sentence(value: Any) -> str:
    """The first paragraph of a docstring, on one line."""
    text = (inspect.getdoc(value) or "").partition("\n\n")[0]
    return " ".join(text.split()).replace("|", "\\|")
