"""The options of public functions and registered parts as plain data, and as JSON Schema, for web forms and tools of agents."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, is_dataclass
from inspect import isfunction
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, is_typeddict

from rankproof._data.validation import described
from rankproof._registry import Setting, arguments_of, settings_of

JsonSchema = dict[str, Any]
_PLAIN: Mapping[Any, str] = {str: "string", int: "integer", float: "number", bool: "boolean"}
_LISTS = (tuple, list, Sequence, Collection, Iterable)
_BOUNDS = {"least": "minimum", "most": "maximum", "above": "exclusiveMinimum", "below": "exclusiveMaximum"}


@dataclass(frozen=True, slots=True)
class OptionRecord:
    """An option as plain data: its name, its type as JSON Schema, whether it is required, its default and its sentence.

    `about` names the default and the choices, `sentence` does not. A `rare` option is behind --help-all. An option that JSON
    cannot hold, such as a function, has no `type`.
    """

    name: str
    sentence: str
    about: str
    required: bool
    default: Any
    type: JsonSchema | None
    choices: tuple[Any, ...]
    least: float | None
    most: float | None
    above: float | None
    below: float | None
    rare: bool
    values: tuple[Any, ...]

    @property
    def schema(self) -> JsonSchema:
        """The JSON Schema of the option."""
        bounds = {word: getattr(self, name) for name, word in _BOUNDS.items() if getattr(self, name) is not None}
        typed = {**(self.type or {}), **(bounds if self.type and self.type.get("type") in ("integer", "number") else {})}
        choices = {"enum": list(self.choices)} if self.choices and typed.get("type") == "string" else {}
        default = {} if self.default is None else {"default": self.default}
        return {"description": self.about, **typed, **choices, **default}


def option_records(part: Any) -> tuple[OptionRecord, ...]:
    """The options of a public function, a class of a registry, or a record with `parameters`, such as a fusion method."""
    return tuple(_record(setting) for setting in part_settings(part))


def part_settings(part: Any) -> Iterable[Setting]:
    """The settings of a public function, a class of a registry, or a record with `parameters`."""
    if isfunction(part) or is_typeddict(part):
        return arguments_of(part).values()
    declared = getattr(part, "parameters", None)
    settings = declared if isinstance(declared, tuple) else settings_of(part if isinstance(part, type) else type(part))
    return settings if any(setting.option.description for setting in settings) else ()


def json_schema(part: Any) -> JsonSchema:
    """The options of a part as JSON Schema; an option that JSON cannot hold is left out unless it is required."""
    records = option_records(part)
    is_open = any(setting.option.role == "parameters" for setting in part_settings(part))
    return {
        "type": "object",
        "properties": {record.name: record.schema for record in records if record.type is not None or record.required},
        "required": [record.name for record in records if record.required],
        "additionalProperties": is_open,
    }


def _record(setting: Setting) -> OptionRecord:
    option = setting.option
    return OptionRecord(
        name=setting.key,
        sentence=option.description,
        about=described(setting),
        required=setting.required,
        default=None if setting.required else plain_value(setting.default),
        type=type_schema(setting.typed),
        choices=tuple(setting.choices),
        least=option.least,
        most=option.most,
        above=option.above,
        below=option.below,
        rare=option.rare,
        values=option.values,
    )


def plain_value(value: Any) -> Any:
    """The value as JSON holds it; None for what it cannot hold, and for an empty one."""
    if isinstance(value, Mapping):
        return {str(key): plain_value(part) for key, part in value.items()} or None
    if isinstance(value, list | tuple):
        return [plain_value(part) for part in value] or None
    return value if isinstance(value, str | int | float | bool) else None


def type_schema(kind: Any) -> JsonSchema | None:
    """The JSON Schema of a type; {} for any value, None for a type that JSON cannot hold."""
    if kind is Any:
        return {}
    if kind in _PLAIN:
        return {"type": _PLAIN[kind]}
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is Literal:
        return {"type": "string", "enum": list(arguments)}
    if origin in (Union, UnionType):
        return _any_of(list(_different(type_schema(argument) for argument in arguments)))
    if origin is os.PathLike:
        return {"type": "string"}
    if origin in _LISTS:
        return _list_schema(arguments)
    if origin in (Mapping, dict):
        values = type_schema(arguments[1])
        return None if values is None else {"type": "object", "additionalProperties": values or True}
    return json_schema(kind) if isinstance(kind, type) and is_dataclass(kind) and settings_of(kind) else None


def _list_schema(arguments: Sequence[Any]) -> JsonSchema | None:
    items = type_schema(arguments[0]) if arguments else {}
    return None if items is None else {"type": "array", "items": items or True}


def _any_of(schemas: Sequence[JsonSchema]) -> JsonSchema | None:
    """Any of the schemas; a value of any kind if one of them allows that, but a text is preferred."""
    exact = [schema for schema in schemas if schema]
    if len(exact) < 2:
        return exact[0] if exact else ({} if schemas else None)
    return {"anyOf": exact}


def _different(schemas: Iterable[JsonSchema | None]) -> Iterator[JsonSchema]:
    """Each schema once, without those of types that JSON cannot hold."""
    seen: list[JsonSchema] = []
    for schema in schemas:
        if schema is not None and schema not in seen:
            seen.append(schema)
            yield schema
