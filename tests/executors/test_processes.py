"""The executor that runs tasks in several processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from rankproof._executors.base import Report
from rankproof._executors.processes import ProcessExecutor
from rankproof.errors import ExternalError, InputError
from support import executor_tasks
from support.paths import SOURCE, TESTS


def silent(label: str, done: int, total: int) -> None:
    return None


@pytest.fixture(scope="module")
def executor() -> Iterator[ProcessExecutor]:
    with ProcessExecutor(2) as executor:
        yield executor


def test_results_of_two_processes_come_in_order_with_the_progress_of_both(executor: ProcessExecutor) -> None:
    told: list[tuple[str, int, int]] = []
    items = [0, 1, 2, 3, 4, 5]
    found = list(executor.map(executor_tasks.squared, items, label="squares", total=6, progress=lambda *one: told.append(one)))
    assert [square for square, _ in found] == [0, 1, 4, 9, 16, 25]
    processes = {process for _, process in found}
    assert len(processes) == 2
    assert os.getpid() not in processes
    assert (told[0], told[-1]) == (("squares", 0, 6), ("squares", 6, 6))
    assert [done for _, done, _ in told] == sorted(done for _, done, _ in told)


def test_workers_are_used_again_and_have_one_blas_thread(executor: ProcessExecutor) -> None:
    first = list(executor.map(executor_tasks.squared, [5, 6], label="", total=2, progress=silent))
    threads = list(executor.map(executor_tasks.blas_threads, [0, 1], label="", total=2, progress=silent))
    second = list(executor.map(executor_tasks.squared, [5, 6], label="", total=2, progress=silent))
    assert {process for _, process in first} == {process for _, process in second}
    assert {count for counts in threads for count in counts} == {1}


def test_one_item_and_a_task_that_cannot_be_sent_run_in_this_process(executor: ProcessExecutor) -> None:
    (only,) = executor.map(executor_tasks.squared, [3], label="", total=1, progress=silent)
    assert only == (9, os.getpid())

    def here(item: int, report: Report) -> int:
        return os.getpid()

    assert list(executor.map(here, [1, 2], label="", total=2, progress=silent)) == [os.getpid()] * 2


def test_an_error_of_a_task_is_raised_as_it_was_and_ends_the_other_tasks() -> None:
    with ProcessExecutor(2) as executor:
        start = time.monotonic()
        with pytest.raises(InputError, match="file:7: what; correct it"):
            list(executor.map(executor_tasks.wrong_input, [0, 1], label="", total=2, progress=silent))
        assert time.monotonic() - start < 30
        with pytest.raises(ZeroDivisionError, match="a bug") as caught:
            list(executor.map(executor_tasks.bug, [0, 1], label="", total=2, progress=silent))
        assert "executor_tasks.py" in caught.value.__notes__[0]


def test_a_killed_worker_is_told_with_its_exit_code_and_the_executor_can_be_used_again() -> None:
    with ProcessExecutor(2) as executor:
        with pytest.raises(ExternalError, match="exit code -9; if memory ran out, use fewer workers"):
            list(executor.map(executor_tasks.killed, [0, 1], label="", total=2, progress=silent))
        assert len(list(executor.map(executor_tasks.squared, [0, 1], label="", total=2, progress=silent))) == 2


DRIVER = """
import sys
from pathlib import Path
from rankproof._executors.processes import ProcessExecutor
from support.executor_tasks import WaitForever
with ProcessExecutor(2) as executor:
    list(executor.map(WaitForever(Path(sys.argv[1])), [0, 1], label="", total=2, progress=lambda *one: None))
"""


def started_driver(folder: Path) -> subprocess.Popen[str]:
    """A process, without a guard for its main module, that waits for two workers."""
    script = folder / "driver.py"
    script.write_text(DRIVER)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(SOURCE.parent), str(TESTS)])}
    command = [sys.executable, str(script), str(folder)]
    driver = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True, start_new_session=True)
    wait_until(lambda: len(list(folder.glob("*.started"))) == 2)
    return driver


def wait_until(holds: object, seconds: float = 30) -> None:
    assert callable(holds)
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.02)


def is_running(process: int) -> bool:
    with suppress(OSError):
        return "Z" not in Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    return False


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_an_interrupt_ends_the_workers_without_a_trace_of_theirs(tmp_path: Path) -> None:
    driver = started_driver(tmp_path)
    workers = [int(path.stem) for path in tmp_path.glob("*.started")]
    os.killpg(driver.pid, signal.SIGINT)
    _, text = driver.communicate(timeout=30)
    assert text.count("KeyboardInterrupt") == 1
    assert not any(map(is_running, workers))
    assert {int(path.stem) for path in tmp_path.glob("*.cleaned")} == set(workers)


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_workers_end_with_a_killed_driver(tmp_path: Path) -> None:
    driver = started_driver(tmp_path)
    workers = [int(path.stem) for path in tmp_path.glob("*.started")]
    assert [*map(is_running, workers)] == [True, True]
    driver.kill()
    driver.communicate(timeout=30)
    wait_until(lambda: not any(map(is_running, workers)))
    assert driver.returncode == -signal.SIGKILL
