"""Reading and writing dataclasses as JSON objects, and whether a value has a type."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import pytest

from rankproof._io.strict_json import JsonObject, fits, plain_record
from rankproof.errors import InputError


@dataclass(frozen=True)
class Inner:
    count: int
    kind: Literal["a", "b"] = "a"


@dataclass(frozen=True)
class Outer:
    name: str
    value: float | None
    flag: bool
    anything: Mapping[str, Any]
    items: tuple[Inner, ...]
    by_name: Mapping[str, Inner]
    numbers: list[float]
    inner: Inner | None = None


PLAIN = {
    "name": "n",
    "value": None,
    "flag": True,
    "anything": {"x": [1, None]},
    "items": [{"count": 1, "kind": "b"}],
    "by_name": {"k": {"count": 2, "kind": "a"}},
    "numbers": [1.5, 2.0],
}


def read(**changes: Any) -> Outer:
    return JsonObject({**PLAIN, **changes}, "f.json").read(Outer)


def test_a_dataclass_is_read_as_it_was_written() -> None:
    assert plain_record(read()) == PLAIN
    assert read(inner={"count": 3}).inner == Inner(3)
    assert plain_record(read(), frozenset({"kind", "numbers"}))["items"] == [{"count": 1}]


def test_whole_numbers_are_numbers_and_unknown_keys_are_ignored() -> None:
    assert read(value=2, numbers=[1, 2.5], other=7) == read(value=2.0, numbers=[1.0, 2.5])


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"name": 1}, "name is not text"),
        ({"value": "1"}, "value is not a number"),
        ({"value": True}, "value is not a number"),
        ({"value": 10**400}, "value is not a 64-bit float"),
        ({"flag": 1}, "flag is not true or false"),
        ({"anything": []}, "anything is not an object"),
        ({"items": {}}, "items is not an array"),
        ({"items": [{"count": 1.0}]}, r"items\[0\]\.count is not a whole number"),
        ({"items": [{"count": 1}, {}]}, r"items\[1\]\.count is missing"),
        ({"items": [{"count": 1, "kind": "c"}]}, r"items\[0\]\.kind is not one of a, b"),
        ({"by_name": {"k": 3}}, r"by_name\.k is not an object"),
        ({"numbers": [1.0, True]}, r"numbers\[1\] is not a number"),
        ({"inner": 3}, "inner is not an object"),
    ],
)
def test_a_wrong_value_is_refused_with_its_path(changes: dict[str, Any], what: str) -> None:
    with pytest.raises(InputError, match=rf"^f\.json: {what}; "):
        read(**changes)


def test_one_member_is_read_by_its_type() -> None:
    values = JsonObject({"schema": 3, "sha256": {"a": "b"}, "wrong": {"a": 1}}, "f.json", line=2, damaged_fix="restore it")
    assert values.member("schema", int) == 3
    assert values.member("sha256", dict[str, str]) == {"a": "b"}
    with pytest.raises(InputError, match=r"^f\.json:2: wrong\.a is not text; restore it$"):
        values.member("wrong", dict[str, str])
    with pytest.raises(InputError, match=r"^f\.json:2: other is missing; restore it$"):
        values.member("other", str)
    with pytest.raises(InputError, match=r"^f\.json: the document is not an object; "):
        JsonObject([], "f.json")


@pytest.mark.parametrize(
    ("kind", "fitting", "wrong"),
    [
        (str, "a", 1),
        (float, 1, True),
        (int, 1, 1.0),
        (str | tuple[str, ...], ["a"], [1]),
        (bool | tuple[str, ...], True, "a"),
        (tuple[tuple[float, ...], ...], [[1, 2.5], []], [1]),
        (dict[str, int], {"a": 1}, {"a": True}),
        (float | None, None, "1"),
    ],
)
def test_a_value_fits_a_type_or_not(kind: Any, fitting: Any, wrong: Any) -> None:
    assert fits(kind, fitting)
    assert not fits(kind, wrong)
