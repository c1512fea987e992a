"""What the stages need of a model.

A model is a frozen value (`WordLlama()`, `MiniLM(precision="fp32")`) that can be compared, hashed and written down; `load` makes
it something that works. `revision` says exactly which weights stand behind it and which libraries run them, without loading any.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from ..data.arrays import FloatArray, Matrix


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


class PairScorer(Protocol):
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


class PairModel(Protocol):
    """The value that stands for a pair scorer."""

    def load(self, *, threads: int = 1) -> PairScorer: ...

    def revision(self) -> str: ...
