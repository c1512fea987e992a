"""Bytes as tokens: nothing is trained and nothing is unknown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..tokenizer_file import whole_characters
from .ids import Ids


@dataclass(frozen=True, slots=True)
class ByteTokenizer:
    """A text's UTF-8 bytes, each plus 1, for 0 is padding."""

    kind: str = "bytes"

    @property
    def vocabulary(self) -> int:
        """256 bytes and padding."""
        return 257

    def ids(self, texts: Sequence[str]) -> list[Ids]:
        """The ids of each text."""
        return [np.frombuffer(whole_characters(text).encode(), dtype=np.uint8).astype(np.int32) + np.int32(1) for text in texts]

    def unknown(self, texts: Sequence[str]) -> tuple[int, int]:
        """Of all tokens none is unknown."""
        return 0, sum(len(whole_characters(text).encode()) for text in texts)

    def files(self) -> Mapping[str, bytes]:
        """Nothing has to be kept."""
        return {}
