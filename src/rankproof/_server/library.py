"""The results folders that the server shows, with their summaries, cached."""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isnan
from threading import Lock
from typing import Generic, TypeVar

from rankproof._analysis.compare.comparison import compare_inputs
from rankproof._analysis.inputs import different_data, input_from_results
from rankproof._data.qrels import highest_grade
from rankproof._data.text import format_value
from rankproof._evaluation.notes import value_notes
from rankproof._evaluation.result import Result
from rankproof._io.files import RESULT_FILE
from rankproof._render.table import MISSING
from rankproof._results.experiment_result import ExperimentResult
from rankproof._results.folder import load_results
from rankproof._results.label_tasks import label_files
from rankproof._results.result_json import QRELS_FILE, RUNS_FOLDER
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


@dataclass(frozen=True, slots=True)
class Summary:
    """The row of a results folder in the list; `decision` says which system to ship, empty if no measure can decide.

    `highest` is the highest grade, None without judgements; `fingerprint` identifies the dataset, `judged` the judgements;
    `notes` say how far the values can be trusted.
    """

    name: str
    dataset: str
    made: str
    systems: tuple[str, ...]
    queries: int
    decision: str
    highest: int | None
    fingerprint: str
    judged: str
    notes: tuple[str, ...]

    @property
    def data(self) -> tuple[str, str]:
        """The data that two experiments must share to be compared."""
        return self.judged, self.fingerprint


def summary_of(results: ExperimentResult) -> Summary:
    """The summary of results."""
    return Summary(
        name=results.name,
        dataset=str(results.provenance.get("dataset") or ""),
        made=str(results.provenance.get("created") or ""),
        systems=tuple(system_run.name for system_run in results.system_runs),
        queries=len(results.result.queries if results.is_judged else results.queries),
        decision=_decision(results),
        highest=highest_grade(results.qrels),
        fingerprint=results.fingerprint,
        judged=results.qrels.fingerprint(),
        notes=tuple(value_notes(results.result.systems)),
    )


NO_JUDGEMENTS = "There are no judgements: grade the rankings."


def _decision(results: ExperimentResult) -> str:
    """The first sentence of the decision; for answers without judged rankings, the means of their first measure."""
    if not results.is_judged:
        return NO_JUDGEMENTS if results.answers is None else _answer_means(results.answers)
    try:
        return compare_inputs(input_from_results(results)).decision.sentences[0]
    except UsageError:
        return ""


def _answer_means(answers: Result) -> str:
    measure = next(iter(answers.systems[0].measures))
    means = ((name, values[measure]) for name, values in answers.means.items())
    return f"{measure}: {', '.join(f'{name} {MISSING if isnan(mean) else format_value(mean)}' for name, mean in means)}."


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
        self._summaries: LruCache[Summary | RankproofError] = LruCache(_MAX_SUMMARIES)

    def entries(self) -> list[LibraryEntry]:
        """The current folders; an id is never reused for another folder."""
        entries = dict.fromkeys((*self._given, *(folder for path in self._paths for folder in _results_folders(path))))
        with self._lock:
            ids = {path: self._ids.setdefault(path, str(len(self._ids) + 1)) for path in entries}
        return [LibraryEntry(id, path, path not in self._given) for path, id in ids.items()]

    def entry(self, id: str) -> LibraryEntry | None:
        """The folder with the id, None if there is none."""
        return {entry.id: entry for entry in self.entries()}.get(id)

    def results(self, entry: LibraryEntry) -> ExperimentResult:
        """The results in the folder, or those of run files."""
        if not entry.is_folder:
            return self._given[entry.path]
        results = self._results_cache.get_or_create((entry.id, results_stamp(entry)), lambda: _load(entry))
        return replace(results, labels=label_files(entry.path))

    def summary(self, entry: LibraryEntry) -> Summary | RankproofError:
        """The summary of the folder, or the error that prevents reading it."""
        own = (os.path.join(entry.path, name) for name in (QRELS_FILE, RUNS_FOLDER))
        key = (entry.id, results_stamp(entry), labels_stamp(entry), *map(_file_stamp, own))
        return self._summaries.get_or_create(key, lambda: self._summarize(entry))

    def summaries(self) -> list[Summary]:
        """The summaries of all readable folders."""
        return [summary for entry in self.entries() if isinstance(summary := self.summary(entry), Summary)]

    def _summarize(self, entry: LibraryEntry) -> Summary | RankproofError:
        """The summary, or the error; both are cached until the files change."""
        try:
            return summary_of(load_results(entry.path) if entry.is_folder else self._given[entry.path])
        except RankproofError as error:
            return error
        except Exception as error:  # A broken folder must not hide the others.
            return ExternalError(
                escape_invisible(f"{entry.path}: cannot be read ({type(error).__name__}: {error}); run the experiment again")
            )


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
    return any(_results_folders(path))


def _results_folders(path: str) -> Iterator[str]:
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
    summary: Summary | None
    why: str = ""
    comparable: int = 0
    is_folder: bool = True


def library_rows(library: ResultsLibrary) -> list[LibraryRow]:
    """All folders, newest first; unreadable ones come last."""
    summaries = [(entry, library.summary(entry)) for entry in library.entries()]
    data = [summary.data for _, summary in summaries if isinstance(summary, Summary)]
    rows = [_library_row(entry, summary, data) for entry, summary in summaries]
    readable = sorted((row for row in rows if row.summary), key=lambda row: row.summary.made if row.summary else "", reverse=True)
    return readable + [row for row in rows if row.summary is None]


def comparable_rows(library: ResultsLibrary, entry: LibraryEntry) -> list[LibraryRow]:
    """All other folders, those on the same data first; `why` is how the data of the others differ."""
    own = library.summary(entry)
    assert isinstance(own, Summary), "an unreadable folder has no comparison page"
    rows = list(_find_comparable(library, entry, own))
    return [row for row in rows if not row.why] + [row for row in rows if row.why]


def _find_comparable(library: ResultsLibrary, entry: LibraryEntry, own: Summary) -> Iterator[LibraryRow]:
    for other in library.entries():
        summary = library.summary(other)
        if other.id != entry.id and isinstance(summary, Summary):
            yield LibraryRow(other.id, other.label, other.path, summary, different_data(own.data, summary.data) or "")


def _library_row(entry: LibraryEntry, summary: Summary | RankproofError, data: list[tuple[str, str]]) -> LibraryRow:
    if isinstance(summary, RankproofError):
        return LibraryRow(entry.id, entry.label, entry.path, None, str(summary))
    same = sum(different_data(summary.data, other) is None for other in data) - 1
    return LibraryRow(entry.id, entry.label, entry.path, summary, comparable=same, is_folder=entry.is_folder)
