"""Connections to a Ray cluster, and the checks of its nodes."""

from __future__ import annotations

import contextlib
import logging
import os
import secrets
import signal
import socket
import threading
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from rankproof._executors.base import ONE_CORE, Resources
from rankproof._extras import extra
from rankproof._io.array_files import cache_io_error
from rankproof._io.paths import CACHE_VARIABLE, TemporaryPath, cache_home, temporary_file, working_folder
from rankproof._version import __version__
from rankproof.errors import ExternalError, RankproofError, UsageError, escape_invisible, for_message, type_phrase

RETRIES = 3
"""How often a task runs again after its worker or node was lost."""
_SETTINGS = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_task_oom_retries": str(RETRIES)}
"""Without the second, Ray repeats a task that needs too much memory for ever."""
_LOCAL, _AUTO, _CLIENT, _ADDRESS = "local", "auto", "ray://", "address="
_FORMS = "ray, ray://HOST:10001 or address=auto"
_CONNECT_ATTEMPTS, _CONNECT_SECONDS = 3, 10.0
_NODE_SECONDS, _CHECK_SECONDS = 60.0, 10.0
_MAX_NODES_SHOWN = 3

Guard = tuple[str, dict[str, str], str, str]
"""The version of rankproof, environment variables, the path of a file and what it holds."""
Outcome = tuple[Any, ...]
"""What a worker returns: `result`, the result and its number of items; `error` and the error; or a fault of its node."""


def ray_address(on: str) -> str:
    """The address as Ray takes it: `local` for `ray`, a new cluster on this machine; ray://HOST:PORT; that of address=…"""
    if not isinstance(on, str):
        raise UsageError(f"on is {type_phrase(on)}", fix=f"give text: {_FORMS}")
    if on == "ray":
        return _LOCAL
    if on.startswith(_CLIENT) and _has_host_and_port(on):
        return on
    if on.startswith(_ADDRESS) and on != _ADDRESS and "/" not in on:
        return on.removeprefix(_ADDRESS)
    raise UsageError(f"{for_message(repr(on))} is not the address of a Ray cluster", fix=f"use {_FORMS}")


def _has_host_and_port(url: str) -> bool:
    with contextlib.suppress(ValueError):
        parts = urlsplit(url)
        return bool(parts.hostname and parts.port) and not (parts.path or parts.query or parts.fragment)
    return False


@contextlib.contextmanager
def connect(on: str) -> Iterator[Any]:
    """The module of Ray, connected: to the cluster of the address, or to a new one on this machine that ends with the block."""
    address = ray_address(on)
    os.environ.update(_SETTINGS)
    with extra("ray"):
        import ray

    if ray.is_initialized():
        yield ray
        return
    _check_reachable(on, _cluster_address(ray, on) if address == _AUTO else address)
    # Ray's sockets need a short path.
    folder = working_folder("/tmp" if os.path.isdir("/tmp") else None) if address == _LOCAL else None
    with _without_messages(ray), _on_loopback(ray) if address == _LOCAL else contextlib.nullcontext():
        try:
            _init(ray, on, address, {} if folder is None else {"include_dashboard": False, "_temp_dir": folder.path})
            yield ray
        finally:
            ray.shutdown()
            if folder is not None:
                folder.remove()


_CLUSTERS_VARIABLE = "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"
"""Without clusters of several machines, as by default on macOS and Windows, Ray listens on the loopback address alone."""


@contextlib.contextmanager
def _on_loopback(ray: Any) -> Iterator[None]:
    """Lets the processes of a new cluster listen on the loopback address, instead of on all."""
    constants = ray._private.ray_constants
    before, variable = constants.ENABLE_RAY_CLUSTER, os.environ.get(_CLUSTERS_VARIABLE)
    constants.ENABLE_RAY_CLUSTER, os.environ[_CLUSTERS_VARIABLE] = False, "0"
    try:
        yield
    finally:
        constants.ENABLE_RAY_CLUSTER = before
        if variable is None:
            del os.environ[_CLUSTERS_VARIABLE]
        else:
            os.environ[_CLUSTERS_VARIABLE] = variable


def _cluster_address(ray: Any, on: str) -> str:
    """The address of the cluster that this machine belongs to."""
    try:
        address = os.environ.get("RAY_ADDRESS") or ray._private.services.canonicalize_bootstrap_address_or_die(_AUTO)
    except ConnectionError as error:
        fix = "start one with ray start --head, or give its address: address=HOST:6379"
        raise ExternalError(f"{on}: {_first_line(error).partition('. ')[0]}; {fix}") from None
    return str(address)


def _check_reachable(on: str, address: str) -> None:
    """Raises an error at once if nothing listens at the address; Ray itself waits long."""
    parts = urlsplit(address if address.startswith(_CLIENT) else f"//{address}")
    if not parts.port:
        return
    try:
        socket.create_connection((parts.hostname or "", parts.port), timeout=_CONNECT_SECONDS).close()
    except OSError as error:
        fix = "check the address, and start the cluster with: ray start --head"
        raise ExternalError(f"{on}: no connection ({error.strerror or error}); {fix}") from None


def _init(ray: Any, on: str, address: str, options: Mapping[str, Any]) -> None:
    attempt = 0
    while True:
        attempt += 1
        try:
            with extra("ray"), _own_sigterm(), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR, **options)
            return
        except ConnectionAbortedError as error:
            # Ray's proxy sometimes fails to fork the server of a new client.
            if attempt == _CONNECT_ATTEMPTS:
                fix = "start the head with GRPC_ENABLE_FORK_SUPPORT=0, or run on a node with --on address=auto"
                raise ExternalError(f"{on}: no connection ({_first_line(error)}); {fix}") from None
        except (ray.exceptions.RayError, RuntimeError, ValueError, OSError) as error:
            fix = "check the address; for a cluster that requires a token, set RAY_AUTH_MODE=token"
            raise ExternalError(f"{on}: no connection ({_first_line(error)}); {fix}") from None


@contextlib.contextmanager
def _own_sigterm() -> Iterator[None]:
    """Keeps the handler of SIGTERM, which Ray replaces."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    handler = signal.getsignal(signal.SIGTERM)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, handler)


@contextlib.contextmanager
def _without_messages(ray: Any) -> Iterator[None]:
    """Keeps Ray from printing what happens on the nodes; log_to_driver leaves out only the output of tasks."""
    ray._private.worker._worker_logs_enabled = False
    try:
        yield
    finally:
        ray._private.worker._worker_logs_enabled = True


class Token:
    """A file with a random number: a node that reads this number sees the same folder."""

    def __init__(self, folder: Path) -> None:
        self.folder, self._number = folder, secrets.token_hex(16)
        self._file = self._created()

    def _created(self) -> TemporaryPath:
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            file = temporary_file(os.fspath(self.folder))
            if hasattr(os, "fchmod"):
                # The workers are processes of the same user.
                os.fchmod(file.handle, 0o600)
            os.write(file.handle, self._number.encode())
        except OSError as error:
            raise cache_io_error(self.folder, error) from None
        return file

    def guard(self, resources: Resources = ONE_CORE) -> Guard:
        """What a worker checks before its task; a task without a GPU sees none, so that it chooses the device of this process."""
        environment = {CACHE_VARIABLE: str(cache_home())}
        if not resources.gpus:
            environment["CUDA_VISIBLE_DEVICES"] = ""
        return __version__, environment, self._file.path, self._number

    def renew(self) -> None:
        """Makes the file new, since other machines remove one that is older than a day; one that is gone is replaced."""
        try:
            os.utime(self._file.path)
        except OSError:
            self._file.close()
            self._file = self._created()

    def remove(self) -> None:
        """Removes the file."""
        self._file.remove()


@contextlib.contextmanager
def token_file(folder: Path) -> Iterator[Token]:
    """A new token in the folder, removed at the end of the block."""
    token = Token(folder)
    try:
        yield token
    finally:
        token.remove()


class Nodes:
    """The nodes of a cluster that can run tasks."""

    def __init__(self, ray: Any, on: str) -> None:
        self._ray, self._on = ray, on

    def room(self, resources: Resources) -> int:
        """How many tasks with these resources can run at once."""
        return sum(_room(node["Resources"], resources) for node in self._alive())

    def _alive(self) -> list[Mapping[str, Any]]:
        """The head of a cluster is often without CPUs for tasks: it needs neither rankproof nor the folder."""
        with self.as_external_errors():
            return [node for node in self._ray.nodes() if node["Alive"] and node["Resources"].get("CPU")]

    def check(self, function: Any, token: Token) -> None:
        """Raises an error unless all nodes have this version of rankproof and see the folder of the token."""
        nodes = {}
        for node in self._alive():
            there = self._ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy(node["NodeID"], soft=False)
            options = {"num_cpus": 0, "max_retries": 0, "scheduling_strategy": there}
            nodes[function.options(**options).remote(token.guard())] = node["NodeManagerHostname"]
        if not nodes:
            raise self.room_error(ONE_CORE)
        with self.as_external_errors():
            ready, silent = self._ray.wait(list(nodes), num_returns=len(nodes), timeout=_NODE_SECONDS)
            if silent:
                which = _listed([nodes[reference] for reference in silent])
                raise ExternalError(f"{self._on}: no reply from {which} in {_NODE_SECONDS:.0f} s; look at: ray status")
            faults = [outcome for outcome in self._ray.get(ready) if outcome[0] != "fine"]
        if faults:
            raise self.fault_error(faults, token.folder)

    def fault_error(self, faults: Sequence[Outcome], folder: Path) -> RankproofError:
        """The error for nodes without this version of rankproof, or for nodes that cannot see the folder."""
        kind, installed, _ = faults[0]
        which = _listed([host for other, _, host in faults if other == kind])
        if kind == "unseen":
            fix = "specify a folder that all nodes see with --cache"
            return UsageError(f"{self._on}: {which} cannot see {folder}", fix=fix)
        has = f"has rankproof {installed}, this process {__version__}" if installed else "has no rankproof"
        return ExternalError(f"{self._on}: {which} {has}; run there: pip install 'rankproof[ray]=={__version__}'")

    def room_error(self, resources: Resources) -> ExternalError:
        """The error for a cluster without a node for such tasks."""
        gpus = f" and {resources.gpus:g} GPU" if resources.gpus else ""
        fix = 'start a node that has them, or use device = "cpu"' if gpus else "start a node with: ray start --address=HEAD:6379"
        return ExternalError(f"{self._on}: no node has {resources.cpus} CPU{gpus} for a task; {fix}")

    @contextlib.contextmanager
    def as_external_errors(self) -> Iterator[None]:
        """Raises errors of Ray as an ExternalError."""
        errors = self._ray.exceptions
        again = "run again to continue: finished partitions are cached"
        try:
            yield
        except errors.OutOfMemoryError:
            fix = f"use a smaller --partition-size, or start the nodes with fewer CPUs; {again}"
            raise ExternalError(f"{self._on}: memory ran out on a node; {fix}") from None
        except (errors.WorkerCrashedError, errors.NodeDiedError, errors.ObjectLostError):
            what = f"the worker of a task died {RETRIES + 1} times"
            raise ExternalError(f"{self._on}: {what}; look at the memory and the logs of the nodes; {again}") from None
        except (errors.RayError, ConnectionError) as error:
            raise ExternalError(f"{self._on}: Ray failed ({_first_line(error)}); {again}") from None


def _room(has: Mapping[str, float], needs: Resources) -> int:
    by_cpus = int(has["CPU"] // needs.cpus)
    return min(by_cpus, int(has.get("GPU", 0) // needs.gpus)) if needs.gpus else by_cpus


def _listed(hosts: Sequence[str]) -> str:
    more = f" and {len(hosts) - _MAX_NODES_SHOWN} more" if len(hosts) > _MAX_NODES_SHOWN else ""
    return f"{'nodes' if len(hosts) > 1 else 'node'} {', '.join(hosts[:_MAX_NODES_SHOWN])}{more}"


def _first_line(error: BaseException) -> str:
    return escape_invisible((str(error).strip() or type(error).__name__).splitlines()[0])


class Watch:
    """Looks every ten seconds how many tasks the nodes can run."""

    def __init__(self, nodes: Nodes, resources: Resources) -> None:
        self._nodes, self._resources = nodes, resources
        self._looked = self._seen = time.monotonic()
        self.room = nodes.room(resources)
        if not self.room:
            raise nodes.room_error(resources)

    def look(self) -> bool:
        """Whether it looked again; raises an error if there has been no node for a minute."""
        now = time.monotonic()
        if now < self._looked + _CHECK_SECONDS:
            return False
        self._looked, room = now, self._nodes.room(self._resources)
        if room:
            self.room, self._seen = room, now
        elif now > self._seen + _NODE_SECONDS:
            raise self._nodes.room_error(self._resources)
        return True
