"""Experiments: systems by name, climbed once each, kept in a results folder."""

from __future__ import annotations

from .climb import Climb, Rung
from .climbing import climb
from .experiment import SAMPLE, Experiment
from .folder import load as load_climb
from .folder import save as save_climb
from .settings import Settings
from .toml_file import read_experiment

__all__ = ["SAMPLE", "Climb", "Experiment", "Rung", "Settings", "climb", "load_climb", "read_experiment", "save_climb"]
