"""The JSON routes of grades: those of a query, a new one, and how far judging has come."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from math import ceil
from statistics import median
from typing import Annotated

from rankproof._analysis.compare.comparison import compare_inputs
from rankproof._analysis.decision.queries_needed import rounded_up
from rankproof._analysis.decision.record import Decision
from rankproof._analysis.inputs import input_from_results
from rankproof._registry import Option
from rankproof._results.experiment_result import ExperimentResult
from rankproof._server.api import ApiCall, ApiRoute, Feature, NoRequest
from rankproof._server.judgement_log import MAX_NOTE_LENGTH, QueryAndDoc
from rankproof._server.judging_page import JudgingPage, check_person, record_change
from rankproof._server.judging_queue import can_be_written, checked_grade, grade_scale, rubric_of, scale_of
from rankproof._server.library import LruCache, ResultsLibrary, results_stamp
from rankproof._server.pages import JudgingViews
from rankproof._server.responses import HttpError
from rankproof._statistics.labelled_means import MIN_LABELLED
from rankproof.errors import RankproofError

_MAX_DECISIONS = 8
_LONGEST_PAUSE = 300.0
"""Seconds between two grades of a person; a longer time is a break."""
_FEWEST_QUERIES = 30
"""The fewest queries of a decision."""


@dataclass(frozen=True, slots=True)
class GradeMeaning:
    """A grade that people can give."""

    grade: Annotated[int, Option("the grade")]
    meaning: Annotated[str, Option("what it means, empty if only the makers of the scale know")]


@dataclass(frozen=True, slots=True)
class GradingState:
    """Whether grades can be given, and which."""

    allowed: Annotated[bool, Option("whether this server saves grades")]
    why: Annotated[str, Option("why it does not, empty if it does")]
    scale: Annotated[tuple[GradeMeaning, ...], Option("the grades, those of the judgements of the results")]
    assessor: Annotated[str, Option("who judges in this browser, empty if nobody is chosen")]
    assessors: Annotated[tuple[str, ...], Option("who can be chosen")]


@dataclass(frozen=True, slots=True)
class GradesRequest:
    """The query whose grades are asked for."""

    query: Annotated[str, Option("the id of the query")]


@dataclass(frozen=True, slots=True)
class DocumentGrade:
    """The grade of a document for a query."""

    doc: Annotated[str, Option("the id of the document")]
    grade: Annotated[int, Option("the grade that counts for you: your own, else that of the results")]
    by: Annotated[str, Option('who gave it: "you", or empty for the judgements of the results')]


@dataclass(frozen=True, slots=True)
class QueryGrades:
    """The grades of the documents of a query; the grades of others are hidden until you have given your own."""

    query: Annotated[str, Option("the id of the query")]
    grades: Annotated[tuple[DocumentGrade, ...], Option("the graded documents")]


@dataclass(frozen=True, slots=True)
class GradeRequest:
    """A grade of a document for a query of the results."""

    query: Annotated[str, Option("the id of the query")]
    doc: Annotated[str, Option("the id of the document")]
    grade: Annotated[int | None, Option("the grade; null takes your last one back")]
    note: Annotated[str, Option(f"a note of at most {MAX_NOTE_LENGTH:,} characters")] = ""
    assessor: Annotated[str, Option("who the page says you are; another name than the browser's is rejected")] = ""


@dataclass(frozen=True, slots=True)
class SavedGrade:
    """What is on disk after a change."""

    grade: Annotated[int | None, Option("your grade now")]
    counts: Annotated[int | None, Option("the grade that counts now")]
    grades: Annotated[int, Option("how many grades you have given")]


@dataclass(frozen=True, slots=True)
class Progress:
    """How far judging has come."""

    assessor: Annotated[str, Option("who judges in this browser")]
    grades: Annotated[int, Option("how many grades you have given")]
    all_grades: Annotated[int, Option("how many pairs have a grade by anybody")]
    left: Annotated[int, Option("pairs of your queue without your grade, of the queries that are needed")]
    minutes: Annotated[int | None, Option("minutes for these at your pace, null before three grades")]
    grows: Annotated[bool, Option("whether judging adds queries, as in a pool; else it completes judgements")]
    decision: Annotated[DecisionSoFar, Option("the decision that the grades so far give")]
    before: Annotated[str, Option("the decision without these grades, empty if there is none")]


class Grading(Feature):
    """Grades given anywhere: in the queue, in the bench, in a report. They complete judgements and never correct a judge."""

    def __init__(self, library: ResultsLibrary, views: JudgingViews) -> None:
        self._library, self._views = library, views
        self._decisions: LruCache[DecisionSoFar] = LruCache(_MAX_DECISIONS)

    def routes(self) -> Iterable[ApiRoute]:
        """The state, the grades of a query, a grade, and the progress."""
        path = "/api/r/{id}"
        yield ApiRoute("GET", f"{path}/grading", "whether and how documents are graded", NoRequest, GradingState, self._state)
        yield ApiRoute("GET", f"{path}/grades", "the grades of a query", GradesRequest, QueryGrades, self._grades)
        about = "saves a grade; it is on disk when the reply comes"
        yield ApiRoute("POST", f"{path}/grades", about, GradeRequest, SavedGrade, self._grade, needs="judge")
        about = "the decision so far, and how much is left to judge"
        yield ApiRoute("GET", f"{path}/progress", about, NoRequest, Progress, self._progress)

    def _state(self, call: ApiCall, request: NoRequest) -> GradingState:
        results, page = self._library.results(call.entry), self._views.judging_page
        why, scale = self._why_not(results), grade_scale(results.qrels) and scale_of(results)
        meanings = tuple(GradeMeaning(grade, meaning) for grade, meaning in rubric_of(scale).items())
        people = () if page is None else page.assessors
        return GradingState(not why, why, meanings, _person(page, call.person), people)

    def _why_not(self, results: ExperimentResult) -> str:
        page = self._views.judging_page
        if page is None:
            return "start `rankproof serve` with --judge to grade documents, and with --edit to prove changes"
        if self._views.is_drawn:
            return "--label draws questions at random; start `rankproof serve` with --judge to grade documents by choice"
        try:
            page.check(results)
        except RankproofError as error:
            return str(error)
        return ""

    def _grades(self, call: ApiCall, request: GradesRequest) -> QueryGrades:
        results, page = self._library.results(call.entry), self._views.judging_page
        person = _person(page, call.person)
        known = {doc: DocumentGrade(doc, grade, "") for doc, grade in results.qrels.get(request.query, {}).items()}
        if page is not None and person and not self._why_not(results):
            known |= {row.doc: row for row in _own_grades(page, request.query, person)}
        return QueryGrades(request.query, tuple(known.values()))

    def _grade(self, call: ApiCall, request: GradeRequest) -> SavedGrade:
        results, page = self._library.results(call.entry), self._required(call)
        person = page.required(call.person)
        check_person({"assessor": request.assessor} if request.assessor else {}, person)
        pair = _requested_pair(results, request)
        if request.grade is None:
            record_change(lambda: page.log.undo(pair, results.fingerprint, person))
        else:
            grade = checked_grade(request.grade, scale_of(results))
            record_change(lambda: page.log.judge(pair, grade, results.fingerprint, person, request.note))
        merged = next((judgement.grade for judgement in page.log.merged() if judgement.pair == pair), None)
        counts = results.qrels.get(request.query, {}).get(request.doc) if merged is None else merged
        return SavedGrade(page.log.grade(pair, person), counts, len(page.log.times(person)))

    def _required(self, call: ApiCall) -> JudgingPage:
        page = self._views.judging_page
        if page is None or self._views.is_drawn:
            raise HttpError(403, self._why_not(self._library.results(call.entry)))
        page.check(self._library.results(call.entry))
        return page

    def _progress(self, call: ApiCall, request: NoRequest) -> Progress:
        page, results = self._views.judging_page, self._library.results(call.entry)
        if page is None:
            raise HttpError(409, "start `rankproof serve` with --judge or --label")
        page.log.check_collection(results.fingerprint)
        person = page.required(call.person)
        queue = self._views.queue_of(call.entry, person)
        times, merged = page.log.times(person), page.log.merged()
        stamp = results_stamp(call.entry)
        key = (call.entry.id, stamp, tuple((judgement.pair, judgement.grade) for judgement in merged))
        decision = self._decisions.get_or_create(key, lambda: _decision(page, results))
        before = self._decisions.get_or_create((call.entry.id, stamp), lambda: _before(results))
        own = Counter(query for query, doc in queue.items if page.log.grade((query, doc), person) is not None)
        grows = queue.pool is not None
        needed = decision.needed if grows else None
        left = 0 if decision.decided else open_grades(list(queue.queries.items()), own, needed)
        return Progress(
            assessor=person,
            grades=len(times),
            all_grades=len(merged),
            left=left,
            minutes=minutes_left(left, seconds_per_grade(times)),
            grows=grows,
            decision=decision,
            before=before.sentence,
        )


def _person(page: JudgingPage | None, chosen: str | None) -> str:
    return "" if page is None else page.assessor(chosen) or ""


def _own_grades(page: JudgingPage, query: str, person: str) -> Iterator[DocumentGrade]:
    for judgement in page.log.merged():
        own = page.log.grade(judgement.pair, person)
        if judgement.pair[0] == query and own is not None:
            yield DocumentGrade(judgement.pair[1], own, "you")


def _requested_pair(results: ExperimentResult, request: GradeRequest) -> QueryAndDoc:
    if request.query not in results.texts:
        raise HttpError(400, "this query is not in the results; save a typed query as a test case")
    if not can_be_written(request.query, request.doc):
        raise HttpError(400, "an id with white space cannot be in qrels")
    return request.query, request.doc


def _decision(page: JudgingPage, results: ExperimentResult) -> DecisionSoFar:
    try:
        return decision_so_far(page.measured(results))
    except RankproofError as error:
        return DecisionSoFar(False, str(error), None, None, 0, None)


def _before(results: ExperimentResult) -> DecisionSoFar:
    return decision_so_far(results) if results.is_judged else DecisionSoFar(False, "", None, None, 0, None)


@dataclass(frozen=True, slots=True)
class DecisionSoFar:
    """The decision that the grades so far give, by the limits for many looks."""

    decided: Annotated[bool, Option("whether judging can stop: the rule is valid at every look")]
    sentence: Annotated[str, Option("the decision in a sentence")]
    risk: Annotated[float | None, Option("the risk of the chosen system, or of the leader")]
    limit: Annotated[float | None, Option("the highest risk that decides")]
    queries: Annotated[int, Option("the queries that decide so far")]
    needed: Annotated[int | None, Option("about how many queries decide with a chance of 80%")]


def decision_so_far(measured: ExperimentResult) -> DecisionSoFar:
    """The decision on results that are measured with the grades so far."""
    try:
        decision = compare_inputs(input_from_results(measured), pairs=()).decision
    except RankproofError as error:
        return DecisionSoFar(False, str(error), None, None, 0, None)
    risk = None if decision.is_judge_unchecked else decision.risk
    return DecisionSoFar(decision.decided, decision.sentences[0], risk, decision.limit, *_queries(decision))


def _queries(decision: Decision) -> tuple[int, int | None]:
    """How many queries decide so far, and about how many are needed."""
    if decision.labelled is not None or decision.is_judge_unchecked:
        labelled = decision.labelled or 0
        needed = decision.check.needed if decision.check is not None else None
        return labelled, needed or (MIN_LABELLED if labelled < MIN_LABELLED else None)
    if decision.reason == "few_queries" and decision.needed is None and decision.n < _FEWEST_QUERIES:
        return decision.n, _FEWEST_QUERIES
    likely = None if decision.needed is None else decision.needed.likely
    return decision.n, None if likely is None else rounded_up(likely)


def seconds_per_grade(times: Iterable[str]) -> float | None:
    """The median time between two grades of a person, without breaks; None with fewer than three."""
    moments = sorted(_moments(times))
    pauses = [(after - before).total_seconds() for before, after in pairwise(moments)]
    short = [pause for pause in pauses if pause <= _LONGEST_PAUSE]
    return max(median(short), 1.0) if len(short) >= 2 else None


def _moments(times: Iterable[str]) -> Iterator[datetime]:
    for time in times:
        try:
            yield datetime.fromisoformat(time)
        except ValueError:
            continue


def minutes_left(grades: int, pace: float | None) -> int | None:
    """The minutes that so many grades take, None if the pace is not known."""
    return None if pace is None else ceil(grades * pace / 60)


def open_grades(sizes: Sequence[tuple[str, int]], graded: dict[str, int], needed: int | None) -> int:
    """How many grades are missing in the first `needed` queries, None for all; `graded` counts the grades of each query."""
    counted = sizes if needed is None else sizes[:needed]
    return sum(max(0, size - graded.get(query, 0)) for query, size in counted)
