"""Names of models, as the command line and experiment files write them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields
from typing import Any, Literal

from ..data.offered import built, loaded, name_offered, offered
from ..errors import UsageError, shown
from .bert import Bert
from .byt5 import ByT5
from .canine import Canine
from .chat.llama import Llama
from .chat.openai_chat import OpenAIChat
from .chat.port import ChatModel
from .chat.smollm2 import SmolLM2
from .cross_encoder import CrossEncoder
from .minilm import MiniLM
from .ports import EncoderModel, PairModel
from .torch_model import SentenceTransformer, TorchCrossEncoder
from .trial.model import Bpe, Trial
from .wordllama_model import WordLlama

Kind = Literal["encoder", "pair model", "chat"]
ENCODERS: Mapping[str, Callable[..., EncoderModel]] = {
    "wordllama": WordLlama,
    "minilm": MiniLM,
    "byt5": ByT5,
    "canine": Canine,
    "trial": Trial,
    "bpe": Bpe,
}
CHATS: Mapping[str, Callable[..., ChatModel]] = {"openai": OpenAIChat, "llama": Llama, "smollm2": SmolLM2}
TORCH = "torch:"
_GROUPS: Mapping[Kind, str] = {"encoder": "rankproof.models", "pair model": "rankproof.pair_models", "chat": "rankproof.chats"}
_OWN: Mapping[Kind, Mapping[str, Callable[..., Any]]] = {"encoder": ENCODERS, "pair model": {}, "chat": CHATS}
_BY_PREFIX: Mapping[Kind, Mapping[str, type[Any]]] = {
    "encoder": {TORCH: SentenceTransformer, "byt5:": ByT5, "canine:": Canine, "trial:": Trial, "bpe:": Bpe},
    "pair model": {TORCH: TorchCrossEncoder},
    "chat": {},
}
"""Models that can be named with their source: NAME:SOURCE."""
_BY_SOURCE: Mapping[Kind, type[Any]] = {"encoder": Bert, "pair model": CrossEncoder}


def model_named(name: str, **settings: Any) -> EncoderModel:
    """An encoder by name: ours, an outside package's, NAME:SOURCE (torch:NAME), a folder or ORGANISATION/MODEL on the hub."""
    model: EncoderModel = _made("encoder", name, settings)
    return model


def pair_model_named(name: str, **settings: Any) -> PairModel:
    """A pair scorer by name: an outside package's, torch:NAME, else a folder or ORGANISATION/MODEL on the hub."""
    model: PairModel = _made("pair model", name, settings)
    return model


def chat_named(name: str, **settings: Any) -> ChatModel:
    """A language model by name: ours or an outside package's."""
    model: ChatModel = _made("chat", name, settings)
    return model


def model_names(kind: Kind) -> list[str]:
    """Every name that stands for one model, ours and those of installed packages."""
    return list(dict.fromkeys((*_OWN[kind], *offered(_GROUPS[kind]))))


def name_of_model(kind: Kind, model: object) -> str | None:
    """The name of a model that has one of its own, None for those opened by a source and those that nobody offers."""
    ours = (name for name, made in _OWN[kind].items() if made is type(model))
    return next(ours, None) or name_offered(_GROUPS[kind], type(model))


def opened_by(kind: Kind, model: object) -> tuple[str, str] | None:
    """What stands before the source of a model that has no name of its own, and which setting holds it; None for others."""
    opened = {TORCH: _BY_PREFIX[kind].get(TORCH), "": _BY_SOURCE.get(kind)}
    found = {made: (prefix, fields(made)[0].name) for prefix, made in opened.items() if made is not None}
    return found.get(type(model))


def prefix_of(kind: Kind, name: str) -> str:
    """What stands before the source in NAME:SOURCE, with the colon; empty for a name that is not written so."""
    return next((prefix for prefix in _BY_PREFIX[kind] if name.startswith(prefix)), "")


def is_ready(model: EncoderModel | PairModel | ChatModel) -> bool:
    """Whether the model can be loaded without a network; one that does not say is taken to be."""
    ready: Callable[[], bool] = getattr(model, "is_ready", lambda: True)
    return ready()


def _made(kind: Kind, name: str, settings: Mapping[str, Any]) -> Any:
    if not isinstance(name, str):
        raise UsageError(f"{name!r} is no model's name", fix="give a text")
    if not name.strip():
        raise UsageError("the model's name is empty", fix=f"known: {_listed(kind)}")
    if name in _OWN[kind]:
        _refuse_no_source(kind, name, settings)
        return built("model", name, _OWN[kind][name], settings)
    outside = offered(_GROUPS[kind])
    if name in outside:
        return built("model", name, loaded(outside[name]), settings)
    if prefix := prefix_of(kind, name):
        return built("model", name, _BY_PREFIX[kind][prefix], settings, name.removeprefix(prefix))
    if any(mark in name for mark in "/\\.~") and kind in _BY_SOURCE:
        return built("model", name, _BY_SOURCE[kind], settings, name)
    raise UsageError(f"no model is called {shown(name)}", fix=f"known: {_listed(kind)}")


def _refuse_no_source(kind: Kind, name: str, settings: Mapping[str, Any]) -> None:
    """A model that has no source of its own must be given one."""
    made = _BY_PREFIX[kind].get(f"{name}:")
    if made is not None and fields(made)[0].default is MISSING and fields(made)[0].name not in settings:
        raise UsageError(f"the model {name} lacks its {fields(made)[0].name}", fix=f"write {name}:FOLDER")


def _listed(kind: Kind) -> str:
    sources = (f"{TORCH}NAME", "a folder (./NAME)", "ORGANISATION/MODEL on the hub") if kind in _BY_SOURCE else ()
    return ", ".join((*model_names(kind), *sources))
