"""Progress bars of reading, running and training."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Self

from rankproof._cli.terminal import Terminal, stream_width
from rankproof.errors import escape_invisible

if TYPE_CHECKING:
    from rich.progress import Progress as Bar
    from rich.progress import Task
    from rich.text import Text


_DELAY_SECONDS = 0.5
_READ_REFRESH_SECONDS = 0.1
_READ_BAR_HEIGHT = 25


class ReadProgress:
    """Shows a bar of the bytes read after half a second, on terminals only."""

    def __init__(self, terminal: Terminal, clock: Callable[[], float] = time.monotonic) -> None:
        self._wanted = not terminal.quiet and sys.stderr is not None and sys.stderr.isatty()
        self._clock = clock
        self._due = clock() + _DELAY_SECONDS
        self._bar: Bar | None = None

    def __enter__(self) -> Self:
        return self

    def __call__(self, read: int, total: int | None) -> None:
        """Updates the bar; called after every block."""
        now = self._clock()
        if not self._wanted or now < self._due:
            return
        self._due = now + _READ_REFRESH_SECONDS
        self._show(read, total)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._bar is not None:
            self._bar.stop()

    def _show(self, read: int, total: int | None) -> None:
        if self._bar is None:
            self._bar = _read_bar()
        self._bar.update(self._bar.task_ids[0], completed=read, total=total)
        self._bar.refresh()


def _read_bar() -> Bar:
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    console = Console(stderr=True, width=stream_width(sys.stderr), height=_READ_BAR_HEIGHT)
    columns = (TextColumn("reading"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    bar = Bar(*columns, console=console, auto_refresh=False, transient=True)
    bar.add_task("", total=None)
    bar.start()
    return bar


_RUN_BAR_HEIGHT = 25
_RUN_REFRESH_SECONDS = 0.1


class RunProgress:
    """Shows the current task with its count done and its total."""

    def __init__(self, terminal: Terminal) -> None:
        self._wanted = not terminal.quiet and sys.stderr is not None
        self._drawn = self._wanted and sys.stderr.isatty()
        self._bar: Bar | None = None
        self._label: str | None = None
        self._due = 0.0
        self._shown: set[str] = set()

    def __enter__(self) -> Self:
        return self

    def __call__(self, label: str, done: int, total: int) -> None:
        """Updates the task; called as it proceeds."""
        if self._drawn:
            self._bar = self._bar or _started_run_bar()
            self._draw(self._bar, escape_invisible(label), done, total)
        elif self._wanted and label not in self._shown:
            self._shown.add(label)
            sys.stderr.write(f"{escape_invisible(label)}\n")
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
            self._due = time.monotonic() + _RUN_REFRESH_SECONDS


def _started_run_bar() -> Bar:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, ProgressColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar
    from rich.text import Text

    class Rate(ProgressColumn):
        """Items per second."""

        def render(self, task: Task) -> Text:
            speed = task.finished_speed or task.speed
            return Text("" if speed is None else f"{speed:.1f}/s")

    console = Console(stderr=True, width=stream_width(sys.stderr), height=_RUN_BAR_HEIGHT)
    label = TextColumn("{task.description}", markup=False)
    columns = (label, BarColumn(), MofNCompleteColumn(), Rate(), TimeRemainingColumn())
    bar = Bar(*columns, console=console, auto_refresh=False, transient=True)
    bar.start()
    return bar


_TERMINAL_SECONDS, _LOG_SECONDS = 0.2, 10.0


class TrainingProgress:
    """Shows the step, the number of steps, the loss and the examples per second of a training."""

    def __init__(self, terminal: Terminal, name: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._wanted = not terminal.quiet and sys.stderr is not None
        self._tty = self._wanted and sys.stderr.isatty()
        self._name, self._clock, self._due = name, clock, clock()

    def __call__(self, step: int, steps: int, loss: float, rate: float) -> None:
        """Updates the line; the last step is always shown."""
        now = self._clock()
        if not self._wanted or (now < self._due and step < steps):
            return
        self._due = now + (_TERMINAL_SECONDS if self._tty else _LOG_SECONDS)
        line = f"{self._name}: step {step:,} of {steps:,}, loss {loss:.3f}, {rate:,.0f} examples/s"
        over = f"\r\x1b[K{line[: stream_width(sys.stderr) - 1]}{chr(10) if step == steps else ''}"
        sys.stderr.write(over if self._tty else f"{line}\n")
        sys.stderr.flush()
