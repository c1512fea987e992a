"""The recorded replies of a search engine to the queries of a run, and the notes on them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from rankproof._data.text import MASK, clip_text, in_a_sentence, pluralise
from rankproof.errors import for_message

MASKED_NOTE = f"the reply contained a key or password, masked as {MASK}: do not trust this server"
"""The note on a reply of a search engine in which a key was masked."""
ReplyState = Literal["ok", "failed", "not asked"]


def lists_as_tuples(values: Mapping[str, Any]) -> dict[str, Any]:
    """The JSON of a reply with a tuple for each list, as a frozen dataclass holds them."""
    return {name: tuple(value) if isinstance(value, list) else value for name, value in values.items()}


@dataclass(frozen=True, slots=True)
class RecordedReply:
    """The reply to one query; a query that failed or was not sent has a reason and no documents, and scores 0.

    `docs` are the ids in the order of the reply and `scores` the engine's own, None where it gives none. `round_trip_ms` is that
    of the request that succeeded, `server_ms` the part that the server reports, None where it reports none. `requests` counts
    failed attempts too. `asked` is the UTC time of the request. `unknown` counts documents that are not in the corpus. `repeats`
    has the round trips in further runs, and `changed` in how many of them the ranking was another one.
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


@dataclass(frozen=True, slots=True)
class ReusedReplies:
    """The replies of a system's search engines that an earlier run recorded, and that were not asked for again.

    `queries` is how many replies these are, `of` how many replies the system rests on. `first` and `last` are the UTC times of
    the oldest and the newest.
    """

    system: str
    queries: int
    of: int
    first: str
    last: str


def reused_sentences(reused: Sequence[ReusedReplies], option: str = "rankproof run --ask-again") -> tuple[str, ...]:
    """A sentence on replies that an earlier run recorded: when, and with which option they are asked for again."""
    if not reused:
        return ()
    names = in_a_sentence([for_message(replies.system) for replies in reused])
    few, every = sum(replies.queries for replies in reused), sum(replies.of for replies in reused)
    some = f"{few:,} of {every:,} replies" if few < every else "replies"
    first, last = min(replies.first for replies in reused), max(replies.last for replies in reused)
    return (f"{names}: {some} recorded {_minutes(first, last)} UTC, not asked again; use {option}.",)


def _minutes(first: str, last: str) -> str:
    """The day and minute of both times, what they share once."""
    day, start, end = first[:10], first[11:16], last[11:16]
    if last[:10] != day:
        return f"{day} {start} to {last[:10]} {end}"
    return f"{day} {start}" if start == end else f"{day} {start} to {end}"


_SHOWN_REASONS = 5
_SHOWN_QUERIES = 3
_SHOWN_TEXT = 40


def failure_notes(replies: Mapping[str, RecordedReply], texts: Mapping[str, str]) -> Iterator[str]:
    """A note for each reason why queries failed, with the first queries; most frequent first, queries not asked last.

    `texts` has the texts of queries, where they are known.
    """
    failed: dict[str, list[str]] = {}
    for query, reply in replies.items():
        if reply.state != "ok":
            failed.setdefault(reply.reason, []).append(query)
    ordered = sorted(failed.items(), key=lambda item: (replies[item[1][0]].state == "not asked", -len(item[1])))
    for reason, queries in ordered[:_SHOWN_REASONS]:
        shown = ", ".join(
            [
                *(_shown_query(query, texts) for query in queries[:_SHOWN_QUERIES]),
                *(["…"] if len(queries) > _SHOWN_QUERIES else []),
            ]
        )
        count = f"{len(queries)} of {pluralise(len(replies), 'query', 'queries')}"
        yield f"{count} failed and {'scores' if len(queries) == 1 else 'score'} 0 ({shown}): {reason}"
    if (more := len(ordered) - _SHOWN_REASONS) > 0:
        yield f"queries failed for {pluralise(more, 'other reason')}; see the folder replies"


def _shown_query(query: str, texts: Mapping[str, str]) -> str:
    text = clip_text(texts.get(query, ""), _SHOWN_TEXT)
    return f'{for_message(query)} "{for_message(text)}"' if text else for_message(query)


def changed_notes(replies: Iterable[RecordedReply]) -> Iterator[str]:
    """How many rankings changed between runs, if there were several."""
    repeated = [reply for reply in replies if reply.repeats]
    if repeated:
        changed, times = sum(bool(reply.changed) for reply in repeated), 1 + max(len(reply.repeats) for reply in repeated)
        rankings = pluralise(len(repeated), "ranking")
        yield f"{changed} of {rankings} changed when asked {times} times; values are means over them"
