"""Texts made vectors: one that says nothing has no direction, whatever a model makes of its own marks."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..data.arrays import Matrix
from ..models.ports import Encoder, TokenEncoder


def is_blank(text: str) -> bool:
    """Whether nothing stands there."""
    return not text.strip()


def prompted(prompt: str, text: str) -> str:
    """The text behind its prompt; a blank text stays without, as a prompt alone says nothing about it."""
    return text if is_blank(text) else f"{prompt}{text}"


def text_vectors(encoder: Encoder, texts: Sequence[str]) -> Matrix:
    """One row a text, zeros for a blank one."""
    vectors = np.array(encoder.encode(texts), dtype=np.float32, order="C")
    vectors[[is_blank(text) for text in texts]] = 0
    return vectors


def token_rows(encoder: TokenEncoder, texts: Sequence[str]) -> list[Matrix]:
    """For each text one row a token, none for a blank one."""
    return [rows[:0] if is_blank(text) else rows for text, rows in zip(texts, encoder.tokens(texts), strict=True)]
