"""The protocol of executors, and the executor that runs tasks in this process."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Protocol, Self, TypeVar

from rankproof._io.open import Progress as Progress

Item = TypeVar("Item")
Result = TypeVar("Result")
Report = Callable[[int], None]
"""Called by a task with the number of items done since its last call."""


@dataclass(frozen=True, slots=True)
class Resources:
    """What one task needs: CPU cores and GPUs, which may be a fraction."""

    cpus: int = 1
    gpus: float = 0.0


ONE_CORE = Resources()


class Executor(Protocol):
    """Runs tasks; results do not depend on the executor."""

    @property
    def workers(self) -> int:
        """The number of tasks that run at once."""
        ...

    def map(
        self,
        task: Callable[[Item, Report], Result],
        items: Sequence[Item],
        *,
        label: str,
        total: int,
        progress: Progress,
        resources: Resources = ONE_CORE,
    ) -> Iterator[Result]:
        """The result of the task for each item, in their order; the first error of a task ends the others.

        `task` can be pickled: a module-level function, or a frozen dataclass with `__call__`. Progress is shown under the label,
        in what the tasks report, up to `total`.
        """
        ...

    def close(self) -> None:
        """Ends the workers; nothing by default."""
        return None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


class ProgressSum:
    """Adds what all tasks of one call of `map` report, and shows it."""

    def __init__(self, label: str, total: int, progress: Progress) -> None:
        self._label, self._total, self._progress, self._done = label, total, progress, 0
        progress(label, 0, total)

    def add(self, more: int) -> None:
        """Shows the sum, at most the total."""
        self._done = min(self._done + more, self._total)
        self._progress(self._label, self._done, self._total)


@dataclass(frozen=True, slots=True)
class SerialExecutor(Executor):
    """Runs one task after the other in this process."""

    @property
    def workers(self) -> int:
        """One."""
        return 1

    def map(
        self,
        task: Callable[[Item, Report], Result],
        items: Sequence[Item],
        *,
        label: str,
        total: int,
        progress: Progress,
        resources: Resources = ONE_CORE,
    ) -> Iterator[Result]:
        """The results in order; a task runs when its result is asked for."""
        shown = ProgressSum(label, total, progress)
        for item in items:
            yield task(item, shown.add)
