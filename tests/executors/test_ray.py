"""The executor that runs tasks on a Ray cluster of a head and two nodes."""

from __future__ import annotations

import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from rankproof._executors.base import Resources
from rankproof._executors.ray import RayExecutor
from rankproof._executors.ray_cluster import ray_address
from rankproof._version import __version__
from rankproof.errors import ExternalError, InputError, UsageError
from support import executor_tasks
from support.ray_cluster import RayCluster, ray_cluster
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
    assert any(done % 2 for _, done, _ in told), "no progress from inside a task"


@slow
def test_an_error_of_a_task_is_raised_as_it_was_and_ends_the_other_tasks(executor: RayExecutor) -> None:
    start = time.monotonic()
    with pytest.raises(InputError, match="file:7: what; correct it"):
        list(executor.map(executor_tasks.wrong_input, [0, 1, 2], label="", total=3, progress=silent))
    with pytest.raises(ZeroDivisionError, match="a bug") as caught:
        list(executor.map(executor_tasks.bug, [0, 1], label="", total=2, progress=silent))
    assert "executor_tasks.py" in caught.value.__notes__[0]
    # Three tasks of a minute would hold all CPUs.
    assert len(list(executor.map(executor_tasks.squared, [0, 1, 2], label="", total=3, progress=silent))) == 3
    assert time.monotonic() - start < 30


@slow
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


@slow
def test_the_tasks_of_a_killed_node_run_on_other_nodes(cluster: RayCluster, tmp_path: Path) -> None:
    with cluster.node() as node, RayExecutor(cluster.on, tmp_path) as executor:
        found = executor.map(executor_tasks.slow_square, range(12), label="", total=24, progress=silent)
        results = [next(found)]
        cluster.kill(node)
        results.extend(found)
    assert [square for square, _ in results] == [item * item for item in range(12)]


@slow
def test_a_node_that_cannot_see_the_folder_is_told_at_once(cluster: RayCluster, tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    hidden = ["unshare", "--mount", "--map-root-user", "sh", "-c", f'mount -t tmpfs none {shared} && exec "$@"', "sh"]
    if subprocess.run([*hidden, "true"], check=False).returncode:
        skip_or_fail("this system does not let a process have mounts of its own")
    with cluster.other_node({}, hidden), pytest.raises(UsageError) as caught:
        RayExecutor(cluster.on, shared)
    what = f"{cluster.on}: node {socket.gethostname()} cannot see {shared}"
    assert caught.value.command_line_text == f"{what}; specify a folder that all nodes see with --cache"
    assert list(shared.iterdir()) == []


@slow
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
