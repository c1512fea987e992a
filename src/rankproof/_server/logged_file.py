"""A file that is rewritten from its append-only log after each change, so that no confirmed change is lost."""

from __future__ import annotations

import hashlib
import json
import os
import stat
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from threading import Lock
from typing import Any, Generic, TypeVar

from rankproof._io import strict_json
from rankproof._io.escape import escape_json
from rankproof._io.files import log_path, open_plain_file, write_blocks
from rankproof._io.paths import try_lock
from rankproof._io.strict_json import JsonObject, plain_record
from rankproof._results.label_tasks import DRAW_KEY, RESTART_FIX, LabelDraw, read_label_draw
from rankproof.errors import ExternalError, InputError, UsageError, escape_invisible, for_message

MAX_ASSESSOR_LENGTH = 64


class LogRecord(ABC):
    """A change or an undo of what is known about its key; its fields are the keys of a line of the log."""

    __slots__: tuple[str, ...] = ()
    what: str

    @property
    @abstractmethod
    def key(self) -> Hashable:
        """What the record is about."""

    @property
    def is_undo(self) -> bool:
        """Whether it takes a change back."""
        return self.what == "undone"

    def line(self) -> bytes:
        """The line of the log."""
        return log_line({name: getattr(self, name) for name in self.__slots__})

    @abstractmethod
    def written(self) -> bytes:
        """The lines of the file that is written from the log."""


R = TypeVar("R", bound=LogRecord)


@dataclass(frozen=True, slots=True)
class LogFormat(Generic[R]):
    """A kind of log: its name and version, the dataclass of its records, what one is called, and whose records it has.

    `option` is the command-line option that chooses the file, `example` a name for it. `older` are the versions that can be
    continued too. `read_file` reads the records of a file that people may edit: what it has then replaces the log.
    """

    name: str
    schema: int
    kind: type[R]
    record: str
    others: str
    option: str
    example: str
    older: tuple[int, ...] = ()
    read_file: Callable[[bytes, str], Iterable[R]] | None = None

    @property
    def new_file_fix(self) -> str:
        """What to do about a file that is not used."""
        return f"choose a new file with {self.option}, or one that `rankproof serve` wrote"

    @property
    def restart_fix(self) -> str:
        """What to do about a file that cannot be continued."""
        if self.read_file is not None:
            return "restart `rankproof serve`, which reads the file again"
        return f"restart with another file: {self.option} FILE"

    def header_line(self, fingerprint: str, draw: LabelDraw | None) -> bytes:
        """The first line of the log: format, schema, fingerprint, and the draw of questions, if there is one."""
        drawn = {} if draw is None else {DRAW_KEY: plain_record(draw)}
        return log_line({"format": self.name, "schema": self.schema, "fingerprint": fingerprint, **drawn})

    def check_path(self, path: str) -> str:
        """The resolved path; raises an error if a file with a log cannot be written there."""
        if not path or path == "-" or "\0" in path:
            raise UsageError(f"{self.option} needs a file", fix=f"pass a file for the {self.record}s, such as {self.example}")
        if path.lower().endswith((".gz", ".zst")):
            what = f"{for_message(path)} is a compressed file"
            raise UsageError(what, fix=f"choose an uncompressed file, such as {self.example}")
        real = os.path.realpath(path)
        if not os.path.isdir(os.path.dirname(real)):
            what = f"{for_message(path)} is in a folder that does not exist"
            raise UsageError(what, fix="create the folder, or choose another file")
        if os.path.lexists(real) and not os.path.lexists(log_path(real)) and self.read_file is None:
            what = f"{for_message(path)} exists without a {self.record} log and is not changed"
            raise UsageError(what, fix=self.new_file_fix)
        return real

    def read(self, content: bytes, source: str) -> tuple[str | None, list[R]]:
        """The fingerprint, None without a complete line, and the records; raises an error if this is another kind of file.

        An incomplete last line is skipped: its record was never confirmed.
        """
        start = f'{{"format": "{self.name}", '.encode()
        if not content.startswith(start[: len(content)]):
            raise InputError(f"this is not a {self.record} log", fix=self.new_file_fix, source=source, line=1)
        lines = list(_parse_lines(content, source))
        if not lines:
            return None, []
        first = lines[0]
        if first.plain.get("format") != self.name or first.plain.get("schema") not in (self.schema, *self.older):
            raise first.error(f"this {self.record} log has an unknown format", self.new_file_fix)
        return first.member("fingerprint", str), [line.read(self.kind) for line in lines[1:]]

    def make_history(self, records: Iterable[R]) -> History[R]:
        """The history of the records; an undo of no record raises ValueError."""
        return History(records)

    def history(self, records: Iterable[R], source: str) -> History[R]:
        """The history of the records; raises an error if one undoes a record that does not exist."""
        try:
            return self.make_history(records)
        except ValueError:
            what = f"the log undoes a {self.record} that does not exist"
            raise InputError(what, fix=self.new_file_fix, source=source) from None


def log_line(value: dict[str, Any]) -> bytes:
    """The object as a line of a log, in ASCII."""
    return json.dumps(value, ensure_ascii=True, allow_nan=False).encode() + b"\n"


def visible_line(value: dict[str, Any]) -> bytes:
    """The object as a line of a file that people read, with invisible characters escaped."""
    return escape_json(json.dumps(value, ensure_ascii=False, allow_nan=False)).encode() + b"\n"


def check_assessor(name: str) -> str:
    """The name as one printable word."""
    plain = "".join(char if char.isprintable() and not char.isspace() else "_" for char in name.strip())
    if not plain:
        raise UsageError("a name of --assessor is empty", fix="pass the name of a person, or several with commas: ann,bob")
    if len(plain) > MAX_ASSESSOR_LENGTH:
        what = f"a name of --assessor has {len(plain):,} characters"
        raise UsageError(what, fix=f"shorten it to {MAX_ASSESSOR_LENGTH}")
    return plain


def check_assessors(names: Iterable[str]) -> tuple[str, ...]:
    """Each name as one printable word, once; an error if two differ only in case or white space, as of one person."""
    first_spellings: dict[str, str] = {}
    for name in map(str.strip, names):
        if first_spellings.setdefault(check_assessor(name).casefold(), name) != name:
            other = for_message(first_spellings[check_assessor(name).casefold()])
            what = f"--assessor has {other} and {for_message(name)}, which are too alike for two people"
            raise UsageError(what, fix="pass one of them, or names that differ in their letters")
    return tuple(map(check_assessor, first_spellings.values()))


def _parse_lines(content: bytes, source: str) -> Iterator[JsonObject]:
    for line, raw in enumerate(content.split(b"\n")[:-1], start=1):
        if not raw.isascii():
            raise InputError("this line is not ASCII", fix="restore the file that serve wrote", source=source, line=line)
        yield JsonObject(strict_json.parse_strict_json(raw.decode(), source=source, line=line), source, line=line)


class History(Generic[R]):
    """The records in order; an undo restores the previous record of the key, or none."""

    def __init__(self, records: Iterable[R] = ()) -> None:
        self._records: dict[Hashable, list[R]] = {}
        self._order: list[Hashable] = []
        for record in records:
            self.add(record)

    def add(self, record: R) -> None:
        """Adds a record; an undo without a record raises ValueError."""
        if not record.is_undo:
            self._records.setdefault(record.key, []).append(record)
            self._order.append(record.key)
            return
        if record.key not in self._order:
            raise ValueError(record.key)
        self._records[record.key].pop()
        del self._order[len(self._order) - 1 - self._order[::-1].index(record.key)]

    def of(self, key: Hashable) -> R | None:
        """The record of the key that counts, None if it has none."""
        made = self._records.get(key)
        return made[-1] if made else None

    def before(self, key: Hashable) -> R | None:
        """The record of the key after an undo."""
        made = self._records.get(key, [])
        return made[-2] if len(made) > 1 else None

    def newest_first(self) -> Iterator[R]:
        """The records that count, those of the keys that were changed last first; a key may occur more than once."""
        return (self._records[key][-1] for key in reversed(self._order))

    def last_where(self, holds: Callable[[R], bool]) -> R | None:
        """The newest record that counts and for which this holds."""
        return next((record for record in self.newest_first() if holds(record)), None)

    def last_of_each(self) -> Iterator[R]:
        """The record that counts of each key, in the order of their first record."""
        return (made[-1] for made in self._records.values() if made)

    def written(self) -> Iterator[bytes]:
        """The lines of the file."""
        return (record.written() for record in self.last_of_each())


_FLAGS = os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0)
"""Binary mode on Windows; elsewhere opening a named pipe does not block."""


class LockedFile:
    """A file that is locked until it is closed, so that only one server writes."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._handle = _open_regular(path)
        try:
            if not try_lock(self._handle):
                what = f"{for_message(path)} is in use by another rankproof serve"
                raise UsageError(what, fix="stop the other server, or choose another file")
        except BaseException:
            os.close(self._handle)
            raise

    def close(self) -> None:
        """Closes the file; removes it if it is empty."""
        with suppress(OSError):
            if not os.fstat(self._handle).st_size and self._exists():
                os.unlink(self.path)
        os.close(self._handle)

    def _exists(self) -> bool:
        try:
            return os.path.samestat(os.stat(self.path), os.fstat(self._handle))
        except OSError:
            return False


class LogFile(LockedFile):
    """A log file that only this server changes: it notices if the file is cut, replaced or edited meanwhile."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self._size, self._digest = 0, hashlib.sha256()
        self._expect(self.content)

    @property
    def content(self) -> bytes:
        """The content of the file."""
        with open(self.path, "rb") as file:
            return file.read()

    def append(self, lines: bytes) -> int:
        """Appends and syncs the lines atomically; returns the previous size, for `truncate`."""
        self.check_unchanged()
        size = self._size
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
        self._size += len(lines)
        self._digest.update(lines)
        self._check_place()
        return size

    def truncate(self, size: int) -> None:
        """Truncates the file to the size."""
        os.ftruncate(self._handle, size)
        os.fsync(self._handle)
        if size < self._size:
            self._expect(self.content)

    def drop_partial_line(self) -> int:
        """Removes an incomplete last line; returns its length."""
        content = self.content
        complete = content.rfind(b"\n") + 1
        if complete < len(content):
            self.truncate(complete)
        return len(content) - complete

    def check_unchanged(self) -> None:
        """Raises an error if the file is not the one that this server wrote: what is confirmed could be lost."""
        self._check_place()
        try:
            is_same = hashlib.sha256(self.content).digest() == self._digest.digest()
        except OSError:
            is_same = False
        if not is_same:
            raise self._error("was changed by another program")

    def _check_place(self) -> None:
        """Raises an error if another file is at this path, or this one is longer or shorter than it was written."""
        if not self._exists():
            raise self._error("was moved, removed or replaced")
        if os.fstat(self._handle).st_size != self._size:
            raise self._error("was cut or extended by another program")

    def _error(self, what: str) -> ExternalError:
        return ExternalError(escape_invisible(f"{self.path} {what}; nothing is saved: restore it, or restart with another file"))

    def _expect(self, content: bytes) -> None:
        self._size, self._digest = len(content), hashlib.sha256(content)


def _open_regular(path: str) -> int:
    try:
        handle = os.open(path, _FLAGS, 0o666)
    except OSError as error:
        raise UsageError(f"{path} cannot be opened ({error.strerror})", fix="choose a file that you can write") from None
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise UsageError(f"{path} is not a regular file", fix="choose a new file")
    return handle


class LoggedFile(Generic[R]):
    """A file and its log, of one writer at a time.

    `cut` is the number of bytes of an incomplete last line that were removed; that record was never confirmed.
    """

    def __init__(self, path: str, format: LogFormat[R]) -> None:
        self.path, self._format, self._lock = format.check_path(path), format, Lock()
        self._log = LogFile(log_path(self.path))
        try:
            self.fingerprint, self._history = self._replay()
            self.cut = self._log.drop_partial_line()
        except BaseException:
            self._log.close()
            raise
        self._identity = _file_identity(self.path)
        self._draw: LabelDraw | None = None

    def check_collection(self, fingerprint: str) -> None:
        """Raises an error if the records are of other data: equal ids would mean other texts."""
        if self.fingerprint not in (None, fingerprint):
            shown = for_message(str(self.fingerprint)[:12])
            what = f"{for_message(self.path)} has {self._format.record}s of {self._format.others} (fingerprint {shown})"
            raise UsageError(what, fix=self._format.restart_fix)

    def check_unchanged(self) -> None:
        """Raises an error if the log or the file was cut, replaced or edited since this server wrote it."""
        with self._lock:
            self._log.check_unchanged()
            self._check_file()

    def _check_file(self) -> None:
        if _file_identity(self.path) != self._identity:
            raise UsageError(f"{for_message(self.path)} was changed by another program", fix=self._format.restart_fix)

    def use_draw(self, draw: LabelDraw) -> None:
        """Keeps the draw in a new log; an error if the file has records that were not drawn at random."""
        if self.fingerprint is not None and read_label_draw(self.path) is None:
            what = f"{for_message(self.path)} has {self._format.record}s that are not a random draw of questions"
            raise UsageError(what, fix=RESTART_FIX)
        self._draw = draw

    def close(self) -> None:
        """Waits for a running write and closes the files."""
        with self._lock:
            self._log.close()

    def _append(self, record: R, fingerprint: str) -> None:
        """Saves a record; it is on disk when this returns. The caller holds the lock."""
        self.check_collection(fingerprint)
        self._check_file()
        first = self._format.header_line(fingerprint, self._draw) if self.fingerprint is None else b""
        size = self._log.append(first + record.line())
        self._history.add(record)
        try:
            write_blocks(self.path, self._history.written())
        except BaseException:
            self._log.truncate(size)
            _, self._history = self._read()
            raise
        self.fingerprint, self._identity = fingerprint, _file_identity(self.path)

    def _read(self) -> tuple[str | None, History[R]]:
        fingerprint, records = self._format.read(self._log.content, self._log.path)
        return fingerprint, self._format.history(records, self._log.path)

    def _replay(self) -> tuple[str | None, History[R]]:
        """Reads the log and updates the file to match it; raises an error if the file was not written from it."""
        fingerprint, history = self._read()
        wanted = b"".join(history.written())
        written = _read_bytes(self.path)
        if (written is None and fingerprint is None) or (written == wanted and fingerprint is not None):
            return fingerprint, history
        if written is not None and (fingerprint is None or written not in self._earlier_contents()):
            if self._format.read_file is not None:
                return self._taken_over(list(self._format.read_file(written, self.path)))
            raise UsageError(
                f"{for_message(self.path)} does not match its log {for_message(self._log.path)}", fix=self._format.new_file_fix
            )
        write_blocks(self.path, [wanted])
        return fingerprint, history

    def _taken_over(self, records: Sequence[R]) -> tuple[str | None, History[R]]:
        """A new log of the records in a file that people edited; after a crash in between, the file is read again."""
        history = self._format.history(records, self.path)
        self._log.truncate(0)
        self._log.append(self._format.header_line("", None) + b"".join(record.line() for record in records))
        write_blocks(self.path, history.written())
        return "", history

    def _earlier_contents(self) -> list[bytes]:
        """The file before the last record, as left by a kill between the two writes."""
        _, records = self._format.read(self._log.content, self._log.path)
        return [b"".join(self._format.make_history(records[:-1]).written())]


def _read_bytes(path: str) -> bytes | None:
    try:
        with open_plain_file(path) as file:
            return file.read()
    except FileNotFoundError:
        return None


def _file_identity(path: str) -> tuple[int, int, int] | None:
    with suppress(OSError):
        status = os.stat(path)
        return status.st_ino, status.st_size, status.st_mtime_ns
    return None
