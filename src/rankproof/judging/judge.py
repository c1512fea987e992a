"""Who judges: the port, and what every judge reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from ..asking.desk import Desk
from ..asking.estimate import Estimate
from ..data.corpus import Corpus
from ..data.queries import Queries
from .pairs import Pair
from .verdict import Verdict


@dataclass(frozen=True, eq=False, slots=True)
class JudgingGround:
    """The texts that pairs are judged by, and the desk where a language model is asked."""

    queries: Queries
    corpus: Corpus
    desk: Desk

    def lacks(self, pair: Pair) -> str:
        """What of the pair has no text, "" where all has."""
        query, document = self.queries.get(pair.query), self.corpus.get(pair.doc)
        if query is None or not query.text.strip():
            return "the query has no text"
        return "the document is not in the corpus" if document is None else ""


class Grader(Protocol):
    """A judge at work; `verdict` may be called by so many threads at once as there are `lanes`."""

    @property
    def lanes(self) -> int: ...

    def verdict(self, pair: Pair) -> Verdict:
        """What becomes of a pair whose texts are there."""
        ...


class Judge(Protocol):
    """The frozen value that stands for a judge."""

    @property
    def mark(self) -> str:
        """What stands in the second column of its judgements."""
        ...

    def grader(self, ground: JudgingGround) -> Grader: ...

    def estimate(self, pairs: Sequence[Pair], ground: JudgingGround) -> Estimate:
        """What judging so many pairs may cost at most, if every first reply is of use."""
        ...

    def told(self) -> Mapping[str, Any]:
        """All that the grades depend on, as JSON: rubric, prompt, model, thresholds."""
        ...

    def money(self, counts: Mapping[str, float]) -> float | None:
        """What so many tokens cost, None where nobody said a price."""
        ...
