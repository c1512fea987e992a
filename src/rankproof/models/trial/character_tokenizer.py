"""Characters as tokens: nothing is trained and nothing is unknown."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..tokenizer_file import whole_characters
from .ids import Ids


@dataclass(frozen=True, slots=True)
class CharacterTokenizer:
    """A text's code points as they are written, without normalisation, each plus 1, for 0 is padding."""

    kind: str = "characters"

    @property
    def vocabulary(self) -> int:
        """Every code point and padding; the net has no row for each but hashes them."""
        return sys.maxunicode + 2

    def ids(self, texts: Sequence[str]) -> list[Ids]:
        """The ids of each text."""
        return [
            np.frombuffer(whole_characters(text).encode("utf-32-le"), dtype="<i4").astype(np.int32) + np.int32(1)
            for text in texts
        ]

    def unknown(self, texts: Sequence[str]) -> tuple[int, int]:
        """Of all tokens none is unknown."""
        return 0, sum(len(whole_characters(text)) for text in texts)

    def files(self) -> Mapping[str, bytes]:
        """Nothing has to be kept."""
        return {}
