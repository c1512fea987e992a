"""The net, written in torch: this file is loaded only where a net is asked for."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from .shape import Shape
from .torch_layers import HashedRows, Layer, angles


class TransformerNet(nn.Module):  # type: ignore[misc]  # torch is not followed
    """Rows of the ids, pre-norm layers with rotary positions, the mean over the tokens that are no padding."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.shape = shape
        self.embedding = _rows(shape)
        self.layers = nn.ModuleList(Layer(shape.width, shape.heads, shape.hidden) for _ in range(shape.depth))
        self.norm = nn.LayerNorm(shape.width)
        if shape.stride > 1:
            self.join = nn.Conv1d(shape.width, shape.width, shape.stride, shape.stride)

    def forward(self, ids: Tensor) -> Tensor:
        """One row a sequence."""
        ids = _whole_strides(ids, self.shape.stride)
        real, states, deep = ids != 0, self.embedding(ids), iter(self.layers)
        turn = angles(ids.shape[1], self.shape.width // self.shape.heads, ids.device)
        if self.shape.stride > 1:
            states = next(deep).local(states, real, turn)
            states, real = _joined(self.join, states, real, self.shape.stride)
            turn = angles(states.shape[1], self.shape.width // self.shape.heads, ids.device)
        for layer in deep:
            states = layer(states, real, turn)
        return nn.functional.normalize(_mean(self.norm(states), real), dim=-1)


class LstmNet(nn.Module):  # type: ignore[misc]  # torch is not followed
    """Rows of the ids, an LSTM that reads both ways, the mean over the tokens that are no padding, a projection."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.shape = shape
        self.embedding = _rows(shape)
        self.lstm = nn.LSTM(shape.width, shape.hidden, shape.depth // 2, batch_first=True, bidirectional=True)
        self.pooled = nn.Linear(2 * shape.hidden, shape.width)
        if shape.stride > 1:
            self.join = nn.Conv1d(shape.width, shape.width, shape.stride, shape.stride)

    def forward(self, ids: Tensor) -> Tensor:
        """One row a sequence; an empty one is read as one padding token, and its row made zeros."""
        ids = _whole_strides(ids, self.shape.stride)
        real, states = ids != 0, self.embedding(ids)
        if self.shape.stride > 1:
            states, real = _joined(self.join, states, real, self.shape.stride)
        lengths = real.sum(1).clamp(min=1).cpu()
        packed = nn.utils.rnn.pack_padded_sequence(states, lengths, batch_first=True, enforce_sorted=False)
        read, _ = nn.utils.rnn.pad_packed_sequence(self.lstm(packed)[0], batch_first=True, total_length=states.shape[1])
        rows = self.pooled(_mean(read, real)).float() * real.any(1, keepdim=True)
        return nn.functional.normalize(rows, dim=-1)


def initialised(shape: Shape, seed: int) -> nn.Module:
    """The net with weights drawn from a generator of its own."""
    net, generator = _empty(shape), torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, values in net.named_parameters():
            _initialise(name, values, shape, generator)
    return net


def filled(shape: Shape, state: Mapping[str, Any]) -> nn.Module:
    """The net with these weights."""
    net = _empty(shape)
    net.load_state_dict({name: torch.from_numpy(values.copy()) for name, values in state.items()})
    return net.eval().requires_grad_(False)


def _empty(shape: Shape) -> nn.Module:
    """A net whose weights are not drawn, so that torch's own random numbers stay where they are."""
    with torch.device("meta"):
        net = LstmNet(shape) if shape.body == "lstm" else TransformerNet(shape)
    return net.to_empty(device="cpu")


def _initialise(name: str, values: Tensor, shape: Shape, generator: torch.Generator) -> None:
    """Norms pass on what they get; what is added to the residual stream starts smaller, the deeper the net is."""
    if name.startswith("lstm."):
        values.uniform_(-1 / math.sqrt(shape.hidden), 1 / math.sqrt(shape.hidden), generator=generator)
    elif values.dim() == 1:
        values.fill_(1.0 if name.endswith("norm.weight") else 0.0)
    elif name == "embedding.weight":
        values.normal_(0, 0.02, generator=generator)
    else:
        added = name.endswith(("attended.weight", "narrow.weight"))
        deviation = 1 / math.sqrt(values[0].numel() * (2 * shape.depth if added else 1))
        values.normal_(0, deviation, generator=generator)


def _rows(shape: Shape) -> nn.Module:
    return HashedRows(shape.buckets, shape.width) if shape.hashes else nn.Embedding(shape.vocabulary, shape.width)


def _whole_strides(ids: Tensor, stride: int) -> Tensor:
    """The ids, padded to at least one position and to whole strides."""
    return nn.functional.pad(ids, (0, max(-ids.shape[1] % stride, 0 if ids.shape[1] else stride)))


def _joined(join: nn.Module, states: Tensor, real: Tensor, stride: int) -> tuple[Tensor, Tensor]:
    """One position for every `stride`; it counts where any of them does, and padding adds nothing to it."""
    whole = states * real.unsqueeze(-1)
    return join(whole.transpose(1, 2)).transpose(1, 2), real.unflatten(1, (-1, stride)).any(-1)


def _mean(states: Tensor, real: Tensor) -> Tensor:
    """The mean over real positions, in float32 whatever the layers run in; zeros where there is none."""
    counted = real.unsqueeze(-1)
    return (states.float() * counted).sum(1) / counted.sum(1).clamp(min=1)
