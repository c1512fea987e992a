"""Whatever sentence-transformers can load, as values, by the extra `torch`."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ..data.identity import NOT_PART
from .bert import check_settings, check_source
from .checksums import sha256_of
from .torch_loading import Kind, TorchEncoder, TorchPairScorer, length_name, open_torch, torch_folder


@dataclass(frozen=True, slots=True)
class SentenceTransformer:
    """An encoder by its folder or hub name; `revision_name` is a branch, tag or commit of the hub."""

    name: str = field(metadata=NOT_PART)
    revision_name: str | None = field(default=None, metadata=NOT_PART)
    max_tokens: int | None = None

    def __post_init__(self) -> None:
        check_source(self.name)
        check_settings("fp32", self.max_tokens)

    def load(self, *, threads: int = 1) -> TorchEncoder:
        """The model on the processor."""
        inner = _opened("SentenceTransformer", self, threads)
        return TorchEncoder(inner, {"source": self.name, "revision": self.revision()})

    def revision(self) -> str:
        """The commit of the hub, or a sha256 over the folder's files."""
        return _revision(self.name, self.revision_name)

    def is_ready(self) -> bool:
        """Whether it can be loaded without a network."""
        return _is_ready(self.name)


@dataclass(frozen=True, slots=True)
class TorchCrossEncoder:
    """A cross-encoder by its folder or hub name."""

    name: str = field(metadata=NOT_PART)
    revision_name: str | None = field(default=None, metadata=NOT_PART)
    max_tokens: int | None = None

    def __post_init__(self) -> None:
        check_source(self.name)
        check_settings("fp32", self.max_tokens)

    def load(self, *, threads: int = 1) -> TorchPairScorer:
        """The model on the processor."""
        inner = _opened("CrossEncoder", self, threads)
        return TorchPairScorer(inner, {"source": self.name, "revision": self.revision()})

    def revision(self) -> str:
        """The commit of the hub, or a sha256 over the folder's files."""
        return _revision(self.name, self.revision_name)

    def is_ready(self) -> bool:
        """Whether it can be loaded without a network."""
        return _is_ready(self.name)


def _opened(kind: Kind, model: SentenceTransformer | TorchCrossEncoder, threads: int) -> Any:
    inner = open_torch(kind, torch_folder(model.name, model.revision_name), threads)
    if model.max_tokens is not None:
        setattr(inner, length_name(inner), model.max_tokens)
    return inner


def _revision(name: str, revision_name: str | None) -> str:
    folder = torch_folder(name, revision_name)
    if not Path(name).is_dir():
        return folder.name
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    listed = "\n".join(f"{path.relative_to(folder).as_posix()} {sha256_of(path)}" for path in files)
    return hashlib.sha256(listed.encode()).hexdigest()


def _is_ready(name: str) -> bool:
    return find_spec("sentence_transformers") is not None and Path(name).is_dir()
