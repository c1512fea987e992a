"""Doctor: what may be wrong with data or runs, looked for before a number is believed."""

from __future__ import annotations

from .check import all_checks
from .findings import catalogue, examine, is_severe
from .subject import Subject, of_dataset, of_evidence

__all__ = ["Subject", "all_checks", "catalogue", "examine", "is_severe", "of_dataset", "of_evidence"]
