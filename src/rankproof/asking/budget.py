"""How much asking may cost, and the purse that sees to it."""

from __future__ import annotations

import threading
from dataclasses import dataclass, fields, is_dataclass

from ..data import checks
from ..errors import UsageError, WorldError, shown
from ..models.chat.port import ChatModel
from .usage import Usage

_FIX = "write it like calls=500,tokens=2000000,money=1.50"


class BudgetError(WorldError):
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
                checks.whole(name, getattr(self, name), least=0)
        if self.money is not None:
            object.__setattr__(self, "money", checks.number("money", self.money, 0, 1e12))


def parse_budget(text: str) -> Budget:
    """A budget as the command line writes it: calls=500,tokens=2000000,money=1.50."""
    found: dict[str, float] = {}
    known = [part.name for part in fields(Budget)]
    for piece in text.split(","):
        name, mark, value = (part.strip() for part in piece.partition("="))
        if not mark or name not in known or name in found:
            raise UsageError(f"budget {shown(piece.strip())} is not one of {', '.join(known)}, each once", fix=_FIX)
        try:
            found[name] = float(value) if name == "money" else int(value.replace("_", ""))
        except ValueError:
            raise UsageError(f"budget {name} is {shown(value)}", fix=_FIX) from None
    return Budget(**found)  # type: ignore[arg-type]


def refuse_unpriced(budget: Budget, model: ChatModel) -> None:
    """Refuses a budget of money for a model whose price nobody said; one that has no such setting runs here and costs none."""
    can_cost = is_dataclass(model) and any(part.name == "price_in" for part in fields(model))
    if budget.money is not None and can_cost and not (model.price_in or model.price_out):
        raise UsageError(
            "the budget is of money, and a model that is asked has no price",
            fix="give price_in and price_out (--price-in, --price-out), or a budget of calls or tokens",
        )


class Purse:
    """What one start has spent, for all of its threads; each call reserves what it may cost before it is made.

    `keeps` says whether replies outlive the process.
    """

    def __init__(self, budget: Budget | None = None, *, keeps: bool = True) -> None:
        self.budget, self.keeps = budget or Budget(), keeps
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

    def settle(self, most: Usage, real: Usage) -> None:
        """Puts what it did cost in the place of what was set aside."""
        with self._lock:
            minus = Usage(-most.calls, -most.tokens_in, -most.tokens_out, -most.money)
            self._reserved += minus
            self._spent += real

    def _refuse(self, what: str, after: float, limit: float | None) -> None:
        if limit is not None and after > limit:
            unit = what.removesuffix("s") if limit == 1 else what
            raise BudgetError(
                f"the budget of {limit:g} {unit} may not cover the next call ({self._told()}); {kept(self.keeps)}: "
                f"raise --budget and run the same command again{' to go on' if self.keeps else ''}"
            )

    def _told(self) -> str:
        """What is spent, and set aside for calls under way, of which nobody knows yet what they cost."""
        sent, waiting = self._spent + self._reserved, self._reserved.calls
        most = "at most " if sent.unsure or waiting else ""
        money = f" and {sent.money:.4f} money" if sent.money else ""
        under_way = ", counting what is under way" if waiting else ""
        calls = "1 call" if sent.calls == 1 else f"{sent.calls} calls"
        return f"{calls}, {most}{sent.tokens_in + sent.tokens_out} tokens{money}{under_way}"


def kept(keeps: bool) -> str:
    """What has become of the replies that came, for whoever reads why no more did."""
    return "every reply so far is kept" if keeps else "no reply is kept, for want of a cache"
