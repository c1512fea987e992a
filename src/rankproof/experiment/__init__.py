"""Experiments: systems by name, climbed once each, kept in a results folder."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .climbing import climb
    from .experiment import SAMPLE, Experiment
    from .ladder import default_ladder
    from .results.folder import load as load_climb
    from .results.folder import save as save_climb
    from .rung import Climb, Rung
    from .settings import Settings
    from .toml.file import read_experiment

_HOME = {
    "SAMPLE": "experiment:SAMPLE",
    "Climb": "rung:Climb",
    "Experiment": "experiment:Experiment",
    "Rung": "rung:Rung",
    "Settings": "settings:Settings",
    "climb": "climbing:climb",
    "default_ladder": "ladder:default_ladder",
    "load_climb": "results.folder:load",
    "read_experiment": "toml.file:read_experiment",
    "save_climb": "results.folder:save",
}

__all__ = [
    "SAMPLE",
    "Climb",
    "Experiment",
    "Rung",
    "Settings",
    "climb",
    "default_ladder",
    "load_climb",
    "read_experiment",
    "save_climb",
]


def __getattr__(name: str) -> Any:
    """Loads a public name from its module on first use, so that reading results does not wait for what made them."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, attribute = _HOME[name].split(":")
    value = getattr(import_module(f".{module}", __name__), attribute)
    globals()[name] = value
    return value
