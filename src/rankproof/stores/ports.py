"""What the stages need of a vector database."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Protocol, Self

from ..data.arrays import Matrix
from ..data.ranking import Ranking


class VectorStore(Protocol):
    """Vectors of length 1 under ids; scores are inner products."""

    def add(self, ids: Sequence[str], vectors: Matrix) -> None:
        """Adds the vectors; an id that is there already gets the new vector."""
        ...

    def search(self, vectors: Matrix, k: int) -> list[Ranking]:
        """For each row the k nearest, or all where there are fewer; equal scores: larger id first, by bytes."""
        ...


class OpenStore(VectorStore, Protocol):
    """A store that holds something open until it is closed, and can say what it is and how large."""

    def facts(self) -> Mapping[str, Any]:
        """What a reader should know: library and version, exact or approximate, its settings."""
        ...

    def size(self) -> int:
        """Bytes that the index takes."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None: ...


class Store(Protocol):
    """The value that stands for a database: `Memory()`, `PgVector(dsn=…)`, `Chroma(folder=…)`."""

    @property
    def exact(self) -> bool:
        """Whether every vector is looked at."""
        ...

    @property
    def needs_folder(self) -> bool:
        """Whether it keeps files in the run's folder while it is open."""
        ...

    def open(self, name: str, dimensions: int, folder: str) -> OpenStore:
        """An empty collection of that name; `folder` exists where one is needed, and is empty text otherwise."""
        ...
