"""Settings that stages and scorers share: document fields, depth, prompts, models, stores, scorers and other stages."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any

from .._registry import Option
from ..data.checks import check_options
from ..errors import UsageError, shown
from ..models.chat.port import ChatModel
from ..models.ports import EncoderModel, PairModel
from ..stores.ports import Store
from .base import Stage
from .scorers import ScorerValue

Fields = Annotated[tuple[str, ...], Option("the document fields that are read", role="fields")]
Depth = Annotated[int, Option("how many documents each ranking keeps", least=1)]
EncoderOption = Annotated[EncoderModel, Option("the encoder: a name, a folder with weights, or a name on the model hub")]
ChatOption = Annotated[ChatModel, Option("the language model: a name, or a table with a name and settings")]
QueryPrompt = Annotated[str, Option("text put before each query, for encoders trained with it")]
PassagePrompt = Annotated[str, Option("text put before each passage, for encoders trained with it")]
PassageCharacters = Annotated[int, Option("how many characters of each passage the model reads", least=1)]
MaxTokens = Annotated[int, Option("the most tokens of a reply", least=1)]
Attempts = Annotated[int, Option("how often the model is called until a reply can be used", least=1)]


def check(value: Any) -> None:
    """Checks every setting of a stage or scorer by its type and Option."""
    check_options(value, _CHECKS)


def model(name: str, value: Any) -> Any:
    """Refuses what cannot be loaded."""
    return _with_methods(name, value, ("load",), "pass a model, such as MiniLM() or WordLlama()")


def chat_model(name: str, value: Any) -> Any:
    """Refuses what is not a language model."""
    fix = 'pass a language model, such as SmolLM2() or OpenAIChat(model="…")'
    _with_methods(name, value, ("load", "revision"), fix)
    if not hasattr(value, "concurrency"):
        raise UsageError(f"{name} is a {type(value).__name__}, which replies to no messages", fix=fix)
    return value


def stage(name: str, value: Any) -> Any:
    """Refuses what is not a stage."""
    return _with_methods(name, value, ("below", "build"), "pass a stage, such as BM25() or Dense(MiniLM())")


def _pair_model(name: str, value: Any) -> Any:
    return _with_methods(name, value, ("load",), "pass a model that reads pairs, such as CrossEncoder(source)")


def _store(name: str, value: Any) -> Any:
    return _with_methods(name, value, ("open",), "pass a store, such as Memory() or PgVector()")


def _scorer(name: str, value: Any) -> Any:
    """Refuses what is not a scorer; a stage finds documents and scores none that it is given."""
    fix = "pass a scorer, such as Keywords(), Similarity(MiniLM()) or MaxSim(MiniLM())"
    _with_methods(name, value, ("build",), fix)
    if callable(getattr(value, "below", None)):
        raise UsageError(f"{name} is a stage ({type(value).__name__})", fix=fix)
    return value


def _with_methods(name: str, value: Any, methods: tuple[str, ...], fix: str) -> Any:
    """The value, refused if it is a class or lacks a method."""
    if isinstance(value, type):
        raise UsageError(f"{name} is the class {value.__name__}", fix=fix)
    if not all(callable(getattr(value, method, None)) for method in methods):
        found = f"the text {shown(repr(value))}" if isinstance(value, str) else f"a {type(value).__name__}"
        raise UsageError(f"{name} is {found}", fix=fix)
    return value


_CHECKS: Mapping[Any, Callable[[str, Any], Any]] = {
    EncoderModel: model,
    PairModel: _pair_model,
    ChatModel: chat_model,
    Store: _store,
    Stage: stage,
    ScorerValue: _scorer,
}
