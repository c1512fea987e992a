"""The settings of a training, the device it runs on, and its batches of tokenized texts."""

from __future__ import annotations

import platform
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray

from rankproof._data.arrays import IntArray
from rankproof._data.text import pluralise
from rankproof._data.validation import check_options
from rankproof._extras import extra
from rankproof._registry import Option
from rankproof._tokenizer_lab.training_data import LEAST_CHARACTERS, MOST_CROPS, MOST_NEGATIVES, TrainingData, TrainingDataConfig
from rankproof.errors import UsageError
from rankproof.models._device import chosen_device
from rankproof.models._trained.shape import SIZE_LIMITS, Architecture, check_layers, normalise_input
from rankproof.stages._text_vectors import add_prompt

if TYPE_CHECKING:
    from rankproof.models._trained.shape import NetShape
    from rankproof.models._trained.tokenizers import Tokenizer

_SIZE_FIELDS = ("parameters", "architecture", "width", "depth", "heads", "characters")
_PROMPT_FIELDS = ("query_prompt", "passage_prompt")
DEFAULT_FLOPS = 1e15
"""The budget if neither flops nor steps are given."""


@dataclass(frozen=True, slots=True)
class TrainingConfig:
    """Contrastive training on cosines with in-batch and hard negatives, by AdamW with warm-up and cosine decay.

    The budget is `flops` (forward and backward, so finer tokens get fewer steps), `steps`, or both, whichever ends sooner.
    `judged_share` is the share of judged pairs in a batch, if there are any; the rest are crops. The prompts are put before each
    query and each passage; they count towards `characters` and the budget.
    """

    parameters: Annotated[int, Option("trainable parameters of each network, within 1 %", least=1000, most=1_000_000_000)] = (
        4_000_000
    )
    flops: Annotated[
        float | None,
        Option("floating-point operations of a training", least=1, most=1e24, metavar="X", unset="1e15; no limit with --steps"),
    ] = DEFAULT_FLOPS
    steps: Annotated[
        int | None, Option("training steps; 0 saves untrained networks", least=0, most=10_000_000, unset="no limit")
    ] = None
    batch: Annotated[int, Option("pairs per training step", least=2, most=65_536)] = 128
    learning_rate: Annotated[float, Option("peak learning rate", least=1e-8, most=1, metavar="X")] = 1e-3
    warmup: Annotated[float, Option("share of the steps in which the learning rate rises", least=0, most=1)] = 0.1
    temperature: Annotated[float, Option("temperature that divides the cosines", least=1e-3, most=10, metavar="X")] = 0.05
    weight_decay: Annotated[float, Option("weight decay of AdamW", least=0, most=10)] = 0.01
    clip: Annotated[float, Option("largest norm of a gradient", least=1e-3, most=1e6)] = 1.0
    judged_share: Annotated[
        float, Option("share of judged pairs in a batch; the others are crops", least=0, most=1, metavar="X")
    ] = 0.25
    characters: Annotated[int, Option("characters read of each text", least=LEAST_CHARACTERS, most=SIZE_LIMITS["characters"])] = (
        512
    )
    width: Annotated[int, Option("dimensions of a vector", least=1, most=SIZE_LIMITS["width"])] = 256
    depth: Annotated[int, Option("layers", least=1, most=SIZE_LIMITS["depth"])] = 4
    heads: Annotated[int, Option("attention heads per layer", least=1, most=SIZE_LIMITS["heads"])] = 4
    architecture: Annotated[Architecture, Option("type of the layers")] = "transformer"
    crops: Annotated[int, Option("crops of each document that serve as training queries", least=0, most=MOST_CROPS)] = 16
    negatives: Annotated[
        int, Option("BM25 results from which the hard negative of a pair is drawn", least=0, most=MOST_NEGATIVES)
    ] = 10
    query_prompt: Annotated[str, Option("text before each query, in training and in compare", metavar="TEXT", unset="none")] = ""
    passage_prompt: Annotated[
        str, Option("text before each passage, in training and in compare", metavar="TEXT", unset="none")
    ] = ""

    def __post_init__(self) -> None:
        check_options(self)
        check_layers(self.architecture, self.width, self.depth, self.heads)
        if self.flops is None and self.steps is None:
            raise UsageError("the training has no budget", fix="give flops, steps or both")
        self._check_prompts()

    def _check_prompts(self) -> None:
        for name in _PROMPT_FIELDS:
            prompt = getattr(self, name)
            if len(prompt) >= self.characters:
                what = f"{name} has {pluralise(len(prompt), 'character')}, and the network reads {self.characters} of each text"
                raise UsageError(what, fix="shorten the prompt, or raise characters")

    def data_config(self, holdout: float = 0.0, seed: int = 1) -> TrainingDataConfig:
        """The config of the training data."""
        return TrainingDataConfig(holdout, self.crops, self.characters, self.negatives, seed)

    def sizes(self) -> dict[str, Any]:
        """The settings that determine the shape of the network, besides the tokenizer."""
        return {name: getattr(self, name) for name in _SIZE_FIELDS}

    def describe(self) -> dict[str, Any]:
        """The config in the metadata of a checkpoint; prompts are left out if there are none, as in older checkpoints."""
        return {name: value for name, value in asdict(self).items() if value or name not in _PROMPT_FIELDS}


Device = Literal["auto", "cpu", "cuda"]


def training_device(device: Device, threads: int | None = None) -> Any:
    """The torch device; `threads` sets the number of CPU threads."""
    with extra("torch"):
        import torch

    if threads is not None:
        torch.set_num_threads(threads)
    return torch.device(chosen_device(device))


def device_name(device: Any) -> str:
    """The name of the device in the metadata of a checkpoint."""
    with extra("torch"):
        import torch

    if device.type == "cuda":
        return str(torch.cuda.get_device_name(device))
    return f"CPU {platform.machine()}, {torch.get_num_threads()} threads"


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
