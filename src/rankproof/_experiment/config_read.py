"""Reads an experiment file: TOML tables to stages, with the line of every error."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Annotated, Any

from rankproof._experiment.config_settings import (
    EVERY,
    TOP,
    absolute_path,
    is_scorer,
    is_system,
    is_systems,
    keys_of,
    parameter_keys,
    part_by_name,
    part_kind,
    takes,
)
from rankproof._experiment.experiment import MAX_STAGE_DEPTH, TOO_MANY_STAGES_FIX, Experiment, stage_tree
from rankproof._formats.detect import SAMPLE, is_irds_name
from rankproof._io.file_errors import near_path
from rankproof._io.named_code import NamedCode, import_object, models_with_code, not_imported
from rankproof._io.paths import DATASET_PATTERN_FIX, is_pattern
from rankproof._io.toml_file import KeyPath, TomlFile, read_toml, toml_value
from rankproof._registry import Option, Registry, Setting
from rankproof._results.result_json import PYTHON_PREFIX
from rankproof.errors import InputError, RankproofError, UsageError, for_message
from rankproof.measures._base import Measure
from rankproof.measures._parse import MODULE_AND_NAME, parse_measures, split_measures
from rankproof.stages._base import Stage
from rankproof.stages._registry import SCORERS, STAGES
from rankproof.stores._base import mask_secrets

SYSTEMS_KEY = "systems"


class Builder:
    """Builds the stages of one file; `named` are the functions and measures that it names, imported or not."""

    def __init__(self, toml_file: TomlFile, tables: Mapping[str, Any], *, imports: bool = True) -> None:
        self._toml_file, self._tables, self._imports = toml_file, tables, imports
        self.named: list[str] = []
        self._built: dict[str, Stage] = {}
        # The names from a system down to the input that is being built.
        self._open: list[str] = []

    def stage(self, name: str, path: KeyPath = ()) -> Stage:
        """The stage of that system; `path` is the key that names it."""
        if name not in self._tables:
            raise self._unknown_system(path, name)
        if name in self._open:
            circle = " -> ".join(map(for_message, (*self._open[self._open.index(name) :], name)))
            raise self._toml_file.error(path, f"systems are inputs of each other: {circle}", "change one of them")
        if name not in self._built:
            if len(self._open) >= MAX_STAGE_DEPTH:
                raise self._toml_file.error(
                    path, f"the systems are nested more than {MAX_STAGE_DEPTH} levels deep", TOO_MANY_STAGES_FIX
                )
            self._open.append(name)
            stage = self._stage_of((SYSTEMS_KEY, name), self._tables[name])
            self.checked((SYSTEMS_KEY, name), lambda: stage_tree(stage, name=f"system {for_message(name)}"))
            self._built[name] = stage
            self._open.pop()
        return self._built[name]

    def _unknown_system(self, path: KeyPath, name: str) -> InputError:
        """An error that suggests the systems that can be an input here."""
        others = [other for other in self._tables if other not in self._open]
        if others:
            return self._toml_file.unknown(path, "no system is called", name, others)
        return self._toml_file.error(path, f"no system is called {for_message(name)}", f"add [systems.{for_message(name)}]")

    def _stage_of(self, path: KeyPath, table: Any) -> Stage:
        if not isinstance(table, dict):
            fix = f'write a table [systems.{for_message(str(path[-1]))}] with stage = "bm25"'
            raise self._toml_file.error(path, f"{for_message(str(path[-1]))} is not a table of a system", fix)
        part = self._class((*path, "stage"), table.get("stage"), STAGES)
        settings = {key: value for key, value in table.items() if key not in EVERY}
        stage: Stage = self._value(part, path, settings)
        return stage

    def _class(self, path: KeyPath, name: Any, registry: Registry[Any]) -> Any:
        """The class of the stage or scorer that a key names."""
        if name is None:
            raise self._toml_file.error(path, f"{path[-1]} is missing", f'write {path[-1]} = "{registry.names()[0]}"')
        if not isinstance(name, str):
            raise self._toml_file.error(path, f"{path[-1]} is not text", f"choose from {', '.join(registry.names())}")
        if name not in registry:
            raise self._toml_file.unknown(path, f"no {registry.kind} is called", name, registry.names())
        return registry.load(name)

    def _value(self, part: Any, path: KeyPath, table: Mapping[str, Any]) -> Any:
        """The part with its settings; those of a scorer are in the table of its stage."""
        keys = keys_of(part)
        scorers = {key: self._class((*path, key), table.get(key), SCORERS) for key, setting in keys.items() if is_scorer(setting)}
        scorer_keys = {key: keys_of(scorer) for key, scorer in scorers.items()}
        own_keys = parameter_keys(part, table)
        self._refuse_unknown([*keys, *own_keys, *(key for known in scorer_keys.values() for key in known)], path, table)
        arguments = {keys[key].field: self._part(keys[key], (*path, key), table[key]) for key in table if key in keys}
        for key, scorer in scorers.items():
            settings = {name: value for name, value in table.items() if name in scorer_keys[key]}
            arguments[keys[key].field] = self._value(scorer, path, settings)
        if own_keys:
            own = {key: value for key, value in table.items() if key in own_keys}
            arguments["parameters"] = {key: self._part(own_keys[key], (*path, key), value) for key, value in own.items()}
        self._refuse_missing(keys, path, table)
        built = self.checked(path, partial(_built, part, arguments), {**keys, **own_keys})
        self._refuse_unused(keys, path, arguments, built)
        return built

    def _part(self, setting: Setting, path: KeyPath, value: Any) -> Any:
        words, fits = takes(setting)
        if not fits(value):
            raise self._toml_file.error(path, f"{path[-1]} is {_toml_type_name(value)}", f"write {words}")
        if is_system(setting):
            return self.stage(value, path)
        if is_systems(setting):
            return tuple(self.stage(name, (*path, at)) for at, name in enumerate(value))
        if kind := part_kind(setting):
            return self.checked(path, partial(part_by_name, kind, value, self._toml_file.folder))
        if setting.option.role == "path":
            return self._file(path, value)
        if setting.option.role == "function":
            return self._function(path, value)
        return tuple(value) if isinstance(value, list) else value

    def _function(self, path: KeyPath, name: str) -> Any:
        """The name of a function; its module, which may be beside the file, is imported, so that it is found from any folder."""
        if name.startswith(PYTHON_PREFIX):
            raise self._toml_file.error(path, f"{path[-1]} was made in Python and has no name in a file", "write module:name")
        if ":" not in name:
            return name
        self.named.append(name)
        if not self._imports:
            return not_imported(name)
        self.checked(path, partial(import_object, name, self._toml_file.folder))
        return name

    def measures(self, names: Sequence[str]) -> list[Measure]:
        """The measures of the file, without those that name code if nothing is imported."""
        measures: list[Measure] = []
        for at, name in enumerate(names):
            parts = self.checked(("measures", at), partial(split_measures, name))
            own = [match[0] for part in parts if (match := MODULE_AND_NAME.match(part.text))]
            self.named += own
            if self._imports or not own:
                measures += self.checked(("measures", at), partial(parse_measures, name))
        return self.checked(("measures",), partial(parse_measures, measures))  # type: ignore[no-any-return]

    def _file(self, path: KeyPath, name: str) -> str:
        """The absolute path of a file of a stage."""
        full_path = absolute_path(name, self._toml_file.folder)
        if not name or "\0" in name or not os.path.isfile(full_path):
            what = f"file not found: {for_message(name)}" if name else f"{path[-1]} is empty"
            near = near_path(full_path) if name and "\0" not in name else None
            fix = "specify a path relative to this file"
            if near is not None:
                fix = f"is it {for_message(os.path.relpath(near, self._toml_file.folder))}?"
            raise self._toml_file.error(path, what, fix)
        return full_path

    def checked(self, path: KeyPath, make: Callable[[], Any], keys: Mapping[str, Setting] | None = None) -> Any:
        """The value that `make` gives; its error gets the line of the key that it names, else of the path."""
        try:
            return make()
        except UsageError as error:
            key, what = self._key_of_error(error.what, path, keys or {})
            raise self._toml_file.error((*path, *key), mask_secrets(what, ()), error.fix) from None
        except TypeError as error:
            raise self._toml_file.error(path, f"invalid setting ({error})", "see docs/experiments.md") from None

    def _key_of_error(self, what: str, path: KeyPath, keys: Mapping[str, Setting]) -> tuple[list[str], str]:
        """The key that a message starts with or whose value it shows, and the message with that key."""
        table = self._toml_file.inside(path) if keys else {}
        for name, setting in keys.items():
            if what.startswith(f"{setting.field} "):
                return [name], name + what.removeprefix(setting.field)
        shown = [name for name in keys if isinstance(table.get(name), str) and table[name] and for_message(table[name]) in what]
        return shown[:1], what

    def _refuse_unused(self, keys: Mapping[str, Setting], path: KeyPath, arguments: Mapping[str, Any], built: Any) -> None:
        """Refuses a plain value that the part has replaced because its other settings leave it without effect."""
        for key, setting in keys.items():
            value = arguments.get(setting.field, setting.default)
            if isinstance(value, str | int | float) and value not in (setting.default, getattr(built, setting.field, value)):
                what = f"{key} = {toml_value(value)} has no effect with the other settings of this table"
                raise self._toml_file.error((*path, key), what, "leave it out")

    def _refuse_unknown(self, keys: Sequence[str], path: KeyPath, table: Mapping[str, Any]) -> None:
        for key in table:
            if key not in keys:
                raise self._toml_file.unknown((*path, key), "unknown key", key, dict.fromkeys([*EVERY, *keys]))

    def _refuse_missing(self, keys: Mapping[str, Setting], path: KeyPath, table: Mapping[str, Any]) -> None:
        for key, setting in keys.items():
            if setting.required and key not in table:
                raise self._toml_file.error(path, f"{key} is missing", f"give {setting.option.description or 'it'}")


def _built(part: Any, arguments: Mapping[str, Any]) -> Any:
    """The part with its settings; a class of another package may raise anything."""
    try:
        return part(**arguments)
    except (RankproofError, TypeError):
        raise
    except Exception as error:
        if part.__module__.startswith("rankproof."):
            raise
        what = f"{part.__module__}:{part.__qualname__} does not accept its settings ({for_message(str(error))})"
        raise UsageError(what, fix="correct them, or update its package") from None


def _toml_type_name(value: Any) -> str:
    """The type of a TOML value in words."""
    kinds = {str: "text", bool: "true or false", int: "a number", float: "a number", list: "a list", dict: "a table"}
    return kinds.get(type(value), "a date or time")


def read_experiment(
    path: Annotated[str | os.PathLike[str], Option("the experiment file")],
) -> Experiment:
    """Reads an experiment file, and imports the functions and measures that it names as `module:name`.

    Paths in it are relative to the folder of the file. Read the file of someone else before, like a script.
    """
    return _read(path, imports=True)[0]


def read_without_imports(path: str | os.PathLike[str]) -> tuple[Experiment, NamedCode]:
    """The experiment of a file without the functions and measures that it names as `module:name`, and the code that it names.

    If it names none, the experiment is complete.
    """
    return _read(path, imports=False)


def _read(path: str | os.PathLike[str], *, imports: bool) -> tuple[Experiment, NamedCode]:
    return _experiment_of(read_toml(path), imports=imports)


def read_system(path: str | os.PathLike[str], name: str, *, imports: bool) -> tuple[Experiment, NamedCode]:
    """A system of an experiment file with its inputs, all of them shown, and the code that they name.

    The other systems are not built, and the measures are not read.
    """
    toml_file = read_toml(path)
    kept = {key: value for key, value in toml_file.values.items() if key not in ("baseline", "measures", SYSTEMS_KEY)}
    tables = {key: {**table, "hidden": False} for key, table in system_tables_of(toml_file.values, name).items()}
    return _experiment_of(replace(toml_file, values={**kept, SYSTEMS_KEY: tables}), imports=imports)


def system_tables_of(values: Mapping[str, Any], name: str) -> dict[str, dict[str, Any]]:
    """The table of a system and those of its inputs at any level."""
    tables = values.get(SYSTEMS_KEY, {})
    chosen: dict[str, dict[str, Any]] = {}
    waiting = [name]
    while waiting:
        system = waiting.pop()
        table = tables.get(system)
        if system not in chosen and isinstance(table, dict):
            chosen[system] = table
            inputs = table.get("of", [])
            waiting += [part for part in ([inputs] if isinstance(inputs, str) else inputs) if isinstance(part, str)]
    return chosen


def _experiment_of(toml_file: TomlFile, *, imports: bool) -> tuple[Experiment, NamedCode]:
    _check_top_level(toml_file)
    top = toml_file.values
    builder = Builder(toml_file, top[SYSTEMS_KEY], imports=imports)
    settings = {
        "name": os.path.splitext(os.path.basename(toml_file.source))[0],
        **{key: value for key, value in top.items() if key != SYSTEMS_KEY},
        "systems": _build_systems(toml_file, builder),
        "costs": _system_costs(toml_file),
    }
    if "dataset" in top:
        settings["dataset"] = _dataset_path(toml_file, top["dataset"])
    if "qrels" in top:
        settings["qrels"] = _qrels_paths(toml_file, top["qrels"])
    if "include_cases" in top:
        settings["include_cases"] = absolute_path(top["include_cases"], toml_file.folder)
    if "measures" in top:
        settings["measures"] = builder.measures(top["measures"])
    if not settings.get("measures", True):
        del settings["measures"]
    experiment: Experiment = builder.checked((), lambda: Experiment(**settings), TOP)
    names = (*dict.fromkeys(builder.named), *dict.fromkeys(models_with_code(top[SYSTEMS_KEY])))
    return experiment, NamedCode(toml_file.source, names)


def _check_top_level(toml_file: TomlFile) -> None:
    for key, value in toml_file.values.items():
        if key == SYSTEMS_KEY:
            continue
        if key not in TOP:
            raise toml_file.unknown((key,), "unknown key", key, [*TOP, SYSTEMS_KEY])
        words, fits = takes(TOP[key])
        if not fits(value):
            raise toml_file.error((key,), f"{key} is not {words}", f"write {words}")
    systems = toml_file.values.get(SYSTEMS_KEY)
    if not isinstance(systems, dict) or not systems:
        raise toml_file.error((SYSTEMS_KEY,), "the file has no system", 'write a table [systems.bm25] with stage = "bm25"')


def _build_systems(toml_file: TomlFile, builder: Builder) -> Mapping[str, Stage]:
    """Every system but the hidden ones, which are read and checked as well."""
    tables = toml_file.values[SYSTEMS_KEY]
    stages = {name: builder.stage(name, (SYSTEMS_KEY, name)) for name in tables}
    for name in tables:
        if not isinstance(tables[name].get("hidden", False), bool):
            raise toml_file.error((SYSTEMS_KEY, name, "hidden"), "hidden is not true or false", "write true or false")
        if not name:
            raise toml_file.error((SYSTEMS_KEY, name), "a system has no name", "name it, as in [systems.bm25]")
    shown = {name: stage for name, stage in stages.items() if not tables[name].get("hidden")}
    if not shown:
        raise toml_file.error((SYSTEMS_KEY,), "every system is hidden", "remove `hidden` from at least one system")
    return shown


def _system_costs(toml_file: TomlFile) -> dict[str, float]:
    """The cost of each shown system that has one."""
    costs = {}
    for name, table in toml_file.values[SYSTEMS_KEY].items():
        if (cost := table.get("cost")) is None:
            continue
        if isinstance(cost, bool) or not isinstance(cost, int | float) or not 0 <= cost < math.inf:
            raise toml_file.error(
                (SYSTEMS_KEY, name, "cost"), "cost is not a number of at least 0", "write a number, such as 1.4"
            )
        if not table.get("hidden"):
            costs[name] = float(cost)
    return costs


def _dataset_path(toml_file: TomlFile, name: str) -> str:
    """The absolute path of the dataset, or its name if it is not a path."""
    if name == SAMPLE or is_irds_name(name):
        return name
    if name.startswith(PYTHON_PREFIX):
        raise toml_file.error(("dataset",), "the dataset was made in Python and has no path", 'specify a folder, or "sample"')
    path = absolute_path(name, toml_file.folder)
    if not name or "\0" in name or not os.path.exists(path):
        pattern = is_pattern(path)
        fix = DATASET_PATTERN_FIX if pattern else 'specify a folder (relative to this file), or "sample" for the built-in dataset'
        raise toml_file.error(("dataset",), f"dataset not found: {name}", fix)
    return path


def _qrels_paths(toml_file: TomlFile, names: str | list[str]) -> list[str]:
    """The absolute paths of the files of judgements."""
    paths = []
    for name in [names] if isinstance(names, str) else names:
        if name.startswith(PYTHON_PREFIX):
            raise toml_file.error(
                ("qrels",), "these judgements were made in Python and have no path", "specify a file of judgements"
            )
        path = absolute_path(name, toml_file.folder)
        if not name or "\0" in name or not os.path.exists(path):
            raise toml_file.error(
                ("qrels",), f"file of judgements not found: {for_message(name)}", "specify a path relative to this file"
            )
        paths.append(path)
    return paths
