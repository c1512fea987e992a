"""Templates with placeholders and environment variables: {query}, {size}, {vector}, ${API_KEY}."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from rankproof.errors import UsageError

_PLACEHOLDER = re.compile(r"\{([a-z][a-z0-9_]*)\}")
VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_VARIABLE_OR_PLACEHOLDER = re.compile(rf"{VARIABLE.pattern}|{_PLACEHOLDER.pattern}")


def placeholders(template: Any) -> set[str]:
    """The names of all placeholders in a template, keys included."""
    return {name for text in _texts(template) for name in _PLACEHOLDER.findall(text)}


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
            whole = _PLACEHOLDER.fullmatch(template)
            return self.values[whole[1]] if whole else self.text(template)
        if isinstance(template, Mapping):
            return {self.text(key): self.json(value) for key, value in template.items()}
        if isinstance(template, Sequence):
            return [self.json(value) for value in template]
        return template

    def text(self, template: str, written: Callable[[str], str] = str) -> str:
        """The template; each value is written by the function."""
        return _VARIABLE_OR_PLACEHOLDER.sub(lambda match: written(self._value(match)), template)

    def url(self, template: str) -> str:
        """The template with values percent-encoded, but for one at its start, which is an address."""
        first = _VARIABLE_OR_PLACEHOLDER.match(template)
        start = self._value(first).rstrip("/") if first else ""
        return start + self.text(template[first.end() if first else 0 :], lambda value: quote(value, safe=""))

    def _value(self, match: re.Match[str]) -> str:
        variable, name = match.groups()
        return self.environment[variable] if variable else _as_text(self.values[name])


def _as_text(value: Any) -> str:
    """A value inside a longer text: a list of texts joined by commas, any other as JSON."""
    if isinstance(value, str):
        return value
    if isinstance(value, list | tuple) and all(isinstance(part, str) for part in value):
        return ",".join(value)
    return json.dumps(value, separators=(",", ":"))


PRINTABLE = re.compile(r"[ -~]+")


def read_environment(names: Sequence[str]) -> dict[str, str]:
    """The values of environment variables; one that is not set or that a request cannot hold is an error, without its value."""
    for name in names:
        if not os.environ.get(name):
            raise UsageError(f"the environment variable {name} is not set", fix=f"set it: export {name}=…")
        if not PRINTABLE.fullmatch(os.environ[name]):
            what = f"the environment variable {name} contains characters that a request cannot have"
            raise UsageError(what, fix="set it to the key only, in ASCII and without line breaks")
    return {name: os.environ[name] for name in names}
