"""Runs networks of the BERT family with weights and activations of 8 bits, by a C kernel or by numpy with the same bits."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from typing import Any, Literal, Protocol

import numpy as np

from rankproof._data.arrays import FloatArray, Matrix
from rankproof._version import __version__
from rankproof.errors import ExternalError
from rankproof.models._onnx.config import ACTIVATIONS, BertConfig, TensorReader, open_weights
from rankproof.models._onnx.folder import ModelFolder
from rankproof.models._tokenizer import Encoding

Kernel = Literal["native", "numpy"]
Part = tuple[int, int, Matrix, Matrix]
"""The layer (-1: the embeddings), the number of the part in it, its weight and its bias."""
_EMBEDDING_NORM, _PROJECTION = 0, 1
_LINEARS = ("joined", "attended", "widen", "narrow")
_NORMS = ("attended_norm", "norm")
_ACTIVATION_NUMBERS = {"none": 0, "tanh": 1, "": 2}


@cache
def best_kernel() -> Kernel:
    """The native kernel if it was built, else numpy."""
    return "native" if find_spec("rankproof._native.bert") is not None else "numpy"


class Int8Network(Protocol):
    """The layers of a network; its states depend on the embeddings of one text only."""

    def run(self, embedded: Matrix) -> Matrix:
        """The last hidden states, one row per token."""
        ...


class NativeNetwork:
    """The layers run by the C kernel."""

    def __init__(self, shape: BertConfig, parts: Iterator[Part]) -> None:
        try:
            from rankproof._native import bert
        except ImportError as error:
            raise ExternalError(f"the native kernel cannot be loaded ({error}); install rankproof again") from None
        sizes = (shape.embedding, shape.hidden, shape.intermediate_size, shape.heads, shape.layers)
        self._library, self._hidden = bert, shape.hidden
        self._network = bert.network(*sizes, _ACTIVATION_NUMBERS[ACTIVATIONS[shape.activation]], shape.epsilon)
        for layer, part, weight, bias in parts:
            bert.fill(self._network, layer, part, _contiguous(weight), _contiguous(bias))

    def run(self, embedded: Matrix) -> Matrix:
        """The last hidden states, one row per token."""
        states = self._library.run(self._network, _contiguous(embedded), -1)
        return np.frombuffer(states, np.float32).reshape(len(embedded), self._hidden)


def _contiguous(values: Matrix) -> Matrix:
    return np.ascontiguousarray(values, dtype=np.float32)


class Int8Session:
    """Runs a model in int8; safe for several threads."""

    def __init__(self, folder: ModelFolder, *, head: bool, kernel: Kernel | None = None) -> None:
        tensors = TensorReader(open_weights(folder.weights), folder.shape.family.spellings)
        typed = head and folder.uses_token_types()
        self._embeddings = _Embeddings(folder.shape, tensors, typed=typed)
        network = NativeNetwork if (kernel or best_kernel()) == "native" else NumpyNetwork
        self._network: Int8Network = network(folder.shape, _network_parts(folder.shape, tensors))
        self._head = _Head(folder.shape, tensors) if head else None
        self.library = f"rankproof {__version__}"

    def run(self, tokens: Encoding) -> Matrix:
        """The last hidden states of one text, or the logits of the head."""
        try:
            states = self._network.run(self._embeddings.of(tokens))
        except MemoryError:
            raise ExternalError(f"no memory for a text of {len(tokens.ids)} tokens; free some memory") from None
        return states if self._head is None else self._head.logits(states)


class _Embeddings:
    """The tables of words, positions and types; without types, the first type is added to the positions."""

    def __init__(self, shape: BertConfig, tensors: TensorReader, *, typed: bool) -> None:
        size = shape.embedding
        self._words = tensors.take("embeddings.word_embeddings.weight", shape.vocabulary, size)
        places = tensors.take("embeddings.position_embeddings.weight", shape.positions, size)
        types = tensors.take("embeddings.token_type_embeddings.weight", shape.types, size) if shape.types else None
        self._types = types if typed else None
        self._places = places if typed or types is None else places + types[0]
        self._padding = shape.padding if shape.family.counts_positions else None

    def of(self, tokens: Encoding) -> Matrix:
        """The sum of the embeddings of each token."""
        ids = np.array(tokens.ids, dtype=np.int64)
        rows = self._words[ids]
        if self._types is not None:
            rows = rows + self._types[np.array(tokens.types, dtype=np.int64)]
        if self._padding is None:
            return np.asarray(rows + self._places[: len(ids)])
        real = (ids != self._padding).astype(np.int64)
        return np.asarray(rows + self._places[np.cumsum(real) * real + self._padding])


class _Head:
    """The classifier: a layer, an activation and a layer, on the state of the first token."""

    def __init__(self, shape: BertConfig, tensors: TensorReader) -> None:
        inner, self._activation, outer = shape.family.head
        self._inner = _linear(tensors, inner, shape.hidden, shape.hidden)
        self._outer = _linear(tensors, outer, shape.hidden, shape.labels)

    def logits(self, states: Matrix) -> Matrix:
        """One logit per label."""
        weight, bias = self._inner
        pooled = _HEAD_ACTIVATIONS[self._activation](weight.astype(np.float64) @ states[0].astype(np.float64) + bias)
        weight, bias = self._outer
        logits: Matrix = (weight.astype(np.float64) @ pooled + bias).astype(np.float32)
        return logits


_HEAD_ACTIVATIONS: dict[str, Callable[[FloatArray], FloatArray]] = {
    "tanh": np.tanh,
    "relu": lambda values: np.maximum(values, 0),
    "gelu": lambda values: np.array([0.5 * value * (1 + math.erf(value / math.sqrt(2))) for value in values.tolist()]),
}


def _linear(tensors: TensorReader, name: str, inputs: int, outputs: int) -> tuple[Matrix, Matrix]:
    return tensors.take(f"{name}.weight", outputs, inputs), tensors.take(f"{name}.bias", outputs)


def _norm(tensors: TensorReader, name: str, size: int) -> tuple[Matrix, Matrix]:
    return tensors.take(f"{name}.weight", size), tensors.take(f"{name}.bias", size)


def _network_parts(shape: BertConfig, tensors: TensorReader) -> Iterator[Part]:
    hidden, wide = shape.hidden, shape.intermediate_size
    yield -1, _EMBEDDING_NORM, *_norm(tensors, "embeddings.LayerNorm", shape.embedding)
    if shape.embedding != hidden:
        yield -1, _PROJECTION, *_linear(tensors, "embeddings_project", shape.embedding, hidden)
    for layer in range(shape.layers):
        names = {part: name.format(layer) for part, name in shape.family.layer.items()}
        yield layer, 0, *_joined(tensors, names, shape)
        for number, (inputs, outputs) in enumerate([(hidden, hidden), (hidden, wide), (wide, hidden)], start=1):
            yield layer, number, *_linear(tensors, names[_LINEARS[number]], inputs, outputs)
        for number, name in enumerate(_NORMS, start=len(_LINEARS)):
            yield layer, number, *_norm(tensors, names[name], hidden)


def _joined(tensors: TensorReader, names: dict[str, str], shape: BertConfig) -> tuple[Matrix, Matrix]:
    """Query, key and value as one layer; the query has the scale of the scores."""
    scales = {"query": np.float32(1 / np.sqrt(shape.hidden // shape.heads)), "key": np.float32(1), "value": np.float32(1)}
    parts = {part: _linear(tensors, names[part], shape.hidden, shape.hidden) for part in scales}
    return (
        np.concatenate([parts[part][0] * scale for part, scale in scales.items()]),
        np.concatenate([parts[part][1] * scale for part, scale in scales.items()]),
    )


_SUMS = 64
_LARGEST, _LEAST = np.float32(3.0e38), np.float32(1.0e-30)
_LOG2_E = np.float32(1.44269504)
_POWERS = (
    0.0013400432653725147,
    0.009676037356257439,
    0.05550327152013779,
    0.2402210682630539,
    0.6931471824645996,
    1.0000001192092896,
)
_GELU = (
    0.0009806925663724542, -0.0023400159552693367, 0.0027162774931639433, -0.0052515482529997826, 0.011439226567745209,
    -0.019020941108465195, 0.02828393131494522, -0.040109213441610336, 0.05470119044184685, -0.07719386368989944,
    0.156904935836792,
)  # fmt: skip
"""The polynomials of the C kernel, highest power first."""


@dataclass(frozen=True, eq=False, slots=True)
class _Linear:
    """Whole numbers for weights, one scale per output, the scaled sums of the weights, and the biases."""

    numbers: FloatArray
    scales: Matrix
    sums: Matrix
    biases: Matrix

    def __call__(self, rows: Matrix) -> Matrix:
        low, high = rows.min(axis=1, keepdims=True), rows.max(axis=1, keepdims=True)
        span = high - low
        factor = np.where(span > 0, np.float32(255) / span, np.float32(0))
        sound = (span <= _LARGEST) & (factor <= _LARGEST)
        numbers = np.where(sound, _bytes((rows - low) * factor), 0)
        scale = np.where(sound, span / np.float32(255), np.float32(0))
        low = np.where(span <= _LARGEST, low, np.float32(np.nan))
        products = (numbers.astype(np.float64) @ self.numbers.T).astype(np.float32)
        return np.asarray(products * (scale * self.scales) + (low * self.sums + self.biases))


def _quantised(weight: Matrix, bias: Matrix) -> _Linear:
    scales = np.abs(weight).max(axis=1) / np.float32(127)
    numbers = np.clip(np.rint(weight / np.where(scales > 0, scales, np.float32(np.inf))[:, None]), -127, 127)
    sums = scales * numbers.sum(axis=1, dtype=np.float64).astype(np.float32)
    return _Linear(numbers.astype(np.float64), scales, sums, bias)


def _bytes(values: Matrix) -> Any:
    """Numbers from 0 to 255, rounded."""
    return (values + np.float32(8388608)).view(np.uint32) & 255


class NumpyNetwork:
    """The definition of the C kernel, which gives the same bits."""

    def __init__(self, shape: BertConfig, parts: Iterator[Part]) -> None:
        self._shape = shape
        self._parts: dict[tuple[int, int], Any] = {
            (layer, part): (weight, bias) if weight.ndim == 1 else _quantised(weight, bias) for layer, part, weight, bias in parts
        }

    def run(self, embedded: Matrix) -> Matrix:
        """The last hidden states, one row per token."""
        with np.errstate(all="ignore"):
            states = self._normed(embedded, -1, _EMBEDDING_NORM)
            if (-1, _PROJECTION) in self._parts:
                states = self._parts[-1, _PROJECTION](states)
            for layer in range(self._shape.layers):
                joined, attended, widen, narrow = (self._parts[layer, part] for part in range(len(_LINEARS)))
                states = self._normed(states + attended(self._attention(joined(states))), layer, len(_LINEARS))
                wide = _ACTIVATE[ACTIVATIONS[self._shape.activation]](widen(states))
                states = self._normed(states + narrow(wide), layer, len(_LINEARS) + 1)
            return states

    def _normed(self, rows: Matrix, layer: int, part: int) -> Matrix:
        scale, shift = self._parts[layer, part]
        off = rows - _row_means(rows)
        factor = np.float32(1) / np.sqrt(_row_means(off * off) + np.float32(self._shape.epsilon))
        return np.asarray(off * factor * scale + shift)

    def _attention(self, joined: Matrix) -> Matrix:
        heads = np.split(joined, 3 * self._shape.heads, axis=1)
        count = self._shape.heads
        return np.concatenate([_attended(*heads[at::count]) for at in range(count)], axis=1)


def _row_means(rows: Matrix) -> Matrix:
    """The mean of each row: 64 sums in turn, added by halves."""
    padded = np.zeros((len(rows), -(-rows.shape[1] // _SUMS) * _SUMS), np.float32)
    padded[:, : rows.shape[1]] = rows
    sums = np.add.reduce(padded.reshape(len(rows), -1, _SUMS), axis=1)
    while sums.shape[1] > 1:
        half = sums.shape[1] // 2
        sums = sums[:, :half] + sums[:, half:]
    return np.asarray(sums / np.float32(rows.shape[1]))


def _factors(largest: Matrix) -> Matrix:
    return np.where(largest > _LEAST, np.float32(127) / largest, np.float32(0))


def _around_zero(rows: Matrix, factors: Matrix) -> FloatArray:
    """Whole numbers from -127 to 127."""
    numbers: FloatArray = _bytes(rows * factors + np.float32(128)).astype(np.float64) - 128
    return numbers


def _attended(queries: Matrix, keys: Matrix, values: Matrix) -> Matrix:
    """One head: scores and shares are whole numbers, the shares from 0 to 255."""
    query_factor, key_factor = (_factors(np.abs(rows).max()) for rows in (queries, keys))
    both = query_factor * key_factor
    unit = np.where(both > 0, _LOG2_E / both, np.float32(0))
    scores = _around_zero(queries, query_factor) @ _around_zero(keys, key_factor).T
    exponents = (scores - scores.max(axis=1, keepdims=True)).astype(np.float32) * unit
    shares = _bytes(_power_of_two(np.where(exponents > -20, exponents, np.float32(-20))) * np.float32(255)).astype(np.float64)
    largest = np.abs(values).max(axis=0)
    sums = (shares @ _around_zero(values, _factors(largest))).astype(np.float32)
    parts = np.float32(1) / shares.sum(axis=1, keepdims=True).astype(np.float32)
    return np.asarray(sums * (parts * (largest / np.float32(127))))


def _polynomial(coefficients: tuple[float, ...], values: Matrix) -> Matrix:
    sums = np.full_like(values, np.float32(coefficients[0]))
    for coefficient in coefficients[1:]:
        sums = sums * values + np.float32(coefficient)
    return sums


def _power_of_two(exponents: Matrix) -> Matrix:
    magic = np.float32(12582912)
    shifted = exponents + magic
    bits = _polynomial(_POWERS, exponents - (shifted - magic)).view(np.uint32) + (shifted.view(np.uint32) << np.uint32(23))
    return np.asarray(bits.view(np.float32))


def _gelu(values: Matrix) -> Matrix:
    size = np.abs(values)
    near = np.where(size < np.float32(4.5), size, np.float32(4.5))
    square = near * near * (np.float32(2) / np.float32(20.25)) - np.float32(1)
    return np.asarray(values * np.float32(0.5) + size * (near * _polynomial(_GELU, square)))


def _tanh_gelu(values: Matrix) -> Matrix:
    inner = np.float32(0.7978845608) * (values + np.float32(0.044715) * values * values * values)
    exponents = inner * (np.float32(-2) * _LOG2_E)
    exponents = np.where(exponents < 126, exponents, np.float32(126))
    exponents = np.where(exponents > -126, exponents, np.float32(-126))
    return np.asarray(values / (np.float32(1) + _power_of_two(exponents)))


_ACTIVATE: dict[str, Callable[[Matrix], Matrix]] = {
    "none": _gelu,
    "tanh": _tanh_gelu,
    "": lambda values: np.where(values > 0, values, np.float32(0)),
}
