"""A person's judgements on disk: a log that only grows and is the truth, and qrels that are derived from it.

Every judgement is synced to the log first; then the qrels are written whole beside it and renamed. So the qrels never hold half a
line or two grades of one pair, whenever the process is killed, and at the next start they are derived again.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from threading import Lock

from ..errors import InputError, UsageError, shown
from ..experiment.provenance import now
from ..formats.atomic import write_blocks
from .history import History
from .ledger_names import NEW, checked_path, checked_who, log_path
from .log_file import LogFile
from .record import Pair, Record, beginning, read_log, whole_lines


class Ledger:
    """Judgements by one person at a time, of one collection: that of the first judgement.

    `cut` is how many bytes of half a line the log had; nobody was told that they were saved.
    """

    def __init__(self, path: str, who: str, clock: Callable[[], str] = now) -> None:
        self.path, self.who = checked_path(path), checked_who(who)
        self._lock, self._clock = Lock(), clock
        self._log = LogFile(log_path(self.path))
        try:
            self.fingerprint, self._history = self._replayed()
            self.cut = self._mended()
        except BaseException:
            self._log.close()
            raise
        self._seen = _identity(self.path)

    @property
    def last(self) -> Pair | None:
        """The pair that was judged last."""
        return self._history.last

    def grade(self, pair: Pair) -> int | None:
        """The pair's grade, None where it has none."""
        return self._history.grade(pair)

    def judge(self, pair: Pair, grade: int, fingerprint: str) -> None:
        """Keeps a grade; when this returns it is on disk."""
        with self._lock:
            self.refuse_other(fingerprint)
            self._keep(Record("judged", *pair, grade, self._history.grade(pair), self.who, self._clock()), fingerprint)

    def undo(self, pair: Pair, fingerprint: str) -> None:
        """Takes back the pair's last judgement: it has the grade before, or none."""
        with self._lock:
            self.refuse_other(fingerprint)
            was, before = self._history.grade(pair), self._history.grade_before(pair)
            if was is None:
                raise UsageError("this pair is not judged", fix="judge it first")
            self._keep(Record("undone", *pair, before, was, self.who, self._clock()), fingerprint)

    def refuse_other(self, fingerprint: str) -> None:
        """Refuses another collection than that of the judgements so far: the same ids would mean other texts."""
        if self.fingerprint not in (None, fingerprint):
            what = f"{shown(self.path)} holds judgements of other data (fingerprint {shown(str(self.fingerprint)[:12])})"
            raise UsageError(what, fix="start again with another file for these")

    def close(self) -> None:
        """Waits for what is being written, and lets go of the files."""
        with self._lock:
            self._log.close()

    def _keep(self, record: Record, fingerprint: str) -> None:
        if _identity(self.path) != self._seen:
            raise UsageError(f"{shown(self.path)} was changed by another hand", fix="start again with another file")
        first = beginning(fingerprint) if self.fingerprint is None else b""
        size = self._log.append(first + record.line())
        self._history.add(record)
        try:
            write_blocks(self.path, self._history.judgements())
        except BaseException:
            self._log.shorten(size)
            _, self._history = self._read()
            raise
        self.fingerprint, self._seen = fingerprint, _identity(self.path)

    def _read(self) -> tuple[str | None, History]:
        fingerprint, records = read_log(self._log.content, self._log.path)
        try:
            return fingerprint, History(records)
        except ValueError as error:
            raise InputError(str(error), fix=NEW, source=self._log.path) from None

    def _mended(self) -> int:
        """Takes off half a line at the end of the log, which was read and is ours; gives its length."""
        size, whole = len(self._log.content), whole_lines(self._log.content)
        if whole < size:
            self._log.shorten(whole)
        return size - whole

    def _replayed(self) -> tuple[str | None, History]:
        """What the log says, and qrels that say the same; those that never came from it are not touched."""
        fingerprint, history = self._read()
        wanted = b"".join(history.judgements())
        found = _content(self.path)
        if (found is None and fingerprint is None) or (found == wanted and fingerprint is not None):
            return fingerprint, history
        if found is not None and (fingerprint is None or found != self._one_before()):
            raise UsageError(f"{shown(self.path)} is not what its log {shown(self._log.path)} says", fix=NEW)
        write_blocks(self.path, [wanted])
        return fingerprint, history

    def _one_before(self) -> bytes:
        """The qrels before the last record: what a kill between the two files leaves."""
        _, records = read_log(self._log.content, self._log.path)
        return b"".join(History(records[:-1]).judgements())


def _content(path: str) -> bytes | None:
    try:
        with open(path, "rb") as file:
            return file.read()
    except FileNotFoundError:
        return None


def _identity(path: str) -> tuple[int, int, int] | None:
    with suppress(OSError):
        found = os.stat(path)
        return found.st_ino, found.st_size, found.st_mtime_ns
    return None
