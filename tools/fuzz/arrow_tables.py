"""Runs in Arrow tables of any column types, chunks and nulls: read as the same rows in memory, or refused."""

from __future__ import annotations

import math
import random
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa

from rankproof._align import native, reference
from rankproof._data.run import Run, RunRow
from tools.fuzz.dicts import hits_values, options, outcome

JUDGED = {"1": {"d1": 1, "7": 2, "-7": 1}, "2": {"d1": 0, "7": 3}, "é": {"a-document-id-of-many-bytes": 1}}
IDS = ("1", "2", "é", "d1", "7", "-7", "a-document-id-of-many-bytes", "x" * 100)
ODD_IDS = (None, "", "a\0b")
NUMBERS = (0.0, -0.0, 1.5, 0.1, 1e30, -2.0)
ODD_NUMBERS = (None, math.nan, math.inf, -math.inf)
INTEGERS = (pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64())
TEXTS = (pa.string(), pa.large_string(), pa.string_view())
OTHER_TYPES: tuple[Any, ...] = (
    *(pa.binary(), pa.bool_(), pa.null(), pa.date32(), pa.decimal128(9, 2), pa.float16(), pa.list_(pa.string())),
    *(pa.struct([("x", pa.string())]), pa.binary_view(), pa.timestamp("s"), pa.dictionary(pa.int8(), pa.int64())),
)


def _id_type(chance: random.Random) -> Any:
    kind = chance.randrange(3)
    if kind == 0:
        return chance.choice(TEXTS)
    return pa.dictionary(chance.choice(INTEGERS), chance.choice(TEXTS[:2])) if kind == 1 else chance.choice(INTEGERS)


def _values(chance: random.Random, kind: Any, count: int, usual: tuple[Any, ...], odd: tuple[Any, ...]) -> list[Any]:
    if pa.types.is_integer(kind):
        usual, odd = (0, 1, 2, 7, 100), (None,)
    oddness = chance.choice([0, 0, 0, 0.05])
    return [chance.choice(odd if chance.random() < oddness else usual) for _ in range(count)]


def _column(chance: random.Random, kind: Any, values: list[Any]) -> Any:
    """The values as chunks that begin at other offsets than 0."""
    whole = pa.array([*values[:2], *values, *values[:1]], kind).slice(len(values[:2]), len(values))
    cuts = sorted(chance.randrange(len(values) + 1) for _ in range(chance.randrange(4)))
    bounds = [0, *cuts, len(values)]
    return pa.chunked_array([whole.slice(at, end - at) for at, end in pairwise(bounds)], kind)


def _is_odd(values: list[Any]) -> bool:
    return any(
        value is None or value in ("", "a\0b") or (isinstance(value, float) and not math.isfinite(value)) for value in values
    )


def check(chance: random.Random, folder: Path) -> None:
    """A table gives the hits of its rows; one with a null, an odd value or a column of another type is refused."""
    count, reading = chance.choice([1, 2, 5, 40]), options(chance)
    kinds = [_id_type(chance), _id_type(chance), chance.choice([pa.float64(), pa.float32(), *INTEGERS])]
    pools = [(IDS, ODD_IDS), (IDS, ODD_IDS), (NUMBERS, ODD_NUMBERS)]
    columns = [_values(chance, kind, count, *pool) for kind, pool in zip(kinds, pools, strict=True)]
    arrays = [_column(chance, kind, values) for kind, values in zip(kinds, columns, strict=True)]
    arrays.append(pa.chunked_array([pa.array(range(1, count + 1), chance.choice(INTEGERS))]))
    wrong = chance.random() < 0.05
    if wrong:
        arrays[chance.randrange(3)] = pa.nulls(count, chance.choice(OTHER_TYPES))
    table = pa.table(arrays, names=["q", "d", "s", "r"])
    judged = native.judge_dict(JUDGED, "qrels")
    odd = wrong or any(map(_is_odd, columns))
    found = outcome(lambda: hits_values(native.align_arrow(judged, table, (0, 1, 2, 3), "run", reading)))
    if isinstance(found, str):
        assert found.startswith("InputError"), found
        assert odd or "twice" in found, found
        return
    assert not odd
    scores = arrays[2].to_pylist()
    rows = [
        RunRow(str(query), str(doc), float(score), line, line)
        for line, (query, doc, score) in enumerate(zip(columns[0], columns[1], scores, strict=True), start=1)
    ]
    wanted = reference.align_run(reference.judge_dict(JUDGED, "qrels"), Run.from_rows(rows, source="run"), reading)
    assert found == hits_values(wanted), (found, hits_values(wanted))
