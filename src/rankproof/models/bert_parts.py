"""The parts that every layer of a BERT-family graph is made of."""

from __future__ import annotations

from .bert_shape import ACTIVATIONS
from .onnx_drawing import Sheet
from .safetensors_file import Taker


def linear(sheet: Sheet, taker: Taker, name: str, value: str, inputs: int, outputs: int) -> str:
    """The named layer's weight times the value, plus its bias."""
    return sheet.linear(value, taker.take(f"{name}.weight", outputs, inputs), taker.take(f"{name}.bias", outputs))


def norm(sheet: Sheet, taker: Taker, name: str, value: str, size: int, epsilon: float) -> str:
    """The value with mean 0 and variance 1 along its last axis, scaled and shifted as the named layer says."""
    scale, shift = (sheet.constant(taker.take(f"{name}.{part}", size)) for part in ("weight", "bias"))
    return sheet.draw("LayerNormalization", value, scale, shift, axis=-1, epsilon=epsilon)


def bent(sheet: Sheet, value: str, activation: str) -> str:
    """The value after tanh, relu or either form of gelu."""
    if activation in ("tanh", "relu"):
        return sheet.draw(activation.capitalize(), value)
    return sheet.draw("Gelu", value, approximate=ACTIVATIONS[activation])
