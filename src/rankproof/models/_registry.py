"""The registered models by name, and the weights on this machine."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from rankproof._io.files import file_sha256
from rankproof._registry import Component, Registry, Setting, build, settings_of
from rankproof.errors import ExternalError, UsageError, for_message
from rankproof.models._download.cached_folder import MANIFEST, folder_facts, models_cache_folder
from rankproof.models._download.hub import hub_folder, is_hub_name

if TYPE_CHECKING:
    from rankproof.models._base import CrossEncoderModel, DownloadableModel, EncoderModel
    from rankproof.models._chat.base import ChatModel


ModelKind = Literal["encoder", "cross-encoder", "chat"]
_EMBEDDING_APIS = "rankproof.models._api.embedding_apis"
SERVER_CHAT, _GGUF = "openai", ".gguf"

ENCODERS: Registry[EncoderModel] = Registry(
    "model",
    "rankproof.models",
    (
        Component("wordllama", "rankproof.models._wordllama:WordLlama", "static word vectors, small and fast"),
        Component("minilm", "rankproof.models._bert:MiniLM", "all-MiniLM-L6-v2, a sentence encoder with 384 dimensions"),
        Component("byt5", "rankproof.models._transformers:ByT5", "ByT5, which reads bytes", "torch"),
        Component("canine", "rankproof.models._transformers:Canine", "CANINE, which reads characters", "torch"),
        Component(
            "trained",
            "rankproof.models._trained.checkpoint:TrainedEncoder",
            "an encoder trained by `rankproof tokenizers`",
            "torch",
        ),
        Component(
            "bpe",
            "rankproof.models._trained.checkpoint:BpeEncoder",
            "an encoder with a BPE tokenizer, trained by `rankproof tokenizers`",
            "torch",
        ),
        Component("torch", "rankproof.models._torch:SentenceTransformer", "any sentence-transformers model", "torch"),
        Component(
            "openai-embeddings",
            f"{_EMBEDDING_APIS}:OpenAIEmbeddings",
            "a model behind an OpenAI-compatible embedding API",
            "http",
        ),
        Component("ollama", f"{_EMBEDDING_APIS}:OllamaEmbeddings", "a model of Ollama", "http"),
        Component("tei", f"{_EMBEDDING_APIS}:TEIEmbeddings", "a server of text-embeddings-inference", "http"),
        Component("cohere", f"{_EMBEDDING_APIS}:CohereEmbeddings", "a model of the Cohere API", "http"),
        Component("voyage", f"{_EMBEDDING_APIS}:VoyageEmbeddings", "a model of the Voyage AI API", "http"),
        Component("gemini", f"{_EMBEDDING_APIS}:GeminiEmbeddings", "a model of the Gemini API", "http"),
    ),
)
CROSS_ENCODERS: Registry[CrossEncoderModel] = Registry(
    "model",
    "rankproof.cross_encoders",
    (Component("torch", "rankproof.models._torch:TorchCrossEncoder", "any cross-encoder of sentence-transformers", "torch"),),
)
CHATS: Registry[ChatModel] = Registry(
    "model",
    "rankproof.chats",
    (
        Component("openai", "rankproof.models._chat.openai:OpenAIChat", "a model behind an OpenAI-compatible server", "chat"),
        Component("llama", "rankproof.models._chat.llama_cpp:Llama", "a gguf file, run by llama.cpp on this machine", "local"),
        Component(
            "smollm2", "rankproof.models._chat.llama_cpp:SmolLM2", "SmolLM2 135M, run by llama.cpp on this machine", "local"
        ),
    ),
)
BY_SOURCE: Registry[Any] = Registry(
    "model",
    "",
    (
        Component("encoder", "rankproof.models._bert:Bert", "a BERT encoder from a folder or the Hugging Face Hub"),
        Component(
            "cross-encoder", "rankproof.models._bert:CrossEncoder", "a BERT cross-encoder from a folder or the Hugging Face Hub"
        ),
    ),
)
"""The class for a source without a name before it, by kind."""
MODELS: Mapping[ModelKind, Registry[Any]] = {"encoder": ENCODERS, "cross-encoder": CROSS_ENCODERS, "chat": CHATS}


def encoder_by_name(name: str, **settings: Any) -> EncoderModel:
    """An encoder by name: registered, NAME:SOURCE (torch:NAME), a folder or ORGANISATION/MODEL on the hub."""
    model: EncoderModel = _built("encoder", name, settings)
    return model


def cross_encoder_by_name(name: str, **settings: Any) -> CrossEncoderModel:
    """A cross-encoder by name: registered, torch:NAME, a folder or ORGANISATION/MODEL on the hub."""
    model: CrossEncoderModel = _built("cross-encoder", name, settings)
    return model


def chat_model_by_name(name: str, **settings: Any) -> ChatModel:
    """A language model by its registered name."""
    model: ChatModel = _built("chat", name, settings)
    return model


def is_local_chat(name: str) -> bool:
    """Whether the name is that of a registered model, or of a gguf file, and not of a model on a server."""
    return (name in CHATS and name != SERVER_CHAT) or name.endswith(_GGUF)


def any_chat_by_name(name: str, **server: Any) -> ChatModel:
    """A registered language model or a gguf file by its name; any other name is that of a model on a server."""
    if not is_local_chat(name):
        return chat_model_by_name(SERVER_CHAT, model=name, **server)
    return chat_model_by_name("llama", path=name) if name.endswith(_GGUF) else chat_model_by_name(name)


def written_name(kind: ModelKind, model: object) -> tuple[str, str] | None:
    """The name of a model, and the field whose value follows it as its source, if any; None if it is not registered."""
    name = MODELS[kind].name_of(type(model))
    source = source_of(type(model))
    if name is not None:
        # In a table the key `name` is the model's own name, so a source field called `name` is written after the colon.
        return (f"{name}:", "name") if source is not None and source.field == "name" else (name, "")
    if source is not None and BY_SOURCE.name_of(type(model)) == kind:
        return "", source.field
    return None


def source_prefix(kind: ModelKind, name: str) -> str:
    """The part of NAME:SOURCE before the source, with the colon; empty for any other name."""
    first, colon, _ = name.partition(":")
    known = colon and first in MODELS[kind] and source_of(MODELS[kind].load(first)) is not None
    return f"{first}:" if known else ""


def find(kind: ModelKind, name: str) -> tuple[Callable[..., Any], tuple[str, ...]] | None:
    """The class of a name, and the source in the name as its argument; None for an unknown name."""
    if name in MODELS[kind]:
        return MODELS[kind].load(name), ()
    if prefix := source_prefix(kind, name):
        return MODELS[kind].load(prefix.removesuffix(":")), (name.removeprefix(prefix),)
    if any(mark in name for mark in "/\\.~") and kind in BY_SOURCE:
        return BY_SOURCE.load(kind), (name,)
    return None


def source_of(model: Any) -> Setting | None:
    """The setting with a model's source, always the first; None if the model has none."""
    first = settings_of(model)[:1]
    return first[0] if first and first[0].option.role == "source" else None


def is_ready(model: EncoderModel | CrossEncoderModel | ChatModel) -> bool:
    """Whether the model can be loaded without a network; true for a model without `is_ready`."""
    ready: Callable[[], bool] = getattr(model, "is_ready", lambda: True)
    return ready()


def _built(kind: ModelKind, name: str, settings: Mapping[str, Any]) -> Any:
    if not isinstance(name, str):
        raise UsageError(f"{name!r} is not the name of a model", fix="give the name as text")
    if not name.strip():
        raise UsageError("the model's name is empty", fix=f"known: {_known_names(kind)}")
    known = find(kind, name)
    if known is None:
        raise UsageError(f"no model is called {for_message(name)}", fix=f"known: {_known_names(kind)}")
    make, source = known
    _check_has_source(kind, name, settings)
    return build("model", name, make, settings, *source)


def _check_has_source(kind: ModelKind, name: str, settings: Mapping[str, Any]) -> None:
    """Raises an error if a registered model has no source."""
    source = source_of(MODELS[kind].load(name)) if name in MODELS[kind] else None
    if source is not None and source.required and source.key not in settings:
        raise UsageError(f"the model {name} lacks its {source.key}", fix=f"write {name}:FOLDER")


def _known_names(kind: ModelKind) -> str:
    sources = ("NAME:SOURCE (torch:acme/tiny)", "a folder (./NAME)", "ORGANISATION/MODEL on the hub") if kind in BY_SOURCE else ()
    return ", ".join((*MODELS[kind].names(), *sources))


@dataclass(frozen=True, slots=True)
class DownloadedModel:
    """A folder with weights or graphs of one model: their revision, size and path."""

    model: str
    kind: str
    revision: str
    bytes: int
    path: Path


def downloaded_models() -> list[DownloadedModel]:
    """Weights and graphs on this machine, sorted by model; those in installed packages first."""
    manifests = [*models_cache_folder().glob(f"*/{MANIFEST}"), *models_cache_folder().glob(f"hub/*/{MANIFEST}")]
    folders = [_downloaded_model(manifest.parent) for manifest in manifests if not manifest.parent.name.startswith(".")]
    return [*_packaged_models(), *sorted(folders, key=lambda model: (model.model, model.kind, str(model.path)))]


def model_folder_path(name: str) -> Path | None:
    """The folder with a model's weights, None if they are not on this machine."""
    if model := downloadable_model(name):
        path = model.weights_path()
        return path and path.parent
    folder = hub_folder(name) if is_hub_name(name) else None
    return folder if folder is not None and folder.is_dir() else None


def downloadable_model(name: str) -> DownloadableModel | None:
    """The registered model of that name if its weights can be downloaded, None otherwise."""
    kinds = (registry.load(name) for registry in MODELS.values() if name in registry)
    return next((model() for model in kinds if hasattr(model, "download")), None)


def downloadable_names() -> list[str]:
    """The names of this package's models whose weights can be downloaded."""
    components = {component.name: component for registry in MODELS.values() for component in registry.components}
    return [name for name, component in components.items() if hasattr(component.load(), "download")]


def _packaged_models() -> list[DownloadedModel]:
    """The weights in installed packages."""
    models = {name: downloadable_model(name) for name in downloadable_names()}
    paths = {name: path for name, model in models.items() if model and (path := model.weights_path())}
    return [
        DownloadedModel(name, "weights", file_sha256(path), path.stat().st_size, path.parent)
        for name, path in paths.items()
        if not path.is_relative_to(models_cache_folder())
    ]


def _downloaded_model(folder: Path) -> DownloadedModel:
    try:
        facts = folder_facts(folder)
    except ExternalError:
        facts = {}
    kind = " ".join(str(facts[part]) for part in ("precision", "kind") if part in facts)
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    return DownloadedModel(str(facts.get("model", "?")), kind or "?", str(facts.get("revision", "?")), size, folder)
