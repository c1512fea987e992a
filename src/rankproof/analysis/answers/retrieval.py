"""What answers have to do with retrieval: which of the two holds a system back, and whether they go together."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ...data.arrays import FloatArray
from ...errors import shown
from ..bands.bands import Profile
from ..diagnose.answers import f1_of
from ..diagnose.bottleneck import bottleneck
from ..statistics.distributions import normal_quantile
from ..table import Column, Item, Table
from ..wording import brief, counted
from .subject import RETRIEVAL, AnswerSubject

F1 = "F1(tokens='set')"
_FEWEST = 10


@dataclass(frozen=True, slots=True)
class Together:
    """Spearman's rank correlation over n questions, with an interval (Bonett and Wright 2000)."""

    rho: float
    n: int
    interval: tuple[float, float]

    def words(self) -> str:
        """What it says."""
        low, high = self.interval
        told = f"Spearman {brief(self.rho)}, 95% interval [{brief(low)}, {brief(high)}], n = {self.n}"
        if low <= 0 <= high:
            return f"whether good retrieval goes with good answers cannot be told ({told})"
        return f"good retrieval goes with {'good' if low > 0 else 'bad'} answers ({told})"


def together(one: Sequence[float], other: Sequence[float]) -> Together | None:
    """Whether two values rise together; None for few questions, or where one of the two is the same for all."""
    n = len(one)
    if n < _FEWEST or len(set(one)) < 2 or len(set(other)) < 2:
        return None
    rho = float(np.clip(np.corrcoef(_ranks(one), _ranks(other))[0, 1], -1, 1))
    if abs(rho) == 1:
        return Together(rho, n, (rho, rho))
    reach = normal_quantile(0.975) * math.sqrt((1 + rho**2 / 2) / (n - 3))
    return Together(rho, n, (math.tanh(math.atanh(rho) - reach), math.tanh(math.atanh(rho) + reach)))


def _ranks(values: Sequence[float]) -> FloatArray:
    """Ranks from 1, equal values sharing the mean of theirs."""
    _, places, counts = np.unique(np.asarray(values), return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    return np.asarray((ends - (counts - 1) / 2)[places], dtype=np.float64)


def retrieval_table(subject: AnswerSubject, profile: Profile) -> Table:
    """A row a system: retrieval, answers, answers with and without a relevant passage; the verdict in words."""
    columns = (
        Column("system"),
        Column("n", "count", "questions with an answer, a relevant document where retrieval is known, and no failure"),
        *(Column(name, "value", "of what the answers were made from") for name in RETRIEVAL),
        Column("F1", "value", f"{F1}, over the same questions"),
        *(Column("given n", "count", "questions for which a relevant passage was given"), Column("given F1", "value")),
        *(Column("else n", "count", "questions for which none was"), Column("else F1", "value")),
    )
    rows = [_row(subject, system) for system in subject.answers]
    said = [sentence for system in subject.answers for sentence in verdicts(subject, system, profile)]
    n = counted(max(len(f1_by_query(subject, system)) for system in subject.answers), "question")
    title = f"What answers have to do with retrieval: n = {n}"
    return Table("retrieval and answers", title, columns, tuple(rows), tuple(said), tuple(_untold(subject)))


def _untold(subject: AnswerSubject) -> Iterator[str]:
    """Systems whose answers say only here and there what they were made from."""
    for system, answers in subject.answers.items():
        silent = sum(not one.given for one in answers.values())
        if not answers.says_given and silent < len(answers):
            count = f"{silent} of {counted(len(answers), 'answer')}"
            yield f"{shown(system)}: {count} do not say what they were given, so nothing is said of retrieval"


def f1_by_query(subject: AnswerSubject, system: str) -> dict[str, float]:
    """F1(tokens='set') of the questions with an answer, and a relevant document where retrieval is known, but for failures."""
    able = None if subject.retrieval is None else set(subject.retrieval[system][RETRIEVAL[0]].query_ids)
    records = (record for record in subject.records(system) if able is None or record.query in able)
    return {record.query: f1_of(record) for record in records if not record.failed}


def verdicts(subject: AnswerSubject, system: str, profile: Profile) -> list[str]:
    """Which half holds the system back, and whether the two go together."""
    said = []
    scores = f1_by_query(subject, system)
    retrieved = retrieval_of(subject, system)
    if retrieved and scores:
        told = bottleneck({**retrieved, F1: _mean(list(scores.values()))}, profile)
        if told is not None:
            numbers = ", ".join(f"{name} {brief(value)}" for name, value in retrieved.items())
            mean = f"F1 {brief(_mean(list(scores.values())))}"
            said.append(f"{shown(system)}: {told}, by the bands of {profile.name} ({numbers}; {mean}; n = {len(scores)}).")
    if subject.retrieval is not None:
        ranks = subject.retrieval[system][RETRIEVAL[0]].per_query
        found = together([ranks[query] for query in scores], list(scores.values()))
        if found is not None:
            said.append(f"{shown(system)}: {found.words()}.")
    return said


def retrieval_of(subject: AnswerSubject, system: str) -> dict[str, float]:
    """The means of retrieval over the questions that F1 runs over."""
    scores = f1_by_query(subject, system)
    if subject.retrieval is None or not scores:
        return {}
    ranked = {name: one.per_query for name, one in subject.retrieval[system].items()}
    return {name: _mean([values[query] for query in scores]) for name, values in ranked.items()}


def _row(subject: AnswerSubject, system: str) -> tuple[Item, ...]:
    scores = f1_by_query(subject, system)
    mean = _mean(list(scores.values())) if scores else None
    if subject.retrieval is None:
        return (system, len(scores), *[None] * len(RETRIEVAL), mean, *[None] * 4)
    parts = [[scores[query] for query in scores if subject.found(system, query) is way] for way in (True, False)]
    retrieved = retrieval_of(subject, system)
    return (
        *(system, len(scores), *(retrieved.get(name) for name in RETRIEVAL), mean),
        *(item for part in parts for item in (len(part), _mean(part) if part else None)),
    )


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)
