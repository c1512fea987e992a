"""The page on which people label claims, and its requests."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from threading import Lock
from typing import Any

from rankproof._data.claims import CRITERION, USEFUL_SCORE, Against, Evidence, Rubric, Side
from rankproof._formats.claims import CLAIM_LABELS, ClaimLabel
from rankproof._io.escape import json_block
from rankproof._results.criteria import stored_rubric
from rankproof._results.label_tasks import DEFAULT_QUESTIONS, ClaimItem, continued_draw, draw_claims
from rankproof._results.result_json import CLAIMS_FILE
from rankproof._server.label_log import (
    LABELS_WITH_EVIDENCE,
    ClaimQueue,
    LabelLog,
    build_claim_queue,
    check_labels_path,
    is_evidence,
    labels_by_person,
    labels_file,
)
from rankproof._server.library import LibraryEntry, LruCache, ResultsLibrary, results_stamp
from rankproof._server.responses import HttpError, PageResponse, html_page, json_response, page_script
from rankproof.errors import RankproofError, UsageError, escape_invisible

_MAX_QUEUES = 8
_MAX_SIZES = 10_000
_SOURCE_NAMES: Mapping[Against, tuple[str, str]] = {
    "contexts": ("Do the contexts", "Context"),
    "cited": ("Do the cited contexts", "Context"),
    "reference": ("Does the reference", "Reference"),
    "answer": ("Does the answer", "Answer"),
}
"""The beginning of the question to the person, and the name of one text."""
_SIDE_NAMES: Mapping[Side, str] = {"answer": "Answer", "reference": "Reference", "nugget": "Nugget"}
LABEL_NAMES = {
    "supported": ("Supported", "the texts say it"),
    "contradicted": ("Contradicted", "the texts say otherwise"),
    "not_stated": ("Not stated", "the texts say neither"),
    "nothing_to_check": ("Nothing to check", "it states no fact"),
}


@dataclass(frozen=True, slots=True)
class LabelOptions:
    """The person, how many questions are labelled, and the seed of a new draw. `file` is None for the default file."""

    person: str
    questions: int = DEFAULT_QUESTIONS
    seed: int = 0
    file: str | None = None


@dataclass(frozen=True, slots=True)
class LabelCounts:
    """How many claims of how many questions there are to label, and how many each person has labelled.

    `command` uses the labels. `why` is the reason if the labels cannot be read.
    """

    claims: int
    questions: int
    people: Mapping[str, int]
    command: str
    why: str = ""


def holds_claims(library: ResultsLibrary, entry: LibraryEntry) -> bool:
    """Whether the results have claims."""
    if entry.is_folder:
        return os.path.exists(os.path.join(entry.path, CLAIMS_FILE))
    return bool(library.results(entry).claims)


class LabellingPages:
    """The labelling page of each results folder; its log is opened with the page, and locked until `close`."""

    def __init__(self, library: ResultsLibrary, options: LabelOptions) -> None:
        self._library, self._options, self._lock = library, options, Lock()
        if options.file is not None:
            check_labels_path(options.file)
        self._logs: dict[str, tuple[LabelLog, str]] = {}
        self._queues: LruCache[ClaimQueue] = LruCache(_MAX_QUEUES)
        self._sizes: LruCache[tuple[int, int]] = LruCache(_MAX_SIZES)

    def close(self) -> None:
        """Closes the logs."""
        with self._lock:
            for log, _ in self._logs.values():
                log.close()
            self._logs.clear()

    def commands(self) -> list[str]:
        """The commands that use the labels of the opened pages."""
        with self._lock:
            return [command for log, command in self._logs.values() if labels_by_person(log.path)]

    def has_claims(self, entry: LibraryEntry) -> bool:
        """Whether the results have claims."""
        return holds_claims(self._library, entry)

    def counts(self, entry: LibraryEntry) -> LabelCounts | None:
        """What is labelled, and by whom; None for results without claims."""
        if not self.has_claims(entry):
            return None
        command = self._command(entry)
        try:
            sizes = self._sizes.get_or_create((entry.id, results_stamp(entry)), lambda: self._size(entry))
            return LabelCounts(*sizes, labels_by_person(self._file(entry)), command)
        except RankproofError as error:
            return LabelCounts(0, 0, {}, command, str(error))

    def _size(self, entry: LibraryEntry) -> tuple[int, int]:
        queue = self._queue(entry)
        return len(queue.items), len(queue.sizes)

    def drawn_queue(self, entry: LibraryEntry) -> ClaimQueue | None:
        """The claims of the drawn questions, None for results without claims; an error if the file is of others."""
        return self._checked(entry)[0] if self.has_claims(entry) else None

    def _checked(self, entry: LibraryEntry) -> tuple[ClaimQueue, LabelLog]:
        """The claims and the log of the page; an error if the labels in the file are of others, or not of a random draw."""
        queue, log = self._queue(entry), self._log(entry)
        log.check_unchanged()
        log.check_claims(queue)
        log.use_draw(queue.draw)
        return queue, log

    def page(self, entry: LibraryEntry) -> PageResponse:
        """The page with the claims of the drawn questions that have no label of this person."""
        queue, log = self._checked(entry)
        data = {
            "claim": f"/r/{entry.id}/claim",
            "label": f"/r/{entry.id}/label",
            "undo": f"/r/{entry.id}/unlabel",
            "claims": list(queue.items),
            "sizes": queue.sizes,
            "last": log.last(queue),
            "names": {label: name for label, (name, _) in LABEL_NAMES.items()},
            "marked": LABELS_WITH_EVIDENCE,
            **_labels_so_far(queue, log),
        }
        return html_page(
            "label.html.j2",
            title="Label claims",
            script=page_script("changes.js", "label.js"),
            data=json_block(data),
            queue=queue,
            labels=LABEL_NAMES,
            counts=self.counts(entry),
            person=log.person,
            file=os.path.basename(log.path),
            cut=log.cut,
        )

    def claim(self, entry: LibraryEntry, id: str) -> PageResponse:
        """A claim with its texts, and this person's label."""
        item, own = _item(self._queue(entry), id), self._log(entry).label(id)
        label, evidence = (None, ()) if own is None else (own.label, own.evidence)
        rubric = self._rubric(entry, item)
        given = None if rubric is None or own is None or own.score is None else rubric.grade(own.score)
        graded = {} if rubric is None else {"asked": rubric.question, "grades": list(rubric.grades.items()), "grade": given}
        return json_response(200, {**_shown_texts(item), **graded, "label": label, "evidence": evidence})

    def _rubric(self, entry: LibraryEntry, item: ClaimItem) -> Rubric | None:
        """The rubric by which a person grades an item; None for a claim."""
        if not item.against.startswith(CRITERION):
            return None
        return stored_rubric(self._library.results(entry), item.against)

    def label(self, entry: LibraryEntry, body: dict[str, Any]) -> PageResponse:
        """Saves a label."""
        queue, log = self._checked(entry)
        item, label = _item(queue, body.get("claim")), body.get("label")
        rubric = self._rubric(entry, item)
        if rubric is not None:
            if type(grade := body.get("grade")) is not int or grade not in rubric.grades:
                raise HttpError(400, f"the grade must be one of {', '.join(map(str, rubric.grades))}")
            score = rubric.score(grade)
            graded: ClaimLabel = "supported" if score >= USEFUL_SCORE else "not_stated"
            return _record_change(queue, log, lambda: log.save(item, graded, (), queue.fingerprint, score=score))
        if label not in CLAIM_LABELS:
            raise HttpError(400, f"the label must be one of {', '.join(CLAIM_LABELS)}")
        evidence = _evidence(item, body.get("evidence", []))
        if evidence and label not in LABELS_WITH_EVIDENCE:
            raise HttpError(400, f"the label {label} has no evidence")
        return _record_change(queue, log, lambda: log.save(item, label, evidence, queue.fingerprint))

    def undo(self, entry: LibraryEntry, body: dict[str, Any]) -> PageResponse:
        """Removes the last label of a claim."""
        queue, log = self._checked(entry)
        item = _item(queue, body.get("claim"))
        return _record_change(queue, log, lambda: log.undo(item, queue.fingerprint))

    def _queue(self, entry: LibraryEntry) -> ClaimQueue:
        return self._queues.get_or_create((entry.id, results_stamp(entry)), lambda: self._make_queue(entry))

    def _make_queue(self, entry: LibraryEntry) -> ClaimQueue:
        results = self._library.results(entry)
        draw = continued_draw(self._file(entry), draw_claims(results, self._options.seed))
        return build_claim_queue(results, draw, self._options.questions)

    def _log(self, entry: LibraryEntry) -> LabelLog:
        if "," in self._options.person:
            raise UsageError("claims are labelled by one person at a time", fix="start serve with one name: --assessor NAME")
        file = self._file(entry)
        with self._lock:
            if file not in self._logs:
                self._logs[file] = LabelLog(file, self._options.person), self._command(entry)
            return self._logs[file][0]

    def _command(self, entry: LibraryEntry) -> str:
        words = ["rankproof", "answers", shown_path(entry.path), "--labels", shown_path(self._file(entry))]
        return shlex.join(words)

    def _file(self, entry: LibraryEntry) -> str:
        return self._options.file or labels_file(entry.path)


def shown_path(path: str) -> str:
    """The path from the current folder, or the whole path if it is elsewhere."""
    relative = os.path.relpath(path)
    return path if relative.startswith(os.pardir) else relative


def _record_change(queue: ClaimQueue, log: LabelLog, change: Callable[[], None]) -> PageResponse:
    try:
        change()
    except RankproofError as error:
        raise HttpError(409 if isinstance(error, UsageError) else 500, str(error)) from None
    return json_response(200, _labels_so_far(queue, log))


def _labels_so_far(queue: ClaimQueue, log: LabelLog) -> dict[str, Any]:
    """This person's label of each claim of the queue that has one."""
    labels = ((id, log.label(id)) for id in queue.items)
    return {"labels": {id: record.label for id, record in labels if record is not None}}


def _item(queue: ClaimQueue, id: object) -> ClaimItem:
    item = queue.items.get(id) if isinstance(id, str) else None
    if item is None:
        raise HttpError(400, "this claim is not in the list; reload the page")
    return item


def _evidence(item: ClaimItem, value: Any) -> Evidence:
    if not is_evidence(value):
        raise HttpError(400, "evidence must be a list of pairs of a text and a sentence")
    evidence = tuple(sorted({(number, sentence) for number, sentence in value}))
    if not item.has_evidence(evidence):
        raise HttpError(400, "evidence names a sentence that the texts do not have")
    return evidence


def _shown_texts(item: ClaimItem) -> dict[str, Any]:
    """The texts of the page; none says which system or judge the claim has."""
    (asked, name), side = _SOURCE_NAMES.get(item.against, ("", "Text")), _SIDE_NAMES[item.claim.side]
    item_name = side if item.claim.side == "nugget" else "Claim"
    start, end = item.span or (0, 0)
    parts = (item.side_text[:start], item.side_text[start:end], item.side_text[end:])
    return {
        "question": _visible(item.question),
        "asked": f"{asked} support the {'highlighted text' if item.span else item_name.lower()}?",
        "side": side,
        "claim_name": item_name,
        "claim": None if item.span else _visible(item.claim.text),
        "text": [_visible(part) for part in parts],
        "sources": [
            {
                "number": source.number,
                "name": name if item.against == "answer" else f"{name} {source.number}",
                "sentences": [_visible(source.text[start:end]) for start, end in source.spans],
            }
            for source in item.sources()
        ],
    }


_KEPT = "\n\u200c\u200d"
"""Line breaks, and the joiners that several scripts are written with."""


def _visible(text: str) -> str:
    """The text with other invisible characters as escapes."""
    plain = text.replace("\r\n", "\n").replace("\t", "    ")
    return plain if plain.isprintable() else "".join(char if char in _KEPT else escape_invisible(char) for char in plain)
