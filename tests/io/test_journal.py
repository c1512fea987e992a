"""Journals keep every complete block through kills, full disks and damage."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankproof._experiment import cache
from rankproof._experiment.cache import DiskBlockCache, MemoryBlockCache
from rankproof._io import paths
from rankproof._io.array_files import Block, Journal, record_at, record_bytes
from rankproof.errors import ExternalError
from support.examples import examples


def block(index: int) -> Block:
    return {"vectors": np.full((index + 1, 3), index, np.float32), "names": np.frombuffer(f"é{index}".encode(), np.uint8)}


def silent(label: str, done: int, total: int) -> None:
    pass


class Making:
    """Makes blocks and remembers which."""

    def __init__(self, stop_at: int | None = None) -> None:
        self.made: list[int] = []
        self.stop_at = stop_at

    def __call__(self, index: int) -> Block:
        if index == self.stop_at:
            raise KeyboardInterrupt
        self.made.append(index)
        return block(index)


def same(found: Block, wanted: Block) -> bool:
    return list(found) == list(wanted) and all(np.array_equal(found[name], wanted[name]) for name in wanted)


@given(
    st.dictionaries(st.text(max_size=5), st.tuples(st.integers(0, 4), st.integers(0, 4)), max_size=3),
    st.sampled_from(["<f2", "<f4", "<f8", "<i8", "|u1"]),
)
def test_a_record_reads_back_as_it_was(shapes: dict[str, tuple[int, int]], kind: str) -> None:
    arrays = {name: np.arange(a * b).reshape(a, b).astype(kind) for name, (a, b) in shapes.items()}
    data = record_bytes(arrays, 1.5)
    record = record_at(memoryview(data), 0)
    assert record is not None
    assert record.seconds == 1.5
    assert record.end == len(data)
    assert len(data) % 64 == 0
    assert same(record.block, arrays)


@examples(200)
@given(st.integers(0, 10**6), st.integers(1, 255))
def test_a_record_with_any_byte_changed_is_rejected(at: int, change: int) -> None:
    data = bytearray(record_bytes(block(2), 0.25))
    data[at % len(data)] ^= change
    assert record_at(memoryview(data), 0) is None


def test_a_second_run_continues_after_the_last_complete_block(tmp_path: Path) -> None:
    first = Making(stop_at=3)
    with DiskBlockCache(tmp_path, silent) as keep, pytest.raises(KeyboardInterrupt):
        keep.blocks("key", 5, first, label="x")
    second = Making()
    with DiskBlockCache(tmp_path, silent) as keep:
        blocks, seconds = keep.blocks("key", 5, second, label="x")
    assert (first.made, second.made) == ([0, 1, 2], [3, 4])
    assert all(same(found, block(index)) for index, found in enumerate(blocks))
    assert seconds > 0


def test_a_journal_truncated_at_any_byte_loses_only_the_truncated_block(tmp_path: Path) -> None:
    with DiskBlockCache(tmp_path, silent) as keep:
        keep.blocks("key", 3, block, label="x")
        path = keep.path("key")
        whole = path.read_bytes()
        ends = np.cumsum([len(record_bytes(block(index), 0)) for index in range(3)]).tolist()
        for cut in range(0, len(whole), 7):
            path.write_bytes(whole[:cut])
            making = Making()
            blocks, _ = keep.blocks("key", 3, making, label="x")
            assert making.made == list(range(sum(end <= cut for end in ends), 3))
            assert all(same(found, block(index)) for index, found in enumerate(blocks))


def test_damage_before_the_last_block_is_reported_and_earlier_blocks_are_kept(tmp_path: Path) -> None:
    with DiskBlockCache(tmp_path, silent) as keep:
        keep.blocks("key", 3, block, label="x")
        path = keep.path("key")
        content = bytearray(path.read_bytes())
        content[len(record_bytes(block(0), 0)) + 70] ^= 1
        path.write_bytes(content)
        with pytest.raises(ExternalError, match=r"corrupt .*kept; run again") as caught:
            keep.blocks("key", 3, block, label="x")
        assert caught.value.exit_code == 1
        making = Making()
        blocks, _ = keep.blocks("key", 3, making, label="x")
    assert making.made == [1, 2]
    assert all(same(found, block(index)) for index, found in enumerate(blocks))


def test_two_processes_never_write_one_journal(tmp_path: Path) -> None:
    with Journal(tmp_path / "one.journal"), pytest.raises(ExternalError, match="another rankproof is running"):
        Journal(tmp_path / "one.journal")


@pytest.mark.parametrize("fails", ["write", "fsync"])
def test_a_full_disk_leaves_the_journal_unchanged(fails: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Journal(tmp_path / "one.journal") as journal:
        journal.append(block(0), 1.0)
        before = journal.path.read_bytes()
        _break(journal, fails, monkeypatch)
        with pytest.raises(ExternalError, match="No space left on device; free some space and run again"):
            journal.append(block(1), 1.0)
        assert journal.path.read_bytes() == before


def _break(journal: Journal, fails: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    if fails == "fsync":
        monkeypatch.setattr(os, "fsync", full)
        return
    real = journal._file

    class FullDisk:
        """Takes half of a record and then no more."""

        def __init__(self) -> None:
            self.taken = False

        def write(self, data: memoryview) -> int | None:
            if self.taken:
                full()
            self.taken = True
            return real.write(data[: len(data) // 2])

        def __getattr__(self, name: str) -> Any:
            return getattr(real, name)

    monkeypatch.setattr(journal, "_file", FullDisk())


@pytest.mark.parametrize("kept", [True, False])
def test_both_caches_compute_each_block_once_and_clear_their_folders(kept: bool, tmp_path: Path) -> None:
    making = Making()

    def make() -> DiskBlockCache | MemoryBlockCache:
        return DiskBlockCache(tmp_path, silent) if kept else MemoryBlockCache(silent)

    with make() as keep:
        folder = Path(keep.folder("database"))
        (folder / "file").write_text("x")
        for _ in range(2):
            blocks, _ = keep.blocks("key", 2, making, label="x")
        assert making.made == [0, 1]
        assert same(blocks[1], block(1))
        keep.forget("key")
        keep.blocks("key", 2, making, label="x")
    assert making.made == [0, 1, 0, 1]
    assert not folder.exists()


@pytest.mark.parametrize("kept", [True, False])
def test_progress_counts_the_items_of_blocks_or_else_the_blocks(kept: bool, tmp_path: Path) -> None:
    calls: list[tuple[int, int]] = []

    def hear(label: str, done: int, total: int) -> None:
        calls.append((done, total))

    with DiskBlockCache(tmp_path, hear) if kept else MemoryBlockCache(hear) as keep:
        keep.blocks("things", 2, Making(), label="x", items=31)
        keep.blocks("blocks", 2, Making(), label="x")
        keep.blocks("none", 0, Making(), label="x", items=0)
    assert calls[:6] == [(0, 31), (15, 31), (31, 31), (0, 2), (1, 2), (2, 2)]


def test_a_run_never_removes_the_database_of_another_that_still_runs(tmp_path: Path) -> None:
    with DiskBlockCache(tmp_path, silent) as one:
        with DiskBlockCache(tmp_path, silent) as other:
            first, second = Path(one.folder("key")), Path(other.folder("key"))
            assert first != second
            assert one.folder("key") == str(first)
            (first / "table").write_text("mine")
        assert not second.exists()
        assert (first / "table").read_text() == "mine"
    assert not (tmp_path / "databases").exists()


def test_the_database_of_a_killed_run_is_found_again_and_then_removed(tmp_path: Path) -> None:
    with DiskBlockCache(tmp_path, silent) as keep:
        folder = Path(keep.folder("key"))
    folder.mkdir(parents=True)
    (folder / "table").write_text("left")
    with DiskBlockCache(tmp_path, silent) as keep:
        assert (Path(keep.folder("key")) / "table").read_text() == "left"
    assert not (tmp_path / "databases").exists()


@pytest.mark.parametrize("content", [b"0123456789ab", b"\xff\xfe", b""])
def test_the_database_of_another_machine_or_of_an_unknown_one_stays(content: bytes, tmp_path: Path) -> None:
    lock = tmp_path / "databases" / "other" / "lock"
    lock.parent.mkdir(parents=True)
    lock.write_bytes(content)
    with DiskBlockCache(tmp_path, silent):
        pass
    assert lock.read_bytes() == content


def test_a_lock_file_that_its_owner_removed_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real: Callable[[int], bool] = paths.try_lock
    gone: list[bool] = []

    def late(handle: int) -> bool:
        if not gone:
            gone.append(True)
            (tmp_path / "databases" / "key" / "lock").unlink()
        return real(handle)

    monkeypatch.setattr(cache, "try_lock", late)
    with DiskBlockCache(tmp_path, silent) as one, DiskBlockCache(tmp_path, silent) as other:
        assert one.folder("key") != other.folder("key")


def test_a_journal_with_too_many_blocks_is_rejected_and_emptied(tmp_path: Path) -> None:
    with DiskBlockCache(tmp_path, silent) as keep:
        keep.blocks("key", 3, block, label="x")
        with pytest.raises(ExternalError, match=r"corrupt \(3 blocks instead of 2\); it was emptied; run again"):
            keep.blocks("key", 2, block, label="x")
        making = Making()
        blocks, _ = keep.blocks("key", 2, making, label="x")
    assert making.made == [0, 1]
    assert len(blocks) == 2


def test_a_cache_that_cannot_be_created_names_the_fix(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    with (
        DiskBlockCache(tmp_path / "file", silent) as keep,
        pytest.raises(ExternalError, match="the variable RANKPROOF_CACHE"),
    ):
        keep.blocks("key", 1, block, label="x")
