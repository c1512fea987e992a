"""`analyse_log`: what the sessions of a log say about the systems that were shown."""

from __future__ import annotations

from collections.abc import Iterator

from rankproof._analysis.online.options import OnlineOptions
from rankproof._analysis.online.result import LogKind, OnlineResult
from rankproof._data.table import Column, Table
from rankproof._importers.search_log.log import NO_TEAM, SearchLog
from rankproof.errors import InputError


def analyse_log(log: SearchLog, options: OnlineOptions) -> OnlineResult:
    """The decision that the sessions of a log allow, and what it rests on."""
    kind = kind_of(log)
    return OnlineResult(kind, None, (counts_table(log),), log.notes)


def kind_of(log: SearchLog) -> LogKind:
    """What a log holds: lists of several systems interleaved, variants of an A/B test, or one ranking system."""
    is_interleaved = bool((log.sessions.draft >= 0).any() or (log.sessions.teams != NO_TEAM).any() or len(log.systems))
    has_variants = len(log.variants) > 1
    if is_interleaved and has_variants:
        what = f"the log holds interleaved lists and the variants {', '.join(log.variants)}"
        raise InputError(what, fix="name the interleaving with --experiment, or pass a log of one of them", source=log.sources[0])
    return "interleaving" if is_interleaved else "ab" if has_variants else "one"


def counts_table(log: SearchLog) -> Table:
    """What was read of the log, and what was dropped for which reason."""
    columns = (Column("rows"), Column("read", "count"), Column("dropped", "count"), Column("reason"))
    return Table("rows", "Rows of the log", columns, tuple(_count_rows(log)))


def _count_rows(log: SearchLog) -> Iterator[tuple[str, int, int, str]]:
    for count in log.counts:
        yield count.part, count.read, sum(dropped.count for dropped in count.dropped), ""
        for dropped in count.dropped:
            yield count.part, 0, dropped.count, dropped.reason
