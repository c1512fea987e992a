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

_KINDS: dict[str, Registry[Any]] = {
    "encoder": ENCODERS,
    "cross-encoder": CROSS_ENCODERS,
    "language model": CHATS,
    "store": STORES,
}


def settings_table(name: str) -> str:
    """The settings of a stage or scorer: key, what it takes, its default and its description."""
    settings = settings_of((STAGES if name in STAGES else SCORERS).load(name))
    rows = ((f"`{one.key}`", takes(one)[0], _default(one), one.option.description) for one in settings)
    return _table(("key", "takes", "without it", "what it is"), rows)


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
    rows += [
        ("a source", one.name.replace("cross-encoder", "cross-encoder"), one.summary, "–", _settings(one.load()))
        for one in BY_SOURCE.components
    ]
    return _table(("name", "kind", "what it is", "extra", "settings"), rows)


def _settings(part: Any) -> str:
    return ", ".join(f"`{setting.key}`" for setting in settings_of(part)) or "none"


def _keys(settings: Iterable[Setting]) -> str:
    return _table(("key", "takes", "what it is"), ((f"`{one.key}`", takes(one)[0], one.option.description) for one in settings))


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [head, (":---",) * len(head), *rows]
    return "".join("|" + "|".join(line) + "|\n" if line[0] == ":---" else f"| {' | '.join(line)} |\n" for line in lines)


def _default(setting: Setting) -> str:
    if setting.required:
        return "must be given"
    if part_kind(setting) == "store":
        return f"`{STORES.name_of(type(setting.default))}`"
    plain = list(setting.default) if isinstance(setting.default, tuple) else setting.default
    return "–" if plain is None else f"`{toml_value(plain)}`"
