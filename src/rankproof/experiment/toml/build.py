"""Systems of an experiment file as stages: each name looked up, each value built once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from ..._registry import Registry, Setting
from ...errors import UsageError, shown
from ...stages.base import Stage
from ...stages.registry import SCORERS, STAGES
from ...stores.dsn import masked
from ..extent import FIX, MOST_LEVELS, parts_of
from .lines import KeyPath
from .page import Page
from .parts import named_part
from .settings import EVERY, is_scorer, is_system, is_systems, keys_of, part_kind, takes

SYSTEMS = "systems"


class Builder:
    """Builds the stages of one page; `going` holds the names on the way from a system to what it refers to."""

    def __init__(self, page: Page, tables: Mapping[str, Any]) -> None:
        self._page, self._tables = page, tables
        self._built: dict[str, Stage] = {}
        self._going: list[str] = []

    def stage(self, name: str, asked: KeyPath = ()) -> Stage:
        """The stage of that system; `asked` is where the name stands."""
        if name not in self._tables:
            raise self._page.unknown(asked, "no system is called", name, self._tables)
        if name in self._going:
            circle = " -> ".join(map(shown, (*self._going[self._going.index(name) :], name)))
            raise self._page.error(asked, f"systems refer to each other in a circle: {circle}", "break it at one of them")
        if name not in self._built:
            if len(self._going) >= MOST_LEVELS:
                raise self._page.error(asked, f"systems refer to others too deep: more than {MOST_LEVELS} levels", FIX)
            self._going.append(name)
            stage = self._stage_of((SYSTEMS, name), self._tables[name])
            self.checked((SYSTEMS, name), lambda: parts_of(stage, whose=f"system {shown(name)}"))
            self._built[name] = stage
            self._going.pop()
        return self._built[name]

    def _stage_of(self, path: KeyPath, table: Any) -> Stage:
        if not isinstance(table, dict):
            fix = f'write [systems.{shown(str(path[-1]))}] and below it stage = "bm25"'
            raise self._page.error(path, f"{shown(str(path[-1]))} is no system", fix)
        part = self._class((*path, "stage"), table.get("stage"), STAGES)
        given = {key: value for key, value in table.items() if key not in EVERY}
        stage: Stage = self._value(part, path, given)
        return stage

    def _class(self, path: KeyPath, name: Any, registry: Registry[Any]) -> Any:
        """The class of the stage or scorer that a key names."""
        if name is None:
            raise self._page.error(path, f"{path[-1]} is missing", f'write {path[-1]} = "{registry.names()[0]}"')
        if not isinstance(name, str):
            raise self._page.error(path, f"{path[-1]} is not text", f"choose from {', '.join(registry.names())}")
        if name not in registry:
            raise self._page.unknown(path, f"no {registry.kind} is called", name, registry.names())
        return registry.load(name)

    def _value(self, part: Any, path: KeyPath, given: Mapping[str, Any]) -> Any:
        """The part with its settings; the settings of a scorer are in the table of the stage that it belongs to."""
        keys = keys_of(part)
        scorers = {key: self._class((*path, key), given.get(key), SCORERS) for key, one in keys.items() if is_scorer(one)}
        theirs = {key: keys_of(scorer) for key, scorer in scorers.items()}
        self._refuse_unknown([*keys, *(key for each in theirs.values() for key in each)], path, given)
        found = {keys[key].field: self._part(keys[key], (*path, key), given[key]) for key in given if key in keys}
        for key, scorer in scorers.items():
            own = {one: value for one, value in given.items() if one in theirs[key]}
            found[keys[key].field] = self._value(scorer, path, own)
        self._refuse_missing(keys, path, given)
        return self.checked(path, lambda: part(**found), keys)

    def _part(self, setting: Setting, path: KeyPath, value: Any) -> Any:
        words, fits = takes(setting)
        if not fits(value):
            raise self._page.error(path, f"{path[-1]} is {_kind(value)}", f"write {words}")
        if is_system(setting):
            return self.stage(value, path)
        if is_systems(setting):
            return tuple(self.stage(name, (*path, at)) for at, name in enumerate(value))
        if kind := part_kind(setting):
            return self.checked(path, partial(named_part, kind, value, self._page.folder))
        return tuple(value) if isinstance(value, list) else value

    def checked(self, path: KeyPath, make: Callable[[], Any], keys: Mapping[str, Setting] | None = None) -> Any:
        """What `make` gives; its refusal is told at the line of the key that it speaks of, else of the path."""
        try:
            return make()
        except UsageError as error:
            key, what = self._spoken_of(error.what, path, keys or {})
            raise self._page.error((*path, *key), masked(what, ()), error.fix) from None
        except TypeError as error:
            raise self._page.error(path, f"a setting does not fit ({error})", "see docs/experiments.md") from None

    def _spoken_of(self, what: str, path: KeyPath, keys: Mapping[str, Setting]) -> tuple[list[str], str]:
        """The key whose part a message begins with, or whose value it shows, and the message with that key's name."""
        table = self._page.inside(path) if keys else {}
        for name, setting in keys.items():
            if what.startswith(f"{setting.field} "):
                return [name], name + what.removeprefix(setting.field)
        shows = [name for name in keys if isinstance(table.get(name), str) and table[name] and shown(table[name]) in what]
        return shows[:1], what

    def _refuse_unknown(self, keys: Sequence[str], path: KeyPath, given: Mapping[str, Any]) -> None:
        for key in given:
            if key not in keys:
                raise self._page.unknown((*path, key), "unknown key", key, dict.fromkeys([*EVERY, *keys]))

    def _refuse_missing(self, keys: Mapping[str, Setting], path: KeyPath, given: Mapping[str, Any]) -> None:
        for key, setting in keys.items():
            if setting.required and key not in given:
                raise self._page.error(path, f"{key} is missing", f"give {setting.option.description or 'it'}")


def _kind(value: Any) -> str:
    """What a value of TOML is called."""
    kinds = {str: "text", bool: "true or false", int: "a number", float: "a number", list: "a list", dict: "a table"}
    return kinds.get(type(value), "a date or time")
