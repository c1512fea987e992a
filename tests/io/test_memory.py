"""Free memory, and files that need more of it."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from rankproof._formats.read import read_run
from rankproof._io import memory
from rankproof._io.memory import MemoryLimit, MemoryWatch, check_memory, free_memory
from rankproof._io.open import open_folder_source, open_source, read_all_bytes
from rankproof._io.streams import ReplayBuffer
from rankproof._io.strict_json import parse_strict_json
from rankproof.errors import InputError
from support.paths import ROOT, SOURCE

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="free memory is read from /proc")
GIB = 1 << 30
REFUSED = "reading it takes more memory than is free"


@pytest.fixture
def system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The files of a system with 8 GiB free."""
    for name in ("_PROC", "_CGROUPS"):
        monkeypatch.setattr(memory, name, str(tmp_path / name))
    (tmp_path / "_PROC" / "self").mkdir(parents=True)
    (tmp_path / "_PROC" / "meminfo").write_text(f"MemTotal: 1 kB\nMemAvailable: {8 * GIB // 1024} kB\n")
    return tmp_path


def _group(folder: Path, files: dict[str, object]) -> None:
    folder.mkdir(parents=True)
    for name, value in files.items():
        (folder / name).write_text(f"{value}\n")


def test_the_free_memory_of_the_machine_is_found(system: Path) -> None:
    assert free_memory() == 8 * GIB


def test_the_smallest_limit_of_a_container_counts_and_cached_files_are_free(system: Path) -> None:
    (system / "_PROC" / "self" / "cgroup").write_text("0::/a/b\n")
    stat = f"anon 5\nactive_file {GIB}\ninactive_file {GIB}"
    _group(system / "_CGROUPS" / "a", {"memory.max": 4 * GIB, "memory.current": 3 * GIB, "memory.stat": stat})
    _group(system / "_CGROUPS" / "a" / "b", {"memory.max": "max", "memory.current": 7})
    assert free_memory() == 3 * GIB


def test_the_limit_of_a_container_of_version_1_counts_at_the_root_it_sees(system: Path) -> None:
    (system / "_PROC" / "self" / "cgroup").write_text("4:cpu,memory:/docker/1f3\n0::/\n")
    files = {"memory.limit_in_bytes": 2 * GIB, "memory.usage_in_bytes": GIB, "memory.stat": f"total_inactive_file {GIB // 2}"}
    _group(system / "_CGROUPS" / "memory", files)
    assert free_memory() == GIB + GIB // 2


def test_a_container_without_a_limit_is_the_machine(system: Path) -> None:
    (system / "_PROC" / "self" / "cgroup").write_text("4:memory:/\n")
    _group(system / "_CGROUPS" / "memory", {"memory.limit_in_bytes": 9223372036854771712, "memory.usage_in_bytes": 5})
    assert free_memory() == 8 * GIB


@pytest.fixture
def little_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "free_memory", lambda: 9_000_000)


@pytest.mark.usefixtures("little_memory")
def test_a_file_that_needs_more_than_the_free_memory_is_refused() -> None:
    check_memory(8_999_999, "x")
    with pytest.raises(InputError, match=rf"x: {REFUSED} \(9 MB\); split the file"):
        check_memory(9_000_001, "x")


@pytest.mark.usefixtures("little_memory")
@pytest.mark.parametrize("text", ["[" + "[]," * 400_000 + "0]", json.dumps({str(at): at / 7 for at in range(60_000)})])
def test_the_values_of_json_are_estimated_before_they_are_made(text: str) -> None:
    with pytest.raises(InputError, match=REFUSED):
        parse_strict_json(text, source="x")


@pytest.mark.usefixtures("little_memory")
def test_text_that_is_not_ascii_counts_for_its_characters(tmp_path: Path) -> None:
    (tmp_path / "plain").write_bytes(b"x" * 2_000_000)
    (tmp_path / "wide").write_bytes(b"x" * 2_000_000 + "é".encode())
    assert len(read_all_bytes(open_source(tmp_path / "plain"))) == 2_000_000
    with pytest.raises(InputError, match=REFUSED):
        read_all_bytes(open_source(tmp_path / "wide"))


def test_a_reader_that_keeps_what_it_reads_is_stopped_and_one_that_does_not_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    held = iter([0, 3_000_000])
    monkeypatch.setattr(memory, "free_memory", lambda: 999_999)
    monkeypatch.setattr(memory, "_held_memory", lambda: next(held))
    watch = MemoryWatch("x")
    watch.add(1 << 23)
    with pytest.raises(InputError, match=REFUSED):
        watch.add(1 << 23)


def test_a_pipe_that_never_ends_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "free_memory", lambda: 1)
    with pytest.raises(InputError, match=f"pipe: {REFUSED}"):
        list(ReplayBuffer(lambda: bytes(1 << 20), "pipe")._blocks())


def test_an_allocation_beyond_the_free_memory_is_an_error_of_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "free_memory", lambda: 100_000_000)
    with pytest.raises(InputError, match=f"x: {REFUSED}"), MemoryLimit("x"):
        bytearray(GIB)
    assert len(bytearray(GIB // 4)) == GIB // 4


def test_limits_in_two_threads_leave_the_limit_of_the_process_as_it_was() -> None:
    import resource

    before, entered, can_end = resource.getrlimit(resource.RLIMIT_DATA), threading.Event(), threading.Event()

    def read() -> None:
        with MemoryLimit("y"):
            entered.set()
            can_end.wait(60)

    other = threading.Thread(target=read)
    with MemoryLimit("x"):
        other.start()
        entered.wait(0.2)
    can_end.set()
    other.join()
    assert resource.getrlimit(resource.RLIMIT_DATA) == before


def test_rankings_that_grow_over_a_hundredfold_are_refused_in_a_results_folder(tmp_path: Path) -> None:
    (tmp_path / "run.gz").write_bytes(gzip.compress(bytes(10_000_000)))
    with pytest.raises(InputError, match="over 100 times as large as the file"):
        read_all_bytes(open_folder_source(str(tmp_path), "run.gz"))
    with pytest.raises(InputError, match="line"):
        read_run(tmp_path / "run.gz")


def test_only_a_gz_file_of_a_results_folder_is_decompressed(tmp_path: Path) -> None:
    packed = gzip.compress(b"text")
    (tmp_path / "x.json").write_bytes(packed)
    (tmp_path / "x.gz").write_bytes(packed)
    assert read_all_bytes(open_folder_source(str(tmp_path), "x.json")) == packed
    assert read_all_bytes(open_folder_source(str(tmp_path), "x.gz")) == b"text"


READ_PARQUET = """
import resource, sys
from rankproof._io import memory
from rankproof._formats.read import read_run
from tools.attacks.hostile import FILES
from pathlib import Path
path = Path(sys.argv[1]) / "bomb.parquet"
FILES["Parquet of 0.6 MB, 200 GB in memory"][1](path)
memory.free_memory = lambda: 400_000_000
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    read_run(path)
except Exception as error:
    print(type(error).__name__, error)
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024)
"""


@pytest.mark.slow
def test_a_parquet_file_that_grows_a_hundred_thousandfold_takes_only_free_memory(tmp_path: Path) -> None:
    environment = {"PYTHONPATH": f"{SOURCE.parent}:{ROOT}", "PATH": ""}
    done = subprocess.run(
        [sys.executable, "-c", READ_PARQUET, str(tmp_path)], capture_output=True, text=True, check=True, env=environment
    )
    said, taken = done.stdout.splitlines()
    assert said.startswith("LargeFileError")
    assert "bomb.parquet: reading it takes more memory than is free" in said
    assert int(taken) < 1_000_000_000
