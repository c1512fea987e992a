"""Append-only log, qrels."""

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
from rankproof._io import strict_json
from rankproof._io.files import try_lock, write_blocks
from rankproof._io.strict_json import JsonObject
from rankproof._results.provenance import utc_now
from rankproof.errors import ExternalError, InputError, UsageError, escape_invisible, for_message

QueryAndDoc = tuple[str, str]
"""A query and a document, by their ids."""
LogAction = Literal["judged", "undone"]

FORMAT = "rankproof-judgements"
_LOG_HEADER = f'{{"format": "{FORMAT}", '.encode()
HUMAN_PREFIX = "human:"
"""What the second column of a judgement by a person begins with."""


@dataclass(frozen=True, slots=True)
class LoggedJudgement:
    """One judgement, or one taken back; a grade of None says that the pair has none after it, or had none before."""

    what: LogAction
    query: str
    doc: str
    grade: int | None
    previous: int | None
    assessor: str
    when: str

    @property
    def pair(self) -> QueryAndDoc:
        """What was judged."""
        return self.query, self.doc

    def line(self) -> bytes:
        """As the log keeps it."""
        return _json_line({name: getattr(self, name) for name in self.__slots__})

    def judgement(self) -> bytes:
        """As TREC qrels keep it, who judged and when in the second column."""
        return f"{self.query} {HUMAN_PREFIX}{self.assessor}@{self.when} {self.doc} {self.grade}\n".encode()


def header_line(fingerprint: str) -> bytes:
    """The log's first line: what it is, and the data that its judgements are about."""
    return _json_line({"format": FORMAT, "schema": format_versions.JUDGEMENT_LOG, "fingerprint": fingerprint})


def complete_lines_size(content: bytes) -> int:
    """How many bytes of the content are lines with their end."""
    return content.rfind(b"\n") + 1


def read_log(content: bytes, source: str) -> tuple[str | None, list[LoggedJudgement]]:
    """The fingerprint, None where there is no whole line, and the records of whole lines; what is no log of ours is refused.

    A last line without its end is left out: a kill or a full disk cut it, and nobody was told of it.
    """
    if not content.startswith(_LOG_HEADER[: len(content)]):
        raise InputError("this is no log of judgements", fix="name a new file", source=source, line=1)
    lines = list(_parse_lines(content, source))
    if not lines:
        return None, []
    first = lines[0]
    if first.plain.get("format") != FORMAT or first.plain.get("schema") != format_versions.JUDGEMENT_LOG:
        raise first.error("this is no log of judgements of this rankproof", "name a new file")
    return first.text("fingerprint"), list(map(_parse_judgement, lines[1:]))


def _parse_lines(content: bytes, source: str) -> Iterator[JsonObject]:
    for line, each in enumerate(content.split(b"\n")[:-1], start=1):
        if not each.isascii():
            raise InputError("bytes that the log never has", fix="name a new file", source=source, line=line)
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
    """Records in the order in which they were made; one taken back gives the pair its grade before, or none."""

    def __init__(self, records: Iterable[LoggedJudgement] = ()) -> None:
        self._made: dict[QueryAndDoc, list[LoggedJudgement]] = {}
        self._order: list[QueryAndDoc] = []
        for record in records:
            self.add(record)

    def add(self, record: LoggedJudgement) -> None:
        """One more; taking back what is not there is our own bug, or somebody's who wrote into the log."""
        if record.what == "judged":
            self._made.setdefault(record.pair, []).append(record)
            self._order.append(record.pair)
            return
        if record.pair not in self._order:
            raise ValueError("a judgement is taken back that is not there")
        self._made[record.pair].pop()
        del self._order[len(self._order) - 1 - self._order[::-1].index(record.pair)]

    def grade(self, pair: QueryAndDoc) -> int | None:
        """The pair's grade, None where it has none."""
        made = self._made.get(pair)
        return made[-1].grade if made else None

    def grade_before(self, pair: QueryAndDoc) -> int | None:
        """The grade that it would have were its last judgement taken back."""
        made = self._made.get(pair, [])
        return made[-2].grade if len(made) > 1 else None

    @property
    def last(self) -> QueryAndDoc | None:
        """The pair that was judged last."""
        return self._order[-1] if self._order else None

    def judgements(self) -> Iterator[bytes]:
        """A line of qrels for each pair that has a grade, in the order in which pairs were first judged."""
        return (made[-1].judgement() for made in self._made.values() if made)


NEW_FILE_FIX = "name a new file, or one that `rankproof serve` wrote"
MAX_ASSESSOR_LENGTH = 64


def log_path(path: str) -> str:
    """Where the log of that file of judgements lies."""
    return f"{path}.log.jsonl"


def check_assessor(name: str) -> str:
    """The name as one word, for the second column of qrels."""
    plain = "".join(char if char.isprintable() and not char.isspace() else "_" for char in name.strip())
    if not plain or len(plain) > MAX_ASSESSOR_LENGTH:
        raise UsageError(f"--assessor is a name of 1 to {MAX_ASSESSOR_LENGTH} characters", fix="name the person who judges")
    return plain


def check_judgements_path(path: str) -> str:
    """The file's real path, refused where it cannot be ours."""
    if not path or path == "-" or "\0" in path:
        raise UsageError("--judge names no file", fix="name the file for the judgements, as my.qrels")
    if path.lower().endswith((".gz", ".zst")):
        raise UsageError(f"{for_message(path)} would be compressed", fix="name a plain file, as my.qrels")
    real = os.path.realpath(path)
    if not os.path.isdir(os.path.dirname(real)):
        raise UsageError(f"{for_message(path)} lies in a folder that does not exist", fix="make the folder, or name another file")
    if os.path.lexists(real) and not os.path.lexists(log_path(real)):
        raise UsageError(f"{for_message(path)} is there and has no log: it is not changed", fix=NEW_FILE_FIX)
    return real


_FLAGS = os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0)
"""On Windows nothing is translated; elsewhere a pipe of that name keeps nobody waiting."""


class LogFile:
    """The log, open and locked until it is closed."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._handle = _open_locked(path)
        try:
            if not try_lock(self._handle):
                what = f"{for_message(path)} is being written by another rankproof serve"
                raise UsageError(what, fix="judge there, or name another file")
        except BaseException:
            os.close(self._handle)
            raise

    @property
    def content(self) -> bytes:
        """All of it."""
        with open(self.path, "rb") as file:
            return file.read()

    def append(self, lines: bytes) -> int:
        """Adds the lines whole or not at all, and syncs them; gives the size before, to which `shorten` goes back."""
        size = self._checked_size()
        try:
            written = os.write(self._handle, lines)
            if written < len(lines):
                raise OSError("the disk took only a part of the line")
            os.fsync(self._handle)
        except OSError as error:
            self.shorten(size)
            raise ExternalError(
                escape_invisible(f"{self.path}: cannot be written ({error.strerror or error}); check the disk")
            ) from None
        return size

    def shorten(self, size: int) -> None:
        """Takes off what was added since it had that size."""
        os.ftruncate(self._handle, size)
        os.fsync(self._handle)

    def close(self) -> None:
        """Lets go of it; an empty one is removed."""
        with suppress(OSError):
            if not os.fstat(self._handle).st_size and self._is_there():
                os.unlink(self.path)
        os.close(self._handle)

    def _checked_size(self) -> int:
        if not self._is_there():
            raise ExternalError(
                escape_invisible(f"{self.path} was moved or removed; put it back, or start again with another file")
            )
        return os.fstat(self._handle).st_size

    def _is_there(self) -> bool:
        try:
            return os.path.samestat(os.stat(self.path), os.fstat(self._handle))
        except OSError:
            return False


def _open_locked(path: str) -> int:
    try:
        handle = os.open(path, _FLAGS, 0o666)
    except OSError as error:
        raise UsageError(f"{path} cannot be opened ({error.strerror})", fix="name a file that this user may write") from None
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise UsageError(f"{path} is no plain file", fix="name a new file")
    return handle


class JudgementLog:
    """Judgements by one person at a time, of one collection: that of the first judgement.

    `cut` is how many bytes of half a line the log had; nobody was told that they were saved.
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
        self._seen = _file_identity(self.path)

    @property
    def last(self) -> QueryAndDoc | None:
        """The pair that was judged last."""
        return self._history.last

    def grade(self, pair: QueryAndDoc) -> int | None:
        """The pair's grade, None where it has none."""
        return self._history.grade(pair)

    def judge(self, pair: QueryAndDoc, grade: int, fingerprint: str) -> None:
        """Keeps a grade; when this returns it is on disk."""
        with self._lock:
            self.check_collection(fingerprint)
            self._append(
                LoggedJudgement("judged", *pair, grade, self._history.grade(pair), self.assessor, self._clock()), fingerprint
            )

    def undo(self, pair: QueryAndDoc, fingerprint: str) -> None:
        """Takes back the pair's last judgement: it has the grade before, or none."""
        with self._lock:
            self.check_collection(fingerprint)
            was, before = self._history.grade(pair), self._history.grade_before(pair)
            if was is None:
                raise UsageError("this pair is not judged", fix="judge it first")
            self._append(LoggedJudgement("undone", *pair, before, was, self.assessor, self._clock()), fingerprint)

    def check_collection(self, fingerprint: str) -> None:
        """Refuses another collection than that of the judgements so far: the same ids would mean other texts."""
        if self.fingerprint not in (None, fingerprint):
            what = (
                f"{for_message(self.path)} holds judgements of other data (fingerprint {for_message(str(self.fingerprint)[:12])})"
            )
            raise UsageError(what, fix="start again with another file for these")

    def close(self) -> None:
        """Waits for what is being written, and lets go of the files."""
        with self._lock:
            self._log.close()

    def _append(self, record: LoggedJudgement, fingerprint: str) -> None:
        if _file_identity(self.path) != self._seen:
            raise UsageError(f"{for_message(self.path)} was changed by another hand", fix="start again with another file")
        first = header_line(fingerprint) if self.fingerprint is None else b""
        size = self._log.append(first + record.line())
        self._history.add(record)
        try:
            write_blocks(self.path, self._history.judgements())
        except BaseException:
            self._log.shorten(size)
            _, self._history = self._read()
            raise
        self.fingerprint, self._seen = fingerprint, _file_identity(self.path)

    def _read(self) -> tuple[str | None, History]:
        fingerprint, records = read_log(self._log.content, self._log.path)
        try:
            return fingerprint, History(records)
        except ValueError as error:
            raise InputError(str(error), fix=NEW_FILE_FIX, source=self._log.path) from None

    def _drop_partial_line(self) -> int:
        """Takes off half a line at the end of the log, which was read and is ours; gives its length."""
        size, whole = len(self._log.content), complete_lines_size(self._log.content)
        if whole < size:
            self._log.shorten(whole)
        return size - whole

    def _replay(self) -> tuple[str | None, History]:
        """What the log says, and qrels that say the same; those that never came from it are not touched."""
        fingerprint, history = self._read()
        wanted = b"".join(history.judgements())
        found = _read_bytes(self.path)
        if (found is None and fingerprint is None) or (found == wanted and fingerprint is not None):
            return fingerprint, history
        if found is not None and (fingerprint is None or found != self._qrels_before_last()):
            raise UsageError(f"{for_message(self.path)} is not what its log {for_message(self._log.path)} says", fix=NEW_FILE_FIX)
        write_blocks(self.path, [wanted])
        return fingerprint, history

    def _qrels_before_last(self) -> bytes:
        """The qrels before the last record: what a kill between the two files leaves."""
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
