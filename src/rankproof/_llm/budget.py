"""Budget, SpendMeter, Estimate."""

from __future__ import annotations

import threading
from dataclasses import asdict, dataclass, fields, is_dataclass
from typing import Any

from rankproof._data import validation
from rankproof.errors import ExternalError, UsageError, for_message
from rankproof.models._chat.base import ChatModel, ChatRequest, estimate_tokens, max_tokens_of


@dataclass(frozen=True, slots=True)
class Usage:
    """Requests that were sent (failed ones too), tokens read and written, money, and replies that a journal already had.

    `money` is 0 where the model has no price. `unsure` counts requests that brought no reply and may have been charged all the
    same: they count with the most that they may cost.
    """

    calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    money: float = 0.0
    journaled: int = 0
    unsure: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(*(getattr(self, part.name) + getattr(other, part.name) for part in fields(self)))

    def plain(self) -> dict[str, Any]:
        """As JSON."""
        return asdict(self)


def token_cost(tokens_in: int, tokens_out: int, price_in: float, price_out: float) -> float:
    """Money for so many tokens, at prices for a million."""
    return (tokens_in * price_in + tokens_out * price_out) / 1e6


_FIX = "write it like calls=500,tokens=2000000,money=1.50"


class BudgetError(ExternalError):
    """The next call might cost more than the budget has left."""


@dataclass(frozen=True, slots=True)
class Budget:
    """The most that one start may spend, None where there is no limit; what a journal already has is free."""

    calls: int | None = None
    tokens: int | None = None
    money: float | None = None

    def __post_init__(self) -> None:
        for name in ("calls", "tokens"):
            if getattr(self, name) is not None:
                validation.checked_integer(name, getattr(self, name), least=0)
        if self.money is not None:
            object.__setattr__(self, "money", validation.checked_number("money", self.money, 0, 1e12))


def parse_budget(text: str) -> Budget:
    """A budget as the command line writes it: calls=500,tokens=2000000,money=1.50."""
    found: dict[str, float] = {}
    known = [part.name for part in fields(Budget)]
    for piece in text.split(","):
        name, mark, value = (part.strip() for part in piece.partition("="))
        if not mark or name not in known or name in found:
            raise UsageError(f"budget {for_message(piece.strip())} is not one of {', '.join(known)}, each once", fix=_FIX)
        try:
            found[name] = float(value) if name == "money" else int(value.replace("_", ""))
        except ValueError:
            raise UsageError(f"budget {name} is {for_message(value)}", fix=_FIX) from None
    return Budget(**found)  # type: ignore[arg-type]


def check_model_has_price(budget: Budget, model: ChatModel) -> None:
    """Refuses a budget of money for a model whose price nobody said; one that has no such setting runs here and costs none."""
    can_cost = is_dataclass(model) and any(part.name == "price_in" for part in fields(model))
    if budget.money is not None and can_cost and not (model.price_in or model.price_out):
        raise UsageError(
            "the budget is of money, and a model that is asked has no price",
            fix="give price_in and price_out (--price-in, --price-out), or a budget of calls or tokens",
        )


class SpendMeter:
    """What one start has spent, for all of its threads; each call reserves what it may cost before it is made.

    `keeps` says whether replies outlive the process.
    """

    def __init__(self, budget: Budget | None = None, *, is_persistent: bool = True) -> None:
        self.budget, self.is_persistent = budget or Budget(), is_persistent
        self._lock = threading.Lock()
        self._spent, self._reserved = Usage(), Usage()

    @property
    def spent(self) -> Usage:
        """So far."""
        with self._lock:
            return self._spent

    def reserve(self, most: Usage) -> None:
        """Sets the most that a call may cost aside, refused where the budget does not have it."""
        with self._lock:
            after = self._spent + self._reserved + most
            self._refuse("calls", after.calls, self.budget.calls)
            self._refuse("tokens", after.tokens_in + after.tokens_out, self.budget.tokens)
            self._refuse("money", after.money, self.budget.money)
            self._reserved += most

    def spend(self, usage: Usage) -> None:
        """Counts what needed no reserve."""
        with self._lock:
            self._spent += usage

    def settle(self, most: Usage, actual: Usage) -> None:
        """Puts what it did cost in the place of what was set aside."""
        with self._lock:
            minus = Usage(-most.calls, -most.tokens_in, -most.tokens_out, -most.money)
            self._reserved += minus
            self._spent += actual

    def _refuse(self, what: str, after: float, limit: float | None) -> None:
        if limit is not None and after > limit:
            unit = what.removesuffix("s") if limit == 1 else what
            raise BudgetError(
                f"the budget of {limit:g} {unit} may not cover the next call ({self._spending_text()}); {replies_saved_note(self.is_persistent)}: "
                f"raise --budget and run the same command again{' to go on' if self.is_persistent else ''}"
            )

    def _spending_text(self) -> str:
        """What is spent, and set aside for calls under way, of which nobody knows yet what they cost."""
        sent, waiting = self._spent + self._reserved, self._reserved.calls
        most = "at most " if sent.unsure or waiting else ""
        money = f" and {sent.money:.4f} money" if sent.money else ""
        under_way = ", counting what is under way" if waiting else ""
        calls = "1 call" if sent.calls == 1 else f"{sent.calls} calls"
        return f"{calls}, {most}{sent.tokens_in + sent.tokens_out} tokens{money}{under_way}"


def replies_saved_note(is_persistent: bool) -> str:
    """What has become of the replies that came, for whoever reads why no more did."""
    return "every reply so far is kept" if is_persistent else "no reply is kept, for want of a cache"


_TOKENS_PER_MESSAGE = 8


def prompt_tokens(request: ChatRequest) -> int:
    """How many tokens the messages have, roughly; each turn adds a few."""
    return sum(estimate_tokens(message.text) + _TOKENS_PER_MESSAGE for message in request.messages)


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
        return Usage(
            self.calls, self.tokens_in, self.tokens_out, token_cost(self.tokens_in, self.tokens_out, price_in, price_out)
        )


def estimate_request(request: ChatRequest) -> Estimate:
    """One ask, roughly."""
    return Estimate(1, prompt_tokens(request), request.max_tokens)


def max_request_cost(request: ChatRequest) -> Estimate:
    """One ask at most, in whatever language: the messages, and the schema where a server shows it to the model."""
    read = sum(max_tokens_of(message.text) + _TOKENS_PER_MESSAGE for message in request.messages) + max_tokens_of(request.schema)
    return Estimate(1, read, request.max_tokens)
