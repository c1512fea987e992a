"""What a climb's answers show, in sentences that each rest on numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ...errors import shown
from ...evaluation import MeasureResult, Result, SystemResult
from ...experiment.rung import Climb
from ..bands.bands import Profile
from ..compare.compare import compare
from ..diagnose.answers import reasons_table
from ..measured import leaders
from ..wording import brief
from .retrieval import verdicts
from .subject import RETRIEVAL, AnswerSubject, subject_of_climb

_LEAST = 2
_SAMPLES = 10_000


def findings_of_climb(climb: Climb, profile: Profile) -> list[str]:
    """The findings of a climb; none where nothing was answered or no answer is known."""
    return [] if climb.answers is None else list(findings(subject_of_climb(climb), profile))


def findings(subject: AnswerSubject, profile: Profile) -> Iterator[str]:
    """Who retrieves best, who answers best, what holds each back, why F1 is low, and what the two have to do with each other."""
    if subject.retrieval is not None:
        for name in RETRIEVAL:
            yield from _best({system: subject.retrieval[system][name] for system in subject.answers}, name, "Retrieval")
    for name, one in subject.evidence.result.systems[0].measures.items():
        if one.measure.name == "F1" and one.queries:
            yield from _best({each.name: each.measures[name] for each in subject.evidence.result.systems}, name, "Answers")
    for system in subject.answers:
        yield from verdicts(subject, system, profile)
        yield from (f"{shown(system)}: {sentence}" for sentence in reasons_table(subject.records(system), system).sentences)


def _best(values: Mapping[str, MeasureResult], measure: str, what: str) -> Iterator[str]:
    """The system of the highest mean, or those that tie, and whether its lead over each of the others is more than chance."""
    values = {system: one for system, one in values.items() if one.queries}
    if not values:
        return
    means = {system: one.value for system, one in values.items()}
    first = leaders(means)
    n = values[first[0]].queries
    if len(values) == 1:
        yield f"{what}: the {measure} of {shown(first[0])} is {brief(means[first[0]])} (n = {n})."
        return
    has = "has the highest" if len(first) == 1 else "have the same highest"
    yield f"{what}: {', '.join(map(shown, first))} {has} {measure}, {brief(means[first[0]])} (n = {n})."
    others = [system for system in values if system not in first]
    if others and len(_common(values)) >= _LEAST:
        result = Result(
            values[first[0]].query_ids, tuple(SystemResult(name, {measure: values[name]}, ()) for name in (first[0], *others))
        )
        found, *_ = compare(result, baseline=first[0], samples=_SAMPLES)
        yield from (f"{what}: {sentence}" for sentence in found.sentences)


def _common(values: Mapping[str, MeasureResult]) -> set[str]:
    """The questions that every system has a value for."""
    return set.intersection(*(set(one.query_ids) for one in values.values()))
