"""Every option of every public function and registered part is plain data and valid JSON Schema."""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterator
from typing import Any

import pytest

import rankproof
from rankproof._data.validation import checked_setting
from rankproof._io.option_schema import json_schema, option_records, part_settings
from rankproof._registry import RecordTable
from rankproof.errors import UsageError
from support.registries import all_registries


def parts() -> Iterator[Any]:
    """Every public function, and every part of every registry that has settings or parameters."""
    for name in rankproof.__all__:
        if inspect.isfunction(function := getattr(rankproof, name)):
            yield pytest.param(function, id=name)
    for registry in all_registries():
        names = registry.registered() if isinstance(registry, RecordTable) else [part.name for part in registry.components]
        for name in names:
            part = registry[name]
            # Functions of charts and of output formats have no options of their own.
            if not inspect.isfunction(part) and part_settings(part):
                yield pytest.param(part, id=f"{registry.kind}-{name}".replace(" ", "-"))


PARTS = list(parts())
FUNCTIONS = [case for case in PARTS if inspect.isfunction(case.values[0])]


def test_the_functions_and_parts_that_are_looked_at_are_not_few() -> None:
    assert len(FUNCTIONS) >= 35
    assert len(PARTS) >= 150
    assert sum(len(option_records(case.values[0])) for case in PARTS) >= 1000


@pytest.mark.parametrize("part", PARTS)
def test_the_schema_of_a_part_is_valid_and_accepts_its_defaults(part: Any) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    schema = json.loads(json.dumps(json_schema(part)))
    jsonschema.Draft202012Validator.check_schema(schema)
    defaults = {record.name: record.default for record in option_records(part) if record.default is not None}
    kept = {name: value for name, value in defaults.items() if name in schema["properties"]}
    jsonschema.Draft202012Validator({**schema, "required": []}).validate(json.loads(json.dumps(kept)))


@pytest.mark.parametrize("part", PARTS)
def test_a_record_has_the_sentence_the_range_and_the_choices_of_its_option(part: Any) -> None:
    for record, setting in zip(option_records(part), part_settings(part), strict=True):
        assert record.sentence
        assert record.about.startswith(record.sentence)
        assert list(record.choices) == list(setting.choices)
        assert record.required == setting.required
        if record.choices and record.type == {"type": "string"}:
            assert record.schema["enum"] == list(record.choices)


@pytest.mark.parametrize("part", PARTS)
def test_a_value_that_the_schema_forbids_is_rejected_by_the_check_of_the_setting(part: Any) -> None:
    for record, setting in zip(option_records(part), part_settings(part), strict=True):
        if setting.type not in (int, float):
            continue
        if record.least is not None and record.most is not None:
            assert record.least <= record.most
        for bound, step in ((record.least, -1), (record.most, 1), (record.above, 0), (record.below, 0)):
            if bound is not None:
                with pytest.raises(UsageError, match=f"^{setting.field.rstrip('_')} is "):
                    checked_setting(setting, type(bound)(bound + step) if setting.type is int else float(bound + step))


@pytest.mark.parametrize("function", FUNCTIONS)
def test_agents_can_pass_everything_that_a_function_requires(function: Any) -> None:
    """Only functions that write a Run, Qrels or results in memory need what JSON cannot hold."""
    unknown = [record.name for record in option_records(function) if record.required and not record.type]
    in_memory = function.__name__ in ("write_run", "write_qrels", "save_results")
    assert unknown == [] or in_memory, unknown


def test_an_example_of_a_schema() -> None:
    alpha = json_schema(rankproof.compare)["properties"]["alpha"]
    assert alpha == {
        "description": "significance level (default: 0.05)",
        "type": "number",
        "exclusiveMinimum": 0,
        "exclusiveMaximum": 0.5,
        "default": 0.05,
    }
    assert json_schema(rankproof.fuse)["additionalProperties"] is True
    assert json_schema(rankproof.compare)["additionalProperties"] is False
