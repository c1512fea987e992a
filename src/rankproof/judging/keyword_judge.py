"""The baseline: a judge that counts words, and understands nothing."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..asking.estimate import Estimate
from ..data import checks
from ..data.identity import identity, key_of
from ..data.marks import mark_text
from ..errors import UsageError
from ..stages.keywords import KeywordScorer
from ..stages.passages import DEFAULT_FIELDS, refuse_unknown_fields
from ..stages.words import words
from .judge import JudgingGround
from .pairs import Pair
from .rubric import HIGHEST
from .verdict import Verdict

_DIGEST = 8


@dataclass(frozen=True)
class KeywordJudge:
    """Grades by the share of the query's distinct words that stand in the passage, without stemming or stop words.

    `shares` are the least ones for the grades 1, 2 and 3.
    """

    shares: tuple[float, ...] = (0.25, 0.5, 0.75)
    fields: tuple[str, ...] = DEFAULT_FIELDS

    def __post_init__(self) -> None:
        object.__setattr__(self, "fields", checks.fields(self.fields))
        shares = tuple(checks.number("shares", share, 0, 1) for share in self.shares)
        if len(shares) != HIGHEST or list(shares) != sorted(set(shares)):
            raise UsageError(f"shares are {shares}", fix=f"give {HIGHEST} numbers that rise, as 0.25, 0.5, 0.75")
        object.__setattr__(self, "shares", shares)

    @property
    def mark(self) -> str:
        """keywords:SHARES:DIGEST."""
        return mark_text("keywords:", "-".join(f"{share:g}" for share in self.shares), key_of(self)[:_DIGEST])

    def grader(self, ground: JudgingGround) -> KeywordGrader:
        """Nothing is made in advance."""
        refuse_unknown_fields(ground.corpus, self.fields)
        return KeywordGrader(self, ground)

    def estimate(self, pairs: Sequence[Pair], ground: JudgingGround) -> Estimate:
        """Nobody is asked."""
        return Estimate()

    def told(self) -> Mapping[str, Any]:
        """Which share of the words earns which grade."""
        rubric = {"0": "any smaller share"} | {
            str(grade): f"at least {share:g} of the query's distinct words stand in the passage"
            for grade, share in enumerate(self.shares, start=1)
        }
        return {"judge": identity(self), "rubric": rubric, "digest": key_of(self)}

    def money(self, counts: Mapping[str, float]) -> float | None:
        """Nothing."""
        return None


class KeywordGrader:
    """Counts the words of one pair after the other."""

    lanes = 1

    def __init__(self, judge: KeywordJudge, ground: JudgingGround) -> None:
        self._judge, self._ground = judge, ground
        self._scorer = KeywordScorer(ground.corpus, judge.fields)

    def verdict(self, pair: Pair) -> Verdict:
        """The grade of the share; a query without words can have none."""
        query = self._ground.queries[pair.query]
        wanted = len(set(words(query.text)))
        if not wanted:
            return Verdict(pair, None, "the query has no words")
        (count,) = self._scorer.scores(query, [pair.doc]).tolist()
        return Verdict(pair, bisect_right(self._judge.shares, count / wanted), f"{count:g} of {wanted} words")
