"""Runs and judgements in dicts of dicts of any keys, values and mappings: the native engine must agree with the reference."""

from __future__ import annotations

import math
import random
from collections import Counter, OrderedDict, UserDict, defaultdict
from collections.abc import Callable, Mapping
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from rankproof._align import native, reference
from rankproof._align.hits import Hits, JudgedQueries
from rankproof._data.row_errors import OnDuplicate
from rankproof._data.validation import ReadOptions
from rankproof.errors import RankproofError

POLICIES: tuple[OnDuplicate, ...] = ("error", "keep-best", "keep-first", "keep-last")


class _Text(str):
    """A str with a type of its own."""


IDS: tuple[Any, ...] = ("1", "2", "d1", "d2", "é", "e\u0301", "日本", "a-document-id-of-many-bytes", "x" * 300, "😀")
ODD_IDS: tuple[Any, ...] = ("", "a\0b", "\ud800", " 1 ", "a b", _Text("d1"), np.str_("d2"), 1, 1.0, None, b"d1", ("d1",), True)
NUMBERS: tuple[Any, ...] = (0.0, -0.0, 1.0, 0.1, 1e-320, 1.7e308, 1, -3, 2**53 + 1, np.float64(0.25))
ODD_NUMBERS: tuple[Any, ...] = (
    *(math.nan, math.inf, -math.inf, 10**400, -(10**400), 2**63, 2**64, True, None, "1", "x", b"1", [1.0], 1j),
    *(np.float32(0.1), np.float16(0.1), np.int64(3), np.uint8(7), np.bool_(True), np.float64("nan"), np.array(1.0)),
    *(Decimal("0.1"), Fraction(1, 3)),
)
GRADES: tuple[Any, ...] = (0, 1, 2, 3, -1, 1000, 1, 1)
ODD_GRADES: tuple[Any, ...] = (1001, -(2**40), 2**63, 10**30, True, 1.0, 1.5, None, "1", np.int64(2), np.float64(1.0))


def _moved(items: dict[Any, Any]) -> OrderedDict[Any, Any]:
    """An OrderedDict whose order is not that of insertion."""
    ordered = OrderedDict(items)
    for key in list(ordered)[:1]:
        ordered.move_to_end(key)
    return ordered


def _defaults(items: dict[Any, Any]) -> defaultdict[Any, Any]:
    return defaultdict(float, items)


def _after_removals(items: dict[Any, Any]) -> dict[Any, Any]:
    """A dict from which keys were removed."""
    items = {"removed": 1.0, **items, "last": 2.0}
    del items["removed"], items["last"]
    return items


MAPPINGS: tuple[Callable[[dict[Any, Any]], Any], ...] = (dict, dict, dict, _after_removals, _defaults, Counter, _moved)
ODD_MAPPINGS: tuple[Callable[[dict[Any, Any]], Any], ...] = (UserDict, MappingProxyType, lambda items: list(items.items()), len)


def _picked(chance: random.Random, usual: tuple[Any, ...], odd: tuple[Any, ...], oddness: float) -> Any:
    return chance.choice(odd if chance.random() < oddness else usual)


def _mapping(chance: random.Random, oddness: float, items: dict[Any, Any]) -> Any:
    return _picked(chance, MAPPINGS, ODD_MAPPINGS, oddness)(items)


def nested(chance: random.Random, usual: tuple[Any, ...], odd: tuple[Any, ...]) -> Any:
    """A dict of dicts; most have nothing odd, and the others little."""
    oddness = chance.choice([0, 0, 0.01, 0.1])

    def inner() -> Any:
        count = chance.choice([0, 1, 3, 9, 70])
        values = {_picked(chance, IDS, ODD_IDS, oddness): _picked(chance, usual, odd, oddness) for _ in range(count)}
        if count == 70:
            values |= {f"d{number}": chance.choice(usual) for number in range(count)}
        return _mapping(chance, oddness, values)

    outer = {_picked(chance, IDS, ODD_IDS, oddness): inner() for _ in range(chance.randrange(5))}
    return _mapping(chance, oddness, outer)


def options(chance: random.Random) -> ReadOptions:
    """Any way of reading."""
    return ReadOptions(
        order=chance.choice(["score", "score", "rank"]),
        lower_is_better=chance.random() < 0.5,
        float32=chance.random() < 0.3,
        on_duplicate=chance.choice(POLICIES),
    )


def hits_values(hits: Hits) -> tuple[Any, ...]:
    """Everything that hits hold, for comparison."""
    arrays = (hits.present, hits.retrieved, hits.offsets, hits.ranks, hits.grades)
    return (hits.alignment_counts, *(array.tolist() for array in arrays))


def _judged_values(judged: JudgedQueries) -> tuple[Any, ...]:
    return (judged.queries, judged.offsets.tolist(), judged.grades.tolist(), judged.repeats, judged.highest)


def outcome(call: Callable[[], Any]) -> Any:
    """What a call gives, or the type and text of the error that it raises for wrong input."""
    try:
        return call()
    except (RankproofError, TypeError, ValueError, AttributeError, OverflowError) as error:
        return f"{type(error).__name__}: {error}"


def check(chance: random.Random, folder: Path) -> None:
    """Both engines give the same judgements and hits, or the same error."""
    grades = nested(chance, GRADES, ODD_GRADES)
    scores: Mapping[Any, Any] = nested(chance, NUMBERS, ODD_NUMBERS)
    reading = options(chance)
    by_native = outcome(lambda: native.judge_dict(grades, "qrels"))
    by_reference = outcome(lambda: reference.judge_dict(grades, "qrels"))
    if isinstance(by_native, str) or isinstance(by_reference, str):
        assert by_native == by_reference, (by_native, by_reference)
        grades = {"1": {"d1": 1, "d2": 0}, "é": {"日本": 2}}
        by_native, by_reference = native.judge_dict(grades, "qrels"), reference.judge_dict(grades, "qrels")
    assert _judged_values(by_native) == _judged_values(by_reference)
    found = outcome(lambda: hits_values(native.align_dict(by_native, scores, "run", reading)))
    wanted = outcome(lambda: hits_values(reference.align_dict(by_reference, scores, "run", reading)))
    assert found == wanted, (found, wanted)
