"""Tables of registered parts and their settings, as the documents show them."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import takewhile
from typing import Any

from rankproof._data.validation import described
from rankproof._experiment.config_settings import EVERY, TOP, keys_of, part_kind, takes
from rankproof._io.toml_file import toml_value
from rankproof._registry import Registry, Setting
from rankproof.stages._registry import SCORERS, STAGES
from rankproof.stores._registry import STORES

_LONGEST = 60
_MANY_SHARED = 6
"""So many keys that two parts share are not written twice."""


def stages_table() -> str:
    """Every stage with its keys and their defaults."""
    return _parts_table("stage", STAGES)


def scorers_table() -> str:
    """Every scorer with its keys and their defaults."""
    return _parts_table("by", SCORERS)


def stores_table() -> str:
    """Every store with its keys and their defaults."""
    return _parts_table("store", STORES)


def stage_keys_table() -> str:
    """Every key of stages and scorers, once, with its meanings."""
    return _meanings_table(STAGES, SCORERS)


def store_keys_table() -> str:
    """Every key of stores, once, with its meanings."""
    return _meanings_table(STORES)


def settings_rows(name: str) -> list[str]:
    """The row of one stage, scorer or store, then the rows of its keys."""
    registry = next(registry for registry in (STAGES, SCORERS, STORES) if name in registry)
    before = takewhile(lambda other: other != name, registry.names())
    return [_part_row(registry, name, list(before)), *map(_meaning_row, keys_of(registry.load(name)).values())]


def _part_row(registry: Registry[Any], name: str, before: Iterable[str]) -> str:
    """The row of a part; many keys that it shares with a part before it are named only there."""
    extra = next((f" (extra `{part.extra}`)" for part in registry.components if part.name == name and part.extra), "")
    keys = _shown_keys(registry, name)
    alike = max(before, key=lambda other: len({*keys} & {*_shown_keys(registry, other)}), default=name)
    others = [] if alike == name else _shown_keys(registry, alike)
    lacks = keys_of(registry.load(alike)).keys() - keys_of(registry.load(name)).keys()
    if len({*keys} & {*others}) >= _MANY_SHARED:
        without = f" without {', '.join(f'`{key}`' for key in sorted(lacks))}" if lacks else ""
        own = ", ".join(key for key in keys if key not in others)
        return _row((f"`{name}`", f"{registry.summary(name)}{extra}", f"as `{alike}`{without}; {own}"))
    return _row((f"`{name}`", f"{registry.summary(name)}{extra}", ", ".join(keys) or "none"))


def _shown_keys(registry: Registry[Any], name: str) -> list[str]:
    return [_key_with_default(setting) for setting in keys_of(registry.load(name)).values()]


def _meaning_row(setting: Setting) -> str:
    return _row((f"`{setting.key}`", setting.option.description))


def _key_with_default(setting: Setting) -> str:
    default = _default(setting)
    return f"`{setting.key}`" if default is None else f"`{setting.key} = {default}`"


def _parts_table(kind: str, registry: Registry[Any]) -> str:
    return _table(
        (kind, "what it does", "keys and defaults"),
        (_part_row(registry, name, registry.names()[:at]) for at, name in enumerate(registry.names())),
    )


def _meanings_table(*registries: Registry[Any]) -> str:
    parts = (registry.load(name) for registry in registries for name in registry.names())
    meanings: dict[str, set[str]] = {}
    for part in parts:
        for setting in keys_of(part).values():
            meanings.setdefault(setting.key, set()).add(setting.option.description)
    return _table(("key", "meaning"), (_row((f"`{key}`", " · ".join(sorted(texts)))) for key, texts in sorted(meanings.items())))


def top_table() -> str:
    """The keys above the systems."""
    return _keys(TOP.values())


def every_table() -> str:
    """The keys of every system."""
    return _keys(EVERY.values())


def _keys(settings: Iterable[Setting]) -> str:
    rows = (_row((f"`{setting.key}`", takes(setting)[0], described(setting))) for setting in settings)
    return _table(("key", "takes", "meaning"), rows)


def _table(head: tuple[str, ...], rows: Iterable[str]) -> str:
    return "".join((_row(head), f"|{'|'.join(':---' for _ in head)}|\n", *rows))


def _row(cells: tuple[str, ...]) -> str:
    return f"| {' | '.join(cells)} |\n"


def _default(setting: Setting) -> str | None:
    """The default as a file has it; None if there is none or it is a long text."""
    if setting.required or setting.default is None:
        return None
    if part_kind(setting) == "store":
        return STORES.name_of(type(setting.default))
    plain = list(setting.default) if isinstance(setting.default, tuple) else setting.default
    return None if isinstance(plain, str) and len(plain) > _LONGEST else toml_value(plain)
