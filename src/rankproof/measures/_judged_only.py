"""Measures of rankings without their unjudged documents: `nDCG(judged_only=True)@10`."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cache
from typing import Annotated, Any

import numpy as np

from rankproof._align.hits import Hits
from rankproof._data.arrays import FloatArray
from rankproof._registry import Option
from rankproof.measures._base import Measure, RandomRanking
from rankproof.measures._relevant import SumParts, cached_on


def with_judged_only(measure: Measure, judged_only: object) -> Measure:
    """The measure of rankings without unjudged documents, or of whole rankings."""
    chosen = _variant(_plain(type(measure)))
    parameters = {field.name: getattr(measure, field.name) for field in fields(measure) if field.name != "judged_only"}
    made = chosen(**parameters, judged_only=judged_only)  # type: ignore[call-arg]
    return made if getattr(made, "judged_only", False) else _plain(type(measure))(**parameters)


@cached_on
def _judged_hits(hits: Hits) -> Hits:
    """The hits of the ranking without unjudged documents; the same hits if it has none."""
    return hits if len(hits.ranks) == hits.retrieved.sum() and (hits.grades >= 0).all() else hits.judged_only()


def _plain(kind: type[Measure]) -> type[Measure]:
    """The class of the measure of whole rankings."""
    return getattr(kind, "whole", kind)


@cache
def _variant(kind: type[Measure]) -> type[Measure]:
    """The class of a measure with the parameter judged_only."""

    def values(self: Measure, hits: Hits) -> FloatArray:
        return kind.values(self, _judged_hits(hits))

    def parts(self: Measure, hits: Hits) -> SumParts | None:
        judged = _judged_hits(hits)
        own_parts = kind.parts(self, judged)
        if own_parts is None or judged is hits:
            return own_parts
        return own_parts._replace(hits=hits, at=np.flatnonzero(hits.grades >= 0)[own_parts.at])

    def chance(self: Measure, ranking: RandomRanking) -> None:
        return None

    def reduce(self: Measure) -> tuple[Any, ...]:
        parameters = {field.name: getattr(self, field.name) for field in fields(self) if field.name != "judged_only"}
        return with_judged_only, (kind(**parameters), True)

    members: dict[str, Any] = {
        "__module__": kind.__module__,
        "__doc__": kind.__doc__,
        "__annotations__": {"judged_only": Annotated[bool, Option("remove unjudged documents from the rankings")]},
        "__reduce__": reduce,
        "judged_only": False,
        "whole": kind,
        "additive": False,
        "parity": None,
        "values": values,
        "parts": parts,
        "chance": chance,
    }
    return dataclass(frozen=True, kw_only=True, repr=False)(type(kind.__name__, (kind,), members))
