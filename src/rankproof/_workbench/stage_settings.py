"""The settings of a system and its parts that the bench can change, and the system with other values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args, get_origin

from rankproof._fusion.method import METHODS, PARAMETERS
from rankproof._io.option_schema import plain_value
from rankproof._registry import Setting
from rankproof._server.bench.port import Knob, KnobKind
from rankproof._tune.parameters import USUAL_VALUES, changed_part, named_axis, part_name, parts_of, settings_of_part
from rankproof.errors import UsageError, for_message
from rankproof.stages._base import Stage
from rankproof.stages._engines.base import EngineStage
from rankproof.stages._fuse import Fuse

_KINDS: Mapping[Any, KnobKind] = {
    int: "integer",
    float: "number",
    str: "text",
    bool: "choice",
    tuple[str, ...]: "list",
    tuple[float, ...]: "weights",
}
_OF_ENGINES = ("body", "query_prompt", "depth")
"""What can be changed of a search engine: not where requests are sent, and not with which keys."""
_TRUTH = {"true": True, "false": False}
_VARIABLE = "${"


@dataclass(frozen=True, slots=True)
class PartSetting:
    """A setting of a part of a system, by its name in the bench."""

    name: str
    part: Any
    setting: Setting

    @property
    def kind(self) -> KnobKind:
        """What it takes."""
        kind = _kind(self.part, self.setting)
        assert kind is not None, "other settings are left out"
        return kind

    @property
    def value(self) -> Any:
        """The value of the system."""
        field = self.setting.field
        return getattr(self.part, field) if hasattr(self.part, field) else dict(self.part.parameters)[field]


def part_settings(systems: Mapping[str, Stage], stage: Stage) -> dict[str, PartSetting]:
    """The settings by name: `key` of the system itself, `part.key` of a part, which is called as its system or its stage."""
    named = {system: name for name, system in reversed(list(systems.items()))}
    chosen: dict[str, PartSetting] = {}
    for part in dict.fromkeys(parts_of(stage)):
        prefix = "" if part == stage else f"{named.get(part, part_name(part))}."
        for setting in settings_of_part(part):
            name = f"{prefix}{setting.key}"
            if _kind(part, setting) is not None and name not in chosen:
                chosen[name] = PartSetting(name, part, setting)
    return chosen


def _kind(part: Any, setting: Setting) -> KnobKind | None:
    """What a setting takes, None for one that the bench does not change."""
    if setting.option.role not in ("", "fields") or not _is_used(part, setting.key):
        return None
    if isinstance(part, EngineStage):
        if setting.key not in _OF_ENGINES:
            return None
        if setting.key == "body":
            return "table" if part.body is not None else None  # type: ignore[attr-defined]
    if _choices(setting):
        return "choice"
    return _KINDS.get(setting.type)


def _is_used(part: Any, key: str) -> bool:
    """Whether a fusion uses the setting; every setting of another part counts."""
    return not isinstance(part, Fuse) or key in ("method", "depth") or key not in PARAMETERS or key in METHODS[part.method].uses


def _choices(setting: Setting) -> tuple[str, ...]:
    if setting.type is bool:
        return tuple(_TRUTH)
    if get_origin(setting.type) is Literal:
        return tuple(map(str, get_args(setting.type)))
    return tuple(setting.option.choices)


def stage_knobs(systems: Mapping[str, Stage], stage: Stage, changes: Mapping[str, Any], *, but: bool = False) -> Iterator[Knob]:
    """The knobs of a system, each computed by running the system again; with `but` without those of the system itself."""
    named = {system: name for name, system in reversed(list(systems.items()))}
    for name, chosen in part_settings(systems, stage).items():
        if but and chosen.part == stage:
            continue
        setting, default = chosen.setting, plain_value(chosen.value)
        shown = str(default).lower() if isinstance(default, bool) else default
        option, choices = setting.option, _choices(setting)
        if chosen.kind == "weights":
            choices = tuple(named.get(part, part_name(part)) for part in chosen.part.inputs())
            shown = [1.0] * len(choices) if shown is None else shown
        yield Knob(
            name,
            option.description,
            chosen.kind,
            changes.get(name, shown),
            shown,
            False,
            choices,
            option.least,
            option.most,
            usual_values(chosen),
        )


def usual_values(chosen: PartSetting) -> tuple[Any, ...]:
    """The values that a search tries; none for a setting that is written by hand."""
    usual = chosen.setting.option.values or USUAL_VALUES.get((part_name(chosen.part), chosen.setting.key))
    if usual is None or chosen.kind not in ("number", "integer", "choice"):
        return _choices(chosen.setting) if chosen.kind == "choice" else ()
    return named_axis(chosen.name, chosen.setting.type, usual, chosen.value).values


def changed_stage(systems: Mapping[str, Stage], stage: Stage, changes: Mapping[str, Any]) -> Stage:
    """The system with the changes; an unknown name, or a value that a part does not take, is an error."""
    settings = part_settings(systems, stage)
    by_part: dict[Any, dict[str, Any]] = {}
    for name, value in changes.items():
        if name not in settings:
            raise UsageError(f"the system has no setting {for_message(name)}", fix=f"choose from: {', '.join(settings)}")
        chosen = settings[name]
        by_part.setdefault(chosen.part, {})[chosen.setting.field] = _checked_value(chosen, value)
    try:
        changed: Stage = changed_part(stage, by_part)
    except (TypeError, ValueError) as error:
        raise UsageError(f"a setting has a wrong type ({error})", fix="check the values") from None
    return changed


def _checked_value(chosen: PartSetting, value: Any) -> Any:
    if _VARIABLE in str(value):
        raise UsageError(f"{chosen.name} names an environment variable", fix="write it into the experiment file instead")
    if chosen.setting.type is bool and value in _TRUTH:
        return _TRUTH[value]
    return tuple(value) if isinstance(value, list) else value
