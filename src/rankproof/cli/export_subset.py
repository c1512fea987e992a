"""Results on some of their queries: all that is known query by query, and what it sums up to."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import TYPE_CHECKING

from ..errors import UsageError, shown

if TYPE_CHECKING:
    from ..evaluation import Result
    from ..experiment.rung import Climb, Rung


def narrowed(climb: Climb, queries: Collection[str]) -> Climb:
    """Times, counts and the measures of chunks and answers on these queries; `result` is to be evaluated anew by the caller.

    Refused where a system cost money, which is known for all its queries together.
    """
    chosen = set(queries)
    paid = next((rung.name for rung in climb.rungs if rung.money), None)
    if paid is not None:
        raise UsageError(f"what {shown(paid)} cost is known for all queries together", fix="leave out --queries")
    return replace(
        climb,
        queries=tuple(query for query in climb.queries if query in chosen),
        rungs=tuple(_rung(rung, [query in chosen for query in climb.queries]) for rung in climb.rungs),
        chunks=_part(climb.chunks, chosen),
        answers=_part(climb.answers, chosen),
    )


def _rung(rung: Rung, kept: list[bool]) -> Rung:
    return replace(
        rung,
        times={part: values[kept] for part, values in rung.times.items()},
        counts={name: values[kept] for name, values in rung.counts.items()},
    )


def _part(result: Result | None, chosen: set[str]) -> Result | None:
    """None where nothing is known of any of the queries."""
    from .answer_evidence import on_queries

    return None if result is None or chosen.isdisjoint(result.queries) else on_queries(result, chosen)
