"""What each system changes against the one it builds on, else the baseline: values, recall and ranks of relevant documents."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count

from rankproof._analysis.baselines import UpperBound
from rankproof._analysis.inputs import AnalysisInput
from rankproof._analysis.pareto import Gain
from rankproof._analysis.values import QueryCounts, best_system, measure_results, query_counts, ranked_lists, relevant_docs
from rankproof._data.table import CellValue, Column, Table, TableSummary
from rankproof._data.text import format_value
from rankproof._results.experiment_result import SystemKind, SystemRun, compared_system
from rankproof.errors import InputError, for_message

_SOURCE = "Evaluation Metrics of a ranking stack on Amazon ESCI, metric-to-stage mapping"
_SAME_RECALL = 5e-4
"""Recalls that are equal to three decimals count as unchanged."""
COMPARED_WITH = Column("compared with", about="the system that it builds on, else the baseline")


@dataclass(frozen=True, slots=True)
class Step:
    """One system: its values by measure, the system that it is compared with, None for the baseline, and the one it builds on."""

    name: str
    kind: SystemKind
    values: Mapping[str, float]
    compared_with: str | None = None
    builds_on: str | None = None


@dataclass(frozen=True, slots=True)
class StageTask:
    """The task of a stage and the measures of its success."""

    stage: str
    kinds: tuple[str, ...]
    task: str
    measures: tuple[str, ...]
    why: str
    source: str


STAGE_TASKS = (
    StageTask(
        "retrieval",
        ("retrieval", "fusion"),
        "find every relevant document",
        ("R",),
        "no later stage can add what retrieval misses",
        _SOURCE,
    ),
    StageTask(
        "reranking",
        ("rerank",),
        "put the best documents first",
        ("nDCG", "RR"),
        "a reranker only reorders, so recall at the reranked depth cannot change",
        _SOURCE,
    ),
    StageTask(
        "generation",
        (),
        "answer from what was retrieved",
        ("F1(tokens='set')", "EM", "ROUGE-L"),
        "good retrieval does not guarantee good answers",
        "Hybrid RAG System with Automated Evaluation, metric properties",
    ),
)


def gain_of(step: Step, steps: Sequence[Step], measure: str) -> Gain | None:
    """The gain of the step over the system that it is compared with; None without one."""
    other = {other_step.name: other_step for other_step in steps}.get(step.compared_with or "")
    return None if other is None else Gain(step.values[measure], other.values[measure])


def gains_table(steps: Sequence[Step], measure: str, recall: str | None, counts: QueryCounts | None = None) -> Table:
    """The value of every step and its gain; sentences say whether rerankers leave recall unchanged."""
    rows = []
    for step in steps:
        gain = gain_of(step, steps, measure)
        added = (None, None) if gain is None else (gain.points, gain.relative)
        n = () if counts is None else counts.cell(step.name)
        values = (step.values[measure], *added, *([step.values[recall]] if recall else []))
        rows.append((step.name, step.kind, step.compared_with, *n, *values))
    columns = (
        *(Column("system"), Column("stage"), COMPARED_WITH),
        *(() if counts is None else counts.column),
        Column(measure, "value"),
        *(
            Column("pp gained", "points", "percentage points above the system that it is compared with"),
            Column("relative", "share"),
        ),
        *([Column(recall, "value", "upper bound for any reranker")] if recall else []),
    )
    count = "" if counts is None else f": {counts}"
    sentences = tuple(describe_recall(steps, recall)) if recall else ()
    facts = {"measure": measure, "recall": recall, **({} if counts is None else counts.facts)}
    kept = (column.name for column in columns if column.name not in ("stage", "relative"))
    summary = TableSummary(tuple(kept), tuple(range(len(rows))))
    title = f"Gain of each system in {measure}{count}"
    return Table("gains", title, columns, tuple(rows), sentences, facts=facts, verdict_first=True, summary=summary)


def describe_recall(steps: Sequence[Step], recall: str) -> list[str]:
    """Whether every reranker leaves recall unchanged."""
    pools = {step.name: step for step in steps}
    reranks = [step for step in steps if step.kind == "rerank" and step.builds_on in pools]
    if not reranks:
        return []
    changed = [
        f"{recall} changes from {format_value(pool.values[recall])} to {format_value(step.values[recall])} at"
        f" {for_message(step.name)}, a reranker: it reorders below that depth, or reranks other documents."
        for step in reranks
        if (pool := pools[step.builds_on or ""]) and abs(step.values[recall] - pool.values[recall]) >= _SAME_RECALL
    ]
    if changed:
        return changed
    levels = list(dict.fromkeys(format_value(step.values[recall]) for step in reranks))
    return [f"{recall} stays at {level}: retrieval sets the upper bound for reranking." for level in levels]


def stage_measures_table(steps: Sequence[Step]) -> Table:
    """Which measures matter at which stage, and the systems of each stage."""
    rows = []
    for task in STAGE_TASKS:
        system_runs = [step for step in steps if step.kind in task.kinds]
        rows.append(
            (
                task.stage,
                task.task,
                _measures(task, steps),
                ", ".join(step.name for step in system_runs) or None,
                task.why,
                task.source,
            )
        )
    columns = (
        *(Column("stage"), Column("task"), Column("measures"), Column("systems")),
        *(Column("why"), Column("source")),
    )
    return Table("stages", "Which measures matter at which stage", columns, tuple(rows), summary=TableSummary())


def _measures(task: StageTask, steps: Sequence[Step]) -> str:
    """The evaluated measures of the task, or their general names."""
    known = steps[0].values if steps else {}
    names = [name for name in known if name.partition("@")[0].partition("(")[0] in task.measures]
    return ", ".join(names or task.measures)


Rankings = Mapping[str, Sequence[str]]
"""Query to documents, best first."""


@dataclass(frozen=True, slots=True)
class RankMoves:
    """Counts of relevant documents over all queries.

    `found` are in this ranking and not in the other one, `lost` the reverse; of those in both, `promoted` rank higher here and
    `demoted` lower. `risen` entered the top and `fallen` left it.
    """

    kept: int
    found: int
    lost: int
    promoted: int
    demoted: int
    risen: int
    fallen: int


def rank_moves(rankings: Rankings, others: Rankings, relevant: Mapping[str, Collection[str]], cutoff: int) -> RankMoves:
    """The moves of relevant documents from the other rankings to these."""
    counts = dict.fromkeys(RankMoves.__slots__, 0)
    for query, docs in relevant.items():
        here, there = _ranks(rankings.get(query, ())), _ranks(others.get(query, ()))
        for doc in docs:
            new, old = here.get(doc), there.get(doc)
            counts["kept"] += new is not None
            counts["found"] += new is not None and old is None
            counts["lost"] += new is None and old is not None
            counts["promoted"] += new is not None and old is not None and new < old
            counts["demoted"] += new is not None and old is not None and new > old
            is_top, was_top = (rank is not None and rank <= cutoff for rank in (new, old))
            counts["risen"] += is_top and not was_top
            counts["fallen"] += was_top and not is_top
    return RankMoves(**counts)


def _ranks(docs: Collection[str]) -> dict[str, int]:
    return dict(zip(docs, count(1), strict=False))


class _RankedIds(Mapping[str, Sequence[str]]):
    """The ranked documents of a system by query, made on each access."""

    def __init__(self, inputs: AnalysisInput, system: str) -> None:
        self._lists = ranked_lists(inputs, system)

    def __getitem__(self, query: str) -> Sequence[str]:
        return self._lists[query].docs

    def __iter__(self) -> Iterator[str]:
        return iter(self._lists)

    def __len__(self) -> int:
        return len(self._lists)


def moves_table(inputs: AnalysisInput, measure: str, upper_bound: UpperBound, cutoff: int) -> Table:
    """The relevant documents that every system found, lost, promoted and demoted, and the value of its best reranking."""
    relevant = {query: relevant_docs(inputs.qrels[query], inputs.rel) for query in inputs.result.queries}
    ranked = {system_run.name: _RankedIds(inputs, system_run.name) for system_run in inputs.system_runs}
    counts = query_counts(inputs)
    means = {name: mean[measure] for name, mean in inputs.result.means.items()}
    rows: list[tuple[CellValue, ...]] = []
    sentences = []
    for system_run in inputs.system_runs:
        other = compared_system(system_run, inputs.system_runs, inputs.decision_settings)
        _check_same_documents(system_run, inputs, ranked)
        moves = rank_moves(ranked[system_run.name], ranked[other] if other else {}, relevant, cutoff)
        moved = (moves.found, moves.lost, moves.promoted, moves.demoted, moves.risen, moves.fallen) if other else (None,) * 6
        bound = upper_bound.by_system[system_run.name]
        left = Gain(bound, means[system_run.name]).points
        rows.append((system_run.name, system_run.kind, other, moves.kept, *moved, *counts.cell(system_run.name), bound, left))
        sentences += [_describe_moves(system_run, other, moves, cutoff)] if other else []
    total, n = sum(map(len, relevant.values())), len(relevant)
    return Table(
        name="moves",
        title=f"Ranks of the {total} relevant documents: n = {n} queries",
        columns=_columns(measure, cutoff, counts),
        rows=tuple(rows),
        sentences=(*sentences, *_describe_upper_bounds(inputs, measure, means, upper_bound)),
        facts={**counts.facts, "n": n, "relevant": total, "cutoff": cutoff, "measure": measure},
        verdict_first=True,
        summary=TableSummary(),
    )


def _columns(measure: str, cutoff: int, counts: QueryCounts) -> tuple[Column, ...]:
    return (
        *(Column("system"), Column("stage"), COMPARED_WITH),
        Column("retrieved", "count", "relevant documents in its rankings"),
        Column("found", "count", "relevant documents that only this system retrieved"),
        Column("lost", "count", "relevant documents that only the other system retrieved"),
        Column("promoted", "count", "relevant documents retrieved by both, ranked higher by this system"),
        Column("demoted", "count", "relevant documents retrieved by both, ranked lower by this system"),
        *(Column(f"into top {cutoff}", "count"), Column(f"out of top {cutoff}", "count")),
        *counts.column,
        Column(f"best {measure}", "value", "the value of its best reranking"),
        Column("pp to gain", "points", "gain of the best reranking, in percentage points"),
    )


def _check_same_documents(system_run: SystemRun, inputs: AnalysisInput, ranked: Mapping[str, Rankings]) -> None:
    """Checks that a reranker has the documents of its input; with a depth limit they may differ.

    Documents of an engine or a run file that are not in the corpus are not reranked.
    """
    pool = next(
        (
            other
            for other in inputs.system_runs
            if other.name == system_run.builds_on and system_run.stage.get("stage") == other.stage
        ),
        None,
    )
    if system_run.kind != "rerank" or pool is None or inputs.read_options.depth is not None:
        return
    here, there = ranked[system_run.name], ranked[pool.name]
    may_lack = pool.kind == "run" or pool.replies is not None
    for query in here:
        documents, expected = set(here[query]), set(there.get(query, ()))
        if documents - expected or (expected - documents and not may_lack):
            names = f"{for_message(system_run.name)} reranks {for_message(pool.name)}"
            what = f"{names}, but has other documents for query {for_message(query)}"
            raise InputError(what, fix="the results are damaged: run the experiment again", source=inputs.name)


def _describe_moves(system_run: SystemRun, compared_with: str, moves: RankMoves, cutoff: int) -> str:
    top = f"{moves.risen} enter the top {cutoff} and {moves.fallen} leave it"
    other = for_message(compared_with)
    if system_run.kind == "rerank" and system_run.builds_on == compared_with and not moves.found and not moves.lost:
        order = f"promotes {moves.promoted} relevant documents and demotes {moves.demoted}"
        return f"{for_message(system_run.name)} reranks {other}: it {order}; {top}."
    changed = f"finds {moves.found} relevant documents that {other} misses, and loses {moves.lost} that {other} finds"
    both = f"Of those that both find, it promotes {moves.promoted} and demotes {moves.demoted}"
    return f"{for_message(system_run.name)} {changed}. {both}. In total, {top}."


def _describe_upper_bounds(inputs: AnalysisInput, measure: str, means: Mapping[str, float], upper_bound: UpperBound) -> list[str]:
    """What the best system could gain by a better order of judged documents, by moving unjudged ones, and by retrieval."""
    best = best_system({name: result[measure] for name, result in measure_results(inputs, [measure]).items()})
    bound = upper_bound.by_system[best]
    order, more = upper_bound.describe_order(best, means[best]), Gain(upper_bound.ideal, bound).points
    return [
        f"{for_message(best)} has {measure} {format_value(means[best])}; its best reranking has {format_value(bound)}:"
        f" {order}. The other {more:.1f} pp need better retrieval."
    ]
