"""Runs networks as encoders and cross-encoders on the CPU."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np

from rankproof._data.arrays import FloatArray, Matrix, normalise_rows, read_only
from rankproof._extras import extra
from rankproof.errors import ExternalError, escape_invisible
from rankproof.models._base import Precision
from rankproof.models._onnx.folder import ModelFolder, Pooling, cached_graph
from rankproof.models._onnx.int8 import Int8Session
from rankproof.models._tokenizer import Encoding, TokenizerFile

_SLOWER_FUSED = ["SkipLayerNormFusion"]
"""Measured: the fused kernel takes five times as long as the two kernels it replaces."""
_Item = TypeVar("_Item")
_Result = TypeVar("_Result")


class NetworkSession(Protocol):
    """A loaded network, for one text at a time; safe for several threads."""

    library: str

    def run(self, tokens: Encoding) -> Matrix:
        """The last hidden states, one row per token, or the logits of the head."""
        ...


class OnnxSession:
    """Runs a graph on the CPU; safe for several threads."""

    def __init__(self, path: Path) -> None:
        with extra("retrieval"):
            import onnxruntime

        options = onnxruntime.SessionOptions()
        # Texts run side by side; within one, several threads would change the order of sums.
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.execution_mode = onnxruntime.ExecutionMode.ORT_SEQUENTIAL
        options.log_severity_level = 4
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        providers = ["CPUExecutionProvider"]
        try:
            self._inner = onnxruntime.InferenceSession(path, options, providers=providers, disabled_optimizers=_SLOWER_FUSED)
        except Exception as error:  # the library's errors have no common class
            raise ExternalError(
                escape_invisible(f"{path}: onnxruntime cannot open it ({error}); remove its folder and try again")
            ) from None
        self._typed = len(self._inner.get_inputs()) > 1
        self.library = f"onnxruntime {onnxruntime.__version__}"

    def run(self, tokens: Encoding) -> Matrix:
        """The output for one text, without the batch axis."""
        inputs = {"input_ids": np.array([tokens.ids], dtype=np.int64)}
        if self._typed:
            inputs["token_type_ids"] = np.array([tokens.types], dtype=np.int64)
        try:
            output: Matrix = self._inner.run(None, inputs)[0][0]
        except Exception as error:  # as above
            raise ExternalError(
                escape_invisible(f"onnxruntime failed on a text of {len(tokens.ids)} tokens ({error}); free some memory")
            ) from None
        return output


def open_session(folder: ModelFolder, revision: str, precision: Precision, *, head: bool) -> NetworkSession:
    """The network on the CPU: an ONNX graph, written if it is not cached, or for int8 the weights themselves."""
    if precision == "int8":
        return Int8Session(folder, head=head)
    return OnnxSession(cached_graph(folder, revision, head=head))


def _checked_output(session: NetworkSession, tokens: Encoding) -> Matrix:
    output = session.run(tokens)
    if not np.isfinite(output).all():
        raise ExternalError(
            "the model returns NaN or infinite values; its weights are damaged, or too large for the precision: try fp32"
        )
    return output


def map_threads(function: Callable[[_Item], _Result], items: Iterable[_Item], *, threads: int) -> list[_Result]:
    """The results of the function in the order of the items; the number of threads does not change them."""
    if threads == 1:
        return [function(item) for item in items]
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(function, items))


class OnnxEncoder:
    """A loaded encoder of the BERT family; a vector depends on its text only."""

    batch_invariant = True

    def __init__(
        self,
        session: NetworkSession,
        tokenizer: TokenizerFile,
        *,
        size: int,
        pooling: Pooling,
        threads: int,
        facts: Mapping[str, Any],
    ) -> None:
        self._session, self._tokenizer = session, tokenizer
        self._size, self._pooling, self._threads = size, pooling, threads
        self._facts = facts

    def encode(self, texts: Sequence[str]) -> Matrix:
        """One row per text."""
        rows = np.zeros((len(texts), self._size), dtype=np.float32)
        for row, vector in zip(rows, map_threads(self._vector, self._tokens(texts), threads=self._threads), strict=True):
            row[:] = vector
        return read_only(rows)

    def tokens(self, texts: Sequence[str]) -> list[Matrix]:
        """For each text one row per token, special tokens included."""
        return map_threads(self._token_vectors, self._tokens(texts), threads=self._threads)

    def cut(self, texts: Sequence[str]) -> int:
        """The number of truncated texts."""
        return sum(tokens.cut for tokens in self._tokens(texts))

    def lengths(self, texts: Sequence[str]) -> list[int]:
        """The number of tokens read of each text, special tokens included."""
        return [len(tokens.ids) for tokens in self._tokens(texts)]

    def unknown(self, texts: Sequence[str]) -> tuple[int, int]:
        """The numbers of unknown tokens and of all tokens."""
        return self._tokenizer.unknown(texts)

    def facts(self) -> Mapping[str, Any]:
        """Library, sizes, limits and source, as JSON."""
        return {"library": self._session.library, "dimensions": self._size, "pooling": self._pooling, **self._facts}

    def _tokens(self, texts: Sequence[str]) -> list[Encoding]:
        return map_threads(self._tokenizer.of, texts, threads=self._threads)

    def _vector(self, tokens: Encoding) -> Matrix:
        if not tokens.ids:
            return np.zeros(self._size, dtype=np.float32)
        states = _checked_output(self._session, tokens)
        return normalise_rows(states[0] if self._pooling == "cls" else states.mean(axis=0, dtype=np.float32))

    def _token_vectors(self, tokens: Encoding) -> Matrix:
        if not tokens.ids:
            return read_only(np.zeros((0, self._size), dtype=np.float32))
        return read_only(normalise_rows(_checked_output(self._session, tokens)))


class OnnxCrossEncoder:
    """A loaded cross-encoder; a score depends on its pair only.

    With one label the score is its logit; with two it is the second logit minus the first, the log-odds of the second label.
    """

    def __init__(self, session: NetworkSession, tokenizer: TokenizerFile, *, threads: int, facts: Mapping[str, Any]) -> None:
        self._session, self._tokenizer = session, tokenizer
        self._threads = threads
        self._facts = facts

    def scores(self, query: str, passages: Sequence[str]) -> FloatArray:
        """One score per passage."""
        return read_only(np.array([row[0] if len(row) == 1 else row[1] - row[0] for row in self.logits(query, passages)]))

    def logits(self, query: str, passages: Sequence[str]) -> list[FloatArray]:
        """For each passage one number per label."""
        return map_threads(self._logits, self._tokens(query, passages), threads=self._threads)

    def cut(self, query: str, passages: Sequence[str]) -> int:
        """The number of truncated pairs."""
        return sum(tokens.cut for tokens in self._tokens(query, passages))

    def facts(self) -> Mapping[str, Any]:
        """Library, sizes, limits and source, as JSON."""
        return {"library": self._session.library, **self._facts}

    def _tokens(self, query: str, passages: Sequence[str]) -> list[Encoding]:
        return [self._tokenizer.of_pair(query, passage) for passage in passages]

    def _logits(self, tokens: Encoding) -> FloatArray:
        return _checked_output(self._session, tokens).astype(np.float64)
