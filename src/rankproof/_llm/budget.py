"""Limits and counts calls to language models and search engines: what they cost, and what happens in them."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, is_dataclass, replace
from typing import Any, Literal, Protocol, get_args, runtime_checkable

from rankproof._data import validation
from rankproof._data.text import MASK, pluralise
from rankproof.errors import ExternalError, UsageError, for_message
from rankproof.models._api.settings import ApiModel, PaidModel, model_name
from rankproof.models._chat.base import ChatReply, ChatRequest, estimate_tokens, max_tokens_of


@dataclass(frozen=True, slots=True)
class Usage:
    """What a run used: requests (including failed ones), tokens and money. `journaled` counts replies from the cache.

    `money` is 0 for a model without prices. `unsure` counts requests without a reply that may have been charged; they count
    with their maximum cost.
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
        """As a dictionary for JSON."""
        return asdict(self)


def token_cost(tokens_in: int, tokens_out: int, price_in: float, price_out: float) -> float:
    """The money for these tokens; prices are per million tokens."""
    return (tokens_in * price_in + tokens_out * price_out) / 1e6


_UNITS_PER_PRICE = 1000


@runtime_checkable
class BillsSearches(Protocol):
    """A model that is paid by search units; the price is that of 1,000."""

    @property
    def price_search(self) -> float: ...


def money_of(model: PaidModel, tokens_in: int, tokens_out: int, units: int = 0) -> float:
    """The money for these tokens and search units at the prices of the model."""
    searches = units * model.price_search / _UNITS_PER_PRICE if isinstance(model, BillsSearches) else 0.0
    return token_cost(tokens_in, tokens_out, model.price_in, model.price_out) + searches


def has_price(model: PaidModel) -> bool:
    """Whether a price of the model is known."""
    return bool(model.price_in or model.price_out or (isinstance(model, BillsSearches) and model.price_search))


_FIX = "write it like calls=500,tokens=2000000,money=1.50"


class BudgetError(ExternalError):
    """The next call could exceed the budget."""


@dataclass(frozen=True, slots=True)
class Budget:
    """Limits on calls, tokens and money of one run; None means no limit. Cached replies cost nothing."""

    calls: int | None = None
    tokens: int | None = None
    money: float | None = None

    def __post_init__(self) -> None:
        for name in ("calls", "tokens"):
            if getattr(self, name) is not None:
                validation.checked_integer(name, getattr(self, name), least=0)
        if self.money is not None:
            object.__setattr__(self, "money", validation.checked_number("money", self.money, 0, 1e12))


def as_budget(value: Budget | str | None) -> Budget | None:
    """The budget, which may be written as text."""
    return parse_budget(value) if isinstance(value, str) else value


def parse_budget(text: str) -> Budget:
    """Parses a budget as written on the command line: calls=500,tokens=2000000,money=1.50."""
    limits: dict[str, float] = {}
    known = [part.name for part in fields(Budget)]
    for piece in text.split(","):
        name, mark, value = (part.strip() for part in piece.partition("="))
        if not mark or name not in known or name in limits:
            raise UsageError(f"budget {for_message(piece.strip())} is not one of {', '.join(known)}, each once", fix=_FIX)
        try:
            limits[name] = float(value) if name == "money" else int(value.replace("_", ""))
        except ValueError:
            raise UsageError(f"budget {name} is {for_message(value)}", fix=_FIX) from None
    return Budget(**limits)  # type: ignore[arg-type]


def check_model_has_price(budget: Budget, model: PaidModel) -> None:
    """Raises an error for a money budget with a model that has price settings but no price.

    Local models have no such settings, and nobody bills the calls of a user's own server.
    """
    if isinstance(model, ApiModel) and not model.is_billed:
        return
    prices: list[str] = (
        [part.name for part in fields(model) if part.init and part.name.startswith("price_")] if is_dataclass(model) else []
    )
    if budget.money is not None and prices and not any(getattr(model, name) for name in prices):
        flags = " (--price-in, --price-out)" if "price_out" in prices else ""
        fix = f"set {' and '.join(prices)}{flags}, or limit calls or tokens"
        raise UsageError(f"the budget limits money, but the model {for_message(model_name(model))} has no price", fix=fix)


class SpendMeter:
    """What one run has spent, over all threads; each call reserves its maximum cost before it is sent.

    `is_persistent` says whether replies are cached on disk.
    """

    def __init__(self, budget: Budget | None = None, *, is_persistent: bool = True) -> None:
        self.budget, self.is_persistent = budget or Budget(), is_persistent
        self._lock = threading.Lock()
        self._spent, self._reserved = Usage(), Usage()

    @property
    def spent(self) -> Usage:
        """What is spent so far."""
        with self._lock:
            return self._spent

    def reserve(self, most: Usage) -> None:
        """Reserves the maximum cost of a call; raises BudgetError if the budget does not cover it."""
        with self._lock:
            after = self._spent + self._reserved + most
            self._check_limit("calls", after.calls, self.budget.calls)
            self._check_limit("tokens", after.tokens_in + after.tokens_out, self.budget.tokens)
            self._check_limit("money", after.money, self.budget.money)
            self._reserved += most

    def spend(self, usage: Usage) -> None:
        """Adds a cost that was not reserved."""
        with self._lock:
            self._spent += usage

    def settle(self, most: Usage, actual: Usage) -> None:
        """Replaces a reserved cost by the actual one."""
        with self._lock:
            minus = Usage(-most.calls, -most.tokens_in, -most.tokens_out, -most.money)
            self._reserved += minus
            self._spent += actual

    def _check_limit(self, what: str, after: float, limit: float | None) -> None:
        if limit is not None and after > limit:
            unit = what.removesuffix("s") if limit == 1 else what
            raise BudgetError(
                f"the next call could exceed the budget of {limit:g} {unit} ({self._spending_text()}); "
                f"{replies_saved_note(self.is_persistent)}: raise --budget and run the same command again"
                f"{' to continue' if self.is_persistent else ''}"
            )

    def _spending_text(self) -> str:
        """What is spent, with what is reserved for calls in progress."""
        sent, waiting = self._spent + self._reserved, self._reserved.calls
        most = "at most " if sent.unsure or waiting else ""
        money = f" and {sent.money:.4f} money" if sent.money else ""
        in_progress = ", including calls in progress" if waiting else ""
        calls = "1 call" if sent.calls == 1 else f"{sent.calls} calls"
        return f"{calls}, {most}{sent.tokens_in + sent.tokens_out} tokens{money}{in_progress}"


def replies_saved_note(is_persistent: bool) -> str:
    """Whether the replies so far are cached, for error messages."""
    return "all replies so far are cached" if is_persistent else "replies are not cached"


_TOKENS_PER_MESSAGE = 8


def prompt_tokens(request: ChatRequest) -> int:
    """An estimate of the tokens of all messages; each message adds a few."""
    return sum(estimate_tokens(message.text) + _TOKENS_PER_MESSAGE for message in request.messages)


@dataclass(frozen=True, slots=True)
class Estimate:
    """Estimated calls, tokens and search units; `tokens_out` is an upper bound."""

    calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    units: int = 0

    def __add__(self, other: Estimate) -> Estimate:
        return Estimate(*(getattr(self, part.name) + getattr(other, part.name) for part in fields(self)))

    def times(self, count: int) -> Estimate:
        """The estimate multiplied by a count."""
        return Estimate(*(getattr(self, part.name) * count for part in fields(self)))

    def usage(self, price_in: float, price_out: float) -> Usage:
        """As usage, with the money at these prices."""
        return Usage(
            self.calls, self.tokens_in, self.tokens_out, token_cost(self.tokens_in, self.tokens_out, price_in, price_out)
        )


def estimated_money(estimate: Estimate, model: PaidModel) -> float:
    """The money of an estimate at the prices of the model."""
    return money_of(model, estimate.tokens_in, estimate.tokens_out, estimate.units)


def estimate_request(request: ChatRequest) -> Estimate:
    """An estimate for one request."""
    return Estimate(1, prompt_tokens(request), request.max_tokens)


def max_request_cost(request: ChatRequest) -> Estimate:
    """The maximum cost of one request in any language: its messages, its schema and the longest reply."""
    read = sum(max_tokens_of(message.text) + _TOKENS_PER_MESSAGE for message in request.messages) + max_tokens_of(request.schema)
    return Estimate(1, read, request.max_tokens)


_MAX_BYTES_PER_TOKEN = 16
"""No text in a natural language has tokens as long as this on average; five bytes are usual."""
_MAX_UNSEEN_TOKENS = 100_000
"""Tokens that a server may count without showing them: a prompt of its own, and reasoning."""


def with_plausible_usage(reply: ChatReply, request: ChatRequest) -> ChatReply:
    """The reply with the server's tokens, or with estimates of both numbers where one cannot be right.

    A server that reports no tokens, or too few, could otherwise exceed the budget; one that reports too many could use it up.
    """
    most = max_request_cost(request)
    read, written = sum(max_tokens_of(message.text) for message in request.messages), max_tokens_of(reply.text)
    if is_plausible(reply.tokens_in, max(read, 1), most.tokens_in) and is_plausible(
        reply.tokens_out, written, max(most.tokens_out, written)
    ):
        return reply
    return replace(reply, tokens_in=prompt_tokens(request), tokens_out=estimate_tokens(reply.text), estimated=True)


def is_plausible(tokens: int, size: int, most: int) -> bool:
    """Whether a text of so many bytes, or a request of at most so many tokens, can have the tokens."""
    return size / _MAX_BYTES_PER_TOKEN <= tokens <= most + _MAX_UNSEEN_TOKENS


CountName = Literal[
    "calls",
    "tokens_in",
    "tokens_out",
    "search_units",
    "estimated",
    "masked",
    "unreadable",
    "failed",
    "refused",
    "given_up",
    "by_odds",
    "by_text",
    "dropped",
    "rewritten",
    "windows",
    "graded",
    "compared",
    "disagreed",
    "undecided",
    "asked",
    "encoded",
    "score_requests",
    "long_documents",
]
COUNT_NAMES: tuple[CountName, ...] = get_args(CountName)
COUNT_MEANINGS: dict[CountName, str] = {
    "calls": "requests sent, including failed ones",
    "tokens_in": "input tokens",
    "tokens_out": "output tokens",
    "search_units": "search units of a rerank API that bills searches",
    "estimated": "replies whose tokens are estimated because the server reports none that can be right",
    "masked": "replies that contained the API key or a token, which is masked",
    "unreadable": "replies that could not be parsed and were requested again",
    "failed": "requests without a reply from the server",
    "refused": "failed requests that the server rejected, for example because they are too long",
    "given_up": "requests without a usable reply after all attempts",
    "by_odds": "replies scored by the log-probabilities of Yes and No",
    "by_text": "replies read as plain text, because they were not JSON or came without log-probabilities of Yes or No",
    "dropped": "cited sources that were not among the passages, left out of the answer",
    "rewritten": "queries sent to the model to be rewritten",
    "windows": "windows of documents sent to the model to be ordered",
    "graded": "documents sent to the model one by one",
    "compared": "pairs of documents sent to the model for comparison, in both orders",
    "disagreed": "compared pairs with contradicting replies in the two orders, counted as ties",
    "undecided": "compared pairs with no usable reply in one or both orders, counted as ties",
    "asked": "queries sent to a search engine",
    "encoded": "queries sent to an embedding API",
    "score_requests": "requests for the scores of documents, sent to a rerank API",
    "long_documents": "documents that are probably longer than a rerank API reads, at four bytes per token",
}


def reply_notes(counts: Mapping[Any, float]) -> tuple[str, ...]:
    """Notes that tokens and money of some replies are estimated, and that some had a key."""
    estimated, masked = (int(counts.get(name, 0)) for name in ("estimated", "masked"))
    notes = {
        f"tokens and money of {pluralise(estimated, 'reply', 'replies')} are estimated at four bytes per token: "
        "the server reports no number that can be right": estimated,
        f"{pluralise(masked, 'reply', 'replies')} contained the API key or a token, masked as {MASK}: "
        "do not trust this server": masked,
    }
    return tuple(note for note, count in notes.items() if count)


class CallCounter(Protocol):
    """Receives the counts of a client."""

    def count(self, name: CountName, more: int = 1) -> None:
        """Adds to a count."""
        ...

    def add_seconds(self, seconds: float) -> None:
        """Adds the time that a reply took when it was first requested."""
        ...


class CallTotals:
    """Counts and seconds, for work without a query timer."""

    def __init__(self) -> None:
        self.counts: dict[CountName, int] = dict.fromkeys(COUNT_NAMES, 0)
        self.seconds = 0.0

    def count(self, name: CountName, more: int = 1) -> None:
        self.counts[name] += more

    def add_seconds(self, seconds: float) -> None:
        self.seconds += seconds

    def plain(self) -> dict[str, float]:
        """As a dictionary for JSON."""
        return {**{str(name): count for name, count in self.counts.items()}, "seconds": self.seconds}
