"""Tokenizes many texts at once into arrays of ids."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankproof._data.arrays import BoolArray, IntArray
from rankproof.models._tokenizer import Encoding, TokenizerFile
from rankproof.models._wordpiece import word_pieces

Ids = NDArray[np.int32]
TEXTS_PER_CALL = 131_072
"""Texts that are tokenized, sorted by length and sent to the GPU together."""
_TEXTS_PER_TASK = 2_048


@dataclass(frozen=True, eq=False, slots=True)
class TokenBatch:
    """The ids of many texts or pairs: those of text i are ids[offsets[i] : offsets[i + 1]], and `cut` says if it was truncated.

    `types` are the token types of pairs, parallel to `ids`; empty for texts.
    """

    ids: Ids
    types: Ids
    offsets: IntArray
    cut: BoolArray

    @property
    def lengths(self) -> IntArray:
        """The number of tokens of each text."""
        return np.diff(self.offsets)

    @classmethod
    def joined(cls, parts: Sequence[TokenBatch]) -> TokenBatch:
        """The texts of all parts in order."""
        return cls(
            np.concatenate([_NO_TYPES, *(part.ids for part in parts)]),
            np.concatenate([_NO_TYPES, *(part.types for part in parts)]),
            _offsets(np.concatenate([_NO_TYPES, *(part.lengths for part in parts)])),
            np.concatenate([np.zeros(0, dtype=np.bool_), *(part.cut for part in parts)]),
        )


class BatchTokenizer:
    """Tokenizes lists of texts on several threads; the same ids as the tokenizer gives for one text."""

    def __init__(self, tokenizer: TokenizerFile, *, threads: int) -> None:
        self._tokenizer, self._pieces = tokenizer, word_pieces(tokenizer)
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="tokenize")

    def texts(self, texts: Sequence[str]) -> TokenBatch:
        """The tokens of all texts."""
        return _result(self._start(texts))

    def ahead(self, texts: Sequence[str]) -> Iterator[TokenBatch]:
        """Batches of TEXTS_PER_CALL texts; the next batch is tokenized while the caller works on the present one."""
        parts = [texts[start : start + TEXTS_PER_CALL] for start in range(0, len(texts), TEXTS_PER_CALL)]
        waiting = [self._start(part) for part in parts[:1]]
        for part in parts[1:]:
            waiting.append(self._start(part))
            yield _result(waiting.pop(0))
        if waiting:
            yield _result(waiting.pop(0))

    def pairs(self, first: str, seconds: Sequence[str]) -> TokenBatch:
        """The tokens of a text paired with each of the others."""
        return _to_batch(self._tokenizer.of_pairs(first, seconds), typed=True)

    def _start(self, texts: Sequence[str]) -> list[Future[TokenBatch]]:
        starts = range(0, len(texts), _TEXTS_PER_TASK)
        return [self._pool.submit(self._part, texts[start : start + _TEXTS_PER_TASK]) for start in starts]

    def _part(self, texts: Sequence[str]) -> TokenBatch:
        if self._pieces is None:
            return _to_batch(self._tokenizer.of_many(texts), typed=False)
        ids, lengths, cut = self._pieces.tokens([self._tokenizer.ready(text) for text in texts])
        left = np.flatnonzero(lengths < 0)
        if not len(left):
            return TokenBatch(ids, _NO_TYPES, _offsets(lengths), cut)
        others = _to_batch(self._tokenizer.of_many([texts[at] for at in left.tolist()]), typed=False)
        return _merged(ids, lengths, cut, left, others)


_NO_TYPES: Ids = np.zeros(0, dtype=np.int32)


def _offsets(lengths: NDArray[np.integer[Any]]) -> IntArray:
    return np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(lengths, dtype=np.int64)])


def _merged(ids: Ids, lengths: Ids, cut: BoolArray, left: IntArray, others: TokenBatch) -> TokenBatch:
    """The texts with those at `left`, which have no tokens yet, filled in."""
    missing = lengths < 0
    whole, is_cut = lengths.copy(), cut.copy()
    whole[left], is_cut[left] = others.lengths, others.cut
    filled_in = np.repeat(missing, whole)
    all_ids = np.zeros(len(filled_in), dtype=np.int32)
    all_ids[~filled_in], all_ids[filled_in] = ids, others.ids
    return TokenBatch(all_ids, _NO_TYPES, _offsets(whole), is_cut)


def _result(tasks: Sequence[Future[TokenBatch]]) -> TokenBatch:
    return TokenBatch.joined([task.result() for task in tasks])


def _to_batch(encodings: Sequence[Encoding], *, typed: bool) -> TokenBatch:
    offsets = _offsets(np.array([len(one.ids) for one in encodings], dtype=np.int64))
    ids, types = np.zeros(offsets[-1], dtype=np.int32), np.zeros(offsets[-1] if typed else 0, dtype=np.int32)
    for start, one in zip(offsets.tolist(), encodings, strict=False):
        ids[start : start + len(one.ids)] = one.ids
        if typed:
            types[start : start + len(one.ids)] = one.types
    return TokenBatch(ids, types, offsets, np.array([one.cut for one in encodings], dtype=np.bool_))
