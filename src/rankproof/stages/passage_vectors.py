"""The vectors of all passages under one model and prompt, made once and shared by every stage that needs them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..data.arrays import Matrix
from ..data.identity import key_of
from ..models.ports import Encoder, EncoderModel
from ..version import __version__
from .base import Block, Ground
from .blocks import BLOCK, passage_blocks
from .encoding import is_blank, prompted, text_vectors


@dataclass(frozen=True, eq=False, slots=True)
class PassageVectors:
    """The work's key, a row for each document, how many passages are empty (rows of zeros) or were cut, and the seconds."""

    key: str
    ids: tuple[str, ...]
    matrix: Matrix
    empty: int
    truncated: int
    seconds: float


def passage_vectors(ground: Ground, model: EncoderModel, encoder: Encoder, prompt: str, fields: Sequence[str]) -> PassageVectors:
    """Encoded now, or remembered: of a stage the key has nothing but the model, the prompt and the fields."""
    blocks = passage_blocks(ground.corpus, fields)

    def make(at: int) -> Block:
        texts = [prompted(prompt, text) for _, text in blocks[at]]
        return {"vectors": text_vectors(encoder, texts), "truncated": np.array([encoder.cut(texts)], dtype=np.int64)}

    key = key_of("passage vectors", __version__, BLOCK, ground.corpus_key, model, prompt, list(fields))
    made, seconds = ground.keep.blocks(key, len(blocks), make, label="encoding passages", items=len(ground.corpus))
    return PassageVectors(
        key=key,
        ids=tuple(doc for block in blocks for doc, _ in block),
        matrix=np.concatenate([block["vectors"] for block in made]) if made else np.zeros((0, 0), dtype=np.float32),
        empty=sum(is_blank(text) for block in blocks for _, text in block),
        truncated=sum(int(block["truncated"][0]) for block in made),
        seconds=seconds,
    )
