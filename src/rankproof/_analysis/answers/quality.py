"""Quality of answers: means, also of measures of claims, the relation to retrieval, and findings."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rankproof._analysis.answers.answer_input import RETRIEVAL_MEASURES, AnswerInput, answer_input_from_results
from rankproof._analysis.answers.causes import bottleneck, bottleneck_advice, reasons_table
from rankproof._analysis.answers.trust import calibration_words
from rankproof._analysis.bands import BandProfile
from rankproof._analysis.compare.comparison import Comparison
from rankproof._analysis.compare.counted_queries import session_interval
from rankproof._analysis.compare.joined_values import join_systems
from rankproof._analysis.compare.pairs import compare_pairs
from rankproof._analysis.compare.tables import comparison_facts, verdict_table
from rankproof._analysis.inputs import AnalysisInput
from rankproof._analysis.options import CompareOptions
from rankproof._analysis.values import best_systems
from rankproof._data.arrays import FloatArray
from rankproof._data.claims import Calibration
from rankproof._data.table import CellValue, Column, Table
from rankproof._data.text import format_value, pluralise
from rankproof._evaluation.result import MeasureResult, Result, SystemResult
from rankproof._results.experiment_result import ExperimentResult
from rankproof._statistics.distributions import normal_quantile
from rankproof._statistics.intervals import Interval, describe_interval_method
from rankproof.errors import for_message
from rankproof.measures._claim_base import OVERLAP, ClaimMeasure, judge_of_measure, measure_without_judge
from rankproof.measures._parse import parse_measure

TOKEN_SET_F1 = "F1(tokens='set')"
_MIN_QUERIES = 10


_STRENGTHS = ((0.3, "weak"), (0.5, "moderate"), (math.inf, "strong"))
"""The word for a correlation below each limit (Cohen 1988)."""


@dataclass(frozen=True, slots=True)
class RankCorrelation:
    """Spearman's rank correlation over n questions, with an interval (Bonett and Wright 2000)."""

    rho: float
    n: int
    interval: tuple[float, float]

    def describe(self) -> str:
        """The correlation in one clause."""
        low, high = self.interval
        numbers = f"Spearman {format_value(self.rho)}, 95% CI [{format_value(low)}, {format_value(high)}], n = {self.n}"
        if low <= 0 <= high:
            return f"no significant correlation of retrieval and answers ({numbers})"
        strength = next(word for limit, word in _STRENGTHS if abs(self.rho) < limit)
        return f"{strength} {'positive' if low > 0 else 'negative'} correlation of retrieval and answers ({numbers})"


def rank_correlation(values: Sequence[float], other: Sequence[float]) -> RankCorrelation | None:
    """The rank correlation of two values; None for few queries or a constant value."""
    n = len(values)
    if n < _MIN_QUERIES or len(set(values)) < 2 or len(set(other)) < 2:
        return None
    rho = float(np.clip(np.corrcoef(_ranks(values), _ranks(other))[0, 1], -1, 1))
    # Fisher's transformation of a perfect correlation is infinite.
    if abs(rho) == 1:
        return RankCorrelation(rho, n, (rho, rho))
    reach = normal_quantile(0.975) * math.sqrt((1 + rho**2 / 2) / (n - 3))
    return RankCorrelation(rho, n, (math.tanh(math.atanh(rho) - reach), math.tanh(math.atanh(rho) + reach)))


def _ranks(values: Sequence[float]) -> FloatArray:
    """Ranks from 1; equal values share their mean rank."""
    _, places, counts = np.unique(np.asarray(values), return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    return np.asarray((ends - (counts - 1) / 2)[places], dtype=np.float64)


def retrieval_table(answer_input: AnswerInput, profile: BandProfile) -> Table:
    """A row per system: retrieval, answers, and answers with and without a relevant passage."""
    columns = (
        Column("system"),
        Column("n", "count", "queries with a reference answer and no failure, and a relevant document if retrieval is known"),
        *(Column(name, "value", "of the passages given to the answers") for name in RETRIEVAL_MEASURES),
        Column("F1", "value", f"{TOKEN_SET_F1} over the same queries"),
        *(Column("n relevant", "count", "queries with a relevant passage given"), Column("F1 relevant", "value")),
        *(Column("n other", "count", "queries without one"), Column("F1 other", "value")),
    )
    rows = [_row(answer_input, system) for system in answer_input.answers]
    sentences = [sentence for system in answer_input.answers for sentence in answer_verdicts(answer_input, system, profile)]
    n = pluralise(max(len(f1_by_query(answer_input, system)) for system in answer_input.answers), "query", "queries")
    title = f"Answers and retrieval: n = {n}"
    return Table("retrieval and answers", title, columns, tuple(rows), tuple(sentences), tuple(_passage_notes(answer_input)))


def _passage_notes(answer_input: AnswerInput) -> Iterator[str]:
    """A note for each system with given passages for only some answers."""
    for system, answers in answer_input.answers.items():
        silent = sum(answer.given is None for answer in answers.values())
        if not answers.given_known and silent < len(answers):
            count = f"{silent} of {pluralise(len(answers), 'answer')}"
            yield f"{for_message(system)}: {count} lack the given passages, so retrieval is not analysed"


def f1_by_query(answer_input: AnswerInput, system: str) -> dict[str, float]:
    """F1(tokens='set') by query with a reference answer and no failure, and a relevant document if retrieval is known."""
    able = None if answer_input.retrieval is None else set(answer_input.retrieval[system][RETRIEVAL_MEASURES[0]].query_ids)
    records = (record for record in answer_input.records(system) if able is None or record.query in able)
    return {record.query: record.f1 for record in records if not record.failed}


def answer_verdicts(answer_input: AnswerInput, system: str, profile: BandProfile) -> list[str]:
    """The bottleneck of the system, and the correlation of retrieval and answers."""
    sentences = []
    scores = f1_by_query(answer_input, system)
    retrieved = retrieval_means(answer_input, system)
    if retrieved and scores:
        values = {**retrieved, TOKEN_SET_F1: _mean(list(scores.values()))}
        verdict, advice = bottleneck(values, profile), bottleneck_advice(values, profile)
        if verdict is not None:
            numbers = ", ".join(f"{name} {format_value(value)}" for name, value in retrieved.items())
            mean = f"F1 {format_value(_mean(list(scores.values())))}"
            sentences.append(
                f"{for_message(system)}: {verdict}, by the bands of {profile.name} ({numbers}; {mean}; n = {len(scores)})."
            )
            sentences += [f"{for_message(system)}: {advice}"] if advice else []
    if answer_input.retrieval is not None:
        ranks = answer_input.retrieval[system][RETRIEVAL_MEASURES[0]].per_query
        correlation = rank_correlation([ranks[query] for query in scores], list(scores.values()))
        if correlation is not None:
            sentences.append(f"{for_message(system)}: {correlation.describe()}.")
    return sentences


def retrieval_means(answer_input: AnswerInput, system: str) -> dict[str, float]:
    """The means of retrieval over the queries of F1."""
    scores = f1_by_query(answer_input, system)
    if answer_input.retrieval is None or not scores:
        return {}
    ranked = {name: result.per_query for name, result in answer_input.retrieval[system].items()}
    return {name: _mean([values[query] for query in scores]) for name, values in ranked.items()}


def _row(answer_input: AnswerInput, system: str) -> tuple[CellValue, ...]:
    scores = f1_by_query(answer_input, system)
    mean = _mean(list(scores.values())) if scores else None
    if answer_input.retrieval is None:
        return (system, len(scores), *[None] * len(RETRIEVAL_MEASURES), mean, *[None] * 4)
    parts = [[scores[query] for query in scores if answer_input.found(system, query) is way] for way in (True, False)]
    retrieved = retrieval_means(answer_input, system)
    return (
        *(system, len(scores), *(retrieved.get(name) for name in RETRIEVAL_MEASURES), mean),
        *(item for part in parts for item in (len(part), _mean(part) if part else None)),
    )


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


_MIN_COMMON_QUERIES = 2
_SAMPLES = 10_000


def answer_findings_from_results(results: ExperimentResult, profile: BandProfile) -> list[str]:
    """The findings of an experiment; none without evaluated answers."""
    return [] if results.answers is None else list(answer_findings(answer_input_from_results(results), profile))


def answer_findings(answer_input: AnswerInput, profile: BandProfile) -> Iterator[str]:
    """The best system in retrieval and in answers, and for each system its bottleneck, correlation and causes of low F1."""
    if answer_input.retrieval is not None:
        for name in RETRIEVAL_MEASURES:
            yield from _describe_best(
                {system: answer_input.retrieval[system][name] for system in answer_input.answers}, name, "Retrieval"
            )
    for name, measure in answer_input.inputs.result.systems[0].measures.items():
        if measure.measure.name == "F1" and measure.queries:
            yield from _describe_best(
                {system_result.name: system_result.measures[name] for system_result in answer_input.inputs.result.systems},
                name,
                "Answers",
            )
    for system in answer_input.answers:
        yield from answer_verdicts(answer_input, system, profile)
        yield from (
            f"{for_message(system)}: {sentence}" for sentence in reasons_table(answer_input.records(system), system).sentences
        )


def _describe_best(values: Mapping[str, MeasureResult], measure: str, what: str) -> Iterator[str]:
    """The systems with the highest mean, and whether their lead over the others is significant."""
    values = {system: value for system, value in values.items() if value.queries}
    if not values:
        return
    means = {system: value.value for system, value in values.items()}
    first = best_systems(means)
    n = values[first[0]].queries
    if len(values) == 1:
        yield f"{what}: the {measure} of {for_message(first[0])} is {format_value(means[first[0]])} (n = {n})."
        return
    has = "has the highest" if len(first) == 1 else "have the same highest"
    yield f"{what}: {', '.join(map(for_message, first))} {has} {measure}, {format_value(means[first[0]])} (n = {n})."
    others = [system for system in values if system not in first]
    if others and len(_common_queries(values)) >= _MIN_COMMON_QUERIES:
        result = Result(
            values[first[0]].query_ids, tuple(SystemResult(name, {measure: values[name]}, ()) for name in (first[0], *others))
        )
        yield from (f"{what}: {sentence}" for sentence in _differences_from(result, first[0]))


def _differences_from(result: Result, baseline: str) -> tuple[str, ...]:
    """A sentence on each other system: whether its difference from the baseline is significant."""
    joined, options = join_systems(result), CompareOptions(samples=_SAMPLES)
    pairs = compare_pairs(joined, baseline, options)
    return verdict_table(joined.measures[0], baseline, pairs, options, comparison_facts(joined, options, len(pairs))).sentences


def _common_queries(values: Mapping[str, MeasureResult]) -> set[str]:
    """The queries with a value for every system."""
    return set.intersection(*(set(value.query_ids) for value in values.values()))


def means_table(inputs: AnalysisInput, *, level: float = 0.95) -> Table:
    """The mean and interval of each system and measure, with the notes of the evaluation."""
    rows: list[tuple[CellValue, ...]] = []
    for system in inputs.result.systems:
        for name, measure in system.measures.items():
            interval = session_interval(measure, inputs.texts, level)
            rows.append((system.name, name, measure.queries, measure.value if measure.queries else None, interval))
    n = pluralise(len(inputs.result.queries), "query", "queries")
    return Table(
        name="answer measures",
        title=f"Answers compared with their references: n = {n} with a reference",
        columns=(
            Column("system"),
            Column("measure"),
            Column("n", "count", "queries of the mean"),
            Column("value", "value", "mean"),
            Column(f"{level:.0%} CI", "interval", describe_interval_method()),
        ),
        rows=tuple(rows),
        notes=evaluation_notes(inputs),
        facts={"n": len(inputs.result.queries), "level": level},
    )


def evaluation_notes(inputs: AnalysisInput) -> tuple[str, ...]:
    """Each note once, after the names of its systems."""
    owners: dict[str, list[str]] = {}
    for system in inputs.result.systems:
        for note in system.notes:
            owners.setdefault(note.text, []).append(for_message(system.name))
    everyone = len(inputs.result.systems)
    return tuple(f"{'all systems' if len(names) == everyone > 1 else ', '.join(names)}: {text}" for text, names in owners.items())


BASELINE = "baseline"


def claim_means_table(inputs: AnalysisInput, calibrations: Sequence[Calibration] = (), *, level: float = 0.95) -> Table:
    """The mean, interval and questions without a value of each system and measure; a judge that all share is in the title."""
    judges = dict.fromkeys(
        judge for measure in inputs.result.systems[0].measures.values() if (judge := judge_of_measure(measure.measure))
    )
    several = len(judges) > 1
    rows = [
        _claim_row(system.name, measure, session_interval(measure, inputs.texts, level), several=several)
        for system in inputs.result.systems
        for measure in system.measures.values()
    ]
    by = "several judges" if several else f"the judge {', '.join(map(judge_words, judges))}"
    judged = [
        measure.measure
        for measure in inputs.result.systems[0].measures.values()
        if isinstance(measure.measure, ClaimMeasure) and judge_of_measure(measure.measure)
    ]
    n = pluralise(len(inputs.result.queries), "question")
    return Table(
        name="answer measures",
        title=f"Answers by {by}, {calibration_words(judged, calibrations)}: n = {n}",
        columns=(
            Column("system"),
            Column("measure"),
            *((Column("judge"),) if several else ()),
            Column("n", "count", "questions with a value"),
            Column("value", "value", "mean"),
            Column(f"{level:.0%} CI", "interval", describe_interval_method()),
            Column("no value", about="questions without a value, and why"),
        ),
        rows=tuple(rows),
        sentences=tuple(_bounds(inputs)),
        notes=evaluation_notes(inputs),
        facts={"n": len(inputs.result.queries), "level": level},
    )


def differences_table(comparison: Comparison) -> Table:
    """The difference of each system from the baseline under each measure."""
    baseline, alpha = comparison.baseline, comparison.options.alpha
    rows: list[tuple[CellValue, ...]] = []
    for name in comparison.measures:
        short = measure_without_judge(parse_measure(name))
        pairs = comparison.against_baseline(name)
        rows += [(short, pair.system, pair.n, pair.difference, pair.ci, pair.p) for pair in pairs.values()]
    return Table(
        name="answer differences",
        title=f"Differences from {for_message(str(baseline))}, missing values counted as the worst",
        columns=(
            Column("measure"),
            Column("system"),
            Column("n", "count", "questions"),
            Column("difference", "difference"),
            Column(f"{1 - alpha:.0%} CI", "interval", describe_interval_method()),
            Column("p", "p", "not corrected for the number of measures"),
        ),
        rows=tuple(rows),
    )


def _claim_row(system: str, result: MeasureResult, interval: Interval | None, *, several: bool) -> tuple[CellValue, ...]:
    judge = judge_of_measure(result.measure)
    own = (judge_words(judge) if judge else "",) if several else ()
    mean = result.value if result.queries else None
    return (system, measure_without_judge(result.measure), *own, result.queries, mean, interval, count_words(result.counts))


def count_words(counts: Mapping[str, int]) -> str:
    """The questions without a value and why, as in "2 abstained, 1 failed"."""
    return ", ".join(f"{count} {reason.replace('_', ' ')}" for reason, count in counts.items() if count)


def judge_words(judge: str) -> str:
    """The judge; comparing words is marked as a baseline."""
    return f"{for_message(judge)} ({BASELINE})" if judge == OVERLAP else for_message(judge)


def _bounds(inputs: AnalysisInput) -> Iterator[str]:
    """A sentence for each mean with failed questions: its bounds with all of them at 0 and at 1."""
    for system in inputs.result.systems:
        for measure in system.measures.values():
            if measure.bounds is not None:
                low, high = (format_value(end) for end in measure.bounds)
                count = pluralise(measure.counts.get("failed", 0), "failed question")
                name = measure_without_judge(measure.measure)
                yield f"{for_message(system.name)}: {name} is between {low} and {high}, with {count} at 0 or at 1."
