"""Converts models and stores between values and experiment files, where they are a name or a table with settings."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any

from rankproof._experiment.config_settings import PartKind
from rankproof._registry import settings_of
from rankproof._results.document import PYTHON_PREFIX
from rankproof.errors import UsageError, for_message
from rankproof.models import _registry as models
from rankproof.models._download.hub import is_hub_name
from rankproof.stores._registry import STORES, store_by_name

_PATH_STARTS = ("./", "../", "/", "~", ".\\", "..\\")
_HOST = r"(?:[\w.-]*|\[[0-9A-Fa-f:]+\])"
_SAFE_ADDRESS = re.compile(rf"postgres(?:ql)?://(?:[\w.-]+@)?{_HOST}(?::\d+)?(?:/[\w.-]*)?", re.ASCII)
_SAFE_PAIRS = re.compile(r"(?:(?:host|port|dbname|user)=[\w./-]+(?: +|$))+", re.ASCII)


def part_by_name(kind: PartKind, value: str | Mapping[str, Any], folder: str) -> Any:
    """The model or store of a name or table; relative paths start at the folder."""
    given = {"name": value} if isinstance(value, str) else dict(value)
    name = given.pop("name")
    if kind == "store":
        part = STORES.load(name) if name in STORES else None
        return store_by_name(name, **_located(part, given, folder))
    name = name if kind == "chat" else _resolve_model_name(kind, name, folder)
    found = models.find(kind, name)
    settings = _located(found[0] if found else None, given, folder)
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
        given = getattr(value, setting.field)
        if setting.field == source:
            table["name"] += _absolute_source(given)
        elif setting.option.role == "secret" and _may_hold_password(given):
            key = setting.key
            remarks.append(f"{key} may hold a password and is left out; specify the variable that holds it in {key}_env")
        elif given is not None and not (given == "" and setting.default == ""):
            table[setting.key] = _absolute_source(given) if setting.option.role == "source" else given
    return table, tuple(remarks)


def _located(part: Any, given: Mapping[str, Any], folder: str) -> dict[str, Any]:
    """The settings with paths and sources relative to the folder of the experiment file made absolute."""
    roles = {setting.key: setting.option.role for setting in settings_of(part)} if isinstance(part, type) else {}
    found = dict(given)
    for key, value in given.items():
        if isinstance(value, str) and value and roles.get(key) in ("path", "source"):
            found[key] = absolute_path(value, folder) if roles[key] == "path" else _resolve_weights(value, folder)
    return found


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
