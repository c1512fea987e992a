"""How near values are to the bounds of the rules: whether other queries could have given another diagnosis."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from ..wording import brief
from .rules import RULES, diagnosis

_SURE = 1.96
_STEP = 1e-9


@dataclass(frozen=True, slots=True)
class Near:
    """A bound so near to a value that other queries could have put it on the other side, with another diagnosis."""

    measure: str
    value: float
    bound: float
    within: float

    def __str__(self) -> str:
        return f"{self.measure} {brief(self.value)}: {brief(self.bound)} ± {brief(self.within)}"


def near(values: Mapping[str, float], n: int) -> tuple[Near, ...]:
    """The bounds within 95% of what chance does to the mean of n queries, if the true value is the bound.

    A value from 0 to 1 with mean b has a variance of at most b (1 - b), that of a success or failure.
    """
    found = []
    for measure, bound in sorted({(one.measure, bound) for rule in RULES for one in rule.conditions for bound in one.bounds}):
        within = _SURE * math.sqrt(bound * (1 - bound) / n)
        if measure in values and abs(values[measure] - bound) <= within:
            sides = (diagnosis({**values, measure: bound + step}) for step in (-_STEP, _STEP))
            found += [Near(measure, values[measure], bound, within)] if len(set(sides)) > 1 else []
    return tuple(found)
