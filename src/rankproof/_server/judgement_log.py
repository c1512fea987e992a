"""Human judgements of documents: a qrels file and its log."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from rankproof._data import format_versions
from rankproof._data.qrels import HUMAN_PREFIX, Judgement, Qrels
from rankproof._results.provenance import utc_now
from rankproof._server.logged_file import LogFormat, LoggedFile, LogRecord, check_assessor
from rankproof.errors import UsageError

QueryAndDoc = tuple[str, str]
"""The ids of a query and a document."""
JudgementAction = Literal["judged", "undone"]


@dataclass(frozen=True, slots=True)
class LoggedJudgement(LogRecord):
    """A judgement or an undo; `grade` and `previous` are None if the pair has no grade after or before it."""

    what: JudgementAction
    query: str
    doc: str
    grade: int | None
    previous: int | None
    assessor: str
    when: str

    @property
    def key(self) -> QueryAndDoc:
        """The ids of the query and the document."""
        return self.query, self.doc

    def written(self) -> bytes:
        """The line of TREC qrels, with assessor and time in the second column."""
        return f"{self.query} {HUMAN_PREFIX}{self.assessor}@{self.when} {self.doc} {self.grade}\n".encode()


_FORMAT = LogFormat(
    name="rankproof-judgements",
    schema=format_versions.JUDGEMENT_LOG,
    kind=LoggedJudgement,
    record="judgement",
    others="another dataset",
    option="--judge",
    example="my.qrels",
)


class JudgementLog(LoggedFile[LoggedJudgement]):
    """Judgements of one dataset by one assessor at a time."""

    def __init__(self, path: str, assessor: str, clock: Callable[[], str] = utc_now) -> None:
        self.assessor, self._clock = check_assessor(assessor), clock
        super().__init__(path, _FORMAT)

    @property
    def last(self) -> QueryAndDoc | None:
        """The pair judged last."""
        return next((record.key for record in self._history.newest_first()), None)

    def grade(self, pair: QueryAndDoc) -> int | None:
        """The grade of the pair, None if it has none."""
        found = self._history.of(pair)
        return None if found is None else found.grade

    def judgements(self) -> tuple[Qrels, dict[QueryAndDoc, str]]:
        """The grades so far, and who gave them."""
        with self._lock:
            last = list(self._history.last_of_each())
        rows = (Judgement(one.query, one.doc, one.grade) for one in last if one.grade is not None)
        return Qrels(rows, source=os.path.basename(self.path)), {one.key: one.assessor for one in last}

    def judge(self, pair: QueryAndDoc, grade: int, fingerprint: str) -> None:
        """Saves a grade; it is on disk when this returns."""
        with self._lock:
            record = LoggedJudgement("judged", *pair, grade, self.grade(pair), self.assessor, self._clock())
            self._append(record, fingerprint)

    def undo(self, pair: QueryAndDoc, fingerprint: str) -> None:
        """Removes the last judgement of the pair, which restores its previous grade or none."""
        with self._lock:
            self.check_collection(fingerprint)
            grade, before = self.grade(pair), self._history.before(pair)
            if grade is None:
                raise UsageError("this pair has no judgement", fix="judge it first")
            previous = None if before is None else before.grade
            self._append(LoggedJudgement("undone", *pair, previous, grade, self.assessor, self._clock()), fingerprint)
