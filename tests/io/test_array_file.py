"""Array files: what is written is read, and damage is told."""

from __future__ import annotations

import hashlib
import json
import os
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from rankproof._io import array_files
from rankproof._io.array_files import ArrayBlocks, open_arrays, write_arrays
from rankproof.errors import ExternalError

KINDS = st.sampled_from(["<i4", "<i8", "<f4", "<f8", "|u1", "|i1", "|b1", "|S3"])
ARRAYS = KINDS.flatmap(lambda kind: hnp.arrays(np.dtype(kind), hnp.array_shapes(min_dims=1, max_dims=3, min_side=0, max_side=9)))

WRITE = """
import sys
from pathlib import Path
import numpy as np
from rankproof._io.array_files import write_arrays
write_arrays(Path(sys.argv[1]), {"one": np.arange(9)})
"""


@given(st.dictionaries(st.text(max_size=5), ARRAYS, max_size=4), st.dictionaries(st.text(max_size=5), st.integers()))
def test_arrays_and_facts_come_back_to_the_bit(
    tmp_path_factory: pytest.TempPathFactory, arrays: dict[str, np.ndarray], facts: dict[str, int]
) -> None:
    path = tmp_path_factory.mktemp("arrays") / "a.arrays"
    write_arrays(path, arrays, facts)
    found = open_arrays(path)
    assert found.facts == facts
    assert found.size == path.stat().st_size
    assert {name: (array.dtype, array.shape, array.tobytes()) for name, array in found.arrays.items()} == {
        name: (array.dtype, array.shape, array.tobytes()) for name, array in arrays.items()
    }


@given(hnp.arrays(np.dtype("<i8"), st.tuples(st.integers(0, 20), st.just(2))), st.integers(1, 7))
def test_an_array_that_is_made_in_blocks_gives_the_same_file(
    tmp_path_factory: pytest.TempPathFactory, array: np.ndarray, size: int
) -> None:
    folder = tmp_path_factory.mktemp("arrays")
    blocks = (array[at : at + size] for at in range(0, len(array), size))
    write_arrays(folder / "whole", {"one": array, "two": array[:1]})
    write_arrays(folder / "blocks", {"one": ArrayBlocks(array.dtype, array.shape, blocks), "two": array[:1]})
    assert (folder / "blocks").read_bytes() == (folder / "whole").read_bytes()


def test_arrays_are_read_only_and_aligned(tmp_path: Path) -> None:
    write_arrays(tmp_path / "a", {"one": np.arange(3, dtype=np.int8), "two": np.arange(5.0)})
    two = open_arrays(tmp_path / "a").arrays["two"]
    assert two.ctypes.data % 64 == 0
    with pytest.raises(ValueError, match="read-only"):
        two[0] = 1


def test_a_transposed_array_is_written_in_its_own_order(tmp_path: Path) -> None:
    array = np.arange(6.0).reshape(2, 3).T
    write_arrays(tmp_path / "a", {"one": array})
    assert np.array_equal(open_arrays(tmp_path / "a").arrays["one"], array)


@pytest.mark.parametrize("keep", [0, 3, 24, 100, -1])
def test_a_truncated_file_is_an_error_and_is_removed(tmp_path: Path, keep: int) -> None:
    path = tmp_path / "a"
    write_arrays(path, {"one": np.arange(1000)})
    os.truncate(path, keep if keep >= 0 else path.stat().st_size - 1)
    with pytest.raises(ExternalError, match=r"corrupt.*it was removed; run again"):
        open_arrays(path)
    assert not path.exists()


def test_every_changed_byte_of_a_file_of_another_process_is_found(tmp_path: Path) -> None:
    path = tmp_path / "a"
    write_arrays(path, {"one": np.arange(30, dtype=np.int16)}, {"fact": 1})
    content = path.read_bytes()
    for at in range(len(content)):
        path.write_bytes(content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :])
        with pytest.raises(ExternalError, match="corrupt"):
            open_arrays(path)


def test_a_file_of_a_processor_with_the_other_byte_order_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "a.arrays"
    numbers = np.arange(9)
    write_arrays(path, {"one": numbers.astype(numbers.dtype.newbyteorder())})
    with pytest.raises(ExternalError):
        open_arrays(path)


def test_the_checksum_is_verified_once_in_a_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a"
    subprocess.run([sys.executable, "-c", WRITE, str(path)], check=True)
    verified: list[int] = []
    digest = array_files._digest

    def count(data: memoryview) -> bytes:
        verified.append(len(data))
        return digest(data)

    monkeypatch.setattr(array_files, "_digest", count)
    open_arrays(path)
    open_arrays(path)
    assert len(verified) == 1


def test_a_missing_file_and_a_folder_that_cannot_be_made_are_cache_errors(tmp_path: Path) -> None:
    with pytest.raises(ExternalError, match="choose another cache folder"):
        open_arrays(tmp_path / "none")
    (tmp_path / "file").write_text("")
    with pytest.raises(ExternalError, match="choose another cache folder"):
        write_arrays(tmp_path / "file" / "a", {})


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a"
    write_arrays(path, {"one": np.arange(5)})

    def fail(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(ExternalError, match="No space left on device"):
        write_arrays(path, {"one": np.arange(9)})
    assert os.listdir(tmp_path) == ["a"]
    assert open_arrays(path).arrays["one"].tolist() == [0, 1, 2, 3, 4]


HEADS: list[Any] = [[], {}, 7, {"arrays": [], "facts": {}, "more": 1}, {"arrays": [["one", "<i8", [10**30]]], "facts": {}}]
ODD_ARRAYS = [("O", [2]), ("<i8", [-1]), ("x", [1]), (3, 4), ("<i8", ["a"]), ("(1,", [1])]
ODD_ARRAYS += [("<i8", [1.5]), ("<i8", [True]), ("<i8", [1] * 100), ("<i8", [0, 10**400])]
HEADS += [{"arrays": [["one", kind, shape]], "facts": {}} for kind, shape in ODD_ARRAYS]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_in_place_of_a_file_is_removed_without_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a")
    with pytest.raises(ExternalError, match=r"corrupt \(no plain file\); it was removed"):
        open_arrays(tmp_path / "a")
    os.mkfifo(tmp_path / "journal")
    with pytest.raises(ExternalError, match="journal: is not a plain file; remove it, or choose another cache folder"):
        array_files.Journal(tmp_path / "journal")


@pytest.mark.parametrize("head", HEADS, ids=lambda head: json.dumps(head)[:80])
def test_a_header_that_describes_no_arrays_is_corrupt_whatever_its_digest(head: Any, tmp_path: Path) -> None:
    text = json.dumps(head).encode()
    start = array_files._HEADER.size
    body = (bytes(start) + text).ljust(-(-(start + len(text)) // 64) * 64, b"\0") + bytes(64)
    size = len(body) + array_files._FOOTER.size
    body = array_files._HEADER.pack(array_files._MARK, len(text), size) + body[start:]
    (tmp_path / "a").write_bytes(body + hashlib.sha256(body).digest())
    with pytest.raises(ExternalError, match="corrupt"):
        open_arrays(tmp_path / "a")
    shapes = json.dumps(head["arrays"] if isinstance(head, dict) and "arrays" in head else head).encode()
    parts = struct.pack("<QQd", len(shapes), len(shapes), 1.0) + shapes
    record = array_files.RECORD_MARK + bytes(4) + hashlib.sha256(parts).digest() + parts
    read = array_files.record_at(memoryview(record), 0)
    assert read is None or not read.block
