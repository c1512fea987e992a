"""What one query's asks came to."""

from __future__ import annotations

from typing import Literal, Protocol, get_args

CountName = Literal[
    "calls",
    "tokens_in",
    "tokens_out",
    "estimated",
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
]
COUNT_NAMES: tuple[CountName, ...] = get_args(CountName)
COUNT_MEANINGS: dict[CountName, str] = {
    "calls": "requests that were sent, failed ones too",
    "tokens_in": "tokens that the model read",
    "tokens_out": "tokens that the model wrote",
    "estimated": "replies whose tokens are estimated, because the server does not say how many there were",
    "unreadable": "replies that were of no use and were asked for again",
    "failed": "asks that ended without a reply from the server",
    "refused": "failed asks whose request the server refused, as too long for instance",
    "given_up": "asks without a reply of use, after every attempt",
    "by_odds": "replies read by the log-probabilities of Yes and No",
    "by_text": "replies read as plain text, because no log-probability of Yes or No came for all of a query, or no JSON",
    "dropped": "sources that an answer names and was never given, which are left out",
    "rewritten": "queries that the model was asked to put otherwise",
    "windows": "windows of documents that the model was asked to put in order",
    "graded": "documents that the model was asked about one by one",
    "compared": "pairs of documents that the model was asked to compare, each in both orders",
    "disagreed": "compared pairs whose two orders brought opposite replies, which counts as a tie",
    "undecided": "compared pairs without two replies of use, which count as a tie",
}


def estimation_note(count: int) -> str:
    """What to say where the tokens of so many replies, and the money for them, were not counted by the server; "" for none."""
    whose = "1 reply" if count == 1 else f"{count} replies"
    return f"tokens and money of {whose} are estimated, at four characters a token: the server does not say" if count else ""


class CallCounter(Protocol):
    """Where an asker counts."""

    def count(self, name: CountName, more: int = 1) -> None:
        """Adds to a count."""
        ...

    def add_seconds(self, seconds: float) -> None:
        """Adds the time that a reply took, when it was first asked for."""
        ...


class CallTotals:
    """A tally on its own, for work that has no clock of queries."""

    def __init__(self) -> None:
        self.counts: dict[CountName, int] = dict.fromkeys(COUNT_NAMES, 0)
        self.seconds = 0.0

    def count(self, name: CountName, more: int = 1) -> None:
        self.counts[name] += more

    def add_seconds(self, seconds: float) -> None:
        self.seconds += seconds

    def plain(self) -> dict[str, float]:
        """As JSON."""
        return {**{str(name): count for name, count in self.counts.items()}, "seconds": self.seconds}
