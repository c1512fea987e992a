"""Tables of settings, as the documents show them."""

from __future__ import annotations

from typing import Any

from rankproof._registry import Setting, settings_of
from rankproof.experiment.toml.settings import part_kind, takes
from rankproof.experiment.toml.write import toml_value
from rankproof.stores.registry import STORES

_HEAD = "| key | takes | without it | what it is |\n|:---|:---|:---|:---|\n"


def settings_table(part: Any) -> str:
    """The settings of a stage or scorer: key, what it takes, its default and its description."""
    rows = (f"| `{one.key}` | {takes(one)[0]} | {_default(one)} | {one.option.description} |\n" for one in settings_of(part))
    return _HEAD + "".join(rows)


def _default(setting: Setting) -> str:
    if setting.required:
        return "must be given"
    if part_kind(setting) == "store":
        return f"`{STORES.name_of(type(setting.default))}`"
    plain = list(setting.default) if isinstance(setting.default, tuple) else setting.default
    return "–" if plain is None else f"`{toml_value(plain)}`"
