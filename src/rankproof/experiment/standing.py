"""A stage's outcome, and the outcomes that it rests on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ..asking.usage import price
from ..stages.abilities import Priced
from ..stages.base import Stage
from .outcome import Outcome


@dataclass(frozen=True, eq=False, slots=True)
class Standing:
    """What a stage gave, above what the stages below it gave."""

    stage: Stage
    outcome: Outcome
    below: tuple[Standing, ...] = ()

    def every(self) -> Iterator[Standing]:
        """Each of them once, lowest first."""
        seen: dict[int, Standing] = {}
        for part in self.below:
            seen |= {id(each): each for each in part.every()}
        yield from {**seen, id(self): self}.values()

    @property
    def is_provisional(self) -> bool:
        """Whether an ask that no reply came to is behind it: it may come out otherwise the next time."""
        return bool(np.any(self.outcome.counts.get("failed", 0))) or any(part.is_provisional for part in self.below)

    def money(self) -> float:
        """What its own asks cost at the model's prices."""
        chat = self.stage.chat if isinstance(self.stage, Priced) else None
        if chat is None:
            return 0.0
        counts = self.outcome.counts
        return price(int(counts["tokens_in"].sum()), int(counts["tokens_out"].sum()), chat.price_in, chat.price_out)
