"""A Ray cluster of real processes on this machine: a head and further nodes."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from unittest.mock import patch

from support.paths import SOURCE, TESTS
from support.search_servers import free_port

ENVIRONMENT = {
    "GRPC_ENABLE_FORK_SUPPORT": "0",
    "PYTHONPATH": os.pathsep.join([str(SOURCE.parent), str(TESTS)]),
    "RAY_AUTH_MODE": "disabled",
    "RAY_USAGE_STATS_ENABLED": "0",
}
_STORE_BYTES = 80_000_000


class RayCluster:
    """The cluster, and nodes that a test adds to it."""

    def __init__(self, cluster: Any, client_port: int) -> None:
        self._cluster, self._client_port = cluster, client_port

    @property
    def on(self) -> str:
        """The cluster as `--on` takes it, for a process on one of its machines."""
        return f"address={self._cluster.address}"

    @property
    def client(self) -> str:
        """The cluster as `--on` takes it, for a process anywhere."""
        return f"ray://127.0.0.1:{self._client_port}"

    @contextmanager
    def node(self) -> Iterator[Any]:
        """A further node with one CPU."""
        node = self._cluster.add_node(num_cpus=1, object_store_memory=_STORE_BYTES)
        try:
            yield node
        finally:
            self.kill(node)
            self._cluster.wait_for_nodes()

    def kill(self, node: Any) -> None:
        """Kills all processes of a node."""
        if node in self._cluster.list_all_nodes():
            self._cluster.remove_node(node, allow_graceful=False)

    def kill_workers(self) -> int:
        """Kills the processes that run tasks on all nodes; returns how many."""
        raylets = [node.all_processes["raylet"][0].process.pid for node in self._cluster.list_all_nodes()]
        workers = [worker for raylet in raylets for worker in _children(raylet) if b"ray::run" in _command(worker)]
        for worker in workers:
            with suppress(ProcessLookupError):
                os.kill(worker, signal.SIGKILL)
        return len(workers)

    @contextmanager
    def other_node(self, environment: Mapping[str, str], wrapper: Sequence[str] = ()) -> Iterator[None]:
        """A further node, started by the command of Ray with other variables."""
        before = self._count()
        command = [*wrapper, str(Path(sys.executable).with_name("ray")), "start", "--block", "--num-cpus=1"]
        command += [f"--address={self._cluster.address}", f"--object-store-memory={_STORE_BYTES}"]
        process = subprocess.Popen(command, env={**os.environ, **environment}, stdout=subprocess.DEVNULL, start_new_session=True)
        try:
            self._wait_for(before + 1)
            yield
        finally:
            process.terminate()
            with suppress(subprocess.TimeoutExpired):
                process.wait(timeout=10)
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            self._wait_for(before)

    def _count(self) -> int:
        return len(self._cluster.global_state._live_node_ids())

    def _wait_for(self, count: int) -> None:
        end = time.monotonic() + 30
        while self._count() != count:
            assert time.monotonic() < end, f"{self._count()} nodes, not {count}"
            time.sleep(0.1)


def _children(process: int) -> list[int]:
    found = Path(f"/proc/{process}/task").glob("*/children")
    return [int(child) for path in found for child in path.read_text().split()]


def _command(process: int) -> bytes:
    with suppress(OSError):
        return Path(f"/proc/{process}/cmdline").read_bytes()
    return b""


@contextmanager
def ray_cluster() -> Iterator[RayCluster]:
    """A cluster of a head and two nodes, with one CPU each."""
    with _short_folder() as folder, patch.dict(os.environ, {**ENVIRONMENT, "RAY_TMPDIR": folder}):
        from ray.cluster_utils import Cluster

        port = free_port()
        head = {"num_cpus": 1, "object_store_memory": _STORE_BYTES, "include_dashboard": False}
        # A dead node is noticed in two seconds.
        system = {"health_check_initial_delay_ms": 0, "health_check_period_ms": 500, "health_check_failure_threshold": 4}
        cluster = Cluster(True, head_node_args={**head, "ray_client_server_port": port, "_system_config": system})
        try:
            for _ in range(2):
                cluster.add_node(num_cpus=1, object_store_memory=_STORE_BYTES)
            yield RayCluster(cluster, port)
        finally:
            cluster.shutdown()


@contextmanager
def _short_folder() -> Iterator[str]:
    """A folder whose path is short enough for the sockets of Ray."""
    folder = tempfile.mkdtemp(prefix="ray-", dir="/tmp")
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
