"""The parts of an HTTP request: tables of settings, presets, placeholders, environment variables, escaping of queries."""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any
from urllib.parse import quote

from rankproof.errors import UsageError, closest_name, for_message, type_phrase


def checked_table(name: str, value: Any) -> dict[str, Any]:
    """A copy of a table of text, numbers, booleans, lists and tables; anything else is an error."""
    if not isinstance(value, Mapping):
        raise UsageError(f"{name} is {type_phrase(value)}", fix=f'give a table, such as {name} = {{key = "value"}}')
    return {key: _checked_json(name, key, one) for key, one in value.items()}


def _checked_json(name: str, key: Any, value: Any) -> Any:
    if not isinstance(key, str):
        raise UsageError(f"{name} has the key {for_message(repr(key))}", fix="use text for keys")
    if isinstance(value, Mapping):
        return {inner: _checked_json(name, inner, one) for inner, one in value.items()}
    if isinstance(value, list | tuple):
        return [_checked_json(name, key, one) for one in value]
    if not isinstance(value, str | int | float):
        fix = "use text, numbers, booleans, lists and tables"
        raise UsageError(f"{name} has {type_phrase(value)} at {for_message(key)}", fix=fix)
    return value


Escape = Callable[[str], str]
_LUCENE_SYNTAX = re.compile(r'[+\-=&|!(){}\[\]^"~*?:\\/]')
_LUCENE_OPERATOR = re.compile(r"\b(?:AND|OR|NOT)\b")
_WORD = re.compile(r"\w+")
_QUOTE_OR_MINUS = re.compile(r'"|(?<!\S)-+')


def _lucene(query: str) -> str:
    """The query with Lucene's syntax escaped; < and > cannot be escaped and are left out."""
    plain = _LUCENE_SYNTAX.sub(r"\\\g<0>", re.sub("[<>]", " ", query))
    return _LUCENE_OPERATOR.sub(r"\\\g<0>", plain)


def _groonga(query: str) -> str:
    """The words of the query, joined by OR: without it a document must have all of them."""
    return " OR ".join(f'"{word}"' for word in _WORD.findall(query))


ESCAPES: Mapping[str, Escape] = {
    "none": lambda query: query,
    "lucene": _lucene,
    "graphql": lambda query: json.dumps(query, ensure_ascii=False)[1:-1],
    "groonga": _groonga,
    "plain": lambda query: _QUOTE_OR_MINUS.sub(" ", query),
    "words": lambda query: " ".join(_WORD.findall(query)),
}
"""How a query is written: plain removes quotes and leading minus signs, words keeps letters, digits and underscores."""

_PRESETS_FILE = "presets.toml"


@dataclass(frozen=True, slots=True)
class Preset:
    """The request and reply of one engine, as data.

    `settings` are settings of `stage = "http"`; `required` has an example of each value that the user gives; `login` the settings
    for a server with a login; `tested` the server that the tests run, "" for none.
    """

    name: str
    summary: str
    source: str
    settings: Mapping[str, Any]
    required: Mapping[str, Any]
    login: Mapping[str, Any]
    tested: str

    @property
    def needs_vector(self) -> bool:
        """Whether the request has the vector of the query."""
        return "vector" in placeholders(self.settings)


_ABOUT = ("summary", "source", "required", "login", "tested", "like")


@cache
def presets() -> Mapping[str, Preset]:
    """Every preset by name, in the order of the file."""
    tables = tomllib.loads(files(__package__).joinpath(_PRESETS_FILE).read_text(encoding="utf-8"))
    return {name: _preset(name, _inherited(tables, name)) for name in tables}


def _inherited(tables: Mapping[str, Any], name: str) -> dict[str, Any]:
    """The table of a preset over the one that it is like."""
    own = tables[name]
    return {**_inherited(tables, own["like"]), **own} if "like" in own else dict(own)


def _preset(name: str, table: Mapping[str, Any]) -> Preset:
    settings = {key: value for key, value in table.items() if key not in _ABOUT}
    about = {key: table.get(key, {}) for key in ("required", "login")}
    return Preset(name, table["summary"], table["source"], settings, **about, tested=table.get("tested", ""))


def preset_named(name: str) -> Preset:
    """The preset of that name; an unknown name is rejected with the known ones."""
    if name not in presets():
        near = closest_name(name, presets())
        fix = f"did you mean {near}?" if near else f"choose from {', '.join(presets())}"
        raise UsageError(f"no preset is called {for_message(name)}", fix=fix)
    return presets()[name]


PER_QUERY = ("query", "size", "vector")
"""The placeholders that each query fills; all others are filled by `values`."""
_NAME = re.compile(r"\{([a-z][a-z0-9_]*)\}")
VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_EITHER = re.compile(rf"{VARIABLE.pattern}|{_NAME.pattern}")


def placeholders(template: Any) -> set[str]:
    """The names of all placeholders in a template, keys included."""
    return {name for text in _texts(template) for name in _NAME.findall(text)}


def variables(template: Any) -> set[str]:
    """The names of all environment variables in a template."""
    return {name for text in _texts(template) for name in VARIABLE.findall(text)}


def _texts(template: Any) -> Iterator[str]:
    if isinstance(template, str):
        yield template
    elif isinstance(template, Mapping):
        for key, value in template.items():
            yield from (key, *_texts(value))
    elif isinstance(template, Sequence):
        for value in template:
            yield from _texts(value)


@dataclass(frozen=True, slots=True)
class Filler:
    """Fills templates with values and environment variables, in one pass: what was filled in is not read again."""

    values: Mapping[str, Any]
    environment: Mapping[str, str] = field(repr=False)

    def json(self, template: Any) -> Any:
        """The template; a text that is one placeholder becomes the value itself, so "{size}" becomes a number."""
        if isinstance(template, str):
            whole = _NAME.fullmatch(template)
            return self.values[whole[1]] if whole else self.text(template)
        if isinstance(template, Mapping):
            return {self.text(key): self.json(value) for key, value in template.items()}
        if isinstance(template, Sequence):
            return [self.json(value) for value in template]
        return template

    def text(self, template: str, written: Callable[[str], str] = str) -> str:
        """The template; each value is written by the function."""
        return _EITHER.sub(lambda found: written(self._value(found)), template)

    def url(self, template: str) -> str:
        """The template with values percent-encoded, but for one at its start, which is an address."""
        first = _EITHER.match(template)
        start = self._value(first).rstrip("/") if first else ""
        return start + self.text(template[first.end() if first else 0 :], lambda value: quote(value, safe=""))

    def _value(self, found: re.Match[str]) -> str:
        variable, name = found.groups()
        return self.environment[variable] if variable else _as_text(self.values[name])


def _as_text(value: Any) -> str:
    """A value inside a longer text: a list of texts joined by commas, any other as JSON."""
    if isinstance(value, str):
        return value
    if isinstance(value, list | tuple) and all(isinstance(one, str) for one in value):
        return ",".join(value)
    return json.dumps(value, separators=(",", ":"))


_PRINTABLE = re.compile(r"[ -~]+")


def read_environment(names: Sequence[str]) -> dict[str, str]:
    """The values of environment variables; one that is not set or that a request cannot hold is an error, without its value."""
    for name in names:
        if not os.environ.get(name):
            raise UsageError(f"the environment variable {name} is not set", fix=f"set it: export {name}=…")
        if not _PRINTABLE.fullmatch(os.environ[name]):
            what = f"the environment variable {name} contains characters that a request cannot have"
            raise UsageError(what, fix="set it to the key only, in ASCII and without line breaks")
    return {name: os.environ[name] for name in names}
