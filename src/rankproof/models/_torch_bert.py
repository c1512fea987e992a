"""Encoders and cross-encoders of the BERT family in torch, for GPUs, in batches of one shape.

All batches of one length have the same shape, so that the device computes them with the same kernels: a row depends on its text,
not on the texts beside it. On a GPU each shape is recorded once as a CUDA graph, which starts all kernels with one call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from threading import Lock
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from rankproof._data.arrays import FloatArray, IntArray, Matrix, normalise_rows, read_only
from rankproof._data.identity import library_versions
from rankproof.errors import ExternalError
from rankproof.models._device import Placement, available_cores, torch_dtype
from rankproof.models._onnx.config import ACTIVATIONS, BertConfig, TensorReader, open_weights
from rankproof.models._onnx.folder import ModelFolder, Pooling
from rankproof.models._tokenizer import BatchTokenizer, TokenBatch, TokenizerFile


@dataclass(frozen=True, slots=True)
class BatchShape:
    """The shape of a batch: rows x length; `masked` if its texts can be shorter than the length."""

    rows: int
    length: int
    masked: bool


@dataclass(frozen=True, slots=True)
class BatchPlan:
    """How texts become batches: about `tokens` tokens each, lengths rounded up to multiples of `step`, at most `limit`."""

    tokens: int
    step: int
    limit: int

    def shape(self, length: int) -> BatchShape:
        """The shape of the batches for texts of this length, which depends on nothing else."""
        padded = min(-(-length // self.step) * self.step, self.limit)
        return BatchShape(max(1, self.tokens // padded), padded, length != padded)

    def batches(self, lengths: IntArray) -> tuple[IntArray, list[LengthBatch]]:
        """The texts in the order of the batches, shortest first, and the batches; texts without tokens are in none."""
        padded = np.minimum(-(-lengths // self.step) * self.step, self.limit)
        keys = np.where(lengths == 0, 0, 2 * padded + (lengths != padded))
        order = np.argsort(keys, kind="stable")
        starts = np.flatnonzero(np.diff(keys[order], prepend=0)).tolist()
        batches: list[LengthBatch] = []
        for start, end in zip(starts, [*starts[1:], len(order)], strict=False):
            shape = self.shape(int(lengths[order[start]]))
            batches += [LengthBatch(shape, first, min(end, first + shape.rows)) for first in range(start, end, shape.rows)]
        return order, batches


@dataclass(frozen=True, slots=True)
class LengthBatch:
    """The texts order[start:end] in a batch of this shape."""

    shape: BatchShape
    start: int
    end: int


Inputs = tuple[Tensor, Tensor, Tensor]
"""Ids and types, rows x length, and the lengths of the texts."""


class SentTokens:
    """A token batch on the device."""

    def __init__(self, tokens: TokenBatch, order: IntArray, device: torch.device, padding: int) -> None:
        self._ids, self._types = _sent(tokens.ids, device), _sent(tokens.types, device)
        self._offsets, self._lengths, self._order = (_sent(array, device) for array in (tokens.offsets, tokens.lengths, order))
        self._padding = padding

    def texts(self, batch: LengthBatch) -> Tensor:
        """The texts of a batch."""
        return self._order[batch.start : batch.end]

    def inputs(self, batch: LengthBatch) -> Inputs:
        """The inputs of a batch; rows without a text repeat its first."""
        missing = batch.shape.rows - (batch.end - batch.start)
        texts = torch.cat([self.texts(batch), self._order[batch.start : batch.start + 1].expand(missing)])
        lengths, places = self._lengths[texts], torch.arange(batch.shape.length, device=texts.device)
        real = places < lengths[:, None]
        at = torch.where(real, self._offsets[texts][:, None] + places, 0)
        types = self._types[at] if len(self._types) else torch.zeros_like(at, dtype=torch.int32)
        return torch.where(real, self._ids[at], self._padding), types, lengths


def _sent(values: Any, device: torch.device) -> Tensor:
    """The values on the device; the copy to a GPU goes on while the caller works."""
    tensor = torch.from_numpy(values)
    return tensor.pin_memory().to(device, non_blocking=True) if device.type == "cuda" else tensor


Compute = Callable[[Tensor, Tensor, Tensor], Tensor]


class RecordedBatch:
    """The kernels of one batch shape, recorded as a graph with inputs and output at fixed addresses.

    All graphs of a network use the memory of one pool, as they run one after the other.
    """

    def __init__(self, inputs: Inputs, compute: Compute, pool: Any) -> None:
        self._inputs = tuple(input_.clone() for input_ in inputs)
        beside = torch.cuda.Stream()
        beside.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(beside):
            compute(*self._inputs)
        torch.cuda.current_stream().wait_stream(beside)
        self._graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self._graph, pool=pool, capture_error_mode="thread_local"):
            self._output = compute(*self._inputs)

    def run(self, inputs: Inputs) -> Tensor:
        """The output; the next call overwrites it."""
        for fixed, input_ in zip(self._inputs, inputs, strict=True):
            fixed.copy_(input_)
        self._graph.replay()
        return self._output


Output = Callable[[Tensor, Tensor], Tensor]
"""Computes one float32 row per text from the last hidden states and a mask of their real positions."""


class BatchedNetwork:
    """Runs a network over token batches; safe for several threads, which take turns.

    The network takes ids, types and a mask, or None, and gives the last hidden states.
    """

    def __init__(self, net: nn.Module, placement: Placement, plan: BatchPlan, output: Output, *, padding: int) -> None:
        self._device = torch.device(placement.device)
        self._net = net.to(self._device, torch_dtype(placement.precision)).eval().requires_grad_(False)
        self._plan, self._output, self._padding = plan, output, padding
        self._recorded: dict[BatchShape, RecordedBatch] = {}
        self._pool = torch.cuda.graph_pool_handle() if placement.on_gpu else None
        self._lock = Lock()

    def rows(self, batches: Iterator[TokenBatch], count: int, size: int) -> Matrix:
        """One row of `size` numbers per text, zeros for a text without tokens."""
        rows, done = np.zeros((count, size), dtype=np.float32), 0
        waiting: list[tuple[int, Tensor, Any]] = []
        with self._lock, torch.inference_mode(), _current(self._device):
            for tokens in batches:
                waiting.append((done, *self._start(tokens, size)))
                done += len(tokens.lengths)
                while len(waiting) > 1:
                    _collect(rows, *waiting.pop(0))
            for started in waiting:
                _collect(rows, *started)
        return rows

    def states(self, tokens: TokenBatch, size: int) -> list[Matrix]:
        """For each text its last hidden states, one float32 row of `size` numbers per token."""
        states_of_texts = [np.zeros((0, size), dtype=np.float32)] * len(tokens.lengths)
        order, batches = self._plan.batches(tokens.lengths)
        with self._lock, torch.inference_mode(), _current(self._device):
            sent = SentTokens(tokens, order, self._device, self._padding)
            for batch in batches:
                states = self._states(batch.shape, *sent.inputs(batch))[0].float().cpu().numpy()
                for text, rows in zip(order[batch.start : batch.end].tolist(), states, strict=False):
                    states_of_texts[text] = _checked(rows[: tokens.lengths[text]])
        return states_of_texts

    def _start(self, tokens: TokenBatch, size: int) -> tuple[Tensor, Any]:
        """Queues the work on a token batch; the rows are complete after the event."""
        order, batches = self._plan.batches(tokens.lengths)
        sent = SentTokens(tokens, order, self._device, self._padding)
        made = torch.zeros((len(order), size), dtype=torch.float32, device=self._device)
        for batch in batches:
            made[sent.texts(batch)] = self._run(batch.shape, sent.inputs(batch))[: batch.end - batch.start]
        if self._device.type == "cpu":
            return made, None
        pinned = torch.empty(made.shape, dtype=made.dtype, pin_memory=True)
        pinned.copy_(made, non_blocking=True)
        event = torch.cuda.Event()
        event.record()
        return pinned, event

    def _run(self, shape: BatchShape, inputs: Inputs) -> Tensor:
        if self._device.type == "cpu":
            return self._compute(shape, *inputs)
        if shape not in self._recorded:
            self._recorded[shape] = RecordedBatch(inputs, partial(self._compute, shape), self._pool)
        return self._recorded[shape].run(inputs)

    def _compute(self, shape: BatchShape, ids: Tensor, types: Tensor, lengths: Tensor) -> Tensor:
        return self._output(*self._states(shape, ids, types, lengths))

    def _states(self, shape: BatchShape, ids: Tensor, types: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        """The last hidden states and the mask of real positions."""
        real = torch.arange(shape.length, device=ids.device) < lengths[:, None]
        return self._net(ids, types, real[:, None, None, :] if shape.masked else None), real


def _current(device: torch.device) -> AbstractContextManager[Any]:
    """A context in which the device is torch's current GPU."""
    context: AbstractContextManager[Any] = torch.cuda.device(device) if device.type == "cuda" else nullcontext()
    return context


def _collect(matrix: Matrix, start: int, rows: Tensor, event: Any) -> None:
    """Waits for the rows and copies them to their place."""
    if event is not None:
        event.synchronize()
    matrix[start : start + len(rows)] = _checked(rows.numpy())


def _checked(values: Matrix) -> Matrix:
    if not np.isfinite(values).all():
        raise ExternalError(
            "the model returns NaN or infinite values; its weights are damaged, or too large for the precision: try fp32"
        )
    return values


class BertLayer(nn.Module):  # type: ignore[misc]  # torch is not followed
    """Self-attention and a feed-forward network, each with a residual connection and a layer norm after it."""

    def __init__(self, shape: BertConfig, tensors: TensorReader, layer: int) -> None:
        super().__init__()
        names = {part: name.format(layer) for part, name in shape.family.layer.items()}
        width, wide = shape.hidden, shape.intermediate_size
        self.heads, self.activation = shape.heads, shape.activation
        self.attend = _joined_linear([_linear(tensors, names[part], width, width) for part in ("query", "key", "value")])
        self.attended = _linear(tensors, names["attended"], width, width)
        self.attended_norm = _layer_norm(tensors, names["attended_norm"], width, shape.epsilon)
        self.widen = _linear(tensors, names["widen"], width, wide)
        self.narrow = _linear(tensors, names["narrow"], wide, width)
        self.norm = _layer_norm(tensors, names["norm"], width, shape.epsilon)

    def forward(self, states: Tensor, mask: Tensor | None) -> Tensor:
        """The states after the layer; positions where the mask is False are not read."""
        parts = self.attend(states).unflatten(-1, (3, self.heads, -1))
        query, key, value = (part.transpose(1, 2) for part in parts.unbind(2))
        mixed = functional.scaled_dot_product_attention(query, key, value, attn_mask=mask)
        states = self.attended_norm(self.attended(mixed.transpose(1, 2).flatten(2)) + states)
        return self.norm(self.narrow(_activation(self.widen(states), self.activation)) + states)


class BertNet(nn.Module):  # type: ignore[misc]  # torch is not followed
    """The embeddings and layers of a model folder, and the classifier's head if asked for."""

    def __init__(self, folder: ModelFolder, *, head: bool) -> None:
        super().__init__()
        shape, tensors = folder.shape, TensorReader(open_weights(folder.weights), folder.shape.family.spellings)
        size, self.shape, self.typed = shape.embedding, shape, head and folder.uses_token_types()
        self.words = nn.Parameter(_tensor(tensors, "embeddings.word_embeddings.weight", shape.vocabulary, size))
        places = _tensor(tensors, "embeddings.position_embeddings.weight", shape.positions, size)
        name = "embeddings.token_type_embeddings.weight"
        types = _tensor(tensors, name, shape.types, size) if shape.types else torch.zeros(1, size)
        self.first_position = shape.padding + 1 if shape.family.counts_positions else 0
        self.places = nn.Parameter(places if self.typed else places + types[0])
        self.types = nn.Parameter(types)
        self.embedding_norm = _layer_norm(tensors, "embeddings.LayerNorm", size, shape.epsilon)
        self.project = _linear(tensors, "embeddings_project", size, shape.hidden) if size != shape.hidden else nn.Identity()
        self.layers = nn.ModuleList(BertLayer(shape, tensors, layer) for layer in range(shape.layers))
        if head:
            inner, self.bend, outer = shape.family.head
            self.inner = _linear(tensors, inner, shape.hidden, shape.hidden)
            self.outer = _linear(tensors, outer, shape.hidden, shape.labels)

    def forward(self, ids: Tensor, types: Tensor, mask: Tensor | None) -> Tensor:
        """The last hidden states, texts x positions x dimensions."""
        states = functional.embedding(ids, self.words)
        if self.typed:
            states = states + functional.embedding(types, self.types)
        states = states + self.places[self.first_position : self.first_position + ids.shape[1]]
        states = self.project(self.embedding_norm(states))
        for layer in self.layers:
            states = layer(states, mask)
        return states

    def logits(self, states: Tensor) -> Tensor:
        """One number per label."""
        logits: Tensor = self.outer(_activation(self.inner(states[:, 0]), self.bend))
        return logits


def _tensor(tensors: TensorReader, name: str, *shape: int) -> Tensor:
    return torch.from_numpy(np.array(tensors.take(name, *shape)))


def _linear(tensors: TensorReader, name: str, inputs: int, outputs: int) -> nn.Linear:
    return _linear_of(_tensor(tensors, f"{name}.weight", outputs, inputs), _tensor(tensors, f"{name}.bias", outputs))


def _linear_of(weight: Tensor, bias: Tensor) -> nn.Linear:
    made = nn.Linear(weight.shape[1], weight.shape[0], device="meta")
    made.weight, made.bias = nn.Parameter(weight), nn.Parameter(bias)
    return made


def _joined_linear(parts: Sequence[nn.Linear]) -> nn.Linear:
    """One layer that computes all of them."""
    return _linear_of(torch.cat([part.weight.detach() for part in parts]), torch.cat([part.bias.detach() for part in parts]))


def _layer_norm(tensors: TensorReader, name: str, size: int, epsilon: float) -> nn.LayerNorm:
    made = nn.LayerNorm(size, eps=epsilon, device="meta")
    made.weight, made.bias = (nn.Parameter(_tensor(tensors, f"{name}.{part}", size)) for part in ("weight", "bias"))
    return made


def _activation(states: Tensor, name: str) -> Tensor:
    if name in ("tanh", "relu"):
        return torch.tanh(states) if name == "tanh" else torch.relu(states)
    return functional.gelu(states, approximate=ACTIVATIONS[name])


def pool_mean(states: Tensor, real: Tensor) -> Tensor:
    """The mean of the real positions in float32, of length 1."""
    counted = real.unsqueeze(-1)
    return functional.normalize((states.float() * counted).sum(1) / counted.sum(1), dim=-1)


def pool_first(states: Tensor, real: Tensor) -> Tensor:
    """The first position in float32, of length 1."""
    return functional.normalize(states[:, 0].float(), dim=-1)


POOLINGS: Mapping[Pooling, Output] = {"mean": pool_mean, "cls": pool_first}
TEXT_TOKENS, TEXT_STEP = 16_384, 8
PAIR_TOKENS, PAIR_STEP = 8_192, 64


class TorchBertEncoder:
    """A loaded encoder of the BERT family, run by torch."""

    def __init__(
        self,
        folder: ModelFolder,
        tokenizer: TokenizerFile,
        placement: Placement,
        *,
        max_tokens: int,
        pooling: Pooling,
        facts: Mapping[str, Any],
        tokens_per_batch: int = TEXT_TOKENS,
    ) -> None:
        self.batch_invariant = not placement.on_gpu
        self._tokenizer, self._size, self._pooling = tokenizer, folder.shape.hidden, pooling
        self._batch_tokenizer = BatchTokenizer(tokenizer, threads=available_cores())
        plan = BatchPlan(tokens_per_batch, TEXT_STEP, max_tokens)
        self._network = BatchedNetwork(
            BertNet(folder, head=False), placement, plan, POOLINGS[pooling], padding=folder.shape.padding
        )
        self._facts = {**facts, **placement.facts()}

    def encode(self, texts: Sequence[str]) -> Matrix:
        """One row per text."""
        return read_only(self._network.rows(self._batch_tokenizer.ahead(texts), len(texts), self._size))

    def tokens(self, texts: Sequence[str]) -> list[Matrix]:
        """For each text one row per token, special tokens included."""
        return [read_only(normalise_rows(rows)) for rows in self._network.states(self._batch_tokenizer.texts(texts), self._size)]

    def cut(self, texts: Sequence[str]) -> int:
        """The number of truncated texts."""
        return sum(int(tokens.cut.sum()) for tokens in self._batch_tokenizer.ahead(texts))

    def lengths(self, texts: Sequence[str]) -> list[int]:
        """The number of tokens read of each text, special tokens included."""
        lengths: list[int] = self._batch_tokenizer.texts(texts).lengths.tolist()
        return lengths

    def unknown(self, texts: Sequence[str]) -> tuple[int, int]:
        """The numbers of unknown tokens and of all tokens."""
        return self._tokenizer.unknown(texts)

    def facts(self) -> Mapping[str, Any]:
        """Library, sizes, limits, device and source, as JSON."""
        return {"library": torch_bert_versions(), "dimensions": self._size, "pooling": self._pooling, **self._facts}


class TorchBertCrossEncoder:
    """A loaded cross-encoder of the BERT family, run by torch; with two labels the score is the second logit minus the first."""

    def __init__(
        self,
        folder: ModelFolder,
        tokenizer: TokenizerFile,
        placement: Placement,
        *,
        max_tokens: int,
        facts: Mapping[str, Any],
        tokens_per_batch: int = PAIR_TOKENS,
    ) -> None:
        net = BertNet(folder, head=True)
        self._labels = folder.shape.labels
        self._batch_tokenizer = BatchTokenizer(tokenizer, threads=available_cores())
        plan = BatchPlan(tokens_per_batch, PAIR_STEP, max_tokens)
        self._network = BatchedNetwork(
            net, placement, plan, lambda states, real: net.logits(states).float(), padding=folder.shape.padding
        )
        self._facts = {**facts, **placement.facts()}

    def scores(self, query: str, passages: Sequence[str]) -> FloatArray:
        """One score per passage."""
        logits = self.logits(query, passages)
        return read_only(logits[:, 0] if self._labels == 1 else logits[:, 1] - logits[:, 0])

    def logits(self, query: str, passages: Sequence[str]) -> FloatArray:
        """One row per passage, one column per label."""
        pairs = self._batch_tokenizer.pairs(query, passages)
        return self._network.rows(iter([pairs]), len(passages), self._labels).astype(np.float64)

    def cut(self, query: str, passages: Sequence[str]) -> int:
        """The number of truncated pairs."""
        return int(self._batch_tokenizer.pairs(query, passages).cut.sum())

    def facts(self) -> Mapping[str, Any]:
        """Library, limits, device and source, as JSON."""
        return {"library": torch_bert_versions(), **self._facts}


def torch_bert_versions() -> str:
    """The versions of the libraries."""
    return library_versions("torch", "tokenizers")
