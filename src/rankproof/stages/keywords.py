"""The cheapest scorer there is: how many of the query's words a passage has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..data.arrays import FloatArray
from ..data.corpus import Corpus
from ..data.queries import Query
from .base import Cost, Ground
from .passages import DEFAULT_FIELDS, passage, refuse_unknown_fields
from .settings import Fields, check
from .words import words


@dataclass(frozen=True)
class Keywords:
    """Counts the query's distinct words that stand in the passage, without stemming or stop words."""

    fields: Fields = DEFAULT_FIELDS

    def __post_init__(self) -> None:
        check(self)

    def build(self, ground: Ground) -> KeywordScorer:
        """Nothing is made in advance."""
        refuse_unknown_fields(ground.corpus, self.fields)
        return KeywordScorer(ground.corpus, self.fields)


class KeywordScorer:
    """Reads the passages as they are asked for."""

    def __init__(self, corpus: Corpus, fields: Sequence[str]) -> None:
        self._corpus, self._fields = corpus, fields

    def scores(self, query: Query, docs: Sequence[str]) -> FloatArray:
        """Whole numbers, from 0 to the number of the query's distinct words."""
        wanted = set(words(query.text))
        found = [len(wanted.intersection(words(passage(self._corpus[doc], self._fields)))) for doc in docs]
        return np.array(found, dtype=np.float64)

    def cost(self) -> Cost:
        """Nothing."""
        return Cost()

    def facts(self) -> Mapping[str, Any]:
        """What it counts."""
        return {"kind": "keywords", "counts": "distinct words of the query in the passage"}

    def notes(self) -> Sequence[str]:
        """Nothing to say."""
        return ()

    def close(self) -> None:
        """Nothing is open."""
