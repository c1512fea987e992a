"""Names of models, as the command line and experiment files write them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any

from ..errors import UsageError, shown
from .bert import Bert
from .cross_encoder import CrossEncoder
from .minilm import MiniLM
from .ports import EncoderModel, PairModel
from .torch_model import SentenceTransformer, TorchCrossEncoder
from .wordllama_model import WordLlama

ENCODERS: Mapping[str, Callable[..., EncoderModel]] = {"wordllama": WordLlama, "minilm": MiniLM}
TORCH = "torch:"
_ENCODER_GROUP, _PAIR_GROUP = "rankproof.models", "rankproof.pair_models"


def model_named(name: str, **settings: Any) -> EncoderModel:
    """An encoder by name: ours, an outside package's, torch:NAME, else a folder or ORGANISATION/MODEL on the hub."""
    known = {**outside_models(_ENCODER_GROUP), **ENCODERS}
    model: EncoderModel = _made(name, settings, known, torch=SentenceTransformer, other=Bert)
    return model


def pair_model_named(name: str, **settings: Any) -> PairModel:
    """A pair scorer by name: an outside package's, torch:NAME, else a folder or ORGANISATION/MODEL on the hub."""
    model: PairModel = _made(name, settings, outside_models(_PAIR_GROUP), torch=TorchCrossEncoder, other=CrossEncoder)
    return model


def is_ready(model: EncoderModel | PairModel) -> bool:
    """Whether the model can be loaded without a network; one that does not say is taken to be."""
    ready: Callable[[], bool] = getattr(model, "is_ready", lambda: True)
    return ready()


def outside_models(group: str = _ENCODER_GROUP) -> dict[str, Callable[..., Any]]:
    """Classes of models that installed packages offer by an entry point group, by the entry's name."""
    from importlib.metadata import entry_points

    return {entry.name: entry.load() for entry in entry_points(group=group)}


def _made(
    name: str, settings: Mapping[str, Any], known: Mapping[str, Callable[..., Any]], *, torch: type[Any], other: type[Any]
) -> Any:
    if not isinstance(name, str):
        raise UsageError(f"{name!r} is no model's name", fix="give a text")
    if name in known:
        return _built(known[name], (), settings, name)
    if name.startswith(TORCH):
        return _built(torch, (name.removeprefix(TORCH),), settings, name)
    if not any(mark in name for mark in "/\\.~"):
        listed = ", ".join([*known, f"{TORCH}NAME"])
        raise UsageError(
            f"no model is called {shown(name)}", fix=f"known: {listed}, a folder (./NAME), ORGANISATION/MODEL on the hub"
        )
    return _built(other, (name,), settings, name)


def _built(kind: Callable[..., Any], arguments: tuple[Any, ...], settings: Mapping[str, Any], name: str) -> Any:
    parts = [part.name for part in fields(kind)][len(arguments) :]  # type: ignore[arg-type]
    if strange := [setting for setting in settings if setting not in parts]:
        raise UsageError(
            f"model {shown(name)} has no setting {shown(strange[0])}", fix=f"its settings: {', '.join(parts) or 'none'}"
        )
    return kind(*arguments, **settings)
