"""Human judgements of documents by several people: their log, and the qrels file that is merged from it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from rankproof._analysis.rater_agreement import Rater
from rankproof._data import format_versions
from rankproof._data.qrels import HUMAN_PREFIX, Judgement, Qrels
from rankproof._results.judgements import merged_grade
from rankproof._results.provenance import utc_now
from rankproof._server.logged_file import History, LogFormat, LoggedFile, LogRecord
from rankproof.errors import UsageError

QueryAndDoc = tuple[str, str]
"""The ids of a query and a document."""
JudgementAction = Literal["judged", "undone", "adjudicated", "adjudication undone"]
_JUDGEMENTS: tuple[JudgementAction, JudgementAction] = ("judged", "undone")
_ADJUDICATIONS: tuple[JudgementAction, JudgementAction] = ("adjudicated", "adjudication undone")
MAX_NOTE_LENGTH = 1000
_WITHOUT_NOTES = 2


@dataclass(frozen=True, slots=True)
class LoggedJudgement(LogRecord):
    """A judgement, an adjudication, or the undo of one, by a person.

    `grade` and `previous` are None if there is no grade after or before it.
    """

    what: JudgementAction
    query: str
    doc: str
    grade: int | None
    previous: int | None
    assessor: str
    when: str
    note: str = ""

    @property
    def pair(self) -> QueryAndDoc:
        """The ids of the query and the document."""
        return self.query, self.doc

    @property
    def is_adjudication(self) -> bool:
        """Whether it is about the adjudicated grade, not about the grade of one person."""
        return self.what in _ADJUDICATIONS

    @property
    def key(self) -> tuple[str, str, str | None]:
        """The pair and the person; a pair has one adjudicated grade, whoever gave it."""
        return (*self.pair, None if self.is_adjudication else self.assessor)

    @property
    def is_undo(self) -> bool:
        """Whether it takes a change back."""
        return self.what in (_JUDGEMENTS[1], _ADJUDICATIONS[1])

    def written(self) -> bytes:
        """The line of TREC qrels for this grade alone."""
        return MergedJudgement(self.pair, (self,)).written()


@dataclass(frozen=True, slots=True)
class MergedJudgement:
    """The grades that people gave to a pair, and the adjudicated one, if there is one."""

    pair: QueryAndDoc
    records: tuple[LoggedJudgement, ...]

    @property
    def adjudication(self) -> LoggedJudgement | None:
        """The adjudicated grade, None if there is none."""
        return next((record for record in self.records if record.is_adjudication), None)

    @property
    def individual(self) -> tuple[LoggedJudgement, ...]:
        """The grades of people, in the order of their first judgement of the pair."""
        return tuple(record for record in self.records if not record.is_adjudication)

    @property
    def grade(self) -> int:
        """The grade that counts: the adjudicated one, else the lower median."""
        return merged_grade(_grades([self.adjudication] if self.adjudication else self.individual))

    @property
    def distance(self) -> int:
        """The difference of the highest and the lowest grade of people."""
        grades = _grades(self.individual)
        return max(grades) - min(grades) if grades else 0

    @property
    def is_disputed(self) -> bool:
        """Whether people differ, or somebody adjudicated; that grade counts until it is undone, even if people agree since."""
        return self.distance > 0 or self.adjudication is not None

    @property
    def judged_by(self) -> str:
        """Who the grade is from: a name, several with a plus, or the name of who adjudicated."""
        if self.adjudication is not None:
            return f"{self.adjudication.assessor}:adjudicated"
        return "+".join(record.assessor for record in self.individual)

    def written(self) -> bytes:
        """The line of TREC qrels, with the names and the time of the last judgement in the second column."""
        when = self.adjudication.when if self.adjudication else max(record.when for record in self.individual)
        return f"{self.pair[0]} {HUMAN_PREFIX}{self.judged_by}@{when} {self.pair[1]} {self.grade}\n".encode()


def _grades(records: Iterable[LoggedJudgement]) -> list[int]:
    return [record.grade for record in records if record.grade is not None]


class JudgementHistory(History[LoggedJudgement]):
    """The judgements of all people; the file has one line for each pair."""

    def merged(self) -> Iterator[MergedJudgement]:
        """Each pair with its grades, in the order of the first judgement."""
        pairs: dict[QueryAndDoc, list[LoggedJudgement]] = {}
        for record in self.last_of_each():
            pairs.setdefault(record.pair, []).append(record)
        return (MergedJudgement(pair, tuple(records)) for pair, records in pairs.items())

    def written(self) -> Iterator[bytes]:
        """The lines of the file."""
        return (judgement.written() for judgement in self.merged())


class _JudgementFormat(LogFormat[LoggedJudgement]):
    """The format of the log, also of version 2, in which an undo is of the last grade of the pair, whoever gave it."""

    __slots__ = ()

    def make_history(self, records: Iterable[LoggedJudgement]) -> JudgementHistory:
        """The history of the records."""
        return JudgementHistory(records)

    def read(self, content: bytes, source: str) -> tuple[str | None, list[LoggedJudgement]]:
        """The fingerprint and the records."""
        fingerprint, records = super().read(content, source)
        return fingerprint, list(_undone_by_owner(records)) if _version(content) == _WITHOUT_NOTES else records


def _version(content: bytes) -> int:
    return (
        _WITHOUT_NOTES
        if f'"schema": {_WITHOUT_NOTES},'.encode() in content.partition(b"\n")[0]
        else format_versions.JUDGEMENT_LOG
    )


def _undone_by_owner(records: Sequence[LoggedJudgement]) -> Iterator[LoggedJudgement]:
    """The records, each undo with the name of the person whose grade it takes back."""
    assessors: dict[QueryAndDoc, list[str]] = {}
    for record in records:
        names = assessors.setdefault(record.pair, [])
        if record.what == "judged":
            names.append(record.assessor)
        elif record.what == "undone" and names:
            last = len(names) - 1 - names[::-1].index(record.assessor) if record.assessor in names else len(names) - 1
            record = replace(record, assessor=names.pop(last))
        yield record


_FORMAT = _JudgementFormat(
    name="rankproof-judgements",
    schema=format_versions.JUDGEMENT_LOG,
    kind=LoggedJudgement,
    record="judgement",
    others="another dataset",
    option="--judge",
    example="my.qrels",
    older=(_WITHOUT_NOTES,),
)


def checked_note(text: str) -> str:
    """The note without white space around it; an error if it is too long."""
    note = text.strip().encode(errors="replace").decode()
    if len(note) > MAX_NOTE_LENGTH:
        raise UsageError(f"the note has {len(note):,} characters", fix=f"shorten it to {MAX_NOTE_LENGTH:,}")
    return note


def read_judgement_log(content: bytes, source: str) -> JudgementHistory:
    """The judgements in the content of a log; an incomplete last line is skipped."""
    return _FORMAT.make_history(_FORMAT.read(content, source)[1])


class JudgementLog(LoggedFile[LoggedJudgement]):
    """Judgements of one dataset by several people, who may work at the same time."""

    def __init__(self, path: str, clock: Callable[[], str] = utc_now, option: str = _FORMAT.option) -> None:
        self._clock = clock
        super().__init__(path, replace(_FORMAT, option=option))

    def last(self, assessor: str) -> QueryAndDoc | None:
        """The pair that the person judged last."""
        with self._lock:
            last = self._history.last_where(lambda record: record.assessor == assessor and not record.is_adjudication)
        return None if last is None else last.pair

    def grade(self, pair: QueryAndDoc, assessor: str) -> int | None:
        """The grade that the person gave to the pair, None if there is none."""
        record = self._history.of((*pair, assessor))
        return None if record is None else record.grade

    def merged(self) -> list[MergedJudgement]:
        """Each judged pair with its grades."""
        with self._lock:
            assert isinstance(self._history, JudgementHistory)
            return list(self._history.merged())

    def judgements(self) -> tuple[Qrels, dict[QueryAndDoc, str]]:
        """The grades so far, merged, and who gave them."""
        merged = self.merged()
        rows = (Judgement(*judgement.pair, judgement.grade) for judgement in merged)
        return Qrels(rows, source=os.path.basename(self.path)), {judgement.pair: judgement.judged_by for judgement in merged}

    def judge(self, pair: QueryAndDoc, grade: int, fingerprint: str, assessor: str, note: str = "") -> None:
        """Saves the grade of a person; it is on disk when this returns."""
        self._save(pair, grade, fingerprint, assessor, checked_note(note), _JUDGEMENTS[0])

    def adjudicate(self, pair: QueryAndDoc, grade: int, fingerprint: str, assessor: str, note: str = "") -> None:
        """Saves the grade that counts for a pair; it is on disk when this returns.

        People differ on the pair, or it has an adjudicated grade: the grades of people may have become the same since.
        """
        dispute = next((judgement for judgement in self.merged() if judgement.pair == pair), None)
        if dispute is None or not dispute.is_disputed:
            raise UsageError("people do not differ on this pair", fix="reload the page")
        self._save(pair, grade, fingerprint, assessor, checked_note(note), _ADJUDICATIONS[0])

    def _save(self, pair: QueryAndDoc, grade: int, fingerprint: str, assessor: str, note: str, what: JudgementAction) -> None:
        with self._lock:
            key = (*pair, assessor if what in _JUDGEMENTS else None)
            before = self._history.of(key)
            previous = None if before is None else before.grade
            self._append(LoggedJudgement(what, *pair, grade, previous, assessor, self._clock(), note), fingerprint)

    def undo(self, pair: QueryAndDoc, fingerprint: str, assessor: str) -> None:
        """Removes the person's last judgement of the pair, which restores the previous grade or none."""
        self._undo((*pair, assessor), fingerprint, assessor, "this pair has no judgement", _JUDGEMENTS[1])

    def undo_adjudication(self, pair: QueryAndDoc, fingerprint: str, assessor: str) -> None:
        """Removes the last adjudication of the pair, which restores the previous one or the grades of people."""
        self._undo((*pair, None), fingerprint, assessor, "this pair has no adjudicated grade", _ADJUDICATIONS[1])

    def _undo(self, key: tuple[str, str, str | None], fingerprint: str, assessor: str, none: str, what: JudgementAction) -> None:
        with self._lock:
            self.check_collection(fingerprint)
            last, before = self._history.of(key), self._history.before(key)
            if last is None:
                raise UsageError(none, fix="reload the page")
            previous = None if before is None else before.grade
            self._append(LoggedJudgement(what, *key[:2], previous, last.grade, assessor, self._clock()), fingerprint)

    def times(self, assessor: str) -> list[str]:
        """When the person gave each grade that counts."""
        return [record.when for judgement in self.merged() for record in judgement.individual if record.assessor == assessor]

    def people(self) -> tuple[str, ...]:
        """Who has judged, in the order of their first judgement."""
        return tuple(dict.fromkeys(record.assessor for judgement in self.merged() for record in judgement.individual))

    def _earlier_contents(self) -> list[bytes]:
        """The file before the last record, or of version 2: the last grade of each pair."""
        earlier = super()._earlier_contents()
        if _version(self._log.content) != _WITHOUT_NOTES:
            return earlier
        _, records = self._format.read(self._log.content, self._log.path)
        return [*earlier, _last_grades(records), _last_grades(records[:-1])]


def _last_grades(records: Sequence[LoggedJudgement]) -> bytes:
    pairs: dict[QueryAndDoc, list[LoggedJudgement]] = {}
    for record in records:
        records_of_pair = pairs.setdefault(record.pair, [])
        if record.is_undo:
            records_of_pair.pop()
        else:
            records_of_pair.append(record)
    return b"".join(pair[-1].written() for pair in pairs.values() if pair)


def raters_of(merged: Iterable[MergedJudgement]) -> list[Rater]:
    """Each person with the grades and notes of the judgements, in the order of their first judgement."""
    grades: dict[str, dict[QueryAndDoc, int]] = {}
    notes: dict[str, dict[QueryAndDoc, str]] = {}
    for judgement in merged:
        for record in judgement.individual:
            if record.grade is not None:
                grades.setdefault(record.assessor, {})[record.pair] = record.grade
                if record.note:
                    notes.setdefault(record.assessor, {})[record.pair] = record.note
    return [Rater(name, grade, notes=notes.get(name, {})) for name, grade in grades.items()]


def adjudicated_grades(merged: Iterable[MergedJudgement]) -> Mapping[QueryAndDoc, int]:
    """The adjudicated grade of each pair that has one."""
    adjudications = ((judgement.pair, judgement.adjudication) for judgement in merged)
    return {pair: record.grade for pair, record in adjudications if record is not None and record.grade is not None}
