"""Training batches, and the tokenized training data on the device."""

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
from rankproof.stages._text_vectors import add_prompt

if TYPE_CHECKING:
    from rankproof.models._trained.shape import NetShape
    from rankproof.models._trained.tokenizers import Tokenizer


@dataclass(frozen=True, slots=True)
class Batch:
    """Indices of pairs, with the rows of a positive and a negative for each."""

    pairs: IntArray
    positives: IntArray
    negatives: IntArray


def batches(training_data: TrainingData, config: TrainingConfig, seed: int) -> Iterator[Batch]:
    """Endless batches of judged pairs and crops, each from its own epochs, with a hard or else a random negative."""
    # A stream apart from the other uses of the seed.
    rng = np.random.default_rng([seed, 7])
    count = _judged_count(training_data, config)
    judged = _epochs(np.arange(training_data.judged_count), count, rng)
    crops = _epochs(np.arange(training_data.judged_count, len(training_data.queries)), config.batch - count, rng)
    known = (training_data.negatives >= 0).sum(axis=1)
    while True:
        pairs = np.concatenate([next(judged), next(crops)])
        at = (rng.random(len(pairs)) * known[pairs]).astype(np.int64)
        any_document = rng.integers(len(training_data.documents), size=len(pairs))
        hard = training_data.negatives[pairs, at] if training_data.negatives.shape[1] else any_document
        yield Batch(pairs, training_data.positives[pairs], np.where(known[pairs] > 0, hard, any_document))


def _judged_count(training_data: TrainingData, config: TrainingConfig) -> int:
    """The number of judged pairs in a batch."""
    if training_data.judged_count == len(training_data.queries):
        return config.batch
    return round(config.batch * config.judged_share) if training_data.judged_count else 0


def _epochs(indices: IntArray, count: int, rng: np.random.Generator) -> Iterator[IntArray]:
    """`count` random indices at a time, each index once per epoch."""
    waiting = np.zeros(0, dtype=np.int64)
    while True:
        while len(waiting) < count:
            waiting = np.concatenate([waiting, rng.permutation(indices)])
        yield waiting[:count]
        waiting = waiting[count:]


_LENGTH_MULTIPLE = 32
"""Sequence lengths are rounded up to a multiple of this: few shapes, little padding."""


@dataclass(frozen=True, slots=True)
class TokenIdTable:
    """Token ids, one row per text, padded with 0, and the length of each row."""

    ids: NDArray[np.int32]
    lengths: IntArray

    def longest(self, rows: IntArray) -> int:
        """The number of columns that a batch of these rows needs."""
        return min(int(self.ids.shape[1]), -(-int(self.lengths[rows].max()) // _LENGTH_MULTIPLE) * _LENGTH_MULTIPLE)


def tokenize_texts(tokenizer: Tokenizer, texts: Sequence[str], characters: int) -> TokenIdTable:
    """The token ids of the texts, cut at `characters`."""
    rows = tokenizer.ids([normalise_input(text, characters) for text in texts])
    lengths = np.array([len(row) for row in rows], dtype=np.int64)
    table = np.zeros((len(rows), -(-max(1, int(lengths.max())) // _LENGTH_MULTIPLE) * _LENGTH_MULTIPLE), dtype=np.int32)
    table[np.arange(table.shape[1]) < lengths[:, None]] = np.concatenate(rows)
    return TokenIdTable(table, lengths)


class DeviceData:
    """Token ids of queries and documents, and the relevant rows of each query, on the device."""

    def __init__(self, queries: TokenIdTable, documents: TokenIdTable, relevant: IntArray, device: Any) -> None:
        with extra("torch"):
            import torch

        self._queries, self._documents, self.device = queries, documents, device
        self._query_ids = torch.from_numpy(queries.ids).to(device)
        self._document_ids = torch.from_numpy(documents.ids).to(device)
        self._relevant = torch.from_numpy(np.array(relevant)).to(device)

    def blocks(self, steps: Sequence[Batch]) -> Any:
        """The rows of the steps on the device: pairs, positives, negatives."""
        with extra("torch"):
            import torch

        rows = np.stack([np.stack([batch.pairs, batch.positives, batch.negatives]) for batch in steps])
        return torch.from_numpy(rows).to(self.device)

    def step(self, batch: Batch, rows: Any) -> tuple[Any, Any, Any]:
        """Token ids of queries and candidates, and the mask of candidates that are relevant to a query."""
        with extra("torch"):
            import torch

        candidates = torch.cat([rows[1], rows[2]])
        relevant = self._relevant[rows[0]]
        masked = (candidates[None, :, None] == relevant[:, None, :]).any(-1)
        longest = self._documents.longest(np.concatenate([batch.positives, batch.negatives]))
        queries = self._query_ids[rows[0], : self._queries.longest(batch.pairs)]
        return queries.long(), self._document_ids[candidates, :longest].long(), masked


@dataclass(frozen=True, slots=True)
class TokenizedData:
    """The tokenizer, the shape of the network, and the tokenized training data."""

    training_data: TrainingData
    config: TrainingConfig
    tokenizer: Tokenizer
    shape: NetShape
    queries: TokenIdTable
    documents: TokenIdTable


def tokenize_data(training_data: TrainingData, kind: str, config: TrainingConfig) -> TokenizedData:
    """Tokenize the training data after its prompts; a trainable tokenizer is trained on the documents without them."""
    from rankproof.models._trained.shape import fit_shape, normalise_input
    from rankproof.models._trained.tokenizers import train_tokenizer

    tokenizer = train_tokenizer(kind, [normalise_input(text, config.characters) for text in training_data.documents])
    shape = fit_shape(kind, tokenizer.vocabulary, **config.sizes())
    prompted = ((config.query_prompt, training_data.queries), (config.passage_prompt, training_data.documents))
    queries, documents = (
        tokenize_texts(tokenizer, [add_prompt(prompt, text) for text in texts], config.characters) for prompt, texts in prompted
    )
    return TokenizedData(training_data, config, tokenizer, shape, queries, documents)
