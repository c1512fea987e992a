"""What a gate cannot see: one that cannot fail is none, and does not pass."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..statistics.limits import fewest_queries, least_p, shortage
from ..wording import counted
from .decision import Decision
from .settings import GateSettings


def blind(drops: Sequence[Decision], segments: Sequence[Decision], settings: GateSettings) -> Iterator[Decision]:
    """A failure where no drop, or none in a segment, could be significant; a drop with a bound of its own always can fail."""
    open_drops = [decision for decision in drops if decision.measure not in settings.max_drops]
    if lacking := _lacking(open_drops, len(drops), settings):
        yield _cannot_be_judged(open_drops, "no drop could be significant", f"{lacking}; or use --max-drop")
    if lacking := _lacking(segments, len(segments), settings):
        what = "no drop in a segment could be significant"
        yield _cannot_be_judged(segments, what, f"{lacking}; or leave the segments out", "segments")


def small_segments(segments: Sequence[Decision], settings: GateSettings) -> Iterator[str]:
    """How many segments cannot fail alone, where others can."""
    small = [one for one in segments if _least(one, settings) > settings.alpha / len(segments)]
    if small and not _lacking(segments, len(segments), settings):
        fewest = fewest_queries(settings.alpha / len(segments))
        yield f"{len(small):,} of {len(segments):,} tests of segments have too few queries to fail alone: fewer than {fewest}"


def _cannot_be_judged(decisions: Sequence[Decision], what: str, why: str, segment: str = "") -> Decision:
    queries = counted(max(map(_n, decisions)), "query", "queries")
    return Decision("test", "", False, f"Cannot be judged: with {queries} {what}: {why}.", segment=segment)


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
