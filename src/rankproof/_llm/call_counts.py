"""Names and counts what happens in calls to language models and search engines."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, Protocol, get_args

from rankproof._data.text import MASK, pluralise

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
