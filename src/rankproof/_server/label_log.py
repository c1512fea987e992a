"""The claims that people label, all of questions drawn at random, and their labels: a file and its log."""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from rankproof._data import format_versions
from rankproof._data.claims import Against, Evidence, Side
from rankproof._data.text import pluralise
from rankproof._formats.claims import ClaimLabel
from rankproof._io.files import log_path, open_plain_file, unreadable_file_error
from rankproof._results.experiment_result import ExperimentResult
from rankproof._results.label_tasks import DEFAULT_QUESTIONS, ClaimItem, ClaimTexts, LabelDraw, claims_to_label
from rankproof._results.provenance import utc_now
from rankproof._server.logged_file import (
    LogFormat,
    LoggedFile,
    LogRecord,
    check_assessor,
    visible_line,
)
from rankproof.errors import UsageError, for_message


@dataclass(frozen=True, eq=False, slots=True)
class ClaimQueue:
    """The claims of the first questions of a draw, in random order within a question, the same for every person.

    `fingerprint` identifies the questions. `sizes` has the number of claims of each question, `every` the ids of all claims.
    `left_out` counts the claims whose texts the results do not have.
    """

    fingerprint: str
    draw: LabelDraw
    items: Mapping[str, ClaimItem]
    sizes: tuple[int, ...]
    every: frozenset[str]
    left_out: int


def build_claim_queue(results: ExperimentResult, draw: LabelDraw, most: int = DEFAULT_QUESTIONS) -> ClaimQueue:
    """The claims of at most `most` questions; claims that are added to the results later do not change the order of others."""
    texts, items_by_id, left_out = _texts(results), dict[str, ClaimItem](), 0
    for verdict in claims_to_label(results.claims):
        item = texts.item(verdict)
        if item is None:
            left_out += 1
        else:
            items_by_id[item.id] = _joined(items_by_id.get(item.id), item)
    shown: dict[str, list[ClaimItem]] = {question: [] for question in draw.questions[:most]}
    for id in sorted(items_by_id, key=lambda id: hashlib.sha256(f"{draw.seed} {id}".encode()).digest()):
        if items_by_id[id].query in shown:
            shown[items_by_id[id].query].append(items_by_id[id])
    items = {item.id: item for items in shown.values() for item in items}
    return ClaimQueue(_fingerprint(results), draw, items, tuple(map(len, shown.values())), frozenset(items_by_id), left_out)


def _fingerprint(results: ExperimentResult) -> str:
    """Of the questions alone: references, nuggets and systems may be added without changing what was labelled."""
    questions = sorted((query, results.texts[query].text) for query in results.texts)
    return hashlib.sha256(json.dumps(questions).encode()).hexdigest()


def _joined(known: ClaimItem | None, item: ClaimItem) -> ClaimItem:
    return item if known is None else replace(known, systems=tuple(dict.fromkeys((*known.systems, *item.systems))))


def _texts(results: ExperimentResult) -> ClaimTexts:
    answers = {run.name: run.answers for run in results.system_runs if run.answers is not None}
    return ClaimTexts(results.texts, answers, results.contexts)


LabelAction = Literal["labelled", "undone"]
LABELS_WITH_EVIDENCE: tuple[ClaimLabel, ...] = ("supported", "contradicted")


@dataclass(frozen=True, slots=True)
class LoggedLabel(LogRecord):
    """A label or an undo; `label` and `previous` are None if the claim has no label of the person after or before it.

    `item` identifies the claim with its texts; `systems` are those that it is a claim of.
    """

    what: LabelAction
    item: str
    query: str
    systems: tuple[str, ...]
    side: Side
    n: int
    reference: int
    against: Against
    text: str
    label: ClaimLabel | None
    previous: ClaimLabel | None
    evidence: Evidence
    person: str
    when: str
    score: float | None = None

    @property
    def key(self) -> tuple[str, str]:
        """The person and the claim."""
        return self.person, self.item

    def written(self) -> bytes:
        """A line of the file of labels for each system."""
        fields = {"side": self.side, "n": self.n, "against": self.against, "text": self.text, "label": self.label}
        more = {"person": self.person, "when": self.when, **self._rarely_set()}
        lines = ({"query": self.query, "system": system, **fields, **more} for system in self.systems)
        return b"".join(map(visible_line, lines))

    def _rarely_set(self) -> dict[str, Any]:
        reference = {} if self.reference == 1 else {"reference": self.reference}
        score = {} if self.score is None else {"score": self.score}
        return {**reference, **score, **({"evidence": self.evidence} if self.evidence else {})}


def is_evidence(value: Any) -> bool:
    """Whether the value is a list of pairs of whole numbers."""
    return isinstance(value, list) and all(
        isinstance(pair, list) and len(pair) == 2 and all(type(number) is int for number in pair) for pair in value
    )


_FORMAT = LogFormat(
    name="rankproof-labels",
    schema=format_versions.LABEL_LOG,
    kind=LoggedLabel,
    record="label",
    others="other questions",
    option="--labels",
    example="people.jsonl",
)


def labels_file(folder: str) -> str:
    """The file beside a results folder that holds the labels of its claims."""
    return f"{os.path.normpath(folder)}.people.jsonl"


def check_labels_path(path: str) -> str:
    """The resolved path; raises an error if labels cannot be written there."""
    return _FORMAT.check_path(path)


def labels_by_person(path: str) -> Counter[str]:
    """How many claims each person has labelled, in the log of a file of labels; none without a log."""
    log = log_path(os.path.realpath(path))
    try:
        with open_plain_file(log) as file:
            content = file.read()
    except FileNotFoundError:
        return Counter()
    except OSError as error:
        raise unreadable_file_error(Path(log), error) from None
    _, records = _FORMAT.read(content, log)
    return Counter(record.person for record in _FORMAT.history(records, log).last_of_each())


class LabelLog(LoggedFile[LoggedLabel]):
    """Labels of the claims of one results folder, by several people, one at a time."""

    def __init__(self, path: str, person: str, clock: Callable[[], str] = utc_now) -> None:
        self.person, self._clock = check_assessor(person), clock
        super().__init__(path, _FORMAT)

    def check_claims(self, queue: ClaimQueue) -> None:
        """Raises an error if a label is of a claim that the results do not have: its text, or what it was checked against."""
        self.check_collection(queue.fingerprint)
        with self._lock:
            other = sum(record.item not in queue.every for record in self._history.last_of_each())
        if other:
            what = f"{for_message(self.path)} has {pluralise(other, 'label')} of other answers, contexts or references"
            raise UsageError(what, fix=_FORMAT.restart_fix)

    def last(self, queue: ClaimQueue) -> str | None:
        """The claim of the queue that this person labelled last."""
        with self._lock:
            own = (record.item for record in self._history.newest_first() if record.person == self.person)
            return next((item for item in own if item in queue.items), None)

    def label(self, item: str) -> LoggedLabel | None:
        """The label that this person gave to a claim, None if there is none."""
        return self._history.of((self.person, item))

    def save(
        self, item: ClaimItem, label: ClaimLabel, evidence: Evidence, fingerprint: str, *, score: float | None = None
    ) -> None:
        """Saves a label of this person, of an answer that is graded with its score; it is on disk when this returns."""
        with self._lock:
            record = self._record("labelled", item, label, _label_of(self.label(item.id)), evidence)
            self._append(replace(record, score=score), fingerprint)

    def undo(self, item: ClaimItem, fingerprint: str) -> None:
        """Removes this person's last label of the claim, which restores the previous one or none."""
        with self._lock:
            last, before = self.label(item.id), self._history.before((self.person, item.id))
            if last is None:
                raise UsageError("this claim has no label", fix="label it first")
            evidence = () if before is None else before.evidence
            record = self._record("undone", item, _label_of(before), last.label, evidence)
            self._append(replace(record, score=None if before is None else before.score), fingerprint)

    def _record(
        self, what: LabelAction, item: ClaimItem, label: ClaimLabel | None, previous: ClaimLabel | None, evidence: Evidence
    ) -> LoggedLabel:
        return LoggedLabel(
            what=what,
            item=item.id,
            query=item.query,
            systems=item.systems,
            side=item.claim.side,
            n=item.claim.n,
            reference=item.claim.reference,
            against=item.against,
            text=item.claim.text,
            label=label,
            previous=previous,
            evidence=evidence,
            person=self.person,
            when=self._clock(),
        )


def _label_of(record: LoggedLabel | None) -> ClaimLabel | None:
    return None if record is None else record.label
