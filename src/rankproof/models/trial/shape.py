"""The sizes of one small encoder: its tensors, and what a forward pass costs."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from ...data.arrays import IntArray
from ...data.checks import choice, whole
from ...errors import UsageError
from .kinds import kind_named

Body = Literal["transformer", "lstm"]
BODIES: tuple[Body, ...] = get_args(Body)
BLOCK = 128
HASHES = 8
BUCKETS = 2048
MOST = {"vocabulary": 1_200_000, "width": 8192, "depth": 64, "heads": 128, "hidden": 65_536, "characters": 100_000}
"""The largest that each size may be."""


@dataclass(frozen=True, slots=True)
class Shape:
    """What the net is made of.

    Texts are cut at so many characters before they become tokens, so that each tokenizer reads the same. `hidden` is the width
    between the two layers of a feed-forward part, or of an LSTM in one direction; `depth` counts the layers, two to each of the
    LSTM's, which reads both ways. With a stride, the first layer attends within blocks of 128 tokens, and a convolution then
    joins every `stride` positions. With hashes, a token has no row of its own but a part of a row in each of so many tables.
    """

    kind: str
    vocabulary: int
    body: Body = "transformer"
    width: int = 256
    depth: int = 4
    heads: int = 4
    hidden: int = 1024
    stride: int = 1
    hashes: int = 0
    buckets: int = 0
    characters: int = 512

    def __post_init__(self) -> None:
        named = kind_named(self.kind)
        check_layers(self.body, self.width, self.depth, self.heads)
        for name in ("vocabulary", "hidden", "characters"):
            whole(name, getattr(self, name), 1, MOST[name])
        whole("stride", self.stride, named.stride, named.stride)
        hashes = HASHES if named.hashed else 0
        whole("hashes", self.hashes, hashes, hashes)
        self._check_buckets()

    def _check_buckets(self) -> None:
        whole("buckets", self.buckets, 2 if self.hashes else 0, 1 << 20 if self.hashes else 0)
        if self.buckets.bit_count() > 1:
            raise UsageError(f"buckets is {self.buckets}", fix="choose a power of 2")

    def read(self, text: str) -> str:
        """What is read of a text."""
        return text_read(text, self.characters)


def check_layers(body: str, width: int, depth: int, heads: int) -> None:
    """Refuses layers that no net here has, whatever its tokens."""
    choice("body", body, BODIES)
    for name, size in (("width", width), ("depth", depth), ("heads", heads)):
        whole(name, size, 1, MOST[name])
    if width % (2 * heads) or width % HASHES:
        raise UsageError(f"width {width} with {heads} heads", fix=f"choose a multiple of {HASHES} and of twice the heads")
    if body == "lstm" and depth % 2:
        raise UsageError(f"depth is {depth}", fix="choose an even one for an lstm: it reads both ways")


def text_read(text: str, characters: int) -> str:
    """Its first characters in lower case: every tokenizer reads the same text, and none gains by knowing of capitals."""
    return text[:characters].lower()


def tensors(shape: Shape) -> dict[str, tuple[int, ...]]:
    """The size of every tensor of the net, by its name."""
    width = shape.width
    rows = (HASHES, shape.buckets, width // HASHES) if shape.hashes else (shape.vocabulary, width)
    found: dict[str, tuple[int, ...]] = {"embedding.weight": rows}
    if shape.stride > 1:
        found |= {"join.weight": (width, width, shape.stride), "join.bias": (width,)}
    return found | (_lstm(shape) if shape.body == "lstm" else _transformer(shape))


def _transformer(shape: Shape) -> dict[str, tuple[int, ...]]:
    width, hidden = shape.width, shape.hidden
    found: dict[str, tuple[int, ...]] = {}
    for layer in range(shape.depth):
        for name, (out, into) in _layer(width, hidden).items():
            found |= {f"layers.{layer}.{name}.weight": (out, into), f"layers.{layer}.{name}.bias": (out,)}
        for name in ("attention_norm", "forward_norm"):
            found |= {f"layers.{layer}.{name}.weight": (width,), f"layers.{layer}.{name}.bias": (width,)}
    return found | {"norm.weight": (width,), "norm.bias": (width,)}


def _layer(width: int, hidden: int) -> Mapping[str, tuple[int, int]]:
    return {"attend": (3 * width, width), "attended": (width, width), "widen": (hidden, width), "narrow": (width, hidden)}


def _lstm(shape: Shape) -> dict[str, tuple[int, ...]]:
    hidden, found = shape.hidden, dict[str, tuple[int, ...]]()
    for layer in range(shape.depth // 2):
        for way in ("", "_reverse"):
            into = 2 * hidden if layer else shape.width
            found |= {f"lstm.weight_ih_l{layer}{way}": (4 * hidden, into), f"lstm.weight_hh_l{layer}{way}": (4 * hidden, hidden)}
            found |= {f"lstm.bias_{part}_l{layer}{way}": (4 * hidden,) for part in ("ih", "hh")}
    return found | {"pooled.weight": (shape.width, 2 * hidden), "pooled.bias": (shape.width,)}


def parameters(shape: Shape) -> int:
    """How many numbers the net learns."""
    return sum(math.prod(size) for size in tensors(shape).values())


def operations(shape: Shape, lengths: IntArray) -> float:
    """The floating-point operations of one forward pass over sequences of so many tokens.

    Products of matrices count 2mnk, attention 4 times its pairs of positions times the width; padding, lookups, norms and
    activations count nothing.
    """
    tokens = np.asarray(lengths, dtype=np.float64)
    joined = np.ceil(tokens / shape.stride)
    joining = 2.0 * shape.stride * shape.width**2 * joined.sum() if shape.stride > 1 else 0.0
    if shape.body == "lstm":
        weights = sum(math.prod(size) for name, size in tensors(shape).items() if name.startswith("lstm.weight"))
        return float(joining + 2.0 * weights * joined.sum() + 4.0 * shape.hidden * shape.width * np.count_nonzero(tokens))
    local = 1 if shape.stride > 1 else 0
    near = _layer_operations(shape, tokens, (tokens // BLOCK) * BLOCK**2 + (tokens % BLOCK) ** 2)
    deep = _layer_operations(shape, joined, joined**2)
    return float(joining + local * near + (shape.depth - local) * deep)


def _layer_operations(shape: Shape, positions: np.ndarray, pairs: np.ndarray) -> float:
    weights = sum(math.prod(size) for size in _layer(shape.width, shape.hidden).values())
    return float(2.0 * weights * positions.sum() + 4.0 * shape.width * pairs.sum())
