"""The file of test cases and its log: typed queries with the grades that people gave to documents."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from rankproof._data import format_versions
from rankproof._evaluation.options import USUAL_PRIMARY
from rankproof._io.strict_json import plain_record
from rankproof._results.provenance import utc_now
from rankproof._results.saved_cases import SavedCase, case_id, parse_cases
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
