"""Checks of the judgements alone."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from rankproof._analysis.doctor.check import NOTHING_FOUND, CheckResult, DoctorInput, check, check_result
from rankproof._data.qrels import describe_judges


@check(
    "queries-without-relevant",
    "warning",
    "judged queries without a relevant document",
    advice="judge more documents for them, or leave them out: they lower every mean by the same",
    needs=("judgements",),
    broken=lambda example: example.with_grades(lambda grades: dict.fromkeys(grades, 0), "q01"),
)
def without_relevant(subject: DoctorInput) -> CheckResult:
    """Judged queries without any relevant document."""
    barren = [query for query, docs in subject.qrels.items() if max(docs.values(), default=0) < subject.rel]
    said = (
        f"{len(barren)} of {len(subject.qrels)} judged queries have no document of grade {subject.rel} or more and count 0 for "
        "every system"
    )
    return check_result(barren, len(subject.qrels), said)


@check(
    "one-grade",
    "hint",
    "judgements that all have the same grade",
    advice="keep the judgements of documents that are not relevant as well: bpref and Judged need them",
    needs=("judgements",),
    broken=lambda example: example.with_grades(lambda grades: dict.fromkeys(grades, 1)),
)
def one_grade(subject: DoctorInput) -> CheckResult:
    """Judgements that all have the same grade."""
    grades = Counter(grade for docs in subject.qrels.values() for grade in docs.values())
    if len(grades) != 1:
        return NOTHING_FOUND
    ((grade, count),) = grades.items()
    said = f"all {count} judgements have grade {grade}: nobody wrote down what was looked at and found not relevant"
    return check_result([str(grade)], count, said, count=count)


@check(
    "machine-judgements",
    "warning",
    "judgements that a machine made",
    advice="measure how far it agrees with people (rankproof judge --qrels), and say so beside every value",
    needs=("judgements",),
    broken=lambda example: replace(example, judge="llm:small:0123abcd"),
)
def by_machines(subject: DoctorInput) -> CheckResult:
    """Judgements that a language model or a count of words made."""
    marks, count = subject.qrels.judge_counts(), sum(map(len, subject.qrels.values()))
    return check_result(list(marks), count, describe_judges(marks, count) if marks else "", count=sum(marks.values()))
