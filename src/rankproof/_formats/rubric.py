"""Rubric files in TOML, and the rubrics of this package."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import fields
from importlib.resources import as_file, files
from typing import Any, get_args

from rankproof._data.claims import Rubric, RubricExample, Seen
from rankproof._io.toml_file import TomlFile, read_toml
from rankproof.errors import InputError, UsageError, for_message

_END = ".toml"
_NAME = re.compile(r"[A-Za-z0-9_-]+")
_MOST_GRADES = 11
_KEYS = tuple(field.name for field in fields(Rubric) if field.name != "name")
_EXAMPLE_KEYS = tuple(field.name for field in fields(RubricExample))


_PLACE: ContextVar[Callable[[str], str]] = ContextVar("place", default=str)


@contextmanager
def placed_rubrics(place: Callable[[str], str]) -> Iterator[None]:
    """Within it, files of rubrics are those at the paths that `place` gives for their names."""
    token = _PLACE.set(place)
    try:
        yield
    finally:
        _PLACE.reset(token)


def read_rubric(source: str) -> Rubric:
    """The rubric of a file NAME.toml, or one of this package by its name alone."""
    if source.endswith(_END):
        return _rubric(read_toml(_PLACE.get()(source)), rubric_name(source))
    if source not in builtin_rubrics():
        known = ", ".join(builtin_rubrics())
        raise UsageError(f"no rubric is called {for_message(source)}", fix=f"name a file such as tone.toml, or one of {known}")
    with as_file(files("rankproof.measures").joinpath(f"rubrics/{source}{_END}")) as path:
        return _rubric(read_toml(path), source)


def rubric_name(source: str) -> str:
    """The name of the rubric in a file."""
    name = os.path.basename(source).removesuffix(_END)
    if not _NAME.fullmatch(name):
        raise UsageError(f"a rubric cannot be called {for_message(name)}", fix="name the file with letters, digits, - and _")
    return name


def builtin_rubrics() -> tuple[str, ...]:
    """The names of the rubrics of this package."""
    entries = files("rankproof.measures").joinpath("rubrics").iterdir()
    return tuple(sorted(entry.name.removesuffix(_END) for entry in entries if entry.name.endswith(_END)))


def _rubric(file: TomlFile, name: str) -> Rubric:
    for key in file.values:
        if key not in _KEYS:
            raise file.unknown((key,), "there is no key", key, _KEYS)
    return Rubric(
        name,
        _line(file, ("question",)),
        _grades(file),
        _sees(file),
        tuple(_texts(file, ("steps",))),
        tuple(_example(file, at, _grades(file)) for at in range(len(_list(file, ("examples",))))),
    )


def _grades(file: TomlFile) -> dict[int, str]:
    table = file.values.get("grades")
    if not isinstance(table, Mapping) or not 2 <= len(table) <= _MOST_GRADES:
        fix = 'write [grades], then a line for each grade such as 0 = "rude"'
        raise file.error(("grades",), f"a rubric has 2 to {_MOST_GRADES} grades", fix)
    if not all(key.isdecimal() for key in table):
        raise file.error(("grades",), "a grade is not a whole number of at least 0", 'write 0 = "rude", 1 = "plain"')
    return {int(key): _line(file, ("grades", key)) for key in sorted(table, key=int)}


def _sees(file: TomlFile) -> tuple[Seen, ...]:
    names = _texts(file, ("sees",)) if "sees" in file.values else ["question"]
    for name in names:
        if name not in get_args(Seen):
            raise file.unknown(("sees",), "a judge cannot see", name, get_args(Seen))
    return tuple(seen for seen in get_args(Seen) if seen in names)


def _example(file: TomlFile, at: int, grades: Mapping[int, str]) -> RubricExample:
    values = _list(file, ("examples",))[at]
    wrong = not isinstance(values, Mapping) or not {*values} <= {*_EXAMPLE_KEYS} or values.get("grade") not in grades
    texts = {} if wrong else {key: values[key] for key in values if key != "grade"}
    if wrong or not all(isinstance(text, str) and text.strip() for text in texts.values()) or "answer" not in texts:
        fix = 'write answer = "…" and grade = 1, and if you like question and reason'
        raise file.error(("examples",), f"example {at + 1} is no answer with a grade of the scale", fix)
    return RubricExample(grade=values["grade"], **texts)


def _list(file: TomlFile, path: tuple[str, ...]) -> list[Any]:
    value = file.values.get(path[0], [])
    if not isinstance(value, list):
        raise file.error(path, f"{path[0]} is not a list", "write it in brackets")
    return value


def _texts(file: TomlFile, path: tuple[str, ...]) -> list[str]:
    values = _list(file, path)
    if not all(isinstance(value, str) and value.strip() for value in values):
        raise file.error(path, f"{path[0]} has an item that is not text", "write each item in quotes")
    return [value.strip() for value in values]


def _line(file: TomlFile, path: tuple[str, ...]) -> str:
    value: Any = file.values
    for key in path:
        value = value.get(key)
    if not isinstance(value, str) or not value.strip():
        raise _missing_text(file, path)
    return " ".join(value.split())


def _missing_text(file: TomlFile, path: tuple[str, ...]) -> InputError:
    return file.error(path, f"{' '.join(path)} has no text", "write a sentence in quotes")
