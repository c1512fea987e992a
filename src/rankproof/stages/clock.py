"""A clock for one query: how long embedding, searching and reranking took, and what was not read to its end."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal, get_args

Part = Literal["embed", "search", "rerank"]
PARTS: tuple[Part, ...] = get_args(Part)


class Clock:
    """Milliseconds by part, 0 for those that never ran.

    `cut` is how many pairs of query and passage a model cut short, `cut_queries` is 1 where it read the query alone and cut it.
    """

    __slots__ = ("cut", "cut_queries", "milliseconds")

    def __init__(self) -> None:
        self.milliseconds: dict[Part, float] = dict.fromkeys(PARTS, 0.0)
        self.cut = 0
        self.cut_queries = 0

    @contextmanager
    def part(self, name: Part) -> Iterator[None]:
        """Adds the time that the block takes."""
        start = time.perf_counter()
        try:
            yield
        finally:
            self.milliseconds[name] += (time.perf_counter() - start) * 1000
