"""How much the values of a judge vary when it is asked again, or with contexts and claims in reversed order."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import combinations

import numpy as np

from rankproof._data.claims import JudgeNoise
from rankproof._data.table import Column, Table
from rankproof._data.text import pluralise
from rankproof._evaluation.claim_judges import ClaimJudge, JudgeOf
from rankproof._evaluation.claim_verdicts import has_unit, unit_of
from rankproof._evaluation.result import Result
from rankproof._formats.claims import claim_key
from rankproof.errors import for_message
from rankproof.measures._claim_base import ClaimMeasure
from rankproof.measures._overlap import OVERLAP

SAMPLE, REPEATS = 30, 3
"""The questions that are asked again, and how often each is asked in all."""
Evaluate = Callable[[JudgeOf], Result]
"""Evaluates the sampled questions with given judges."""


def judge_noise(evaluate: Evaluate, judge_of: JudgeOf, repeats: int = REPEATS) -> tuple[JudgeNoise, ...]:
    """The noise of each measure that a judge gives: the questions are judged `repeats` times, and once in reversed order."""

    def varied(repeat: int, *, reverse: bool = False) -> JudgeOf:
        def judge(name: str) -> ClaimJudge:
            return judge_of(name).varied(repeat=repeat, reverse=reverse)

        return judge

    again = [evaluate(judge_of if repeat == 0 else varied(repeat)) for repeat in range(repeats)]
    backward = evaluate(varied(0, reverse=True))
    noises = []
    for measure in repeated_measures(again[0]):
        labels = [_label(measure, repeat, judge_of) for repeat in range(repeats)]
        tables = [_credits(result, measure, label) for result, label in zip(again, labels, strict=True)]
        reversed_label = judge_of(measure.judge).varied(reverse=True).label
        noises.append(
            JudgeNoise(
                labels[0],
                str(measure),
                len(again[0].queries),
                repeats,
                _deviation(str(measure), again),
                _mean_flips(combinations(tables, 2)),
                _mean_flips([(tables[0], _credits(backward, measure, reversed_label))]),
            )
        )
    return tuple(noises)


def repeated_measures(result: Result) -> list[ClaimMeasure]:
    """The measures whose values may change when the judge is asked again: shared words never do."""
    every = [measure.measure for measure in result.systems[0].measures.values()]
    return [measure for measure in every if isinstance(measure, ClaimMeasure) and measure.judge != OVERLAP]


def _label(measure: ClaimMeasure, repeat: int, judge_of: JudgeOf) -> str:
    judge = judge_of(measure.judge)
    return judge.varied(repeat=repeat).label if repeat else judge.label


Credits = Mapping[tuple[object, ...], bool]
"""Whether each claim is supported."""


def _credits(result: Result, measure: ClaimMeasure, label: str) -> Credits:
    return {
        (*claim_key(claim), claim.claim.text, claim.shown): claim.verdict == "supported"
        for claim in result.claims
        if claim.judge == label
        and claim.table in measure.every_table
        and claim.verdict != "failed"
        and has_unit(claim.claim, unit_of(measure))
    }


def _mean_flips(pairs: Iterable[tuple[Credits, Credits]]) -> float | None:
    """The mean share of claims with another verdict, over pairs of repeats; None if no claim is in both."""
    shares = []
    for credits, other in pairs:
        both = credits.keys() & other.keys()
        if both:
            shares.append(sum(credits[key] != other[key] for key in both) / len(both))
    return sum(shares) / len(shares) if shares else None


def _deviation(measure: str, again: Sequence[Result]) -> float | None:
    """The standard deviation of a question's value over the repeats, pooled over the questions and systems that have all."""
    variances = []
    for name in (system.name for system in again[0].systems):
        values = [result.per_query(name)[measure] for result in again]
        # A question that failed in one repeat would mix the noise of the judge with that of the failure.
        common = set(values[0]).intersection(*values[1:])
        variances += [float(np.var([value[query] for value in values], ddof=1)) for query in sorted(common)]
    return math.sqrt(math.fsum(variances) / len(variances)) if variances and len(again) > 1 else None


def noise_tables(noises: Sequence[JudgeNoise]) -> tuple[Table, ...]:
    """The noise of each measure; nothing where no judge was asked again."""
    if not noises:
        return ()
    queries, repeats = noises[0].queries, noises[0].repeats
    return (
        Table(
            "judge-noise",
            f"The same judge asked {repeats} times about {pluralise(queries, 'query', 'queries')}",
            (
                Column("measure"),
                Column("deviation", "value", "standard deviation of the value of one question over the repeats"),
                Column("of the mean", "value", f"the same for the mean of {pluralise(queries, 'query', 'queries')}"),
                Column("flips", "share", "claims with another verdict when asked again"),
                Column("flips reversed", "share", "claims with another verdict if contexts and claims are in reversed order"),
            ),
            tuple(
                (noise.measure, noise.deviation, mean_deviation(noise, noise.queries), noise.flips, noise.reversed_flips)
                for noise in noises
            ),
            sentences=tuple(_flip_sentences(noises)),
        ),
    )


MANY_FLIPS = 0.1
"""A judge that changes more of its verdicts than this is called unstable."""


def _flip_sentences(noises: Sequence[JudgeNoise]) -> list[str]:
    unstable = [noise.measure for noise in noises if max(noise.flips or 0.0, noise.reversed_flips or 0.0) > MANY_FLIPS]
    if not unstable:
        return []
    return [f"More than {MANY_FLIPS:.0%} of the verdicts change, so single answers cannot be compared: {', '.join(unstable)}."]


def mean_deviation(noise: JudgeNoise, queries: int) -> float | None:
    """The standard deviation of the mean of so many questions when the judge is asked again."""
    return None if noise.deviation is None else noise.deviation / math.sqrt(queries)


def same_model_notes(answered_by: Mapping[str, str], judges: Iterable[str]) -> list[str]:
    """A note for each system whose answers are from the model that judges them; `answered_by` has the model of each system."""
    notes = []
    for judge in dict.fromkeys(judges):
        # A name may be that of a model with a tag (qwen:7b), or begin with the kind of the judge (logprob:qwen:7b).
        models = {name.casefold() for name in (judge, judge.partition(":")[2]) if name}
        same = {system: name for system, name in answered_by.items() if name.casefold() in models}
        if same:
            systems, model = ", ".join(map(for_message, same)), next(iter(same.values()))
            notes.append(f"{for_message(model)} judges its own answers ({systems}): such judges favour them; use another model")
    return notes
