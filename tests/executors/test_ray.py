"""The executor that runs tasks on a Ray cluster of a head and two nodes."""

from __future__ import annotations

import json
import os
import shlex
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

from rankproof._executors.base import Resources
from rankproof._executors.ray import RayExecutor
from rankproof._executors.ray_cluster import _on_loopback, ray_address
from rankproof._version import __version__
from rankproof.errors import ExternalError, InputError, UsageError
from support import executor_tasks
from support.ray_cluster import ENVIRONMENT, RayCluster, ray_cluster
from support.search_servers import free_port, skip_or_fail

pytest.importorskip("ray", reason="needs the extra ray")
slow = pytest.mark.slow
# Ray leaves the log files of its processes open.
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")


def silent(label: str, done: int, total: int) -> None:
    return None


@pytest.fixture(scope="module")
def cluster() -> Iterator[RayCluster]:
    with ray_cluster() as cluster:
        yield cluster


@pytest.fixture
def executor(cluster: RayCluster, tmp_path: Path) -> Iterator[RayExecutor]:
    with RayExecutor(cluster.on, tmp_path) as executor:
        yield executor


@slow
def test_results_of_three_nodes_come_in_order_with_the_progress_of_all(executor: RayExecutor) -> None:
    told: list[tuple[str, int, int]] = []
    items = list(range(12))
    found = list(
        executor.map(executor_tasks.slow_square, items, label="squares", total=24, progress=lambda *one: told.append(one))
    )
    assert [square for square, _ in found] == [item * item for item in items]
    assert len({process for _, process in found}) >= 3
    assert executor.workers == 3
    assert (told[0], told[-1]) == (("squares", 0, 24), ("squares", 24, 24))
    assert [done for _, done, _ in told] == sorted(done for _, done, _ in told)


@slow
def test_the_progress_of_a_task_is_told_while_it_runs(executor: RayExecutor, tmp_path: Path) -> None:
    seen = tmp_path / "seen"

    def told(label: str, done: int, total: int) -> None:
        if done == 1:
            seen.touch()

    assert list(executor.map(executor_tasks.report_and_wait, [str(seen)], label="one", total=2, progress=told)) == [True]


@slow
def test_an_error_of_a_task_is_raised_as_it_was_and_ends_the_other_tasks(executor: RayExecutor) -> None:
    start = time.monotonic()
    with pytest.raises(InputError, match="file:7: what; correct it"):
        list(executor.map(executor_tasks.wrong_input, [0, 1, 2], label="", total=3, progress=silent))
    with pytest.raises(ZeroDivisionError, match="a bug") as caught:
        list(executor.map(executor_tasks.bug, [0, 1], label="", total=2, progress=silent))
    assert "executor_tasks.py" in caught.value.__notes__[0]
    # Three tasks of ten minutes would hold all CPUs.
    assert len(list(executor.map(executor_tasks.squared, [0, 1, 2], label="", total=3, progress=silent))) == 3
    assert time.monotonic() - start < 500


@pytest.mark.release
def test_a_task_whose_worker_is_killed_runs_again_and_at_last_the_user_is_told(executor: RayExecutor, tmp_path: Path) -> None:
    told: list[int] = []
    for times in (1, 9):
        (tmp_path / str(times)).mkdir()
    task = executor_tasks.KilledAtFirst(tmp_path / "1", 1)
    assert list(executor.map(task, [0, 1, 2], label="", total=3, progress=lambda *one: told.append(one[1]))) == [0, 2, 4]
    assert told[-1] == 3
    always = executor_tasks.KilledAtFirst(tmp_path / "9", 9)
    with pytest.raises(ExternalError, match="the worker of a task died 4 times; look at the memory and the logs of the nodes"):
        list(executor.map(always, [0, 1, 2], label="", total=3, progress=silent))
    assert len(list((tmp_path / "9").iterdir())) == 4


@pytest.mark.release
def test_the_tasks_of_a_killed_node_run_on_other_nodes(cluster: RayCluster, tmp_path: Path) -> None:
    with cluster.node() as node, RayExecutor(cluster.on, tmp_path) as executor:
        found = executor.map(executor_tasks.slow_square, range(12), label="", total=24, progress=silent)
        results = [next(found)]
        cluster.kill(node)
        results.extend(found)
    assert [square for square, _ in results] == [item * item for item in range(12)]


@pytest.mark.release
def test_a_node_that_cannot_see_the_folder_is_told_at_once(cluster: RayCluster, tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    script = f'mount -t tmpfs none {shlex.quote(str(shared))} && exec "$@"'
    hidden = ["unshare", "--mount", "--map-root-user", "sh", "-c", script, "sh"]
    if subprocess.run([*hidden, "true"], check=False).returncode:
        skip_or_fail("this system does not let a process have mounts of its own")
    with cluster.other_node({}, hidden), pytest.raises(UsageError) as caught:
        RayExecutor(cluster.on, shared)
    what = f"{cluster.on}: node {socket.gethostname()} cannot see {shared}"
    assert caught.value.command_line_text == f"{what}; specify a folder that all nodes see with --cache"
    assert list(shared.iterdir()) == []


@pytest.mark.release
@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("__version__ = '0.0.1'", f"has rankproof 0.0.1, this process {__version__}"),
        ("raise ImportError", "has no rankproof"),
    ],
)
def test_a_node_with_another_version_of_rankproof_is_told(cluster: RayCluster, tmp_path: Path, content: str, told: str) -> None:
    package = tmp_path / "other" / "rankproof"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "_version.py").write_text(content)
    with cluster.other_node({"PYTHONPATH": str(package.parent)}), pytest.raises(ExternalError) as caught:
        RayExecutor(cluster.on, tmp_path)
    assert f"{told}; run there: pip install 'rankproof[ray]=={__version__}'" in str(caught.value)


@slow
def test_a_cluster_without_gpus_is_told_before_a_task_waits_for_one(executor: RayExecutor) -> None:
    with pytest.raises(ExternalError, match=r'no node has 1 CPU and 1 GPU for a task; .* device = "cpu"'):
        list(executor.map(executor_tasks.squared, [0], label="", total=1, progress=silent, resources=Resources(1, 1.0)))


@slow
def test_the_signal_handler_of_the_caller_is_kept_and_no_token_is_left(cluster: RayCluster, tmp_path: Path) -> None:
    before = signal.getsignal(signal.SIGTERM)
    with RayExecutor(cluster.on, tmp_path):
        assert signal.getsignal(signal.SIGTERM) is before
        assert len(list(tmp_path.iterdir())) == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("on", ["", "spark", "ray://", "ray://host", "ray://host:x", "ray://host:1/path", "address=", "RAY"])
def test_what_is_no_address_of_a_cluster_is_refused(on: str) -> None:
    with pytest.raises(UsageError, match="is not the address of a Ray cluster; use ray, ray://HOST:10001 or address=auto"):
        ray_address(on)


@pytest.mark.parametrize("on", ["ray://127.0.0.1:{port}", "address=127.0.0.1:{port}"])
def test_an_address_at_which_nothing_listens_is_told_at_once(on: str, tmp_path: Path) -> None:
    start = time.monotonic()
    with pytest.raises(ExternalError, match=r"no connection .*; check the address, and start the cluster with: ray start --head"):
        RayExecutor(on.format(port=free_port()), tmp_path)
    assert time.monotonic() - start < 10


def test_a_cluster_that_has_ended_is_told_at_once(tmp_path: Path) -> None:
    gone = f"127.0.0.1:{free_port()}"
    start = time.monotonic()
    with patch.dict(os.environ, {"RAY_ADDRESS": gone}), pytest.raises(ExternalError, match="address=auto: no connection"):
        RayExecutor("address=auto", tmp_path)
    assert time.monotonic() - start < 10


DRIVER = """
import json, sys
import rankproof as rp
from support.small_models import HashedWords

on, folder = sys.argv[1:]
systems = {"bm25": rp.stages.BM25(), "dense": rp.stages.Dense(HashedWords())}
options = rp.types.RunOptions(cache=f"{folder}/cache", on=on or None, partition_size=15)
found = rp.run(rp.Experiment(systems, dataset=f"{folder}/words"), options)
rankings = {one.name: [(row.query, row.doc, row.score.hex()) for row in one.run.rows()] for one in found.system_runs}
with open(f"{folder}/rankings.json", "w") as file:
    json.dump(rankings, file)
"""


def write_words(folder: Path) -> None:
    """A dataset of 600 documents and 20 queries of random words."""
    draw = np.random.default_rng(7)
    texts = [" ".join(f"w{word}" for word in draw.integers(0, 500, 30)) for _ in range(600)]
    (folder / "qrels").mkdir(parents=True)
    for name, found in {"corpus": texts, "queries": [text[:40] for text in texts[:20]]}.items():
        lines = (json.dumps({"_id": f"{name[0]}{at}", "text": text}) for at, text in enumerate(found))
        (folder / f"{name}.jsonl").write_text("\n".join(lines))
    judged = "".join(f"q{at}\tc{at}\t1\n" for at in range(20))
    (folder / "qrels" / "test.tsv").write_text(f"query-id\tcorpus-id\tscore\n{judged}")


class Driver:
    """A process that runs BM25 and dense search on forty partitions of 15 documents."""

    def __init__(self, on: str, folder: Path) -> None:
        self._folder = folder
        if not (folder / "words").exists():
            write_words(folder / "words")
        script = folder / "driver.py"
        script.write_text(DRIVER)
        command = [sys.executable, str(script), on, str(folder)]
        self.process = subprocess.Popen(command, env={**os.environ, **ENVIRONMENT}, stderr=subprocess.PIPE, text=True)

    def prepared(self) -> dict[Path, int]:
        """The partitions that are indexed or encoded, and when."""
        return {path: path.stat().st_mtime_ns for path in self._folder.glob("cache/*/*/prepared.arrays")}

    def wait_for(self, count: int) -> None:
        """Waits until so many partitions are prepared."""
        end = time.monotonic() + 50
        while len(self.prepared()) < count:
            assert time.monotonic() < end, "waited too long"
            assert self.process.poll() is None, self.process.communicate()[1]
            time.sleep(0.01)

    def kill(self) -> None:
        """Kills the process."""
        self.process.kill()
        self.process.wait()
        assert self.process.stderr is not None
        self.process.stderr.close()

    def rankings(self) -> dict[str, list[list[str]]]:
        """All rankings with the bits of their scores, after the process has ended."""
        _, errors = self.process.communicate(timeout=50)
        assert self.process.returncode == 0, errors
        assert "ray" not in errors.lower(), errors
        found: dict[str, list[list[str]]] = json.loads((self._folder / "rankings.json").read_text())
        return found


@pytest.fixture
def started(tmp_path: Path) -> Iterator[Callable[[str], Driver]]:
    """Starts drivers with one cache; those that still run at the end are killed."""
    drivers: list[Driver] = []

    def start(on: str) -> Driver:
        drivers.append(Driver(on, tmp_path))
        return drivers[-1]

    yield start
    for driver in drivers:
        driver.kill()


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[list[str]]]:
    """The rankings of one process."""
    return Driver("", tmp_path_factory.mktemp("serial")).rankings()


@pytest.mark.release
def test_a_run_continues_with_the_partition_in_hand_after_its_driver_was_killed(
    cluster: RayCluster, started: Callable[[str], Driver], expected: dict[str, list[list[str]]]
) -> None:
    first = started(cluster.on)
    first.wait_for(5)
    first.kill()
    before = first.prepared()
    second = started(cluster.on)
    assert second.rankings() == expected
    after = second.prepared()
    assert {path: after[path] for path in before} == before
    assert len(after) > len(before)


@pytest.mark.release
def test_a_run_whose_workers_are_killed_has_the_same_rankings(
    cluster: RayCluster, started: Callable[[str], Driver], expected: dict[str, list[list[str]]]
) -> None:
    driver = started(cluster.on)
    driver.wait_for(5)
    before = driver.prepared()
    assert cluster.kill_workers() > 0
    assert driver.rankings() == expected
    assert len(driver.prepared()) > len(before)


@pytest.mark.release
@pytest.mark.skipif(" " in sys.executable, reason="Ray starts the server of its client by an unquoted path: no spaces in it")
def test_a_run_through_the_client_of_ray_has_the_same_rankings(
    cluster: RayCluster, started: Callable[[str], Driver], expected: dict[str, list[list[str]]]
) -> None:
    assert started(cluster.client).rankings() == expected


@pytest.mark.release
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_an_interrupt_ends_a_run_and_the_cluster_that_it_started(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "rankproof", "run", "--systems", "bm25", "--on", "ray", "--cache", str(tmp_path / "cache")]
    settings: dict[str, Any] = {"cwd": tmp_path, "env": {**os.environ, **ENVIRONMENT}, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, start_new_session=True, **settings) as driver:
        assert driver.stderr is not None
        try:
            next(line for line in driver.stderr if "building" in line)
            assert len(processes_of_session(driver.pid)) > 3
        finally:
            os.killpg(driver.pid, signal.SIGINT)
        _, text = driver.communicate(timeout=50)
    assert (driver.returncode, text.splitlines()[-1]) == (130, "stopped; run the same command again to continue")
    assert processes_of_session(driver.pid) == []
    assert [path.name for path in tmp_path.glob("cache/.*")] == []


def processes_of_session(session: int) -> list[int]:
    """The processes that the process with this number started, and it."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            state, _, _, one = (path / "stat").read_text().rpartition(")")[2].split()[:4]
            found += [int(path.name)] if int(one) == session and state != "Z" else []
    return found


LISTENERS = """
import os, sys
from pathlib import Path
from rankproof._executors.ray_cluster import connect, token_file

def sockets_of(process):
    for link in (process / "fd").iterdir():
        try:
            name = os.readlink(link)
        except OSError:
            continue
        if name.startswith("socket:["):
            yield name[8:-1]

with connect("ray") as ray, token_file(Path(sys.argv[1])) as token:
    assert ray.get(ray.remote(lambda: 1).remote()) == 1
    session, own = os.getsid(0), set()
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if int((process / "stat").read_text().rpartition(")")[2].split()[3]) == session:
                own |= set(sockets_of(process))
        except OSError:
            continue
    rows = [line.split() for name in ("tcp", "tcp6") for line in open(f"/proc/net/{name}").readlines()[1:]]
    print(*{row[1].partition(":")[0] for row in rows if row[3] == "0A" and row[9] in own})
    print(oct(os.stat(token.guard()[2]).st_mode & 0o777))
"""
LOOPBACK = {"0100007F", "0000000000000000FFFF00000100007F", "00000000000000000000000001000000"}


@pytest.mark.release
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_new_cluster_listens_on_loopback_alone_and_its_token_is_for_this_user(tmp_path: Path) -> None:
    command = [sys.executable, "-c", LISTENERS, str(tmp_path)]
    ran = subprocess.run(
        command,
        env={**os.environ, **ENVIRONMENT},
        start_new_session=True,
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    listeners, mode = ran.stdout.splitlines()[-2:]
    assert listeners
    assert set(listeners.split()) <= LOOPBACK
    assert mode == "0o600"


def test_the_switch_to_loopback_ends_with_the_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    import ray

    monkeypatch.delenv("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", raising=False)
    before = ray._private.ray_constants.ENABLE_RAY_CLUSTER
    with _on_loopback(ray):
        assert not ray._private.ray_constants.ENABLE_RAY_CLUSTER
        assert os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] == "0"
    assert before == ray._private.ray_constants.ENABLE_RAY_CLUSTER
    assert "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER" not in os.environ
