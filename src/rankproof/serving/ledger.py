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
from .log_file import LogFile
from .record import Pair, Record, beginning, read_log

NEW = "name a new file, or one that `rankproof serve` wrote"
LONGEST_WHO = 64


class Ledger:
    """Judgements by one person at a time, of one collection: that of the first judgement."""

    def __init__(self, path: str, who: str, clock: Callable[[], str] = now) -> None:
        self.path, self.who = _checked(path), checked_who(who)
        self._lock, self._clock = Lock(), clock
        self._log = LogFile(log_path(self.path))
        try:
            self.fingerprint, self._history = self._replayed()
        except BaseException:
            self._log.close()
            raise
        self._seen = _identity(self.path)

    @property
    def cut(self) -> int:
        """How many bytes of a half-written line the log had; nobody was told that it was saved."""
        return self._log.cut

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

    def undo(self, pair: Pair, fingerprint: str) -> int | None:
        """Takes back the pair's last judgement; gives the grade that it has then."""
        with self._lock:
            self.refuse_other(fingerprint)
            was, before = self._history.grade(pair), self._history.grade_before(pair)
            if was is None:
                raise UsageError("this pair is not judged", fix="judge it first")
            self._keep(Record("undone", *pair, before, was, self.who, self._clock()), fingerprint)
            return before

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
        content = self._log.content
        if not content:
            return None, History()
        fingerprint, records = read_log(content, self._log.path)
        return fingerprint, self._history_of(records)

    def _history_of(self, records: list[Record]) -> History:
        try:
            return History(records)
        except ValueError as error:
            raise InputError(str(error), fix=NEW, source=self._log.path) from None

    def _replayed(self) -> tuple[str | None, History]:
        """What the log says, and qrels that say the same; those that never came from it are not touched."""
        fingerprint, history = self._read()
        wanted = b"".join(history.judgements())
        found = _content(self.path)
        if found is None and fingerprint is None or found == wanted and fingerprint is not None:
            return fingerprint, history
        if found is not None and (fingerprint is None or found != self._one_before()):
            raise UsageError(f"{shown(self.path)} is not what its log {shown(self._log.path)} says", fix=NEW)
        write_blocks(self.path, [wanted])
        return fingerprint, history

    def _one_before(self) -> bytes:
        """The qrels before the last record: what a kill between the two files leaves."""
        _, records = read_log(self._log.content, self._log.path)
        return b"".join(History(records[:-1]).judgements())


def log_path(path: str) -> str:
    """Where the log of that file of judgements lies."""
    return f"{path}.log.jsonl"


def checked_who(name: str) -> str:
    """The name as one word, for the second column of qrels."""
    plain = "".join(char if char.isprintable() and not char.isspace() else "_" for char in name.strip())
    if not plain or len(plain) > LONGEST_WHO:
        raise UsageError(f"--who is a name of 1 to {LONGEST_WHO} characters", fix="name the person who judges")
    return plain


def _checked(path: str) -> str:
    """The file's real path, refused where it cannot be ours."""
    if not path or path == "-" or "\0" in path:
        raise UsageError("--judge names no file", fix="name the file for the judgements, as my.qrels")
    if path.lower().endswith((".gz", ".zst")):
        raise UsageError(f"{shown(path)} would be compressed", fix="name a plain file, as my.qrels")
    real = os.path.realpath(path)
    if not os.path.isdir(os.path.dirname(real)):
        raise UsageError(f"{shown(path)} lies in a folder that does not exist", fix="make the folder, or name another file")
    if os.path.lexists(real) and not os.path.lexists(log_path(real)):
        raise UsageError(f"{shown(path)} is there and has no log: it is not changed", fix=NEW)
    return real


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
