"""Experiments: systems by name, climbed once each, kept in a results folder."""

from __future__ import annotations

from .climbing import climb
from .experiment import SAMPLE, Experiment
from .ladder import default_ladder
from .results.folder import load as load_climb
from .results.folder import save as save_climb
from .rung import Climb, Rung
from .settings import Settings
from .toml.file import read_experiment

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
