"""Runs networks in batches of texts of similar length, each of a fixed shape.

All batches of one length have the same shape, so that the device computes them with the same kernels: a row depends on its text,
not on the texts beside it. On a GPU each shape is recorded once as a CUDA graph, which starts all kernels with one call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from threading import Lock
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from rankproof._data.arrays import IntArray, Matrix
from rankproof.errors import ExternalError
from rankproof.models._device import Placement, torch_dtype
from rankproof.models._tokenizer import TokenBatch


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
