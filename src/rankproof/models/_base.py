"""The protocols of encoders and cross-encoders, and the options that models share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, Protocol, get_args, runtime_checkable

from rankproof._data.arrays import FloatArray, Matrix
from rankproof._registry import Option
from rankproof.errors import UsageError


class Encoder(Protocol):
    """A loaded bi-encoder; one whose vector of a text has the same bits in every list of texts has `batch_invariant = True`.

    One that encodes queries and passages differently also has `encode_queries`, of the form of `encode`, which is for passages.
    """

    def encode(self, texts: Sequence[str]) -> Matrix:
        """One float32 row per text, of length 1, or zeros for a text without tokens; the same texts give the same bits.

        Stages replace the row of a blank text by zeros.
        """
        ...

    def cut(self, texts: Sequence[str]) -> int:
        """The number of texts that the model truncates."""
        ...

    def facts(self) -> Mapping[str, Any]:
        """Dimensions, max_tokens, precision, revision, library and so on, as JSON."""
        ...


def encode_queries(encoder: Encoder, texts: Sequence[str]) -> Matrix:
    """The vectors of queries: as those of passages, unless the encoder encodes queries differently."""
    encode: Callable[[Sequence[str]], Matrix] = getattr(encoder, "encode_queries", encoder.encode)
    return encode(texts)


@runtime_checkable
class TokenEncoder(Encoder, Protocol):
    """A loaded encoder that also gives a vector for each token."""

    def tokens(self, texts: Sequence[str]) -> list[Matrix]:
        """For each text one float32 row per token (special tokens included), of length 1."""
        ...


class LoadedCrossEncoder(Protocol):
    """A loaded cross-encoder, which reads query and passage together."""

    def scores(self, query: str, passages: Sequence[str]) -> FloatArray:
        """One score per passage; higher is better, the scale depends on the model."""
        ...

    def cut(self, query: str, passages: Sequence[str]) -> int:
        """The number of passages that the model truncates together with the query."""
        ...

    def facts(self) -> Mapping[str, Any]:
        """Max_tokens, precision, revision, library and so on, as JSON."""
        ...


class EncoderModel(Protocol):
    """The settings of an encoder, a frozen value; `gives_tokens` is False if it returns no token vectors."""

    def load(self, *, threads: int = 1) -> Encoder: ...

    def revision(self) -> str: ...


class CrossEncoderModel(Protocol):
    """The settings of a cross-encoder, a frozen value."""

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
"""The precisions of ONNX graphs, which run on the CPU."""
_MIN_TOKENS = 4

Source = Annotated[str, Option("a folder with weights, or ORGANISATION/MODEL on the model hub", role="source")]
TokenLimit = Annotated[int, Option("maximum length of a text in tokens; longer texts are truncated", least=_MIN_TOKENS)]
OwnTokenLimit = Annotated[
    int | None, Option("maximum length of a text in tokens (default: that of the model)", least=_MIN_TOKENS)
]


def remote_code_note(model: object) -> tuple[str, ...]:
    """A note if code that came with the model was run."""
    if not getattr(model, "trust_remote_code", False):
        return ()
    return ("Python code that came with the model was run (trust_remote_code)",)


def check_source(source: str) -> None:
    """Raises an error for a source that is not a text, or is empty."""
    if not isinstance(source, str) or not source or "\0" in source:
        raise UsageError(f"{source!r} is not a model", fix="give a model's folder, or ORGANISATION/MODEL on the hub")
