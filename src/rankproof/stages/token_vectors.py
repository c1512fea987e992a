"""A vector for every token of every passage, in 8 bits a number, as late interaction needs them.

Each vector is stored as whole numbers from -127 to 127 and one scale. An inner product of two vectors of length 1 is then off by
a thousandth or so, and the vectors of a corpus fit into memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..data.arrays import Matrix
from ..data.identity import key_of
from ..models.ports import EncoderModel, TokenEncoder
from ..version import __version__
from .base import Block, Ground
from .blocks import BLOCK, passage_blocks
from .encoding import token_rows

LEVELS = 127


@dataclass(frozen=True, slots=True)
class Place:
    """A document's block, and its rows there."""

    block: int
    start: int
    end: int


@dataclass(frozen=True, eq=False, slots=True)
class TokenVectors:
    """The key of the work, blocks of whole numbers with a scale for each row, and where each document's rows are."""

    key: str
    numbers: tuple[NDArray[np.int8], ...]
    scales: tuple[Matrix, ...]
    places: dict[str, Place]
    truncated: int
    seconds: float

    def products(self, doc: str, vectors: Matrix) -> Matrix:
        """The inner products of a document's tokens, a row each, with the vectors, a column each."""
        at = self.places[doc]
        numbers, scales = self.numbers[at.block][at.start : at.end], self.scales[at.block][at.start : at.end]
        return np.asarray(numbers.astype(np.float32) @ vectors.T * scales[:, np.newaxis], dtype=np.float32)

    def count(self) -> int:
        """Vectors in all."""
        return sum(len(block) for block in self.numbers)

    def size(self) -> int:
        """Bytes."""
        return sum(block.nbytes for block in self.numbers) + sum(block.nbytes for block in self.scales)


def token_vectors(ground: Ground, model: EncoderModel, encoder: TokenEncoder, fields: Sequence[str]) -> TokenVectors:
    """Encoded now, or remembered."""
    blocks = passage_blocks(ground.corpus, fields)

    def make(at: int) -> Block:
        texts = [text for _, text in blocks[at]]
        found = token_rows(encoder, texts)
        counts = {"lengths": [len(one) for one in found], "truncated": [encoder.cut(texts)]}
        return {**_packed(np.concatenate(found)), **{name: np.array(count, dtype=np.int64) for name, count in counts.items()}}

    key = key_of("token vectors", __version__, BLOCK, ground.corpus_key, model, list(fields))
    made, seconds = ground.keep.blocks(key, len(blocks), make, label="encoding tokens", items=len(ground.corpus))
    places: dict[str, Place] = {}
    for number, (block, one) in enumerate(zip(blocks, made, strict=True)):
        ends = np.cumsum(one["lengths"]).tolist()
        places.update({doc: Place(number, *span) for (doc, _), *span in zip(block, [0, *ends], ends, strict=False)})
    return TokenVectors(
        key=key,
        numbers=tuple(one["numbers"] for one in made),
        scales=tuple(one["scales"] for one in made),
        places=places,
        truncated=sum(int(one["truncated"][0]) for one in made),
        seconds=seconds,
    )


def _packed(vectors: Matrix) -> Block:
    scales = np.abs(vectors).max(axis=1, initial=0.0) / np.float32(LEVELS)
    whole = np.rint(vectors / np.where(scales == 0, np.float32(1), scales)[:, np.newaxis])
    return {"numbers": whole.astype(np.int8), "scales": scales.astype(np.float32)}
