"""Doctor: what may be wrong with data or runs, looked for before a number is believed."""

from __future__ import annotations

from .checks import CHECKS
from .findings import catalogue, examine, is_severe
from .subject import Subject, of_dataset, of_evidence

__all__ = ["CHECKS", "Subject", "catalogue", "examine", "is_severe", "of_dataset", "of_evidence"]
