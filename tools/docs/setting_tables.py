"""Tables of registered parts and their settings, as the documents show them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rankproof._experiment.config_settings import EVERY, TOP, part_kind, takes
from rankproof._io.toml_file import toml_value
from rankproof._registry import Registry, Setting, settings_of
from rankproof.models._registry import BY_SOURCE, CHATS, CROSS_ENCODERS, ENCODERS
from rankproof.stages._registry import SCORERS, STAGES
from rankproof.stores._registry import STORES

_LONGEST = 60
_KINDS: dict[str, Registry[Any]] = {
    "encoder": ENCODERS,
    "cross-encoder": CROSS_ENCODERS,
    "language model": CHATS,
    "store": STORES,
}


def stages_table() -> str:
    """Every stage with its settings."""
    return _parts_table("stage", STAGES)


def scorers_table() -> str:
    """Every scorer with its settings."""
    return _parts_table("by", SCORERS)


def stores_table() -> str:
    """Every store with its settings and extra."""
    return _parts_table("store", STORES)


def settings_rows(name: str) -> str:
    """The rows of one stage, scorer or store: its summary, then key, type, default and description of each setting."""
    registry = next(one for one in (STAGES, SCORERS, STORES) if name in one)
    extra = next((f" (extra `{one.extra}`)" for one in registry.components if one.name == name and one.extra), "")
    rows = [(f"`{name}`", "", "", "", f"**{registry.summary(name)}**{extra}")]
    settings = settings_of(registry.load(name))
    rows += [("", f"`{one.key}`", takes(one)[0], _default(one), one.option.description) for one in settings]
    return _rows(rows)


def _parts_table(kind: str, registry: Registry[Any]) -> str:
    head = (kind, "key", "takes", "default", "meaning")
    return _table(head, ()) + "".join(map(settings_rows, registry.names()))


def top_table() -> str:
    """The keys above the systems."""
    return _keys(TOP.values())


def every_table() -> str:
    """The keys of every system."""
    return _keys(EVERY.values())


def parts_table() -> str:
    """Models and stores: name, kind, what it is, the extra to install, and settings."""
    rows = [
        (f"`{one.name}`", kind, one.summary, f"`{one.extra}`" if one.extra else "–", _settings(one.load()))
        for kind, registry in _KINDS.items()
        for one in registry.components
    ]
    rows += [("a folder or hub name", one.name, one.summary, "–", _settings(one.load())) for one in BY_SOURCE.components]
    return _table(("name", "kind", "what it is", "extra", "settings"), rows)


def _settings(part: Any) -> str:
    return ", ".join(f"`{setting.key}`" for setting in settings_of(part)) or "none"


def _keys(settings: Iterable[Setting]) -> str:
    return _table(("key", "takes", "meaning"), ((f"`{one.key}`", takes(one)[0], one.option.description) for one in settings))


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    return f"| {' | '.join(head)} |\n|{'|'.join(':---' for _ in head)}|\n" + _rows(rows)


def _rows(rows: Iterable[tuple[str, ...]]) -> str:
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def _default(setting: Setting) -> str:
    if setting.required:
        return "required"
    if part_kind(setting) == "store":
        return f"`{STORES.name_of(type(setting.default))}`"
    plain = list(setting.default) if isinstance(setting.default, tuple) else setting.default
    if isinstance(plain, str) and len(plain) > _LONGEST:
        return "a built-in text"
    return "–" if plain is None else f"`{toml_value(plain)}`"
