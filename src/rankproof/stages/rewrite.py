"""Rewriting: the stages below are asked another query, which a language model made of the one given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

from .._registry import Option
from ..asking.estimate import Estimate, estimate_of
from ..asking.lanes import in_lanes
from ..asking.prompt import refuse_prompt
from ..data.identity import identity
from ..data.queries import Query
from ..data.ranking import Ranking
from ..errors import visible
from ..models.chat.port import ChatModel
from .base import Cost, Ground, Stage
from .clock import Clock
from .rewriter import PROMPTS, Mode, Rewriter, ask_of
from .settings import Attempts, ChatOption, MaxTokens, check

_SHOWN = 5
_BLOCK = 4
"""Asks for each lane between two looks at how far it is."""


@dataclass(frozen=True)
class Rewrite:
    """The stage below, asked what the model makes of each query: another wording (`rewrite`), or more words (`expand`).

    A prompt holds {query}; "" stands for the mode's own. A query that the model makes nothing of is asked as it is, and counted.
    """

    stage: Annotated[Stage, Option("the system that searches with the rewritten query", key="of")]
    model: ChatOption
    mode: Annotated[Mode, Option("rewrite replaces the query, expand adds words to it")] = "rewrite"
    prompt: Annotated[str, Option("the prompt, with {query} in it; empty for the default of the mode")] = ""
    max_tokens: MaxTokens = 100
    attempts: Attempts = 3
    kind: ClassVar[Literal["rewrite"]] = "rewrite"

    def __post_init__(self) -> None:
        check(self)
        object.__setattr__(self, "prompt", self.prompt or PROMPTS[self.mode])
        refuse_prompt("prompt", self.prompt, ("query",))

    @property
    def depth(self) -> int:
        """As many as the stage below keeps."""
        return self.stage.depth

    @property
    def chat(self) -> ChatModel:
        """The model that rewrites."""
        return self.model

    def below(self) -> tuple[Stage, ...]:
        """The stage that is asked."""
        return (self.stage,)

    def estimate(self, queries: Sequence[Query], ground: Ground) -> Estimate:
        """One ask for every query that has a word."""
        return sum(
            (estimate_of(ask_of(query, self.prompt, self.max_tokens)) for query in queries if query.text.strip()), Estimate()
        )

    def queries_below(self, ground: Ground, queries: Sequence[Query]) -> Sequence[Query]:
        """The queries as the stage below is asked them."""
        rewriter, lanes, found = Rewriter(self, ground.desk), max(1, self.model.concurrency), []
        for start in range(0, len(queries), _BLOCK * lanes):
            found += in_lanes(ground.desk, rewriter.rewritten, queries[start : start + _BLOCK * lanes], lanes)
            ground.progress(f"{self.mode}: asking", len(found), len(queries))
        return [each.query for each in found]

    def build(self, ground: Ground) -> RewriteSearcher:
        """Nothing is made in advance."""
        return RewriteSearcher(self, Rewriter(self, ground.desk))


class RewriteSearcher:
    """Passes on what the stage below found for the rewritten query, and tells what rewriting came to."""

    def __init__(self, stage: Rewrite, rewriter: Rewriter) -> None:
        self._stage, self._rewriter = stage, rewriter

    @property
    def lanes(self) -> int:
        """As many as the model answers at once."""
        return max(1, self._stage.model.concurrency)

    def search(self, query: Query, below: Sequence[Ranking], clock: Clock) -> Ranking:
        """The ranking below."""
        made = self._rewriter.rewritten(query)
        tally = clock.tally("generate")
        for name, count in made.tally.counts.items():
            tally.count(name, count)
        tally.asked(made.tally.seconds)
        return below[0]

    def cost(self) -> Cost:
        """Nothing is indexed."""
        return Cost()

    def facts(self) -> Mapping[str, Any]:
        """The model, the mode, and the first queries before and after."""
        first = self._rewriter.done()[:_SHOWN]
        examples = [{"query": visible(one.given.text), "asked": visible(one.query.text)} for one in first]
        return {"model": identity(self._stage.model), "mode": self._stage.mode, "examples": examples}

    def notes(self) -> Sequence[str]:
        """Nothing to say: what asking came to is counted query by query."""
        return ()

    def close(self) -> None:
        """Nothing is open."""
