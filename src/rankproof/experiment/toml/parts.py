"""Models and stores of an experiment file: a name, or a table with a name and settings, for each value and back."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from ...errors import UsageError, shown
from ...models import registry as models
from ...models.sources import is_hub_name
from ...stores import registry as stores
from .kinds import PartName

IN_PYTHON = "python:"
"""What stands before a name of something that was made in Python, and that no file can bring back."""
_PATHS = ("folder", "path")
_SOURCE = "source"
_SECRET = "dsn"
_CLEARLY_A_PATH = ("./", "../", "/", "~", ".\\", "..\\")
_LEFT_OUT = f"{_SECRET} may hold a password and is left out; name the variable that holds it in {_SECRET}_env"
_HOST = r"(?:[\w.-]*|\[[0-9A-Fa-f:]+\])"
_PLAIN_ADDRESS = re.compile(rf"postgres(?:ql)?://(?:[\w.-]+@)?{_HOST}(?::\d+)?(?:/[\w.-]*)?", re.ASCII)
_PLAIN_PAIRS = re.compile(r"(?:(?:host|port|dbname|user)=[\w./-]+(?: +|$))+", re.ASCII)


def named_part(kind: PartName, value: str | Mapping[str, Any], folder: str) -> Any:
    """The model or store that the name or table stands for; relative paths begin at the folder."""
    settings = {"name": value} if isinstance(value, str) else dict(value)
    name = settings.pop("name")
    for setting in _PATHS:
        if isinstance(settings.get(setting), str) and settings[setting]:
            settings[setting] = absolute(settings[setting], folder)
    if kind == "store":
        return stores.store_named(name, **settings)
    if kind == "chat":
        return models.chat_named(name, **settings)
    if isinstance(settings.get(_SOURCE), str) and settings[_SOURCE]:
        settings[_SOURCE] = _weights(settings[_SOURCE], folder)
    named = models.model_named if kind == "encoder" else models.pair_model_named
    return named(_model_name(kind, name, folder), **settings)


def settings_of(kind: PartName, value: Any) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The table that stands for the model or store, and what a reader must know of it."""
    settings = {part.name: getattr(value, part.name) for part in fields(value)} if is_dataclass(value) else {}
    name = stores.name_of_store(value) if kind == "store" else models.name_of_model(kind, value) or _source(kind, value, settings)
    if name is None:
        return {"name": f"{IN_PYTHON}{type(value).__name__}"}, ("what was made in Python has no name here",)
    if isinstance(settings.get(_SOURCE), str):
        settings[_SOURCE] = _placed(settings[_SOURCE])
    secret = _may_hold_password(settings.get(_SECRET))
    empty = {part.name for part in fields(value) if part.default == ""} if is_dataclass(value) else set()
    left_out = {_SECRET} if secret else set()
    left_out |= {key for key, one in settings.items() if one is None or (one == "" and key in empty)}
    kept = {key: one for key, one in settings.items() if key not in left_out}
    return {"name": name, **kept}, (_LEFT_OUT,) if secret else ()


def absolute(path: str, folder: str) -> str:
    """The path, taken from the folder where it is relative."""
    return os.path.abspath(os.path.join(folder, os.path.expanduser(path)))


def _model_name(kind: models.Kind, name: str, folder: str) -> str:
    """The name as it is, or the folder of weights that it leads to from the experiment file."""
    prefix = models.prefix_of(kind, name)
    source = name.removeprefix(prefix)
    if not source.strip():
        return name
    path = absolute(source, folder)
    if source.startswith(_CLEARLY_A_PATH) and not os.path.isdir(path):
        raise UsageError(f"there is no folder {shown(source)}", fix="name a folder with weights, relative to this file")
    if name in models.model_names(kind) or not os.path.isdir(path):
        _refuse_no_source(kind, name)
        return name
    return f"{prefix}{path}"


def _weights(source: str, folder: str) -> str:
    """The folder of weights that a model's setting leads to from the experiment file, or the name on the hub."""
    path = absolute(source, folder)
    if os.path.isdir(path):
        return path
    if source.startswith(_CLEARLY_A_PATH) or not is_hub_name(source):
        raise UsageError(f"there is no folder {shown(source)}", fix="name a folder, relative to this file, or ORGANISATION/MODEL")
    return source


def _refuse_no_source(kind: models.Kind, name: str) -> None:
    """Refuses what has a slash, as sources have, and is neither a folder nor a name of the hub."""
    if "/" in name and name not in models.model_names(kind) and not is_hub_name(name.removeprefix(models.prefix_of(kind, name))):
        what = f"{shown(name)} is neither a model's folder nor a name on the hub"
        raise UsageError(what, fix="name a folder, relative to this file, or ORGANISATION/MODEL")


def _source(kind: models.Kind, model: Any, settings: dict[str, Any]) -> str | None:
    """The folder or hub name that a model without a name of its own is opened by, taken out of its settings."""
    opened = models.opened_by(kind, model)
    if opened is None:
        return None
    prefix, part = opened
    source = settings.pop(part)
    return prefix + _placed(source)


def _placed(source: str) -> str:
    """A folder's whole path, which means the same wherever the file is written; a hub name as it is."""
    return absolute(source, "") if os.path.isdir(os.path.expanduser(source)) else source


def _may_hold_password(dsn: Any) -> bool:
    """Whether it says more than user, host, port and database in plain letters: there are many ways to write a password."""
    return isinstance(dsn, str) and bool(dsn) and not (_PLAIN_ADDRESS.fullmatch(dsn) or _PLAIN_PAIRS.fullmatch(dsn))
