"""Texts as one table of token ids, made once before training."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ...data.arrays import IntArray
from ...models.trial.shape import text_read

if TYPE_CHECKING:
    from ...models.trial.tokenizer import Tokenizer

_ROUNDED = 32
"""Sequences are as long as the longest of the batch, rounded up to a multiple of this: few shapes, little padding."""


@dataclass(frozen=True, slots=True)
class IdTable:
    """A row a text, padded with 0, and how many ids each row has."""

    ids: NDArray[np.int32]
    lengths: IntArray

    def longest(self, rows: IntArray) -> int:
        """How many columns a batch of these rows needs."""
        return min(int(self.ids.shape[1]), -(-int(self.lengths[rows].max()) // _ROUNDED) * _ROUNDED)


def id_table(tokenizer: Tokenizer, texts: Sequence[str], characters: int) -> IdTable:
    """What is read of the texts, in tokens."""
    rows = tokenizer.ids([text_read(text, characters) for text in texts])
    lengths = np.array([len(row) for row in rows], dtype=np.int64)
    table = np.zeros((len(rows), -(-max(1, int(lengths.max())) // _ROUNDED) * _ROUNDED), dtype=np.int32)
    table[np.arange(table.shape[1]) < lengths[:, None]] = np.concatenate(rows)
    return IdTable(table, lengths)
