"""How far judging has come: the decision so far, how many queries it needs, and the minutes at the pace of a person."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from math import ceil
from statistics import median
from typing import Annotated

from rankproof._analysis.compare.comparison import compare_inputs
from rankproof._analysis.decision.queries_needed import rounded_up
from rankproof._analysis.decision.record import Decision
from rankproof._analysis.inputs import input_from_results
from rankproof._registry import Option
from rankproof._results.experiment_result import ExperimentResult
from rankproof._statistics.labelled_means import MIN_LABELLED
from rankproof.errors import RankproofError

_LONGEST_PAUSE = 300.0
"""Seconds between two grades of a person; a longer time is a break."""
_FEWEST_QUERIES = 30
"""The fewest queries of a decision."""


@dataclass(frozen=True, slots=True)
class DecisionSoFar:
    """The decision that the grades so far give, by the limits for many looks."""

    decided: Annotated[bool, Option("whether judging can stop: the rule is valid at every look")]
    sentence: Annotated[str, Option("the decision in a sentence")]
    risk: Annotated[float | None, Option("the risk of the chosen system, or of the leader")]
    limit: Annotated[float | None, Option("the highest risk that decides")]
    queries: Annotated[int, Option("the queries that decide so far")]
    needed: Annotated[int | None, Option("about how many queries decide with a chance of 80%")]


def decision_so_far(measured: ExperimentResult) -> DecisionSoFar:
    """The decision on results that are measured with the grades so far."""
    try:
        decision = compare_inputs(input_from_results(measured), pairs=()).decision
    except RankproofError as error:
        return DecisionSoFar(False, str(error), None, None, 0, None)
    risk = None if decision.is_judge_unchecked else decision.risk
    return DecisionSoFar(decision.decided, decision.sentences[0], risk, decision.limit, *_queries(decision))


def _queries(decision: Decision) -> tuple[int, int | None]:
    """How many queries decide so far, and about how many are needed."""
    if decision.labelled is not None or decision.is_judge_unchecked:
        labelled = decision.labelled or 0
        needed = decision.check.needed if decision.check is not None else None
        return labelled, needed or (decision.labels_for_check or MIN_LABELLED if labelled < MIN_LABELLED else None)
    if decision.reason == "few_queries" and decision.needed is None and decision.n < _FEWEST_QUERIES:
        return decision.n, _FEWEST_QUERIES
    likely = None if decision.needed is None else decision.needed.likely
    return decision.n, None if likely is None else rounded_up(likely)


def seconds_per_grade(times: Iterable[str]) -> float | None:
    """The median time between two grades of a person, without breaks; None with fewer than three."""
    moments = sorted(_moments(times))
    pauses = [(after - before).total_seconds() for before, after in pairwise(moments)]
    short = [pause for pause in pauses if pause <= _LONGEST_PAUSE]
    return max(median(short), 1.0) if len(short) >= 2 else None


def _moments(times: Iterable[str]) -> Iterator[datetime]:
    for time in times:
        try:
            yield datetime.fromisoformat(time)
        except ValueError:
            continue


def minutes_left(grades: int, pace: float | None) -> int | None:
    """The minutes that so many grades take, None if the pace is not known."""
    return None if pace is None else ceil(grades * pace / 60)


def open_grades(sizes: Sequence[tuple[str, int]], graded: dict[str, int], needed: int | None) -> int:
    """How many grades are missing in the first `needed` queries, None for all; `graded` counts the grades of each query."""
    counted = sizes if needed is None else sizes[:needed]
    return sum(max(0, size - graded.get(query, 0)) for query, size in counted)
