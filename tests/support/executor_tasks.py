"""Tasks that workers of executors run in tests."""

from __future__ import annotations

import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rankproof._executors.base import Report
from rankproof.errors import InputError


def squared(item: int, report: Report) -> tuple[int, int]:
    """The square and the process that computed it; later items end earlier."""
    time.sleep(0.02 * max(0, 3 - item))
    report(1)
    return item * item, os.getpid()


def slow_square(item: int, report: Report) -> tuple[int, int]:
    """The square and the process that computed it, after one second; reports two items."""
    report(1)
    time.sleep(1)
    report(1)
    return item * item, os.getpid()


def report_and_wait(item: str, report: Report) -> bool:
    """Reports one item, waits for the file that whoever sees the report makes, and reports another; False after a minute."""
    report(1)
    for _ in range(1200):
        if os.path.exists(item):
            break
        time.sleep(0.05)
    report(1)
    return os.path.exists(item)


def blas_threads(item: int, report: Report) -> list[int]:
    """The threads of each BLAS library of the process."""
    import numpy as np
    from threadpoolctl import threadpool_info

    np.ones((2, 2)) @ np.ones((2, 2))
    return [one["num_threads"] for one in threadpool_info()]


def wrong_input(item: int, report: Report) -> int:
    if item == 1:
        raise InputError("what", fix="correct it", source="file", line=7)
    time.sleep(600)
    return item


def bug(item: int, report: Report) -> int:
    raise ZeroDivisionError("a bug")


def killed(item: int, report: Report) -> int:
    os.kill(os.getpid(), signal.SIGKILL)
    return item


@dataclass(frozen=True)
class WaitForever:
    """Writes its process id into a file of the folder and waits; an ended wait leaves another file."""

    folder: Path

    def __call__(self, item: int, report: Report) -> Any:
        (self.folder / f"{os.getpid()}.started").touch()
        try:
            time.sleep(600)
        finally:
            (self.folder / f"{os.getpid()}.cleaned").touch()


@dataclass(frozen=True)
class KilledAtFirst:
    """Doubles the item; the worker of item 1 is killed as often as said."""

    folder: Path
    times: int

    def __call__(self, item: int, report: Report) -> int:
        report(1)
        attempts = len(list(self.folder.iterdir()))
        if item == 1 and attempts < self.times:
            (self.folder / str(attempts)).touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return 2 * item
