"""Experiments: systems by name, climbed once each, kept in a results folder."""

from __future__ import annotations

from .climb import Climb, Rung
from .climbing import climb
from .experiment import SAMPLE, Experiment
from .settings import Settings

__all__ = ["SAMPLE", "Climb", "Experiment", "Rung", "Settings", "climb"]
