"""Who makes queries: the port, and the maker that goes by rules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, Protocol

from ..asking.estimate import Estimate
from ..data.corpus import Corpus
from ..data.marks import mark_text
from ..version import __version__
from .draft import Draft, Lost, Source
from .lexicon import Lexicon
from .rules import RULES, Page

Outcome = Draft | Lost | None
"""A query, a document that failed, or nothing where the document gives nothing for the category."""


class Maker(Protocol):
    """A way to make queries."""

    @property
    def rounds(self) -> int | None:
        """How often documents that brought nothing are replaced by others, None for as long as there are any."""
        ...

    @property
    def mark(self) -> str:
        """Who made the queries and their judgements."""
        ...

    def categories(self) -> tuple[str, ...]:
        """What it can make."""
        ...

    def outcomes(self, sources: Sequence[Source]) -> list[Outcome]:
        """What comes of each source, in their order."""
        ...

    def estimate(self, sources: Sequence[Source]) -> Estimate:
        """What asking comes to, but for repeated attempts."""
        ...

    def told(self) -> Mapping[str, Any]:
        """What the queries depend on and what making them cost, as JSON."""
        ...


@dataclass(frozen=True, eq=False)
class RuleMaker:
    """Queries by rules, each drawn by the seed, the category and the document alone."""

    corpus: Corpus
    lexicon: Lexicon
    seed: int
    rounds: int | None = None

    @property
    def mark(self) -> str:
        """heuristic:rules:VERSION."""
        return mark_text("heuristic:", "rules", __version__)

    def categories(self) -> tuple[str, ...]:
        """One a rule."""
        return tuple(RULES)

    def outcomes(self, sources: Sequence[Source]) -> list[Outcome]:
        """What each rule makes of its document."""
        return [self._outcome(source) for source in sources]

    def _outcome(self, source: Source) -> Outcome:
        (doc,) = source.docs
        random = Random(f"{self.seed}\0{source.category}\0{doc}")
        return RULES[source.category](Page(self.corpus[doc], self.lexicon.texts[doc], self.lexicon, random))

    def estimate(self, sources: Sequence[Source]) -> Estimate:
        """Nobody is asked."""
        return Estimate()

    def told(self) -> Mapping[str, Any]:
        """That rules made them."""
        return {"by": "heuristic"}
