"""Every function of the native extensions refuses arguments of other types."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
import pytest

NAMES = ("align", "bert", "bm25", "documents", "merge", "permutation", "topk", "word_vectors", "wordpiece")
EXTENSIONS = [pytest.importorskip(f"rankproof._native.{name}", exc_type=ImportError) for name in NAMES]
FUNCTIONS = [
    getattr(extension, name)
    for extension in EXTENSIONS
    for name in dir(extension)
    if callable(getattr(extension, name)) and not isinstance(getattr(extension, name), type) and not name.startswith("_")
]


def test_functions_are_found_in_every_extension() -> None:
    assert len(FUNCTIONS) >= 40
    assert len({function.__module__ for function in FUNCTIONS}) == len(NAMES)


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: f"{function.__module__}.{function.__name__}")
@pytest.mark.parametrize("arguments", [(object(),), (object(),) * 12])
def test_arguments_of_other_types_are_refused(function: Any, arguments: tuple[Any, ...]) -> None:
    with pytest.raises((TypeError, ValueError)):
        function(*arguments)


def test_a_line_whose_id_has_a_nul_is_left_to_python() -> None:
    documents = import_module("rankproof._native.documents")
    line = b'{"id": "a\\u0000", "text": "x"}\n'
    assert documents.scan(line, 0, 1, 9, 999, b"id\0", b"text\0")[0] == 0


@pytest.mark.parametrize("column", [(-1, bytes(16), b""), (0, bytes(15), b"")])
def test_ids_with_wrong_offsets_are_refused(column: tuple[int, bytes, bytes]) -> None:
    documents = import_module("rankproof._native.documents")
    with pytest.raises(ValueError, match="the first position or the offsets"):
        documents.find(["a"], np.zeros(2, np.uint64), [column])


@pytest.mark.parametrize(
    ("length", "pairs"), [(0, []), (3, []), (2, [0, 1]), (2, [0, 2, 0]), (2, [-1, 0, 0]), (1 << 62, []), (-1, [])]
)
def test_pairs_of_columns_that_are_not_there_are_refused(length: int, pairs: list[int]) -> None:
    permutation = import_module("rankproof._native.permutation")
    with pytest.raises(ValueError, match=r"do not fill whole columns|not there"):
        permutation.count_far(np.zeros(4, np.int64), length, np.array(pairs, np.int64))


@pytest.mark.parametrize(
    ("length", "pairs", "rows"),
    [(0, [], 0), (3, [], 0), (2, [0], 0), (2, [0, 2], 1), (2, [-1, 0], 1), (2, [0, 1], 2), (1 << 62, [], 0)],
)
def test_statistics_of_pairs_that_are_not_there_are_refused(length: int, pairs: list[int], rows: int) -> None:
    permutation = import_module("rankproof._native.permutation")
    with pytest.raises(ValueError, match="do not fill whole columns, or a pair"):
        permutation.paired(np.zeros(4), length, np.array(pairs, np.int64), np.zeros((rows, 6)))
