"""The file of notes and tags of queries, and its log."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from rankproof._data import format_versions
from rankproof._io.files import open_plain_file, unreadable_file_error
from rankproof._io.strict_json import plain_record
from rankproof._results.provenance import utc_now
from rankproof._results.saved_cases import json_line
from rankproof._server.logged_file import LogFormat, LoggedFile, LogRecord, visible_line
from rankproof.errors import UsageError

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


def _records_of_file(content: bytes, source: str) -> Iterator[LoggedNote]:
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
    return tuple(record.shown for record in _records_of_file(content, path))


_FORMAT = LogFormat(
    name="rankproof-notes",
    schema=format_versions.BENCH_LOG,
    kind=LoggedNote,
    record="note",
    others="another dataset",
    option="--edit",
    example=NOTES_FILE,
    read_file=_records_of_file,
)


class NoteLog(LoggedFile[LoggedNote]):
    """Notes that several people may change at the same time, on one server."""

    def __init__(self, path: str, clock: Callable[[], str] = utc_now) -> None:
        self._clock = clock
        super().__init__(path, _FORMAT)

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
