"""The tools for agents: public functions, whose arguments are made from their Options, and the folders that they may use."""

from __future__ import annotations

import inspect
import os
import stat
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from importlib import import_module
from typing import Any

from rankproof._data.view import Viewed
from rankproof._formats.rubric import placed_rubrics
from rankproof._io.option_schema import JsonSchema, OptionRecord, option_records
from rankproof._io.paths import cache_home, is_pattern, is_possible_path
from rankproof._registry import Setting, arguments_of
from rankproof.errors import InputError, UsageError, closest_name, for_message, type_phrase


class Folders:
    """The named folders; a relative path is below the first of them."""

    def __init__(self, paths: Sequence[str]) -> None:
        for path in paths:
            if not os.path.isdir(path):
                raise InputError("is not a folder", fix="name folders that exist", source=for_message(path))
        self.roots = tuple(os.path.realpath(path) for path in paths)

    def readable(self, name: str, path: object) -> str:
        """The real path of a file or folder to read; nothing in the folder leads out of the named folders."""
        real = self._inside(name, path)
        if is_pattern(real):
            raise UsageError(f"{name}: {for_message(str(path))} is a pattern", fix="name each file")
        if os.path.isdir(real):
            for entry in _entries(real):
                self._check_link(name, entry)
        elif os.path.exists(real) and not stat.S_ISREG(os.stat(real).st_mode):
            raise UsageError(f"{name}: {for_message(str(path))} is not a plain file", fix="name a file or a folder")
        return real

    def writable(self, name: str, path: object) -> str:
        """The real path of a file to write; its folder is there."""
        real = self._inside(name, path)
        if os.path.lexists(real) and not stat.S_ISREG(os.lstat(real).st_mode):
            raise UsageError(f"{name}: {for_message(str(path))} is not a plain file", fix="name a new file, or one to replace")
        if not os.path.isdir(os.path.dirname(real)):
            raise UsageError(
                f"{name}: {for_message(str(path))} is in a folder that does not exist", fix="name a folder that does"
            )
        return real

    def _inside(self, name: str, path: object) -> str:
        if not isinstance(path, str):
            raise UsageError(f"{name} cannot be {type_phrase(path)}", fix="pass a path")
        if not path or not is_possible_path(path) or ".." in path.replace("\\", "/").split("/"):
            raise UsageError(f"{name}: {for_message(path)!r} is not allowed", fix="pass a path without .., NUL and surrogates")
        real = os.path.realpath(os.path.join(self.roots[0], path))
        if not self._holds(real):
            allowed = ", ".join(map(for_message, self.roots))
            raise UsageError(f"{name}: {for_message(path)} is outside the folders of this server", fix=f"allowed are {allowed}")
        return real

    def _check_link(self, name: str, entry: str) -> None:
        if os.path.islink(entry) and not self._holds(os.path.realpath(entry)):
            raise UsageError(f"{name}: {for_message(entry)} is a link out of the folders of this server", fix="remove the link")

    def _holds(self, real: str) -> bool:
        return any(os.path.commonpath((root, real)) == root for root in self.roots)


def _entries(folder: str) -> Iterator[str]:
    """What a folder contains at any depth, and the files beside it that begin with its name, such as labels."""
    for place, folders, files in os.walk(folder):
        yield from (os.path.join(place, name) for name in (*folders, *files))
    beside, start = os.path.split(folder)
    with os.scandir(beside) as siblings:
        yield from (sibling.path for sibling in siblings if sibling.name.startswith(f"{start}."))


FREE_JUDGES = ("overlap", "wordllama", "minilm")
"""Judges of claims that run on this machine without a server."""


@dataclass(frozen=True, slots=True)
class Access:
    """What tools may do: the folders they use, whether they write, the judges they ask, and the budget of a call."""

    folders: Folders
    writes: bool = False
    judges: Collection[str] = ()
    budget: str | None = None
    all_options: bool = False


@dataclass(frozen=True)
class AgentTool:
    """A tool: its name, which is that of the command, and the public function that it calls."""

    name: str
    target: str
    left_out: Collection[str] = ()

    @cached_property
    def function(self) -> Callable[..., Viewed]:
        """The function, with checked arguments."""
        module, _, name = self.target.partition(":")
        function: Callable[..., Viewed] = getattr(import_module(module), name)
        return function

    @cached_property
    def settings(self) -> Mapping[str, Setting]:
        """The parameters of the function by name."""
        return arguments_of(self.function)

    @property
    def description(self) -> str:
        """What the function does, in the words of its docstring."""
        return (inspect.getdoc(self.function) or "").partition("\n\nParameters:")[0].partition("\n\n>>> ")[0]

    def writes(self, access: Access) -> bool:
        """Whether the tool can write a file."""
        return any(self.settings[record.name].option.role == "output" for record in self.records(access))

    def records(self, access: Access) -> Iterator[OptionRecord]:
        """The options that the tool offers: those that JSON can hold, rare ones only on request, and files if it may write."""
        for record in option_records(self.function):
            is_allowed = access.writes or self.settings[record.name].option.role != "output"
            is_shown = access.all_options or not record.rare
            if record.type and is_allowed and is_shown and record.name not in self.left_out:
                yield record

    def schema(self, access: Access) -> JsonSchema:
        """The arguments of the tool as JSON Schema."""
        records = list(self.records(access))
        return {
            "type": "object",
            "properties": {record.name: record.schema for record in records},
            "required": [record.name for record in records if record.required],
            "additionalProperties": False,
        }

    def call(self, arguments: Mapping[str, Any], access: Access) -> Viewed:
        """The value of the function for these arguments, after every path and every judge was checked."""
        known = {record.name: record for record in self.records(access)}
        for name, value in arguments.items():
            _check_argument(self.name, name, value, known)
        for record in known.values():
            if record.required and record.name not in arguments:
                raise UsageError(f"{self.name} needs {record.name}: {record.about}", fix="pass it")
        placed = {name: self._placed(name, value, access.folders) for name, value in arguments.items()}
        with placed_rubrics(partial(access.folders.readable, "measures")):
            return self.function(**placed, **self._judging(placed, access))

    def _placed(self, name: str, value: Any, folders: Folders) -> Any:
        role = self.settings[name].option.role
        if role not in ("path", "output") or (name, value) == ("dataset", "sample"):
            return value
        place = folders.readable if role == "path" else folders.writable
        if isinstance(value, Mapping):
            return {key: place(name, part) for key, part in value.items()}
        return [place(name, part) for part in value] if isinstance(value, list) else place(name, value)

    def _judging(self, arguments: Mapping[str, Any], access: Access) -> dict[str, Any]:
        """The budget and the cache of judges that cost money; every judge that is named must be allowed."""
        named = list(_judges(arguments))
        allowed = (*FREE_JUDGES, *access.judges)
        for judge in named:
            if judge not in allowed:
                what = f"the judge {for_message(judge)} is not allowed here"
                raise UsageError(what, fix=f"choose among {', '.join(allowed)}, or start the server with it")
        if "judge" not in self.settings or not set(named) - set(FREE_JUDGES):
            return {}
        return {"budget": access.budget, "cache": cache_home()}


def _check_argument(tool: str, name: str, value: Any, known: Mapping[str, OptionRecord]) -> None:
    """Rejects an unknown argument, and a value of another type than the option has."""
    from rankproof._extras import extra

    with extra("mcp"):
        from jsonschema import Draft202012Validator

    if name not in known:
        near = closest_name(name, known)
        fix = f"did you mean {near}?" if near else f"choose among {', '.join(known)}"
        raise UsageError(f"{tool} has no argument {for_message(name)}", fix=fix)
    if not Draft202012Validator(known[name].schema).is_valid(value):
        shown = for_message(repr(value)) if isinstance(value, str | int | float) else type_phrase(value)
        raise UsageError(f"{name} cannot be {shown}", fix=f"pass {known[name].about}")


_MEASURES = ("measures", "primary", "thresholds", "max_drops")


def _judges(arguments: Mapping[str, Any]) -> Iterator[str]:
    """The judges and models that the arguments name, also as parameters of measures."""
    from rankproof.measures._parse import parse_measures

    if isinstance(judge := arguments.get("judge"), str):
        yield judge
    for name in _MEASURES:
        value = arguments.get(name)
        texts = [value] if isinstance(value, str) else list(value or ())
        for measure in parse_measures([text.partition(">=")[0].partition("<=")[0] for text in texts]) if texts else ():
            parameters = measure.parameters()
            yield from (parameters[key] for key in ("judge", "model") if isinstance(parameters.get(key), str))


TOOLS = (
    AgentTool("eval", "rankproof._evaluation.evaluate:evaluate"),
    AgentTool("compare", "rankproof._api.analyses:compare"),
    # Texts and models of their own are for Python; the server sets the budget and the cache.
    AgentTool("answers", "rankproof._api.answers:evaluate_answers", ("contexts", "encode", "model", "budget", "cache")),
    AgentTool("prefer", "rankproof._api.prefer:prefer", ("model", "budget", "cache")),
    AgentTool("explain", "rankproof._api.explain:explain"),
    AgentTool("diagnose", "rankproof._api.analyses:diagnose"),
    AgentTool("segments", "rankproof._api.analyses:segments"),
    AgentTool("gate", "rankproof._api.checks:gate"),
    AgentTool("report", "rankproof._api.output:report"),
)
