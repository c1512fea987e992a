"""The executor that runs tasks on a Ray cluster."""

from __future__ import annotations

import contextlib
import pickle
import secrets
import time
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from rankproof._executors.base import ONE_CORE, Executor, Item, Progress, ProgressSum, Report, Resources, Result
from rankproof._executors.processes import sendable
from rankproof._executors.ray_cluster import RETRIES, Guard, Nodes, Outcome, Watch, connect, token_file
from rankproof._io.array_files import JournalInUseError

_POLL_SECONDS = 0.5
_LOST_SECONDS = 120.0


class RayExecutor(Executor):
    """Runs tasks on the nodes of a Ray cluster; a task whose worker or node is lost runs again.

    All nodes need this version of rankproof and see `folder`; both are checked at the start and before every task.
    """

    def __init__(self, on: str, folder: Path) -> None:
        with contextlib.ExitStack() as opened:
            self._ray = ray = opened.enter_context(connect(on))
            self._nodes = Nodes(ray, on)
            self._token = opened.enter_context(token_file(folder))
            self._function = ray.remote(max_retries=RETRIES)(_worker_function())
            self._nodes.check(self._function, self._token)
            self._counter = ray.remote(num_cpus=0, max_restarts=-1)(_counter_class()).remote()
            self._opened = opened.pop_all()

    @property
    def workers(self) -> int:
        """The number of CPUs of the cluster."""
        return max(1, self._nodes.room(ONE_CORE))

    def map(
        self,
        task: Callable[[Item, Report], Result],
        items: Sequence[Item],
        *,
        label: str,
        total: int,
        progress: Progress,
        resources: Resources = ONE_CORE,
    ) -> Iterator[Result]:
        """The results in order; at an error or interrupt the other tasks are cancelled."""
        counts = _Counts(self._ray, self._counter, ProgressSum(label, total, progress))
        waiting: dict[Any, int] = {}
        try:
            yield from self._results(task, items, resources, counts, waiting)
        finally:
            for reference in waiting:
                with contextlib.suppress(Exception):
                    self._ray.cancel(reference, force=True)

    def _results(
        self,
        task: Callable[[Any, Report], Any],
        items: Sequence[Any],
        resources: Resources,
        counts: _Counts,
        waiting: dict[Any, int],
    ) -> Iterator[Any]:
        """Keeps two tasks for each worker at Ray, and gives the results in order."""
        self._token.renew()
        watch = Watch(self._nodes, resources)
        function = self._function.options(num_cpus=resources.cpus, num_gpus=resources.gpus)
        guard = self._token.guard(resources)
        content = self._ray.put(self._pickled(task))
        done: dict[int, Any] = {}
        started = next_one = 0
        while next_one < len(items):
            # Two for each worker, so that none waits for its next task.
            while started < len(items) and started - next_one < 2 * watch.room:
                arguments = content, self._pickled(items[started]), (counts.number, started), self._counter
                waiting[function.remote(guard, *arguments)] = started
                started += 1
            with self._nodes.as_external_errors():
                ready, _ = self._ray.wait(list(waiting), num_returns=1, timeout=_POLL_SECONDS)
            for reference in ready:
                number = waiting.pop(reference)
                done[number], count = self._result(reference)
                counts.finish(number, count)
            counts.update()
            if watch.look():
                self._token.renew()
            while next_one in done:
                yield done.pop(next_one)
                next_one += 1

    def _pickled(self, value: object) -> bytes:
        """The value as bytes: a node without rankproof can receive them and say so."""
        content: bytes = self._ray.cloudpickle.dumps(value)
        return content

    def _result(self, reference: Any) -> tuple[Any, int]:
        """The result of a task and its number of items; an error of the task is raised as it was."""
        with self._nodes.as_external_errors():
            outcome: Outcome = self._ray.get(reference)
        if outcome[0] == "error":
            raise outcome[1]
        if outcome[0] != "result":
            raise self._nodes.fault_error([outcome], self._token.folder)
        return outcome[1], outcome[2]

    def close(self) -> None:
        """Leaves the cluster; one that was started for this executor is ended."""
        self._opened.close()


class _Counts:
    """The items that the tasks of one call of `map` have done, as far as known, and shown."""

    def __init__(self, ray: Any, counter: Any, shown: ProgressSum) -> None:
        self.number = secrets.token_hex(8)
        self._ray, self._counter, self._shown, self._sum = ray, counter, shown, 0
        self._done: dict[int, int] = {}
        self._finished: set[int] = set()
        self._reply: Any = None

    def finish(self, number: int, count: int) -> None:
        """Counts a finished task."""
        self._finished.add(number)
        self._done[number] = count

    def update(self) -> None:
        """Shows the sum; a task that runs again never lowers it. The counter may be lost for a while: nothing waits for it."""
        if self._reply is not None and self._ray.wait([self._reply], timeout=0)[0]:
            with contextlib.suppress(self._ray.exceptions.RayError):
                known = self._ray.get(self._reply)
                self._done.update({number: count for number, count in known.items() if number not in self._finished})
            self._reply = None
        if self._reply is None:
            self._reply = self._counter.read.remote(self.number)
        more = sum(self._done.values()) - self._sum
        if more > 0:
            self._sum += more
            self._shown.add(more)


def _counter_class() -> type:
    """The class of the actor to which workers report; pickled by value, so that its node needs no rankproof."""

    class Counter:
        def __init__(self) -> None:
            self.done: dict[str, dict[int, int]] = {}

        def write(self, call: str, number: int, done: int) -> None:
            self.done.setdefault(call, {})[number] = done

        def read(self, call: str) -> dict[int, int]:
            self.done = {call: self.done.get(call, {})}
            return self.done[call]

    return Counter


def _worker_function() -> Callable[..., Outcome]:
    """The function that Ray runs; pickled by value, so that a node without rankproof can say so."""

    def run(guard: Guard, *task: Any) -> Outcome:
        import os
        import socket
        from pathlib import Path

        version, environment, path, number = guard
        os.environ.update(environment)
        host = socket.gethostname()
        try:
            from rankproof._version import __version__ as installed
        except ImportError:
            installed = ""
        if installed != version:
            return "version", installed, host
        try:
            seen = Path(path).read_text() == number
        except OSError:
            seen = False
        if not seen:
            return "unseen", installed, host
        from rankproof._executors.ray import run_task

        return run_task(*task) if task else ("fine", installed, host)

    return run


def run_task(task: bytes, item: bytes, place: tuple[str, int], counter: Any) -> Outcome:
    """Runs one task in a worker; it waits for files that a lost worker may hold for a while."""
    end = time.monotonic() + _LOST_SECONDS
    while True:
        reports = _TaskReports(place, counter)
        try:
            return "result", _unpickled(task)(pickle.loads(item), reports.add), reports.done
        except JournalInUseError as error:
            if time.monotonic() > end:
                return "error", error
            time.sleep(_POLL_SECONDS)
        except Exception as error:
            return "error", sendable(error)


@lru_cache(maxsize=1)
def _unpickled(task: bytes) -> Callable[[Any, Report], Any]:
    """The task; one after the other in a worker are the same value, so that a model is loaded once."""
    function: Callable[[Any, Report], Any] = pickle.loads(task)
    return function


class _TaskReports:
    """Sends the number of items done by a task to the counter, at most twice a second."""

    def __init__(self, place: tuple[str, int], counter: Any) -> None:
        self.done = 0
        self._place, self._counter, self._due = place, counter, 0.0

    def add(self, more: int) -> None:
        self.done += more
        if time.monotonic() >= self._due:
            self._due = time.monotonic() + _POLL_SECONDS
            self._counter.write.remote(*self._place, self.done)
