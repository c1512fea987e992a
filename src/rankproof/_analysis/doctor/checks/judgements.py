"""Checks of the judgements, and of grades in reverse order of the rankings."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np

from rankproof._analysis.doctor.check import (
    NOTHING_FOUND,
    CheckResult,
    DoctorInput,
    SystemFault,
    check_result,
    doctor_check,
    result_of_systems,
)
from rankproof._analysis.grade_order import is_against, order_of
from rankproof._data.arrays import IntArray
from rankproof._data.grades import describe_judges, judge_name


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
    return check_result(
        list(map(judge_name, labels)), count, describe_judges(labels, count) if labels else "", count=sum(labels.values())
    )


@doctor_check(
    "reversed-grades",
    "severe",
    "lower grades ranked above higher grades in every system",
    advice="check whether 1 is the best grade; if so, reverse the scale with --grade-map",
    needs=("judgements", "rankings"),
    broken=lambda example: example.with_grades(lambda grades: {doc: 2 - grade for doc, grade in grades.items()}),
)
def reversed_grades(inputs: DoctorInput) -> CheckResult:
    """Whether every system ranks lower grades above higher ones, for all grades."""
    orders = {name: order_of(hits, inputs.rel) for name, hits in inputs.hits.items()}
    if not all(order.is_reversed for order in orders.values()):
        return NOTHING_FOUND
    faults = [_fault(name, order.above, order.below) for name, order in orders.items()]
    return result_of_systems("every system ranks lower grades above higher ones", faults)


def _zeros_second(docs: list[str]) -> list[str]:
    """An order with grade 2 first, then grade 0, then grade 1."""
    return [docs[0], *docs[3:12], *docs[1:3], *docs[12:]]


@doctor_check(
    "zeros-on-top",
    "warning",
    "documents of grade 0 that every system ranks above relevant ones",
    advice="read some of them: they may be hard negatives, sources of the queries, or wrong judgements",
    needs=("judgements", "rankings"),
    broken=lambda example: example.with_order(_zeros_second, system="bm25").with_order(_zeros_second),
    also=("random-level",),
)
def zeros_on_top(inputs: DoctorInput) -> CheckResult:
    """Whether every system ranks documents of grade 0 above relevant ones, although the grades are not reversed."""
    orders = {name: order_of(hits, inputs.rel) for name, hits in inputs.hits.items()}
    if reversed_grades(inputs).count or not all(is_against(order.relevant_above, order.zero_above) for order in orders.values()):
        return NOTHING_FOUND
    faults = [_fault(name, order.relevant_above, order.zero_above) for name, order in orders.items()]
    return result_of_systems("every system ranks documents of grade 0 above relevant ones", faults)


def _fault(name: str, right: IntArray, wrong: IntArray) -> SystemFault:
    against, decided = int(np.sum(wrong > right)), int(np.sum(wrong != right))
    share, pairs = wrong.sum() / (wrong.sum() + right.sum()), int(wrong.sum() + right.sum())
    return SystemFault(name, against, decided, f"in {against} of {decided} untied queries and {share:.0%} of {pairs} pairs")
