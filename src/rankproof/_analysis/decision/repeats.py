"""Repeated answers behind a decision: where the variance of the difference comes from, and pass@k and pass^k."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from rankproof._data.arrays import FloatArray
from rankproof._data.table import Column, Table
from rankproof._data.text import in_a_sentence, pluralise
from rankproof._evaluation.result import MeasureResult, Result
from rankproof._statistics.paired import VarianceSplit, pass_all, pass_at, repeated_systems, split_variance
from rankproof.errors import for_message

REPEATS = "repeats"
PASS_SIZES = (2, 3, 5, 10, 20, 50, 100)
RepeatedValues = Sequence[FloatArray]
"""The values of the repeats of each question."""


@dataclass(frozen=True, slots=True)
class SystemRepeats:
    """The answers of one system: `value` is the mean over questions, `deviation` that of the repeats of a question.

    `deviation` is None without repeats. `pass_at` has for each k the chance that at least one of k answers is right, `pass_all`
    that all k are; both are empty unless every value is 0 or 1 and every question has k answers.
    """

    name: str
    questions: int
    answers: int
    value: float
    deviation: float | None
    pass_at: Mapping[int, float] = field(default_factory=dict)
    pass_all: Mapping[int, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RepeatedAnswers:
    """Where the variance of the difference between the first system of a decision and its rival comes from.

    `between` is the variance of questions, which may be negative where repeats alone explain more than was observed. `within` is
    that of the repeats of a question, with one repeat of each system. `repeats` is the number of answers per question that
    counts: the harmonic mean. `question_share`, `repeat_share` and `judge_share` are shares of the variance with so many; that of
    the judge is part of the repeats, and None where the judge was not asked again. All are None without a rival; the shares are
    None where nothing varies, too.
    """

    by_system: tuple[SystemRepeats, ...]
    system: str | None = None
    rival: str | None = None
    between: float | None = None
    within: float | None = None
    repeats: float | None = None
    question_share: float | None = None
    repeat_share: float | None = None
    judge_share: float | None = None

    def best_repeats(self, question_cost: float) -> int | None:
        """The number of repeats with the smallest error for the cost, where an answer costs 1 and a new question so much.

        None where questions do not vary, or their variance is unknown: more repeats help as much as more questions.
        """
        split = variance_split(self)
        return None if split is None else split.best_repeats(question_cost)


def variance_split(answers: RepeatedAnswers) -> VarianceSplit | None:
    """The variances of questions and repeats; None where they are not known."""
    return None if answers.between is None or answers.within is None else VarianceSplit(answers.between, answers.within)


def repeated_answers(
    measured: Mapping[str, MeasureResult],
    queries: Sequence[str],
    values: FloatArray,
    pair: tuple[str, str] | None,
    judge_deviation: float | None = None,
) -> RepeatedAnswers | None:
    """The repeats of systems by one measure on these queries; None where no system was asked more than once.

    `values` are by query and system, also of queries that have no measured value. `judge_deviation` is the standard deviation of
    a value when its judge is asked again.
    """
    if not any(result.repeats for result in measured.values()):
        return None
    values_of = {name: _values(result.repeats, queries, values[:, at]) for at, (name, result) in enumerate(measured.items())}
    by_system = tuple(_system(name, values_of[name]) for name in values_of)
    split = None if pair is None else split_variance(values_of[pair[0]], values_of[pair[1]])
    if pair is None or split is None:
        return RepeatedAnswers(by_system)
    repeats = _counted_repeats(values_of[pair[0]], values_of[pair[1]])
    share = split.question_share(repeats)
    variance = max(0.0, split.between) + split.within / repeats
    if not variance:
        return RepeatedAnswers(by_system, *pair, split.between, split.within, repeats)
    judge = None if judge_deviation is None else 2 * judge_deviation**2 / repeats / variance
    judge_share = None if judge is None else min(judge, 1 - share)
    return RepeatedAnswers(by_system, *pair, split.between, split.within, repeats, share, 1 - share, judge_share)


def _values(repeats: Mapping[str, FloatArray], queries: Sequence[str], values: FloatArray) -> list[FloatArray]:
    """The values of each query: one where it was asked once."""
    return [repeats.get(query, values[at : at + 1]) for at, query in enumerate(queries)]


def _counted_repeats(first: RepeatedValues, second: RepeatedValues) -> float:
    """The number of repeats with the same variance of the mean difference: the harmonic mean over questions and systems.

    A system that was asked once has no part in it.
    """
    counts = [len(own) for values in repeated_systems(first, second) for own in values]
    return len(counts) / math.fsum(1 / count for count in counts)


def _system(name: str, values: RepeatedValues) -> SystemRepeats:
    freedom = sum(len(own) - 1 for own in values)
    squares = math.fsum(float(((own - own.mean()) ** 2).sum()) for own in values)
    mean = math.fsum(math.fsum(own) / len(own) for own in values) / max(len(values), 1)
    sizes = _pass_sizes(values)
    return SystemRepeats(
        name,
        len(values),
        sum(map(len, values)),
        mean,
        math.sqrt(squares / freedom) if freedom else None,
        {k: _mean_pass(pass_at, values, k) for k in sizes},
        {k: _mean_pass(pass_all, values, k) for k in sizes},
    )


def _pass_sizes(values: RepeatedValues) -> list[int]:
    """Every usual k that each question has answers for, and the largest such number; none if a value is not 0 or 1."""
    if not values or any(not np.isin(own, (0.0, 1.0)).all() for own in values):
        return []
    most = min(map(len, values))
    return sorted({k for k in (*PASS_SIZES, most) if 2 <= k <= most})


def _mean_pass(chance: Callable[[int, int, int], float], values: RepeatedValues, k: int) -> float:
    return math.fsum(chance(round(float(own.sum())), len(own), k) for own in values) / len(values)


def repeat_sentences(repeated: RepeatedAnswers) -> Iterator[str]:
    """How many answers there are, where the variance comes from, and how to spend as many answers."""
    pair = [
        system for system in repeated.by_system if repeated.system is None or system.name in (repeated.system, repeated.rival)
    ]
    questions = pluralise(pair[0].questions, "question")
    counts = {system.answers for system in pair}
    listed = in_a_sentence([f"{system.answers:,} of {for_message(system.name)}" for system in pair])
    answers = f"{pair[0].answers:,} answers per system" if len(counts) == 1 and len(pair) > 1 else f"Answers: {listed}"
    split = variance_split(repeated)
    if split is None or repeated.question_share is None or repeated.repeat_share is None or repeated.repeats is None:
        yield f"{answers} to {questions}: n = {pair[0].questions:,}."
        return
    is_even = len(counts) == 1 and math.isclose(repeated.repeats, round(repeated.repeats))
    per_question = f" ({repeated.repeats:.0f} each)" if is_even else ""
    judge = "" if repeated.judge_share is None else f" ({repeated.judge_share:.0%} the judge)"
    shares = f"{repeated.question_share:.0%} are questions, {repeated.repeat_share:.0%} repeats{judge}"
    yield f"{answers} to {questions}{per_question}: n = {pair[0].questions:,}. Of the variance of the difference {shares}."
    yield from _advice(split, pair[0].questions, round(repeated.repeats))


def _advice(split: VarianceSplit, questions: int, repeats: int) -> Iterator[str]:
    """What the same number of answers gives with one answer to each of more questions."""
    if split.between <= 0:
        yield "More repeats help as much as more questions."
    elif repeats > 1:
        total = questions * repeats
        several, single = (f"{split.error(n, per_question):.3f}" for n, per_question in ((questions, repeats), (total, 1)))
        yield (
            f"With {total:,} answers per system, {questions:,} questions x {repeats} (standard error {several})"
            f" or {total:,} x 1 ({single})."
        )


def result_repeats_tables(result: Result) -> Iterator[Table]:
    """The repeated answers of each system by each measure, over its own questions; nothing without repeats."""
    for measure in result.systems[0].measures:
        measured = {system.name: system.measures[measure] for system in result.systems}
        if any(stored.repeats for stored in measured.values()):
            values_of = {name: _values(stored.repeats, stored.query_ids, stored.values) for name, stored in measured.items()}
            yield repeats_table(RepeatedAnswers(tuple(_system(name, values) for name, values in values_of.items())), measure)


def repeats_table(repeated: RepeatedAnswers, measure: str) -> Table:
    """The answers of each system, with pass@k and pass^k of a measure that is 0 or 1."""
    sizes = sorted(set.intersection(*(set(system.pass_at) for system in repeated.by_system)))
    columns = (
        Column("system"),
        Column("questions", "count"),
        Column("answers", "count"),
        Column(measure, "value", "mean over questions of the mean over their answers"),
        Column("deviation", "value", "standard deviation of the answers to a question, pooled over questions"),
        *(
            column
            for k in sizes
            for column in (
                Column(f"pass@{k}", "value", f"chance that at least one of {k} answers is right"),
                Column(f"pass^{k}", "value", f"chance that all of {k} answers are right"),
            )
        ),
    )
    rows = tuple(
        (
            *(system.name, system.questions, system.answers, system.value, system.deviation),
            *(chance for k in sizes for chance in (system.pass_at[k], system.pass_all[k])),
        )
        for system in repeated.by_system
    )
    return Table(REPEATS, f"Repeated answers by {measure}", columns, rows)
