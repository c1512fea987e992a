"""Runs in Arrow streams give the same hits as the same rows in memory, for every column type."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankproof._align import reference
from rankproof._align.hits import Hits
from rankproof._data.run import Run, RunRow
from rankproof._data.validation import ReadOptions
from support.examples import examples
from support.native_cases import assert_same_hits, judged_at_random, outcome, readings, rows_at_random

native = pytest.importorskip("rankproof._align.native", exc_type=ImportError)
pa = pytest.importorskip("pyarrow")

TEXTS = [
    pa.string(),
    pa.large_string(),
    pa.string_view(),
    pa.dictionary(pa.int8(), pa.string()),
    pa.dictionary(pa.uint32(), pa.large_string()),
]
SCORES = [pa.float64(), pa.float32(), pa.int8(), pa.uint64(), pa.int32()]
RANKS = [pa.int64(), pa.uint8(), pa.int16(), pa.uint32(), None]
JUDGED = {"1": {"7": 1, "8": 2, "-9": 1}, "2": {"8": 0}}


def expected(judged: dict[str, dict[str, int]], rows: list[RunRow], read_options: ReadOptions) -> Hits | str:
    run = Run.from_rows(rows, source="run")
    return outcome(lambda: reference.align_run(reference.judge_dict(judged, "qrels"), run, read_options))


def aligned(judged: dict[str, dict[str, int]], table: Any, columns: tuple[int, ...], read_options: ReadOptions) -> Hits | str:
    return outcome(lambda: native.align_arrow(native.judge_dict(judged, "qrels"), table, columns, "run", read_options))


class Reopening:
    """A table whose stream can be asked for again and again."""

    reopens = True

    def __init__(self, table: Any) -> None:
        self._table = table

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        batches = iter(self._table.to_batches(max_chunksize=7))
        return pa.RecordBatchReader.from_batches(self._table.schema, batches).__arrow_c_stream__(requested_schema)


def stored(values: list[Any], kind: Any, chance: random.Random) -> Any:
    """The values as a chunked array whose pieces begin at offsets other than 0."""
    padded = pa.array([*values[:1], *values, *values[:1]], kind)
    whole = padded.slice(1, len(values))
    cut = chance.randrange(len(values) + 1)
    return pa.chunked_array([whole.slice(0, cut), whole.slice(cut)], kind)


@examples(200)
@given(seed=st.integers(0, 1 << 32), read_options=readings(), ids=st.tuples(st.sampled_from(TEXTS), st.sampled_from(TEXTS)))
def test_text_ids_of_every_kind_give_what_the_reference_gives(seed: int, read_options: ReadOptions, ids: tuple[Any, Any]) -> None:
    chance = random.Random(seed)
    rows, judged = rows_at_random(seed), judged_at_random(seed)
    queries, docs, ranks, scores = (list(column) for column in zip(*rows, strict=True))
    ids = tuple(kind if len(rows) < 100 else pa.string() for kind in ids)
    table = pa.table(
        {
            "rank": stored(ranks, pa.int64(), chance),
            "score": stored(scores, pa.float64(), chance),
            "doc": stored(docs, ids[1], chance),
            "query": stored(queries, ids[0], chance),
        }
    )
    lines = [RunRow(query, doc, score, rank, line) for line, (query, doc, rank, score) in enumerate(rows, start=1)]
    wanted = expected(judged, lines, read_options)
    assert_same_hits(aligned(judged, table, (3, 2, 1, 0), read_options), wanted)
    assert_same_hits(aligned(judged, Reopening(table), (3, 2, 1, 0), read_options), wanted)


def test_a_stream_that_can_be_read_once_is_read_though_its_queries_are_mixed() -> None:
    rows = [("1", "7", 3.0), ("2", "8", 2.0), ("1", "8", 1.0)]
    table = pa.table([list(column) for column in zip(*rows, strict=True)], names=["q", "d", "s"])
    once = pa.RecordBatchReader.from_batches(table.schema, iter(table.to_batches()))
    lines = [RunRow(query, doc, score, None, line) for line, (query, doc, score) in enumerate(rows, start=1)]
    assert_same_hits(aligned(JUDGED, once, (0, 1, 2), ReadOptions()), expected(JUDGED, lines, ReadOptions()))


ROWS = st.tuples(st.sampled_from([1, 2, 3]), st.integers(-9, 9), st.integers(0, 3))
INTEGERS = st.sampled_from([pa.int8(), pa.int16(), pa.int32(), pa.int64()])


@examples(100)
@given(
    rows=st.lists(ROWS, min_size=1, max_size=12, unique_by=lambda row: row[:2]),
    kinds=st.tuples(INTEGERS, INTEGERS, st.sampled_from(SCORES)),
    rank=st.sampled_from(RANKS),
)
def test_integers_as_ids_scores_and_ranks_are_read(rows: list[tuple[int, int, int]], kinds: tuple[Any, ...], rank: Any) -> None:
    columns = [pa.array([row[place] for row in rows], kind) for place, kind in enumerate(kinds)]
    if rank is not None:
        columns.append(pa.array(range(1, len(rows) + 1), rank))
    table = pa.table(columns, names=["q", "d", "s", "r"][: len(columns)])
    found = aligned(JUDGED, table, (0, 1, 2, 3 if rank else -1), ReadOptions())
    lines = [
        RunRow(str(query), str(doc), float(score), line if rank else None, line)
        for line, (query, doc, score) in enumerate(rows, start=1)
    ]
    assert_same_hits(found, expected(JUDGED, lines, ReadOptions()))


def test_the_largest_unsigned_id_is_its_decimal_text() -> None:
    table = pa.table({"q": pa.array([1], pa.uint8()), "d": pa.array([2**64 - 1], pa.uint64()), "s": [1.0]})
    found = aligned({"1": {str(2**64 - 1): 1}}, table, (0, 1, 2), ReadOptions())
    assert isinstance(found, Hits)
    assert found.ranks.tolist() == [1]


def test_tags_are_listed_in_order() -> None:
    table = pa.table({"q": ["1", "2", "1"], "d": ["7", "8", "8"], "s": [1.0, 2.0, 3.0], "t": ["b", "a", "b"]})
    found = aligned(JUDGED, table, (0, 1, 2, -1, 3), ReadOptions())
    assert isinstance(found, Hits)
    assert found.alignment_counts.tags == ("b", "a")


TABLES = {
    "null document id": {"d": pa.array(["7", None])},
    "null query id": {"q": pa.array(["1", None])},
    "empty document id": {"d": pa.array(["7", ""])},
    "null score": {"s": pa.array([1.0, None])},
    "score nan is not finite": {"s": pa.array([1.0, float("nan")])},
    "score inf is not finite": {"s": pa.array([1.0, float("inf")])},
    "document id a\\x00b contains a NUL byte": {"d": pa.array(["7", "a\0b"])},
    "not UTF-8": {"d": pa.array([b"7", b"\xff"]).view(pa.string())},
    "document 7 appears twice for query 1 (first at line 1; scores 1.0 and 2.0)": {"d": pa.array(["7", "7"])},
}


@pytest.mark.parametrize("message", sorted(TABLES))
def test_a_wrong_row_is_rejected_with_its_number(message: str) -> None:
    good = {"q": pa.array(["1", "1"]), "d": pa.array(["7", "8"]), "s": pa.array([1.0, 2.0])}
    found = aligned(JUDGED, pa.table({**good, **TABLES[message]}), (0, 1, 2), ReadOptions())
    assert isinstance(found, str)
    assert found.startswith("run:2: ")
    assert message in found


def test_a_null_rank_is_rejected_only_where_ranks_order() -> None:
    table = pa.table({"q": ["1", "1"], "d": ["7", "8"], "s": [1.0, 2.0], "r": pa.array([1, None], pa.int64())})
    assert isinstance(aligned(JUDGED, table, (0, 1, 2, 3), ReadOptions()), Hits)
    assert str(aligned(JUDGED, table, (0, 1, 2, 3), ReadOptions(order="rank"))).startswith(
        "run:2: the rank is not a whole number"
    )
    assert str(aligned(JUDGED, table, (0, 1, 2), ReadOptions(order="rank"))).startswith("run: the run has no ranks")


def test_negative_ranks_order_documents_and_ranks_above_63_bits_are_no_ranks() -> None:
    docs, scores = pa.array(["8", "x", "7"]), pa.array([1.0, 2.0, 3.0])
    for kind, ranks, grades in (
        (pa.int64(), [-2, -3, -1], [2, 1]),
        (pa.int8(), [-1, -3, -2], [1, 2]),
        (pa.uint64(), [2**63 - 2, 2**63 - 3, 2**63 - 1], [2, 1]),
    ):
        table = pa.table([pa.array(["1"] * 3), docs, scores, pa.array(ranks, kind)], names=["q", "d", "s", "r"])
        lines = [RunRow("1", *row) for row in zip(docs.to_pylist(), scores.to_pylist(), ranks, range(1, 4), strict=True)]
        hits = aligned(JUDGED, table, (0, 1, 2, 3), ReadOptions(order="rank"))
        assert_same_hits(hits, expected(JUDGED, lines, ReadOptions(order="rank")))
        assert isinstance(hits, Hits)
        assert hits.grades.tolist() == grades
    table = pa.table(
        [pa.array(["1"]), pa.array(["8"]), pa.array([1.0]), pa.array([2**63], pa.uint64())], names=["q", "d", "s", "r"]
    )
    assert str(aligned(JUDGED, table, (0, 1, 2, 3), ReadOptions(order="rank"))).startswith(
        "run:1: the rank is not a whole number"
    )


def test_a_null_rank_is_found_where_a_slice_begins_later() -> None:
    ranks = pa.array([None, 1, 2, None], pa.int64())
    for start, expected_error in ((1, "ok"), (2, "run:2: the rank is not a whole number")):
        sliced = pa.chunked_array([ranks.slice(start, 2)])
        table = pa.table({"q": ["1", "1"], "d": ["7", "8"], "s": [1.0, 2.0], "r": sliced})
        hits = aligned(JUDGED, table, (0, 1, 2, 3), ReadOptions(order="rank"))
        assert ("ok" if isinstance(hits, Hits) else hits).startswith(expected_error)


def test_a_stream_is_not_read_on_after_a_row_that_is_rejected() -> None:
    read = []

    def batches() -> Iterator[Any]:
        for at in range(3):
            read.append(at)
            yield pa.record_batch([pa.array(["1"]), pa.array([str(at)]), pa.array([math.inf])], names=["q", "d", "s"])

    schema = pa.schema([("q", pa.string()), ("d", pa.string()), ("s", pa.float64())])
    found = aligned(JUDGED, pa.RecordBatchReader.from_batches(schema, batches()), (0, 1, 2), ReadOptions())
    assert str(found).startswith("run:1: ")
    assert read == [0]


def test_a_table_without_rows_is_rejected() -> None:
    table = pa.table({"q": pa.array([], pa.string()), "d": pa.array([], pa.string()), "s": pa.array([], pa.float64())})
    assert str(aligned(JUDGED, table, (0, 1, 2), ReadOptions())).startswith("run: no rows")


@pytest.mark.parametrize(("column", "values"), [("q", [1.5]), ("d", [b"x"]), ("s", ["1"]), ("d", [[1]])])
def test_a_column_of_another_type_is_rejected(column: str, values: list[Any]) -> None:
    table = pa.table({"q": ["1"], "d": ["7"], "s": [1.0], column: values}).select(["q", "d", "s"])
    assert "cannot be of Arrow type" in str(aligned(JUDGED, table, (0, 1, 2), ReadOptions()))


def test_a_missing_column_is_an_index_error() -> None:
    with pytest.raises(IndexError):
        aligned(JUDGED, pa.table({"q": ["1"], "d": ["7"]}), (0, 1, 2), ReadOptions())
    with pytest.raises(IndexError, match="no column -1 for the score"):
        aligned(JUDGED, pa.table({"q": ["1"], "d": ["7"]}), (0, 1, -1), ReadOptions())


def test_a_stream_that_fails_is_an_error() -> None:
    def batches() -> Any:
        yield pa.record_batch({"q": ["1"], "d": ["7"], "s": [1.0]})
        raise ValueError("the network is gone")

    schema = pa.schema({"q": pa.string(), "d": pa.string(), "s": pa.float64()})
    reader = pa.RecordBatchReader.from_batches(schema, batches())
    assert "the network is gone" in str(aligned(JUDGED, reader, (0, 1, 2), ReadOptions()))


def test_polars_frames_are_read() -> None:
    pl = pytest.importorskip("polars")
    frame = pl.DataFrame({"q": ["1", "1", "2"], "d": ["8", "7", "a-document-id-of-more-than-twelve-bytes"], "s": [1.0, 1.0, 0.5]})
    lines = [RunRow(query, doc, score, None, line) for line, (query, doc, score) in enumerate(frame.rows(), start=1)]
    assert_same_hits(aligned(JUDGED, frame, (0, 1, 2), ReadOptions()), expected(JUDGED, lines, ReadOptions()))


@pytest.mark.parametrize("values", [pa.float64(), pa.int64(), pa.binary()])
@pytest.mark.parametrize("column", ["q", "d"])
def test_a_dictionary_of_other_than_text_is_rejected(column: str, values: Any) -> None:
    stored = pa.DictionaryArray.from_arrays(pa.array([0], pa.int8()), pa.array([b"7" if values == pa.binary() else 7], values))
    table = pa.table({"q": ["1"], "d": ["7"], "s": [1.0], column: stored}).select(["q", "d", "s"])
    assert "cannot be of Arrow type" in str(aligned(JUDGED, table, (0, 1, 2), ReadOptions()))


def test_every_batch_is_released() -> None:
    def batches() -> Any:
        for batch in range(5):
            yield pa.record_batch({"q": ["1"] * 100, "d": [f"{batch}-{row}" for row in range(100)], "s": [1.0] * 100})

    before = pa.total_allocated_bytes()
    schema = pa.schema({"q": pa.string(), "d": pa.string(), "s": pa.float64()})
    hits = aligned(JUDGED, pa.RecordBatchReader.from_batches(schema, batches()), (0, 1, 2), ReadOptions())
    assert isinstance(hits, Hits)
    assert hits.alignment_counts.rows == 500
    assert pa.total_allocated_bytes() == before


@pytest.mark.parametrize(
    ("column", "message"), [("q", "null query id"), ("d", "null document id"), ("s", "null score"), ("whole", "null query id")]
)
def test_a_null_is_found_in_its_row_wherever_a_slice_begins(column: str, message: str) -> None:
    """The fifth of 9 rows has a null in one column, or is null as a whole."""
    is_null = [at == 4 for at in range(9)]
    columns: dict[str, list[Any]] = {"q": ["1"] * 9, "d": [f"d{at}" for at in range(9)], "s": [float(at) for at in range(9)]}
    arrays = {
        name: pa.array([None if name == column and null else value for value, null in zip(values, is_null, strict=True)])
        for name, values in columns.items()
    }
    mask = pa.array([column == "whole" and null for null in is_null])
    rows = pa.StructArray.from_arrays(list(arrays.values()), names=list(arrays), mask=mask)
    for start in range(9):
        found = aligned(JUDGED, pa.chunked_array([rows.slice(start)]), (0, 1, 2), ReadOptions())
        if start > 4:
            assert isinstance(found, Hits)
        else:
            assert str(found).startswith(f"run:{5 - start}: ")
            assert message in str(found)
