"""Pointwise: a language model is asked of each passage alone whether it answers the query, Yes or No."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..asking.asker import UnreadableError
from ..asking.estimate import Estimate
from ..asking.tally import Tally
from ..asking.yes_no import said_yes, yes_no
from ..data.arrays import FloatArray
from ..data.queries import Query
from ..models.chat.port import Reply
from .base import Ground
from .prompted import Prompted, PromptedScorer, SystemPrompt, UserPrompt, scores_of

SYSTEM = "You are a search engine that judges whether a passage answers a query."
PROMPT = """{query}

{passages}

Does the passage answer the query? Reply with Yes or No alone."""


@dataclass(frozen=True)
class Pointwise(Prompted):
    """Ranked by log P(Yes) - log P(No) of the reply's first token, never by a threshold; by the text where the server gives none.

    A query that has to be read by the text for one document is read by it for all: Yes above No, equals in the order below.
    A document without a reply of use, after every attempt, keeps its place, and the others are put in order around it.
    """

    system: SystemPrompt = SYSTEM
    prompt: UserPrompt = PROMPT
    logprobs: ClassVar[int] = 20

    def build(self, ground: Ground) -> PointwiseScorer:
        """Nothing is made in advance."""
        return PointwiseScorer(self, ground)

    def estimate_top(self, queries: Sequence[Query], ground: Ground, top: int) -> Estimate:
        """One ask a document."""
        return self.estimate_asks(queries, ground, {1: min(top, len(ground.corpus))})


@dataclass(frozen=True, slots=True)
class _Verdict:
    """One document's reply: the log-odds, None where the server gave none, and what the text says, None where it says neither."""

    odds: float | None
    said: bool | None


class PointwiseScorer(PromptedScorer[Pointwise]):
    """Asks about one document at a time."""

    kind = "pointwise"

    def scores_asked(self, query: Query, docs: Sequence[str], tally: Tally) -> FloatArray:
        """Log-odds, or 1 and 0 by the text, or places where a document had no reply of use."""
        found = [self._verdict(query, text, tally) for text in self._value.texts(self._corpus, docs)]
        by_text = any(verdict is not None and verdict.odds is None for verdict in found)
        values = [_worth(verdict, by_text) for verdict in found]
        tally.count("graded", len(docs))
        tally.count("by_text" if by_text else "by_odds", sum(value is not None for value in values))
        tally.count("given_up", sum(value is None and verdict is not None for value, verdict in zip(values, found, strict=True)))
        return _scores(values)

    def _verdict(self, query: Query, text: str, tally: Tally) -> _Verdict | None:
        ask = self._value.ask(query, [text], labels=["passage"])
        return self._asker.read(ask, _read, tally, attempts=self._value.attempts)


def _read(reply: Reply) -> _Verdict:
    odds, by_text = yes_no(reply)
    if by_text:
        return _Verdict(None, bool(odds))
    try:
        return _Verdict(odds, said_yes(reply))
    except UnreadableError:
        return _Verdict(odds, None)


def _worth(verdict: _Verdict | None, by_text: bool) -> float | None:
    if verdict is None:
        return None
    said = None if verdict.said is None else float(verdict.said)
    return said if by_text else verdict.odds


def _scores(values: Sequence[float | None]) -> FloatArray:
    """The values where all are known, else places: each document of no known value keeps its own."""
    known = {at: value for at, value in enumerate(values) if value is not None}
    if len(known) == len(values):
        return np.array(values, dtype=np.float64)
    best = iter(sorted(known, key=lambda at: -known[at]))
    return scores_of([next(best) if at in known else at for at in range(len(values))])
