"""The API pages: tables of public names; the site adds the mkdocstrings entry of each name."""

from __future__ import annotations

import inspect
import re
from importlib import import_module
from typing import Annotated, Any, get_origin

import rankproof as rp
from rankproof import measures
from rankproof._data.identity import NOT_IN_IDENTITY

from .measure_pages import all_measures, link_of

TOP: dict[str, tuple[str, ...]] = {
    "Functions": ("_api", "_interleaving"),
    "Evaluating and comparing": ("_evaluation", "_analysis", "_fusion", "_report", "_plots", "measures"),
    "Data and files": ("_data", "_formats", "_importers"),
    "Experiments": ("_experiment", "_results", "_judge", "_generate"),
}
"""Title to the packages that define the names; the names are those of `rankproof`."""
MODULES: dict[str, tuple[str, dict[str, str]]] = {
    "types": (
        "Stages, models, stores, types, plugins and errors",
        {
            "Stages": "stages",
            "Models": "models",
            "Stores": "stores",
            "Types": "types",
            "Plugins": "plugins",
            "Errors": "errors",
        },
    ),
}
"""File to its title and the public modules of its sections, as in `rp.stages.BM25`."""
PAGES = ("rankproof", *MODULES)


def api_pages() -> dict[str, str]:
    """The text of each page by the name of its file."""
    functions, *others = _top_sections().items()
    sections = "\n".join((_table(*functions), *(_list(title, names) for title, names in others)))
    top = f"# Functions and classes\n\n{sections}\nMeasures, in `rp.measures`: {_measure_links()}.\n"
    return {"rankproof.md": top} | {f"{name}.md": _module_page(name) for name in MODULES}


def reference_entries(page: str) -> str:
    """The mkdocstrings entries that the site shows below the tables of a page."""
    if page == "rankproof":
        return "".join(_entry(value, "") for names in _top_sections().values() for value in names.values())
    if page not in MODULES:
        return ""
    options = "    options:\n      members: false\n"
    return "".join(_entry(value, options) for module in MODULES[page][1].values() for value in _module_names(module).values())


def _top_sections() -> dict[str, dict[str, Any]]:
    return {title: _top_names(packages) for title, packages in TOP.items()}


def _module_page(name: str) -> str:
    title, modules = MODULES[name]
    lists = "\n".join(_list(section, _module_names(module)) for section, module in modules.items())
    return f"# {title}\n\n{lists}"


def _top_names(packages: tuple[str, ...]) -> dict[str, Any]:
    """The functions and classes of `rankproof` that these packages define."""
    named = {name: getattr(rp, name) for name in rp.__all__ if not inspect.ismodule(getattr(rp, name))}
    return {f"rp.{name}": value for name, value in named.items() if value.__module__.split(".")[1] in packages}


def _module_names(module: str) -> dict[str, Any]:
    """The names of a public module."""
    return {f"rp.{module}.{name}": value for name, value in _public(module).items()}


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


def _table(title: str, names: dict[str, Any]) -> str:
    rows = "".join(f"| `{name}` | {_sentence(value)} |\n" for name, value in names.items())
    return f"## {title}\n\n| name | what it is |\n| :--- | :--- |\n{rows}"


def _list(title: str, names: dict[str, Any]) -> str:
    """The names, and what a name is that has no entry below."""
    others = "".join(f"- `{name}`: {_sentence(value)}\n" for name, value in names.items() if not _entry(value, ""))
    return f"## {title}\n\n{', '.join(f'`{name}`' for name in names)}\n" + (f"\n{others}" if others else "")


def _entry(value: Any, options: str) -> str:
    is_documented = inspect.isclass(value) or inspect.isfunction(value)
    return f"\n::: {value.__module__}.{value.__qualname__}\n{options}" if is_documented else ""


def _sentence(value: Any) -> str:
    """The first sentence of a docstring, or what a value is."""
    if get_origin(value) is Annotated:
        return f"The type of a setting: {value.__metadata__[0].description}."
    if value is NOT_IN_IDENTITY:
        return "The metadata of a dataclass field that is not part of cache keys, such as a path or a secret."
    text = " ".join((inspect.getdoc(value) or "").partition("\n\n")[0].split())
    return re.split(r"(?<=[a-z)`\]])\. (?=[A-Z`])|; ", text)[0].rstrip(".").replace("|", "\\|")
