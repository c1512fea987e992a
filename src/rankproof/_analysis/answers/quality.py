"""Means, retrieval link, findings."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rankproof._analysis.answers.causes import bottleneck, f1_of, reasons_table
from rankproof._analysis.answers.inputs import RETRIEVAL_MEASURES, AnswerInput, answer_input_from_results
from rankproof._analysis.bands import BandProfile
from rankproof._analysis.compare.compare import compare
from rankproof._analysis.inputs import AnalysisInput
from rankproof._analysis.values import best_systems
from rankproof._data.arrays import FloatArray
from rankproof._data.table import CellValue, Column, Table
from rankproof._data.text import format_value, pluralise
from rankproof._evaluation.result import MeasureResult, Result, SystemResult
from rankproof._results.experiment_result import ExperimentResult
from rankproof._statistics.distributions import normal_quantile
from rankproof._statistics.intervals import Interval, describe_interval_method, mean_interval
from rankproof.errors import for_message

TOKEN_SET_F1 = "F1(tokens='set')"
_MIN_QUERIES = 10


@dataclass(frozen=True, slots=True)
class RankCorrelation:
    """Spearman's rank correlation over n questions, with an interval (Bonett and Wright 2000)."""

    rho: float
    n: int
    interval: tuple[float, float]

    def describe(self) -> str:
        """What it says."""
        low, high = self.interval
        told = f"Spearman {format_value(self.rho)}, 95% interval [{format_value(low)}, {format_value(high)}], n = {self.n}"
        if low <= 0 <= high:
            return f"whether good retrieval goes with good answers cannot be told ({told})"
        return f"good retrieval goes with {'good' if low > 0 else 'bad'} answers ({told})"


def rank_correlation(one: Sequence[float], other: Sequence[float]) -> RankCorrelation | None:
    """Whether two values rise together; None for few questions, or where one of the two is the same for all."""
    n = len(one)
    if n < _MIN_QUERIES or len(set(one)) < 2 or len(set(other)) < 2:
        return None
    rho = float(np.clip(np.corrcoef(_ranks(one), _ranks(other))[0, 1], -1, 1))
    if abs(rho) == 1:
        return RankCorrelation(rho, n, (rho, rho))
    reach = normal_quantile(0.975) * math.sqrt((1 + rho**2 / 2) / (n - 3))
    return RankCorrelation(rho, n, (math.tanh(math.atanh(rho) - reach), math.tanh(math.atanh(rho) + reach)))


def _ranks(values: Sequence[float]) -> FloatArray:
    """Ranks from 1, equal values sharing the mean of theirs."""
    _, places, counts = np.unique(np.asarray(values), return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    return np.asarray((ends - (counts - 1) / 2)[places], dtype=np.float64)


def retrieval_table(subject: AnswerInput, profile: BandProfile) -> Table:
    """A row a system: retrieval, answers, answers with and without a relevant passage; the verdict in words."""
    columns = (
        Column("system"),
        Column("n", "count", "questions with an answer, a relevant document where retrieval is known, and no failure"),
        *(Column(name, "value", "of what the answers were made from") for name in RETRIEVAL_MEASURES),
        Column("F1", "value", f"{TOKEN_SET_F1}, over the same questions"),
        *(Column("given n", "count", "questions for which a relevant passage was given"), Column("given F1", "value")),
        *(Column("else n", "count", "questions for which none was"), Column("else F1", "value")),
    )
    rows = [_row(subject, system) for system in subject.answers]
    said = [sentence for system in subject.answers for sentence in answer_verdicts(subject, system, profile)]
    n = pluralise(max(len(f1_by_query(subject, system)) for system in subject.answers), "question")
    title = f"What answers have to do with retrieval: n = {n}"
    return Table("retrieval and answers", title, columns, tuple(rows), tuple(said), tuple(_passage_notes(subject)))


def _passage_notes(subject: AnswerInput) -> Iterator[str]:
    """Systems whose answers say only here and there what they were made from."""
    for system, answers in subject.answers.items():
        silent = sum(not one.given for one in answers.values())
        if not answers.given_known and silent < len(answers):
            count = f"{silent} of {pluralise(len(answers), 'answer')}"
            yield f"{for_message(system)}: {count} do not say what they were given, so nothing is said of retrieval"


def f1_by_query(subject: AnswerInput, system: str) -> dict[str, float]:
    """F1(tokens='set') of the questions with an answer, and a relevant document where retrieval is known, but for failures."""
    able = None if subject.retrieval is None else set(subject.retrieval[system][RETRIEVAL_MEASURES[0]].query_ids)
    records = (record for record in subject.records(system) if able is None or record.query in able)
    return {record.query: f1_of(record) for record in records if not record.failed}


def answer_verdicts(subject: AnswerInput, system: str, profile: BandProfile) -> list[str]:
    """Which half holds the system back, and whether the two go together."""
    said = []
    scores = f1_by_query(subject, system)
    retrieved = retrieval_means(subject, system)
    if retrieved and scores:
        told = bottleneck({**retrieved, TOKEN_SET_F1: _mean(list(scores.values()))}, profile)
        if told is not None:
            numbers = ", ".join(f"{name} {format_value(value)}" for name, value in retrieved.items())
            mean = f"F1 {format_value(_mean(list(scores.values())))}"
            said.append(f"{for_message(system)}: {told}, by the bands of {profile.name} ({numbers}; {mean}; n = {len(scores)}).")
    if subject.retrieval is not None:
        ranks = subject.retrieval[system][RETRIEVAL_MEASURES[0]].per_query
        found = rank_correlation([ranks[query] for query in scores], list(scores.values()))
        if found is not None:
            said.append(f"{for_message(system)}: {found.describe()}.")
    return said


def retrieval_means(subject: AnswerInput, system: str) -> dict[str, float]:
    """The means of retrieval over the questions that F1 runs over."""
    scores = f1_by_query(subject, system)
    if subject.retrieval is None or not scores:
        return {}
    ranked = {name: one.per_query for name, one in subject.retrieval[system].items()}
    return {name: _mean([values[query] for query in scores]) for name, values in ranked.items()}


def _row(subject: AnswerInput, system: str) -> tuple[CellValue, ...]:
    scores = f1_by_query(subject, system)
    mean = _mean(list(scores.values())) if scores else None
    if subject.retrieval is None:
        return (system, len(scores), *[None] * len(RETRIEVAL_MEASURES), mean, *[None] * 4)
    parts = [[scores[query] for query in scores if subject.found(system, query) is way] for way in (True, False)]
    retrieved = retrieval_means(subject, system)
    return (
        *(system, len(scores), *(retrieved.get(name) for name in RETRIEVAL_MEASURES), mean),
        *(item for part in parts for item in (len(part), _mean(part) if part else None)),
    )


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


_MIN_COMMON_QUERIES = 2
_SAMPLES = 10_000


def answer_findings_from_results(results: ExperimentResult, profile: BandProfile) -> list[str]:
    """The findings of a climb; none where nothing was answered or no answer is known."""
    return [] if results.answers is None else list(answer_findings(answer_input_from_results(results), profile))


def answer_findings(subject: AnswerInput, profile: BandProfile) -> Iterator[str]:
    """Who retrieves best, who answers best, what holds each back, why F1 is low, and what the two have to do with each other."""
    if subject.retrieval is not None:
        for name in RETRIEVAL_MEASURES:
            yield from _describe_best({system: subject.retrieval[system][name] for system in subject.answers}, name, "Retrieval")
    for name, one in subject.inputs.result.systems[0].measures.items():
        if one.measure.name == "F1" and one.queries:
            yield from _describe_best({each.name: each.measures[name] for each in subject.inputs.result.systems}, name, "Answers")
    for system in subject.answers:
        yield from answer_verdicts(subject, system, profile)
        yield from (f"{for_message(system)}: {sentence}" for sentence in reasons_table(subject.records(system), system).sentences)


def _describe_best(values: Mapping[str, MeasureResult], measure: str, what: str) -> Iterator[str]:
    """The system of the highest mean, or those that tie, and whether its lead over each of the others is more than chance."""
    values = {system: one for system, one in values.items() if one.queries}
    if not values:
        return
    means = {system: one.value for system, one in values.items()}
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
        found, *_ = compare(result, baseline=first[0], samples=_SAMPLES)
        yield from (f"{what}: {sentence}" for sentence in found.sentences)


def _common_queries(values: Mapping[str, MeasureResult]) -> set[str]:
    """The questions that every system has a value for."""
    return set.intersection(*(set(one.query_ids) for one in values.values()))


def means_table(inputs: AnalysisInput, *, level: float = 0.95, resamples: int = 10_000, seed: int = 0) -> Table:
    """A row for each system and measure; the notes of the evaluation beside it."""
    rows: list[tuple[CellValue, ...]] = []
    sizes: list[int] = []
    for system in inputs.result.systems:
        for name, one in system.measures.items():
            interval = _interval(one, level, resamples, seed)
            rows.append((system.name, name, one.queries, one.value if one.queries else None, interval))
            sizes.append(one.queries)
    n = pluralise(len(inputs.result.queries), "question")
    return Table(
        name="answer measures",
        title=f"Answers against their references: n = {n} with a reference",
        columns=(
            Column("system"),
            Column("measure"),
            Column("n", "count", "questions that the mean runs over"),
            Column("value", "value", "the mean"),
            Column(f"{level:.0%} interval", "interval", describe_interval_method("bca", resamples, min(sizes), max(sizes))),
        ),
        rows=tuple(rows),
        notes=_notes(inputs),
        facts={"n": len(inputs.result.queries), "level": level, "resamples": resamples, "seed": seed},
    )


def _interval(one: MeasureResult, level: float, resamples: int, seed: int) -> Interval | None:
    if not one.queries:
        return None
    return mean_interval(one.values, level=level, resamples=resamples, seed=seed, within=one.measure.range)


def _notes(inputs: AnalysisInput) -> tuple[str, ...]:
    """Each note once, after the names of the systems that have it."""
    owners: dict[str, list[str]] = {}
    for system in inputs.result.systems:
        for note in system.notes:
            owners.setdefault(note.text, []).append(for_message(system.name))
    everyone = len(inputs.result.systems)
    return tuple(f"{'all systems' if len(names) == everyone > 1 else ', '.join(names)}: {text}" for text, names in owners.items())
