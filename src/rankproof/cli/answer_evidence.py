"""What the verbs of analysis work on where measures of answers are asked for."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from ..errors import UsageError

if TYPE_CHECKING:
    from ..analysis.evidence import Evidence
    from ..evaluation import MeasureResult, Result
    from ..experiment.rung import Climb


def asks_for_answers(measures: Sequence[str] | None) -> bool:
    """Whether all measures are of answers; a mixture of them and of those of rankings is refused."""
    from ..measures import AnswerMeasure, parse_many

    if not measures:
        return False
    found = parse_many(list(measures))
    of_answers = [measure for measure in found if isinstance(measure, AnswerMeasure)]
    others = [measure for measure in found if not isinstance(measure, AnswerMeasure)]
    if of_answers and others:
        what = f"{of_answers[0]} measures answers and {others[0]} rankings, which have different queries"
        raise UsageError(what, fix="ask for one kind at a time")
    return bool(of_answers)


def answered(climb: Climb, measures: Sequence[str], queries: Collection[str] | None) -> Evidence:
    """The evidence in the answers of a climb, on a subset of the queries where one is asked for."""
    from dataclasses import replace

    from ..analysis.answers.subject import subject_of_climb

    evidence = subject_of_climb(climb, measures).evidence
    return evidence if queries is None else replace(evidence, result=on_queries(evidence.result, set(queries)))


def on_queries(result: Result, queries: Collection[str]) -> Result:
    """The part of a result that is about these queries; refused where there is none."""
    from dataclasses import replace

    chosen = tuple(query for query in result.queries if query in queries)
    if not chosen:
        raise UsageError("none of the queries has a reference", fix="name queries whose answer is known (--queries)")
    systems = (
        replace(one, measures={name: _part(each, queries) for name, each in one.measures.items()}) for one in result.systems
    )
    return replace(result, queries=chosen, systems=tuple(systems))


def _part(one: MeasureResult, queries: Collection[str]) -> MeasureResult:
    from dataclasses import replace

    import numpy as np

    kept = np.array([query in queries for query in one.query_ids], dtype=bool)
    values = one.values[kept]
    ids = tuple(query for query in one.query_ids if query in queries)
    return replace(one, value=one.measure.summarise(values), query_ids=ids, values=values)
