"""The models by the names that experiment files and commands use: NAME, NAME:SOURCE, or a source alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal

from .._registry import Component, Registry, Setting, build, settings_of
from ..errors import UsageError, shown

if TYPE_CHECKING:
    from .chat.port import ChatModel
    from .ports import EncoderModel, PairModel

Kind = Literal["encoder", "pair model", "chat"]

ENCODERS: Registry[EncoderModel] = Registry(
    "model",
    "rankproof.models",
    (
        Component("wordllama", "rankproof.models.wordllama_model:WordLlama", "static word vectors, small and fast"),
        Component("minilm", "rankproof.models.minilm:MiniLM", "all-MiniLM-L6-v2, a sentence encoder of 384 dimensions"),
        Component("byt5", "rankproof.models.byt5:ByT5", "ByT5, which reads bytes", "torch"),
        Component("canine", "rankproof.models.canine:Canine", "CANINE, which reads characters", "torch"),
        Component("trial", "rankproof.models.trial.model:Trial", "an encoder that rankproof tokenizers trained", "torch"),
        Component("bpe", "rankproof.models.trial.model:Bpe", "such an encoder with a BPE tokenizer", "torch"),
        Component("torch", "rankproof.models.torch_model:SentenceTransformer", "any sentence-transformers model", "torch"),
    ),
)
PAIR_MODELS: Registry[PairModel] = Registry(
    "model",
    "rankproof.pair_models",
    (
        Component(
            "torch", "rankproof.models.torch_model:TorchCrossEncoder", "any cross-encoder of sentence-transformers", "torch"
        ),
    ),
)
CHATS: Registry[ChatModel] = Registry(
    "model",
    "rankproof.chats",
    (
        Component("openai", "rankproof.models.chat.openai_chat:OpenAIChat", "a model behind an OpenAI-compatible server", "chat"),
        Component("llama", "rankproof.models.chat.llama:Llama", "a gguf file, run by llama.cpp on this machine", "local"),
        Component("smollm2", "rankproof.models.chat.smollm2:SmolLM2", "SmolLM2 135M, run by llama.cpp on this machine", "local"),
    ),
)
BY_SOURCE: Registry[Any] = Registry(
    "model",
    "",
    (
        Component("encoder", "rankproof.models.bert:Bert", "a BERT encoder by its folder or hub name"),
        Component("pair model", "rankproof.models.cross_encoder:CrossEncoder", "a BERT cross-encoder by its folder or hub name"),
    ),
)
"""What opens a source without a name before it, by kind."""
MODELS: Mapping[Kind, Registry[Any]] = {"encoder": ENCODERS, "pair model": PAIR_MODELS, "chat": CHATS}


def model_named(name: str, **settings: Any) -> EncoderModel:
    """An encoder by name: registered, NAME:SOURCE (torch:NAME), a folder or ORGANISATION/MODEL on the hub."""
    model: EncoderModel = _built("encoder", name, settings)
    return model


def pair_model_named(name: str, **settings: Any) -> PairModel:
    """A cross-encoder by name: registered, torch:NAME, a folder or ORGANISATION/MODEL on the hub."""
    model: PairModel = _built("pair model", name, settings)
    return model


def chat_named(name: str, **settings: Any) -> ChatModel:
    """A language model by its registered name."""
    model: ChatModel = _built("chat", name, settings)
    return model


def written_name(kind: Kind, model: object) -> tuple[str, str] | None:
    """The name of a model, and the field whose value follows it as its source, if any; None if it is not registered."""
    name = MODELS[kind].name_of(type(model))
    source = source_of(type(model))
    if name is not None:
        # A table has the key `name` for the model itself, so a source called that is written behind it.
        return (f"{name}:", "name") if source is not None and source.field == "name" else (name, "")
    if source is not None and BY_SOURCE.name_of(type(model)) == kind:
        return "", source.field
    return None


def prefix_of(kind: Kind, name: str) -> str:
    """What stands before the source in NAME:SOURCE, with the colon; empty for a name that is not written so."""
    first, colon, _ = name.partition(":")
    known = colon and first in MODELS[kind] and source_of(MODELS[kind].load(first)) is not None
    return f"{first}:" if known else ""


def find(kind: Kind, name: str) -> tuple[Callable[..., Any], tuple[str, ...]] | None:
    """The class that a name stands for, and the source in the name as its argument; None for an unknown name."""
    if name in MODELS[kind]:
        return MODELS[kind].load(name), ()
    if prefix := prefix_of(kind, name):
        return MODELS[kind].load(prefix.removesuffix(":")), (name.removeprefix(prefix),)
    if any(mark in name for mark in "/\\.~") and kind in BY_SOURCE:
        return BY_SOURCE.load(kind), (name,)
    return None


def source_of(model: Any) -> Setting | None:
    """The setting that holds a model's source, if it has one: always its first."""
    first = settings_of(model)[:1]
    return first[0] if first and first[0].option.role == "source" else None


def is_ready(model: EncoderModel | PairModel | ChatModel) -> bool:
    """Whether the model can be loaded without a network; one that does not say is taken to be."""
    ready: Callable[[], bool] = getattr(model, "is_ready", lambda: True)
    return ready()


def _built(kind: Kind, name: str, settings: Mapping[str, Any]) -> Any:
    if not isinstance(name, str):
        raise UsageError(f"{name!r} is no model's name", fix="give a text")
    if not name.strip():
        raise UsageError("the model's name is empty", fix=f"known: {_listed(kind)}")
    found = find(kind, name)
    if found is None:
        raise UsageError(f"no model is called {shown(name)}", fix=f"known: {_listed(kind)}")
    make, source = found
    _refuse_no_source(kind, name, settings)
    return build("model", name, make, settings, *source)


def _refuse_no_source(kind: Kind, name: str, settings: Mapping[str, Any]) -> None:
    """A registered model without a default source must be given one."""
    source = source_of(MODELS[kind].load(name)) if name in MODELS[kind] else None
    if source is not None and source.required and source.key not in settings:
        raise UsageError(f"the model {name} lacks its {source.key}", fix=f"write {name}:FOLDER")


def _listed(kind: Kind) -> str:
    sources = ("NAME:SOURCE (torch:acme/tiny)", "a folder (./NAME)", "ORGANISATION/MODEL on the hub") if kind in BY_SOURCE else ()
    return ", ".join((*MODELS[kind].names(), *sources))
