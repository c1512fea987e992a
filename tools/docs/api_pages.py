"""The API pages: a table of public names, and the mkdocstrings entry of each."""

from __future__ import annotations

import inspect
from importlib import import_module
from typing import Annotated, Any, get_origin

import rankproof as rp
from rankproof import measures
from rankproof._data.identity import NOT_IN_IDENTITY

from .measure_pages import all_measures, link_of

TOP: dict[str, tuple[str, tuple[str, ...]]] = {
    "functions": ("Functions", ("_api",)),
    "evaluating": ("Evaluating and comparing", ("_evaluation", "_analysis", "_fusion", "_report", "_plots", "measures")),
    "data": ("Data and files", ("_data", "_formats", "_importers")),
    "experiments": ("Experiments", ("_experiment", "_results", "_judge", "_generate")),
}
"""File to title and the packages that define the names; the names are those of `rankproof`."""
MODULES: dict[str, tuple[str, tuple[str, ...]]] = {
    "stages": ("Stages", ("stages",)),
    "models": ("Models and stores", ("models", "stores")),
    "types": ("Types", ("types",)),
    "plugins": ("Plugins", ("plugins",)),
    "errors": ("Errors", ("errors",)),
}
"""File to title and public modules, as in `rp.stages.BM25`."""
PAGES = (*TOP, *MODULES)


def api_pages() -> dict[str, str]:
    """The text of each page by the name of its file."""
    pages = {name: _page(title, _top_names(packages)) for name, (title, packages) in TOP.items()}
    pages["evaluating"] += f"\nMeasures, in `rp.measures`: {_measure_links()}.\n"
    pages |= {name: _page(title, _module_names(modules), values=True) for name, (title, modules) in MODULES.items()}
    return {f"{name}.md": text for name, text in pages.items()}


def _top_names(packages: tuple[str, ...]) -> dict[str, Any]:
    """The functions and classes of `rankproof` that these packages define."""
    named = {name: getattr(rp, name) for name in rp.__all__ if not inspect.ismodule(getattr(rp, name))}
    return {f"rp.{name}": value for name, value in named.items() if value.__module__.split(".")[1] in packages}


def _module_names(modules: tuple[str, ...]) -> dict[str, Any]:
    """The names of public modules."""
    return {f"rp.{module}.{name}": value for module in modules for name, value in _public(module).items()}


def _public(module: str) -> dict[str, Any]:
    """The names of `__all__`, or of a module without it the errors."""
    loaded = import_module(f"rankproof.{module}")
    if hasattr(loaded, "__all__"):
        return {name: getattr(loaded, name) for name in loaded.__all__}
    return dict(inspect.getmembers(loaded, lambda value: inspect.isclass(value) and issubclass(value, Exception)))


def _measure_links() -> str:
    """Each measure with the name of its value."""
    values = {id(getattr(measures, name)): name for name in dir(measures)}
    return ", ".join(f"[`{values.get(id(measure), measure.name)}`](../measures/{link_of(measure)})" for measure in all_measures())


def _page(title: str, names: dict[str, Any], *, values: bool = False) -> str:
    """A table, then an entry for each name; methods of plain values are left out."""
    rows = "".join(f"| `{name}` | {_sentence(value)} |\n" for name, value in names.items())
    options = "    options:\n      members: false\n" if values else ""
    documented = [value for value in names.values() if inspect.isclass(value) or inspect.isfunction(value)]
    entries = "".join(f"\n::: {value.__module__}.{value.__qualname__}\n{options}" for value in documented)
    return f"# {title}\n\n| name | what it is |\n| :--- | :--- |\n{rows}{entries}"


def _sentence(value: Any) -> str:
    """The first paragraph of a docstring on one line, or what a value is."""
    if get_origin(value) is Annotated:
        return f"The type of a setting: {value.__metadata__[0].description}."
    if value is NOT_IN_IDENTITY:
        return "The metadata of a dataclass field that is not part of cache keys, such as a path or a secret."
    text = (inspect.getdoc(value) or "").partition("\n\n")[0]
    return " ".join(text.split()).replace("|", "\\|")
