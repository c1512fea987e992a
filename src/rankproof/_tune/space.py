"""The parameters that are tuned: axes of values, their combinations, and the neighbours of a value."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Literal

from rankproof._data.validation import checked_number
from rankproof.errors import UsageError

Value = str | bool | int | float | tuple[float, ...]
"""A value of a parameter; weights are a tuple."""
Settings = tuple[tuple[str, Value], ...]
"""One value for each parameter, as pairs of name and value."""
AxisKind = Literal["ordered", "choice", "weights"]
MOST_TRIALS = 100_000


@dataclass(frozen=True, slots=True)
class SearchAxis:
    """A parameter with the values that are tried; `kind` says which values are neighbours."""

    name: str
    values: tuple[Value, ...]
    default: Value
    kind: AxisKind = "ordered"

    @property
    def reach(self) -> int:
        """The first distance of a coordinate search: a quarter of the values, for weights a quarter of their steps."""
        if self.kind == "choice":
            return 1
        return max(1, (_steps(self.values) if self.kind == "weights" else len(self.values)) // 4)

    def start(self) -> Value:
        """The value nearest to the default."""
        if self.default in self.values or self.kind == "choice":
            return self.default if self.default in self.values else self.values[0]
        return min(self.values, key=lambda value: _distance(value, self.default))

    def near(self, value: Value, distance: int) -> list[Value]:
        """The values at this distance: so many places before and after, or so many steps moved from one weight to another."""
        if self.kind == "choice":
            return [other for other in self.values if other != value]
        if self.kind == "weights":
            return [other for other in self.values if _moved(value, other, distance / _steps(self.values))]
        at = self.values.index(value)
        return [self.values[place] for place in (at - distance, at + distance) if 0 <= place < len(self.values)]


def _distance(first: Value, second: Value) -> float:
    """How far two values are apart; weights are compared by their shares."""
    return math.dist(_shares(first), _shares(second))


def _shares(value: Value) -> tuple[float, ...]:
    if not isinstance(value, tuple):
        return (float(value),)
    total = math.fsum(value)
    return tuple(weight / total for weight in value)


def _steps(values: Sequence[Value]) -> int:
    """The number of steps from weight 0 to weight 1: that of the smallest weight above 0."""
    least = min(weight for value in values if isinstance(value, tuple) for weight in value if weight)
    return round(1 / least)


def _moved(first: Value, second: Value, share: float) -> bool:
    """Whether one weight is lower by the share, another higher by it, and the rest are the same."""
    changes = [round((after - before) / share, 6) for before, after in zip(_shares(first), _shares(second), strict=True)]
    return sorted(change for change in changes if change) == [-1.0, 1.0]


def weight_grid(runs: int, step: float) -> tuple[tuple[float, ...], ...]:
    """All weights of so many runs in steps that sum to 1: whole numbers of steps, so that no sum is lost to rounding."""
    checked_number("step", step, 0)
    parts = round(1 / step) if step > 0 else 0
    if parts < 1 or abs(parts * step - 1) > 1e-9:
        raise UsageError(f"step is {step:g}, which does not divide 1", fix="choose a step such as 0.1, 0.05 or 0.25")
    if (count := math.comb(parts + runs - 1, runs - 1)) > MOST_TRIALS:
        raise UsageError(f"{count:,} combinations of weights are too many", fix="choose a larger step, or fewer runs")
    return tuple(tuple(part / parts for part in parts_of) for parts_of in _compositions(parts, runs))


def _compositions(total: int, places: int) -> Iterator[tuple[int, ...]]:
    if places == 1:
        yield (total,)
        return
    for first in range(total + 1):
        for rest in _compositions(total - first, places - 1):
            yield (first, *rest)


@dataclass(frozen=True, slots=True)
class ParameterFamily:
    """Settings with the same parameters: fixed values, and the axes that vary."""

    fixed: Settings
    axes: tuple[SearchAxis, ...]

    def grid(self) -> Iterator[Settings]:
        """Every combination of values, the last axis varying fastest."""
        names = [axis.name for axis in self.axes]
        for values in product(*(axis.values for axis in self.axes)):
            yield (*self.fixed, *zip(names, values, strict=True))

    @property
    def size(self) -> int:
        """The number of combinations."""
        return math.prod(len(axis.values) for axis in self.axes)

    def start(self) -> Settings:
        """The combination nearest to the defaults."""
        return (*self.fixed, *((axis.name, axis.start()) for axis in self.axes))


@dataclass(frozen=True, slots=True)
class Space:
    """All settings that are tried: the default ones, which are the baseline, and those of each family."""

    default: Settings
    families: tuple[ParameterFamily, ...]

    def __post_init__(self) -> None:
        if self.size > MOST_TRIALS:
            raise UsageError(f"{self.size:,} trials are too many", fix="vary fewer parameters, or try fewer values of each")

    @property
    def size(self) -> int:
        """The number of trials of a grid search, with the default settings."""
        return 1 + sum(family.size for family in self.families)

    def grid(self) -> list[Settings]:
        """The default settings, then every other combination, each once."""
        return list(dict.fromkeys((self.default, *(settings for family in self.families for settings in family.grid()))))


def settings_text(settings: Settings) -> str:
    """The settings in words, such as `method rrf, k 60`."""
    return ", ".join(f"{name} {value_text(value)}" for name, value in settings)


def value_text(value: Value) -> str:
    """A value as it is written in tables; weights are separated by slashes."""
    if isinstance(value, tuple):
        return "/".join(f"{weight:g}" for weight in value)
    return f"{value:g}" if isinstance(value, float) else str(value)
