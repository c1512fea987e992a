"""Late interaction as a scorer (Khattab and Zaharia 2020): every token of the query finds its best match in the passage."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..data.arrays import FloatArray, Matrix
from ..data.queries import Query
from ..errors import UsageError
from ..models.ports import EncoderModel, TokenEncoder
from .base import Cost, Ground
from .encoding import token_rows
from .passage_notes import truncation_note
from .passages import DEFAULT_FIELDS
from .settings import EncoderOption, Fields, check
from .token_vectors import TokenVectors, token_vectors


@dataclass(frozen=True)
class MaxSim:
    """The mean, over the query's tokens, of the best inner product with a token of the passage."""

    model: EncoderOption
    fields: Fields = DEFAULT_FIELDS

    def __post_init__(self) -> None:
        check(self)
        if not getattr(self.model, "gives_tokens", True):
            raise _no_tokens(self.model)

    def build(self, ground: Ground) -> MaxSimScorer:
        """Encodes every token of every passage, or takes what an earlier start had made."""
        encoder = self.model.load(threads=ground.threads)
        if not isinstance(encoder, TokenEncoder):
            raise _no_tokens(self.model)
        return MaxSimScorer(encoder, token_vectors(ground, self.model, encoder, self.fields))


class MaxSimScorer:
    """The encoder and the vectors of all passages' tokens."""

    def __init__(self, encoder: TokenEncoder, vectors: TokenVectors) -> None:
        self._encoder, self._vectors = encoder, vectors

    def scores(self, query: Query, docs: Sequence[str]) -> FloatArray:
        """From -1 to 1; 0 where the query or the passage has no token."""
        asked = token_rows(self._encoder, [query.text])[0]
        return np.array([_mean_of_best(self._vectors.products(doc, asked)) for doc in docs], dtype=np.float64)

    def cut_queries(self, query: Query) -> int:
        """1 where the query is longer than the model reads."""
        return self._encoder.cut([query.text])

    def cost(self) -> Cost:
        """Encoding, remembered or not, and the vectors' bytes."""
        seconds, size = self._vectors.seconds, self._vectors.size()
        return Cost(seconds, size, shared={self._vectors.key: (seconds, size)})

    def facts(self) -> Mapping[str, Any]:
        """The model, how many vectors there are, and how many passages were cut."""
        counts = {"token_vectors": self._vectors.count(), "truncated_passages": self._vectors.truncated}
        return {"kind": "maxsim", "model": dict(self._encoder.facts()), **counts}

    def notes(self) -> Sequence[str]:
        """Passages that were cut."""
        cut = self._vectors.truncated
        return [truncation_note(cut, len(self._vectors.places))] if cut else []

    def close(self) -> None:
        """Nothing is open."""


def _no_tokens(model: EncoderModel) -> UsageError:
    what = f"model {type(model).__name__} gives no vector for each token"
    return UsageError(what, fix="choose an encoder that does, such as minilm")


def _mean_of_best(products: Matrix) -> float:
    """The best product of each column, on average over the columns."""
    return float(products.max(axis=0).mean(dtype=np.float64)) if products.size else 0.0
