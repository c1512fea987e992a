"""The page on two answers side by side and its JSON routes: claims, labels in place, and blind preferences."""

from __future__ import annotations

import hashlib
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Annotated, Literal

from rankproof._data.answers import references_from_queries
from rankproof._formats.claims import ClaimLabel
from rankproof._io.escape import json_block
from rankproof._registry import Option
from rankproof._results.experiment_result import ExperimentResult
from rankproof._results.label_tasks import draw_claims
from rankproof._server.answers.preference_log import PREFERENCES_FILE, TIE, AnswerPreference, PreferenceLog, answers_digest
from rankproof._server.answers.sides import AnswerSide, answer_items, answer_side
from rankproof._server.api import ID_PATTERN, ApiCall, ApiRoute, Feature, NoRequest, Route
from rankproof._server.cases.files import OpenLogs
from rankproof._server.judging_page import record_change
from rankproof._server.label_log import LabelLog, build_claim_queue
from rankproof._server.library import LibraryEntry, ResultsLibrary
from rankproof._server.responses import HttpError, PageResponse, module_page

_EDIT = "start `rankproof serve` with --edit to label claims in place and to save preferences"
CHOSEN_LABELS = ".chosen.jsonl"
"""The end of the file of labels that people gave to claims of their choice: they show agreement and correct no judge."""


@dataclass(frozen=True, slots=True)
class AnswerQuestion:
    """A question of the results."""

    id: Annotated[str, Option("its id")]
    text: Annotated[str, Option("its text")]


@dataclass(frozen=True, slots=True)
class AnswerView:
    """The questions and the systems that answer them."""

    name: Annotated[str, Option("the name of the results")]
    systems: Annotated[tuple[str, ...], Option("the systems with answers")]
    questions: Annotated[tuple[AnswerQuestion, ...], Option("the questions")]
    allowed: Annotated[bool, Option("whether this server saves labels and preferences")]
    why: Annotated[str, Option("why it does not, empty if it does")]


@dataclass(frozen=True, slots=True)
class AnswerPairRequest:
    """Two systems on a question."""

    query: Annotated[str, Option("the id of the question")]
    a: Annotated[str, Option("the system on the left")]
    b: Annotated[str, Option("the system on the right")]


@dataclass(frozen=True, slots=True)
class AnswerPair:
    """Two answers side by side."""

    query: Annotated[str, Option("the id of the question")]
    text: Annotated[str, Option("its text")]
    references: Annotated[tuple[str, ...], Option("its reference answers")]
    sides: Annotated[tuple[AnswerSide, ...], Option("the two answers")]


@dataclass(frozen=True, slots=True)
class ChosenLabelRequest:
    """A label of a claim, given in place."""

    query: Annotated[str, Option("the id of the question")]
    system: Annotated[str, Option("the system")]
    claim: Annotated[str, Option("the id of the claim")]
    label: Annotated[ClaimLabel | None, Option("the label; null takes your last one back")]


@dataclass(frozen=True, slots=True)
class ChosenLabel:
    """What is on disk after a change."""

    label: Annotated[str | None, Option("your label now")]


@dataclass(frozen=True, slots=True)
class Duel:
    """Two answers to a question without the names of their systems."""

    key: Annotated[str, Option("what names it in a request; empty if nothing is left")]
    text: Annotated[str, Option("the question")]
    references: Annotated[tuple[str, ...], Option("its reference answers")]
    first: Annotated[str, Option("the answer on the left")]
    second: Annotated[str, Option("the answer on the right")]
    done: Annotated[int, Option("how many you have decided")]
    of: Annotated[int, Option("how many pairs of different answers there are")]


@dataclass(frozen=True, slots=True)
class PreferenceRequest:
    """Which of the two answers is better."""

    key: Annotated[str, Option("the key of the pair")]
    preferred: Annotated[Literal["first", "second", "tie"] | None, Option("the better one; null takes your last choice back")]


@dataclass(frozen=True, slots=True)
class PreferredAnswers:
    """How often each of two systems was preferred."""

    a: Annotated[str, Option("a system")]
    b: Annotated[str, Option("another system")]
    a_preferred: Annotated[int, Option("how often a was preferred")]
    b_preferred: Annotated[int, Option("how often b was preferred")]
    ties: Annotated[int, Option("how often neither was")]


@dataclass(frozen=True, slots=True)
class AnswerPreferences:
    """The preferences of all people so far, of the present answers."""

    pairs: Annotated[tuple[PreferredAnswers, ...], Option("the pairs of systems")]


@dataclass(frozen=True, slots=True)
class _AnswerDuel:
    """Two different answers to a question, by the names of their systems in order."""

    query: str
    systems: tuple[str, str]
    texts: tuple[str, str]

    @property
    def digest(self) -> str:
        """Changes with either answer."""
        return answers_digest(*self.texts)

    def key(self, person: str) -> str:
        """A text that names the pair for a person, without the names of the systems."""
        return hashlib.sha256("\n".join((person, self.query, *self.systems, self.digest)).encode(errors="replace")).hexdigest()[
            :24
        ]

    def is_swapped(self, person: str) -> bool:
        """Whether the second system is shown on the left: half of the pairs, others for each person."""
        return int(self.key(f"{person} side"), 16) % 2 == 1


class AnswerBench(Feature):
    """Two answers side by side; `people` are those who may be at a browser."""

    def __init__(self, library: ResultsLibrary, people: tuple[str, ...], *, writes: bool) -> None:
        self._library, self._people, self._writes = library, people, writes
        self._preferences = OpenLogs(PREFERENCES_FILE, PreferenceLog)
        self._labels: dict[str, LabelLog] = {}

    def close(self) -> None:
        """Closes the files."""
        self._preferences.close()
        for log in self._labels.values():
            log.close()

    def pages(self) -> Iterable[Route]:
        """The page of results with answers."""
        yield Route(re.compile(f"/r/{ID_PATTERN}/answers"), {"GET": self._page})

    def actions(self, id: str) -> Iterable[tuple[str, str]]:
        """The link to the page, for results with answers of two systems."""
        entry = self._library.entry(id)
        if entry is not None and entry.is_folder and os.path.exists(os.path.join(entry.path, "answers.jsonl")):
            yield f"/r/{id}/answers", "Answers side by side"

    def routes(self) -> Iterator[ApiRoute]:
        """The questions, two answers, labels in place, and preferences."""
        path = "/api/r/{id}/answers"
        yield ApiRoute("GET", path, "the questions, and the systems that answer", NoRequest, AnswerView, self._view)
        about = "two answers side by side, with claims and evidence"
        yield ApiRoute("GET", f"{path}/pair", about, AnswerPairRequest, AnswerPair, self._pair)
        about = "saves the label of a claim that a person chose"
        yield ApiRoute("POST", f"{path}/label", about, ChosenLabelRequest, ChosenLabel, self._label, needs="edit")
        about = "the next two answers without their systems, in random order"
        yield ApiRoute("GET", f"{path}/duel", about, NoRequest, Duel, self._duel)
        about = "saves which of two answers is better"
        yield ApiRoute("POST", f"{path}/duel", about, PreferenceRequest, Duel, self._prefer, needs="edit")
        yield ApiRoute(
            "GET", f"{path}/counts", "how often each system was preferred", NoRequest, AnswerPreferences, self._preference_counts
        )

    def _page(self, entry: LibraryEntry) -> PageResponse:
        results = self._results(entry)
        data = json_block({"id": entry.id})
        title = f"Answers of {results.name}"
        return module_page(
            "answers.html.j2", "answers.js", styles=["bench.css", "answers.css"], title=title, data=data, id=entry.id
        )

    def _results(self, entry: LibraryEntry) -> ExperimentResult:
        results = self._library.results(entry)
        if not _systems(results):
            raise HttpError(404, "these results have no answers")
        return results

    def _view(self, call: ApiCall, request: NoRequest) -> AnswerView:
        results = self._results(call.entry)
        asked = dict.fromkeys(query for run in results.system_runs for query in run.answers or ())
        questions = (AnswerQuestion(query, results.texts[query].text if query in results.texts else "") for query in asked)
        return AnswerView(results.name, _systems(results), tuple(questions), self._writes, "" if self._writes else _EDIT)

    def _pair(self, call: ApiCall, request: AnswerPairRequest) -> AnswerPair:
        results = self._results(call.entry)
        for system in (request.a, request.b):
            if system not in _systems(results):
                raise HttpError(400, "no such system with answers")
        log = self._label_log(call) if self._writes and len(self._people) == 1 else None
        sides = []
        for system in (request.a, request.b):
            own = {} if log is None else _own_labels(log, results, request.query, system)
            sides.append(answer_side(results, request.query, system, own))
        text = results.texts[request.query].text if request.query in results.texts else ""
        return AnswerPair(request.query, text, _references(results, request.query), tuple(sides))

    def _label(self, call: ApiCall, request: ChosenLabelRequest) -> ChosenLabel:
        results, log = self._results(call.entry), self._label_log(call)
        items = {item.id: item for _, item in answer_items(results, request.query, request.system)}
        if request.claim not in items:
            raise HttpError(400, "this claim is not in the answer; reload the page")
        item, fingerprint = items[request.claim], build_claim_queue(results, draw_claims(results)).fingerprint
        label = request.label
        record_change(lambda: log.undo(item, fingerprint) if label is None else log.save(item, label, (), fingerprint))
        saved = log.label(request.claim)
        return ChosenLabel(None if saved is None else saved.label)

    def _label_log(self, call: ApiCall) -> LabelLog:
        path = f"{os.path.normpath(call.entry.path)}{CHOSEN_LABELS}"
        if path not in self._labels:
            if len(self._people) != 1:
                raise HttpError(409, "claims are labelled by one person at a time; start serve with one name: --assessor NAME")
            self._labels[path] = LabelLog(path, self._people[0])
        return self._labels[path]

    def _duel(self, call: ApiCall, request: NoRequest) -> Duel:
        results, person = self._results(call.entry), self._person(call)
        return self._next(call, results, person)

    def _next(self, call: ApiCall, results: ExperimentResult, person: str) -> Duel:
        duels = sorted(_duels(results), key=lambda duel: duel.key(f"{person} order"))
        decided = {made.key for made in self._made(call, results)}
        open_duels = [duel for duel in duels if _preference(duel, results, person, TIE).key not in decided]
        done, of = len(duels) - len(open_duels), len(duels)
        if not open_duels:
            return Duel("", "", (), "", "", done, of)
        duel = open_duels[0]
        first, second = duel.texts[::-1] if duel.is_swapped(person) else duel.texts
        text = results.texts[duel.query].text if duel.query in results.texts else ""
        return Duel(duel.key(person), text, _references(results, duel.query), first, second, done, of)

    def _made(self, call: ApiCall, results: ExperimentResult) -> tuple[AnswerPreference, ...]:
        return self._preferences.log(call.entry).preferences(_dataset(results)) if self._writes else ()

    def _prefer(self, call: ApiCall, request: PreferenceRequest) -> Duel:
        results, person, log = self._results(call.entry), self._person(call), self._preferences.log(call.entry)
        duel = next((duel for duel in _duels(results) if duel.key(person) == request.key), None)
        if duel is None:
            raise HttpError(409, "these answers have changed; reload the page")
        made = _preference(duel, results, person, _preferred_system(duel, person, request.preferred))
        record_change(lambda: log.undo(made) if request.preferred is None else log.save(made))
        return self._next(call, results, person)

    def _preference_counts(self, call: ApiCall, request: NoRequest) -> AnswerPreferences:
        results = self._results(call.entry)
        present = {(duel.query, *duel.systems, duel.digest) for duel in _duels(results)}
        counts: dict[tuple[str, str], Counter[str]] = {}
        for made in self._made(call, results):
            if (made.query, made.a, made.b, made.answers) in present:
                counts.setdefault((made.a, made.b), Counter())[made.preferred] += 1
        return AnswerPreferences(
            tuple(PreferredAnswers(a, b, count[a], count[b], count[TIE]) for (a, b), count in sorted(counts.items()))
        )

    def _person(self, call: ApiCall) -> str:
        if len(self._people) == 1:
            return self._people[0]
        if call.person is None or call.person not in self._people:
            raise HttpError(
                409, f"{_EDIT}, and choose who you are on the page Judge" if not self._people else "choose who you are first"
            )
        return call.person


def _systems(results: ExperimentResult) -> tuple[str, ...]:
    return tuple(run.name for run in results.system_runs if run.answers is not None)


def _references(results: ExperimentResult, query: str) -> tuple[str, ...]:
    references = references_from_queries(results.texts)
    return tuple(references[query].answers) if query in references else ()


def _dataset(results: ExperimentResult) -> str:
    return str(results.provenance.get("dataset") or "")


def _own_labels(log: LabelLog, results: ExperimentResult, query: str, system: str) -> dict[str, str]:
    labels = ((item.id, log.label(item.id)) for _, item in answer_items(results, query, system))
    return {id: record.label for id, record in labels if record is not None and record.label is not None}


def _duels(results: ExperimentResult) -> Iterator[_AnswerDuel]:
    """Each pair of systems with different answers to a question."""
    answers = {run.name: run.answers for run in results.system_runs if run.answers is not None}
    for a, b in combinations(sorted(answers), 2):
        for query in answers[a]:
            texts = [answers[name][query].text.strip() if query in answers[name] else "" for name in (a, b)]
            if all(texts) and texts[0] != texts[1]:
                yield _AnswerDuel(query, (a, b), (texts[0], texts[1]))


def _preferred_system(duel: _AnswerDuel, person: str, preferred: str | None) -> str:
    shown = duel.systems[::-1] if duel.is_swapped(person) else duel.systems
    return {"first": shown[0], "second": shown[1]}.get(preferred or "", TIE)


def _preference(duel: _AnswerDuel, results: ExperimentResult, person: str, preferred: str) -> AnswerPreference:
    shown_first = duel.systems[1] if duel.is_swapped(person) else duel.systems[0]
    return AnswerPreference(duel.query, *duel.systems, preferred, shown_first, duel.digest, _dataset(results), person)
