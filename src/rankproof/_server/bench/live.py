"""The live part of the bench: typed queries, changed settings of B with their effect, and proofs as jobs in a thread."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Annotated, Any, Literal

import numpy as np

from rankproof._data.arrays import FloatArray
from rankproof._data.corpus import TextRecord
from rankproof._evaluation.result import Result
from rankproof._registry import Option
from rankproof._server.api import ApiCall, ApiRoute, Feature
from rankproof._server.bench.feature import MOST_CARDS, Bench, BenchResults
from rankproof._server.bench.port import BenchSide, BenchSource, Knob, Progress, Proof, Workbench
from rankproof._server.bench.queries import FindDocument, SideRanking, bench_measure, sides_of
from rankproof._server.library import results_stamp
from rankproof._server.responses import HttpError
from rankproof._statistics.intervals import enough_differ, t_interval
from rankproof._statistics.means import weighted_mean
from rankproof._statistics.paired import PairedStatistics, differences, paired_statistics
from rankproof.errors import RankproofError, UsageError, for_message
from rankproof.measures._base import Measure

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


_LEVEL = 0.95
MOST_TYPED = 4_000
"""The longest typed query in characters."""
_CHANGES = Option("changed settings of the system: `key`, or `part.key` such as bm25.k1, to the new value")


@dataclass(frozen=True, slots=True)
class KnobsRequest:
    """A system with changes."""

    b: Annotated[str, Option("the system")]
    changes: Annotated[Mapping[str, Any], _CHANGES] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class KnobsReply:
    """What can be changed of a system."""

    knobs: Annotated[tuple[Knob, ...], Option("its settings")]
    why_not_search: Annotated[str, Option("why it cannot be asked a typed query, empty if it can")]
    why_not_rebuild: Annotated[str, Option("why it cannot be run again here, empty if it can")]
    why_not_prove: Annotated[str, Option("why changes cannot be proved here, empty if they can")]


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """A typed query for one system."""

    system: Annotated[str, Option("the system")]
    text: Annotated[str, Option(f"the query, at most {MOST_TYPED:,} characters")]
    changes: Annotated[Mapping[str, Any], _CHANGES] = field(default_factory=dict)
    depth: Annotated[int, Option("how many documents", least=1, most=MOST_CARDS)] = 10


@dataclass(frozen=True, slots=True)
class ChangedRequest:
    """A query of the results for B with changes."""

    query: Annotated[str, Option("the id of the query")]
    a: Annotated[str, Option("system A")]
    b: Annotated[str, Option("system B")]
    changes: Annotated[Mapping[str, Any], _CHANGES] = field(default_factory=dict)
    depth: Annotated[int, Option("how many documents of each ranking", least=1, most=MOST_CARDS)] = 10


@dataclass(frozen=True, slots=True)
class ChangedPair:
    """A and the changed B on a query."""

    needs_rebuild: Annotated[bool, Option("whether B has to be run again for these changes")]
    sides: Annotated[tuple[BenchSide, ...], Option("A, then B with the changes; empty before B is run again")]


@dataclass(frozen=True, slots=True)
class EffectRequest:
    """A and B with changes."""

    a: Annotated[str, Option("system A")]
    b: Annotated[str, Option("system B")]
    changes: Annotated[Mapping[str, Any], _CHANGES] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Effect:
    """What changes of B do on all judged queries, which are the queries that are seen: this is no proof."""

    needs_rebuild: Annotated[bool, Option("whether B has to be run again; nothing else is known then")]
    mean: Annotated[float | None, Option("the mean of B with the changes")] = None
    mean_before: Annotated[float | None, Option("the mean of B as stored")] = None
    mean_a: Annotated[float | None, Option("the mean of A")] = None
    change: Annotated[float | None, Option("B with the changes minus B as stored, larger is better")] = None
    change_ci: Annotated[tuple[float, float] | None, Option("its 95% interval, null if too few queries differ")] = None
    difference: Annotated[float | None, Option("B with the changes minus A, larger is better")] = None
    ci: Annotated[tuple[float, float] | None, Option("its 95% interval, null if too few queries differ")] = None
    better: Annotated[int, Option("queries on which B is better than A")] = 0
    same: Annotated[int, Option("queries without a difference")] = 0
    worse: Annotated[int, Option("queries on which B is worse")] = 0
    values: Annotated[tuple[float | None, ...], Option("the value of B on each query, in the order of the bench")] = ()


class LiveBench(Feature):
    """Typed queries and changed settings; `workbench` has the systems."""

    def __init__(self, bench: Bench, workbench: Workbench) -> None:
        self._bench, self._workbench, self._jobs = bench, workbench, Jobs()

    def routes(self) -> Iterable[ApiRoute]:
        """Routes that compute, and those that start a job."""
        path = "/api/r/{id}/bench"
        yield ApiRoute("POST", f"{path}/knobs", "what can be changed of a system", KnobsRequest, KnobsReply, self._knobs)
        yield ApiRoute("POST", f"{path}/search", "the ranking of a typed query", SearchRequest, BenchSide, self._search)
        yield ApiRoute("POST", f"{path}/changed", "A and the changed B on a query", ChangedRequest, ChangedPair, self._changed)
        yield ApiRoute("POST", f"{path}/effect", "what changes of B do on all queries", EffectRequest, Effect, self._effect)
        about = "runs B with the changes on all queries, as a job"
        yield ApiRoute("POST", f"{path}/rebuild", about, EffectRequest, JobState, self._rebuild, needs="edit")
        about = "cross-validates the changed settings of B against A, as a job whose result is the proof"
        yield ApiRoute("POST", f"{path}/prove", about, EffectRequest, JobState, self._prove, needs="edit")
        yield from self._jobs.routes()

    def close(self) -> None:
        """Stops the jobs and closes the systems."""
        self._jobs.close()
        self._workbench.close()

    def _opened(self, call: ApiCall, *systems: str) -> tuple[BenchResults, BenchSource]:
        found = self._bench.bench_results(call.entry)
        for system in systems:
            found.results.system_run(system)
        measure = bench_measure(found.results, found.overview)
        return found, BenchSource(call.entry, found.results, measure, results_stamp(call.entry))

    def _knobs(self, call: ApiCall, request: KnobsRequest) -> KnobsReply:
        _, source = self._opened(call, request.b)
        listed = self._workbench.knobs(source, request.b, request.changes)
        return KnobsReply(listed.knobs, listed.why_not_search, listed.why_not_rebuild, listed.why_not_prove)

    def _search(self, call: ApiCall, request: SearchRequest) -> BenchSide:
        found, source = self._opened(call, request.system)
        text = request.text.strip()
        if not text or len(text) > MOST_TYPED:
            raise HttpError(400, f"a query has 1 to {MOST_TYPED:,} characters")
        ranking = self._workbench.search(source, request.system, request.changes, text)
        side = SideRanking(request.system, ranking.docs, ranking.scores, notes=ranking.notes)
        find = _with_texts(self._bench.finder(call.entry, found.results), ranking.texts)
        # A typed query has no judgements, whatever its words are.
        (first, _) = sides_of(found.results, find, "", [side, side], request.depth)
        return first

    def _changed(self, call: ApiCall, request: ChangedRequest) -> ChangedPair:
        found, source = self._opened(call, request.a, request.b)
        if request.query not in found.results.queries:
            raise HttpError(404, f"the results have no query {for_message(request.query)}")
        ranking = self._workbench.ranking(source, request.b, request.changes, request.query)
        if ranking is None:
            return ChangedPair(True, ())
        stored = self._bench.stored(found, request.a, request.query)
        value = None
        if source.measure is not None:
            value = (self._workbench.values(source, request.b, request.changes) or {}).get(request.query)
        changed = SideRanking(request.b, ranking.docs, ranking.scores, value, ranking.notes)
        find = self._bench.finder(call.entry, found.results)
        return ChangedPair(False, tuple(sides_of(found.results, find, request.query, [stored, changed], request.depth)))

    def _effect(self, call: ApiCall, request: EffectRequest) -> Effect:
        found, source = self._opened(call, request.a, request.b)
        if source.measure is None:
            raise UsageError("there are no judgements, so nothing is measured", fix="grade documents with --judge")
        values = self._workbench.values(source, request.b, request.changes)
        if values is None:
            return Effect(True)
        return effect_of(found.results.result, source, request.a, request.b, values)

    def _rebuild(self, call: ApiCall, request: EffectRequest) -> JobState:
        _, source = self._opened(call, request.a, request.b)
        changes = dict(request.changes)
        return self._jobs.start(lambda job: self._workbench.rebuild(source, request.b, changes, job.progress))

    def _prove(self, call: ApiCall, request: EffectRequest) -> JobState:
        _, source = self._opened(call, request.a, request.b)
        changes = dict(request.changes)
        return self._jobs.start(lambda job: self._proved(source, request, changes, job.progress))

    def _proved(self, source: BenchSource, request: EffectRequest, changes: Mapping[str, Any], progress: Progress) -> Proof:
        return self._workbench.prove(source, request.a, request.b, changes, progress)


def effect_of(result: Result, source: BenchSource, first: str, second: str, values: Mapping[str, float]) -> Effect:
    """The paired differences of the changed values and those of B as stored, and of system A, with their intervals."""
    measure = source.measure
    assert measure is not None, "an effect needs a measure"
    stored, before = (
        next(system for system in result.systems if system.name == name).measures[str(measure)] for name in (first, second)
    )
    known = before.per_query
    queries = [query for query in stored.query_ids if query in values and query in known]
    mine, was, now = (_column(queries, column) for column in (stored.per_query, known, values))
    weights = None if stored.weights is None else _column(queries, dict(zip(stored.query_ids, stored.weights, strict=True)))
    change, change_ci = _paired(was, now, weights, measure)
    statistics, interval = _paired(mine, now, weights, measure)
    return Effect(
        False,
        mean=weighted_mean(now, weights),
        mean_before=weighted_mean(was, weights),
        mean_a=weighted_mean(mine, weights),
        change=change.mean,
        change_ci=change_ci,
        difference=statistics.mean,
        ci=interval,
        better=statistics.wins,
        same=statistics.ties,
        worse=statistics.losses,
        values=tuple(values.get(query) for query in source.results.queries),
    )


def _paired(
    before: FloatArray, after: FloatArray, weights: FloatArray | None, measure: Measure
) -> tuple[PairedStatistics, tuple[float, float] | None]:
    """The statistics of the differences, larger is better, and the 95% interval; no interval if too few queries differ."""
    apart = (-1.0 if measure.higher_is_better is False else 1.0) * differences(after, before)
    statistics = paired_statistics(apart, weights)
    low, high = measure.range
    return statistics, t_interval(statistics, _LEVEL, (low - high, high - low)) if enough_differ(apart, weights) else None


def _column(queries: Sequence[str], values: Mapping[str, float]) -> FloatArray:
    return np.array([values[query] for query in queries], np.float64)


def _with_texts(find: FindDocument, texts: Mapping[str, str]) -> FindDocument:
    """Documents of the dataset, else as the engine sent them."""
    return lambda doc: find(doc) or (TextRecord(doc, texts[doc]) if doc in texts else None)
