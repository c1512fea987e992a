"""What is known of some systems on one set of judgements, whether it came from run files or from a results folder."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..data.qrels import Qrels
from ..data.queries import Queries
from ..data.reading import Reading
from ..data.run import Run
from ..errors import UsageError, shown
from ..evaluation import Options, Result, evaluate_runs
from ..evaluation.evaluating import MeasuresLike
from ..experiment.rung import Climb, Rung


@dataclass(frozen=True, eq=False, slots=True)
class Evidence:
    """Values, rankings and judgements of systems that were asked the same queries.

    `fingerprint` and `dataset` are the dataset's, empty where there are only run files, as are `texts`, `snippets` and `rungs`.
    `runs` may read its files when they are first asked for. `documents` is the size of the corpus, None where it is not known.
    `skip_missing` says that means run over the queries that a run has. `drawn_up` holds what was made of these runs once
    and may be asked for again.
    """

    name: str
    fingerprint: str
    qrels: Qrels
    runs: Mapping[str, Run]
    result: Result
    rel: int = 1
    reading: Reading = field(default_factory=Reading)
    texts: Queries | None = None
    snippets: Mapping[str, str] = field(default_factory=dict)
    rungs: tuple[Rung, ...] = ()
    documents: int | None = None
    skip_missing: bool = False
    drawn_up: dict[str, Any] = field(init=False, default_factory=dict, repr=False)
    dataset: str = ""

    @property
    def options(self) -> Options:
        """How the values came about: other runs that are evaluated with these have values that may be held against them."""
        return Options(self.reading, rel=self.rel, skip_missing=self.skip_missing, queries=self.result.queries)

    @property
    def qrels_fingerprint(self) -> str:
        """That of the judgements, which every evidence has."""
        return self.qrels.fingerprint()

    @property
    def systems(self) -> tuple[str, ...]:
        """The names, in their order."""
        return tuple(system.name for system in self.result.systems)


def known_system(evidence: Evidence, name: str) -> str:
    """The name, refused where no system has it."""
    return known_name(evidence.systems, name)


def known_name(systems: Collection[str], name: str) -> str:
    """The same where there are names alone."""
    if name not in systems:
        raise UsageError(f"no system is called {shown(name)}", fix=f"choose from: {', '.join(map(shown, systems))}")
    return name


def evidence_of_runs(
    qrels: Qrels | Mapping[str, Mapping[str, int]],
    runs: Mapping[str, Run | Mapping[str, Mapping[str, float]]],
    measures: MeasuresLike = None,
    *,
    name: str = "runs",
    options: Options | None = None,
) -> Evidence:
    """The evidence in runs, by the name of their systems; judgements and runs may be ours or dicts of dicts."""
    judged = qrels if isinstance(qrels, Qrels) else Qrels.from_dict(qrels)
    ours = {system: run if isinstance(run, Run) else Run.from_dict(run, name=system) for system, run in runs.items()}
    options = options or Options()
    return of_result(evaluate_runs(judged, ours, measures, options), judged, ours, options, name=name)


def of_result(result: Result, qrels: Qrels, runs: Mapping[str, Run], options: Options, *, name: str) -> Evidence:
    """The evidence in what was evaluated with the options, beside the judgements and runs that it was evaluated from."""
    return Evidence(
        name=name,
        fingerprint="",
        qrels=qrels,
        runs=runs,
        result=result,
        rel=options.rel,
        reading=options.reading,
        skip_missing=options.skip_missing,
    )


def evidence_of_climb(climb: Climb) -> Evidence:
    """The evidence in a climb."""
    return Evidence(
        name=climb.name,
        fingerprint=climb.fingerprint,
        qrels=climb.qrels,
        runs={rung.name: rung.run for rung in climb.rungs},
        result=climb.result,
        rel=climb.rel,
        texts=climb.texts,
        snippets=climb.snippets,
        rungs=climb.rungs,
        documents=_count(climb.provenance.get("documents")),
        dataset=str(climb.provenance.get("dataset") or ""),
    )


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None
