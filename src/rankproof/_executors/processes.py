"""The executor that runs tasks in several processes of this machine."""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from multiprocessing import connection, get_context, parent_process
from typing import TYPE_CHECKING, Any

from rankproof._executors.base import ONE_CORE, Executor, Item, Progress, ProgressSum, Report, Resources, Result, SerialExecutor
from rankproof.errors import ExternalError, RankproofError

if TYPE_CHECKING:
    from multiprocessing.connection import Connection
    from multiprocessing.context import SpawnProcess

_REPORT_SECONDS = 0.1
_END_SECONDS = 2.0
_ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS", "NUMBA_NUM_THREADS"), "1"
)


class ProcessExecutor(Executor):
    """Runs tasks in worker processes with one BLAS thread each, which start at the first call with several items.

    A task that cannot be sent to another process, such as one with a class of a script or notebook, runs in this process.
    """

    def __init__(self, workers: int) -> None:
        self._count = workers
        self._workers: list[_Worker] = []

    @property
    def workers(self) -> int:
        """The number of processes."""
        return self._count

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
        """The results in order; at an error or interrupt the workers are ended."""
        content = _pickled(task)
        if content is None or min(self._count, len(items)) < 2:
            yield from SerialExecutor().map(task, items, label=label, total=total, progress=progress, resources=resources)
            return
        try:
            self._start(min(self._count, len(items)))
            yield from self._results(content, items, ProgressSum(label, total, progress))
        except BaseException:
            self.close()
            raise

    def _start(self, count: int) -> None:
        with _environment(_ONE_THREAD), _without_interrupts(), _without_main_file():
            while len(self._workers) < count:
                self._workers.append(_Worker())

    def _results(self, task: bytes, items: Sequence[Any], shown: ProgressSum) -> Iterator[Any]:
        free, started, next_one = list(self._workers), 0, 0
        busy: dict[Any, _Worker] = {}
        done: dict[int, Any] = {}
        while next_one < len(items):
            while free and started < len(items):
                worker = free.pop()
                worker.give(started, task, items[started])
                busy[worker.pipe], started = worker, started + 1
            for pipe in connection.wait(list(busy)):
                kind, number, value = busy[pipe].reply()
                if kind == "error":
                    raise value
                if kind == "done":
                    shown.add(value)
                else:
                    done[number] = value
                    free.append(busy.pop(pipe))
            while next_one in done:
                yield done.pop(next_one)
                next_one += 1

    def close(self) -> None:
        """Ends the workers."""
        for worker in self._workers:
            worker.end()
        for worker in self._workers:
            worker.join()
        self._workers.clear()


class _Worker:
    """One process and the pipe to it."""

    def __init__(self) -> None:
        self.pipe, theirs = connection.Pipe()
        self._task: bytes | None = None
        # A forked process would copy the threads and locks of libraries in an unknown state.
        self._process: SpawnProcess = get_context("spawn").Process(target=_work, args=(theirs,), daemon=True)
        self._process.start()
        theirs.close()

    def give(self, number: int, task: bytes, item: object) -> None:
        """Starts the task on an item; the task itself is sent once."""
        same, self._task = self._task == task, task
        try:
            self.pipe.send((number, None if same else task, item))
        except OSError:
            raise self._lost() from None

    def reply(self) -> tuple[str, int, Any]:
        """The next message: `done` with a number of items, `result`, or `error`."""
        try:
            message: tuple[str, int, Any] = self.pipe.recv()
        except (EOFError, OSError):
            raise self._lost() from None
        return message

    def end(self) -> None:
        """Asks the process to end."""
        self.pipe.close()
        self._process.terminate()

    def join(self) -> None:
        """Waits until the process has ended, and kills it if it does not end by itself."""
        self._process.join(_END_SECONDS)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()

    def _lost(self) -> ExternalError:
        self._process.join(_END_SECONDS)
        how = f"a worker process ended with exit code {self._process.exitcode}"
        fix = "if memory ran out, use fewer workers with -j; run again to continue: finished partitions are cached"
        return ExternalError(f"{how}; {fix}")


def _pickled(task: object) -> bytes | None:
    """The task as bytes, None if another process cannot read it."""
    try:
        content = pickle.dumps(task)
    except (pickle.PicklingError, TypeError, AttributeError):
        return None
    # Another process cannot import the classes of a script or notebook.
    return None if b"__main__" in content else content


@contextlib.contextmanager
def _environment(variables: dict[str, str]) -> Iterator[None]:
    """Sets environment variables for the processes that the block starts."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


@contextlib.contextmanager
def _without_interrupts() -> Iterator[None]:
    """Blocks Ctrl-C for the processes that the block starts: this process ends them."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextlib.contextmanager
def _without_main_file() -> Iterator[None]:
    """Hides the script from the processes that the block starts: they would run it again."""
    main = sys.modules["__main__"]
    names = ("__file__", "__spec__")
    hidden: dict[str, Any] = {name: vars(main).pop(name) for name in names if name in vars(main)}
    main.__spec__ = None
    try:
        yield
    finally:
        vars(main).update(hidden)


def _work(pipe: Connection) -> None:
    """Runs the tasks that arrive, until the pipe is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # An exit through an exception removes temporary files.
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(1))
    threading.Thread(target=_end_with_parent, daemon=True).start()
    task: Callable[[Any, Report], Any] | None = None
    with contextlib.suppress(EOFError, OSError):
        while True:
            number, content, item = pipe.recv()
            report = _Reports(pipe, number)
            try:
                task = pickle.loads(content) if content else task
                assert task is not None
                reply = "result", number, task(item, report.add)
            except Exception as error:
                reply = "error", number, sendable(error)
            report.flush()
            pipe.send(reply)


def _end_with_parent() -> None:
    """Ends this process when the process that started it was killed."""
    parent = parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


class _Reports:
    """Sends what a task reports, at most ten times a second."""

    def __init__(self, pipe: Connection, number: int) -> None:
        self._pipe, self._number, self._more, self._due = pipe, number, 0, 0.0

    def add(self, more: int) -> None:
        self._more += more
        if time.monotonic() >= self._due:
            self.flush()

    def flush(self) -> None:
        if self._more:
            self._pipe.send(("done", self._number, self._more))
        self._more, self._due = 0, time.monotonic() + _REPORT_SECONDS


def sendable(error: Exception) -> Exception:
    """The error, with its trace unless it is one of ours; one that cannot be pickled is sent as its text."""
    if not isinstance(error, RankproofError):
        error.add_note("".join(traceback.format_exception(error)))
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return RuntimeError("".join(traceback.format_exception(error)))
    return error
