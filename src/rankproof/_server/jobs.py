"""Work that lasts: a job in a thread, whose progress a page asks for."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count
from typing import Annotated, Any, Literal

from rankproof._registry import Option
from rankproof._server.api import ApiCall, ApiRoute
from rankproof._server.responses import HttpError
from rankproof.errors import RankproofError

JobStatus = Literal["running", "done", "failed", "stopped"]
_KEPT = 20


class StoppedError(RankproofError):
    """A person stopped the job."""


@dataclass(frozen=True, slots=True)
class JobRequest:
    """A job."""

    job: Annotated[str, Option("the id of the job")]


@dataclass(frozen=True, slots=True)
class JobState:
    """How far a job is."""

    job: Annotated[str, Option("its id")]
    status: Annotated[JobStatus, Option("whether it runs")]
    label: Annotated[str, Option("what it does now")]
    done: Annotated[int, Option("the items done")]
    total: Annotated[int, Option("all items")]
    message: Annotated[str, Option("why it failed, empty if it did not")]
    result: Annotated[Any, Option("what it returned, null before its end")]


class Job:
    """A job with its state."""

    def __init__(self, id: str) -> None:
        self._id, self._lock, self._stop = id, threading.Lock(), threading.Event()
        self._status: JobStatus = "running"
        self._label, self._done, self._total, self._message = "starting", 0, 0, ""
        self._result: Any = None
        self.thread: threading.Thread | None = None

    @property
    def state(self) -> JobState:
        """The state now."""
        with self._lock:
            return JobState(self._id, self._status, self._label, self._done, self._total, self._message, self._result)

    def progress(self, label: str, done: int, total: int) -> None:
        """Records the progress; an error once the job is to stop."""
        if self._stop.is_set():
            raise StoppedError("stopped")
        with self._lock:
            self._label, self._done, self._total = label, done, total

    def stop(self) -> None:
        """Stops the job at its next step."""
        self._stop.set()

    def run(self, work: Callable[[Job], Any]) -> None:
        """Does the work and records how it ends; an unexpected error says its kind."""
        try:
            self._end("done", result=work(self))
        except StoppedError:
            self._end("stopped")
        except RankproofError as error:
            self._end("failed", str(error))
        except Exception as error:
            self._end("failed", f"internal error: {type(error).__name__}: {error}")

    def _end(self, status: JobStatus, message: str = "", result: Any = None) -> None:
        with self._lock:
            self._status, self._message, self._result = status, message, result


class Jobs:
    """The jobs of a server, one at a time: each may use all of the memory that one run needs."""

    def __init__(self) -> None:
        self._jobs: dict[str, Job] = {}
        self._ids, self._lock = count(1), threading.Lock()

    def routes(self) -> Iterator[ApiRoute]:
        """The state of a job, and its end."""
        yield ApiRoute("GET", "/api/job", "how far a job is", JobRequest, JobState, self._state)
        yield ApiRoute("POST", "/api/job/stop", "stops a job", JobRequest, JobState, self._stop, needs="edit")

    def start(self, work: Callable[[Job], Any]) -> JobState:
        """Starts a job; an error while another one runs."""
        with self._lock:
            if any(job.state.status == "running" for job in self._jobs.values()):
                raise HttpError(409, "another job is running; wait for it, or stop it")
            job = Job(str(next(self._ids)))
            self._jobs[job.state.job] = job
            while len(self._jobs) > _KEPT:
                self._jobs.pop(next(iter(self._jobs)))
        job.thread = threading.Thread(target=job.run, args=(work,), daemon=True)
        job.thread.start()
        return job.state

    def _state(self, call: ApiCall, request: JobRequest) -> JobState:
        return self._job(request.job).state

    def _stop(self, call: ApiCall, request: JobRequest) -> JobState:
        job = self._job(request.job)
        job.stop()
        return job.state

    def _job(self, id: str) -> Job:
        job = self._jobs.get(id)
        if job is None:
            raise HttpError(404, "no such job; the server may have been started again")
        return job

    def close(self) -> None:
        """Stops every job and waits a moment for it."""
        for job in list(self._jobs.values()):
            job.stop()
            if job.thread is not None:
                job.thread.join(timeout=5)
