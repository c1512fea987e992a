"""Batches on the device."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rankproof._data.arrays import IntArray
from rankproof._extras import extra
from rankproof._tokenizer_lab.training_config import TrainingConfig
from rankproof._tokenizer_lab.training_data import TrainingData
from rankproof.models._trained.shape import normalise_input

if TYPE_CHECKING:
    from rankproof.models._trained.shape import NetShape
    from rankproof.models._trained.tokenizers import Tokenizer


@dataclass(frozen=True, slots=True)
class Batch:
    """Places of pairs, and for each the rows of its positive and of one negative."""

    pairs: IntArray
    positives: IntArray
    negatives: IntArray


def batches(lessons: TrainingData, recipe: TrainingConfig, seed: int) -> Iterator[Batch]:
    """Without end: judged pairs and crops by epochs of their own, each with a hard negative, any document where it has none."""
    draw = np.random.default_rng([seed, 7])
    real = _judged_count(lessons, recipe)
    judged = _epochs(np.arange(lessons.judged_count), real, draw)
    crops = _epochs(np.arange(lessons.judged_count, len(lessons.queries)), recipe.batch - real, draw)
    known = (lessons.negatives >= 0).sum(axis=1)
    while True:
        pairs = np.concatenate([next(judged), next(crops)])
        at = (draw.random(len(pairs)) * known[pairs]).astype(np.int64)
        anything = draw.integers(len(lessons.documents), size=len(pairs))
        hard = lessons.negatives[pairs, at] if lessons.negatives.shape[1] else anything
        yield Batch(pairs, lessons.positives[pairs], np.where(known[pairs] > 0, hard, anything))


def _judged_count(lessons: TrainingData, recipe: TrainingConfig) -> int:
    """How many pairs of a batch are judged ones."""
    if lessons.judged_count == len(lessons.queries):
        return recipe.batch
    return round(recipe.batch * recipe.judged_share) if lessons.judged_count else 0


def _epochs(places: IntArray, count: int, draw: np.random.Generator) -> Iterator[IntArray]:
    """So many places at a time, each once before any comes again."""
    waiting = np.zeros(0, dtype=np.int64)
    while True:
        while len(waiting) < count:
            waiting = np.concatenate([waiting, draw.permutation(places)])
        yield waiting[:count]
        waiting = waiting[count:]


_LENGTH_MULTIPLE = 32
"""Sequences are as long as the longest of the batch, rounded up to a multiple of this: few shapes, little padding."""


@dataclass(frozen=True, slots=True)
class TokenIdTable:
    """A row a text, padded with 0, and how many ids each row has."""

    ids: NDArray[np.int32]
    lengths: IntArray

    def longest(self, rows: IntArray) -> int:
        """How many columns a batch of these rows needs."""
        return min(int(self.ids.shape[1]), -(-int(self.lengths[rows].max()) // _LENGTH_MULTIPLE) * _LENGTH_MULTIPLE)


def tokenize_texts(tokenizer: Tokenizer, texts: Sequence[str], characters: int) -> TokenIdTable:
    """What is read of the texts, in tokens."""
    rows = tokenizer.ids([normalise_input(text, characters) for text in texts])
    lengths = np.array([len(row) for row in rows], dtype=np.int64)
    table = np.zeros((len(rows), -(-max(1, int(lengths.max())) // _LENGTH_MULTIPLE) * _LENGTH_MULTIPLE), dtype=np.int32)
    table[np.arange(table.shape[1]) < lengths[:, None]] = np.concatenate(rows)
    return TokenIdTable(table, lengths)


class DeviceData:
    """The ids of queries and documents, the rows that answer each query, and a block of steps at a time."""

    def __init__(self, queries: TokenIdTable, documents: TokenIdTable, relevant: IntArray, device: Any) -> None:
        with extra("torch"):
            import torch

        self._queries, self._documents, self.device = queries, documents, device
        self._query_ids = torch.from_numpy(queries.ids).to(device)
        self._document_ids = torch.from_numpy(documents.ids).to(device)
        self._relevant = torch.from_numpy(np.array(relevant)).to(device)

    def blocks(self, steps: Sequence[Batch]) -> Any:
        """The rows of these steps as one table on the device: pairs, then positives, then negatives."""
        with extra("torch"):
            import torch

        rows = np.stack([np.stack([batch.pairs, batch.positives, batch.negatives]) for batch in steps])
        return torch.from_numpy(rows).to(self.device)

    def step(self, batch: Batch, rows: Any) -> tuple[Any, Any, Any]:
        """The queries' ids, the candidates' ids, and which candidates must not count against which query."""
        with extra("torch"):
            import torch

        candidates = torch.cat([rows[1], rows[2]])
        relevant = self._relevant[rows[0]]
        barred = (candidates[None, :, None] == relevant[:, None, :]).any(-1)
        longest = self._documents.longest(np.concatenate([batch.positives, batch.negatives]))
        asked = self._query_ids[rows[0], : self._queries.longest(batch.pairs)]
        return asked.long(), self._document_ids[candidates, :longest].long(), barred


@dataclass(frozen=True, slots=True)
class TokenizedData:
    """The tokenizer, the net's shape, and the lessons in tokens."""

    lessons: TrainingData
    recipe: TrainingConfig
    tokenizer: Tokenizer
    shape: NetShape
    queries: TokenIdTable
    documents: TokenIdTable


def tokenize_data(lessons: TrainingData, kind: str, recipe: TrainingConfig) -> TokenizedData:
    """The lessons in the tokens of a kind; a tokenizer that is trained is trained on their documents."""
    from rankproof.models._trained.shape import fit_shape, normalise_input
    from rankproof.models._trained.tokenizers import train_tokenizer

    tokenizer = train_tokenizer(kind, [normalise_input(text, recipe.characters) for text in lessons.documents])
    shape = fit_shape(kind, tokenizer.vocabulary, **recipe.sizes())
    queries, documents = (tokenize_texts(tokenizer, texts, recipe.characters) for texts in (lessons.queries, lessons.documents))
    return TokenizedData(lessons, recipe, tokenizer, shape, queries, documents)
