"""Encoder, CrossEncoder protocols, options."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, Protocol, get_args, runtime_checkable

from rankproof._data.arrays import FloatArray, Matrix
from rankproof._registry import Option
from rankproof.errors import UsageError


class Encoder(Protocol):
    """A loaded bi-encoder."""

    def encode(self, texts: Sequence[str]) -> Matrix:
        """One row a text, float32, of length 1, or zeros where a text has no token; the same texts give the same bits.

        What a model makes of a blank text does not count: stages take zeros for it.
        """
        ...

    def cut(self, texts: Sequence[str]) -> int:
        """How many of the texts are longer than the model reads."""
        ...

    def facts(self) -> Mapping[str, Any]:
        """What a reader should know: dimensions, max_tokens, precision, revision, library."""
        ...


@runtime_checkable
class TokenEncoder(Encoder, Protocol):
    """A loaded encoder that also gives a vector for every token."""

    def tokens(self, texts: Sequence[str]) -> list[Matrix]:
        """For each text one row a token (special tokens included), float32, of length 1; stages take none for a blank text."""
        ...


class LoadedCrossEncoder(Protocol):
    """A loaded model that reads query and passage together."""

    def scores(self, query: str, passages: Sequence[str]) -> FloatArray:
        """How relevant each passage is; higher is better, the scale is the model's own."""
        ...

    def cut(self, query: str, passages: Sequence[str]) -> int:
        """How many of the passages are, with the query, longer than the model reads."""
        ...

    def facts(self) -> Mapping[str, Any]:
        """As of an encoder."""
        ...


class EncoderModel(Protocol):
    """The value that stands for an encoder; one that has no vectors for tokens says so by `gives_tokens = False`."""

    def load(self, *, threads: int = 1) -> Encoder: ...

    def revision(self) -> str: ...


class CrossEncoderModel(Protocol):
    """The value that stands for a pair scorer."""

    def load(self, *, threads: int = 1) -> LoadedCrossEncoder: ...

    def revision(self) -> str: ...


DownloadProgress = Callable[[int, int | None], None]
"""Receives the bytes so far and the total, None if it is unknown."""
ReportStatus = Callable[[str], None]
"""Receives a sentence on what is done."""


class DownloadableModel(Protocol):
    """A model whose weights `rankproof models get NAME` downloads."""

    def download(self, report: ReportStatus, progress: DownloadProgress) -> Path:
        """Downloads the weights, or checks those in the cache; returns their folder."""
        ...

    def weights_path(self) -> Path | None:
        """The file with the weights, in the cache or in an installed package; None if there is none."""
        ...


Precision = Literal["int8", "fp32"]
PRECISIONS: tuple[Precision, ...] = get_args(Precision)
_MIN_TOKENS = 4

Source = Annotated[str, Option("a folder with weights, or ORGANISATION/MODEL on the model hub", role="source")]
PrecisionOption = Annotated[Precision, Option("precision of the weights: int8 or fp32")]
TokenLimit = Annotated[int, Option("texts are truncated after so many tokens", least=_MIN_TOKENS)]
OwnTokenLimit = Annotated[
    int | None, Option("texts are truncated after so many tokens (the model's own limit)", least=_MIN_TOKENS)
]


def check_source(source: str) -> None:
    """Refuses what is not a model's source."""
    if not isinstance(source, str) or not source or "\0" in source:
        raise UsageError(f"{source!r} is no model", fix="name a model's folder, or ORGANISATION/MODEL on the hub")
