"""The parameters that are tuned and the values that are tried: axes, combinations, and neighbours of a value."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice, product
from typing import Any, Literal

from rankproof._data.validation import checked_number
from rankproof._experiment.config_settings import is_scorer, is_system, is_systems, parameter_keys
from rankproof._experiment.experiment import stage_with_inputs
from rankproof._fusion.method import METHODS
from rankproof._registry import Setting, settings_of
from rankproof.errors import UsageError, for_message, type_phrase
from rankproof.stages._base import Stage
from rankproof.stages._fuse import Fuse
from rankproof.stages._registry import SCORERS, STAGES

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


ValuesLike = str | Sequence[Any] | None
"""Values to try: a text such as `0.3,0.5`, `0.1:0.9:0.2` or `grid`, a list, or None for the usual values."""
WEIGHT_STEP = 0.1
USUAL_VALUES: Mapping[tuple[str, str], str] = {
    ("bm25", "k1"): "0.6:2.4:0.3",
    ("bm25", "b"): "0.15:0.9:0.15",
    ("rm3", "docs"): "5,10,20",
    ("rm3", "terms"): "5,10,20,40",
    ("rm3", "weight"): "0.3:0.9:0.2",
    ("rerank", "weight"): "0:1:0.1",
    ("rerank", "top"): "10,20,50,100",
}
"""Stage and key to the values that are tried unless others are given; a system without --vary varies those of its stage.

Those of a fusion are in the table of its parameters.
"""
_CHECKED = 2000
_EXAMPLE = "write values such as --vary k1=0.6:2.4:0.3"


@dataclass(frozen=True, slots=True)
class _Target:
    """A setting of a stage or scorer in a system, with its name in tables."""

    name: str
    part: Any
    setting: Setting

    @property
    def kind(self) -> str:
        """The registered name of the stage or scorer."""
        return part_name(self.part)

    @property
    def value(self) -> Any:
        """The value that the system has."""
        field = self.setting.field
        return getattr(self.part, field) if hasattr(self.part, field) else dict(self.part.parameters)[field]


@dataclass(frozen=True, slots=True)
class TunedSystem:
    """A system and the settings in it that vary."""

    name: str
    stage: Stage
    targets: tuple[_Target, ...]
    space: Space

    def with_settings(self, settings: Settings) -> Stage:
        """The system with these values."""
        changes: dict[Any, dict[str, Value]] = {}
        values = dict(settings)
        for target in self.targets:
            changes.setdefault(target.part, {})[target.setting.field] = values[target.name]
        stage: Stage = changed_part(self.stage, changes)
        return stage


def tuned_system(systems: Mapping[str, Stage], name: str, vary: Mapping[str, ValuesLike]) -> TunedSystem:
    """The system of that name with the parameters that vary, by default the usual ones of its stage."""
    if name not in systems:
        raise UsageError(f"no system is called {for_message(name)}", fix=f"choose from: {', '.join(map(for_message, systems))}")
    stage = systems[name]
    asked = vary or dict.fromkeys(_usual_keys(stage))
    if not asked:
        known = ", ".join(_names(systems, stage))
        raise UsageError(f"system {for_message(name)} has no usual parameters", fix=f"choose some with --vary: {known}")
    targets = tuple(_target(systems, stage, key) for key in asked)
    axes = tuple(_axis(target, values) for target, values in zip(targets, asked.values(), strict=True))
    default = tuple((axis.name, axis.default) for axis in axes)
    tuned = TunedSystem(name, stage, targets, Space(default, (ParameterFamily((), axes),)))
    _check_values(tuned, axes)
    return tuned


def _check_values(tuned: TunedSystem, axes: Sequence[SearchAxis]) -> None:
    """Rejects a value that the system does not take, and a parameter that changes nothing."""
    every = _stages(tuned, axes)
    for axis in axes:
        fixed = [replace(other, values=other.values[:1]) if other == axis else other for other in axes]
        if len(axis.values) > 1 and every == _stages(tuned, fixed):
            raise UsageError(f"{axis.name} has no effect with the other settings of the system", fix="vary another parameter")
        for value in axis.values:
            tuned.with_settings(tuple((key, value if key == axis.name else old) for key, old in tuned.space.default))


def _stages(tuned: TunedSystem, axes: Sequence[SearchAxis]) -> set[Stage]:
    """The different systems among the first combinations."""
    return {tuned.with_settings(settings) for settings in islice(ParameterFamily((), tuple(axes)).grid(), _CHECKED)}


def part_name(part: Any) -> str:
    """The registered name of a stage or scorer, else its class."""
    return STAGES.name_of(type(part)) or SCORERS.name_of(type(part)) or type(part).__name__


def changed_part(part: Any, changes: Mapping[Any, Mapping[str, Any]]) -> Any:
    """The part with the changed fields of itself and of its inputs and scorers, at any level."""
    new: dict[str, Any] = {}
    for setting in settings_of(type(part)):
        value = getattr(part, setting.field)
        if is_system(setting) or is_scorer(setting):
            new[setting.field] = changed_part(value, changes)
        elif is_systems(setting):
            new[setting.field] = tuple(changed_part(inner, changes) for inner in value)
    changed = {name: value for name, value in new.items() if value != getattr(part, name)}
    changed |= changes.get(part, {})
    if own := {key: changed.pop(key) for key in parameter_keys(type(part), vars(part)) if key in changed}:
        changed["parameters"] = {**dict(part.parameters), **own}
    return replace(part, **changed) if changed else part


def settings_of_part(part: Any) -> tuple[Setting, ...]:
    """The settings of a part, with the parameters that its method and normalisation declare."""
    return (*settings_of(type(part)), *parameter_keys(type(part), vars(part)).values())


def _usual_keys(stage: Stage) -> list[str]:
    if isinstance(stage, Fuse):
        declared = [key for key, setting in parameter_keys(Fuse, vars(stage)).items() if setting.option.values]
        return [*(key for key in METHODS[stage.method].uses if key != "norm"), *declared]
    return [key for part, key in USUAL_VALUES if part == part_name(stage)]


def _usual_values(target: _Target) -> ValuesLike:
    key = target.setting.key
    if key == "weights" and isinstance(target.part, Fuse):
        return f"grid:{WEIGHT_STEP}"
    return target.setting.option.values or USUAL_VALUES.get((target.kind, key))


def parts_of(stage: Stage) -> Iterator[Any]:
    """The stage, its scorers and all its inputs, each once; the stage itself first."""
    for part in reversed(stage_with_inputs(stage)):
        yield part
        yield from (getattr(part, setting.field) for setting in settings_of(type(part)) if is_scorer(setting))


def _names(systems: Mapping[str, Stage], stage: Stage) -> list[str]:
    """The parameters of a system by their full names."""
    named = {system: name for name, system in reversed(list(systems.items())) if system != stage}
    return [
        f"{named.get(part, part_name(part))}.{setting.key}"
        for part in dict.fromkeys(parts_of(stage))
        for setting in settings_of_part(part)
        if _is_plain(setting)
    ]


def _is_plain(setting: Setting) -> bool:
    """Whether values of the setting can be written in text."""
    return setting.type in (int, float, bool, str, tuple[float, ...]) and not setting.option.role


def _target(systems: Mapping[str, Stage], stage: Stage, name: str) -> _Target:
    """The setting that a name means: `key` of the system's own stage or of its only part with it, or `part.key`."""
    place, _, key = name.rpartition(".")
    parts = dict.fromkeys(parts_of(stage))
    if place:
        parts = {part: None for part in parts if systems.get(place) == part or part_name(part) == place}
    targets = [
        _Target(name, part, setting)
        for part in parts
        for setting in settings_of_part(part)
        if setting.key == key and _is_plain(setting)
    ]
    own = [target for target in targets if target.part == stage]
    if not targets:
        known = ", ".join(_names(systems, stage))
        raise UsageError(f"the system has no parameter {for_message(name)}", fix=f"choose from: {known}")
    if len(own or targets) > 1:
        several = [full for full in _names(systems, stage) if full.rpartition(".")[2] == key]
        raise UsageError(f"several parts of the system have {for_message(name)}", fix=f"choose one: {', '.join(several)}")
    return (own or targets)[0]


def _axis(target: _Target, values: ValuesLike) -> SearchAxis:
    setting, default = target.setting, target.value
    chosen = _usual_values(target) if values is None else values
    if chosen is None:
        raise UsageError(f"{target.name} has no usual values", fix=_EXAMPLE)
    if setting.type == tuple[float, ...]:
        return weights_axis(target.name, chosen, len(target.part.inputs()), default)
    return named_axis(target.name, setting.type, chosen, default)


def named_axis(name: str, kind: Any, values: str | Sequence[Any], default: Value) -> SearchAxis:
    """The axis of a parameter of this type; numbers are sorted."""
    items = _listed(name, kind, values) if isinstance(values, str) else _sequence(name, values)
    if not items:
        raise UsageError(f"{name} has no values", fix=_EXAMPLE)
    if kind in (int, float):
        return SearchAxis(name, tuple(sorted({_number(name, kind, item) for item in items})), default)
    return SearchAxis(name, tuple(dict.fromkeys(items)), default, "choice")


def weights_axis(name: str, values: str | Sequence[Any], runs: int, default: tuple[float, ...] | None) -> SearchAxis:
    """The axis of the weights of so many runs: `grid`, `grid:STEP`, or a list such as `1/1,1/2`."""
    equal = (1.0,) * runs if default is None else default
    if isinstance(values, str) and values.partition(":")[0] == "grid":
        step = values.partition(":")[2]
        return SearchAxis(name, weight_grid(runs, _number("step", float, step or WEIGHT_STEP)), equal, "weights")
    listed = [row.split("/") for row in values.split(",")] if isinstance(values, str) else _sequence(name, values)
    rows = tuple(tuple(float(_number(name, float, weight)) for weight in _sequence(name, row)) for row in listed)
    if wrong := [row for row in rows if len(row) != runs]:
        raise UsageError(f"{name} has {len(wrong[0])} weights for {runs} runs", fix="write a weight for each, as in 1/2,2/1")
    return SearchAxis(name, rows, equal, "choice")


def _sequence(name: str, values: Any) -> list[Any]:
    if isinstance(values, str) or not isinstance(values, Sequence):
        raise UsageError(f"the values of {name} are {type_phrase(values)}", fix="pass a list of values, or a text")
    return list(values)


def _listed(name: str, kind: Any, text: str) -> list[Any]:
    """The values of `a,b,c`, or of `low:high:step`."""
    if kind is bool:
        words = {"true": True, "false": False}
        if unknown := [word for word in text.split(",") if word not in words]:
            raise UsageError(f"{name} is {for_message(unknown[0])}", fix="write true, false or true,false")
        return [words[word] for word in text.split(",")]
    if kind is str or ":" not in text:
        return [word for word in text.split(",") if word]
    low, high, step = (_number(name, float, bound) for bound in _bounds(name, text))
    if step <= 0 or high < low:
        raise UsageError(f"{name}={for_message(text)} is not a range", fix=_EXAMPLE)
    if (high - low) / step > MOST_TRIALS:
        raise UsageError(f"{name}={for_message(text)} has more than {MOST_TRIALS:,} values", fix="choose a larger step")
    count = math.floor((high - low) / step + 1e-9) + 1
    return [round(low + at * step, 12) for at in range(count)]


def _bounds(name: str, text: str) -> list[str]:
    parts = text.split(":")
    if len(parts) != 3:
        raise UsageError(f"{name}={for_message(text)} is not low:high:step", fix=_EXAMPLE)
    return parts


def _number(name: str, kind: Any, value: Any) -> int | float:
    try:
        number = float(value) if isinstance(value, str) else value
    except ValueError:
        raise UsageError(f"{name} is {for_message(str(value))}", fix=_EXAMPLE) from None
    checked = checked_number(name, number)
    if kind is int:
        if checked != int(checked):
            raise UsageError(f"{name} is {checked:g}", fix="choose whole numbers")
        return int(checked)
    return checked
