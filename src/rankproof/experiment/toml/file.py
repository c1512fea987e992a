"""An experiment from a TOML file; whatever is wrong with it is told with its line."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from ...formats.reading import is_remote
from ...measures import Measure, parse_many
from ...stages.base import Stage
from ..experiment import SAMPLE, Experiment
from .build import SYSTEMS, Builder
from .page import Page, read_page
from .parts import IN_PYTHON, absolute
from .settings import TOP, takes


def read_experiment(path: str | os.PathLike[str]) -> Experiment:
    """The experiment in the file; relative paths in it begin at the file's own folder."""
    page = read_page(path)
    _check_top(page)
    top = page.values
    builder = Builder(page, top[SYSTEMS])
    asked = {
        "name": os.path.splitext(os.path.basename(page.source))[0],
        **{key: value for key, value in top.items() if key != SYSTEMS},
        "systems": _systems(page, builder),
    }
    if "dataset" in top:
        asked["dataset"] = _dataset(page, top["dataset"])
    if "measures" in top:
        asked["measures"] = _measures(builder, top["measures"])
    experiment: Experiment = builder.checked((), lambda: Experiment(**asked), TOP)
    return experiment


def _check_top(page: Page) -> None:
    for key, value in page.values.items():
        if key == SYSTEMS:
            continue
        if key not in TOP:
            raise page.unknown((key,), "unknown key", key, [*TOP, SYSTEMS])
        words, fits = takes(TOP[key])
        if not fits(value):
            raise page.error((key,), f"{key} is not {words}", f"write {words}")
    systems = page.values.get(SYSTEMS)
    if not isinstance(systems, dict) or not systems:
        raise page.error((SYSTEMS,), "there is no system", 'write [systems.bm25] and below it stage = "bm25"')


def _systems(page: Page, builder: Builder) -> Mapping[str, Stage]:
    """Every system but the hidden ones; those are read as well, for a fault in them is one."""
    tables = page.values[SYSTEMS]
    stages = {name: builder.stage(name, (SYSTEMS, name)) for name in tables}
    for name in tables:
        if not isinstance(tables[name].get("hidden", False), bool):
            raise page.error((SYSTEMS, name, "hidden"), "hidden is not true or false", "write true or false")
        if not name:
            raise page.error((SYSTEMS, name), "a system has no name", "name it, as in [systems.bm25]")
    found = {name: stage for name, stage in stages.items() if not tables[name].get("hidden")}
    if not found:
        raise page.error((SYSTEMS,), "every system is hidden", "show at least one: leave out hidden")
    return found


def _dataset(page: Page, name: str) -> str:
    """The dataset's absolute path, or the name of one that is no path."""
    if name == SAMPLE or is_remote(name):
        return name
    if name.startswith(IN_PYTHON):
        raise page.error(("dataset",), "the dataset was made in Python and has no path", "name a folder, or sample")
    path = absolute(name, page.folder)
    if not name or "\0" in name or not os.path.exists(path):
        raise page.error(("dataset",), f"there is no dataset {name}", "name a folder, relative to this file, or sample")
    return path


def _measures(builder: Builder, names: Any) -> list[Measure]:
    found: list[Measure] = []
    for at, name in enumerate(names):
        found += builder.checked(("measures", at), lambda name=name: parse_many(name))  # type: ignore[misc]
    return builder.checked(("measures",), lambda: parse_many(found))  # type: ignore[no-any-return]
