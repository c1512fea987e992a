"""What a stage is: a frozen value that turns documents, and the rankings below it, into a ranking.

`build` does what is done once (an index, vectors, a loaded model); the Searcher it gives answers one query at a time, on a clock.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from ..asking.desk import Desk
from ..data.corpus import Corpus
from ..data.queries import Query
from ..data.ranking import Ranking
from .clock import Clock

Block = Mapping[str, "np.ndarray[Any, Any]"]
Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class Cost:
    """What building took: seconds of work (remembered, where it was done in an earlier start) and bytes of the index.

    `shared` says which of it belongs to several stages, vectors for instance: by key, the seconds and bytes of each.
    """

    seconds: float = 0.0
    bytes: int = 0
    shared: Mapping[str, tuple[float, int]] = field(default_factory=dict)


class Keep(Protocol):
    """Where slow work is kept block by block, so that a second start goes on after the last whole block."""

    def blocks(
        self, key: str, count: int, make: Callable[[int], Block], *, label: str, items: int | None = None
    ) -> tuple[list[Block], float]:
        """Blocks 0 to count - 1, made or remembered, and the seconds that making all of them took.

        `items` is how many passages or queries the blocks hold in all; progress is told in them.
        """
        ...

    def folder(self, key: str) -> str:
        """An existing folder for files of an embedded database, cleared when the run ends."""
        ...


@dataclass(frozen=True, eq=False, slots=True)
class Ground:
    """What a stage is built on."""

    corpus: Corpus
    corpus_key: str
    keep: Keep
    threads: int = 1
    progress: Progress = field(default=lambda label, done, total: None)
    desk: Desk = field(default_factory=Desk)


class Searcher(Protocol):
    """A stage ready to search."""

    def search(self, query: Query, below: Sequence[Ranking], clock: Clock) -> Ranking:
        """The ranking of one query; `below` has one ranking for each stage below, in their order."""
        ...

    def cost(self) -> Cost:
        """What building took."""
        ...

    def facts(self) -> Mapping[str, Any]:
        """What a reader should know of models, stores and settings, as JSON; asked after the searches."""
        ...

    def notes(self) -> Sequence[str]:
        """Sentences that a reader must see; asked after the searches."""
        ...

    def close(self) -> None:
        """Lets go of whatever is open."""
        ...


class Stage(Protocol):
    """A rung: equal stages are built and searched once. `depth` is how many documents its rankings keep."""

    @property
    def depth(self) -> int: ...

    def below(self) -> tuple[Stage, ...]:
        """The stages whose rankings it takes."""
        ...

    def build(self, ground: Ground) -> Searcher: ...
