"""Listwise: a language model puts a window of passages in order, and the window slides from the bottom of the ranking to its top.

Sun et al., Is ChatGPT good at search? (EMNLP 2023), with a last window that always reaches the first document.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from .._registry import Option
from ..asking.estimate import Estimate
from ..asking.reading import order_in
from ..asking.spoken import text_of
from ..asking.tally import Tally
from ..data import checks
from ..data.arrays import FloatArray
from ..data.queries import Query
from ..models.chat.port import Reply
from .base import Ground
from .prompted import Prompted, PromptedScorer, SystemPrompt, UserPrompt, scores_of

SYSTEM = "You are a search engine that puts passages in the order of how well they answer a query."
PROMPT = """{query}

{passages}

Put all {count} passages in order by how well they answer the query, the best one first. \
Name each of the numbers 1 to {count} exactly once.
Reply with the order alone, written like {example}."""
_TOKENS_A_PASSAGE, _TOKENS_MORE = 8, 40
_MANY, _MOST = 10, 0.5
"""From how many windows on, and from what share of them, one order says that the model does not read the passages."""


@dataclass(frozen=True)
class Listwise(Prompted):
    """Windows of `window` passages, each `step` places above the one before; a reply must name every passage exactly once.

    A window without such a reply, after every attempt, keeps the order below. `max_tokens` 0 stands for enough for a window.
    """

    system: SystemPrompt = SYSTEM
    prompt: UserPrompt = PROMPT
    max_tokens: Annotated[int, Option("the most tokens of a reply, 0 for as many as the window needs", least=0)] = 0
    window: Annotated[int, Option("how many passages the model sorts in one call", least=2, most=1000)] = 10
    step: Annotated[int, Option("how many places each window is above the one before", least=1)] = 5

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.whole("step", self.step, most=self.window - 1)
        object.__setattr__(self, "max_tokens", self.max_tokens or _TOKENS_MORE + _TOKENS_A_PASSAGE * self.window)

    def parts(self, count: int) -> dict[str, str]:
        """What is filled in besides query and passages; the example's length is another, so that a copy of it is of no use."""
        return {**super().parts(count), "example": "[2] > [1] > [3]" if count != 3 else "[2] > [1] > [4] > [3]"}

    def build(self, ground: Ground) -> ListwiseScorer:
        """Nothing is made in advance."""
        return ListwiseScorer(self, ground)

    def estimate_top(self, queries: Sequence[Query], ground: Ground, top: int) -> Estimate:
        """One ask a window: 1 + ceil((top - window) / step) a query."""
        sizes = Counter(end - start for start, end in windows(min(top, len(ground.corpus)), self.window, self.step))
        return self.estimate_asks(queries, ground, sizes)


class ListwiseScorer(PromptedScorer[Listwise]):
    """Orders windows."""

    kind = "listwise"

    def __init__(self, value: Listwise, ground: Ground) -> None:
        super().__init__(value, ground)
        self._orders: Counter[tuple[int, ...]] = Counter()

    def notes(self) -> Sequence[str]:
        """Whether one order came back whatever stood in the windows: a permutation that is complete and says nothing."""
        order, times = max(self._orders.items(), key=lambda each: each[1], default=((), 0))
        every = sum(self._orders.values())
        if every < _MANY or times < _MOST * every or order == tuple(sorted(order)):
            return ()
        written = " > ".join(f"[{number}]" for number in order)
        return [f"{times} of {every} windows came back in one order, {written}: the model does not seem to read the passages"]

    def scores_asked(self, query: Query, docs: Sequence[str], tally: Tally) -> FloatArray:
        """Whole numbers that fall along the order found."""
        value, texts = self._value, self._value.texts(self._corpus, docs)
        order = list(range(len(docs)))
        for start, end in windows(len(docs), value.window, value.step):
            tally.count("windows")
            order[start:end] = self._ordered(query, texts, order[start:end], tally)
        return scores_of(order)

    def _ordered(self, query: Query, texts: Sequence[str], held: list[int], tally: Tally) -> list[int]:
        def meaning(reply: Reply) -> list[int]:
            return order_in(text_of(reply), len(held))

        ask = self._value.ask(query, [texts[at] for at in held])
        found = self._asker.read(ask, meaning, tally, attempts=self._value.attempts)
        if found is None:
            return held
        self._orders[tuple(found)] += 1
        return [held[number - 1] for number in found]


def windows(count: int, window: int, step: int) -> list[tuple[int, int]]:
    """Where each window begins and ends, the lowest first; the last one begins at the top. One document needs none."""
    found: list[tuple[int, int]] = []
    end = count if count > 1 else 0
    while end > 0:
        start = max(end - window, 0)
        found.append((start, end))
        end = end - step if start else 0
    return found
