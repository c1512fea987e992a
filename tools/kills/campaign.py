"""Starts one command, kills it at random moments, starts it again until it finishes, and checks what it leaves."""

from __future__ import annotations

import os
import random
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from tools.kills.workload import RecoveryError, Workload

_BY_CLOCK, _WAITING = 0.25, 0.5
"""The share of kills at a random time, and of the others the share that come exactly before a change of a file."""
_DELAY, _LONG_DELAY = 0.01, 0.25
"""The means of the time between a change of a file and the kill: in seconds, and as a share of the time of a start."""
_LONGEST = 300.0
"""Seconds after which a start has failed."""


@dataclass(frozen=True, slots=True)
class Moment:
    """When to kill: `seconds` after the start, or after a number of changes of files, or waiting exactly before one."""

    seconds: float
    changes: int = 0
    waiting: bool = False


@dataclass(slots=True)
class Campaign:
    """Kills of one command, and what they found."""

    workload: Workload
    chance: random.Random
    kills: int = 0
    finished: int = 0
    repeated: int = 0
    findings: list[str] = field(default_factory=list)
    _seconds: float = 0.0
    _changes: int = 0
    _groups: list[int] = field(default_factory=list)

    def prepare(self) -> None:
        """Writes the inputs and runs the command undisturbed."""
        self.workload.prepare()
        self.workload.clear()
        self._start(None)
        self.workload.remember()

    def one_round(self, most: int) -> None:
        """Kills up to `most` times, lets the command finish and checks the result; a finding is recorded."""
        self.workload.clear()
        before = self.kills
        try:
            for _ in range(self.chance.randint(1, most)):
                if self._start(self._moment()):
                    break
                self.workload.check_killed()
            else:
                self._start(None)
            self.workload.check_finished()
            self._count_repeated(self.kills - before)
            self.finished += 1
            self.workload.check_nothing_left()
        except RecoveryError as found:
            self.findings.append(f"{found} (kept in {self.workload.keep(len(self.findings) + 1)})")
        finally:
            self._end_workers()

    def summary(self) -> str:
        """The row of this command."""
        allowed = self.kills * self.workload.concurrency
        calls = f", {self.repeated} calls repeated of {allowed} allowed" if allowed else ""
        kinds = f"{self.kills} kills, {self.finished} finished, {len(self.findings)} findings"
        return f"{self.workload.name}: {kinds}{calls} ({self._seconds:.1f} s and {self._changes} changes of files undisturbed)"

    def _count_repeated(self, kills: int) -> None:
        again, allowed = self.workload.repeated(), kills * self.workload.concurrency
        self.repeated += again
        if again > allowed:
            raise RecoveryError(f"{again} calls were repeated after {kills} kills, {allowed} could be in progress")

    def _moment(self) -> Moment:
        if self.chance.random() < _BY_CLOCK or not self._changes:
            return Moment(self.chance.uniform(0, self._seconds))
        change = self.chance.randint(1, self._changes)
        if self.chance.random() < _WAITING:
            return Moment(0.0, change, waiting=True)
        delay = self.chance.choice((_DELAY, _LONG_DELAY * self._seconds))
        return Moment(self.chance.expovariate(1 / delay), change)

    def _start(self, moment: Moment | None) -> bool:
        """Runs the command until the moment; true if it ended by itself before."""
        began = time.monotonic()
        with self._process(moment) as (process, pipe), self.workload.user(process):
            if moment is not None and not self._is_over(process, pipe, moment):
                self._kill(process)
                self.kills += 1
                return False
            changes = self._wait(process, pipe)
        self.workload.check_user()
        self._check_ended(process)
        self._seconds = time.monotonic() - began
        self._changes = self._changes or changes
        return True

    @contextmanager
    def _process(self, moment: Moment | None) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
        reading, writing = os.pipe()
        stop = moment.changes if moment is not None and moment.waiting else 0
        watched = [str(writing), str(self.workload.work), str(stop)]
        command = [sys.executable, "-m", "tools.kills.watched", *watched, *self.workload.arguments()]
        with open(self.workload.folder / "stdout", "wb") as out, open(self.workload.folder / "stderr", "wb") as errors:
            process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE if self.workload.talks else subprocess.DEVNULL,
                stdout=out,
                stderr=errors,
                pass_fds=[writing],
                process_group=0,
                env=self.workload.environment(),
            )
        os.close(writing)
        try:
            yield process, reading
        finally:
            self._groups.append(process.pid)
            process.kill()
            process.wait()
            os.close(reading)

    def _is_over(self, process: subprocess.Popen[bytes], pipe: int, moment: Moment) -> bool:
        """Waits for the moment; true if the command ended before it."""
        seen, ends = 0, time.monotonic() + _LONGEST
        while seen < moment.changes and time.monotonic() < ends:
            if process.poll() is not None:
                return True
            seen += _read(pipe, moment.changes - seen)
        try:
            process.wait(moment.seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    def _kill(self, process: subprocess.Popen[bytes]) -> None:
        """Kills the command, alone or with its worker processes."""
        if self.chance.random() < _WAITING:
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
        process.wait()

    def _end_workers(self) -> None:
        """Ends worker processes that are still there after their command was killed."""
        while self._groups:
            with suppress(ProcessLookupError):
                os.killpg(self._groups.pop(), signal.SIGKILL)

    def _wait(self, process: subprocess.Popen[bytes], pipe: int) -> int:
        """Waits for the end; the number of changes."""
        seen, ends = 0, time.monotonic() + _LONGEST
        while process.poll() is None:
            if time.monotonic() > ends:
                raise RecoveryError(f"a start did not end in {_LONGEST:.0f} s")
            seen += _read(pipe, 1 << 16)
        return seen + _read(pipe, 1 << 16)

    def _check_ended(self, process: subprocess.Popen[bytes]) -> None:
        if process.returncode != 0:
            text = (self.workload.folder / "stderr").read_text(encoding="utf-8", errors="replace").strip()
            raise RecoveryError(f"a start failed with exit code {process.returncode}: {text[-500:]}")


def _read(pipe: int, most: int) -> int:
    """The number of bytes that arrive within a moment."""
    ready, _, _ = select.select([pipe], [], [], 0.02)
    return len(os.read(pipe, most)) if ready else 0
