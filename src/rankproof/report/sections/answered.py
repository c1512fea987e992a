"""What the verdict says of answers, which are measured beside the rankings that they are made from."""

from __future__ import annotations

from ...analysis.answers.retrieval import F1
from ...analysis.measured import leaders
from ...analysis.wording import counted
from ...evaluation import Result
from ...views.grid import shown_number
from ..material import Material
from ..words import listed


def answers_said(material: Material) -> list[str]:
    """A sentence where systems answer: how well, or that nobody can know."""
    if not material.answerers:
        return []
    result = material.climb.answers
    who = f"{listed(material.answerers)} {'answers' if len(material.answerers) == 1 else 'answer'}"
    name = None if result is None else _measure(result)
    if result is None or name is None:
        return [f"{who}, and no right answer is known to hold that against."]
    values = {system.name: one for system in result.systems if (one := system.measures[name]).queries}
    best = leaders({system: one.value for system, one in values.items()})
    one = values[best[0]]
    known = f"over {counted(one.queries, 'query', 'queries')} whose answer is known"
    which = "with" if len(values) == 1 else f"{listed(best)} with the highest"
    value = shown_number(one.value, one)
    return [f"{who}, {which} {name} {value} {known}; the part on answers says what holds the answers back."]


def _measure(result: Result) -> str | None:
    """The F1 that answers are banded by, else the first measure that has a value; None where every answer failed."""
    used = [name for name in result.systems[0].measures if any(system.measures[name].queries for system in result.systems)]
    return F1 if F1 in used else next(iter(used), None)
