"""Checks of the judgements."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from rankproof._analysis.doctor.check import NOTHING_FOUND, CheckResult, DoctorInput, check_result, doctor_check
from rankproof._data.grades import describe_judges


@doctor_check(
    "queries-without-relevant",
    "warning",
    "judged queries without a relevant document",
    advice="judge more documents for them, or remove them: they lower every mean by the same amount",
    needs=("judgements",),
    broken=lambda example: example.with_grades(lambda grades: dict.fromkeys(grades, 0), "q01"),
)
def without_relevant(inputs: DoctorInput) -> CheckResult:
    """Judged queries without any relevant document."""
    empty = [query for query, docs in inputs.qrels.items() if max(docs.values(), default=0) < inputs.rel]
    sentence = (
        f"{len(empty)} of {len(inputs.qrels)} judged queries have no document of grade {inputs.rel} or higher and score 0 for "
        "every system"
    )
    return check_result(empty, len(inputs.qrels), sentence)


@doctor_check(
    "one-grade",
    "hint",
    "judgements that all have the same grade",
    advice="include judgements of documents that are not relevant: bpref and Judged need them",
    needs=("judgements",),
    broken=lambda example: example.with_grades(lambda grades: dict.fromkeys(grades, 1)),
)
def one_grade(inputs: DoctorInput) -> CheckResult:
    """Judgements that all have the same grade."""
    grades = Counter(grade for docs in inputs.qrels.values() for grade in docs.values())
    if len(grades) != 1:
        return NOTHING_FOUND
    ((grade, count),) = grades.items()
    sentence = f"all {count} judgements have grade {grade}: documents judged not relevant are missing"
    return check_result([str(grade)], count, sentence, count=count)


@doctor_check(
    "machine-judgements",
    "warning",
    "judgements by a language model or word overlap",
    advice="measure the agreement with human judgements (rankproof judge --qrels), and report it with every value",
    needs=("judgements",),
    broken=lambda example: replace(example, judge="llm:small:0123abcd"),
)
def by_machines(inputs: DoctorInput) -> CheckResult:
    """Judgements by a language model or word overlap."""
    labels, count = inputs.qrels.judge_counts(), sum(map(len, inputs.qrels.values()))
    return check_result(list(labels), count, describe_judges(labels, count) if labels else "", count=sum(labels.values()))
