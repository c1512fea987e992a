"""What a search engine replied to each query of a run, besides the ranking."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal, Self

ReplyState = Literal["ok", "failed", "not asked"]


@dataclass(frozen=True, slots=True)
class RecordedReply:
    """The reply to one query; a query that failed or was not asked has a reason, no documents, and scores 0.

    `docs` are the ids in the order of the reply and `scores` the engine's own, None where it gives none. `round_trip_ms` is that
    of the request that succeeded, `server_ms` the part that the server reports, None where it reports none. `requests` counts
    failed attempts too. `asked` is the UTC time of the request. `unknown` counts documents that are not in the corpus. `repeats`
    has the round trips of repeated requests, and `changed` how many of them gave another ranking.
    """

    state: ReplyState = "ok"
    reason: str = ""
    docs: tuple[str, ...] = ()
    scores: tuple[float, ...] | None = None
    round_trip_ms: float | None = None
    server_ms: float | None = None
    requests: int = 0
    asked: str = ""
    notes: tuple[str, ...] = ()
    unknown: int = 0
    repeats: tuple[float, ...] = ()
    changed: int = 0

    def plain(self) -> dict[str, Any]:
        """As a dictionary for JSON."""
        return asdict(self)

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> Self:
        """A reply that was written as JSON."""
        lists = {name: tuple(value) for name, value in values.items() if isinstance(value, list)}
        return cls(**{**values, **lists})
