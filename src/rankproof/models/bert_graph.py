"""The ONNX graph of a BERT-family model, written straight from its weights.

It reads one text at a time, so there is no padding and no mask: measured on one thread, paragraphs are a sixth faster than in
batches of 32 sorted by length (titles a sixth slower), and a text's numbers, quantised too, never depend on the texts beside it.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from .bert_head import draw_head
from .bert_parts import bent, linear, norm
from .bert_shape import Shape
from .onnx_drawing import Sheet
from .safetensors_file import Taker, open_weights

GRAPH_VERSION = 1
"""Goes up when the written graph gives other numbers for the same weights."""


def write_graph(weights: Path, shape: Shape, target: Path, *, head: bool, typed: bool) -> None:
    """The model as a graph, to the last hidden states or with its head to a sequence's logits; `typed` tells two texts apart."""
    taker = Taker(open_weights(weights), shape.family.spellings)
    sheet = Sheet()
    states = _embedded(sheet, taker, shape, typed=typed)
    for layer in range(shape.layers):
        states = _layer(sheet, taker, shape, states, layer)
    names = ("input_ids", "token_type_ids") if typed else ("input_ids",)
    output = draw_head(sheet, taker, shape, states) if head else states
    size = (1, shape.labels) if head else (1, "length", shape.hidden)
    sheet.save(target, inputs=dict.fromkeys(names, (1, "length")), output=output, shape=size)


def _embedded(sheet: Sheet, taker: Taker, shape: Shape, *, typed: bool) -> str:
    """Words, positions and types; where all tokens are of the first type, that is part of their position."""
    size = shape.embedding
    words = taker.take("embeddings.word_embeddings.weight", shape.vocabulary, size)
    places = taker.take("embeddings.position_embeddings.weight", shape.positions, size)
    types = taker.take("embeddings.token_type_embeddings.weight", shape.types, size) if shape.types else np.zeros((1, size))
    states = sheet.draw("Gather", sheet.constant(words), "input_ids")
    if typed:
        states = sheet.draw("Add", states, sheet.draw("Gather", sheet.constant(types), "token_type_ids"))
    table = sheet.constant(places if typed else places + types[0])
    states = sheet.draw("Add", states, _positions(sheet, shape, table))
    states = norm(sheet, taker, "embeddings.LayerNorm", states, size, shape.epsilon)
    return states if size == shape.hidden else linear(sheet, taker, "embeddings_project", states, size, shape.hidden)


def _positions(sheet: Sheet, shape: Shape, table: str) -> str:
    """A slice of the table, or, where padding has a position of its own, a position for every token."""
    if shape.family.counts_positions:
        padding = sheet.constant(shape.padding, np.int64)
        real = sheet.draw("Cast", sheet.draw("Not", sheet.draw("Equal", "input_ids", padding)), to=7)
        counted = sheet.draw("Mul", sheet.draw("CumSum", real, sheet.constant(1, np.int64)), real)
        return sheet.draw("Gather", table, sheet.draw("Add", counted, padding))
    length = sheet.draw("Shape", "input_ids", start=1, end=2)
    return sheet.draw("Slice", table, sheet.integers(0), length, sheet.integers(0))


def _layer(sheet: Sheet, taker: Taker, shape: Shape, states: str, layer: int) -> str:
    names = {part: name.format(layer) for part, name in shape.family.layer.items()}
    context = _attention(sheet, taker, shape, states, names)
    attended = linear(sheet, taker, names["attended"], context, shape.hidden, shape.hidden)
    states = norm(sheet, taker, names["attended_norm"], sheet.draw("Add", attended, states), shape.hidden, shape.epsilon)
    wide = bent(sheet, linear(sheet, taker, names["widen"], states, shape.hidden, shape.wide), shape.activation)
    narrow = linear(sheet, taker, names["narrow"], wide, shape.wide, shape.hidden)
    return norm(sheet, taker, names["norm"], sheet.draw("Add", narrow, states), shape.hidden, shape.epsilon)


def _attention(sheet: Sheet, taker: Taker, shape: Shape, states: str, names: dict[str, str]) -> str:
    query, key, value = _projected(sheet, taker, shape, states, names)
    scores = sheet.draw("MatMul", query, sheet.draw("Transpose", key, perm=(0, 1, 3, 2)))
    shares = sheet.draw("Softmax", scores, axis=-1)
    context = sheet.draw("Transpose", sheet.draw("MatMul", shares, value), perm=(0, 2, 1, 3))
    return sheet.draw("Reshape", context, sheet.integers(0, 0, shape.hidden))


def _projected(sheet: Sheet, taker: Taker, shape: Shape, states: str, names: dict[str, str]) -> list[str]:
    """Query, key and value by heads, from one multiplication; the scale of the scores is in the query's weights."""
    width, size = shape.hidden, shape.hidden // shape.heads
    scales = {"query": np.float32(1 / np.sqrt(size)), "key": np.float32(1), "value": np.float32(1)}
    weight = np.concatenate([taker.take(f"{names[part]}.weight", width, width) * scale for part, scale in scales.items()])
    bias = np.concatenate([taker.take(f"{names[part]}.bias", width) * scale for part, scale in scales.items()])
    joined = sheet.linear(states, weight, bias)
    parts = sheet.op("Split", joined, outputs=3, axis=2, num_outputs=3)
    heads = sheet.integers(0, 0, shape.heads, size)
    return [sheet.draw("Transpose", sheet.draw("Reshape", part, heads), perm=(0, 2, 1, 3)) for part in parts]
