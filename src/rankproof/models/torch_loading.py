"""sentence-transformers behind the ports; code that comes with a model is never run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np

from .._extras import extra, require
from ..data.arrays import FloatArray, Matrix, frozen
from ..data.versions import behind
from .torch_source import SENTENCE_TRANSFORMERS, cannot_load
from .unit import unit

Kind = Literal["SentenceTransformer", "CrossEncoder"]


class TorchEncoder:
    """An encoder of sentence-transformers."""

    def __init__(self, inner: Any, told: Mapping[str, Any]) -> None:
        self._inner, self._told = inner, told

    def encode(self, texts: Sequence[str]) -> Matrix:
        """One row a text; the batches follow from the list, so the same list gives the same bits."""
        if not texts:
            return frozen(np.zeros((0, self._size()), dtype=np.float32))
        rows = self._inner.encode(list(texts), convert_to_numpy=True, show_progress_bar=False)
        return frozen(unit(rows.astype(np.float32)))

    def tokens(self, texts: Sequence[str]) -> list[Matrix]:
        """For each text one row a token, special tokens included."""
        found = self._inner.encode(list(texts), output_value="token_embeddings", show_progress_bar=False) if texts else []
        return [frozen(unit(rows.cpu().numpy().astype(np.float32))) for rows in found]

    def cut(self, texts: Sequence[str]) -> int:
        """How many of the texts are longer than the model reads."""
        return _longer(self._inner, list(texts))

    def facts(self) -> Mapping[str, Any]:
        """What the library says of the model."""
        return {
            "library": library(),
            "dimensions": self._size(),
            "max_tokens": getattr(self._inner, length_name(self._inner)),
            "precision": "fp32",
            **({"prompts": prompts} if (prompts := _prompts(self._inner)) else {}),
            **self._told,
        }

    def _size(self) -> int:
        told = getattr(self._inner, "get_embedding_dimension", None) or self._inner.get_sentence_embedding_dimension
        return int(told())


class TorchPairScorer:
    """A cross-encoder of sentence-transformers; of two labels the score is the second's logit less the first's."""

    def __init__(self, inner: Any, told: Mapping[str, Any]) -> None:
        self._inner, self._told = inner, told

    def scores(self, query: str, passages: Sequence[str]) -> FloatArray:
        """One score a passage."""
        with extra("torch"):
            from torch.nn import Identity

        if not passages:
            return frozen(np.zeros(0))
        pairs = [(query, passage) for passage in passages]
        logits = self._inner.predict(pairs, activation_fn=Identity(), show_progress_bar=False).astype(np.float64)
        return frozen(logits if logits.ndim == 1 else logits[:, 1] - logits[:, 0])

    def cut(self, query: str, passages: Sequence[str]) -> int:
        """How many of the pairs are longer than the model reads."""
        return _longer(self._inner, [query] * len(passages), list(passages))

    def facts(self) -> Mapping[str, Any]:
        """What the library says of the model."""
        longest = getattr(self._inner, length_name(self._inner))
        return {"library": library(), "max_tokens": longest, "precision": "fp32", **self._told}


def open_torch(kind: Kind, folder: Path, threads: int) -> Any:
    """The library's own object, on the processor."""
    require("torch", "torch", "sentence_transformers")
    with extra("torch"):
        import sentence_transformers
        import torch
        from transformers.utils import logging

    logging.disable_progress_bar()
    torch.set_num_threads(threads)
    try:
        return getattr(sentence_transformers, kind)(str(folder), device="cpu", trust_remote_code=False, local_files_only=True)
    except Exception as error:  # the libraries below raise whatever they meet
        raise cannot_load(str(folder), error, by=SENTENCE_TRANSFORMERS) from None


def length_name(inner: Any) -> str:
    """What the library's version calls the most tokens that a model reads."""
    return "max_seq_length" if hasattr(type(inner), "max_seq_length") else "max_length"


def library() -> str:
    """Which versions made the numbers."""
    return behind("sentence-transformers", "transformers", "tokenizers", "torch")


def _longer(inner: Any, *texts: list[str]) -> int:
    """How many texts, or pairs where two lists are given, have more tokens than the model reads."""
    longest = getattr(inner, length_name(inner))
    ids = inner.tokenizer(*texts, truncation=False, verbose=False)["input_ids"] if texts[0] and longest else []
    return sum(len(one) > longest for one in ids)


def _prompts(inner: Any) -> dict[str, str]:
    return {name: text for name, text in (getattr(inner, "prompts", None) or {}).items() if text}
