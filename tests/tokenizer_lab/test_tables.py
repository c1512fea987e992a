"""A comparison as tables: each number under its column."""

from __future__ import annotations

import numpy as np
import pytest

from rankproof._tokenizer_lab.tables import comparison_tables
from support.tokenizer_comparisons import comparison_of, entry_of, wide_comparison


def test_the_tables_have_each_number_in_its_column() -> None:
    first, second = entry_of("one", [[0.2, 0.4, 0.9], [0.4, 0.6, 0.8]]), entry_of("two", [[0.1, 0.2, 0.3]], ms=90.0)
    found = {table.name: table for table in comparison_tables(comparison_of([first, second]))}
    cells = {
        name: dict(zip((column.name for column in found[name].columns), found[name].rows[0], strict=True))
        for name in ("quality", "tokens", "time")
    }
    assert cells["tokens"] == {
        **{"system": "one", "tok/doc": 100.5, "read/doc": 25.2, "tok/query": 9.5, "unknown": 0.125, "vocab": 259},
        "params M": 4.0,
    }
    median = float(np.median(first.ms("total")))
    assert cells["time"] == pytest.approx(
        {
            **{"system": "one", "embed": 0.75 * median, "search": 0.25 * median, "total": median, "slow": 0, "ms/doc": 3.25},
            **{"MB": 1.234567, "per ms": 0.55 / median},
        }
    )
    assert found["time"].rows[1][4] == 2
    assert cells["quality"]["nDCG@10"] == pytest.approx(0.55)
    assert cells["quality"]["seeds"] == pytest.approx((0.5, 0.6))
    assert cells["quality"]["nDCG@10 95%"] == first.interval("nDCG@10")


def test_bytes_4_of_bm25_and_of_an_encoder_are_explained() -> None:
    systems = ("bytes", "bytes-4", "BM25 bytes-4")
    entries = [entry_of(name, [[0.1, 0.2, 0.3]]) for name in systems]
    assert "overlap" in comparison_tables(comparison_of(entries))[1].sentences[0]
    assert comparison_tables(comparison_of(entries[::2]))[1].sentences == ()


def test_the_table_of_pairs_has_the_better_first_and_marks_reliable_differences() -> None:
    better = entry_of("better", [[0.7, 0.75, 0.65, 0.72]], family="encoder")
    table = comparison_tables(comparison_of([entry_of("worse", [[0.5, 0.6, 0.4, 0.5]], family="lexical"), better]))[-2]
    ((higher, lower, apart, interval, p, p_holm, reliable),) = table.rows
    assert (table.name, higher, lower, p_holm, reliable) == ("pairs", "better", "worse", p, True)
    assert apart == pytest.approx(0.205)
    assert isinstance(interval, tuple)
    assert 0 < interval[0] < 0.205 < interval[1] < 1


def test_the_table_of_typos_has_the_change() -> None:
    entries = [entry_of("one", [[0.9 - 0.1 * edits, 0.5 - 0.1 * edits]], edits=edits) for edits in (0, 1, 2)]
    table = next(table for table in comparison_tables(comparison_of(entries)) if table.name == "typos")
    assert [column.name for column in table.columns] == ["system", "0 edits", "1 edit", "pp 1", "2 edits", "pp 2"]
    assert table.rows[0][1:] == pytest.approx((0.7, 0.6, -10.0, 0.5, -20.0))


def test_several_languages_and_typos_have_tables() -> None:
    assert [table.name for table in comparison_tables(wide_comparison(["a"]))] == ["quality", "tokens", "time", "conclusion"]
    names = [table.name for table in comparison_tables(wide_comparison(["a", "b", "blank"], languages=["own", "de"], edits=2))]
    assert names == ["quality", "tokens", "time", "typos", "languages", "pairs", "conclusion"]
