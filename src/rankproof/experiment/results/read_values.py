"""The values of measures, read back from `result.json`."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ...data.arrays import frozen
from ...errors import UsageError
from ...evaluation import MeasureResult, Note, Result, SystemResult
from ...measures import parse
from ..rung import Rung
from .values import Values


def system_in(values: Values) -> SystemResult:
    """The values of one system and their notes."""
    notes = tuple(Note(note.text("code"), note.count("count"), note.text("text")) for note in values.each("notes"))
    measures = values.inside("measures")
    return SystemResult(values.text("name"), {name: _measure(measures.inside(name), name) for name in measures.plain}, notes)


def chunks_in(values: Values, result: Result) -> Result | None:
    """The values at chunk level, None where no system ranks chunks."""
    if "chunks" not in values.plain:
        return None
    systems = tuple(map(system_in, values.each("chunks")))
    known = {system.name for system in result.systems}
    if not systems or any(system.name not in known or tuple(system.measures) != tuple(systems[0].measures) for system in systems):
        raise values.error("the values at chunk level are not those of its systems", "run the experiment again")
    return Result(result.queries, systems)


def answered_in(values: Values, rungs: tuple[Rung, ...]) -> Result | None:
    """The measures of answers, None where nothing was measured."""
    if "answers" not in values.plain:
        return None
    found = values.inside("answers")
    systems = tuple(map(system_in, found.each("systems")))
    known = {rung.name for rung in rungs if rung.answers is not None}
    if not systems or any(system.name not in known or tuple(system.measures) != tuple(systems[0].measures) for system in systems):
        raise values.error("the values of answers are not those of its systems", "run the experiment again")
    return Result(tuple(found.texts("judged_ids")), systems)


def wholes_in(values: Values) -> Mapping[str, str]:
    """The judged documents of passages."""
    if "answers" not in values.plain:
        return {}
    found = values.inside("answers").inside("wholes")
    return {passage: found.text(passage) for passage in found.plain}


def _measure(values: Values, name: str) -> MeasureResult:
    each = values.inside("per_query")
    numbers = np.array([each.number(query) for query in each.plain], dtype=np.float64)
    try:
        measure = parse(name)
    except UsageError as error:
        raise values.error(error.what, error.fix) from None
    # A mean over no query is written as null: nobody measured a 0.
    value = values.number("value") if each.plain else 0.0
    return MeasureResult(measure, value, tuple(each.plain), frozen(numbers))
