"""Cells of tables as texts and lists of texts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rankproof._importers.cells import TableCell, list_in_text
from rankproof.errors import InputError


def cell(value: Any) -> TableCell:
    return TableCell(value, "contexts", "log.csv", 7)


@pytest.mark.parametrize(
    "value",
    [
        ["it's", "b\nc"],
        ("it's", "b\nc"),
        np.array(["it's", "b\nc"], dtype=object),
        '["it\'s", "b\\nc"]',
        str(["it's", "b\nc"]),
        str(np.array(["it's", "b\nc"], dtype=object)),
        repr(np.array(["it's", "b\nc"], dtype=object)),
    ],
    ids=["list", "tuple", "array", "JSON", "Python", "printed by numpy", "repr of numpy"],
)
def test_a_list_is_the_same_however_it_is_written(value: Any) -> None:
    assert cell(value).texts() == ("it's", "b\nc")


def test_texts_that_numpy_prints_without_commas_are_not_joined() -> None:
    assert list_in_text("['one' 'two'\n 'three']") == ["one", "two", "three"]


@pytest.mark.parametrize("value", [None, float("nan"), np.float64("nan"), ""])
def test_a_missing_cell_is_not_an_empty_list(value: Any) -> None:
    assert cell(value).texts() is None
    assert cell("[]").texts() == ()
    assert cell([]).texts() == ()


def test_integers_in_a_list_are_ids_in_decimal() -> None:
    assert cell([1, np.int64(2)]).texts() == ("1", "2")
    assert cell("[1 2]").texts() == ("1", "2")


def test_a_text_that_is_no_list_is_a_list_of_one() -> None:
    assert cell("one passage").texts() == ("one passage",)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (5, "log.csv:7: contexts is a number, not a list; write a list of texts"),
        (True, "log.csv:7: contexts is true or false, not a list"),
        ({"text": "a"}, "log.csv:7: contexts is an object, not a list"),
        (["a", None], r"log.csv:7: contexts\[1\] is null, not text"),
        (["a", float("nan")], r"log.csv:7: contexts\[1\] is null, not text"),
        ([["a"]], r"log.csv:7: contexts\[0\] is a list, not text"),
        ([{"page_content": "a"}], r"log.csv:7: contexts\[0\] is an object, not text"),
        ("['a' ... 'b']", "log.csv:7: contexts is text that looks like a list and cannot be read"),
        ("['a', f()]", "log.csv:7: contexts is text that looks like a list and cannot be read"),
        (["\ud800"], "log.csv:7: .*lone surrogate"),
    ],
)
def test_a_cell_that_is_no_list_of_texts_is_an_error_with_its_line(value: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        cell(value).texts()


def test_a_list_of_texts_is_a_list_of_one_group() -> None:
    nested = np.array([np.array(["a", "b"], dtype=object), np.array(["c"], dtype=object)], dtype=object)
    assert cell(nested).nested_texts() == (("a", "b"), ("c",))
    assert cell(["a", "b"]).nested_texts() == (("a", "b"),)
    assert cell("a").nested_texts() == (("a",),)
    assert cell([[]]).nested_texts() == ((),)


def test_a_reference_that_looks_like_a_list_is_a_text() -> None:
    assert cell("[Paris]").texts_or_text() == ("[Paris]",)
    assert cell("[1]").texts_or_text() == ("[1]",)
    assert cell("['Paris', 'Rome']").texts_or_text() == ("Paris", "Rome")
    assert cell(["Paris"]).texts_or_text() == ("Paris",)
    assert cell(None).texts_or_text() is None


@pytest.mark.slow
def test_a_cell_of_many_items_is_read_in_linear_time() -> None:
    printed = "[" + " ".join(["'x'"] * 100_000) + "]"
    assert len(list_in_text(printed)) == 100_000
