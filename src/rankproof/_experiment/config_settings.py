"""The keys of an experiment file and what each takes, derived from the dataclass fields of stages, scorers and experiments."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, get_origin

from rankproof._experiment.experiment import Experiment
from rankproof._registry import Option, Setting, settings_of
from rankproof.models._base import CrossEncoderModel, EncoderModel
from rankproof.models._chat.base import ChatModel
from rankproof.stages._base import Scorer, Stage
from rankproof.stores._base import Store

PartKind = Literal["encoder", "cross-encoder", "chat", "store"]
Takes = tuple[str, Callable[[Any], bool]]
"""The words for what a key takes, and whether a value fits."""
_PARTS: Mapping[Any, PartKind] = {EncoderModel: "encoder", CrossEncoderModel: "cross-encoder", ChatModel: "chat", Store: "store"}


@dataclass(frozen=True, slots=True)
class SystemTable:
    """The keys of every system."""

    stage: Annotated[str, Option("the kind of system")]
    hidden: Annotated[bool, Option("true for a system that is only an input of others, without results (default: false)")] = False
    cost: Annotated[
        float | None, Option("what the system costs, in any unit (default: the price of its LLM calls, else its latency)")
    ] = None


def keys_of(part: Any) -> dict[str, Setting]:
    """The settings of a part by their keys."""
    return {setting.key: setting for setting in settings_of(part)}


EVERY: Mapping[str, Setting] = keys_of(SystemTable)
_TOP = keys_of(Experiment)
TOP: Mapping[str, Setting] = {"name": _TOP["name"], **{key: _TOP[key] for key in _TOP if key not in ("systems", "costs")}}


def part_kind(setting: Setting) -> PartKind | None:
    """Which kind of model or store a setting takes, None for any other setting."""
    return _PARTS.get(setting.type)


def is_system(setting: Setting) -> bool:
    """Whether a setting takes another system."""
    return isinstance(setting.type, type) and all(hasattr(setting.type, name) for name in ("inputs", "build"))


def is_systems(setting: Setting) -> bool:
    """Whether a setting takes several other systems."""
    return bool(setting.type == tuple[Stage, ...])


def is_scorer(setting: Setting) -> bool:
    """Whether a setting takes a scorer, whose settings are in the same table."""
    return setting.type is Scorer


def takes(setting: Setting) -> Takes:
    """What a key takes; a type without a TOML form takes anything, and the part checks it."""
    if part_kind(setting):
        return 'a name, or a table like {name = "…"}', _is_named
    if is_system(setting):
        return "the name of a system", _is_text
    if is_systems(setting):
        return "a list of system names", _all(_is_text)
    if is_scorer(setting):
        return "a name", _is_text
    is_choice = get_origin(setting.typed) is Literal
    return _PLAIN.get(str if is_choice else setting.typed, ("a value", lambda value: True))


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_named(value: Any) -> bool:
    """A name, or a table with a name and settings."""
    return _is_text(value) or (isinstance(value, dict) and _is_text(value.get("name")))


def _is_grade_map(value: Any) -> bool:
    return isinstance(value, dict) and all(isinstance(grade, int) and not isinstance(grade, bool) for grade in value.values())


def _all(check: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, list) and all(map(check, value))


_PLAIN: Mapping[Any, Takes] = {
    str: ("text", _is_text),
    float: ("a number", _is_number),
    int: ("a whole number", lambda value: _is_number(value) and isinstance(value, int)),
    bool: ("true or false", lambda value: isinstance(value, bool)),
    tuple[str, ...]: ("a list of strings", _all(_is_text)),
    str | tuple[str, ...]: ("text, or a list of strings", lambda value: _is_text(value) or _all(_is_text)(value)),
    dict[str, int]: ("a table of labels and whole numbers, like {E = 3, S = 2}", _is_grade_map),
    Mapping[str, Any]: ("a table", lambda value: isinstance(value, dict)),
    tuple[float, ...]: ("a list of numbers", _all(_is_number)),
    tuple[tuple[float, ...], ...]: ("a list of lists of numbers", _all(_all(_is_number))),
    bool | tuple[str, ...]: (
        "true, false, or a list of words",
        lambda value: isinstance(value, bool) or _all(_is_text)(value),
    ),
}
