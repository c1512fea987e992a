"""The page on which people judge, and its requests."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from itertools import islice
from typing import Any

from rankproof._io.escape import json_block
from rankproof._results.experiment_result import ExperimentResult
from rankproof._results.judgements import with_judgements
from rankproof._results.label_tasks import complete_judgements, read_label_draw
from rankproof._server.judgement_log import MAX_NOTE_LENGTH, JudgementLog, QueryAndDoc
from rankproof._server.judging_queue import (
    MAX_QUEUE_ITEMS,
    JudgingQueue,
    QueueItem,
    check_same_scale,
    checked_grade,
    offered_scale,
    rubric_of,
)
from rankproof._server.logged_file import check_assessors
from rankproof._server.responses import HttpError, PageResponse, html_page, json_response, module_page, page_script
from rankproof.errors import RankproofError, UsageError, escape_invisible


class JudgingPage:
    """The judging page and its requests, on top of the judgement log; `assessors` are the people who judge.

    With several people, each browser chooses one of them first. Nobody sees the grades of others here.
    """

    def __init__(self, log: JudgementLog, *assessors: str) -> None:
        self.log, self.assessors = log, check_assessors(assessors)

    def assessor(self, chosen: str | None) -> str | None:
        """The person at a browser: the only one, or the chosen one; None if that is nobody here."""
        if len(self.assessors) == 1:
            return self.assessors[0]
        return chosen if chosen in self.assessors else None

    def required(self, chosen: str | None) -> str:
        """The person at a browser, for a change."""
        if (assessor := self.assessor(chosen)) is None:
            raise HttpError(409, "choose who you are first; reload the page")
        return assessor

    def choice(self, id: str, name: str, chosen: str | None) -> PageResponse:
        """The page on which a browser chooses its person."""
        return html_page(
            "assessor.html.j2",
            title=f"Who judges {name}?",
            script=page_script("changes.js", "assessor.js"),
            data=json_block({"choose": f"/r/{id}/assessor", "next": f"/r/{id}/judge", "assessors": self.assessors}),
            assessors=self.assessors,
            chosen=self.assessor(chosen),
        )

    def choose(self, body: dict[str, Any]) -> PageResponse:
        """Keeps the chosen name in the browser."""
        name = body.get("assessor")
        if not isinstance(name, str) or name not in self.assessors:
            raise HttpError(400, f"the assessor must be one of {', '.join(self.assessors)}")
        return json_response(200, {"assessor": name}, assessor=name)

    def check(self, results: ExperimentResult) -> None:
        """Raises an error if the grades in the file are of other data or of another scale, or if it was changed elsewhere."""
        self.log.check_unchanged()
        self.log.check_collection(results.fingerprint)
        grades = (judgement.grade for judgement in self.log.merged())
        check_same_scale(grades, offered_scale(results.qrels, results.name), self.log.path, "--judge")

    def page(self, id: str, name: str, queue: JudgingQueue, assessor: str) -> PageResponse:
        """The page with the queue of a person."""
        indices = {pair: at for at, pair in enumerate(queue.items)}
        last = self.log.last(assessor)
        shown = self._shown_pairs(queue, assessor)
        data = {
            "judge": f"/r/{id}/judge",
            "undo": f"/r/{id}/undo",
            "progress": f"/api/r/{id}/progress",
            "assessor": assessor,
            "pairs": [_item_fields(item) if item.pair in shown else None for item in queue.items.values()],
            "beginnings": [at for at, item in enumerate(queue.items.values()) if not item.is_complete],
            "last": None if last is None else indices.get(last),
            "sizes": queue.sizes,
            **self._grades_so_far(queue, assessor),
        }
        return module_page(
            "judge.html.j2",
            "judge.js",
            styles=["judging.css"],
            title=f"Judge {name}",
            id=id,
            data=json_block(data),
            queue=queue,
            rubric=rubric_of(queue.scale),
            beginnings=any(not item.is_complete for item in queue.items.values()),
            assessor=assessor,
            several=len(self.assessors) > 1,
            longest_note=MAX_NOTE_LENGTH,
            file=os.path.basename(self.log.path),
        )

    def _shown_pairs(self, queue: JudgingQueue, assessor: str) -> set[QueryAndDoc]:
        """The pairs on the page: all of a short queue, else the first without a grade, and the one judged last."""
        if len(queue.items) <= MAX_QUEUE_ITEMS:
            return set(queue.items)
        ungraded = (pair for pair in queue.items if self.log.grade(pair, assessor) is None)
        last = self.log.last(assessor)
        return {*islice(ungraded, MAX_QUEUE_ITEMS), *([last] if last else [])}

    def measured(self, results: ExperimentResult) -> ExperimentResult:
        """The results measured with the grades so far; of a random draw with those of complete questions.

        Grades of a random draw that check a machine judge are labels, which the decision takes up.
        People look at the decision while grades arrive, so it has the limits for many looks.
        """
        qrels, names = self.log.judgements()
        if not qrels:
            raise UsageError("there are no grades yet", fix="judge some pairs first")
        draw = read_label_draw(self.log.path)
        if draw is not None and results.qrels.judge_labels:
            return replace(results, labels=(self.log.path,))
        if draw is not None:
            qrels = complete_judgements(results, draw, qrels)
            if not qrels:
                raise UsageError("no question is complete", fix="judge all documents of the first question")
        settings = replace(results.decision_settings, looks="many")
        return with_judgements(replace(results, decision_settings=settings), qrels, names=names)

    def judge(self, queue: JudgingQueue, body: dict[str, Any], assessor: str) -> PageResponse:
        """Saves a grade and its note; the response has the ranks of the document in the systems."""
        item, grade, note = _requested_item(queue, body), checked_grade(body.get("grade"), queue.scale), requested_note(body)
        check_person(body, assessor)
        return self._change(queue, item, assessor, lambda: self.log.judge(item.pair, grade, queue.fingerprint, assessor, note))

    def undo(self, queue: JudgingQueue, body: dict[str, Any], assessor: str) -> PageResponse:
        """Removes the person's last judgement of a pair."""
        item = _requested_item(queue, body)
        check_person(body, assessor)
        return self._change(queue, item, assessor, lambda: self.log.undo(item.pair, queue.fingerprint, assessor))

    def _change(self, queue: JudgingQueue, item: QueueItem, assessor: str, change: Callable[[], None]) -> PageResponse:
        record_change(change)
        grade = self.log.grade(item.pair, assessor)
        ranks = "" if grade is None else item.system_ranks
        return json_response(200, {"grade": grade, "system_ranks": ranks, **self._grades_so_far(queue, assessor)})

    def _grades_so_far(self, queue: JudgingQueue, assessor: str) -> dict[str, Any]:
        """The person's grades by the index of the pair in the queue."""
        grades = ((at, self.log.grade(pair, assessor)) for at, pair in enumerate(queue.items))
        return {"grades": {at: grade for at, grade in grades if grade is not None}}


def record_change(change: Callable[[], object]) -> None:
    """Makes a change of the log; what it refuses becomes the error of the request."""
    try:
        change()
    except RankproofError as error:
        raise HttpError(409 if isinstance(error, UsageError) else 500, str(error)) from None


def _item_fields(item: QueueItem) -> list[str]:
    """The ids for requests, then the ids and texts with invisible characters escaped."""
    return [*item.pair, *map(shown_line, (item.query, item.doc, item.text, item.passage))]


def shown_line(text: str) -> str:
    """The text as one line, with invisible characters escaped."""
    return escape_invisible(" ".join(text.split()))


def requested_pair(body: dict[str, Any]) -> QueryAndDoc:
    """The pair that a request is about."""
    query, doc = body.get("query"), body.get("doc")
    if not isinstance(query, str) or not isinstance(doc, str):
        raise HttpError(400, "query and doc must be strings")
    return query, doc


def _requested_item(queue: JudgingQueue, body: dict[str, Any]) -> QueueItem:
    item = queue.items.get(requested_pair(body))
    if item is None:
        raise HttpError(400, "this pair is not in the list; reload the page")
    return item


def requested_note(body: dict[str, Any]) -> str:
    """The note of a request, which is optional."""
    note = body.get("note", "")
    if not isinstance(note, str) or len(note) > MAX_NOTE_LENGTH:
        raise HttpError(400, f"the note must be a text of at most {MAX_NOTE_LENGTH:,} characters")
    return note


def check_person(body: dict[str, Any], assessor: str) -> None:
    """Refuses a change from a page of another person: another tab of the same browser chose another name since."""
    if body.get("assessor", assessor) != assessor:
        raise HttpError(409, "another tab of this browser chose another assessor; reload the page")
