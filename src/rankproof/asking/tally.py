"""What one query's asks came to."""

from __future__ import annotations

from typing import Literal, Protocol, get_args

Count = Literal[
    "calls",
    "tokens_in",
    "tokens_out",
    "unreadable",
    "failed",
    "given_up",
    "by_text",
    "dropped",
    "windows",
    "graded",
    "compared",
    "disagreed",
    "undecided",
]
COUNTS: tuple[Count, ...] = get_args(Count)
MEANINGS: dict[Count, str] = {
    "calls": "requests that were sent, failed ones too",
    "tokens_in": "tokens that the model read",
    "tokens_out": "tokens that the model wrote",
    "unreadable": "replies that were of no use and were asked for again",
    "failed": "asks that no reply came to",
    "given_up": "asks without a reply of use, after every attempt",
    "by_text": "replies read as plain text, because the server gave no log-probabilities or the model no JSON",
    "dropped": "sources that an answer names and was never given, which are left out",
    "windows": "windows of documents that the model was asked to put in order",
    "graded": "documents that the model was asked about one by one",
    "compared": "pairs of documents that the model was asked to compare, each in both orders",
    "disagreed": "compared pairs whose two orders brought opposite replies, which counts as a tie",
    "undecided": "compared pairs without two replies of use, which keep the order below",
}


class Tally(Protocol):
    """Where an asker counts."""

    def count(self, name: Count, more: int = 1) -> None:
        """Adds to a count."""
        ...

    def asked(self, seconds: float) -> None:
        """Adds the time that a reply took, when it was first asked for."""
        ...


class Sums:
    """A tally on its own, for work that has no clock of queries."""

    def __init__(self) -> None:
        self.counts: dict[Count, int] = dict.fromkeys(COUNTS, 0)
        self.seconds = 0.0

    def count(self, name: Count, more: int = 1) -> None:
        self.counts[name] += more

    def asked(self, seconds: float) -> None:
        self.seconds += seconds

    def plain(self) -> dict[str, float]:
        """As JSON."""
        return {**{str(name): count for name, count in self.counts.items()}, "seconds": self.seconds}
