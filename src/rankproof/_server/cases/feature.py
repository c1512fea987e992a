"""The JSON routes of test cases, and of notes and tags of queries."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated

from rankproof._evaluation.options import USUAL_PRIMARY
from rankproof._registry import Option
from rankproof._results.experiment_result import ExperimentResult
from rankproof._results.result_json import parse_stored_measures
from rankproof._results.saved_cases import SavedCase, ranking_values
from rankproof._server.api import ApiCall, ApiRoute, Feature, NoRequest
from rankproof._server.cases.files import (
    MAX_NOTE_LENGTH,
    MAX_QUERY_LENGTH,
    MAX_TAG_LENGTH,
    MAX_TAGS,
    BenchFiles,
    CaseLog,
    QueryNote,
)
from rankproof._server.judging_page import record_change
from rankproof._server.judging_queue import checked_grade, scale_of
from rankproof._server.library import LibraryEntry, ResultsLibrary
from rankproof._server.responses import HttpError

_EDIT = "start `rankproof serve` with --edit to save test cases and notes"
_Text = Annotated[str, Option(f"the typed query, at most {MAX_QUERY_LENGTH:,} characters")]


@dataclass(frozen=True, slots=True)
class CaseRow:
    """A test case."""

    id: Annotated[str, Option("the id of its query")]
    text: Annotated[str, Option("the query")]
    grades: Annotated[Mapping[str, int], Option("document to grade")]
    measure: Annotated[str, Option("the measure that gives its value")]
    least: Annotated[float | None, Option("the value that a build must reach; null if it is only shown")]
    who: Annotated[str, Option("who changed it last")]
    when: Annotated[str, Option("when, UTC")]


@dataclass(frozen=True, slots=True)
class CaseList:
    """The test cases of the dataset of the results."""

    allowed: Annotated[bool, Option("whether this server saves test cases")]
    why: Annotated[str, Option("why it does not, empty if it does")]
    file: Annotated[str, Option("the path of the file")]
    cases: Annotated[tuple[CaseRow, ...], Option("the test cases")]


@dataclass(frozen=True, slots=True)
class CaseGradeRequest:
    """A grade of a document for a typed query."""

    text: _Text
    doc: Annotated[str, Option("the id of the document")]
    grade: Annotated[int | None, Option("the grade; null takes it back")]
    measure: Annotated[str, Option("the measure of a new test case")] = USUAL_PRIMARY


@dataclass(frozen=True, slots=True)
class CaseRequest:
    """The value that a build must reach on a typed query with grades."""

    text: _Text
    least: Annotated[float | None, Option("the value, null for a case that is only shown")]
    measure: Annotated[str, Option("the measure that gives it")] = USUAL_PRIMARY


@dataclass(frozen=True, slots=True)
class CaseText:
    """A typed query with grades."""

    text: _Text


@dataclass(frozen=True, slots=True)
class SavedCaseReply:
    """What is on disk after a change."""

    case: Annotated[CaseRow | None, Option("the test case, null if it has no grade any more")]


@dataclass(frozen=True, slots=True)
class NoteRow:
    """The note and the tags of a query."""

    query: Annotated[str, Option("the id of the query, or its text if it was typed")]
    note: Annotated[str, Option("the note")]
    tags: Annotated[tuple[str, ...], Option("the tags")]
    who: Annotated[str, Option("who changed them last")]
    when: Annotated[str, Option("when, UTC")]
    version: Annotated[str, Option("a text that changes with note and tags")]


@dataclass(frozen=True, slots=True)
class NoteList:
    """The notes of the queries of the dataset."""

    allowed: Annotated[bool, Option("whether this server saves notes")]
    why: Annotated[str, Option("why it does not, empty if it does")]
    file: Annotated[str, Option("the path of the file")]
    notes: Annotated[tuple[NoteRow, ...], Option("the notes")]


@dataclass(frozen=True, slots=True)
class NoteRequest:
    """A note to save; without note and tags it is removed."""

    query: Annotated[str, Option("the id of a query of the results, or a typed query")]
    note: Annotated[str, Option(f"the note, at most {MAX_NOTE_LENGTH:,} characters")] = ""
    tags: Annotated[tuple[str, ...], Option(f"at most {MAX_TAGS} tags of {MAX_TAG_LENGTH} characters")] = ()
    version: Annotated[str, Option("the version of the note that was changed, empty for a new one")] = ""


@dataclass(frozen=True, slots=True)
class ValuesRequest:
    """Rankings and grades of one query."""

    grades: Annotated[Mapping[str, int], Option("document to grade")]
    rankings: Annotated[tuple[tuple[str, ...], ...], Option("the documents of each ranking, the best first")]
    measure: Annotated[str, Option("the measure")] = USUAL_PRIMARY


@dataclass(frozen=True, slots=True)
class Values:
    """The values of rankings."""

    values: Annotated[tuple[float | None, ...], Option("the value of each ranking, null if it has none")]


class CasesAndNotes(Feature):
    """Test cases and notes of the bench; `people` are those who may be at a browser."""

    def __init__(self, library: ResultsLibrary, people: tuple[str, ...], *, writes: bool) -> None:
        self._library, self._people, self._files = library, people, BenchFiles(writes=writes)

    def close(self) -> None:
        """Closes the files."""
        self._files.close()

    def routes(self) -> Iterable[ApiRoute]:
        """The lists, and their changes."""
        cases, notes = "/api/r/{id}/cases", "/api/r/{id}/notes"
        yield ApiRoute("GET", cases, "the test cases of the dataset", NoRequest, CaseList, self._cases)
        about = "saves the value that a build must reach on a typed query with grades"
        yield ApiRoute("POST", cases, about, CaseRequest, SavedCaseReply, self._require, needs="edit")
        about = "saves a grade of a document for a typed query"
        yield ApiRoute("POST", f"{cases}/grades", about, CaseGradeRequest, SavedCaseReply, self._grade, needs="edit")
        about = "removes a test case"
        yield ApiRoute("POST", f"{cases}/remove", about, CaseText, SavedCaseReply, self._remove, needs="edit")
        about = "the values of rankings of one query with these grades; nothing is saved"
        yield ApiRoute("POST", "/api/r/{id}/values", about, ValuesRequest, Values, self._values)
        yield ApiRoute("GET", notes, "the notes and tags of queries", NoRequest, NoteList, self._notes)
        yield ApiRoute("POST", notes, "saves the note and the tags of a query", NoteRequest, NoteRow, self._note, needs="edit")

    def _cases(self, call: ApiCall, request: NoRequest) -> CaseList:
        dataset = _dataset(self._library.results(call.entry))
        cases = tuple(map(_case_row, self._files.cases(call.entry, dataset)))
        return CaseList(self._files.writes, self._why, self._shown_path(call.entry, is_note=False), cases)

    @property
    def _why(self) -> str:
        return "" if self._files.writes else _EDIT

    def _shown_path(self, entry: LibraryEntry, *, is_note: bool) -> str:
        return (self._files.note_logs if is_note else self._files.case_logs).path(entry)

    def _grade(self, call: ApiCall, request: CaseGradeRequest) -> SavedCaseReply:
        results, person, log = self._library.results(call.entry), self._person(call), self._files.case_logs.log(call.entry)
        _check_typed(results, request.text)
        grade = None if request.grade is None else checked_grade(request.grade, scale_of(results))
        dataset, measure = _dataset(results), _checked_measure(request.measure)
        record_change(lambda: log.grade(dataset, request.text, request.doc, grade, person, measure))
        return _reply(log.case(dataset, request.text))

    def _require(self, call: ApiCall, request: CaseRequest) -> SavedCaseReply:
        dataset, person, log = self._changed(call)
        measure = _checked_measure(request.measure)
        record_change(lambda: log.require(dataset, request.text, measure, request.least, person))
        return _reply(log.case(dataset, request.text))

    def _remove(self, call: ApiCall, request: CaseText) -> SavedCaseReply:
        dataset, person, log = self._changed(call)
        record_change(lambda: log.remove(dataset, request.text, person))
        return _reply(log.case(dataset, request.text))

    def _changed(self, call: ApiCall) -> tuple[str, str, CaseLog]:
        return _dataset(self._library.results(call.entry)), self._person(call), self._files.case_logs.log(call.entry)

    def _notes(self, call: ApiCall, request: NoRequest) -> NoteList:
        dataset = _dataset(self._library.results(call.entry))
        notes = tuple(map(_note_row, self._files.notes(call.entry, dataset)))
        return NoteList(self._files.writes, self._why, self._shown_path(call.entry, is_note=True), notes)

    def _note(self, call: ApiCall, request: NoteRequest) -> NoteRow:
        if not 0 < len(request.query) <= MAX_QUERY_LENGTH:
            raise HttpError(400, f"query must have 1 to {MAX_QUERY_LENGTH:,} characters")
        dataset, person = _dataset(self._library.results(call.entry)), self._person(call)
        log = self._files.note_logs.log(call.entry)
        saved: list[QueryNote] = []
        record_change(lambda: saved.append(log.save(dataset, request.query, request.note, request.tags, person, request.version)))
        return _note_row(saved[0])

    def _values(self, call: ApiCall, request: ValuesRequest) -> Values:
        return Values(tuple(ranking_values(request.grades, request.rankings, _checked_measure(request.measure))))

    def _person(self, call: ApiCall) -> str:
        """Who changes something."""
        if len(self._people) == 1:
            return self._people[0]
        if call.person not in self._people or call.person is None:
            raise HttpError(409, "choose who you are first, on the page Judge; reload the page")
        return call.person


def _dataset(results: ExperimentResult) -> str:
    """The name of the dataset, which results of later runs share even if judgements are added."""
    return str(results.provenance.get("dataset") or "")


def _check_typed(results: ExperimentResult, text: str) -> None:
    """Refuses a query of the results: its grades belong to the judgements."""
    words = " ".join(text.split())
    known = next((query for query in results.texts.values() if " ".join(query.text.split()) == words), None)
    if known is not None:
        raise HttpError(409, f"this is the query {known.id!a} of the results; grade it there")


def _checked_measure(name: str) -> str:
    measures = parse_stored_measures([name])
    if len(measures) != 1 or measures[0].kind == "answer":
        raise HttpError(400, "measure must be one measure of rankings, such as nDCG@10")
    return str(measures[0])


def _case_row(case: SavedCase) -> CaseRow:
    return CaseRow(case.id, case.text, case.grades, case.measure, case.least, case.who, case.when)


def _reply(case: SavedCase | None) -> SavedCaseReply:
    return SavedCaseReply(None if case is None else _case_row(case))


def _note_row(note: QueryNote) -> NoteRow:
    return NoteRow(note.query, note.note, note.tags, note.who, note.when, note.version)
