"""The files beside results folders that the bench writes: test cases, notes and tags, each with a log."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Lock
from typing import Any, Generic, Literal, Protocol, TypeVar

from rankproof._data import format_versions
from rankproof._evaluation.options import USUAL_PRIMARY
from rankproof._io.files import open_plain_file, unreadable_file_error
from rankproof._io.strict_json import plain_record
from rankproof._results.provenance import utc_now
from rankproof._results.saved_cases import CASES_FILE, SavedCase, case_id, cases_of, json_line, parse_cases, read_cases
from rankproof._server.library import LibraryEntry
from rankproof._server.logged_file import LogFormat, LoggedFile, LogRecord, visible_line
from rankproof.errors import UsageError

CaseAction = Literal["saved", "removed"]
MAX_QUERY_LENGTH = 2000
MAX_CASE_GRADES = 500


@dataclass(frozen=True, slots=True)
class LoggedCase(LogRecord):
    """A test case as a person saved or removed it."""

    what: CaseAction
    id: str
    text: str
    grades: Mapping[str, int]
    dataset: str
    measure: str
    least: float | None
    who: str
    when: str

    @property
    def key(self) -> str:
        """The id of its query."""
        return self.id

    @property
    def case(self) -> SavedCase:
        """The test case."""
        return SavedCase(self.text, self.grades, self.id, self.dataset, self.measure, self.least, self.who, self.when)

    def written(self) -> bytes:
        """The line of the file; none for a removed one."""
        return b"" if self.what == "removed" else case_line(self.case)


def case_line(case: SavedCase) -> bytes:
    """The line of a test case in the file."""
    plain: dict[str, Any] = plain_record(case)
    first = {name: plain.pop(name) for name in ("id", "text", "grades")}
    return visible_line({**first, **{name: value for name, value in plain.items() if value not in ("", None)}})


def _records_of_file(content: bytes, source: str) -> Iterator[LoggedCase]:
    return (_record("saved", case) for case in parse_cases(content, source))


def _record(what: CaseAction, case: SavedCase) -> LoggedCase:
    fields = (case.id, case.text, case.grades, case.dataset, case.measure, case.least, case.who, case.when)
    return LoggedCase(what, *fields)


_FORMAT = LogFormat(
    name="rankproof-cases",
    schema=format_versions.BENCH_LOG,
    kind=LoggedCase,
    record="test case",
    others="another dataset",
    option="--edit",
    example="cases.jsonl",
    read_file=_records_of_file,
)


class CaseLog(LoggedFile[LoggedCase]):
    """Test cases that several people may change at the same time, on one server."""

    def __init__(self, path: str, clock: Callable[[], str] = utc_now) -> None:
        self._clock = clock
        super().__init__(path, _FORMAT)

    def cases(self, dataset: str) -> tuple[SavedCase, ...]:
        """The test cases of a dataset, and those for any, in the order of their first grade."""
        with self._lock:
            records = list(self._history.last_of_each())
        return tuple(record.case for record in records if record.what == "saved" and record.dataset in ("", dataset))

    def case(self, dataset: str, text: str) -> SavedCase | None:
        """The test case of a typed query, None if it has no grade."""
        return next((case for case in self.cases(dataset) if _words(case.text) == _words(text)), None)

    def grade(self, dataset: str, text: str, doc: str, grade: int | None, who: str, measure: str) -> SavedCase | None:
        """Saves the grade of a document, None to take it back; it is on disk when this returns."""
        if not 0 < len(_words(text)) <= MAX_QUERY_LENGTH:
            raise UsageError(f"a query must have 1 to {MAX_QUERY_LENGTH:,} characters", fix="change the query")
        with self._lock:
            case = self._known(dataset, text) or _new_case(dataset, text, measure)
            others = {graded: value for graded, value in case.grades.items() if graded != doc}
            grades = others if grade is None else {**others, doc: grade}
            if len(grades) > MAX_CASE_GRADES:
                raise UsageError(f"the test case has {MAX_CASE_GRADES} grades", fix="grade no more documents of this query")
            self._save("saved" if grades else "removed", replace(case, grades=grades), who)
        return self.case(dataset, text)

    def require(self, dataset: str, text: str, measure: str, least: float | None, who: str) -> SavedCase:
        """Saves the value that a build must reach, None for no such value."""
        with self._lock:
            case = self._required(dataset, text)
            self._save("saved", replace(case, measure=measure, least=least), who)
        return self._required(dataset, text)

    def remove(self, dataset: str, text: str, who: str) -> None:
        """Removes a test case."""
        with self._lock:
            self._save("removed", self._required(dataset, text), who)

    def _known(self, dataset: str, text: str) -> SavedCase | None:
        records = (record for record in self._history.last_of_each() if record.what == "saved")
        own = (record.case for record in records if record.dataset in ("", dataset))
        return next((case for case in own if _words(case.text) == _words(text)), None)

    def _required(self, dataset: str, text: str) -> SavedCase:
        case = self._known(dataset, text)
        if case is None:
            raise UsageError("this query has no grades", fix="grade a document first, or reload the page")
        return case

    def _save(self, what: CaseAction, case: SavedCase, who: str) -> None:
        self._append(_record(what, replace(case, who=who, when=self._clock())), "")


def _new_case(dataset: str, text: str, measure: str) -> SavedCase:
    words = _words(text)
    return SavedCase(words, {}, case_id(dataset, words), dataset, measure or USUAL_PRIMARY)


def _words(text: str) -> str:
    return " ".join(text.split())


NOTES_FILE = "notes.jsonl"
"""The file of notes beside results folders."""
MAX_NOTE_LENGTH = 4000
MAX_TAGS = 20
MAX_TAG_LENGTH = 60


@dataclass(frozen=True, slots=True)
class QueryNote:
    """The note and the tags of a query: its id, or its text if it was typed. `who` changed them last, at `when`."""

    query: str
    note: str = ""
    tags: tuple[str, ...] = ()
    dataset: str = ""
    who: str = ""
    when: str = ""

    @property
    def version(self) -> str:
        """A text that changes with note and tags, empty for neither."""
        return note_version(self.note, self.tags)


def note_version(note: str, tags: Sequence[str]) -> str:
    """A text that changes with note and tags, empty for neither."""
    return hashlib.sha256(json.dumps([note, list(tags)]).encode()).hexdigest()[:16] if note or tags else ""


@dataclass(frozen=True, slots=True)
class LoggedNote(LogRecord):
    """A note as a person saved it; one without note and tags is removed."""

    what: Literal["saved"]
    query: str
    note: str
    tags: tuple[str, ...]
    dataset: str
    who: str
    when: str

    @property
    def key(self) -> tuple[str, str]:
        """The dataset and the query."""
        return self.dataset, self.query

    @property
    def shown(self) -> QueryNote:
        """The note."""
        return QueryNote(self.query, self.note, self.tags, self.dataset, self.who, self.when)

    def written(self) -> bytes:
        """The line of the file; none for a note that is removed."""
        if not self.note and not self.tags:
            return b""
        return visible_line({name: value for name, value in plain_record(self.shown).items() if value})


def _note_records(content: bytes, source: str) -> Iterator[LoggedNote]:
    for line, raw in enumerate(content.splitlines(), start=1):
        if raw.strip():
            note = json_line(raw, source, line).read(QueryNote)
            yield LoggedNote("saved", note.query, note.note, tuple(note.tags), note.dataset, note.who, note.when)


def read_notes(path: str) -> tuple[QueryNote, ...]:
    """The notes of a file."""
    try:
        with open_plain_file(path) as file:
            content = file.read()
    except OSError as error:
        raise unreadable_file_error(Path(path), error) from None
    return tuple(record.shown for record in _note_records(content, path))


_NOTES_FORMAT = LogFormat(
    name="rankproof-notes",
    schema=format_versions.BENCH_LOG,
    kind=LoggedNote,
    record="note",
    others="another dataset",
    option="--edit",
    example=NOTES_FILE,
    read_file=_note_records,
)


class NoteLog(LoggedFile[LoggedNote]):
    """Notes that several people may change at the same time, on one server."""

    def __init__(self, path: str, clock: Callable[[], str] = utc_now) -> None:
        self._clock = clock
        super().__init__(path, _NOTES_FORMAT)

    def notes(self, dataset: str) -> tuple[QueryNote, ...]:
        """The notes of the queries of a dataset."""
        with self._lock:
            records = list(self._history.last_of_each())
        return tuple(record.shown for record in records if record.dataset in ("", dataset) and (record.note or record.tags))

    def save(self, dataset: str, query: str, note: str, tags: Sequence[str], who: str, seen: str) -> QueryNote:
        """Saves a note and its tags; `seen` is the version of the note that the person changed, empty for a new one.

        It is on disk when this returns. A note that somebody else changed in between is not overwritten.
        """
        text, words = _checked_note(note), _checked_tags(tags)
        with self._lock:
            known = self._history.of((dataset, query)) or self._history.of(("", query))
            if known is not None and known.shown.version not in ("", seen):
                raise UsageError(f"{known.who or 'somebody'} changed this note in the meantime", fix="reload the page")
            key = dataset if known is None else known.dataset
            record = LoggedNote("saved", query, text, words, key, who, self._clock())
            self._append(record, "")
        return record.shown


def _checked_note(note: str) -> str:
    text = note.strip().encode(errors="replace").decode()
    if len(text) > MAX_NOTE_LENGTH:
        raise UsageError(f"the note has {len(text):,} characters", fix=f"shorten it to {MAX_NOTE_LENGTH:,}")
    return text


def _checked_tags(tags: Sequence[str]) -> tuple[str, ...]:
    """The tags in lower case, each once, with single spaces."""
    plain = (" ".join(tag.encode(errors="replace").decode().lower().split()) for tag in tags)
    words = tuple(dict.fromkeys(filter(None, plain)))
    if len(words) > MAX_TAGS or any(len(tag) > MAX_TAG_LENGTH for tag in words):
        raise UsageError(f"at most {MAX_TAGS} tags of {MAX_TAG_LENGTH} characters", fix="shorten the tags, or remove some")
    return words


class _Closable(Protocol):
    def close(self) -> None: ...


L = TypeVar("L", bound=_Closable)


class OpenLogs(Generic[L]):
    """Logs by path, each opened and locked when it is first needed, until `close`."""

    def __init__(self, name: str, make: Callable[[str], L]) -> None:
        self._name, self._make, self._lock = name, make, Lock()
        self._logs: dict[str, L] = {}

    def path(self, entry: LibraryEntry) -> str:
        """The file of results: in the folder that contains them, so that all results there share it."""
        return os.path.join(os.path.dirname(os.path.abspath(entry.path)), self._name)

    def log(self, entry: LibraryEntry) -> L:
        """The log of results."""
        path = self.path(entry)
        with self._lock:
            if path not in self._logs:
                self._logs[path] = self._make(path)
            return self._logs[path]

    def close(self) -> None:
        """Closes all logs."""
        with self._lock:
            for log in self._logs.values():
                log.close()
            self._logs.clear()


class BenchFiles:
    """Test cases and notes; without `writes` the files are only read."""

    def __init__(self, *, writes: bool) -> None:
        self.writes = writes
        self.case_logs = OpenLogs(CASES_FILE, CaseLog)
        self.note_logs = OpenLogs(NOTES_FILE, NoteLog)

    def close(self) -> None:
        """Closes the files."""
        self.case_logs.close()
        self.note_logs.close()

    def cases(self, entry: LibraryEntry, dataset: str) -> Sequence[SavedCase]:
        """The test cases of a dataset."""
        if self.writes:
            return self.case_logs.log(entry).cases(dataset)
        path = self.case_logs.path(entry)
        return cases_of(read_cases(path), dataset) if os.path.lexists(path) else ()

    def notes(self, entry: LibraryEntry, dataset: str) -> Sequence[QueryNote]:
        """The notes of the queries of a dataset."""
        if self.writes:
            return self.note_logs.log(entry).notes(dataset)
        path = self.note_logs.path(entry)
        return [note for note in read_notes(path) if note.dataset in ("", dataset)] if os.path.lexists(path) else ()
