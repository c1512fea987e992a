"""A graph's weights as 8-bit whole numbers, a scale a column; what flows through is quantised on the way."""

from __future__ import annotations

import logging
import warnings
from pathlib import Path

from .._extras import extra


def quantise(source: Path, target: Path) -> None:
    """Writes the int8 form of a float32 graph."""
    with extra("retrieval"):
        from onnxruntime.quantization import QuantType, quantize_dynamic

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        before = logging.root.manager.disable
        logging.disable(logging.WARNING)
        try:
            quantize_dynamic(source, target, per_channel=True, weight_type=QuantType.QInt8)
        finally:
            logging.disable(before)
