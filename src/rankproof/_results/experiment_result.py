"""ExperimentResult and SystemRun: the rankings, values, times and costs of every system of an experiment."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass, field, replace
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from rankproof._data.answers import Answers
from rankproof._data.arrays import FloatArray, IntArray
from rankproof._data.dataset import Queries
from rankproof._data.qrels import Qrels
from rankproof._data.replies import RecordedReply
from rankproof._data.run import PARTS, Run
from rankproof._data.table import CellValue, Column, Table
from rankproof._data.text import pluralise, query_range
from rankproof._data.view import View, Viewed, ViewedTables
from rankproof._evaluation.result import MAX_DECIDED, Result
from rankproof.errors import RankproofError, UsageError, for_message

if TYPE_CHECKING:
    from rankproof._analysis.compare.comparison import Comparison
    from rankproof._data.claims import ClaimVerdict

COLLAPSE_KEY = "collapse"
"""The fact of a system whose ranking of chunks was collapsed to documents."""
SystemKind = Literal["retrieval", "fusion", "rerank", "answer", "rewrite", "chunks", "run"]
TIME_COLUMNS = (*PARTS, "total")


@dataclass(frozen=True, eq=False, slots=True, repr=False)
class SystemRun(Viewed):
    """One system of an experiment.

    `times` has the milliseconds of each query of `ExperimentResult.queries`, by part and in total: the system's own work and
    that of its inputs; NaN for a query that was not timed. `index_seconds` and `index_bytes` count every index of the system
    once. A system that is read from a run file, or has such an input, was not timed: `times` is empty, and the two are None.
    `throughput` is queries a second in batch, None for a system without a batch search. `baseline` is the system it is
    compared with: what it reranks, the best of what it fuses, or the previous system where it has no inputs; None for the first
    system and where all inputs are hidden. `counts` has the calls of language models by query, in whichever run they were made,
    and `money` their cost. `answers` is None for a system that only ranks. `replies` has what a search engine replied to each
    query, None for any other system.
    """

    name: str
    kind: SystemKind
    stage: Mapping[str, Any]
    run: Run
    times: Mapping[str, FloatArray]
    index_seconds: float | None
    index_bytes: int | None
    throughput: float | None
    baseline: str | None
    facts: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    computed: str = ""
    from_cache: bool = False
    counts: Mapping[str, IntArray] = field(default_factory=dict)
    money: float = 0.0
    answers: Answers | None = None
    replies: Mapping[str, RecordedReply] | None = None

    def _view(self) -> View:
        found = ((part, self.time_of(part)) for part in self.times)
        times: tuple[tuple[CellValue, ...], ...] = tuple((part, *astuple(one)) for part, one in found if one is not None)
        columns = (Column("ms"), Column("queries", "count"), *(Column(name, "number") for name in ("mean", "p50", "p95", "p99")))
        title = f"SystemRun {self.name}: {self.kind}, {pluralise(len(self.run), 'query', 'queries')}"
        return View(title, (Table("times", "", columns, times),) if times else (), notes=self.notes)

    def recall_of_exact(self) -> float | None:
        """The share of the exact nearest neighbours that an approximate search found; None where the search is exact."""
        found = self.facts.get("recall_of_exact")
        return float(found) if isinstance(found, int | float) else None

    def own_score(self, query: str, doc: str) -> float | None:
        """The score that a search engine gave a document; None where it gave none, and for any other system."""
        reply = (self.replies or {}).get(query)
        return None if reply is None or reply.scores is None or doc not in reply.docs else reply.scores[reply.docs.index(doc)]

    def total(self, name: str) -> int:
        """One count of the calls of language models, over all queries; 0 where none was made."""
        return int(np.sum(self.counts[name])) if name in self.counts else 0

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
    queries = query_range(total.queries for one in system_runs if (total := one.time_of("total")))
    return f"{queries}, asked one at a time after a warm-up" if queries else ""


@dataclass(frozen=True, slots=True)
class DecisionSettings:
    """The settings of the decision: primary measure, margin, baseline, and the cost of each system.

    None stands for the default.
    """

    primary: str | None = None
    margin: float | None = None
    baseline: str | None = None
    costs: Mapping[str, float] = field(default_factory=dict, hash=False)


@dataclass(frozen=True, eq=False, slots=True, repr=False)
class ExperimentResult(ViewedTables):
    """The results of an experiment: everything that analyses and reports need, in memory or loaded from a results folder.

    `queries` are those that were run, in the order of the times of every system: judged queries first, then those that are run
    for their answers alone. `result` has the systems in the order of `system_runs`. `snippets` has the beginning of each document
    in the judgements or at the top of a ranking, `titles` how many characters of it are the title, `urls` its URL. `rel` is the
    lowest grade that counts as relevant; with `judged_only`, rankings are measured without their unjudged documents. `chunks` has
    the values of systems that rank chunks, before their rankings are collapsed to documents. `answers` has the measures of
    answers. `judged_documents` has the judged document of each passage in the input of an answer, where the two differ;
    `contexts` has the texts of these passages by id, where they are known.
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
    judged_documents: Mapping[str, str] = field(default_factory=dict)
    contexts: Mapping[str, str] = field(default_factory=dict)
    decision_settings: DecisionSettings = field(default_factory=DecisionSettings)

    @property
    def is_judged(self) -> bool:
        """Whether rankings were measured; without judgements of the queries they were not."""
        return bool(self.result.queries)

    @property
    def claims(self) -> tuple[ClaimVerdict, ...]:
        """The verdicts on the claims of answers; the values of measures of claims follow from them."""
        return () if self.answers is None else self.answers.claims

    def compare(self, **options: Any) -> Comparison:
        """Which system to choose, and which differences are real; the options are those of `rankproof.compare`."""
        found: Comparison = import_module("rankproof").compare(self, **options)
        return found

    def _frame_columns(self) -> dict[str, Any]:
        """A row (system, query, measure, value) for each value; of answers if only they were measured."""
        return self._measured._frame_columns()

    @property
    def _measured(self) -> Result:
        """The values of rankings, or of answers if only they were measured."""
        return self.result if self.is_judged or self.answers is None else self.answers

    def _view(self) -> View:
        found = self._measured._view()
        table = found.tables[0]
        times = {one.name: total.p50 for one in self.system_runs if (total := one.time_of("total"))}
        rows = tuple((*row, times.get(str(row[0]))) for row in table.rows)
        timed = replace(table, columns=(*table.columns, Column("ms p50", "number")), rows=rows)
        shown = timed if times else table
        title = found.title if self.is_judged else f"{pluralise(len(self.queries), 'query', 'queries')} without judgements"
        timing = (f"ms p50: {timed_queries(self.system_runs)}",) if times else ()
        return View(f"Results {self.name}: {title}", (shown,), self._decision(), (*timing, *self.notes, *found.notes))

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
        found = {system_run.name: system_run for system_run in self.system_runs}
        if name not in found:
            raise UsageError(
                f"no system is called {for_message(str(name))}", fix=f"choose from: {', '.join(map(for_message, found))}"
            )
        return found[name]

    def measured_docs(self, query: str, docs: Sequence[str]) -> list[str]:
        """The documents of a ranking that are measured: all, or with `judged_only` the judged ones of a judged query."""
        if not self.judged_only or query not in self.qrels:
            return list(docs)
        grades = self.qrels[query]
        return [doc for doc in docs if grades.get(doc, -1) >= 0]

    def gain(self, system_run: SystemRun, measure: str) -> float | None:
        """The difference of a measure to the baseline; None for a system without a baseline."""
        means = self.result.means
        return None if system_run.baseline is None else means[system_run.name][measure] - means[system_run.baseline][measure]
