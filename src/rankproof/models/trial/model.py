"""Encoders that `rankproof tokenizers train` wrote, as values."""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, ClassVar, Literal

from ..._registry import Option
from ...data.checks import check_options
from ...data.identity import NOT_PART
from ...errors import InputError, UsageError
from ..checksums import sha256_of_all
from .checkpoint import CARD, Checkpoint, open_checkpoint
from .encoder import TrialEncoder, library
from .kinds import kind_named

Place = Literal["cpu", "cuda"]
_NUMBERS_VERSION = 1
"""Rises when the net gives other numbers for the same weights."""


@dataclass(frozen=True, slots=True)
class Trial:
    """A checkpoint by its folder; where it lies is no part of what the model is, and where it runs is: the last bits differ."""

    source: Annotated[str, Option("a folder that rankproof tokenizers train wrote", role="source")] = field(metadata=NOT_PART)
    device: Annotated[Place, Option("where the network runs: cpu or cuda")] = "cpu"
    gives_tokens: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if not isinstance(self.source, str) or not self.source or "\0" in self.source:
            raise UsageError(f"{self.source!r} is no checkpoint", fix="name a folder that rankproof tokenizers train wrote")
        check_options(self)

    def load(self, *, threads: int = 1) -> TrialEncoder:
        """The encoder on its device."""
        checkpoint = self.checkpoint()
        told = {"source": self.source, "revision": _digest(checkpoint)}
        return TrialEncoder(checkpoint, threads=threads, device=self.device, told=told)

    def revision(self) -> str:
        """A sha256 over the folder's files, and the libraries that run them."""
        return f"{_digest(self.checkpoint())}, {library()}"

    def is_ready(self) -> bool:
        """Whether it can be loaded."""
        return find_spec("torch") is not None and (Path(self.source).expanduser() / CARD).is_file()

    def checkpoint(self) -> Checkpoint:
        """The folder, opened."""
        return open_checkpoint(self.source)


@dataclass(frozen=True, slots=True)
class Bpe(Trial):
    """A checkpoint whose tokenizer is a BPE."""

    def checkpoint(self) -> Checkpoint:
        """The folder, opened; one with another tokenizer is refused."""
        found = open_checkpoint(self.source)
        if kind_named(found.shape.kind).family != "bpe":
            raise InputError(
                f"its tokenizer is {found.shape.kind}", source=self.source, fix="name the model as trial, or a folder of a bpe"
            )
        return found


def _digest(checkpoint: Checkpoint) -> str:
    return f"{sha256_of_all(dict(sorted(checkpoint.digests().items())))}.{_NUMBERS_VERSION}"
