"""The file of preferences between two answers and its log."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from rankproof._data import format_versions
from rankproof._io.strict_json import plain_record
from rankproof._results.provenance import utc_now
from rankproof._results.saved_cases import json_line
from rankproof._server.logged_file import LogFormat, LoggedFile, LogRecord, visible_line
from rankproof.errors import UsageError, for_message

PREFERENCES_FILE = "preferences.jsonl"
"""The file of preferences beside results folders."""
TIE = "tie"
_DIGEST_LENGTH = 16


@dataclass(frozen=True, slots=True)
class AnswerPreference:
    """Which of two answers to a question a person prefers.

    `a` and `b` are the systems, in the order of their names, and `preferred` is the better one, or "tie". `first` was shown on
    the left. `answers` changes with either answer.
    """

    query: str
    a: str
    b: str
    preferred: str
    first: str
    answers: str
    dataset: str = ""
    who: str = ""
    when: str = ""

    @property
    def key(self) -> tuple[str, ...]:
        """The person, and the two answers."""
        return self.who, self.dataset, self.query, self.a, self.b, self.answers


@dataclass(frozen=True, slots=True)
class LoggedPreference(LogRecord):
    """A preference, or the undo of the last one of the same answers."""

    what: Literal["preferred", "undone"]
    query: str
    a: str
    b: str
    preferred: str
    first: str
    answers: str
    dataset: str
    who: str
    when: str

    @property
    def preference(self) -> AnswerPreference:
        """The preference."""
        return AnswerPreference(*(getattr(self, name) for name in AnswerPreference.__slots__))

    @property
    def key(self) -> tuple[str, ...]:
        """The person, and the two answers."""
        return self.preference.key

    def written(self) -> bytes:
        """The line of the file."""
        return visible_line(plain_record(self.preference))


def answers_digest(first: str, second: str) -> str:
    """A text that changes with either answer, in the order of the names of their systems."""
    parts = (hashlib.sha256(text.encode(errors="replace")).digest() for text in (first, second))
    return hashlib.sha256(b"".join(parts)).hexdigest()[:_DIGEST_LENGTH]


def _records_of_file(content: bytes, source: str) -> Iterator[LoggedPreference]:
    for line, raw in enumerate(content.splitlines(), start=1):
        if raw.strip():
            read = json_line(raw, source, line)
            made = read.read(AnswerPreference)
            for name, value, allowed in (
                ("preferred", made.preferred, (made.a, made.b, TIE)),
                ("first", made.first, (made.a, made.b)),
            ):
                if value not in allowed:
                    raise read.error(f"{name} is {for_message(value)}", f"write one of {', '.join(map(for_message, allowed))}")
            yield _record(made)


def _record(made: AnswerPreference, what: Literal["preferred", "undone"] = "preferred") -> LoggedPreference:
    return LoggedPreference(what, *(getattr(made, name) for name in AnswerPreference.__slots__))


_FORMAT = LogFormat(
    name="rankproof-preferences",
    schema=format_versions.BENCH_LOG,
    kind=LoggedPreference,
    record="preference",
    others="another dataset",
    option="--edit",
    example=PREFERENCES_FILE,
    read_file=_records_of_file,
)


class PreferenceLog(LoggedFile[LoggedPreference]):
    """Preferences of several people, who may work at the same time on one server."""

    def __init__(self, path: str, clock: Callable[[], str] = utc_now) -> None:
        self._clock = clock
        super().__init__(path, _FORMAT)

    def preferences(self, dataset: str) -> tuple[AnswerPreference, ...]:
        """The preferences of a dataset."""
        with self._lock:
            records = list(self._history.last_of_each())
        return tuple(record.preference for record in records if record.dataset == dataset)

    def save(self, made: AnswerPreference) -> None:
        """Saves a preference; it is on disk when this returns."""
        with self._lock:
            self._append(_record(_at(made, self._clock())), "")

    def undo(self, made: AnswerPreference) -> None:
        """Takes the preference of the same person and answers back."""
        with self._lock:
            if self._history.of(made.key) is None:
                raise UsageError("there is no preference for these answers", fix="reload the page")
            self._append(_record(_at(made, self._clock()), "undone"), "")


def _at(made: AnswerPreference, when: str) -> AnswerPreference:
    return AnswerPreference(made.query, made.a, made.b, made.preferred, made.first, made.answers, made.dataset, made.who, when)
