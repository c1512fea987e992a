"""The files beside results folders that the bench writes: test cases and notes; opened when they are needed."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from threading import Lock
from typing import Generic, Protocol, TypeVar

from rankproof._results.saved_cases import CASES_FILE, SavedCase, cases_of, read_cases
from rankproof._server.cases.case_log import CaseLog
from rankproof._server.cases.note_log import NOTES_FILE, NoteLog, QueryNote, read_notes
from rankproof._server.library import LibraryEntry


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
