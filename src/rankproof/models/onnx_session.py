"""A graph that onnxruntime runs, one text at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

import numpy as np

from .._extras import extra
from ..data.arrays import Matrix
from ..errors import WorldError, visible
from .tokenizer_file import Tokens

_SLOWER_FUSED = ["SkipLayerNormFusion"]
"""Measured: the fused kernel takes five times as long as the two that it stands for, a fifth of all the time."""
_Item = TypeVar("_Item")
_Result = TypeVar("_Result")


class Session:
    """Tokens in, the graph's output out; several threads may call at once."""

    def __init__(self, path: Path) -> None:
        with extra("retrieval"):
            import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.execution_mode = onnxruntime.ExecutionMode.ORT_SEQUENTIAL
        options.log_severity_level = 4
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        providers = ["CPUExecutionProvider"]
        try:
            self._inner = onnxruntime.InferenceSession(path, options, providers=providers, disabled_optimizers=_SLOWER_FUSED)
        except Exception as error:  # the library's errors have no class in common
            raise WorldError(visible(f"{path}: onnxruntime cannot open it ({error}); remove its folder and try again")) from None
        self._typed = len(self._inner.get_inputs()) > 1
        self.library = f"onnxruntime {onnxruntime.__version__}"

    def run(self, tokens: Tokens) -> Matrix:
        """The output for one text, without the axis of the batch."""
        inputs = {"input_ids": np.array([tokens.ids], dtype=np.int64)}
        if self._typed:
            inputs["token_type_ids"] = np.array([tokens.types], dtype=np.int64)
        try:
            output: Matrix = self._inner.run(None, inputs)[0][0]
        except Exception as error:  # as above
            raise WorldError(
                visible(f"onnxruntime failed on a text of {len(tokens.ids)} tokens ({error}); free some memory")
            ) from None
        if not np.isfinite(output).all():
            raise WorldError(
                "the model gives numbers that are not finite; its weights are damaged, or too large for their precision"
            )
        return output


def each(function: Callable[[_Item], _Result], items: Iterable[_Item], *, threads: int) -> list[_Result]:
    """The function's results in the items' order, by so many threads, which change no bit of them."""
    if threads == 1:
        return [function(item) for item in items]
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(function, items))
