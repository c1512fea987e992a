"""A cross-encoder as a scorer: query and passage are read together."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from .._registry import Option
from ..data.arrays import FloatArray
from ..data.queries import Query
from ..models.ports import PairModel, PairScorer
from .base import Cost, Ground
from .passages import DEFAULT_FIELDS, passage, refuse_unknown_fields
from .settings import Fields, check


@dataclass(frozen=True)
class Pairs:
    """Scores by a model that reads pairs."""

    model: Annotated[PairModel, Option("the cross-encoder: a folder with weights, or a name on the model hub")]
    fields: Fields = DEFAULT_FIELDS

    def __post_init__(self) -> None:
        check(self)

    def build(self, ground: Ground) -> PairsScorer:
        """Loads the model."""
        refuse_unknown_fields(ground.corpus, self.fields)
        start = time.perf_counter()
        model = self.model.load(threads=ground.threads)
        return PairsScorer(self, ground, model, time.perf_counter() - start)


class PairsScorer:
    """The loaded model, and where the passages are."""

    def __init__(self, value: Pairs, ground: Ground, model: PairScorer, seconds: float) -> None:
        self._value, self._corpus, self._model, self._seconds = value, ground.corpus, model, seconds

    def scores(self, query: Query, docs: Sequence[str]) -> FloatArray:
        """The model's own scores."""
        return np.asarray(self._model.scores(query.text, self._texts(docs)), dtype=np.float64)

    def cut(self, query: Query, docs: Sequence[str]) -> int:
        """How many of the documents are, with the query, longer than the model reads."""
        return self._model.cut(query.text, self._texts(docs))

    def cost(self) -> Cost:
        """Loading the model."""
        return Cost(seconds=self._seconds)

    def facts(self) -> Mapping[str, Any]:
        """The model's."""
        return {"kind": "pairs", "model": dict(self._model.facts())}

    def notes(self) -> Sequence[str]:
        """Nothing to say: pairs that were cut are counted query by query."""
        return ()

    def close(self) -> None:
        """Nothing is open."""

    def _texts(self, docs: Sequence[str]) -> list[str]:
        return [passage(self._corpus[doc], self._value.fields) for doc in docs]
