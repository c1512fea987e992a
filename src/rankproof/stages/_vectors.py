"""Encodes passages and their tokens, block by block through the cache."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankproof._data import format_versions
from rankproof._data.arrays import Matrix, collapse_note, mean_pair_cosine
from rankproof._data.corpus import Corpus
from rankproof._data.identity import identity_key
from rankproof._io.journal import Block
from rankproof._version import __version__
from rankproof.models._base import Encoder, EncoderModel, TokenEncoder
from rankproof.stages._base import BuildContext
from rankproof.stages._fields import passage_texts
from rankproof.stores._nearest import rounded_dots

PASSAGES_PER_BLOCK = 256


def _code_key() -> tuple[str | int, ...]:
    """What cached vectors depend on besides their corpus and model."""
    return __version__, format_versions.STAGE_CACHE, PASSAGES_PER_BLOCK


def passage_blocks(corpus: Corpus, fields: Sequence[str]) -> list[list[tuple[str, str]]]:
    """Ids and passages, shortest first, in blocks that depend on the corpus but not on its order."""
    texts = passage_texts(corpus, fields)
    ordered = sorted(texts.items(), key=lambda item: (len(item[1]), item[0]))
    return [ordered[start : start + PASSAGES_PER_BLOCK] for start in range(0, len(ordered), PASSAGES_PER_BLOCK)]


def is_blank(text: str) -> bool:
    """Whether the text is empty or whitespace."""
    return not text.strip()


def add_prompt(prompt: str, text: str) -> str:
    """The text after its prompt; a blank text gets no prompt."""
    return text if is_blank(text) else f"{prompt}{text}"


def text_vectors(encoder: Encoder, texts: Sequence[str]) -> Matrix:
    """One row per text, zeros for a blank text."""
    vectors = np.array(encoder.encode(texts), dtype=np.float32, order="C")
    vectors[[is_blank(text) for text in texts]] = 0
    return vectors


def token_rows(encoder: TokenEncoder, texts: Sequence[str]) -> list[Matrix]:
    """One row per token for each text, none for a blank text."""
    return [rows[:0] if is_blank(text) else rows for text, rows in zip(texts, encoder.tokens(texts), strict=True)]


@dataclass(frozen=True, eq=False, slots=True)
class PassageVectors:
    """The cache key, one row per document, the numbers of empty (zero) and truncated passages, and the seconds of encoding."""

    key: str
    ids: tuple[str, ...]
    matrix: Matrix
    empty: int
    truncated: int
    seconds: float


def passage_vectors(
    context: BuildContext, model: EncoderModel, encoder: Encoder, prompt: str, fields: Sequence[str]
) -> PassageVectors:
    """The passage vectors, encoded or cached; the key depends on the corpus, the model, the prompt and the fields."""
    blocks = passage_blocks(context.corpus, fields)

    def make(at: int) -> Block:
        texts = [add_prompt(prompt, text) for _, text in blocks[at]]
        return {"vectors": text_vectors(encoder, texts), "truncated": np.array([encoder.cut(texts)], dtype=np.int64)}

    key = identity_key("passage vectors", *_code_key(), context.corpus_key, model, prompt, list(fields))
    made, seconds = context.block_cache.blocks(key, len(blocks), make, label="encoding passages", items=len(context.corpus))
    return PassageVectors(
        key=key,
        ids=tuple(doc for block in blocks for doc, _ in block),
        matrix=np.concatenate([block["vectors"] for block in made]) if made else np.zeros((0, 0), dtype=np.float32),
        empty=sum(is_blank(text) for block in blocks for _, text in block),
        truncated=sum(int(block["truncated"][0]) for block in made),
        seconds=seconds,
    )


_CASE_EXAMPLE = "how do search engines rank documents"


def vector_facts(vectors: PassageVectors, encoder: Encoder) -> Mapping[str, Any]:
    """Counts, the mean cosine of two passages (near 1 the vectors have collapsed), and that of a text and its upper case.

    `case_cosine` is below 1 if the encoder distinguishes upper and lower case.
    """
    lower, upper = text_vectors(encoder, [_CASE_EXAMPLE, _CASE_EXAMPLE.upper()])
    return {
        "passages": len(vectors.ids),
        "empty_passages": vectors.empty,
        "truncated_passages": vectors.truncated,
        "mean_cosine": mean_pair_cosine(_nonempty_rows(vectors)),
        "case_cosine": float(rounded_dots(lower[np.newaxis], np.zeros(1, np.int64), upper)[0]),
    }


def vector_notes(vectors: PassageVectors) -> list[str]:
    """Notes on collapsed vectors and on truncated or empty passages."""
    collapsed = collapse_note(_nonempty_rows(vectors))
    notes = [collapsed] if collapsed else []
    if vectors.truncated:
        notes.append(truncation_note(vectors.truncated, len(vectors.ids)))
    if vectors.empty:
        notes.append(f"{vectors.empty} passages are empty; their score is 0 for every query")
    return notes


def truncation_note(cut: int, count: int) -> str:
    """A note on truncated passages."""
    return f"{cut} of {count} passages ({cut / count:.0%}) are longer than the model's limit and were truncated"


def _nonempty_rows(vectors: PassageVectors) -> Matrix:
    """The rows of non-empty passages."""
    return vectors.matrix[np.any(vectors.matrix != 0, axis=1)]


INT8_LEVELS = 127


@dataclass(frozen=True, slots=True)
class TokenRows:
    """The block of a document and its rows in it."""

    block: int
    start: int
    end: int


@dataclass(frozen=True, eq=False, slots=True)
class TokenVectors:
    """The cache key, blocks of int8 rows with one scale per row, and the rows of each document."""

    key: str
    numbers: tuple[NDArray[np.int8], ...]
    scales: tuple[Matrix, ...]
    places: dict[str, TokenRows]
    truncated: int
    seconds: float

    def products(self, doc: str, vectors: Matrix) -> Matrix:
        """The inner products of the document's tokens (rows) with the vectors (columns)."""
        at = self.places[doc]
        numbers, scales = self.numbers[at.block][at.start : at.end], self.scales[at.block][at.start : at.end]
        return np.asarray(numbers.astype(np.float32) @ vectors.T * scales[:, np.newaxis], dtype=np.float32)

    def count(self) -> int:
        """The number of vectors."""
        return sum(len(block) for block in self.numbers)

    def size(self) -> int:
        """The bytes of all blocks."""
        return sum(block.nbytes for block in self.numbers) + sum(block.nbytes for block in self.scales)


def token_vectors(context: BuildContext, model: EncoderModel, encoder: TokenEncoder, fields: Sequence[str]) -> TokenVectors:
    """The token vectors, encoded or cached."""
    blocks = passage_blocks(context.corpus, fields)

    def make(at: int) -> Block:
        texts = [text for _, text in blocks[at]]
        found = token_rows(encoder, texts)
        counts = {"lengths": [len(one) for one in found], "truncated": [encoder.cut(texts)]}
        return {
            **_quantise_rows(np.concatenate(found)),
            **{name: np.array(count, dtype=np.int64) for name, count in counts.items()},
        }

    key = identity_key("token vectors", *_code_key(), context.corpus_key, model, list(fields))
    made, seconds = context.block_cache.blocks(key, len(blocks), make, label="encoding tokens", items=len(context.corpus))
    places: dict[str, TokenRows] = {}
    for number, (block, one) in enumerate(zip(blocks, made, strict=True)):
        ends = np.cumsum(one["lengths"]).tolist()
        places.update({doc: TokenRows(number, *span) for (doc, _), *span in zip(block, [0, *ends], ends, strict=False)})
    return TokenVectors(
        key=key,
        numbers=tuple(one["numbers"] for one in made),
        scales=tuple(one["scales"] for one in made),
        places=places,
        truncated=sum(int(one["truncated"][0]) for one in made),
        seconds=seconds,
    )


def _quantise_rows(vectors: Matrix) -> Block:
    scales = np.abs(vectors).max(axis=1, initial=0.0) / np.float32(INT8_LEVELS)
    rounded = np.rint(vectors / np.where(scales == 0, np.float32(1), scales)[:, np.newaxis])
    return {"numbers": rounded.astype(np.int8), "scales": scales.astype(np.float32)}
