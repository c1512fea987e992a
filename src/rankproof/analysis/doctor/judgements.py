"""Checks of the judgements alone."""

from __future__ import annotations

from collections import Counter

from ...data.marks import told
from .check import NOTHING, Found, found
from .subject import Subject


def without_relevant(subject: Subject) -> Found:
    """Judged queries without any relevant document."""
    barren = [query for query, docs in subject.qrels.items() if max(docs.values(), default=0) < subject.rel]
    said = (
        f"{len(barren)} of {len(subject.qrels)} judged queries have no document of grade {subject.rel} or more and count 0 for "
        "every system"
    )
    return found(barren, len(subject.qrels), said)


def one_grade(subject: Subject) -> Found:
    """Judgements that all have the same grade."""
    grades = Counter(grade for docs in subject.qrels.values() for grade in docs.values())
    if len(grades) != 1:
        return NOTHING
    ((grade, count),) = grades.items()
    said = f"all {count} judgements have grade {grade}: nobody wrote down what was looked at and found not relevant"
    return found([str(grade)], count, said, count=count)


def by_machines(subject: Subject) -> Found:
    """Judgements that a language model or a count of words made."""
    marks, count = subject.qrels.made_by(), sum(map(len, subject.qrels.values()))
    return found(list(marks), count, told(marks, count) if marks else "", count=sum(marks.values()))
