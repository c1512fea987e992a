"""What a gate cannot see: one that cannot fail is none."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..statistics.limits import fewest_queries, least_p, shortage
from .decision import Decision
from .settings import GateSettings


def limits(drops: Sequence[Decision], segments: Sequence[Decision], settings: GateSettings) -> Iterator[str]:
    """Why drops, or drops in segments, could not fail whatever they are; a drop with a bound of its own always can."""
    open_drops = [decision for decision in drops if decision.measure not in settings.max_drops]
    lacking = _lacking(open_drops, len(drops), settings)
    if lacking is not None:
        yield f"no drop can be significant: {lacking}; or see --max-drop"
    lacking = _lacking(segments, len(segments), settings)
    if lacking is not None:
        yield f"no drop in a segment can be significant: {lacking}"
    elif small := [one for one in segments if _least(one, settings) > settings.alpha / len(segments)]:
        fewest = fewest_queries(settings.alpha / len(segments))
        yield f"{len(small):,} of {len(segments):,} tests of segments have too few queries to fail alone: fewer than {fewest}"


def _lacking(decisions: Sequence[Decision], tests: int, settings: GateSettings) -> str | None:
    """Why none of the decisions can be a significant drop."""
    if not decisions:
        return None
    largest = max(decisions, key=_n)
    return shortage(_least(largest, settings), settings.alpha / tests, _n(largest))


def _least(decision: Decision, settings: GateSettings) -> float:
    return least_p(_n(decision), settings.samples)


def _n(decision: Decision) -> int:
    return decision.change.n if decision.change else 0
