"""What a stage is made of: fields of a passage, models, stores, scorers and other stages."""

from __future__ import annotations

from typing import Any

from ..data.checks import names
from ..errors import UsageError, shown


def fields(value: Any) -> tuple[str, ...]:
    """The fields of a passage, at least one and none twice."""
    chosen = names("fields", value)
    if not chosen or len(set(chosen)) < len(chosen):
        raise UsageError(f"fields is {shown(str(list(chosen)))}", fix='name at least one field and none twice: ["title", "text"]')
    return chosen


def model(value: Any) -> None:
    """Refuses what cannot be loaded."""
    _refuse_what_lacks("model", value, ("load",), "pass a model, such as MiniLM() or WordLlama()")


def pair_model(value: Any) -> None:
    """Refuses what cannot be loaded."""
    _refuse_what_lacks("model", value, ("load",), "pass a model that reads pairs, such as CrossEncoder(source)")


def chat_model(value: Any) -> None:
    """Refuses what is no language model."""
    fix = 'pass a language model, such as SmolLM2() or OpenAIChat(model="…")'
    _refuse_what_lacks("model", value, ("load", "revision"), fix)
    if not hasattr(value, "concurrency"):
        raise UsageError(f"model is a {type(value).__name__}, which replies to no messages", fix=fix)


def store(value: Any) -> None:
    """Refuses what cannot be opened."""
    _refuse_what_lacks("store", value, ("open",), "pass a store, such as Memory() or PgVector()")


def stage(name: str, value: Any) -> None:
    """Refuses what is no stage."""
    _refuse_what_lacks(name, value, ("below", "build"), "pass a stage, such as BM25() or Dense(MiniLM())")


def scorer(name: str, value: Any) -> None:
    """Refuses what is no scorer; a stage finds documents and scores none that it is given."""
    fix = "pass a scorer, such as Keywords(), Similarity(MiniLM()) or MaxSim(MiniLM())"
    _refuse_what_lacks(name, value, ("build",), fix)
    if callable(getattr(value, "below", None)):
        raise UsageError(f"{name} is a stage ({type(value).__name__})", fix=fix)


def _refuse_what_lacks(name: str, value: Any, methods: tuple[str, ...], fix: str) -> None:
    if isinstance(value, type):
        raise UsageError(f"{name} is the class {value.__name__}", fix=fix)
    if not all(callable(getattr(value, method, None)) for method in methods):
        told = f"the text {shown(repr(value))}" if isinstance(value, str) else f"a {type(value).__name__}"
        raise UsageError(f"{name} is {told}", fix=fix)
