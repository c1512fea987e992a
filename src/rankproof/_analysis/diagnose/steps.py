"""What each system adds to its baseline."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from rankproof._analysis.baselines import UpperBound
from rankproof._analysis.inputs import AnalysisInput
from rankproof._analysis.pareto import Gain
from rankproof._analysis.values import QueryCounts, query_counts, ranked_lists, relevant_docs
from rankproof._data.table import CellValue, Column, Table, TableSummary
from rankproof._data.text import format_value
from rankproof._results.experiment_result import SystemKind, SystemRun
from rankproof.errors import InputError, for_message

_SOURCE = "Evaluation Metrics of a ranking stack on Amazon ESCI, metric-to-stage mapping"
_SAME_RECALL = 5e-4
"""Two recalls that three decimals cannot tell apart are flat."""


@dataclass(frozen=True, slots=True)
class Step:
    """One system of a ladder: its values by measure, and the step that it is measured over, None for the first."""

    name: str
    kind: SystemKind
    values: Mapping[str, float]
    baseline: str | None = None


@dataclass(frozen=True, slots=True)
class StageTask:
    """What a stage is for, and the measures that tell whether it does it."""

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
        "what is not found here no later stage can bring back",
        _SOURCE,
    ),
    StageTask(
        "reranking",
        ("rerank",),
        "put the best documents first",
        ("nDCG", "RR"),
        "a reranker only reorders, so recall at the pool's depth cannot change",
        _SOURCE,
    ),
    StageTask(
        "generation",
        (),
        "answer from what was retrieved",
        ("F1(tokens='set')", "EM", "ROUGE-L"),
        "good retrieval does not make good answers",
        "Hybrid RAG System with Automated Evaluation, metric properties",
    ),
)


def gain_of(step: Step, steps: Sequence[Step], measure: str) -> Gain | None:
    """What the step adds to the one that it is measured over; None for the first."""
    below = {each.name: each for each in steps}.get(step.baseline or "")
    return None if below is None else Gain(step.values[measure], below.values[measure])


def gains_table(steps: Sequence[Step], measure: str, recall: str | None, counts: QueryCounts | None = None) -> Table:
    """Every step's value and what it adds, in percentage points and relative; then what recall says."""
    rows = []
    for step in steps:
        gain = gain_of(step, steps, measure)
        added = (None, None) if gain is None else (gain.points, gain.relative)
        n = () if counts is None else counts.cell(step.name)
        values = (step.values[measure], *added, *([step.values[recall]] if recall else []))
        rows.append((step.name, step.kind, step.baseline, *n, *values))
    columns = (
        *(Column("rung"), Column("stage"), Column("over")),
        *(() if counts is None else counts.column),
        Column(measure, "value"),
        *(Column("pp gained", "points", "percentage points over that rung"), Column("relative", "share")),
        *([Column(recall, "value", "the ceiling of what comes after")] if recall else []),
    )
    count = "" if counts is None else f": {counts}"
    said = tuple(describe_recall(steps, recall)) if recall else ()
    facts = {"measure": measure, "recall": recall, **({} if counts is None else counts.facts)}
    kept = (column.name for column in columns if column.name not in ("stage", "relative"))
    glance = TableSummary(tuple(kept), tuple(range(len(rows))))
    title = f"What each rung adds to {measure}{count}"
    return Table("ladder", title, columns, tuple(rows), said, facts=facts, verdict_first=True, summary=glance)


def describe_recall(steps: Sequence[Step], recall: str) -> list[str]:
    """Whether recall stays as retrieval left it through every stage that only reorders."""
    pools = {step.name: step for step in steps}
    reranks = [step for step in steps if step.kind == "rerank" and step.baseline in pools]
    if not reranks:
        return []
    changed = [
        f"{recall} changes from {format_value(below.values[recall])} to {format_value(step.values[recall])} at {for_message(step.name)}, which is to"
        " reorder only: it reorders beyond that depth, or is not over that pool."
        for step in reranks
        if (below := pools[step.baseline or ""]) and abs(step.values[recall] - below.values[recall]) >= _SAME_RECALL
    ]
    if changed:
        return changed
    levels = list(dict.fromkeys(format_value(step.values[recall]) for step in reranks))
    return [f"{recall}: recall is flat at {level}: retrieval sets the ceiling, reranking works below it." for level in levels]


def stage_measures_table(steps: Sequence[Step]) -> Table:
    """Which measure matters at which stage, and the rungs that are judged by it."""
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
        *(Column("stage"), Column("its task"), Column("measures that tell"), Column("rungs here")),
        *(Column("why"), Column("source")),
    )
    return Table("stages", "Which measure matters at which stage", columns, tuple(rows), summary=TableSummary())


def _measures(task: StageTask, steps: Sequence[Step]) -> str:
    """Those that were evaluated, else their general names."""
    known = steps[0].values if steps else {}
    found = [name for name in known if name.partition("@")[0].partition("(")[0] in task.measures]
    return ", ".join(found or task.measures)


Rankings = Mapping[str, Sequence[str]]
"""Query to documents, best first."""


@dataclass(frozen=True, slots=True)
class RankMoves:
    """Counts of relevant documents over all queries.

    `found` are in this ranking and not in the one below, `lost` the other way round; of those in both, `promoted` stand higher
    here and `demoted` lower. `risen` came into the top and `fallen` left it.
    """

    kept: int
    found: int
    lost: int
    promoted: int
    demoted: int
    risen: int
    fallen: int


def rank_moves(above: Rankings, below: Rankings, relevant: Mapping[str, Collection[str]], cutoff: int) -> RankMoves:
    """The moves from the ranking below to the one above."""
    counts = dict.fromkeys(RankMoves.__slots__, 0)
    for query, docs in relevant.items():
        here, there = _ranks(above.get(query, ())), _ranks(below.get(query, ()))
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
    return {doc: rank for rank, doc in enumerate(docs, start=1)}


def _ranked(inputs: AnalysisInput, system: str) -> Rankings:
    return {query: ranked_list.docs for query, ranked_list in ranked_lists(inputs, system).items()}


def moves_table(inputs: AnalysisInput, measure: str, upper_bound: UpperBound, cutoff: int) -> Table:
    """Every rung: what it found, lost, promoted and demoted, and the most that the order of its documents could give."""
    relevant = {query: relevant_docs(inputs.qrels[query], inputs.rel) for query in inputs.result.queries}
    ranked = {system_run.name: _ranked(inputs, system_run.name) for system_run in inputs.system_runs}
    counts = query_counts(inputs)
    means = {name: each[measure] for name, each in inputs.result.means.items()}
    rows: list[tuple[CellValue, ...]] = []
    said = []
    for system_run in inputs.system_runs:
        baseline = system_run.baseline if system_run.baseline in ranked else None
        _check_same_documents(system_run, inputs, ranked)
        seen = rank_moves(ranked[system_run.name], ranked[baseline] if baseline else {}, relevant, cutoff)
        moved = (seen.found, seen.lost, seen.promoted, seen.demoted, seen.risen, seen.fallen) if baseline else (None,) * 6
        pool = upper_bound.by_system[system_run.name]
        headroom = Gain(pool, means[system_run.name]).points
        rows.append(
            (system_run.name, system_run.kind, baseline, seen.kept, *moved, *counts.cell(system_run.name), pool, headroom)
        )
        said += [_describe_moves(system_run, baseline, seen, cutoff)] if baseline else []
    total, n = sum(map(len, relevant.values())), len(relevant)
    return Table(
        name="moves",
        title=f"What each rung does to the {total} relevant documents: n = {n} queries",
        columns=_columns(measure, cutoff, counts),
        rows=tuple(rows),
        sentences=(*said, *_describe_upper_bounds(inputs, measure, means, upper_bound)),
        facts={**counts.facts, "n": n, "relevant": total, "cutoff": cutoff, "measure": measure},
        verdict_first=True,
        summary=TableSummary(),
    )


def _columns(measure: str, cutoff: int, counts: QueryCounts) -> tuple[Column, ...]:
    return (
        *(Column("rung"), Column("stage"), Column("over", about="the rung that it is measured against")),
        Column("retrieved", "count", "relevant documents in its rankings"),
        Column("found", "count", "relevant documents that the other rung does not have"),
        Column("lost", "count", "relevant documents that the other rung has and this one does not"),
        Column("promoted", "count", "relevant documents of both that stand higher here"),
        Column("demoted", "count", "relevant documents of both that stand lower here"),
        *(Column(f"into top {cutoff}", "count"), Column(f"out of top {cutoff}", "count")),
        *counts.column,
        Column(f"ceiling of {measure}", "value", "the value of the best order of its documents"),
        Column("pp to gain", "points", "what that order would add"),
    )


def _check_same_documents(system_run: SystemRun, inputs: AnalysisInput, ranked: Mapping[str, Rankings]) -> None:
    """A reranker has the documents of its pool, no more and no fewer; where a depth cuts both rankings they may differ."""
    pool = next(
        (
            other
            for other in inputs.system_runs
            if other.name == system_run.baseline and system_run.stage.get("stage") == other.stage
        ),
        None,
    )
    if system_run.kind != "rerank" or pool is None or inputs.read_options.depth is not None:
        return
    here, there = ranked[system_run.name], ranked[pool.name]
    for query in here:
        if set(here[query]) != set(there.get(query, ())):
            what = f"{for_message(system_run.name)} reorders {for_message(pool.name)}, but has other documents for query {for_message(query)}"
            raise InputError(what, fix="the results are damaged: run the experiment again", source=inputs.name)


def _describe_moves(system_run: SystemRun, baseline: str, seen: RankMoves, cutoff: int) -> str:
    top = f"{seen.risen} come into the top {cutoff} and {seen.fallen} leave it"
    order = f"promotes {seen.promoted} and demotes {seen.demoted}"
    if system_run.kind == "rerank" and not seen.found and not seen.lost:
        return f"{for_message(system_run.name)} reorders {for_message(baseline)}, adding and losing none: it {order}; {top}."
    gone = f"finds {seen.found} relevant documents that {for_message(baseline)} does not, and loses {seen.lost}"
    return f"{for_message(system_run.name)} {gone}; of those in both it {order}; {top}."


def _describe_upper_bounds(inputs: AnalysisInput, measure: str, means: Mapping[str, float], upper_bound: UpperBound) -> list[str]:
    """What the last rung could still gain by order alone."""
    last = inputs.system_runs[-1].name
    pool = upper_bound.by_system[last]
    order, more = Gain(pool, means[last]).points, Gain(upper_bound.ideal, pool).points
    return [
        f"The pool of {for_message(last)} sets a ceiling of {measure} {format_value(pool)}; it has {format_value(means[last])}, so"
        f" {order:.1f} pp are to be had by order alone, and {more:.1f} pp only by finding more."
    ]
