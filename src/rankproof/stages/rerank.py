"""Reranking: the top of the ranking below, put in the order of a scorer, or of a blend of both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from .._fusion.normalisations import NORMALISATIONS
from .._registry import Option
from ..asking.estimate import Estimate
from ..data.arrays import FloatArray
from ..data.checks import choice
from ..data.queries import Query
from ..data.ranking import Ranking
from ..errors import UsageError, WorldError
from ..models.chat.port import ChatModel
from .base import Cost, Ground, Stage
from .clock import Clock
from .resorting import resorted
from .scorers import AskingScorer, CuttingScorer, LimitedScorer, PricedScorer, QueryCuttingScorer, Scorer, ScorerValue
from .settings import check


@dataclass(frozen=True)
class Rerank:
    """The first `top` documents of the stage below, re-sorted; those after them keep their order behind them.

    weight 1 sorts by the scorer alone, 0 leaves the ranking as it is, and between them the score is
    (1 - weight) x norm(scores below) + weight x norm(scorer's), both normalised within the top. No document is added or lost.
    The norm counts for a blend alone and is set to its default otherwise: stages that do the same are equal.
    """

    stage: Annotated[Stage, Option("the system whose ranking is reranked", key="of")]
    by: Annotated[ScorerValue, Option("the scorer; its keys are in the same table")]
    top: Annotated[int, Option("how many of the first documents are reranked", least=1)] = 50
    weight: Annotated[float, Option("1 sorts by the new scores alone, less blends in the old ones", least=0, most=1)] = 1.0
    norm: Annotated[str, Option(f"normalisation of scores before blending: {', '.join(NORMALISATIONS.registered())}")] = "z-score"

    def __post_init__(self) -> None:
        check(self)
        if isinstance(self.by, LimitedScorer) and self.top > self.by.most:
            what = f"top is {self.top}, and {type(self.by).__name__} compares at most {self.by.most} documents"
            raise UsageError(what, fix="lower top, or raise most: the number of asks grows with its square")
        choice("norm", self.norm, NORMALISATIONS)
        if self.weight in (0, 1):
            object.__setattr__(self, "norm", Rerank.norm)

    @property
    def depth(self) -> int:
        """As many as the stage below keeps: reranking cuts nothing off."""
        return self.stage.depth

    def below(self) -> tuple[Stage, ...]:
        """The stage that finds the documents."""
        return (self.stage,)

    @property
    def chat(self) -> ChatModel | None:
        """The language model that the scorer asks, if any."""
        return self.by.chat if isinstance(self.by, PricedScorer) else None

    def estimate(self, queries: Sequence[Query], ground: Ground) -> Estimate:
        """The scorer's, for the first `top` documents of every query."""
        if not isinstance(self.by, PricedScorer) or self.weight == 0:
            return Estimate()
        return self.by.estimate_top(queries, ground, min(self.top, self.depth))

    def build(self, ground: Ground) -> RerankSearcher:
        """Makes the scorer ready."""
        return RerankSearcher(self, self.by.build(ground))


class RerankSearcher:
    """A scorer over the ranking below."""

    def __init__(self, stage: Rerank, scorer: Scorer) -> None:
        self._stage, self._scorer = stage, scorer
        self._cutting = scorer if isinstance(scorer, CuttingScorer) else None
        self._cutting_queries = scorer if isinstance(scorer, QueryCuttingScorer) else None

    def search(self, query: Query, below: Sequence[Ranking], clock: Clock) -> Ranking:
        """The same documents in another order."""
        docs, scores = below[0]
        if self._stage.weight == 0 or not docs:
            return docs, scores
        top = self._stage.top
        if isinstance(self._scorer, AskingScorer):
            given = self._scorer.scores_asked(query, docs[:top], clock.tally("rerank"))
        else:
            with clock.part("rerank"):
                given = self._scorer.scores(query, docs[:top])
        with clock.part("rerank"):
            found = resorted(docs, self._blended(scores[:top], np.asarray(given, dtype=np.float64)), top)
        if self._cutting:
            clock.cut += self._cutting.cut(query, docs[:top])
        if self._cutting_queries:
            clock.cut_queries += self._cutting_queries.cut_queries(query)
        if sorted(found[0]) != sorted(docs):
            raise RuntimeError("a reranker neither adds nor loses documents")
        return found

    def _blended(self, below: FloatArray, given: FloatArray) -> FloatArray:
        if given.shape != below.shape:
            raise WorldError(f"the reranker's model gave {given.size} scores for {below.size} documents")
        if not np.isfinite(given).all():
            raise WorldError("the reranker's model gave a score that is not a finite number")
        weight, norm = self._stage.weight, NORMALISATIONS[self._stage.norm].normalise
        return given if weight == 1 else (1 - weight) * norm(below) + weight * norm(given)

    @property
    def lanes(self) -> int:
        """How many queries may be searched at once; 0 where the scorer waits for nobody."""
        return self._scorer.lanes if isinstance(self._scorer, AskingScorer) else 0

    def cost(self) -> Cost:
        """The scorer's."""
        return self._scorer.cost()

    def facts(self) -> Mapping[str, Any]:
        """How the scores are put together, and the scorer's own facts."""
        stage = self._stage
        return {"top": stage.top, "weight": stage.weight, "norm": stage.norm, "scorer": dict(self._scorer.facts())}

    def notes(self) -> Sequence[str]:
        """The scorer's."""
        return self._scorer.notes()

    def close(self) -> None:
        """Closes the scorer."""
        self._scorer.close()
