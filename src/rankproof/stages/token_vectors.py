"""A vector for every token of every passage, in 16 bits, as late interaction needs them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..data.arrays import Matrix
from ..data.identity import key_of
from ..models.ports import EncoderModel, TokenEncoder
from .base import Block, Ground
from .blocks import passage_blocks, truncated_so_far

Halves = NDArray[np.float16]


@dataclass(frozen=True, eq=False, slots=True)
class TokenVectors:
    """Blocks of token vectors, and for each document its block and its rows there."""

    blocks: tuple[Halves, ...]
    places: dict[str, tuple[int, int, int]]
    truncated: int
    seconds: float

    def of(self, doc: str) -> Halves:
        """One row a token of the passage."""
        block, start, end = self.places[doc]
        return self.blocks[block][start:end]

    def count(self) -> int:
        """Vectors in all."""
        return sum(len(block) for block in self.blocks)

    def size(self) -> int:
        """Bytes."""
        return sum(block.nbytes for block in self.blocks)

    def __len__(self) -> int:
        return len(self.places)


def without_ends(tokens: Matrix) -> Matrix:
    """The tokens of the text alone: the first and the last are the model's own marks."""
    return tokens[1:-1]


def token_vectors(ground: Ground, model: EncoderModel, encoder: TokenEncoder, fields: Sequence[str]) -> TokenVectors:
    """Encoded now, or remembered."""
    blocks = passage_blocks(ground.corpus, fields)

    def make(at: int) -> Block:
        before = truncated_so_far(encoder.facts())
        found = [without_ends(one) for one in encoder.tokens([text for _, text in blocks[at]])]
        cut = truncated_so_far(encoder.facts()) - before
        lengths = np.array([len(one) for one in found], dtype=np.int64)
        return {"tokens": np.concatenate(found).astype(np.float16), "lengths": lengths, "truncated": np.array([cut])}

    key = key_of("token vectors", ground.corpus_key, model, list(fields))
    made, seconds = ground.keep.blocks(key, len(blocks), make, label="encoding tokens")
    places: dict[str, tuple[int, int, int]] = {}
    for number, (block, one) in enumerate(zip(blocks, made, strict=True)):
        ends = np.cumsum(one["lengths"]).tolist()
        places.update({doc: (number, start, end) for (doc, _), start, end in zip(block, [0, *ends], ends, strict=False)})
    truncated = sum(int(one["truncated"][0]) for one in made)
    return TokenVectors(tuple(one["tokens"] for one in made), places, truncated, seconds)
