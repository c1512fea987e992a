"""Files as text: compression by content, encodings, pipes, standard input, and errors."""

from __future__ import annotations

import gzip
import io
import os
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from rankproof._formats.read import read_qrels, read_run
from rankproof._formats.trec import numbered_lines
from rankproof._importers.registry import read_dataset
from rankproof._io.open import first_bytes, open_source, read_all_bytes
from rankproof._io.streams import BlockStream, ByteSource, FileStream, LineCount, decompress
from rankproof.errors import ExternalError, InputError, UsageError

TEXT = b"q1 Q0 d1 1 2.0 t\nq1 Q0 d2 2 1.0 t\n"


class Stdin:
    """Standard input that holds given bytes."""

    def __init__(self, data: bytes) -> None:
        self.buffer = io.BytesIO(data)


@pytest.mark.parametrize("pack", [bytes, gzip.compress, zstandard.ZstdCompressor().compress])
def test_a_source_can_be_read_again_from_the_start(pack: type[bytes], tmp_path: Path) -> None:
    (tmp_path / "r").write_bytes(pack(TEXT))
    source = open_source(tmp_path / "r")
    assert [read_all_bytes(source), read_all_bytes(source)] == [TEXT, TEXT]


@given(data=st.binary(max_size=300), cut=st.integers(0, 400), codec=st.sampled_from(["gzip", "zstd"]), members=st.integers(1, 3))
def test_a_truncated_stream_gives_everything_or_an_error(data: bytes, cut: int, codec: str, members: int) -> None:
    pack = gzip.compress if codec == "gzip" else zstandard.ZstdCompressor().compress
    packed, whole = pack(data) * members, data * members
    size = len(packed) // members
    try:
        out = b"".join(decompress(codec, io.BytesIO(packed[:cut]), "x"))
    except InputError:
        assert cut < len(packed)
        assert cut % size
    else:
        assert out == whole[: len(data) * (min(cut, len(packed)) // size)]


@pytest.mark.slow
def test_a_decompression_bomb_is_streamed_in_small_blocks() -> None:
    for codec, packed in (
        ("gzip", gzip.compress(b"\0" * 50_000_000)),
        ("zstd", zstandard.ZstdCompressor().compress(b"\0" * 50_000_000)),
    ):
        sizes = [len(block) for block in decompress(codec, io.BytesIO(packed), "x")]
        assert sum(sizes) == 50_000_000
        assert max(sizes) <= 34_000_000 if codec == "zstd" else max(sizes) <= 1 << 20


def test_skippable_zstd_frames_are_skipped(tmp_path: Path) -> None:
    skippable = b"\x50\x2a\x4d\x18" + (3).to_bytes(4, "little") + b"abc"
    (tmp_path / "r").write_bytes(skippable + zstandard.ZstdCompressor().compress(TEXT) + skippable)
    assert read_all_bytes(open_source(tmp_path / "r")) == TEXT


def test_a_decompression_bomb_of_one_line_is_rejected_early(tmp_path: Path) -> None:
    (tmp_path / "r.gz").write_bytes(gzip.compress(b"x" * 30_000_000))
    read: list[int] = []
    source = open_source(tmp_path / "r.gz", progress=lambda done, total: read.append(done))
    with pytest.raises(InputError, match=r"r\.gz:1: the line is over 1 MiB"):
        list(numbered_lines(source))
    assert read[-1] <= 1 << 16


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16", "utf-16-le", "utf-32", "cp1252"])
def test_another_encoding_becomes_utf_8(encoding: str, tmp_path: Path) -> None:
    (tmp_path / "r").write_bytes("é 1\nü 2\n".encode(encoding))
    source = open_source(tmp_path / "r", encoding=encoding)
    assert read_all_bytes(source).decode() == "é 1\nü 2\n"
    assert source.path is None


def test_an_encoding_and_compression_go_together(tmp_path: Path) -> None:
    (tmp_path / "r").write_bytes(gzip.compress("é\n".encode("utf-16")))
    assert read_all_bytes(open_source(tmp_path / "r", encoding="utf-16")) == "é\n".encode()


@pytest.mark.parametrize(
    ("encoding", "data", "line"),
    [
        ("ascii", b"a\r\nb\rc\n\xe9\n", 4),
        ("shift_jis", "日本\n".encode("shift_jis") + b"x\n\x81\xff\n", 3),
        ("utf-16", "a\nb\nc".encode("utf-16") + b"\x00\xd8\n\x00", 3),
        ("utf-16", "a\nb\n".encode("utf-16") + b"c", 3),
    ],
)
def test_a_byte_outside_the_encoding_is_rejected_with_its_line(encoding: str, data: bytes, line: int, tmp_path: Path) -> None:
    (tmp_path / "r").write_bytes(data)
    with pytest.raises(InputError, match=rf"r:{line}: not {encoding}"):
        read_all_bytes(open_source(tmp_path / "r", encoding=encoding))


@pytest.mark.parametrize("encoding", ["klingon", "rot13", "base64", "zlib", "unicode_escape", "idna", "a\0b", ""])
def test_an_unknown_encoding_is_rejected(encoding: str, tmp_path: Path) -> None:
    (tmp_path / "r").write_bytes(TEXT)
    with pytest.raises(UsageError, match="no text encoding is called"):
        open_source(tmp_path / "r", encoding=encoding)


@pytest.mark.parametrize("encoding", ["utf-8", "UTF8", "utf_8", "utf-8-sig"])
def test_utf_8_by_any_name_leaves_the_file_as_it_is(encoding: str, tmp_path: Path) -> None:
    (tmp_path / "r").write_bytes(TEXT)
    assert open_source(tmp_path / "r", encoding=encoding).path == str(tmp_path / "r")


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_a_parquet_file_has_no_encoding(pack: type[bytes], tmp_path: Path) -> None:
    (tmp_path / "r").write_bytes(pack(b"PAR1\xe9"))
    assert read_all_bytes(open_source(tmp_path / "r", encoding="latin-1")) == b"PAR1\xe9"


@pytest.mark.parametrize("path", [b"r.run", 3, None, "", ["r.run"]])
def test_anything_but_a_path_is_a_usage_error(path: Any) -> None:
    for read in (read_run, read_qrels, read_dataset):
        with pytest.raises(UsageError, match=r"a path cannot be an? |the file path is empty"):
            read(path)


@pytest.mark.parametrize("wrong", [{"format": 3}, {"format": ["csv"]}, {"delimiter": 5}, {"encoding": None}])
def test_an_invalid_option_is_a_usage_error(wrong: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "r").write_bytes(TEXT)
    with pytest.raises(UsageError):
        read_run(tmp_path / "r", **wrong)


def test_standard_input_can_be_read_again_but_named_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", Stdin(gzip.compress(TEXT)))
    source = open_source("-")
    assert [read_all_bytes(source), first_bytes(source.open, 2), source.name, source.path] == [TEXT, b"q1", "<stdin>", None]
    with pytest.raises(InputError, match=r"standard input \(-\) is named twice; use - for one argument"):
        open_source("-")
    monkeypatch.setattr(sys, "stdin", Stdin(b"new"))
    assert read_all_bytes(open_source("-")) == b"new"


def test_standard_input_may_be_text_or_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("é\n"))
    assert read_all_bytes(open_source("-")) == "é\n".encode()
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(InputError, match="closed"):
        open_source("-")


def test_a_pipe_is_opened_once_and_kept(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    writer = threading.Thread(target=(tmp_path / "pipe").write_bytes, args=(zstandard.ZstdCompressor().compress(TEXT * 1000),))
    writer.start()
    source = open_source(tmp_path / "pipe")
    assert [read_all_bytes(source), read_all_bytes(source), source.path] == [TEXT * 1000, TEXT * 1000, None]
    writer.join()


def test_a_descriptor_of_the_shell_is_read(tmp_path: Path) -> None:
    read, write = os.pipe()
    os.write(write, TEXT)
    os.close(write)
    try:
        assert read_all_bytes(open_source(f"/dev/fd/{read}")) == TEXT
    finally:
        os.close(read)


def test_progress_counts_the_bytes_of_the_file(tmp_path: Path) -> None:
    packed = gzip.compress(os.urandom(200_000))
    (tmp_path / "r.gz").write_bytes(packed)
    heard: list[tuple[int, int | None]] = []
    read_all_bytes(open_source(tmp_path / "r.gz", progress=lambda done, total: heard.append((done, total))))
    assert heard[-1] == (len(packed), len(packed))
    assert [done for done, _ in heard[-3:]] == sorted(done for done, _ in heard[-3:])


def test_a_failing_disk_is_an_external_error(tmp_path: Path) -> None:
    (tmp_path / "r").write_bytes(TEXT)
    stream = FileStream(str(tmp_path / "r"))
    os.close(stream._file.fileno())
    with pytest.raises(ExternalError, match=r"r: cannot be read \(Bad file descriptor\)"):
        stream.readinto(memoryview(bytearray(4)))
    with pytest.raises(OSError, match="Bad file descriptor"):
        stream.close()


def test_a_stream_of_blocks_is_read_in_any_sizes() -> None:
    stream = BlockStream(iter([b"abc", b"", b"defgh"]))
    out, buffer = b"", bytearray(2)
    while count := stream.readinto(memoryview(buffer)):
        out += buffer[:count]
    assert out == b"abcdefgh"


@given(st.lists(st.sampled_from([b"a", b"\r", b"\n", b"\r\n", b"ab\n", b""]), max_size=8))
def test_lines_are_counted_across_blocks(blocks: list[bytes]) -> None:
    count = LineCount()
    for block in blocks:
        count.add(block)
    whole = b"".join(blocks)
    assert count.ended == len(whole.splitlines(keepends=True)) - bool(whole and not whole.endswith((b"\r", b"\n")))


def test_all_bytes_of_a_source_in_memory() -> None:
    assert read_all_bytes(ByteSource("x", lambda: io.BytesIO(TEXT))) == TEXT
