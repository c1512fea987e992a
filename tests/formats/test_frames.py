"""Data frames of every library, and Parquet: the same rows, the same errors, ids as text."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rankproof._data.run import Run
from rankproof._data.validation import Order, ReadOptions
from rankproof._engine_choice import is_built
from rankproof._formats.detect import open_file
from rankproof._formats.frames import frame_stream, is_frame, qrels_from_frame, run_from_frame
from rankproof._formats.read import read_qrels, read_run
from rankproof.errors import InputError, UsageError

Frame = Callable[[dict[str, Any]], Any]


class Capsule:
    """A table that is known by nothing but the Arrow stream interface."""

    def __init__(self, columns: dict[str, Any]) -> None:
        self.table: Any = pa.table(columns)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.table.__arrow_c_stream__(requested_schema)


LIBRARIES: dict[str, Frame] = {
    "pandas": pd.DataFrame,
    "pandas objects": lambda columns: pd.DataFrame(columns, dtype=object),
    "polars": lambda columns: pl.DataFrame(columns, strict=False),
    "pyarrow": pa.table,
    "capsule": Capsule,
}
ROWS = {"qid": ["q1", "q1", "007"], "docid": ["d1", "NA", "d1"], "score": [2.0, 1.5, -0.0], "rank": [1, 2, 1]}


@pytest.fixture(params=LIBRARIES)
def frame(request: pytest.FixtureRequest) -> Frame:
    return LIBRARIES[request.param]


def from_stream(columns: Any, order: Order = "score") -> Run:
    """The run that alignment would see."""
    found = frame_stream(columns, order=order)
    assert found is not None
    stream, places = found
    table = pa.table(cast(Any, stream))
    names = [table.column_names[place] for place in places if place >= 0]
    assert names == ["query", "doc", "score", "rank"][: len(names)]
    assert table.schema.field(places.score).type == pa.float64()
    return run_from_frame(table.rename_columns(["qid", "docid", "score", "rank"][: len(names)]))


def as_rows(run: Run) -> list[tuple[str, str, str, int | None]]:
    return [(row.query, row.doc, repr(row.score), row.rank) for row in run.rows()]


def test_a_frame_of_any_library_is_the_same_run(frame: Frame) -> None:
    run = run_from_frame(frame(ROWS), "mine")
    assert as_rows(run) == [("q1", "d1", "2.0", 1), ("q1", "NA", "1.5", 2), ("007", "d1", "-0.0", 1)]
    assert run.name == "mine"


def test_the_stream_of_a_frame_holds_the_same_rows(frame: Frame) -> None:
    assert as_rows(from_stream(frame(ROWS))) == as_rows(run_from_frame(frame(ROWS)))


def test_integer_ids_become_decimal_text(frame: Frame) -> None:
    columns = {"query_id": [1, 1], "doc_id": [10, 20], "score": [1, 2]}
    assert run_from_frame(frame(columns)).docs == ("10", "20")
    assert from_stream(frame(columns)).docs == ("10", "20")


def test_qrels_are_read_from_a_frame(frame: Frame) -> None:
    columns = {"query_id": ["q1", "q1"], "product_id": ["d1", "d2"], "esci_label": ["E", "I"]}
    assert dict(qrels_from_frame(frame(columns), grade_map={"E": 3, "I": 0})["q1"]) == {"d1": 3, "d2": 0}


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "null id": ({"docid": ["d1", None]}, r"run:2: null document id"),
    "float ids": ({"docid": [12.0, 13.0]}, r"run:1: document id 12\.0 is a float; pandas turns"),
    "empty id": ({"docid": ["d1", ""]}, r"run:2: empty document id"),
    "text score": ({"score": ["1.0", "2.0"]}, r"score of document d1 for query q1 is text|score column score holds"),
    "text for a score": ({"score": ["1.0", None]}, r"score of document d1 for query q1 is text|score column score holds"),
    "no number for a score": ({"score": [1.0, float("nan")]}, r"run:2: score nan is not finite"),
    "binary ids that are not UTF-8": ({"docid": [b"d1", b"d\xe9"]}, r"run:2: not UTF-8 \(in a document id\)"),
    "a float after a missing id": ({"docid": [None, 2.0]}, r"run:1: null document id"),
    "a float before a missing id": ({"docid": [2.0, None]}, r"run:1: document id 2\.0 is a float"),
    "infinite score": ({"score": [1.0, float("inf")]}, r"run:2: score inf is not finite"),
    "missing column": ({"score": None}, r"no score column"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_bad_frame_is_rejected_with_its_row(case: str, frame: Frame) -> None:
    changed, words = BAD[case]
    columns = {"qid": ["q1", "q1"], "docid": ["d1", "d2"], "score": [2.0, 1.0], **changed}
    table = frame({name: values for name, values in columns.items() if values is not None})
    with pytest.raises(InputError, match=words):
        run_from_frame(table)


def test_a_missing_value_in_pandas_is_null_whatever_it_is_called() -> None:
    for gone in (None, float("nan"), pd.NA, pd.NaT):
        table = pd.DataFrame({"qid": ["q1", "q1"], "docid": pd.Series(["d1", gone], dtype=object), "score": [1.0, 2.0]})
        with pytest.raises(InputError, match="run:2: null document id"):
            run_from_frame(table)


def test_a_missing_score_is_null_and_one_that_is_no_number_is_not_finite() -> None:
    rows = {"qid": ["q1", "q1"], "docid": ["d1", "d2"]}
    for gone in (None, pd.NA):
        with pytest.raises(InputError, match="run:2: null score"):
            run_from_frame(pd.DataFrame({**rows, "score": pd.Series([1.0, gone], dtype=object)}))
    for scores in (pd.Series([1.0, None], dtype="Float64"), pl.Series([1.0, None]), pa.array([1.0, None])):
        frames: Any = {pd.Series: pd.DataFrame, pl.Series: pl.DataFrame}
        with pytest.raises(InputError, match="run:2: null score"):
            run_from_frame(frames.get(type(scores), pa.table)({**rows, "score": scores}))


def test_binary_ids_are_text_in_runs_and_qrels(frame: Frame) -> None:
    ids = {"qid": [b"q1", b"q1"], "docid": [b"d1", "\xe9".encode()]}
    assert run_from_frame(frame({**ids, "score": [2.0, 1.0]})).docs == ("d1", "\xe9")
    assert dict(qrels_from_frame(frame({**ids, "rel": [1, 0]}))["q1"]) == {"d1": 1, "\xe9": 0}


RANKS: dict[str, list[Any]] = {"integers": [2, 1], "floats": [2.0, 1.0], "text": ["2", "1"]}
BY_RANK = ReadOptions(order="rank")


@pytest.mark.parametrize("kind", RANKS)
@pytest.mark.parametrize("scores", [{"score": [5.0, 9.0]}, {}])
def test_ranks_of_any_whole_numbers_order_a_frame(kind: str, scores: dict[str, Any], frame: Frame) -> None:
    table = frame({"qid": ["q1", "q1"], "docid": ["d1", "d2"], "rank": RANKS[kind], **scores})
    expected = [("q1", "d1", repr(scores["score"][0] if scores else -2.0), 2), ("q1", "d2", repr(9.0 if scores else -1.0), 1)]
    assert as_rows(run_from_frame(table, read_options=BY_RANK)) == expected
    assert as_rows(from_stream(table, "rank")) == expected


@pytest.mark.parametrize("ranks", [[1, None], [1.0, 1.5], ["1", "x"], [1.0, float("nan")], [1.0, 1e300], ["1", None]])
@pytest.mark.parametrize("scores", [{"score": [5.0, 9.0]}, {}])
def test_a_rank_that_is_no_whole_number_is_told_with_its_row(ranks: list[Any], scores: dict[str, Any], frame: Frame) -> None:
    table = frame({"qid": ["q1", "q1"], "docid": ["d1", "d2"], "rank": ranks, **scores})
    with pytest.raises(InputError, match="run:2: the rank is not a whole number"):
        run_from_frame(table, read_options=BY_RANK)
    found = frame_stream(table, order="rank")
    if found is not None:
        stream = pa.table(cast(Any, found[0]))
        assert stream.column(found[1].rank).to_pylist() == [1, None]
        assert stream.column(found[1].score).null_count == 0


def test_a_frame_without_ranks_cannot_be_ordered_by_them(frame: Frame) -> None:
    table = frame({"qid": ["q1"], "docid": ["d1"], "score": [1.0]})
    for read in (lambda: run_from_frame(table, read_options=BY_RANK), lambda: frame_stream(table, order="rank")):
        with pytest.raises(InputError, match="run: the run has no ranks to order by"):
            read()


def test_tags_of_every_type_of_text_reach_alignment(tmp_path: Path) -> None:
    rows: dict[str, Any] = {"qid": ["q1", "q1"], "docid": ["d1", "d2"], "score": [2.0, 1.0]}
    tags = pa.array(["A", "B"])
    kinds = (
        pa.large_string(),
        pa.string_view(),
        pa.dictionary(pa.int8(), pa.string()),
        pa.dictionary(pa.int32(), pa.large_string()),
    )
    frames = [
        pd.DataFrame({**rows, "tag": ["A", "B"]}),
        pd.DataFrame({**rows, "tag": pd.Categorical(["A", "B"])}),
        pl.DataFrame({**rows, "tag": pl.Series(["A", "B"], dtype=pl.Categorical)}),
        *(pa.table({**rows, "tag": tags.cast(kind)}) for kind in kinds),
    ]
    for frame in frames:
        found = frame_stream(frame)
        assert found is not None
        assert pa.table(cast(Any, found[0])).column(found[1].tag).to_pylist() == ["A", "B"] == list(run_from_frame(frame).tags)
    pl.DataFrame({**rows, "tag": ["A", "B"]}).write_parquet(tmp_path / "r.parquet")
    streamed = open_file(tmp_path / "r.parquet").run_stream()
    assert streamed is not None
    assert pa.table(streamed[0]).column(streamed[1].tag).to_pylist() == ["A", "B"]


def test_a_grade_map_of_a_frame_is_checked(frame: Frame) -> None:
    with pytest.raises(UsageError, match="the grade map is a str"):
        qrels_from_frame(frame({"qid": ["q1"], "docid": ["d1"], "rel": [1]}), grade_map=cast(Any, "E=3"))


def test_mixed_ids_of_pandas_are_read_row_by_row() -> None:
    table = pd.DataFrame({"qid": ["q1", "q1"], "docid": pd.Series(["d1", 2], dtype=object), "score": [1.0, 2.0]})
    assert frame_stream(table) is None
    assert run_from_frame(table).docs == ("d1", "2")


def test_categories_are_text() -> None:
    columns = {"qid": ["q1", "q1"], "docid": ["d1", "d2"], "score": [2.0, 1.0]}
    for table in (
        pd.DataFrame(columns).astype({"qid": "category", "docid": "category"}),
        pl.DataFrame(columns).cast({"qid": pl.Categorical, "docid": pl.Categorical}),
    ):
        assert (
            as_rows(from_stream(table))
            == as_rows(run_from_frame(table))
            == [("q1", "d1", "2.0", None), ("q1", "d2", "1.0", None)]
        )


def test_a_lazy_frame_is_rejected_with_the_fix() -> None:
    with pytest.raises(InputError, match=r"pass frame\.collect\(\)"):
        run_from_frame(pl.LazyFrame(ROWS))


def test_the_library_of_anything_but_a_frame_is_none() -> None:
    values: list[Any] = [{}, [], "x", Path(), 3]
    assert not any(map(is_frame, values))


def test_a_single_column_is_not_a_table() -> None:
    with pytest.raises(InputError, match="run: Series is not a table; pass a data frame"):
        run_from_frame(pd.Series([1]))


def test_reading_files_loads_no_frame_library() -> None:
    code = (
        "import sys\nfrom rankproof._formats import frames, read\nread.read_run, frames.is_frame({})\n"
        "print([name for name in ('pandas', 'polars', 'pyarrow', 'json', 'bz2') if name in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


@pytest.mark.parametrize(
    "kind", [pa.string(), pa.large_string(), pa.binary(), pa.string_view(), pa.dictionary(pa.int32(), pa.string())]
)
def test_every_type_of_text_in_parquet_is_an_id(kind: pa.DataType, tmp_path: Path) -> None:
    table = pa.table({"qid": ["q1", "q1"], "docid": pa.array(["é", "007"]).cast(kind), "score": pa.array([1, 2], pa.int32())})
    pq.write_table(table, tmp_path / "r.parquet")
    assert as_rows(read_run(tmp_path / "r.parquet")) == [("q1", "é", "1.0", None), ("q1", "007", "2.0", None)]
    found = open_file(tmp_path / "r.parquet").run_stream()
    assert found is not None
    again = pa.table(found[0])
    assert (again.column("doc").to_pylist(), again.column("score").to_pylist()) == (["é", "007"], [1.0, 2.0])


def test_a_stream_of_parquet_reads_in_batches_and_only_what_it_needs(tmp_path: Path) -> None:
    rows = 200_000
    table: dict[str, Any] = {
        "qid": ["q1"] * rows,
        "docid": [f"d{i}" for i in range(rows)],
        "score": [1.0] * rows,
        "text": ["x" * 9] * rows,
    }
    pq.write_table(pa.table(table), tmp_path / "r.parquet")
    found = open_file(tmp_path / "r.parquet").run_stream()
    assert found is not None
    reader = pa.RecordBatchReader.from_stream(found[0])
    sizes = [batch.num_rows for batch in reader]
    assert (sum(sizes), reader.schema.names) == (rows, ["query", "doc", "score"])
    assert max(sizes) <= 1 << 16
    assert pa.types.is_dictionary(reader.schema.field(0).type)


def test_a_wrong_type_is_rejected_before_the_stream_is_read(tmp_path: Path) -> None:
    pq.write_table(pa.table({"qid": ["q1"], "docid": [1.5], "score": [1.0]}), tmp_path / "r.parquet")
    with pytest.raises(InputError, match=r"r\.parquet:1: document id 1\.5 is a float"):
        open_file(tmp_path / "r.parquet").run_stream()


@pytest.mark.parametrize("engine", ["native", "reference"] if is_built() else ["reference"])
def test_a_corrupt_parquet_file_is_rejected(engine: str, tmp_path: Path) -> None:
    rows = 100_000
    table = pa.table({"qid": ["q1"] * rows, "docid": [f"d{i}" for i in range(rows)], "score": [1.0 * i for i in range(rows)]})
    pq.write_table(table, tmp_path / "r.parquet", row_group_size=rows // 4)
    data = bytearray((tmp_path / "r.parquet").read_bytes())
    data[len(data) // 2 : len(data) // 2 + 5000] = b"\xff" * 5000
    (tmp_path / "r.parquet").write_bytes(data)
    (tmp_path / "q.json").write_text('{"q1": {"d1": 1}}')
    arguments = [sys.executable, "-m", "rankproof", "eval", str(tmp_path / "q.json"), str(tmp_path / "r.parquet")]
    done = subprocess.run(arguments, capture_output=True, text=True, check=False, env={**os.environ, "RANKPROOF_ENGINE": engine})
    assert (done.returncode, done.stdout) == (2, "")
    assert "r.parquet: " in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_text_in_parquet_that_is_not_utf_8_is_rejected(tmp_path: Path) -> None:
    raw = pa.array([b"d\xe9"], pa.binary())
    for column in (raw, pa.Array.from_buffers(pa.string(), 1, raw.buffers())):
        pq.write_table(pa.table({"qid": ["q1"], "docid": column, "score": [1.0]}), tmp_path / "r.parquet")
        with pytest.raises(InputError, match=r"r\.parquet.* not UTF-8"):
            read_run(tmp_path / "r.parquet")


def test_grades_of_parquet_may_be_integers_or_whole_floats(tmp_path: Path) -> None:
    for grades in ([1, 2], [1.0, 2.0]):
        pq.write_table(pa.table({"qid": ["q1", "q1"], "docid": ["d1", "d2"], "rel": grades}), tmp_path / "q.parquet")
        assert dict(read_qrels(tmp_path / "q.parquet")["q1"]) == {"d1": 1, "d2": 2}
    pq.write_table(pa.table({"qid": ["q1"], "docid": ["d1"], "rel": [0.5]}), tmp_path / "q.parquet")
    with pytest.raises(InputError, match=r'q\.parquet:1: grade "0\.5" is not an integer'):
        read_qrels(tmp_path / "q.parquet")


def test_parquet_without_pyarrow_names_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "r.parquet").write_bytes(b"PAR1")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    from rankproof.errors import MissingExtraError

    with pytest.raises(MissingExtraError, match=r"pip install 'rankproof\[parquet\]'"):
        read_run(tmp_path / "r.parquet")


@pytest.mark.slow
def test_pandas_without_pyarrow_is_read_row_by_row() -> None:
    code = (
        "import sys; sys.modules['pyarrow'] = None\n"
        "import pandas\nfrom rankproof._formats import frames as f\n"
        "frame = pandas.DataFrame({'qid': ['q1', 'q1'], 'docid': ['007', 'NA'], 'score': [2, 1]})\n"
        "print(f.is_frame(frame), f.frame_stream(frame), f.run_from_frame(frame).docs)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "True None ('007', 'NA')\n"


@pytest.mark.parametrize("column", ["query", "doc", "score"])
def test_a_pandas_column_of_dates_and_numbers_is_read_row_by_row(column: str) -> None:
    """pyarrow ends the process if it converts such a column."""
    columns: dict[str, Any] = {"query": ["a", "a"], "doc": ["d", "e"], "score": [2.0, 1.0]}
    columns[column] = pd.Series([np.datetime64("2020-01-01"), np.int64(3)], dtype=object)
    frame = pd.DataFrame(columns)
    assert frame_stream(frame) is None
    with pytest.raises(InputError, match=r"^run:1: .*datetime64"):
        run_from_frame(frame)
