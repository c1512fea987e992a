"""A bi-encoder as a scorer: the cosine of query and passage, as a dense stage has it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..data.arrays import FloatArray
from ..data.queries import Query
from ..models.ports import Encoder
from .base import Cost, Ground
from .encoding import prompted, text_vectors
from .passage_notes import vector_facts, vector_notes
from .passage_vectors import PassageVectors, passage_vectors
from .passages import DEFAULT_FIELDS
from .settings import EncoderOption, Fields, PassagePrompt, QueryPrompt, check


@dataclass(frozen=True)
class Similarity:
    """Scores by inner product; the passages' vectors are shared with dense stages of the same model, prompt and fields."""

    model: EncoderOption
    query_prompt: QueryPrompt = ""
    passage_prompt: PassagePrompt = ""
    fields: Fields = DEFAULT_FIELDS

    def __post_init__(self) -> None:
        check(self)

    def build(self, ground: Ground) -> SimilarityScorer:
        """Encodes the passages, or takes the vectors that another stage had made."""
        encoder = self.model.load(threads=ground.threads)
        return SimilarityScorer(self, encoder, passage_vectors(ground, self.model, encoder, self.passage_prompt, self.fields))


class SimilarityScorer:
    """The encoder and the passages' vectors."""

    def __init__(self, value: Similarity, encoder: Encoder, vectors: PassageVectors) -> None:
        self._value, self._encoder, self._vectors = value, encoder, vectors
        self._row = {doc: at for at, doc in enumerate(vectors.ids)}

    def scores(self, query: Query, docs: Sequence[str]) -> FloatArray:
        """Cosines; 0 for an empty passage or query."""
        vector = text_vectors(self._encoder, [self._asked(query)])[0]
        rows = [self._row[doc] for doc in docs]
        return np.asarray(self._vectors.matrix[rows] @ vector, dtype=np.float64)

    def cut_queries(self, query: Query) -> int:
        """1 where the query is longer than the model reads."""
        return self._encoder.cut([self._asked(query)])

    def cost(self) -> Cost:
        """Encoding, remembered or not, and the vectors' bytes."""
        seconds, size = self._vectors.seconds, self._vectors.matrix.nbytes
        return Cost(seconds, size, shared={self._vectors.key: (seconds, size)})

    def facts(self) -> Mapping[str, Any]:
        """Model, prompts, and how the vectors lie."""
        prompts = {"query_prompt": self._value.query_prompt, "passage_prompt": self._value.passage_prompt}
        return {"kind": "similarity", "model": dict(self._encoder.facts()), **prompts, **vector_facts(self._vectors)}

    def notes(self) -> Sequence[str]:
        """As of a dense stage."""
        return vector_notes(self._vectors)

    def close(self) -> None:
        """Nothing is open."""

    def _asked(self, query: Query) -> str:
        return prompted(self._value.query_prompt, query.text)
