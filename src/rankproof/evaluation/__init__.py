"""Evaluation: judgements and runs in, a Result out."""

from .evaluating import evaluate, evaluate_runs
from .inputs import name_each
from .notes import Note
from .options import Files, Options
from .result import MeasureResult, Result, SystemResult

__all__ = ["Files", "MeasureResult", "Note", "Options", "Result", "SystemResult", "evaluate", "evaluate_runs", "name_each"]
