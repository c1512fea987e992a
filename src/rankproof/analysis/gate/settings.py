"""What a gate asks for: thresholds, drops that are allowed, and how sure it must be."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from ...errors import UsageError, shown
from ...measures import parse
from ..statistics.settings import Sampling

_THRESHOLD = re.compile(r"(?P<measure>.+?)\s*(?P<sign>>=|<=|>|<)\s*(?P<bound>[^<>=]+)", re.DOTALL)
_SIGNS: Mapping[str, Callable[[float, float], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
}


@dataclass(frozen=True, slots=True)
class Threshold:
    """A measure's mean, and the bound that it must keep to."""

    measure: str
    sign: str
    bound: float

    def is_met(self, value: float) -> bool:
        """Whether the value keeps to the bound."""
        return _SIGNS[self.sign](value, self.bound)

    def __str__(self) -> str:
        return f"{self.measure} {self.sign} {self.bound:g}"


@dataclass(frozen=True, slots=True)
class GateSettings(Sampling):
    """`max_drops` says by measure how much may be lost; there the test for significance does not decide."""

    thresholds: tuple[Threshold, ...] = ()
    max_drops: Mapping[str, float] = field(default_factory=dict)

    def under(self, rel: int) -> GateSettings:
        """The same, measures named as an evaluation with that rel names them."""
        bounds = tuple(replace(one, measure=_named(one.measure, rel)) for one in self.thresholds)
        return replace(self, thresholds=bounds, max_drops={_named(name, rel): drop for name, drop in self.max_drops.items()})


def threshold_of(text: str) -> Threshold:
    """A threshold as it is written: nDCG@10>=0.45."""
    found = _THRESHOLD.fullmatch(text.strip())
    if found is None:
        raise UsageError(f"threshold {shown(text)} says nothing", fix="write it like nDCG@10>=0.45")
    return Threshold(str(parse(found["measure"])), found["sign"], _number(found["bound"], text))


def max_drop_of(text: str) -> tuple[str, float]:
    """A measure and the drop that is allowed, as they are written: nDCG@10=0.02."""
    measure, equals, bound = text.strip().rpartition("=")
    if not equals or not measure:
        raise UsageError(f"drop {shown(text)} says nothing", fix="write it like nDCG@10=0.02")
    drop = _number(bound, text)
    if drop < 0:
        raise UsageError(f"a drop of {shown(bound.strip())} is a gain", fix="write how much may be lost, like nDCG@10=0.02")
    return str(parse(measure)), drop


def _named(measure: str, rel: int) -> str:
    return str(parse(measure).with_rel(rel))


def _number(text: str, whole: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise UsageError(f"{shown(text.strip())} in {shown(whole)} is no number", fix="write it like 0.45")
    return value
