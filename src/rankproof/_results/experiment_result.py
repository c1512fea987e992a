"""ExperimentResult and SystemRun: the rankings, values, times and costs of every system of an experiment."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass, field, replace
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from rankproof._data.answers import Answers
from rankproof._data.arrays import FloatArray, IntArray
from rankproof._data.dataset import Queries
from rankproof._data.qrels import Qrels
from rankproof._data.replies import RecordedReply, ReusedReplies
from rankproof._data.run import PARTS, Run
from rankproof._data.table import CellValue, Column, Table
from rankproof._data.text import first_ids, pluralise, query_range
from rankproof._data.view import View, Viewed, ViewedTables
from rankproof._evaluation.result import MAX_DECIDED, Result, repeat_name, subset_result
from rankproof._results.decision_settings import DecisionSettings
from rankproof.errors import RankproofError, UsageError, for_message

if TYPE_CHECKING:
    from rankproof._analysis.compare.comparison import Comparison
    from rankproof._data.claims import ClaimVerdict

COLLAPSE_KEY = "collapse"
"""The fact of a system whose ranking of chunks was collapsed to documents."""
REPEATS_FACT = "repeats"
"""The fact of a system that was run several times: how often."""
SystemKind = Literal["retrieval", "fusion", "rerank", "answer", "rewrite", "chunks", "run"]
TIME_COLUMNS = (*PARTS, "total")
ANSWERS_FILE_KIND = "AnswersFile"
"""The kind of the stage of answers that were made elsewhere."""


@dataclass(frozen=True, eq=False, slots=True, repr=False)
class SystemRun(Viewed):
    """One system of an experiment.

    `times` has the milliseconds of each query of `ExperimentResult.queries`, by part and in total: the system's own work and
    that of its inputs; NaN for a query that was not timed. `index_seconds` and `index_bytes` count every index of the system
    once. `stored_run` is None where the ranking is not known, as for answers logged without their contexts; `run` is then an
    error. A system that is read from a run file, or has such an input, was not timed: `times` is empty, and the two are None.
    `throughput` is queries a second in batch, None for a system without a batch search. `builds_on` is another system of the
    experiment that is part of it: what it reranks, or the best of what it fuses; None where no other system is. `counts` has the
    calls of language models by query, in whichever run they were made, and `money` their cost. `answers` is None for a system
    that only ranks. `replies` has what a search engine replied to each query, None for any other system. `reused` says how many
    replies, also of hidden inputs, an earlier run recorded; None if all were asked for in this run.
    `repeat_runs` has the rankings of further repeats, empty where the system was run once, or its rankings were always the same.
    """

    name: str
    kind: SystemKind
    stage: Mapping[str, Any]
    stored_run: Run | None
    times: Mapping[str, FloatArray]
    index_seconds: float | None
    index_bytes: int | None
    throughput: float | None
    builds_on: str | None
    facts: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    computed: str = ""
    from_cache: bool = False
    counts: Mapping[str, IntArray] = field(default_factory=dict)
    money: float = 0.0
    answers: Answers | None = None
    replies: Mapping[str, RecordedReply] | None = None
    reused: ReusedReplies | None = None
    repeat_runs: tuple[Run, ...] = ()

    def _view(self) -> View:
        part_times = ((part, self.time_of(part)) for part in self.times)
        times: tuple[tuple[CellValue, ...], ...] = tuple((part, *astuple(time)) for part, time in part_times if time is not None)
        columns = (Column("ms"), Column("queries", "count"), *(Column(name, "number") for name in ("mean", "p50", "p95", "p99")))
        ranked = "no rankings" if self.stored_run is None else pluralise(len(self.stored_run), "query", "queries")
        title = f"SystemRun {self.name}: {self.kind}, {ranked}"
        return View(title, (Table("times", "", columns, times),) if times else (), notes=self.notes)

    @property
    def run(self) -> Run:
        """The ranking; an error if it is not stored."""
        if self.stored_run is None:
            what = f"the rankings of {for_message(self.name)} are not stored"
            raise UsageError(what, fix="log the contexts of every answer, and run `rankproof answers LOG -o FOLDER` again")
        return self.stored_run

    @property
    def runs(self) -> dict[str, Run]:
        """The stored rankings of all repeats by name: `a`, `a#2`, `a#3`."""
        stored = [] if self.stored_run is None else [self.stored_run, *self.repeat_runs]
        return {repeat_name(self.name, number): run for number, run in enumerate(stored, start=1)}

    def recall_of_exact(self) -> float | None:
        """The share of the exact nearest neighbours that an approximate search found; None where the search is exact."""
        recall = self.facts.get("recall_of_exact")
        return float(recall) if isinstance(recall, int | float) else None

    def least_recall(self) -> float | None:
        """The least share of the exact nearest neighbours that it or an input found; None where every search is exact."""
        recalls = [self.facts.get(name) for name in ("recall_of_exact", "input_recall")]
        return min((float(recall) for recall in recalls if isinstance(recall, int | float)), default=None)

    def own_score(self, query: str, doc: str) -> float | None:
        """The score that a search engine gave a document; None where it gave none, and for any other system."""
        reply = (self.replies or {}).get(query)
        return None if reply is None or reply.scores is None or doc not in reply.docs else reply.scores[reply.docs.index(doc)]

    def total(self, name: str) -> int:
        """One count of the calls of language models, over all queries; 0 where none was made."""
        return int(np.sum(self.counts[name])) if name in self.counts else 0

    @property
    def lacks_replies(self) -> bool:
        """Whether language models or rerank APIs were called and gave no usable reply."""
        requests = sum(map(self.total, ("rewritten", "windows", "graded", "score_requests"))) + 2 * self.total("compared")
        if _has_model_answers(self.stage):
            requests += sum(bool(answer.text) or answer.state == "failed" for answer in (self.answers or {}).values())
        return 0 < requests <= self.total("failed") + self.total("given_up")

    def time_of(self, part: str) -> TimeSummary | None:
        """Mean and percentiles of a part of the time, in milliseconds; None for a system that was not timed.

        Queries that a search engine did not answer do not count.
        """
        if not self.times:
            return None
        values = self.times[part]
        if "asked" in self.counts:
            values = values[(self.counts["asked"] == 0) | (self.counts["failed"] == 0)]
        return summarise_times(values)


def measured_runs(system_runs: Iterable[SystemRun]) -> dict[str, Run]:
    """The rankings of all systems and their repeats by name; an error if a ranking is not stored."""
    runs: dict[str, Run] = {}
    for system_run in system_runs:
        runs |= system_run.runs or {system_run.name: system_run.run}
    return runs


def _has_model_answers(stage: Mapping[str, Any]) -> bool:
    """Whether a language model writes the answers of the stage or of its input."""
    inner = (part for part in stage.values() if isinstance(part, Mapping))
    return stage.get("kind") == "GenerateAnswer" or any(map(_has_model_answers, inner))


@dataclass(frozen=True, slots=True)
class TimeSummary:
    """Mean and percentiles of the times of so many queries, in milliseconds; `p99` is None for fewer than 1,000 queries."""

    queries: int
    mean: float
    p50: float
    p95: float
    p99: float | None


_P99_QUERIES = 1_000
"""With fewer queries, p99 is the time of fewer than ten of them."""


def summarise_times(times: Sequence[float] | FloatArray) -> TimeSummary | None:
    """The summary of the times that are known; None if there are none."""
    every = np.asarray(times, np.float64)
    values = every[~np.isnan(every)]
    if not len(values):
        return None
    p50, p95, p99 = np.percentile(values, (50, 95, 99)).tolist()
    return TimeSummary(len(values), float(values.mean()), p50, p95, p99 if len(values) >= _P99_QUERIES else None)


def timed_queries(system_runs: Iterable[SystemRun]) -> str:
    """How many queries latency was measured on, and how; empty if no system was timed."""
    queries = query_range(total.queries for run in system_runs if (total := run.time_of("total")))
    return f"{queries}, asked one at a time after a warm-up" if queries else ""


def reused_replies(system_runs: Iterable[SystemRun]) -> tuple[ReusedReplies, ...]:
    """What each system rests on that an earlier run recorded."""
    return tuple(replace(run.reused, system=run.name) for run in system_runs if run.reused)


USUAL_BASELINE = "bm25"


def ranking_systems(system_runs: Iterable[SystemRun]) -> list[str]:
    """The systems with a ranking of their own; an answering system keeps the ranking of the system that it builds on."""
    return [system_run.name for system_run in system_runs if system_run.kind != "answer" or system_run.builds_on is None]


def decision_baseline(system_runs: Sequence[SystemRun], settings: DecisionSettings) -> str | None:
    """The named baseline, else `bm25`, else the first system, of those that retrieve anything; None if there is none."""
    ranking = ranking_systems(system_runs)
    able = [run.name for run in system_runs if run.name in ranking and (run.stored_run is None or len(run.stored_run.docs))]
    return next((name for name in (settings.baseline, USUAL_BASELINE) if name in able), next(iter(able), None))


def compared_system(system_run: SystemRun, system_runs: Sequence[SystemRun], settings: DecisionSettings) -> str | None:
    """The system that it builds on if that is among the systems, else the baseline of the decision; None for the baseline."""
    if any(other.name == system_run.builds_on for other in system_runs):
        return system_run.builds_on
    baseline = decision_baseline(system_runs, settings)
    return None if baseline == system_run.name else baseline


@dataclass(frozen=True, eq=False, slots=True, repr=False)
class ExperimentResult(ViewedTables):
    """The results of an experiment: everything that analyses and reports need, in memory or loaded from a results folder.

    `queries` are those that were run, in the order of the times of every system: judged queries first, then those that are run
    for their answers alone. `result` has the systems in the order of `system_runs`. `snippets` has the beginning of each document
    in the judgements or at the top of a ranking, `titles` how many characters of it are the title, `urls` its URL and
    `document_fields` its other fields. `rel` is the lowest grade that counts as relevant; with `judged_only`, rankings are
    measured without their unjudged documents. `chunks` has the values of systems that rank chunks, before their rankings are
    collapsed to documents. `answers` has the measures of answers. `judged_documents` has the judged document of each passage in
    the input of an answer, where the two differ; `contexts` has the texts of these passages by id, where they are known. `labels`
    are the files in which people check a machine judge; they need not exist.
    """

    name: str
    fingerprint: str
    queries: tuple[str, ...]
    result: Result
    system_runs: tuple[SystemRun, ...]
    qrels: Qrels
    texts: Queries
    snippets: Mapping[str, str]
    experiment: str
    provenance: Mapping[str, Any]
    notes: tuple[str, ...] = ()
    rel: int = 1
    judged_only: bool = False
    chunks: Result | None = None
    answers: Result | None = None
    urls: Mapping[str, str] = field(default_factory=dict)
    titles: Mapping[str, int] = field(default_factory=dict)
    document_fields: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    judged_documents: Mapping[str, str] = field(default_factory=dict)
    contexts: Mapping[str, str] = field(default_factory=dict)
    decision_settings: DecisionSettings = field(default_factory=DecisionSettings)
    labels: tuple[str, ...] = ()

    @property
    def is_judged(self) -> bool:
        """Whether rankings were measured; without judgements of the queries they were not."""
        return bool(self.result.queries)

    @property
    def reused_replies(self) -> tuple[ReusedReplies, ...]:
        """The replies of search engines that an earlier run recorded and this run did not ask for again, by system."""
        return reused_replies(self.system_runs)

    @property
    def claims(self) -> tuple[ClaimVerdict, ...]:
        """The verdicts on the claims of answers; the values of measures of claims follow from them."""
        return () if self.answers is None else self.answers.claims

    def compare(self, **options: Any) -> Comparison:
        """Which system to choose, and which differences are real; the options are those of `rankproof.compare`."""
        comparison: Comparison = import_module("rankproof").compare(self, **options)
        return comparison

    def _frame_columns(self) -> dict[str, Any]:
        """A row (system, query, measure, value) for each value; of answers if only they were measured."""
        return self._measured._frame_columns()

    @property
    def _measured(self) -> Result:
        """The values of rankings, or of answers if only they were measured."""
        return self.result if self.is_judged or self.answers is None else self.answers

    def _view(self) -> View:
        view = self._measured._view()
        table = view.tables[0]
        times = {run.name: total.p50 for run in self.system_runs if (total := run.time_of("total"))}
        rows = tuple((*row, times.get(str(row[0]))) for row in table.rows)
        timed = replace(table, columns=(*table.columns, Column("ms p50", "number")), rows=rows)
        shown = timed if times else table
        title = view.title if self.is_judged else f"{pluralise(len(self.queries), 'query', 'queries')} without judgements"
        timing = (f"ms p50: {timed_queries(self.system_runs)}",) if times else ()
        return View(f"Results {self.name}: {title}", (shown,), self._decision(), (*timing, *self.notes, *view.notes))

    def _decision(self) -> tuple[str, ...]:
        """The decision between the systems in words."""
        if not self.is_judged or len(self.system_runs) < 2 or len(self.queries) > MAX_DECIDED:
            return ()
        try:
            return self.compare().decision.sentences
        except RankproofError:
            return ()

    def system_run(self, name: str) -> SystemRun:
        """The system of that name."""
        systems = {system_run.name: system_run for system_run in self.system_runs}
        if name not in systems:
            raise UsageError(
                f"no system is called {for_message(str(name))}", fix=f"choose from: {', '.join(map(for_message, systems))}"
            )
        return systems[name]

    def measured_docs(self, query: str, docs: Sequence[str]) -> list[str]:
        """The documents of a ranking that are measured: all, or with `judged_only` the judged ones of a judged query."""
        if not self.judged_only or query not in self.qrels:
            return list(docs)
        grades = self.qrels[query]
        return [doc for doc in docs if grades.get(doc, -1) >= 0]

    def compared_with(self, system_run: SystemRun) -> str | None:
        """The system that gains are over: the one it builds on, else the baseline of the decision; None for the baseline."""
        return compared_system(system_run, self.system_runs, self.decision_settings)

    def gain(self, system_run: SystemRun, measure: str) -> float | None:
        """The difference of a measure to the system that it is compared with; None for the baseline."""
        means, other = self.result.means, self.compared_with(system_run)
        return None if other is None else means[system_run.name][measure] - means[other][measure]


def subset_results(results: ExperimentResult, queries: Collection[str]) -> ExperimentResult:
    """The times, counts, chunks and answers of these queries; the caller evaluates `result` again.

    Refused if a system cost money, which is known only for all its queries together.
    """
    chosen = set(queries)
    if chosen.isdisjoint(results.queries):
        raise UsageError("the results have none of these queries", fix=f"choose from: {first_ids(results.queries)}")
    paid = next((system_run.name for system_run in results.system_runs if system_run.money), None)
    if paid is not None:
        raise UsageError(f"the cost of {for_message(paid)} is known only in total, not per query", fix="leave out --queries")
    return replace(
        results,
        queries=tuple(query for query in results.queries if query in chosen),
        system_runs=tuple(
            _subset_system(system_run, [query in chosen for query in results.queries]) for system_run in results.system_runs
        ),
        chunks=_subset_part(results.chunks, chosen),
        answers=_subset_part(results.answers, chosen),
    )


def _subset_system(system_run: SystemRun, kept: list[bool]) -> SystemRun:
    return replace(
        system_run,
        times={part: values[kept] for part, values in system_run.times.items()},
        counts={name: values[kept] for name, values in system_run.counts.items()},
    )


def _subset_part(result: Result | None, chosen: set[str]) -> Result | None:
    """The part of a result on these queries, None if it has none of them."""
    return None if result is None or chosen.isdisjoint(result.queries) else subset_result(result, chosen)
