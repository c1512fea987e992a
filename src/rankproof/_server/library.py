"""The results folders that the server shows, with their summaries, cached."""

from __future__ import annotations

import os
from collections import Counter, OrderedDict
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from threading import Lock
from typing import Generic, TypeVar

from rankproof._analysis.compare.overview import Overview, overview_of
from rankproof._analysis.inputs import different_data
from rankproof._io.files import RESULT_FILE
from rankproof._io.strict_json import JsonObject
from rankproof._results.experiment_result import ExperimentResult
from rankproof._results.folder import load_results
from rankproof._results.label_tasks import label_files
from rankproof._results.result_json import DECISION_FILE, QRELS_FILE, RUNS_FOLDER
from rankproof._results.summary_file import read_summary
from rankproof.errors import ExternalError, RankproofError, UsageError, escape_invisible, for_message

T = TypeVar("T")


class LruCache(Generic[T]):
    """A cache that evicts the least recently used value; errors are not cached."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._values: OrderedDict[Hashable, T] = OrderedDict()
        self._making: dict[Hashable, Lock] = {}
        self._lock = Lock()

    def get_or_create(self, key: Hashable, make: Callable[[], T]) -> T:
        """The value of the key, created if missing."""
        with self._lock:
            making = self._making.setdefault(key, Lock())
        with making:
            with self._lock:
                if key in self._values:
                    self._values.move_to_end(key)
                    return self._values[key]
            try:
                made = make()
            except BaseException:
                with self._lock:
                    self._making.pop(key, None)
                raise
            with self._lock:
                self._values[key] = made
                while len(self._values) > self._most:
                    self._making.pop(self._values.popitem(last=False)[0], None)
            return made


FileStamp = tuple[int, int, int]
"""Modification time, size and inode: changes when a file is replaced."""
_MAX_LOADED = 3
_MAX_SUMMARIES = 10_000


@dataclass(frozen=True, slots=True)
class LibraryEntry:
    """A results folder, or the judgements of run files, and its id in addresses."""

    id: str
    path: str
    is_folder: bool = True

    @property
    def label(self) -> str:
        """The name of the folder or file."""
        return os.path.basename(self.path)


class ResultsLibrary:
    """The results folders in the given order; new folders are found on each request. `given` has results of run files by path."""

    def __init__(self, paths: Sequence[str], results: Mapping[str, ExperimentResult] | None = None) -> None:
        self._given = dict(results or {})
        self._paths = [os.path.abspath(path) for path in paths]
        for path, name in zip(self._paths, paths, strict=True):
            if not has_results(path):
                what = f"{for_message(name)} is not a results folder and contains none"
                raise UsageError(what, fix="pass a folder that `rankproof run` wrote, or a folder of such folders")
        self._ids: dict[str, str] = {}
        self._lock = Lock()
        self._results_cache: LruCache[ExperimentResult] = LruCache(_MAX_LOADED)
        self._summaries: LruCache[Overview | RankproofError] = LruCache(_MAX_SUMMARIES)

    def entries(self) -> list[LibraryEntry]:
        """The current folders; an id is never reused for another folder."""
        entries = dict.fromkeys((*self._given, *(folder for path in self._paths for folder in results_folders(path))))
        with self._lock:
            ids = {path: self._ids.setdefault(path, str(len(self._ids) + 1)) for path in entries}
        return [LibraryEntry(id, path, path not in self._given) for path, id in ids.items()]

    def entry(self, id: str) -> LibraryEntry | None:
        """The folder with the id, None if there is none."""
        return {entry.id: entry for entry in self.entries()}.get(id)

    def added(self, folder: str) -> str:
        """The id of a results folder that was written now."""
        path = os.path.abspath(folder)
        with self._lock:
            if not any(path in results_folders(known) for known in self._paths):
                self._paths.append(path)
        return next(entry.id for entry in self.entries() if entry.path == path)

    def results(self, entry: LibraryEntry) -> ExperimentResult:
        """The results in the folder, or those of run files."""
        if not entry.is_folder:
            return self._given[entry.path]
        results = self._results_cache.get_or_create((entry.id, results_stamp(entry)), lambda: _load(entry))
        return replace(results, labels=label_files(entry.path))

    def summary(self, entry: LibraryEntry) -> Overview | RankproofError:
        """The summary of the folder, or the error that prevents reading it."""
        own = (os.path.join(entry.path, name) for name in (QRELS_FILE, RUNS_FOLDER))
        key = (entry.id, results_stamp(entry), labels_stamp(entry), *map(_file_stamp, own))
        return self._summaries.get_or_create(key, lambda: self._summarize(entry))

    def summaries(self) -> list[Overview]:
        """The summaries of all readable folders."""
        return [summary for entry in self.entries() if isinstance(summary := self.summary(entry), Overview)]

    def _summarize(self, entry: LibraryEntry) -> Overview | RankproofError:
        """The summary, or the error; both are cached until the files change."""
        try:
            if not entry.is_folder:
                return overview_of(self._given[entry.path])
            return _stored_overview(entry) or overview_of(load_results(entry.path))
        except RankproofError as error:
            return error
        except Exception as error:  # A broken folder must not hide the others.
            return ExternalError(
                escape_invisible(f"{entry.path}: cannot be read ({type(error).__name__}: {error}); run the experiment again")
            )


def _stored_overview(entry: LibraryEntry) -> Overview | None:
    """The overview in summary.json; None if it is not of these files, or labels beside the folder may change the decision."""
    if any(labels_stamp(entry)):
        return None
    document = read_summary(entry.path)
    try:
        return None if document is None else JsonObject(document, DECISION_FILE).member("overview", Overview)
    except RankproofError:
        return None


def results_stamp(entry: LibraryEntry) -> FileStamp | None:
    """The stamp of result.json, None if it is missing."""
    return _file_stamp(os.path.join(entry.path, RESULT_FILE))


def labels_stamp(entry: LibraryEntry) -> tuple[FileStamp | None, ...]:
    """The stamps of the labels beside the folder, which a decision takes up."""
    return tuple(map(_file_stamp, label_files(entry.path)))


def _file_stamp(path: str) -> FileStamp | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino


def _load(entry: LibraryEntry) -> ExperimentResult:
    try:
        return load_results(entry.path)
    except OSError as error:
        raise ExternalError(escape_invisible(f"{entry.path}: cannot be read ({error.strerror or error})")) from None


def has_results(path: str) -> bool:
    """Whether the path is a results folder or contains one."""
    return any(results_folders(path))


def results_folders(path: str) -> Iterator[str]:
    """The folder itself if it has results, else the results folders in it."""
    if os.path.lexists(os.path.join(path, RESULT_FILE)):
        yield path
        return
    try:
        names = sorted(os.listdir(path))
    except OSError:
        return
    for name in names:
        inside = os.path.join(path, name)
        if not name.startswith(".") and os.path.lexists(os.path.join(inside, RESULT_FILE)):
            yield inside


@dataclass(frozen=True, slots=True)
class LibraryRow:
    """A row of the list: a summary or an error; `comparable` is the number of other folders on the same data."""

    id: str
    label: str
    path: str
    summary: Overview | None
    why: str = ""
    comparable: int = 0
    is_folder: bool = True


def library_rows(library: ResultsLibrary) -> list[LibraryRow]:
    """All folders, newest first; unreadable ones come last."""
    summaries = [(entry, library.summary(entry)) for entry in library.entries()]
    data = Counter(summary.data for _, summary in summaries if isinstance(summary, Overview))
    rows = [_library_row(entry, summary, data) for entry, summary in summaries]
    readable = sorted((row for row in rows if row.summary), key=lambda row: row.summary.made if row.summary else "", reverse=True)
    return readable + [row for row in rows if row.summary is None]


def comparable_rows(library: ResultsLibrary, entry: LibraryEntry) -> list[LibraryRow]:
    """All other folders, those on the same data first; `why` is how the data of the others differ."""
    own = library.summary(entry)
    assert isinstance(own, Overview), "an unreadable folder has no comparison page"
    rows = list(_find_comparable(library, entry, own))
    return [row for row in rows if not row.why] + [row for row in rows if row.why]


def _find_comparable(library: ResultsLibrary, entry: LibraryEntry, own: Overview) -> Iterator[LibraryRow]:
    for other in library.entries():
        summary = library.summary(other)
        if other.id != entry.id and isinstance(summary, Overview):
            yield LibraryRow(other.id, other.label, other.path, summary, different_data(own.data, summary.data) or "")


def _library_row(entry: LibraryEntry, summary: Overview | RankproofError, data: Counter[tuple[str, str]]) -> LibraryRow:
    if isinstance(summary, RankproofError):
        return LibraryRow(entry.id, entry.label, entry.path, None, str(summary))
    same = sum(count for other, count in data.items() if different_data(summary.data, other) is None) - 1
    return LibraryRow(entry.id, entry.label, entry.path, summary, comparable=same, is_folder=entry.is_folder)
