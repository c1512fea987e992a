"""An experiment as the tables of a TOML file, every setting in them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ...data.dataset import Dataset
from ...formats.opening import StrPath, path_text
from ...formats.reading import is_remote
from ...stages.base import Stage
from ..experiment import SAMPLE, Experiment
from ..rungs import with_below
from .keys import RESCORERS, STAGES, Form, Key, made_of
from .kinds import is_part
from .parts import IN_PYTHON, absolute, settings_of

_FORMS: Mapping[type[Any], tuple[str, Form]] = {
    made_of(form): (name, form) for name, form in (*STAGES.items(), *RESCORERS.items())
}


@dataclass(frozen=True, slots=True)
class Table:
    """A system's keys, and what a reader must know of those that are not there."""

    values: Mapping[str, Any]
    remarks: tuple[str, ...] = ()


def top_table(experiment: Experiment) -> dict[str, Any]:
    """What stands above the systems; None where nothing was asked for."""
    return {
        "name": experiment.name,
        "dataset": _dataset(experiment.dataset),
        "split": experiment.split,
        "measures": None if experiment.measures is None else [str(measure) for measure in experiment.measures],
        "rel": experiment.rel,
        "limit": experiment.limit,
        "seed": experiment.seed,
        "collapse": experiment.collapse,
        "pool": experiment.pool,
    }


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
    if type(stage) not in _FORMS:
        return Table({"stage": f"{IN_PYTHON}{type(stage).__name__}", **shown}, ("this stage was made in Python",))
    name, form = _FORMS[type(stage)]
    values, remarks = _values(stage, form, names)
    return Table({"stage": name, **shown, **values}, remarks)


def _values(value: Any, form: Form, names: Mapping[Stage, str]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The keys of a stage or rescorer; those of a rescorer follow the key that names it."""
    found: dict[str, Any] = {}
    remarks: tuple[str, ...] = ()
    for name, key in form.keys.items():
        part = getattr(value, key.part or name)
        if key.kind == "rescorer":
            values, more = _rescorer(part, names)
            found |= values
        elif part is not None:
            found[name], more = _plain(key, part, names)
        else:
            more = ()
        remarks += more
    return found, remarks


def _rescorer(value: Any, names: Mapping[Stage, str]) -> tuple[dict[str, Any], tuple[str, ...]]:
    if type(value) not in _FORMS:
        return {"by": f"{IN_PYTHON}{type(value).__name__}"}, ("what reranks was made in Python",)
    by, form = _FORMS[type(value)]
    values, remarks = _values(value, form, names)
    return {"by": by, **values}, remarks


def _plain(key: Key, part: Any, names: Mapping[Stage, str]) -> tuple[Any, tuple[str, ...]]:
    if key.kind == "system":
        return names[part], ()
    if key.kind == "systems":
        return [names[one] for one in part], ()
    if is_part(key.kind):
        return settings_of(key.kind, part)
    return (list(part) if isinstance(part, tuple) else part), ()


def _free_name(taken: set[str]) -> str:
    return next(name for number in range(1, len(taken) + 2) if (name := f"part-{number}") not in taken)


def _dataset(dataset: Dataset | StrPath) -> str:
    if isinstance(dataset, Dataset):
        return f"{IN_PYTHON}{dataset.name}"
    path = path_text(dataset)
    return path if path == SAMPLE or is_remote(path) else absolute(path, "")
