"""A clock for one query: how long each part of the work took, what was not read to its end, and what asking a model came to."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from ..asking.tally import COUNTS, Count
from ..data.time_parts import PARTS, Part


class Clock:
    """Milliseconds by part, 0 for those that never ran.

    `cut` is how many pairs of query and passage a model cut short, `cut_queries` is 1 where it read the query alone and cut it;
    `counts` is what asking language models came to.
    """

    __slots__ = ("counts", "cut", "cut_queries", "milliseconds")

    def __init__(self) -> None:
        self.milliseconds: dict[Part, float] = dict.fromkeys(PARTS, 0.0)
        self.cut = 0
        self.cut_queries = 0
        self.counts: dict[Count, int] = dict.fromkeys(COUNTS, 0)

    @contextmanager
    def part(self, name: Part) -> Iterator[None]:
        """Adds the time that the block takes."""
        start = time.perf_counter()
        try:
            yield
        finally:
            self.milliseconds[name] += (time.perf_counter() - start) * 1000

    def tally(self, name: Part) -> PartTally:
        """A tally whose asks count on this clock, their time as that part's: a kept reply has the time that it took at first."""
        return PartTally(self, name)


class PartTally:
    """Counts asks on a clock."""

    __slots__ = ("_clock", "_part")

    def __init__(self, clock: Clock, part: Part) -> None:
        self._clock, self._part = clock, part

    def count(self, name: Count, more: int = 1) -> None:
        self._clock.counts[name] += more

    def asked(self, seconds: float) -> None:
        self._clock.milliseconds[self._part] += seconds * 1000
