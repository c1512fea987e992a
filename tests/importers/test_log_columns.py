"""The packed columns and names of large logs: what comes out is what went in."""

from __future__ import annotations

import numpy as np
import pytest

from rankproof._importers.search_log import columns
from rankproof._importers.search_log.columns import ManyNames, PackedColumn

_RANDOM = np.random.default_rng(3)
_ROWS = 3 * (1 << 15) + 7
_START = 1_790_000_000.0
_SESSIONS = np.sort(_RANDOM.integers(0, 10**7, _ROWS)) / 1000
_SOME_MISSING = np.where(_RANDOM.random(_ROWS) < 0.01, np.nan, _START + _SESSIONS)
_WRONG = _RANDOM.random(_ROWS) < 0.03
_SOME_WRONG = np.where(_WRONG, _RANDOM.choice([np.nan, -5.0, 4.9e9, -1.4e9, 1e300, np.inf], _ROWS), _START + _SESSIONS)
COLUMNS = {
    "constant": ("i", np.full(_ROWS, -1)),
    "codes": ("i", _RANDOM.integers(0, 600_000, _ROWS)),
    "ranks": ("i", np.tile(np.arange(1, 8), _ROWS)[:_ROWS]),
    "lines": ("q", np.cumsum(_RANDOM.integers(1, 4, _ROWS)) + (1 << 40)),
    "hashes": ("q", _RANDOM.integers(-(1 << 63), (1 << 63) - 1, _ROWS)),
    "kinds": ("b", _RANDOM.integers(0, 3, _ROWS)),
    "times": ("d", _START + _SESSIONS),
    "seconds": ("d", np.floor(_START + _SESSIONS)),
    "microseconds": ("d", _START + _RANDOM.random(_ROWS)),
    "times, some missing": ("d", _SOME_MISSING),
    "times, some wrong": ("d", _SOME_WRONG),
    "first wrong": ("d", np.where(np.arange(_ROWS) < 3, 4.9e9, _START + _SESSIONS)),
    "times of two centuries": ("d", np.where(np.arange(_ROWS) % 2, 4.9e9, _START)),
    "nothing": ("d", np.full(_ROWS, np.nan)),
    "first missing": ("d", np.where(np.arange(_ROWS) < 40_000, np.nan, 2.5)),
    "amounts": ("d", _RANDOM.integers(-500, 10_000, _ROWS) / 100),
    "extremes": ("d", np.tile([1e300, -1e300, 0.1, 0.0], _ROWS)[:_ROWS]),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_a_packed_column_gives_back_exactly_its_numbers(name: str) -> None:
    typecode, values = COLUMNS[name]
    column = PackedColumn(typecode)
    for part in np.array_split(values, 11):
        column.extend_array(part)
        column.pack()
    assert len(column) == _ROWS
    expected = values.astype(column.dtype)
    np.testing.assert_array_equal(column.array(), expected)
    np.testing.assert_array_equal(np.concatenate([block for _, block in column.blocks()]), expected)
    is_whole = typecode != "d"
    np.testing.assert_array_equal(column.take(small=is_whole), expected)
    assert len(column) == 0


_MOST_BYTES = {
    "constant": 0.1,
    "ranks": 1.1,
    "lines": 1.1,
    "nothing": 0.1,
    "times": 4.1,
    "times, some wrong": 4.5,
    "seconds": 2.1,
}


@pytest.mark.parametrize(("name", "most"), _MOST_BYTES.items())
def test_usual_columns_of_logs_take_few_bytes_per_row(name: str, most: float) -> None:
    typecode, values = COLUMNS[name]
    column = PackedColumn(typecode)
    column.extend_array(values)
    column.pack()
    (block,) = column._blocks
    size = 0 if block.values is None or not any(block.values.strides) else block.values.nbytes
    size += 0 if block.apart is None else sum(part.nbytes for part in block.apart)
    assert size <= most * _ROWS


@pytest.mark.parametrize("same_hash", [False, True])
def test_many_names_have_the_codes_of_their_first_places(same_hash: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if same_hash:
        monkeypatch.setattr(columns, "hash", lambda text: len(text), raising=False)
    monkeypatch.setattr(columns, "MOST_RECENT", 50)
    names, expected = ManyNames(), dict[str, int]()
    for number in _RANDOM.integers(0, 300 if same_hash else 9_000, 3_000 if same_hash else 30_000).tolist():
        name = ("", "é\ud800", f"user-{number}")[min(number, 2)]
        assert names[name] == expected.setdefault(name, len(expected))
    assert len(names) <= 50
    assert list(names.texts) == list(expected)
    assert [names.texts[code] for code in range(len(expected))] == list(expected)
    assert names.texts[-2:] == tuple(expected)[-2:]
