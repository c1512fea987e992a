"""The parts of the net, written in torch."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from .shape import BLOCK, HASHES

# The first 32 bits of the fractional parts of the square roots of the first eight primes, made odd.
_FACTORS = (0x6A09E667, 0xBB67AE85, 0x3C6EF373, 0xA54FF53B, 0x510E527F, 0x9B05688D, 0x1F83D9AB, 0x5BE0CD19)
_BASE = 10_000.0
Turn = tuple[Tensor, Tensor]


class HashedRows(nn.Module):  # type: ignore[misc]  # torch is not followed
    """A part of a row from each of eight tables, put side by side, as CANINE has it (Clark et al. 2022, TACL 10).

    CANINE takes a multiple of the code point modulo the number of buckets. Where that number is a power of 2 such hashes agree on
    all code points that are the same modulo it, so here the buckets are the high bits of the product (Knuth, volume 3, 6.4).
    """

    def __init__(self, buckets: int, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(HASHES, buckets, width // HASHES))
        self.buckets = buckets

    def forward(self, ids: Tensor) -> Tensor:
        """One row an id."""
        rows = nn.functional.embedding(hashed(ids, self.buckets), self.weight.flatten(0, 1))
        return rows.flatten(-2)


def hashed(ids: Tensor, buckets: int) -> Tensor:
    """For each id its row in each of the eight tables, where the tables lie one below the other."""
    shift = 32 - (buckets.bit_length() - 1)
    factors = torch.tensor(_FACTORS, device=ids.device)
    starts = torch.arange(HASHES, device=ids.device) * buckets
    return ((ids.unsqueeze(-1) * factors & 0xFFFFFFFF) >> shift) + starts


class Layer(nn.Module):  # type: ignore[misc]  # torch is not followed
    """Attention and a feed-forward part, each normed before and added after."""

    def __init__(self, width: int, heads: int, hidden: int) -> None:
        super().__init__()
        self.heads = heads
        self.attention_norm, self.forward_norm = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attend, self.attended = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.widen, self.narrow = nn.Linear(width, hidden), nn.Linear(hidden, width)

    def forward(self, states: Tensor, real: Tensor, turn: Turn) -> Tensor:
        """The states after the layer; no position looks at padding."""
        states = states + self.attended(self._attention(self.attention_norm(states), real, turn))
        return states + self.narrow(nn.functional.gelu(self.widen(self.forward_norm(states))))

    def local(self, states: Tensor, real: Tensor, turn: Turn) -> Tensor:
        """The same where each block of positions sees itself alone."""
        sequences, length, width = states.shape
        if length <= BLOCK:
            return self(states, real, turn)
        more = -length % BLOCK
        padded, counted = nn.functional.pad(states, (0, 0, 0, more)), nn.functional.pad(real, (0, more))
        near = (turn[0][:BLOCK], turn[1][:BLOCK])
        found: Tensor = self(padded.reshape(-1, BLOCK, width), counted.reshape(-1, BLOCK), near)
        return found.reshape(sequences, length + more, width)[:, :length]

    def _attention(self, states: Tensor, real: Tensor, turn: Turn) -> Tensor:
        parts = self.attend(states).unflatten(-1, (3, self.heads, -1))
        query, key, value = (part.transpose(1, 2) for part in parts.unbind(2))
        # A sequence with nothing real in it sees everything: its states do not count, but must be numbers.
        seen = (real | ~real.any(1, keepdim=True))[:, None, None, :]
        mixed = nn.functional.scaled_dot_product_attention(_turned(query, turn), _turned(key, turn), value, attn_mask=seen)
        return mixed.transpose(1, 2).flatten(2)


def angles(length: int, size: int, device: torch.device) -> Turn:
    """The cosine and sine by which each position turns each pair of numbers (Su et al. 2021, RoFormer)."""
    speeds = _BASE ** (-torch.arange(0, size, 2, device=device, dtype=torch.float32) / size)
    turned = torch.arange(length, device=device, dtype=torch.float32)[:, None] * speeds
    return torch.cat((turned, turned), -1).cos(), torch.cat((turned, turned), -1).sin()


def _turned(states: Tensor, turn: Turn) -> Tensor:
    first, second = states.chunk(2, dim=-1)
    return (states * turn[0] + torch.cat((-second, first), -1) * turn[1]).to(states.dtype)
