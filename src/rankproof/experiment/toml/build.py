"""Systems of an experiment file as stages: each name looked up, each value built once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields
from functools import partial
from typing import Any, cast

from ...errors import UsageError, shown
from ...stages.base import Stage
from ...stores.dsn import masked
from ..extent import FIX, MOST_LEVELS, parts_of
from .keys import EVERY, RESCORERS, STAGES, Form, Key, made_of
from .kinds import KINDS, is_part
from .lines import KeyPath
from .page import Page
from .parts import named_part

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
        form = self._form((*path, "stage"), table.get("stage"), "stage", STAGES)
        given = {key: value for key, value in table.items() if key not in EVERY}
        if "by" not in form.keys:
            return cast(Stage, self._value(form, path, given))
        return self._rerank(form, path, given)

    def _rerank(self, form: Form, path: KeyPath, given: Mapping[str, Any]) -> Stage:
        """What reorders and what scores stand in one table; each takes the keys that are its own."""
        by = self._form((*path, "by"), given.get("by"), "way to rerank", RESCORERS)
        self._refuse_unknown({**form.keys, **by.keys}, path, given)
        scorer = self._value(by, path, {key: value for key, value in given.items() if key in by.keys})
        own = {key: value for key, value in given.items() if key in form.keys}
        return cast(Stage, self._value(form, path, own | {"by": scorer}))

    def _form(self, path: KeyPath, name: Any, what: str, forms: Mapping[str, Form]) -> Form:
        if name is None:
            raise self._page.error(path, f"{path[-1]} is missing", f'write {path[-1]} = "{next(iter(forms))}"')
        if not isinstance(name, str):
            raise self._page.error(path, f"{path[-1]} is no text", f"choose from {', '.join(forms)}")
        if name not in forms:
            raise self._page.unknown(path, f"no {what} is called", name, forms)
        return forms[name]

    def _value(self, form: Form, path: KeyPath, given: Mapping[str, Any]) -> Any:
        self._refuse_unknown(form.keys, path, given)
        parts = {form.keys[key].part or key: self._part(form.keys[key], (*path, key), value) for key, value in given.items()}
        self._refuse_missing(form, path, given)
        return self.checked(path, lambda: made_of(form)(**parts), form.keys)

    def _part(self, key: Key, path: KeyPath, value: Any) -> Any:
        words, fits = KINDS[key.kind]
        if key.kind == "rescorer":
            return value
        if not fits(value):
            raise self._page.error(path, f"{path[-1]} is {_kind(value)}", f"write {words}")
        if key.kind == "system":
            return self.stage(value, path)
        if key.kind == "systems":
            return tuple(self.stage(name, (*path, at)) for at, name in enumerate(value))
        if is_part(key.kind):
            return self.checked(path, partial(named_part, key.kind, value, self._page.folder))
        return tuple(value) if isinstance(value, list) else value

    def checked(self, path: KeyPath, make: Callable[[], Any], keys: Mapping[str, Key] | None = None) -> Any:
        """What `make` gives; its refusal is told at the line of the key that it speaks of, else of the path."""
        try:
            return make()
        except UsageError as error:
            key, what = self._spoken_of(error.what, path, keys or {})
            raise self._page.error((*path, *key), masked(what, ()), error.fix) from None
        except TypeError as error:
            raise self._page.error(path, f"a setting does not fit ({error})", "see docs/experiments.md") from None

    def _spoken_of(self, what: str, path: KeyPath, keys: Mapping[str, Key]) -> tuple[list[str], str]:
        """The key whose part a message begins with, or whose value it shows, and the message with that key's name."""
        table = self._page.inside(path) if keys else {}
        for name, key in keys.items():
            part = key.part or name
            if what.startswith(f"{part} "):
                return [name], name + what.removeprefix(part)
        shows = [name for name in keys if isinstance(table.get(name), str) and table[name] and shown(table[name]) in what]
        return shows[:1], what

    def _refuse_unknown(self, keys: Mapping[str, Key], path: KeyPath, given: Mapping[str, Any]) -> None:
        for key in given:
            if key not in keys:
                raise self._page.unknown((*path, key), "unknown key", key, [*EVERY, *keys])

    def _refuse_missing(self, form: Form, path: KeyPath, given: Mapping[str, Any]) -> None:
        needed = {part.name for part in fields(made_of(form)) if part.default is MISSING and part.default_factory is MISSING}
        for name, key in form.keys.items():
            if (key.part or name) in needed and name not in given:
                raise self._page.error(path, f"{name} is missing", f"name {key.about}")


def _kind(value: Any) -> str:
    """What a value of TOML is called."""
    kinds = {str: "text", bool: "true or false", int: "a number", float: "a number", list: "a list", dict: "a table"}
    return kinds.get(type(value), "a date or time")
