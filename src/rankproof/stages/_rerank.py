"""Reranks the top documents of a ranking by a scorer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Annotated, Any

import numpy as np

from rankproof._data.arrays import FloatArray
from rankproof._data.dataset import Query
from rankproof._data.identity import IN_IDENTITY_IF_SET
from rankproof._data.ordering import Ranking
from rankproof._fusion.normalisations import NORMALISATIONS, ScoreLists
from rankproof._llm.budget import Estimate
from rankproof._registry import Option, Setting
from rankproof.errors import ExternalError
from rankproof.models._api.settings import PaidModel
from rankproof.stages._base import (
    BuildContext,
    Cost,
    EncodesPassages,
    EstimatesScorerCost,
    LimitsDepth,
    LLMQueryScorer,
    LoadedScorer,
    OneInput,
    PassagesToEncode,
    QueryTimer,
    ReportsQueryTruncation,
    ReportsTruncation,
    Scorer,
    Searcher,
    Stage,
)
from rankproof.stages._fields import OwnParameters, check_settings, checked_parameters
from rankproof.stages._text_vectors import EncodedQueries, EncodesQueries

MIN_SCORE_STEP = 2.0**-30


def rerank_top(docs: list[str], scores: FloatArray, top: int) -> Ranking:
    """The top documents by the new scores, ties in their old order, followed by the rest in its order.

    Scores descend strictly: ties are broken in the last bit, and each document of the rest is a step below the one before.
    """
    order = np.argsort(-scores, kind="stable")
    ordered = [docs[at] for at in order.tolist()] + docs[top:]
    falling = scores[order]
    for at in range(1, len(falling)):
        falling[at] = min(falling[at], np.nextafter(falling[at - 1], -np.inf))
    least = float(falling[-1])
    # Relative to the last score, because a fixed step would be lost in the rounding of a large score.
    steps = max(1.0, abs(least) * MIN_SCORE_STEP) * np.arange(1, len(docs) - len(falling) + 1)
    return ordered, np.concatenate([falling, least - steps])


@dataclass(frozen=True)
class Rerank(OneInput):
    """Reranks the first `top` documents of its input; the documents after them keep their order.

    Weight 1 sorts by the scorer alone, 0 keeps the ranking, and between them the score is
    (1 - weight) x norm(input scores) + weight x norm(new scores), normalised within the top. No document is added or lost.
    The norm is set to its default for weights 0 and 1, so that equivalent stages are equal.
    """

    stage: Annotated[Stage, Option("the system whose ranking is reranked", key="of")]
    by: Annotated[Scorer, Option("the scorer; its settings are keys of this system too")]
    top: Annotated[int, Option("number of top documents to rerank", least=1)] = 50
    weight: Annotated[float, Option("1 sorts by the new scores alone, less blends in the old ones", least=0, most=1)] = 1.0
    norm: Annotated[
        str,
        Option(f"normalisation of scores before blending: {', '.join(NORMALISATIONS.registered())}", choices=NORMALISATIONS),
    ] = "z-score"

    parameters: OwnParameters = field(default=(), metadata=IN_IDENTITY_IF_SET, kw_only=True)

    def __post_init__(self) -> None:
        check_settings(self)
        if isinstance(self.by, LimitsDepth):
            self.by.check_top(min(self.top, self.depth))
        if self.weight in (0, 1):
            object.__setattr__(self, "norm", Rerank.norm)
        known = NORMALISATIONS[self.norm].parameters
        object.__setattr__(self, "parameters", checked_parameters(f"the normalisation {self.norm}", known, self.parameters))

    @classmethod
    def parameter_settings(cls, table: Mapping[str, Any]) -> tuple[Setting, ...]:
        """The parameters that the normalisation of an experiment file declares itself."""
        norm = table.get("norm", cls.norm)
        return NORMALISATIONS[norm].parameters if norm in NORMALISATIONS else ()

    @property
    def paid_model(self) -> PaidModel | None:
        """The model of the scorer that may cost money, if any."""
        return self.by.paid_model if isinstance(self.by, EstimatesScorerCost) else None

    def estimate(self, queries: Sequence[Query], context: BuildContext) -> Estimate:
        """The estimate of the scorer for the first `top` documents of every query."""
        if not isinstance(self.by, EstimatesScorerCost) or self.weight == 0:
            return Estimate()
        return self.by.estimate_top(queries, context, min(self.top, self.depth))

    def encoded_queries(self) -> EncodedQueries | None:
        """How the scorer encodes queries, if it does."""
        return self.by.encoded_queries() if isinstance(self.by, EncodesQueries) and self.weight else None

    def passages(self) -> PassagesToEncode | None:
        """The passages that the scorer encodes, if any."""
        return self.by.passages() if isinstance(self.by, EncodesPassages) and self.weight else None

    def build(self, context: BuildContext) -> RerankSearcher:
        """Builds the scorer."""
        return RerankSearcher(self, self.by.build(context))


class RerankSearcher(Searcher):
    """Reranks the ranking of the input stage."""

    def __init__(self, stage: Rerank, scorer: LoadedScorer) -> None:
        self._stage, self._scorer = stage, scorer
        self._truncation = scorer if isinstance(scorer, ReportsTruncation) else None
        self._query_truncation = scorer if isinstance(scorer, ReportsQueryTruncation) else None

    def search(self, query: Query, inputs: Sequence[Ranking], timer: QueryTimer) -> Ranking:
        """The same documents in another order."""
        docs, scores = inputs[0]
        if self._stage.weight == 0 or not docs:
            return docs, scores
        top = self._stage.top
        if isinstance(self._scorer, LLMQueryScorer):
            new_scores = self._scorer.scores_counting_calls(query, docs[:top], timer.counter("rerank"))
        else:
            with timer.part("rerank"):
                new_scores = self._scorer.scores(query, docs[:top])
        with timer.part("rerank"):
            ranking = rerank_top(docs, self._blended(scores[:top], np.asarray(new_scores, dtype=np.float64)), top)
        if self._truncation:
            timer.cut += self._truncation.cut(query, docs[:top])
        if self._query_truncation:
            timer.cut_queries += self._query_truncation.cut_queries(query)
        if sorted(ranking[0]) != sorted(docs):
            raise RuntimeError("a reranker must not add or lose documents")
        return ranking

    def _blended(self, inputs: FloatArray, new_scores: FloatArray) -> FloatArray:
        if new_scores.shape != inputs.shape:
            counts = f"{new_scores.size} scores for {inputs.size} documents"
            raise ExternalError(f"the reranker model returned {counts}; fix or replace the model")
        if not np.isfinite(new_scores).all():
            raise ExternalError("the reranker model returned a score that is not a finite number; fix or replace the model")
        weight = self._stage.weight
        if weight == 1:
            return new_scores
        norm = partial(NORMALISATIONS[self._stage.norm].normalise, **dict(self._stage.parameters))
        return (1 - weight) * norm(ScoreLists.of_ranking(inputs)) + weight * norm(ScoreLists.of_ranking(new_scores))

    @property
    def concurrency(self) -> int:
        """How many queries run at once; 0 for a scorer without a language model."""
        return self._scorer.concurrency if isinstance(self._scorer, LLMQueryScorer) else 0

    def cost(self) -> Cost:
        """Those of the scorer."""
        return self._scorer.cost()

    def facts(self) -> Mapping[str, Any]:
        """How scores are blended, and the facts of the scorer."""
        stage = self._stage
        return {"top": stage.top, "weight": stage.weight, "norm": stage.norm, "scorer": dict(self._scorer.facts())}

    def notes(self) -> Sequence[str]:
        """Those of the scorer."""
        return self._scorer.notes()

    def close(self) -> None:
        """Closes the scorer."""
        self._scorer.close()
