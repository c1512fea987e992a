"""What asking will cost, roughly, before anything is asked."""

from __future__ import annotations

from dataclasses import dataclass

from ..models.chat.port import Ask
from ..models.chat.tokens import most_tokens_of, tokens_of
from .usage import Usage, price

_TURN = 8


def tokens_asked(ask: Ask) -> int:
    """How many tokens the messages have, roughly; each turn adds a few."""
    return sum(tokens_of(message.text) + _TURN for message in ask.messages)


@dataclass(frozen=True, slots=True)
class Estimate:
    """Calls and tokens; `tokens_out` is the most that the replies may have."""

    calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0

    def __add__(self, other: Estimate) -> Estimate:
        return Estimate(self.calls + other.calls, self.tokens_in + other.tokens_in, self.tokens_out + other.tokens_out)

    def times(self, count: int) -> Estimate:
        """The same so many times."""
        return Estimate(self.calls * count, self.tokens_in * count, self.tokens_out * count)

    def usage(self, price_in: float, price_out: float) -> Usage:
        """With the money that it comes to."""
        return Usage(self.calls, self.tokens_in, self.tokens_out, price(self.tokens_in, self.tokens_out, price_in, price_out))


def estimate_of(ask: Ask) -> Estimate:
    """One ask, roughly."""
    return Estimate(1, tokens_asked(ask), ask.max_tokens)


def most_of(ask: Ask) -> Estimate:
    """One ask at most, in whatever language: the messages, and the schema where a server shows it to the model."""
    read = sum(most_tokens_of(message.text) + _TURN for message in ask.messages) + most_tokens_of(ask.schema)
    return Estimate(1, read, ask.max_tokens)
