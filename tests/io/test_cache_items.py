"""The entries of the cache, its limit, and its use by several runs."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from rankproof._cli.main import main
from rankproof._io import cache_items as cache_items_module
from rankproof._io.cache_items import KINDS, CacheHold, CacheUse, cache_items, checked_size, remove_items
from rankproof._io.paths import is_temporary, lock_alone, temporary_name
from rankproof.errors import ExternalError, UsageError

DAY = 86400


def add(home: Path, name: str, size: int, days: float) -> Path:
    """An entry of that size that was used so many days ago."""
    path = home / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(bytes(size))
    when = time.time() - days * DAY
    for each in (path, path.parent):
        os.utime(each, (when, when))
    return path


@pytest.fixture
def entries(tmp_path: Path) -> dict[str, Path]:
    """One entry of 1000 bytes of each kind, and an older one of each finished kind."""
    found = {kind: add(tmp_path, f"{kind}/new/file", 1000, 2) for kind in KINDS}
    days = {"corpora": 30, "chunks": 50, "indexes": 10, "vectors": 40, "stages": 20}
    return found | {f"old-{kind}": add(tmp_path, f"{kind}/old/file", 1000, ago) for kind, ago in days.items()}


def left(entries: dict[str, Path]) -> set[str]:
    return {name for name, path in entries.items() if path.exists()}


@pytest.mark.parametrize(
    ("limit", "gone"),
    [
        (15_000, set()),
        (14_999, {"old-chunks"}),
        (13_000, {"old-chunks", "old-vectors"}),
        (12_000, {"old-chunks", "old-vectors", "old-corpora"}),
        (10_500, {"old-chunks", "old-vectors", "old-corpora", "old-stages", "old-indexes"}),
    ],
)
def test_a_limit_removes_what_was_used_longest_ago(tmp_path: Path, entries: dict[str, Path], limit: int, gone: set[str]) -> None:
    with CacheUse(tmp_path, limit) as use:
        assert use.trim() == []
    assert left(entries) == set(entries) - gone


def test_models_responses_unfinished_work_and_what_this_run_uses_stay(tmp_path: Path, entries: dict[str, Path]) -> None:
    with CacheUse(tmp_path, 13_000) as use:
        os.utime(entries["indexes"].parent)
        use._limit = 0
        (note,) = use.trim()
    assert left(entries) == {"models", "responses", "journals", "hits", "databases", "indexes"}
    assert note == (
        "the cache has 6.0 kB, above its limit of 0 B: entries of this run, unfinished work, models and responses are not removed"
    )


def test_nothing_is_removed_while_another_run_uses_the_cache(tmp_path: Path, entries: dict[str, Path]) -> None:
    with CacheUse(tmp_path, None), CacheUse(tmp_path, 0) as second:
        assert left(entries) == set(entries)
        (note,) = second.trim()
        assert note == "the cache has 15.0 kB, above its limit of 0 B: another run uses it, so that nothing was removed"
    with CacheUse(tmp_path, 0) as alone:
        alone.trim()
        assert len(left(entries)) == 5


def test_what_a_run_may_still_use_stays_until_it_ends(tmp_path: Path, entries: dict[str, Path]) -> None:
    with CacheUse(tmp_path, 0):
        assert left(entries) == set(entries)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no shared locks")
def test_a_run_that_starts_while_entries_are_removed_waits_and_has_the_lock(tmp_path: Path, entries: dict[str, Path]) -> None:
    started, entered, ended = threading.Event(), threading.Event(), threading.Event()

    def run() -> None:
        started.set()
        with CacheUse(tmp_path, None):
            entered.set()
            ended.wait(10)

    other = threading.Thread(target=run)
    with CacheUse(tmp_path, 0) as use:
        with use.alone() as alone:
            assert alone
            other.start()
            started.wait(10)
            assert not entered.wait(0.2)
        assert entered.wait(10)
        (note,) = use.trim()
        ended.set()
        other.join()
    assert "another run uses it" in note
    assert left(entries) == set(entries)


def test_entries_that_a_run_removes_meanwhile_are_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("gone", "partly", "stays"):
        add(tmp_path, f"hits/{name}/file", 10, 3)
    real = Path.lstat

    def removing(path: Path) -> os.stat_result:
        if path.name == "gone":
            shutil.rmtree(path)
        if path.parent.name == "partly":
            path.unlink()
        return real(path)

    monkeypatch.setattr(Path, "lstat", removing)
    assert [(one.path.name, one.size) for one in cache_items(tmp_path / "hits")] == [("partly", 0), ("stays", 10)]


def test_an_entry_that_cannot_be_removed_costs_no_result(
    tmp_path: Path, entries: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Path, target: Path) -> Path:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "rename", refuse)
    with CacheUse(tmp_path, 0) as use:
        (note,) = use.trim()
    assert note.startswith("--cache-limit stopped: ")
    assert note.endswith("Permission denied; check that this user may read and remove it")


def test_a_run_that_trims_still_keeps_others_from_trimming(tmp_path: Path, entries: dict[str, Path]) -> None:
    with CacheUse(tmp_path, 50_000) as first:
        first.trim()
        with CacheUse(tmp_path, 0) as second:
            second.trim()
            assert left(entries) == set(entries)


def test_a_removal_that_is_interrupted_leaves_no_part_of_an_entry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = add(tmp_path, "indexes/one/file", 10, 3).parent

    def stop(folder: Path) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(shutil, "rmtree", stop)
        with pytest.raises(KeyboardInterrupt):
            list(remove_items(cache_items(tmp_path / "indexes")))
    assert not path.exists()
    (rest,) = cache_items(tmp_path / "indexes")
    assert rest.size == 10
    assert [one.size for one in remove_items([rest])] == [10]
    assert cache_items(tmp_path / "indexes") == []


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no owner ids and modes")
def test_a_folder_that_other_users_can_write_to_is_no_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "own cache"
    home.mkdir()
    home.chmod(0o777)
    with pytest.raises(ExternalError, match=r"own cache: every user can write to the cache folder; run: chmod o-w '") as told:
        CacheHold(home)
    subprocess.run(str(told.value).partition("run: ")[2], shell=True, check=True)
    (home / "stages").mkdir()
    (home / "stages").chmod(0o777)
    with pytest.raises(ExternalError, match=r"stages: every user can write to the cache folder; run: chmod o-w "):
        CacheHold(home)
    (home / "stages").chmod(0o755)
    with CacheHold(home):
        pass
    monkeypatch.setattr(os, "geteuid", lambda: os.stat(home).st_uid + 1)
    monkeypatch.setattr(cache_items_module, "_ROOT", os.stat(home).st_uid + 2)
    with pytest.raises(ExternalError, match="belongs to another user; choose another cache folder"):
        CacheHold(tmp_path / "own cache")


def test_a_cache_that_cannot_be_written_is_used_without_a_lock(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with CacheUse(tmp_path / "file" / "cache", 5) as use:
        assert use.trim() == []
    with CacheUse(None, 5) as use:
        assert use.trim() == []


@pytest.mark.parametrize(
    ("value", "size"),
    [
        ("20GB", 20 * 10**9),
        ("500MB", 500 * 10**6),
        ("1.5TB", 1_500_000_000_000),
        ("3 kB", 3000),
        ("20g", 20 * 10**9),
        ("7B", 7),
        (9, 9),
    ],
)
def test_sizes_are_read(value: object, size: int) -> None:
    assert checked_size("cache_limit", value) == size


@pytest.mark.parametrize("value", ["20", "", "GB", "-1GB", "20GiB", "1e3MB", "٣GB", True, -1, 2.5, None])
def test_other_sizes_are_refused(value: object) -> None:
    with pytest.raises(UsageError, match=r"cache_limit is .*; specify a size such as 20GB"):
        checked_size("cache_limit", value)


HOLDING = """
import sys, time
from pathlib import Path
from rankproof._io.cache_items import CacheHold
{import_line}
kept = {kept}
print("ready", flush=True)
sys.stdin.readline()
"""
USES = {
    "a corpus": (
        "from rankproof._formats.documents import read_corpus_files; from rankproof._io.corpus_store import CorpusStorage",
        "read_corpus_files([sys.argv[2]], CorpusStorage(Path(sys.argv[1]), 10, 0))",
    ),
    "responses": ("from rankproof._llm.cache import ResponseCaches", "ResponseCaches(Path(sys.argv[1]))"),
    "models": (
        "from rankproof.models._download.cached_folder import cached_folder, models_cache_folder",
        "cached_folder(models_cache_folder() / 'one', lambda folder: {})",
    ),
}


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no shared locks")
@pytest.mark.parametrize("use", USES)
def test_the_cache_is_not_cleared_while_another_process_uses(
    use: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    home, documents = tmp_path / "cache", tmp_path / "c.jsonl"
    documents.write_text("".join(f'{{"_id": "d{at}", "text": "text of {at}"}}\n' for at in range(25)))
    os.utime(documents, (1, 1))
    path = add(home, "stages/one", 10, 3)
    monkeypatch.setenv("RANKPROOF_CACHE", str(home))
    import_line, kept = USES[use]
    command = [sys.executable, "-c", HOLDING.format(import_line=import_line, kept=kept), str(home), str(documents)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        assert main(["cache", "clear"]) == 1
        process.communicate("end\n")
    assert "another rankproof uses the cache; wait until it ends" in capsys.readouterr().err
    assert path.exists()
    assert main(["cache", "clear"]) == 0
    assert not path.exists()


def test_the_first_use_of_the_cache_removes_what_killed_processes_left_in_it(tmp_path: Path) -> None:
    places = [tmp_path, tmp_path / "stages", tmp_path / "indexes" / "one", tmp_path / "hits" / "one" / "files"]
    for place in places:
        place.mkdir(parents=True, exist_ok=True)
        (place / temporary_name()).write_text("half")
    (tmp_path / "indexes" / temporary_name()).mkdir()
    with CacheHold(tmp_path):
        left_over = [path for path in tmp_path.rglob("*") if is_temporary(path.name)]
    assert left_over == []


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no shared locks")
def test_a_cache_that_stays_locked_by_another_process_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rankproof._io.cache_items._LOCK_WAIT_SECONDS", 0.1)
    handle = os.open(tmp_path / "lock", os.O_RDWR | os.O_CREAT)
    assert lock_alone(handle)
    with pytest.raises(
        ExternalError, match=r"lock: another process has locked the cache for 0\.1 s; end that process, or choose"
    ):
        CacheHold(tmp_path)
    os.close(handle)
    CacheHold(tmp_path).release()


def test_the_lock_of_the_cache_is_closed_with_its_last_use(tmp_path: Path) -> None:
    first, second = CacheHold(tmp_path), CacheHold(tmp_path)
    handle = os.open(tmp_path / "lock", os.O_RDWR)
    first.release()
    assert lock_alone(handle) is False
    del second
    assert lock_alone(handle)
    os.close(handle)


def test_a_cache_in_use_by_this_run_is_still_trimmed(tmp_path: Path, entries: dict[str, Path]) -> None:
    with CacheHold(tmp_path), CacheUse(tmp_path, 0) as use:
        use.trim()
    assert len(left(entries)) == 5
