"""The shape of a trained network: sizes, tensors, parameters and FLOPs."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np

from rankproof._data.arrays import IntArray
from rankproof._data.validation import checked_choice, checked_integer
from rankproof.errors import UsageError
from rankproof.models._trained.tokenizers import parse_tokenizer_kind

Architecture = Literal["transformer", "lstm"]
ARCHITECTURES: tuple[Architecture, ...] = get_args(Architecture)
ATTENTION_BLOCK = 128
HASHES = 8
BUCKETS = 2048
SIZE_LIMITS = {"vocabulary": 1_200_000, "width": 8192, "depth": 64, "heads": 128, "hidden": 65_536, "characters": 100_000}
"""The upper limit of each size."""


@dataclass(frozen=True, slots=True)
class NetShape:
    """The sizes of a network.

    Texts are truncated at `characters` before tokenization, so that all tokenizers read the same text. `hidden` is the inner
    width of a feed-forward layer, or the width of an LSTM in one direction; `depth` counts layers, two for each bidirectional
    LSTM layer. With a stride, the first layer attends within blocks of 128 tokens, and a convolution then joins every `stride`
    positions. With hashes, the embedding of a token is joined from parts in that many hash tables.
    """

    kind: str
    vocabulary: int
    architecture: Architecture = "transformer"
    width: int = 256
    depth: int = 4
    heads: int = 4
    hidden: int = 1024
    stride: int = 1
    hashes: int = 0
    buckets: int = 0
    characters: int = 512

    def __post_init__(self) -> None:
        named = parse_tokenizer_kind(self.kind)
        check_layers(self.architecture, self.width, self.depth, self.heads)
        for name in ("vocabulary", "hidden", "characters"):
            checked_integer(name, getattr(self, name), 1, SIZE_LIMITS[name])
        checked_integer("stride", self.stride, named.stride, named.stride)
        hashes = HASHES if named.hashed else 0
        checked_integer("hashes", self.hashes, hashes, hashes)
        self._check_buckets()

    def _check_buckets(self) -> None:
        checked_integer("buckets", self.buckets, 2 if self.hashes else 0, 1 << 20 if self.hashes else 0)
        if self.buckets.bit_count() > 1:
            raise UsageError(f"buckets is {self.buckets}", fix="choose a power of 2")

    def read(self, text: str) -> str:
        """The part of a text that is encoded."""
        return normalise_input(text, self.characters)


def check_layers(architecture: str, width: int, depth: int, heads: int) -> None:
    """Raises an error for sizes that no network can have."""
    checked_choice("architecture", architecture, ARCHITECTURES)
    for name, size in (("width", width), ("depth", depth), ("heads", heads)):
        checked_integer(name, size, 1, SIZE_LIMITS[name])
    if width % (2 * heads) or width % HASHES:
        raise UsageError(f"width {width} with {heads} heads", fix=f"choose a multiple of {HASHES} and of twice the heads")
    if architecture == "lstm" and depth % 2:
        raise UsageError(f"depth is {depth}", fix="choose an even depth for an lstm, which is bidirectional")


def normalise_input(text: str, characters: int) -> str:
    """The first characters in lower case, so that every tokenizer reads the same text."""
    return text[:characters].lower()


def tensor_sizes(shape: NetShape) -> dict[str, tuple[int, ...]]:
    """The size of every tensor of the network, by name."""
    width = shape.width
    rows = (HASHES, shape.buckets, width // HASHES) if shape.hashes else (shape.vocabulary, width)
    sizes: dict[str, tuple[int, ...]] = {"embedding.weight": rows}
    if shape.stride > 1:
        sizes |= {"join.weight": (width, width, shape.stride), "join.bias": (width,)}
    return sizes | (_lstm_tensors(shape) if shape.architecture == "lstm" else _transformer_tensors(shape))


def _transformer_tensors(shape: NetShape) -> dict[str, tuple[int, ...]]:
    width, hidden = shape.width, shape.hidden
    sizes: dict[str, tuple[int, ...]] = {}
    for layer in range(shape.depth):
        for name, (out, into) in _layer_tensors(width, hidden).items():
            sizes |= {f"layers.{layer}.{name}.weight": (out, into), f"layers.{layer}.{name}.bias": (out,)}
        for name in ("attention_norm", "forward_norm"):
            sizes |= {f"layers.{layer}.{name}.weight": (width,), f"layers.{layer}.{name}.bias": (width,)}
    return sizes | {"norm.weight": (width,), "norm.bias": (width,)}


def _layer_tensors(width: int, hidden: int) -> Mapping[str, tuple[int, int]]:
    return {"attend": (3 * width, width), "attended": (width, width), "widen": (hidden, width), "narrow": (width, hidden)}


def _lstm_tensors(shape: NetShape) -> dict[str, tuple[int, ...]]:
    hidden, sizes = shape.hidden, dict[str, tuple[int, ...]]()
    for layer in range(shape.depth // 2):
        for way in ("", "_reverse"):
            into = 2 * hidden if layer else shape.width
            sizes |= {f"lstm.weight_ih_l{layer}{way}": (4 * hidden, into), f"lstm.weight_hh_l{layer}{way}": (4 * hidden, hidden)}
            sizes |= {f"lstm.bias_{part}_l{layer}{way}": (4 * hidden,) for part in ("ih", "hh")}
    return sizes | {"pooled.weight": (shape.width, 2 * hidden), "pooled.bias": (shape.width,)}


def parameter_count(shape: NetShape) -> int:
    """The number of trained parameters."""
    return sum(math.prod(size) for size in tensor_sizes(shape).values())


def forward_flops(shape: NetShape, lengths: IntArray) -> float:
    """The FLOPs of one forward pass over sequences of these lengths.

    A matrix product counts 2mnk, attention 4 x pairs of positions x width; padding, lookups, norms and activations count 0.
    """
    tokens = np.asarray(lengths, dtype=np.float64)
    joined = np.ceil(tokens / shape.stride)
    joining = 2.0 * shape.stride * shape.width**2 * joined.sum() if shape.stride > 1 else 0.0
    if shape.architecture == "lstm":
        weights = sum(math.prod(size) for name, size in tensor_sizes(shape).items() if name.startswith("lstm.weight"))
        return float(joining + 2.0 * weights * joined.sum() + 4.0 * shape.hidden * shape.width * np.count_nonzero(tokens))
    local = 1 if shape.stride > 1 else 0
    near = _layer_flops(shape, tokens, (tokens // ATTENTION_BLOCK) * ATTENTION_BLOCK**2 + (tokens % ATTENTION_BLOCK) ** 2)
    deep = _layer_flops(shape, joined, joined**2)
    return float(joining + local * near + (shape.depth - local) * deep)


def _layer_flops(shape: NetShape, positions: np.ndarray, pairs: np.ndarray) -> float:
    weights = sum(math.prod(size) for size in _layer_tensors(shape.width, shape.hidden).values())
    return float(2.0 * weights * positions.sum() + 4.0 * shape.width * pairs.sum())


PARAMETER_TOLERANCE = 0.01
_WIDTH_STEPS = (8, 4, 2, 1)
_MAX_HIDDEN = 65_536


def fit_shape(
    kind: str,
    vocabulary: int,
    *,
    parameters: int,
    architecture: Architecture = "transformer",
    width: int = 256,
    depth: int = 4,
    heads: int = 4,
    characters: int = 512,
) -> NetShape:
    """The shape whose hidden width gives the network this number of parameters, within 1%.

    A smaller vocabulary gives larger layers, as in ByT5 (Xue et al. 2022, TACL 10).
    """
    narrow = _smallest_shape(kind, vocabulary, architecture, width, depth, heads, characters)
    for step in _WIDTH_STEPS:
        shape = replace(narrow, hidden=_closest_hidden(narrow, parameters, step))
        if _parameter_error(shape, parameters) <= PARAMETER_TOLERANCE:
            return shape
    raise _no_fit_error(shape, parameters)


def check_parameter_minimum(
    kind: str,
    vocabulary: int,
    *,
    parameters: int,
    architecture: Architecture,
    width: int,
    depth: int,
    heads: int,
    characters: int,
) -> None:
    """Raises an error for fewer parameters than the smallest network with these layers and tokens has."""
    narrow = _smallest_shape(kind, vocabulary, architecture, width, depth, heads, characters)
    if parameter_count(narrow) > parameters * (1 + PARAMETER_TOLERANCE):
        raise _no_fit_error(narrow, parameters)


def _smallest_shape(
    kind: str, vocabulary: int, architecture: Architecture, width: int, depth: int, heads: int, characters: int
) -> NetShape:
    named = parse_tokenizer_kind(kind)
    hashes, buckets = (HASHES, BUCKETS) if named.hashed else (0, 0)
    return NetShape(kind, vocabulary, architecture, width, depth, heads, 1, named.stride, hashes, buckets, characters)


def _closest_hidden(narrow: NetShape, wanted: int, step: int) -> int:
    """The multiple of the step whose number of parameters is closest to the wanted one."""
    low, high = 1, _MAX_HIDDEN // step
    while low < high:
        middle = (low + high) // 2
        low, high = (middle + 1, high) if parameter_count(replace(narrow, hidden=middle * step)) < wanted else (low, middle)
    near = [max(low - 1, 1) * step, low * step]
    return min(near, key=lambda hidden: _parameter_error(replace(narrow, hidden=hidden), wanted))


def _parameter_error(shape: NetShape, wanted: int) -> float:
    return abs(parameter_count(shape) - wanted) / max(wanted, 1)


def _no_fit_error(nearest: NetShape, wanted: int) -> UsageError:
    least, most = (parameter_count(replace(nearest, hidden=hidden)) for hidden in (8, _MAX_HIDDEN))
    what = f"{nearest.kind} of {nearest.vocabulary:,} tokens, width {nearest.width} and depth {nearest.depth}"
    if wanted > most:
        return UsageError(f"{what} has at most {most:,} parameters, not {wanted:,}", fix="choose fewer, or raise width or depth")
    if wanted >= least:
        return UsageError(f"{what} cannot have {wanted:,} parameters within 1%", fix=f"choose {parameter_count(nearest):,}")
    fix = f"raise the parameters to {least:,} or more, lower width or depth, or choose a smaller vocabulary"
    return UsageError(f"{what} has at least {least:,} parameters, not {wanted:,}", fix=fix)
