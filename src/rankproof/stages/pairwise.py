"""Pairwise: a language model says which of two passages answers the query better, for every pair and in both orders."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Annotated, ClassVar

import numpy as np

from .._registry import Option
from ..asking.estimate import Estimate
from ..asking.reading import json_in, one_of
from ..asking.spoken import first_line_of, text_of
from ..asking.tally import Tally
from ..data.arrays import FloatArray
from ..data.queries import Query
from ..models.chat.port import Reply
from .base import Ground
from .prompted import Prompted, PromptedScorer, SystemPrompt, UserPrompt
from .settings import MaxTokens

SYSTEM = "You are a search engine that says which of two passages answers a query better."
PROMPT = """{query}

{passages}

Which passage answers the query better, passage A or passage B?
Reply with JSON alone: {"better": "A"} or {"better": "B"}."""
SCHEMA = (
    '{"type":"object","properties":{"better":{"type":"string","enum":["A","B"]}},'
    '"required":["better"],"additionalProperties":false}'
)
_NAMES = ("A", "B")


@dataclass(frozen=True)
class Pairwise(Prompted):
    """Sorted by wins over all pairs: n x (n - 1) asks for n documents, so no more than `most` of them are taken.

    A pair is asked about in both orders; where the two replies disagree, the model went by position, and each document has half
    a win. So it has in a pair without two replies of use: a failure moves nobody.
    """

    system: SystemPrompt = SYSTEM
    prompt: UserPrompt = PROMPT
    max_tokens: MaxTokens = 32
    most: Annotated[int, Option("the largest top allowed: the number of calls grows with its square", least=2, most=1000)] = 10
    schema: ClassVar[str] = SCHEMA

    def build(self, ground: Ground) -> PairwiseScorer:
        """Nothing is made in advance."""
        return PairwiseScorer(self, ground)

    def estimate_top(self, queries: Sequence[Query], ground: Ground, top: int) -> Estimate:
        """Two asks a pair: top x (top - 1) a query."""
        count = min(top, len(ground.corpus))
        return self.estimate_asks(queries, ground, {2: count * (count - 1)})


class PairwiseScorer(PromptedScorer[Pairwise]):
    """Compares documents two by two."""

    kind = "pairwise"

    def scores_asked(self, query: Query, docs: Sequence[str], tally: Tally) -> FloatArray:
        """How many of the others each document wins against, ties for a half."""
        texts = self._value.texts(self._corpus, docs)
        wins = np.zeros(len(docs), dtype=np.float64)
        for higher, lower in combinations(range(len(docs)), 2):
            won = self._won(query, texts[higher], texts[lower], tally)
            wins[higher] += won
            wins[lower] += 1 - won
        return wins

    def _won(self, query: Query, higher: str, lower: str, tally: Tally) -> float:
        """What the higher document has of the win: 1, 0, or a half where the order of the two decides or nobody does."""
        first, second = self._better(query, higher, lower, tally), self._better(query, lower, higher, tally)
        tally.count("compared")
        if first is None or second is None:
            tally.count("undecided")
            return 0.5
        tally.count("disagreed", int(first == second))
        return 0.5 if first == second else float(first == "A")

    def _better(self, query: Query, a: str, b: str, tally: Tally) -> str | None:
        ask = self._value.ask(query, [a, b], labels=[f"passage {name}" for name in _NAMES])
        return self._asker.read(ask, _name_in, tally, attempts=self._value.attempts)


def _name_in(reply: Reply) -> str:
    """The passage that a reply names, in JSON or as its first line."""
    if "{" in reply.text:
        better = json_in(text_of(reply)).get("better")
        return one_of(better if isinstance(better, str) else "", _NAMES, before="passage")
    return one_of(first_line_of(reply), _NAMES, before="passage")
