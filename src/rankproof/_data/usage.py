"""What an answer cost: time, tokens and money."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, fields


@dataclass(frozen=True, slots=True)
class Usage:
    """The time, tokens and money of one answer; None where it is not known.

    `tokens` are those of prompts and replies together; where it is None, they are the sum of `tokens_in` and `tokens_out`.
    `model` is the language model that wrote the answer.
    """

    latency_ms: float | None = None
    tokens_in: float | None = None
    tokens_out: float | None = None
    tokens: float | None = None
    cost: float | None = None
    model: str | None = None

    @property
    def all_tokens(self) -> float | None:
        """The tokens of prompts and replies; None unless both are known."""
        if self.tokens is not None or self.tokens_in is None or self.tokens_out is None:
            return self.tokens
        return self.tokens_in + self.tokens_out

    @property
    def is_known(self) -> bool:
        """Whether anything is known."""
        return any(getattr(self, field.name) is not None for field in fields(self))


def mean_known(values: Iterable[float | None]) -> float | None:
    """The mean; None if there are no values, or one is not known."""
    every = list(values)
    known = [value for value in every if value is not None]
    return math.fsum(known) / len(known) if known and len(known) == len(every) else None
