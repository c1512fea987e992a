"""Streams in the native engine: slices for threads, failures, interrupts, and wrong byte counts."""

from __future__ import annotations

import io
import signal
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rankproof._data.validation import ReadOptions
from rankproof._io.streams import ByteSource
from support.native_cases import assert_same_hits, source_of

native = pytest.importorskip("rankproof._align.native", exc_type=ImportError)

QRELS = b"1 0 d 1\n"


@pytest.mark.parametrize("threads", [2, 3])
def test_a_large_file_is_read_in_slices(threads: int, tmp_path: Path) -> None:
    text = "".join(f"{query} Q0 d{doc} {doc} {100 - doc} t\n" for query in range(50) for doc in range(20)).encode()
    path = tmp_path / "large.run"
    path.write_bytes(text)
    judged = native.judge_text(source_of(b"".join(b"%d 0 d3 1\n" % query for query in range(40))))
    source = replace(source_of(text), path=str(path), open=lambda: pytest.fail("the slices were not enough"))
    found = native.align_text(judged, source, ReadOptions(threads=threads), least=1)
    assert_same_hits(found, native.align_text(judged, source_of(text), ReadOptions()))


def test_a_file_is_split_where_a_query_begins(tmp_path: Path) -> None:
    rows = [f"q{query} Q0 d{doc} 0 1 t\n" for query in range(6) for doc in range(5)]
    path = tmp_path / "six.run"
    path.write_text("# a comment\n" + "".join(rows), encoding="utf-8")
    text, size = path.read_bytes(), path.stat().st_size
    # A third of the file lies in the last row of q1: the first row that follows a whole row of another query is that of q3.
    boundaries = native.slice_boundaries(str(path), 3, 1)
    assert boundaries == [0, text.index(b"q3 "), text.index(b"q5 "), size]
    assert native.slice_boundaries(str(path), 3, size // 3) == boundaries
    assert len(native.slice_boundaries(str(path), 3, size // 3 + 1)) == 3
    assert native.slice_boundaries(str(path), 3, size) == [0, size]
    assert native.slice_boundaries(str(path), 1, 0) == [0, size]


def test_comments_and_blank_lines_do_not_begin_a_query(tmp_path: Path) -> None:
    path = tmp_path / "one.run"
    path.write_text("# a comment of about one line\n" + "q1 Q0 d 0 1 t\n\n# q2\nq1 Q0 e 0 1 t\n" * 3, encoding="utf-8")
    assert native.slice_boundaries(str(path), 2, 1) == [0, path.stat().st_size]


def test_a_query_in_two_slices_is_not_merged(tmp_path: Path) -> None:
    path = tmp_path / "twice.run"
    rows = [f"{query} Q0 d{doc} 0 1 t\n" for query in ("q1", "q2", "q1") for doc in range(9)]
    path.write_text("".join(rows), encoding="utf-8")
    for judged_query in (b"q1", b"other"):
        judged = native.judge_text(source_of(judged_query + b" 0 d3 1\n"))
        reader = native._Reader(judged, native.native_options(ReadOptions()), 1 << 16, native.WIDEST_SCAN)
        assert reader.read_in_slices(str(path), native.slice_boundaries(str(path), 3, 1)) is None


def test_the_exception_of_a_stream_is_raised_unchanged() -> None:
    class Failing(io.RawIOBase):
        def readinto(self, buffer: object) -> int:
            raise OSError("the disk is gone")

    judged = native.judge_text(source_of(QRELS))
    source = replace(source_of(b""), open=Failing)
    with pytest.raises(OSError, match="the disk is gone"):
        native.align_text(judged, source, ReadOptions())
    with pytest.raises(OSError, match="the disk is gone"):
        native.judge_text(source)


def test_an_interrupt_stops_a_read() -> None:
    class Endless(io.RawIOBase):
        def readinto(self, buffer: Any) -> int:
            signal.raise_signal(signal.SIGINT)
            buffer[:1] = b"#"
            return 1

    judged = native.judge_text(source_of(QRELS))
    with pytest.raises(KeyboardInterrupt):
        native.align_text(judged, replace(source_of(b""), open=Endless), ReadOptions())


@pytest.mark.parametrize("count", [-1, min(1 << 40, sys.maxsize)])
def test_a_stream_that_returns_a_wrong_count_is_an_error(count: int) -> None:
    class Lying(io.RawIOBase):
        def readinto(self, buffer: object) -> int:
            return count

    with pytest.raises(ValueError, match="readinto gave"):
        native.judge_text(replace(source_of(b""), open=Lying))


def test_a_buffer_is_released_after_its_reader_failed() -> None:
    kept: list[memoryview] = []

    class Failing:
        def readinto(self, buffer: memoryview) -> int:
            kept.append(buffer)
            raise OSError("gone")

        def close(self) -> None:
            pass

    with pytest.raises(OSError, match="gone"):
        native.judge_text(ByteSource("qrels", Failing))
    with pytest.raises(ValueError, match="released"):
        kept[0][0]


def test_the_first_slice_begins_behind_a_byte_order_mark(tmp_path: Path) -> None:
    text = b"\xef\xbb\xbf" + b"".join(b"%d Q0 d 1 1 t\n" % query for query in range(20))
    path = tmp_path / "marked.run"
    path.write_bytes(text)
    judged = native.judge_text(source_of(b"".join(b"%d 0 d 1\n" % query for query in range(20))))
    source = replace(source_of(text), path=str(path), open=lambda: pytest.fail("the slices were not enough"))
    assert native.align_text(judged, source, ReadOptions(threads=3), least=1).present.all()


def test_a_query_whose_id_begins_like_a_byte_order_mark_keeps_it_in_every_slice_but_the_first(tmp_path: Path) -> None:
    queries = ["q0", *(f"\ufeffq{at}" for at in range(1, 4))]
    text = "".join(f"{query} Q0 d{doc} {doc} {9 - doc} t\n" for query in queries for doc in range(9)).encode()
    path = tmp_path / "marks.run"
    path.write_bytes(text)
    boundaries = native.slice_boundaries(str(path), 3, 1)
    assert [text[cut : cut + 3] for cut in boundaries[1:-1]] == [b"\xef\xbb\xbf"] * 2
    judged = native.judge_text(source_of("".join(f"{query} 0 d3 1\n" for query in queries).encode()))
    source = replace(source_of(text), path=str(path), open=lambda: pytest.fail("the slices were not enough"))
    found = native.align_text(judged, source, ReadOptions(threads=3), least=1)
    assert found.present.all()
    assert_same_hits(found, native.align_text(judged, source_of(text), ReadOptions()))


ROWS = [f"q{query} Q0 d{doc} {doc} {9 - doc} t\n" for query in range(6) for doc in range(3)]
AGAIN = [*ROWS, "q1 Q0 d9 9 0.5 t\n"]
SPACED = ["# a comment\n", "\n", *(row.replace(" ", "\t").replace("\n", "\r\n") for row in ROWS), "\n"]


@pytest.mark.parametrize("judged_queries", [range(6), range(0, 6, 2), range(9, 12)])
@pytest.mark.parametrize(
    ("rows", "block", "times"),
    [(ROWS, 1 << 16, 1), (ROWS, 64, 1), (SPACED, 1 << 16, 1), (SPACED, 64, 1), (AGAIN, 1 << 16, 1), (AGAIN, 64, 2)],
)
def test_a_stream_is_read_twice_only_if_a_query_comes_again_after_its_rows_are_gone(
    rows: list[str], block: int, times: int, judged_queries: range
) -> None:
    text, opened = "".join(rows).encode(), list[int]()
    plain = source_of(text)

    def reopened() -> Any:
        opened.append(1)
        return plain.open()

    judged = native.judge_text(source_of("".join(f"q{query} 0 d1 1\n" for query in judged_queries).encode()))
    found = native.align_text(judged, replace(plain, open=reopened), ReadOptions(), block=block)
    assert_same_hits(found, native.align_text(judged, plain, ReadOptions()))
    assert len(opened) == times


def test_a_small_file_is_not_split(tmp_path: Path) -> None:
    path = tmp_path / "small.run"
    path.write_bytes(b"".join(b"%d Q0 d 1 1 t\n" % query for query in range(100)))
    assert native.slice_boundaries(str(path), 4, native.MIN_SLICE_BYTES) == [0, path.stat().st_size]
    judged = native.judge_text(source_of(QRELS))
    reader = native._Reader(judged, native.native_options(ReadOptions()), 1 << 16, native.WIDEST_SCAN)
    assert reader.read_in_slices(str(path), native.slice_boundaries(str(path), 4, native.MIN_SLICE_BYTES)) is None
