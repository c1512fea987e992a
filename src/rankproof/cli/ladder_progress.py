"""How far a climb is: a bar with rate and time left on a terminal, else a line for each piece of work.

The bar is drawn between pieces of work and never by a thread beside them, which would disturb what is being timed.
"""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import TYPE_CHECKING, Self

from ..errors import visible
from .terminal import Terminal, width_of

if TYPE_CHECKING:
    from rich.progress import Progress as Bar
    from rich.progress import Task
    from rich.text import Text

_HEIGHT = 25
_STEP = 0.1


class LadderProgress:
    """Hears of a piece of work by its label, how much of it is done and how much there is."""

    def __init__(self, terminal: Terminal) -> None:
        self._wanted = not terminal.quiet and sys.stderr is not None
        self._bar = _bar() if self._wanted and sys.stderr.isatty() else None
        self._label: str | None = None
        self._due = 0.0
        self._said: set[str] = set()

    def __enter__(self) -> Self:
        if self._bar is not None:
            self._bar.start()
        return self

    def __call__(self, label: str, done: int, total: int) -> None:
        """Called as the work goes on."""
        if self._bar is not None:
            self._draw(self._bar, visible(label), done, total)
        elif self._wanted and label not in self._said:
            self._said.add(label)
            sys.stderr.write(f"{visible(label)}\n")
            sys.stderr.flush()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._bar is not None:
            self._bar.stop()

    def _draw(self, bar: Bar, label: str, done: int, total: int) -> None:
        if label != self._label:
            for task in bar.task_ids:
                bar.remove_task(task)
            bar.add_task(label, total=total, completed=done)
            self._label, self._due = label, 0.0
        bar.update(bar.task_ids[0], completed=done, total=total)
        if time.monotonic() >= self._due or done == total:
            bar.refresh()
            self._due = time.monotonic() + _STEP


def _bar() -> Bar:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, ProgressColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar
    from rich.text import Text

    class Rate(ProgressColumn):
        """Pieces a second."""

        def render(self, task: Task) -> Text:
            speed = task.finished_speed or task.speed
            return Text("" if speed is None else f"{speed:.1f}/s")

    console = Console(stderr=True, width=width_of(sys.stderr), height=_HEIGHT)
    label = TextColumn("{task.description}", markup=False)
    columns = (label, BarColumn(), MofNCompleteColumn(), Rate(), TimeRemainingColumn())
    return Bar(*columns, console=console, auto_refresh=False, transient=True)
