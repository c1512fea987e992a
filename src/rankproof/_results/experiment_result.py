"""What a climb of the ladder found: every rung's ranking, values, times and costs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from rankproof._data.answers import Answers
from rankproof._data.arrays import FloatArray, IntArray
from rankproof._data.dataset import Queries
from rankproof._data.qrels import Qrels
from rankproof._data.run import PARTS, Run
from rankproof._evaluation.result import Result
from rankproof.errors import UsageError, for_message

COLLAPSE_KEY = "collapse"


SystemKind = Literal["retrieval", "fusion", "rerank", "answer", "rewrite", "chunks"]
TIME_COLUMNS = (*PARTS, "total")


@dataclass(frozen=True, eq=False, slots=True)
class SystemRun:
    """One system of an experiment.

    `times` holds milliseconds for each query of `Climb.queries`, from the query to this ranking: the rung's own work and that of
    the rungs below it, by part and in total. `index_seconds` and `index_bytes` count every index that the system needs once.
    `throughput` is queries a second in batch, None where the rung has no batch of its own. `over` names the system that it is
    measured against: what it reranks, the best of what it fuses, the one before it where it is made of none; None for the first
    and where all that it is made of is hidden. `counts` is what asking language models came to, by query and whatever start
    did the asking, and `money` what that cost; `answers` is None for a system that only ranks.
    """

    name: str
    kind: SystemKind
    stage: Mapping[str, Any]
    run: Run
    times: Mapping[str, FloatArray]
    index_seconds: float
    index_bytes: int
    throughput: float | None
    baseline: str | None
    facts: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    computed: str = ""
    from_cache: bool = False
    counts: Mapping[str, IntArray] = field(default_factory=dict)
    money: float = 0.0
    answers: Answers | None = None

    def __repr__(self) -> str:
        return f"<Rung {self.name}: {self.kind}, {len(self.run)} queries>"

    def recall_of_exact(self) -> float | None:
        """The share of the exact nearest that an approximate search found; None where it is exact or nothing was asked."""
        found = self.facts.get("recall_of_exact")
        return float(found) if isinstance(found, int | float) else None

    def total(self, name: str) -> int:
        """One count of what asking language models came to, over all queries; 0 where nothing was asked."""
        return int(np.sum(self.counts[name])) if name in self.counts else 0

    def time_of(self, part: str) -> dict[str, float]:
        """Mean, p50, p95 and p99 of a part of the time, in ms."""
        values = self.times[part]
        if not len(values):
            return dict.fromkeys(("mean", "p50", "p95", "p99"), 0.0)
        p50, p95, p99 = np.percentile(values, (50, 95, 99)).tolist()
        return {"mean": float(values.mean()), "p50": p50, "p95": p95, "p99": p99}


@dataclass(frozen=True, eq=False, slots=True)
class ExperimentResult:
    """An experiment's outcome: everything that analysis and report need, in memory as on disk.

    `queries` are those that were asked, in the order of every rung's times: judged ones, then those asked for answers alone;
    `result` has a system for each rung, in the same order; `snippets` holds the beginning of each document that a ranking or a
    judgement shows, `titles` how many characters of it are a title, `urls` the URL of those that have one; `rel` is the least
    grade that counted as relevant. `chunks` has the values of the systems that rank chunks, before their rankings are collapsed
    to documents; `answers` the measures of those that answer, over the queries whose answer is known, and `wholes` the judged
    document of each passage that an answer was given, where that is another.
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
    chunks: Result | None = None
    answers: Result | None = None
    urls: Mapping[str, str] = field(default_factory=dict)
    titles: Mapping[str, int] = field(default_factory=dict)
    judged_documents: Mapping[str, str] = field(default_factory=dict)

    def __repr__(self) -> str:
        return (
            f"<Climb {self.name}: {', '.join(system_run.name for system_run in self.system_runs)}; {len(self.queries)} queries>"
        )

    def system_run(self, name: str) -> SystemRun:
        """The rung of that name."""
        found = {system_run.name: system_run for system_run in self.system_runs}
        if name not in found:
            raise UsageError(
                f"no system is called {for_message(str(name))}", fix=f"choose from: {', '.join(map(for_message, found))}"
            )
        return found[name]

    def gain(self, system_run: SystemRun, measure: str) -> float | None:
        """How much the rung adds to a measure over the system it is measured against; None where there is none."""
        means = self.result.means
        return None if system_run.baseline is None else means[system_run.name][measure] - means[system_run.baseline][measure]
