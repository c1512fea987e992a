"""The append-only log of human judgements, and the qrels file written from it."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from threading import Lock
from typing import Any, Literal

from rankproof._data import format_versions
from rankproof._data.qrels import HUMAN_PREFIX, Judgement, Qrels
from rankproof._io import strict_json
from rankproof._io.files import try_lock, write_blocks
from rankproof._io.strict_json import JsonObject
from rankproof._results.provenance import utc_now
from rankproof.errors import ExternalError, InputError, UsageError, escape_invisible, for_message

QueryAndDoc = tuple[str, str]
"""The ids of a query and a document."""
LogAction = Literal["judged", "undone"]

FORMAT = "rankproof-judgements"
_LOG_HEADER = f'{{"format": "{FORMAT}", '.encode()


@dataclass(frozen=True, slots=True)
class LoggedJudgement:
    """A judgement or an undo; `grade` and `previous` are None if the pair has no grade after or before it."""

    what: LogAction
    query: str
    doc: str
    grade: int | None
    previous: int | None
    assessor: str
    when: str

    @property
    def pair(self) -> QueryAndDoc:
        """The ids of the query and the document."""
        return self.query, self.doc

    def line(self) -> bytes:
        """The line of the log."""
        return _json_line({name: getattr(self, name) for name in self.__slots__})

    def judgement(self) -> bytes:
        """The line of TREC qrels, with assessor and time in the second column."""
        return f"{self.query} {HUMAN_PREFIX}{self.assessor}@{self.when} {self.doc} {self.grade}\n".encode()


def header_line(fingerprint: str) -> bytes:
    """The first line of the log: format, schema and fingerprint of the dataset."""
    return _json_line({"format": FORMAT, "schema": format_versions.JUDGEMENT_LOG, "fingerprint": fingerprint})


def complete_lines_size(content: bytes) -> int:
    """The size of the complete lines in bytes."""
    return content.rfind(b"\n") + 1


def read_log(content: bytes, source: str) -> tuple[str | None, list[LoggedJudgement]]:
    """The fingerprint, None without a complete line, and the judgements; raises an error if this is not a judgement log.

    An incomplete last line is skipped: its judgement was never confirmed.
    """
    if not content.startswith(_LOG_HEADER[: len(content)]):
        raise InputError("this is not a judgement log", fix="choose a new file", source=source, line=1)
    lines = list(_parse_lines(content, source))
    if not lines:
        return None, []
    first = lines[0]
    if first.plain.get("format") != FORMAT or first.plain.get("schema") != format_versions.JUDGEMENT_LOG:
        raise first.error("this judgement log has an unknown format", "choose a new file")
    return first.text("fingerprint"), list(map(_parse_judgement, lines[1:]))


def _parse_lines(content: bytes, source: str) -> Iterator[JsonObject]:
    for line, each in enumerate(content.split(b"\n")[:-1], start=1):
        if not each.isascii():
            raise InputError("this line is not ASCII", fix="choose a new file", source=source, line=line)
        yield JsonObject(strict_json.parse_strict_json(each.decode(), source=source, line=line), source, line=line)


def _parse_judgement(values: JsonObject) -> LoggedJudgement:
    what: LogAction = values.choice("what", ("judged", "undone"))  # type: ignore[assignment]
    grade, previous = (None if values.plain.get(key) is None else values.count(key) for key in ("grade", "previous"))
    return LoggedJudgement(
        what, values.text("query"), values.text("doc"), grade, previous, values.text("assessor"), values.text("when")
    )


def _json_line(value: dict[str, Any]) -> bytes:
    return json.dumps(value, ensure_ascii=True, allow_nan=False).encode() + b"\n"


class History:
    """The judgements in order; an undo restores the previous grade of the pair, or none."""

    def __init__(self, records: Iterable[LoggedJudgement] = ()) -> None:
        self._judgements: dict[QueryAndDoc, list[LoggedJudgement]] = {}
        self._order: list[QueryAndDoc] = []
        for record in records:
            self.add(record)

    def add(self, record: LoggedJudgement) -> None:
        """Adds a record; an undo without a judgement raises ValueError."""
        if record.what == "judged":
            self._judgements.setdefault(record.pair, []).append(record)
            self._order.append(record.pair)
            return
        if record.pair not in self._order:
            raise ValueError("the log undoes a judgement that does not exist")
        self._judgements[record.pair].pop()
        del self._order[len(self._order) - 1 - self._order[::-1].index(record.pair)]

    def grade(self, pair: QueryAndDoc) -> int | None:
        """The grade of the pair, None if it has none."""
        made = self._judgements.get(pair)
        return made[-1].grade if made else None

    def grade_before(self, pair: QueryAndDoc) -> int | None:
        """The grade of the pair after an undo."""
        made = self._judgements.get(pair, [])
        return made[-2].grade if len(made) > 1 else None

    @property
    def last(self) -> QueryAndDoc | None:
        """The pair judged last."""
        return self._order[-1] if self._order else None

    def last_of_each(self) -> Iterator[LoggedJudgement]:
        """The judgement that counts of each judged pair, in the order of their first judgement."""
        return (made[-1] for made in self._judgements.values() if made)

    def judgements(self) -> Iterator[bytes]:
        """The qrels lines of the judged pairs."""
        return (record.judgement() for record in self.last_of_each())


NEW_FILE_FIX = "choose a new file, or one that `rankproof serve` wrote"
MAX_ASSESSOR_LENGTH = 64


def log_path(path: str) -> str:
    """The path of the log of a qrels file."""
    return f"{path}.log.jsonl"


def check_assessor(name: str) -> str:
    """The name as one word for the second column of qrels."""
    plain = "".join(char if char.isprintable() and not char.isspace() else "_" for char in name.strip())
    if not plain or len(plain) > MAX_ASSESSOR_LENGTH:
        raise UsageError(f"--assessor must have 1 to {MAX_ASSESSOR_LENGTH} characters", fix="pass the name of the assessor")
    return plain


def check_judgements_path(path: str) -> str:
    """The resolved path; raises an error if judgements cannot be written there."""
    if not path or path == "-" or "\0" in path:
        raise UsageError("--judge needs a file", fix="pass a file for the judgements, such as my.qrels")
    if path.lower().endswith((".gz", ".zst")):
        raise UsageError(f"{for_message(path)} is a compressed file", fix="choose an uncompressed file, such as my.qrels")
    real = os.path.realpath(path)
    if not os.path.isdir(os.path.dirname(real)):
        raise UsageError(
            f"{for_message(path)} is in a folder that does not exist", fix="create the folder, or choose another file"
        )
    if os.path.lexists(real) and not os.path.lexists(log_path(real)):
        raise UsageError(f"{for_message(path)} exists without a judgement log and is not changed", fix=NEW_FILE_FIX)
    return real


_FLAGS = os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0)
"""Binary mode on Windows; elsewhere opening a named pipe does not block."""


class LogFile:
    """The log file, locked until it is closed."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._handle = _open_locked(path)
        try:
            if not try_lock(self._handle):
                what = f"{for_message(path)} is in use by another rankproof serve"
                raise UsageError(what, fix="stop the other server, or choose another file")
        except BaseException:
            os.close(self._handle)
            raise

    @property
    def content(self) -> bytes:
        """The content of the file."""
        with open(self.path, "rb") as file:
            return file.read()

    def append(self, lines: bytes) -> int:
        """Appends and syncs the lines atomically; returns the previous size, for `truncate`."""
        size = self._checked_size()
        try:
            written = os.write(self._handle, lines)
            if written < len(lines):
                raise OSError("the line was written only in part")
            os.fsync(self._handle)
        except OSError as error:
            self.truncate(size)
            raise ExternalError(
                escape_invisible(f"{self.path}: cannot be written ({error.strerror or error}); check the disk")
            ) from None
        return size

    def truncate(self, size: int) -> None:
        """Truncates the file to the size."""
        os.ftruncate(self._handle, size)
        os.fsync(self._handle)

    def close(self) -> None:
        """Closes the file; removes it if it is empty."""
        with suppress(OSError):
            if not os.fstat(self._handle).st_size and self._exists():
                os.unlink(self.path)
        os.close(self._handle)

    def _checked_size(self) -> int:
        if not self._exists():
            raise ExternalError(escape_invisible(f"{self.path} was moved or removed; restore it, or restart with another file"))
        return os.fstat(self._handle).st_size

    def _exists(self) -> bool:
        try:
            return os.path.samestat(os.stat(self.path), os.fstat(self._handle))
        except OSError:
            return False


def _open_locked(path: str) -> int:
    try:
        handle = os.open(path, _FLAGS, 0o666)
    except OSError as error:
        raise UsageError(f"{path} cannot be opened ({error.strerror})", fix="choose a file that you can write") from None
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise UsageError(f"{path} is not a regular file", fix="choose a new file")
    return handle


class JudgementLog:
    """Judgements of one dataset by one assessor at a time.

    `cut` is the number of bytes of an incomplete last line that were removed; that judgement was never confirmed.
    """

    def __init__(self, path: str, assessor: str, clock: Callable[[], str] = utc_now) -> None:
        self.path, self.assessor = check_judgements_path(path), check_assessor(assessor)
        self._lock, self._clock = Lock(), clock
        self._log = LogFile(log_path(self.path))
        try:
            self.fingerprint, self._history = self._replay()
            self.cut = self._drop_partial_line()
        except BaseException:
            self._log.close()
            raise
        self._identity = _file_identity(self.path)

    @property
    def last(self) -> QueryAndDoc | None:
        """The pair judged last."""
        return self._history.last

    def grade(self, pair: QueryAndDoc) -> int | None:
        """The grade of the pair, None if it has none."""
        return self._history.grade(pair)

    def judgements(self) -> tuple[Qrels, dict[QueryAndDoc, str]]:
        """The grades so far, and who gave them."""
        with self._lock:
            last = list(self._history.last_of_each())
        rows = (Judgement(one.query, one.doc, one.grade) for one in last if one.grade is not None)
        return Qrels(rows, source=os.path.basename(self.path)), {one.pair: one.assessor for one in last}

    def judge(self, pair: QueryAndDoc, grade: int, fingerprint: str) -> None:
        """Saves a grade; it is on disk when this returns."""
        with self._lock:
            self.check_collection(fingerprint)
            self._append(
                LoggedJudgement("judged", *pair, grade, self._history.grade(pair), self.assessor, self._clock()), fingerprint
            )

    def undo(self, pair: QueryAndDoc, fingerprint: str) -> None:
        """Removes the last judgement of the pair, which restores its previous grade or none."""
        with self._lock:
            self.check_collection(fingerprint)
            grade, previous = self._history.grade(pair), self._history.grade_before(pair)
            if grade is None:
                raise UsageError("this pair has no judgement", fix="judge it first")
            self._append(LoggedJudgement("undone", *pair, previous, grade, self.assessor, self._clock()), fingerprint)

    def check_collection(self, fingerprint: str) -> None:
        """Raises an error if the judgements are of another dataset: equal ids would mean other texts."""
        if self.fingerprint not in (None, fingerprint):
            shown = for_message(str(self.fingerprint)[:12])
            what = f"{for_message(self.path)} has judgements of another dataset (fingerprint {shown})"
            raise UsageError(what, fix="restart with another file")

    def close(self) -> None:
        """Waits for a running write and closes the files."""
        with self._lock:
            self._log.close()

    def _append(self, record: LoggedJudgement, fingerprint: str) -> None:
        if _file_identity(self.path) != self._identity:
            raise UsageError(f"{for_message(self.path)} was changed by another program", fix="restart with another file")
        first = header_line(fingerprint) if self.fingerprint is None else b""
        size = self._log.append(first + record.line())
        self._history.add(record)
        try:
            write_blocks(self.path, self._history.judgements())
        except BaseException:
            self._log.truncate(size)
            _, self._history = self._read()
            raise
        self.fingerprint, self._identity = fingerprint, _file_identity(self.path)

    def _read(self) -> tuple[str | None, History]:
        fingerprint, records = read_log(self._log.content, self._log.path)
        try:
            return fingerprint, History(records)
        except ValueError as error:
            raise InputError(str(error), fix=NEW_FILE_FIX, source=self._log.path) from None

    def _drop_partial_line(self) -> int:
        """Removes an incomplete last line of the log; returns its length."""
        size, complete = len(self._log.content), complete_lines_size(self._log.content)
        if complete < size:
            self._log.truncate(complete)
        return size - complete

    def _replay(self) -> tuple[str | None, History]:
        """Reads the log and updates the qrels to match it; raises an error if they were not written from it."""
        fingerprint, history = self._read()
        wanted = b"".join(history.judgements())
        found = _read_bytes(self.path)
        if (found is None and fingerprint is None) or (found == wanted and fingerprint is not None):
            return fingerprint, history
        if found is not None and (fingerprint is None or found != self._qrels_before_last()):
            raise UsageError(f"{for_message(self.path)} does not match its log {for_message(self._log.path)}", fix=NEW_FILE_FIX)
        write_blocks(self.path, [wanted])
        return fingerprint, history

    def _qrels_before_last(self) -> bytes:
        """The qrels before the last record, as left by a kill between the two writes."""
        _, records = read_log(self._log.content, self._log.path)
        return b"".join(History(records[:-1]).judgements())


def _read_bytes(path: str) -> bytes | None:
    try:
        with open(path, "rb") as file:
            return file.read()
    except FileNotFoundError:
        return None


def _file_identity(path: str) -> tuple[int, int, int] | None:
    with suppress(OSError):
        found = os.stat(path)
        return found.st_ino, found.st_size, found.st_mtime_ns
    return None
