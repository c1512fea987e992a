"""A bar on standard error while long files are read."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Self

from .terminal import Terminal, width_of

if TYPE_CHECKING:
    from rich.progress import Progress as Bar

_PATIENCE = 0.5
_STEP = 0.1
_HEIGHT = 25


class Progress:
    """Hears how many bytes of how many were read; shows a bar once reading has taken half a second, and only to a terminal."""

    def __init__(self, terminal: Terminal, clock: Callable[[], float] = time.monotonic) -> None:
        self._wanted = not terminal.quiet and sys.stderr is not None and sys.stderr.isatty()
        self._clock = clock
        self._due = clock() + _PATIENCE
        self._bar: Bar | None = None

    def __enter__(self) -> Self:
        return self

    def __call__(self, read: int, total: int | None) -> None:
        """Called after every block."""
        now = self._clock()
        if not self._wanted or now < self._due:
            return
        self._due = now + _STEP
        self._show(read, total)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._bar is not None:
            self._bar.stop()

    def _show(self, read: int, total: int | None) -> None:
        if self._bar is None:
            self._bar = _started_bar()
        self._bar.update(self._bar.task_ids[0], completed=read, total=total)
        self._bar.refresh()


def _started_bar() -> Bar:
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    console = Console(stderr=True, width=width_of(sys.stderr), height=_HEIGHT)
    columns = (TextColumn("reading"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    bar = Bar(*columns, console=console, auto_refresh=False, transient=True)
    bar.add_task("", total=None)
    bar.start()
    return bar
