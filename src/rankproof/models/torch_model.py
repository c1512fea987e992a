"""Whatever sentence-transformers can load, as values, by the extra `torch`."""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Annotated, Any

from .._registry import Option
from ..data.identity import NOT_PART
from .settings import OwnTokenLimit, Source, check, check_source
from .torch_loading import Kind, TorchEncoder, TorchPairScorer, length_name, library, open_torch
from .torch_source import is_folder, torch_folder, weights_of


@dataclass(frozen=True, slots=True)
class TorchModel:
    """A model by its folder or hub name; `revision_name` is a branch, tag or commit of the hub."""

    name: Source = field(metadata=NOT_PART)
    revision_name: Annotated[str | None, Option("branch, tag or commit on the hub")] = field(default=None, metadata=NOT_PART)
    max_tokens: OwnTokenLimit = None

    def __post_init__(self) -> None:
        check_source(self.name)
        check(self)

    def revision(self) -> str:
        """The weights' own, and the libraries that run them."""
        return f"{self.weights()}, {library()}"

    def weights(self) -> str:
        """The commit of the hub, or a sha256 over the folder's files."""
        return weights_of(self.name, self.revision_name)

    def is_ready(self) -> bool:
        """Whether it can be loaded without a network."""
        return find_spec("sentence_transformers") is not None and is_folder(self.name)


@dataclass(frozen=True, slots=True)
class SentenceTransformer(TorchModel):
    """An encoder."""

    def load(self, *, threads: int = 1) -> TorchEncoder:
        """The model on the processor."""
        return TorchEncoder(*_opened("SentenceTransformer", self, threads))


@dataclass(frozen=True, slots=True)
class TorchCrossEncoder(TorchModel):
    """A cross-encoder."""

    def load(self, *, threads: int = 1) -> TorchPairScorer:
        """The model on the processor."""
        return TorchPairScorer(*_opened("CrossEncoder", self, threads))


def _opened(kind: Kind, model: TorchModel, threads: int) -> tuple[Any, dict[str, Any]]:
    """The library's object, and what a reader should know of where it came from."""
    inner = open_torch(kind, torch_folder(model.name, model.revision_name), threads)
    if model.max_tokens is not None:
        setattr(inner, length_name(inner), model.max_tokens)
    return inner, {"source": model.name, "revision": model.weights()}
