"""The keys of an experiment file and what each takes; models and stores as a name or a table with settings."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, Literal, get_origin

from rankproof._experiment.experiment import Experiment
from rankproof._io.strict_json import fits
from rankproof._registry import Option, Setting, settings_of
from rankproof._results.result_json import PYTHON_PREFIX
from rankproof.errors import UsageError, for_message
from rankproof.models import _registry as models
from rankproof.models._base import CrossEncoderModel, EncoderModel
from rankproof.models._chat.base import ChatModel
from rankproof.models._download.hub import is_hub_name
from rankproof.stages._base import Scorer, Stage
from rankproof.stores._base import Store
from rankproof.stores._registry import STORES, store_by_name

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
    """The settings of a part by their keys; its own parameters are keys of the same table."""
    return {setting.key: setting for setting in settings_of(part) if setting.option.role != "parameters"}


def parameter_keys(part: Any, table: Mapping[str, Any]) -> dict[str, Setting]:
    """The parameters that the methods and normalisations of a table declare themselves, by their keys."""
    return {setting.key: setting for setting in part.parameter_settings(table)} if hasattr(part, "parameter_settings") else {}


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
        return "the name of a system", partial(fits, str)
    if is_systems(setting):
        return "a list of system names", partial(fits, tuple[str, ...])
    if is_scorer(setting):
        return "a name", partial(fits, str)
    kind = str if get_origin(setting.typed) is Literal else setting.typed
    return (_TYPE_WORDS[kind], partial(fits, kind)) if kind in _TYPE_WORDS else ("a value", lambda value: True)


def _is_named(value: Any) -> bool:
    """A name, or a table with a name and settings."""
    return isinstance(value, str) or (isinstance(value, dict) and isinstance(value.get("name"), str))


_TYPE_WORDS: Mapping[Any, str] = {
    str: "text",
    float: "a number",
    int: "a whole number",
    bool: "true or false",
    tuple[str, ...]: "a list of strings",
    str | tuple[str, ...]: "text, or a list of strings",
    dict[str, int]: "a table of labels and whole numbers, like {E = 3, S = 2}",
    Mapping[str, Any]: "a table",
    tuple[float, ...]: "a list of numbers",
    tuple[tuple[float, ...], ...]: "a list of lists of numbers",
    bool | tuple[str, ...]: "true, false, or a list of words",
}


_PATH_STARTS = ("./", "../", "/", "~", ".\\", "..\\")
_HOST = r"(?:[\w.-]*|\[[0-9A-Fa-f:]+\])"
_SAFE_ADDRESS = re.compile(rf"postgres(?:ql)?://(?:[\w.-]+@)?{_HOST}(?::\d+)?(?:/[\w.-]*)?", re.ASCII)
_SAFE_PAIRS = re.compile(r"(?:(?:host|port|dbname|user)=[\w./-]+(?: +|$))+", re.ASCII)


def part_by_name(kind: PartKind, value: str | Mapping[str, Any], folder: str) -> Any:
    """The model or store of a name or table; relative paths start at the folder."""
    table = {"name": value} if isinstance(value, str) else dict(value)
    name = table.pop("name")
    if kind == "store":
        part = STORES.load(name) if name in STORES else None
        return store_by_name(name, **_located(part, table, folder))
    name = name if kind == "chat" else _resolve_model_name(kind, name, folder)
    registered = models.find(kind, name)
    settings = _located(registered[0] if registered else None, table, folder)
    named = {"encoder": models.encoder_by_name, "cross-encoder": models.cross_encoder_by_name, "chat": models.chat_model_by_name}
    return named[kind](name, **settings)


def part_table(kind: PartKind, value: Any) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The table of a model or store, with remarks on what is left out."""
    name, source = (STORES.name_of(type(value)), "") if kind == "store" else models.written_name(kind, value) or (None, "")
    if name is None:
        return {"name": f"{PYTHON_PREFIX}{type(value).__name__}"}, ("this was made in Python and has no name in a file",)
    table: dict[str, Any] = {"name": name}
    remarks: list[str] = []
    for setting in settings_of(type(value)):
        setting_value = getattr(value, setting.field)
        if setting.field == source:
            table["name"] += _absolute_source(setting_value)
        elif setting.option.role == "secret" and _may_hold_password(setting_value):
            key = setting.key
            remarks.append(f"{key} may hold a password and is left out; specify the variable that holds it in {key}_env")
        elif setting_value is not None and not (setting_value == "" and setting.default == ""):
            table[setting.key] = _absolute_source(setting_value) if setting.option.role == "source" else setting_value
    return table, tuple(remarks)


def _located(part: Any, table: Mapping[str, Any], folder: str) -> dict[str, Any]:
    """The settings with paths and sources relative to the folder of the experiment file made absolute."""
    roles = {setting.key: setting.option.role for setting in settings_of(part)} if isinstance(part, type) else {}
    settings = dict(table)
    for key, value in table.items():
        if isinstance(value, str) and value and roles.get(key) in ("path", "source"):
            settings[key] = absolute_path(value, folder) if roles[key] == "path" else _resolve_weights(value, folder)
    return settings


def absolute_path(path: str, folder: str) -> str:
    """The absolute path; a relative path starts at the folder."""
    return os.path.abspath(os.path.join(folder, os.path.expanduser(path)))


def _resolve_model_name(kind: models.ModelKind, name: str, folder: str) -> str:
    """The name, or the absolute path of the folder of weights that it names."""
    prefix = models.source_prefix(kind, name)
    source = name.removeprefix(prefix)
    if not source.strip():
        return name
    path = absolute_path(source, folder)
    if source.startswith(_PATH_STARTS) and not os.path.isdir(path):
        raise UsageError(f"folder not found: {for_message(source)}", fix="specify a folder with weights, relative to this file")
    if name in models.MODELS[kind] or not os.path.isdir(path):
        _check_source(kind, name)
        return name
    return f"{prefix}{path}"


def _resolve_weights(source: str, folder: str) -> str:
    """The absolute path of the folder of weights, or the hub name."""
    path = absolute_path(source, folder)
    if os.path.isdir(path):
        return path
    if source.startswith(_PATH_STARTS) or not is_hub_name(source):
        raise UsageError(
            f"folder not found: {for_message(source)}", fix="specify a folder, relative to this file, or ORGANISATION/MODEL"
        )
    return source


def _check_source(kind: models.ModelKind, name: str) -> None:
    """Refuses a name with a slash that is neither a folder nor a hub name."""
    if "/" in name and name not in models.MODELS[kind] and not is_hub_name(name.removeprefix(models.source_prefix(kind, name))):
        what = f"{for_message(name)} is neither a folder nor a hub name"
        raise UsageError(what, fix="specify a folder, relative to this file, or ORGANISATION/MODEL")


def _absolute_source(source: str) -> str:
    """The absolute path of a folder, or the hub name."""
    return absolute_path(source, "") if os.path.isdir(os.path.expanduser(source)) else source


def _may_hold_password(dsn: Any) -> bool:
    """Whether it has more than user, host, port and database in plain letters."""
    return isinstance(dsn, str) and bool(dsn) and not (_SAFE_ADDRESS.fullmatch(dsn) or _SAFE_PAIRS.fullmatch(dsn))
