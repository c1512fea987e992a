"""An experiment as the tables of a TOML file, every setting in them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..._registry import Setting, settings_of
from ...data.dataset import Dataset
from ...formats.opening import StrPath, path_text
from ...formats.reading import is_remote
from ...stages.base import Stage
from ...stages.registry import SCORERS, STAGES
from ..experiment import SAMPLE, Experiment
from ..rungs import with_below
from .parts import IN_PYTHON, absolute, part_table
from .settings import TOP, is_scorer, is_system, is_systems, part_kind


@dataclass(frozen=True, slots=True)
class Table:
    """A system's keys, and what a reader must know of those that are not there."""

    values: Mapping[str, Any]
    remarks: tuple[str, ...] = ()


def top_table(experiment: Experiment) -> dict[str, Any]:
    """What stands above the systems; None where nothing was asked for."""
    values = {key: getattr(experiment, setting.field) for key, setting in TOP.items()}
    measures = None if experiment.measures is None else [str(measure) for measure in experiment.measures]
    return values | {"dataset": _dataset(experiment.dataset), "measures": measures}


def system_tables(systems: Mapping[str, Stage]) -> dict[str, Table]:
    """Every system in order; a part that is none of them stands before the first that needs it, under a name of its own."""
    names = {stage: name for name, stage in reversed(list(systems.items()))}
    taken = set(systems)
    tables: dict[str, Table] = {}
    for name, stage in systems.items():
        for part in with_below(stage)[:-1]:
            if part not in names:
                names[part] = _free_name(taken)
                taken.add(names[part])
                tables[names[part]] = _table(part, names, hidden=True)
        tables[name] = _table(stage, names, hidden=False)
    return tables


def _table(stage: Stage, names: Mapping[Stage, str], *, hidden: bool) -> Table:
    shown = {"hidden": True} if hidden else {}
    name = STAGES.name_of(type(stage))
    if name is None:
        return Table({"stage": f"{IN_PYTHON}{type(stage).__name__}", **shown}, ("this stage was made in Python",))
    values, remarks = _values(stage, names)
    return Table({"stage": name, **shown, **values}, remarks)


def _values(part: Any, names: Mapping[Stage, str]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The keys of a stage or scorer; those of a scorer follow the key that names it."""
    found: dict[str, Any] = {}
    remarks: tuple[str, ...] = ()
    for setting in settings_of(type(part)):
        value = getattr(part, setting.field)
        if value is None:
            continue
        if is_scorer(setting):
            values, more = _scorer(setting.key, value, names)
        else:
            plain, more = _plain(setting, value, names)
            values = {setting.key: plain}
        found |= values
        remarks += more
    return found, remarks


def _scorer(key: str, scorer: Any, names: Mapping[Stage, str]) -> tuple[dict[str, Any], tuple[str, ...]]:
    name = SCORERS.name_of(type(scorer))
    if name is None:
        return {key: f"{IN_PYTHON}{type(scorer).__name__}"}, ("this scorer was made in Python",)
    values, remarks = _values(scorer, names)
    return {key: name, **values}, remarks


def _plain(setting: Setting, value: Any, names: Mapping[Stage, str]) -> tuple[Any, tuple[str, ...]]:
    if is_system(setting):
        return names[value], ()
    if is_systems(setting):
        return [names[one] for one in value], ()
    if kind := part_kind(setting):
        return part_table(kind, value)
    return (list(value) if isinstance(value, tuple) else value), ()


def _free_name(taken: set[str]) -> str:
    return next(name for number in range(1, len(taken) + 2) if (name := f"part-{number}") not in taken)


def _dataset(dataset: Dataset | StrPath) -> str:
    if isinstance(dataset, Dataset):
        return f"{IN_PYTHON}{dataset.name}"
    path = path_text(dataset)
    return path if path == SAMPLE or is_remote(path) else absolute(path, "")
