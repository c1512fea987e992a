"""The networks of trained encoders, in torch."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from rankproof.models._trained.shape import ATTENTION_BLOCK, HASHES, NetShape

# The first 32 bits of the fractional parts of the square roots of the first eight primes, made odd.
_HASH_FACTORS = (0x6A09E667, 0xBB67AE85, 0x3C6EF373, 0xA54FF53B, 0x510E527F, 0x9B05688D, 0x1F83D9AB, 0x5BE0CD19)
_ROTARY_BASE = 10_000.0
Rotation = tuple[Tensor, Tensor]


class HashedRows(nn.Module):  # type: ignore[misc]  # torch is not followed
    """Embeddings joined from eight hash tables, as in CANINE (Clark et al. 2022, TACL 10).

    CANINE hashes by a multiple of the code point modulo the number of buckets. For a power of 2 such hashes collide for all code
    points with the same remainder, so here the bucket is the high bits of the product (Knuth, volume 3, 6.4).
    """

    def __init__(self, buckets: int, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(HASHES, buckets, width // HASHES))
        self.buckets = buckets

    def forward(self, ids: Tensor) -> Tensor:
        """One row per id."""
        rows = nn.functional.embedding(hash_rows(ids, self.buckets), self.weight.flatten(0, 1))
        return rows.flatten(-2)


def hash_rows(ids: Tensor, buckets: int) -> Tensor:
    """The rows of each id in the eight concatenated tables."""
    shift = 32 - (buckets.bit_length() - 1)
    factors = torch.tensor(_HASH_FACTORS, device=ids.device)
    starts = torch.arange(HASHES, device=ids.device) * buckets
    return ((ids.unsqueeze(-1) * factors & 0xFFFFFFFF) >> shift) + starts


class Layer(nn.Module):  # type: ignore[misc]  # torch is not followed
    """A pre-norm transformer layer: attention and feed-forward, each with a residual connection."""

    def __init__(self, width: int, heads: int, hidden: int) -> None:
        super().__init__()
        self.heads = heads
        self.attention_norm, self.forward_norm = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attend, self.attended = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.widen, self.narrow = nn.Linear(width, hidden), nn.Linear(hidden, width)

    def forward(self, states: Tensor, real: Tensor, turn: Rotation) -> Tensor:
        """The states after the layer; padding is masked."""
        states = states + self.attended(self._attention(self.attention_norm(states), real, turn))
        return states + self.narrow(nn.functional.gelu(self.widen(self.forward_norm(states))))

    def local(self, states: Tensor, real: Tensor, turn: Rotation) -> Tensor:
        """The layer with attention within blocks of positions."""
        sequences, length, width = states.shape
        if length <= ATTENTION_BLOCK:
            return self(states, real, turn)
        more = -length % ATTENTION_BLOCK
        padded, counted = nn.functional.pad(states, (0, 0, 0, more)), nn.functional.pad(real, (0, more))
        near = (turn[0][:ATTENTION_BLOCK], turn[1][:ATTENTION_BLOCK])
        blocks: Tensor = self(padded.reshape(-1, ATTENTION_BLOCK, width), counted.reshape(-1, ATTENTION_BLOCK), near)
        return blocks.reshape(sequences, length + more, width)[:, :length]

    def _attention(self, states: Tensor, real: Tensor, turn: Rotation) -> Tensor:
        parts = self.attend(states).unflatten(-1, (3, self.heads, -1))
        query, key, value = (part.transpose(1, 2) for part in parts.unbind(2))
        # A sequence of padding attends to everything: its states are not used but must be finite.
        seen = (real | ~real.any(1, keepdim=True))[:, None, None, :]
        mixed = nn.functional.scaled_dot_product_attention(_rotate(query, turn), _rotate(key, turn), value, attn_mask=seen)
        return mixed.transpose(1, 2).flatten(2)


def rotary_angles(length: int, size: int, device: torch.device) -> Rotation:
    """The cosines and sines of the rotary position embedding (Su et al. 2021, RoFormer)."""
    speeds = _ROTARY_BASE ** (-torch.arange(0, size, 2, device=device, dtype=torch.float32) / size)
    turned = torch.arange(length, device=device, dtype=torch.float32)[:, None] * speeds
    return torch.cat((turned, turned), -1).cos(), torch.cat((turned, turned), -1).sin()


def _rotate(states: Tensor, turn: Rotation) -> Tensor:
    first, second = states.chunk(2, dim=-1)
    return (states * turn[0] + torch.cat((-second, first), -1) * turn[1]).to(states.dtype)


class TransformerNet(nn.Module):  # type: ignore[misc]  # torch is not followed
    """Embeddings, pre-norm layers with rotary positions, and the mean over tokens without padding."""

    def __init__(self, shape: NetShape) -> None:
        super().__init__()
        self.shape = shape
        self.embedding = _embedding_rows(shape)
        self.layers = nn.ModuleList(Layer(shape.width, shape.heads, shape.hidden) for _ in range(shape.depth))
        self.norm = nn.LayerNorm(shape.width)
        if shape.stride > 1:
            self.join = nn.Conv1d(shape.width, shape.width, shape.stride, shape.stride)

    def forward(self, ids: Tensor) -> Tensor:
        """One row per sequence."""
        ids = _pad_to_strides(ids, self.shape.stride)
        real, states, deep = ids != 0, self.embedding(ids), iter(self.layers)
        turn = rotary_angles(ids.shape[1], self.shape.width // self.shape.heads, ids.device)
        if self.shape.stride > 1:
            states = next(deep).local(states, real, turn)
            states, real = _join_strides(self.join, states, real, self.shape.stride)
            turn = rotary_angles(states.shape[1], self.shape.width // self.shape.heads, ids.device)
        for layer in deep:
            states = layer(states, real, turn)
        return nn.functional.normalize(_masked_mean(self.norm(states), real), dim=-1)


class LstmNet(nn.Module):  # type: ignore[misc]  # torch is not followed
    """Embeddings, a bidirectional LSTM, the mean over tokens without padding, and a projection."""

    def __init__(self, shape: NetShape) -> None:
        super().__init__()
        self.shape = shape
        self.embedding = _embedding_rows(shape)
        self.lstm = nn.LSTM(shape.width, shape.hidden, shape.depth // 2, batch_first=True, bidirectional=True)
        self.pooled = nn.Linear(2 * shape.hidden, shape.width)
        if shape.stride > 1:
            self.join = nn.Conv1d(shape.width, shape.width, shape.stride, shape.stride)

    def forward(self, ids: Tensor) -> Tensor:
        """One row per sequence; an empty sequence gives zeros."""
        ids = _pad_to_strides(ids, self.shape.stride)
        real, states = ids != 0, self.embedding(ids)
        if self.shape.stride > 1:
            states, real = _join_strides(self.join, states, real, self.shape.stride)
        lengths = real.sum(1).clamp(min=1).cpu()
        packed = nn.utils.rnn.pack_padded_sequence(states, lengths, batch_first=True, enforce_sorted=False)
        read, _ = nn.utils.rnn.pad_packed_sequence(self.lstm(packed)[0], batch_first=True, total_length=states.shape[1])
        rows = self.pooled(_masked_mean(read, real)).float() * real.any(1, keepdim=True)
        return nn.functional.normalize(rows, dim=-1)


def initialise_network(shape: NetShape, seed: int) -> nn.Module:
    """A network whose weights depend on the seed only; torch's global random state does not change.

    It takes token ids as a tensor of sequences x tokens, padded with 0. It returns rows of length 1, zeros for an empty sequence.
    """
    net, generator = _uninitialised_network(shape), torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, values in net.named_parameters():
            _initialise_tensor(name, values, shape, generator)
    return net


def load_network(shape: NetShape, state: Mapping[str, Any]) -> nn.Module:
    """The network with these weights, for inference."""
    net = _uninitialised_network(shape)
    net.load_state_dict({name: torch.from_numpy(values.copy()) for name, values in state.items()})
    return net.eval().requires_grad_(False)


def _uninitialised_network(shape: NetShape) -> nn.Module:
    """A network without initial weights, so that torch's global random state does not change."""
    with torch.device("meta"):
        net = LstmNet(shape) if shape.architecture == "lstm" else TransformerNet(shape)
    return net.to_empty(device="cpu")


def _initialise_tensor(name: str, values: Tensor, shape: NetShape, generator: torch.Generator) -> None:
    """Norms start as the identity; layers that add to the residual stream start smaller in deeper networks."""
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


def _embedding_rows(shape: NetShape) -> nn.Module:
    return HashedRows(shape.buckets, shape.width) if shape.hashes else nn.Embedding(shape.vocabulary, shape.width)


def _pad_to_strides(ids: Tensor, stride: int) -> Tensor:
    """The ids, padded to whole strides and at least one position."""
    return nn.functional.pad(ids, (0, max(-ids.shape[1] % stride, 0 if ids.shape[1] else stride)))


def _join_strides(join: nn.Module, states: Tensor, real: Tensor, stride: int) -> tuple[Tensor, Tensor]:
    """Joins every `stride` positions; the result is real if one of them is, and padding adds 0."""
    whole = states * real.unsqueeze(-1)
    return join(whole.transpose(1, 2)).transpose(1, 2), real.unflatten(1, (-1, stride)).any(-1)


def _masked_mean(states: Tensor, real: Tensor) -> Tensor:
    """The mean over real positions, in float32; zeros if there are none."""
    counted = real.unsqueeze(-1)
    return (states.float() * counted).sum(1) / counted.sum(1).clamp(min=1)
