"""The head of a sequence classifier: the first token's state, a layer, a bend, and the logits."""

from __future__ import annotations

import numpy as np

from .bert_parts import bent, linear
from .bert_shape import Shape
from .onnx_drawing import Sheet
from .safetensors_file import Taker


def draw_head(sheet: Sheet, taker: Taker, shape: Shape, states: str) -> str:
    """The logits, one a label."""
    inner, bend, outer = shape.family.head
    first = sheet.draw("Gather", states, sheet.constant(0, np.int64), axis=1)
    pooled = bent(sheet, linear(sheet, taker, inner, first, shape.hidden, shape.hidden), bend)
    return linear(sheet, taker, outer, pooled, shape.hidden, shape.labels)
