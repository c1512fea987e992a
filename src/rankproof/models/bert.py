"""Any encoder of the BERT family, from a folder or the hub, by the written graph."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ..data.identity import NOT_PART
from ..errors import UsageError, WorldError, visible
from .graph_cache import PRECISIONS, Precision, graph_of
from .model_folder import POOLINGS, ModelFolder, Pooling, open_folder
from .onnx_encoder import OnnxEncoder
from .onnx_session import Session
from .sources import folder_of, is_here
from .tokenizer_file import TokenizerFile

_LEAST_TOKENS = 4


@dataclass(frozen=True, slots=True)
class Bert:
    """A folder with safetensors or a hub name; length and pooling are the model's own unless they are given."""

    source: str = field(metadata=NOT_PART)
    precision: Precision = "int8"
    max_tokens: int | None = None
    pooling: Pooling | None = None

    def __post_init__(self) -> None:
        check_source(self.source)
        check_settings(self.precision, self.max_tokens)
        if self.pooling is not None and self.pooling not in POOLINGS:
            raise UsageError(f"no pooling is called {self.pooling!r}", fix=f"choose one of {', '.join(POOLINGS)}")

    def load(self, *, threads: int = 1) -> OnnxEncoder:
        """The model ready to run; its graph is written first where it is not in the cache."""
        folder = open_folder(folder_of(self.source))
        length, pooling = self.max_tokens or folder.max_tokens(), self.pooling or folder.pooling()
        return loaded(folder, folder.revision(), self.precision, length, pooling, source=self.source, threads=threads)

    def revision(self) -> str:
        """A sha256 over the folder's weights, tokenizer and settings."""
        return open_folder(folder_of(self.source)).revision()

    def is_ready(self) -> bool:
        """Whether it can be loaded without a network."""
        return is_here(self.source)


def loaded(
    folder: ModelFolder, revision: str, precision: Precision, length: int, pooling: Pooling, *, source: str, threads: int
) -> OnnxEncoder:
    """An encoder of the folder's weights."""
    tokenizer = opened_tokenizer(folder, length)
    session = Session(graph_of(folder, revision, precision, head=False))
    told: dict[str, Any] = {"max_tokens": length, "precision": precision, "revision": revision, "source": source}
    told |= {"prompts": folder.prompts()} if folder.prompts() else {}
    return OnnxEncoder(session, tokenizer, size=folder.shape.hidden, pooling=pooling, threads=threads, told=told)


def opened_tokenizer(folder: ModelFolder, length: int) -> TokenizerFile:
    """The tokenizer, cutting at so many tokens; both must fit the weights."""
    if length > folder.shape.longest:
        raise UsageError(f"{folder.path} has positions for {folder.shape.longest} tokens, not {length}", fix="lower max_tokens")
    tokenizer = TokenizerFile(folder.tokenizer, max_tokens=length, lowers=folder.lowers())
    if tokenizer.size() > folder.shape.vocabulary:
        sizes = f"{tokenizer.size()} tokens, and config.json says {folder.shape.vocabulary}"
        raise WorldError(visible(f"{folder.tokenizer}: {sizes}; do they belong together?"))
    return tokenizer


def check_source(source: str) -> None:
    """Refuses what is no text."""
    if not isinstance(source, str) or not source or "\0" in source:
        raise UsageError(f"{source!r} is no model", fix="name a model's folder, or ORGANISATION/MODEL on the hub")


def check_settings(precision: str, max_tokens: int | None) -> None:
    """Refuses settings that no model has."""
    if precision not in PRECISIONS:
        raise UsageError(f"no precision is called {precision!r}", fix=f"choose one of {', '.join(PRECISIONS)}")
    if max_tokens is not None and (type(max_tokens) is not int or max_tokens < _LEAST_TOKENS):
        raise UsageError(f"max_tokens is {max_tokens!r}", fix=f"give a whole number of at least {_LEAST_TOKENS}")
