"""A ladder read from its values: what each step gains, where recall stops growing, which measure matters at which stage."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ...errors import shown
from ...experiment.rung import RungKind
from ..counts import Counts
from ..gains import Increase
from ..table import Column, Glance, Table
from ..wording import brief

_STACK = "Evaluation Metrics of a ranking stack on Amazon ESCI, metric-to-stage mapping"
_SAME = 5e-4
"""Two recalls that three decimals cannot tell apart are flat."""


@dataclass(frozen=True, slots=True)
class Step:
    """One system of a ladder: its values by measure, and the step that it is measured over, None for the first."""

    name: str
    kind: RungKind
    values: Mapping[str, float]
    over: str | None = None


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
        _STACK,
    ),
    StageTask(
        "reranking",
        ("rerank",),
        "put the best documents first",
        ("nDCG", "RR"),
        "a reranker only reorders, so recall at the pool's depth cannot change",
        _STACK,
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


def gain_of(step: Step, steps: Sequence[Step], measure: str) -> Increase | None:
    """What the step adds to the one that it is measured over; None for the first."""
    below = {each.name: each for each in steps}.get(step.over or "")
    return None if below is None else Increase(step.values[measure], below.values[measure])


def gains_table(steps: Sequence[Step], measure: str, recall: str | None, counts: Counts | None = None) -> Table:
    """Every step's value and what it adds, in percentage points and relative; then what recall says."""
    rows = []
    for step in steps:
        gain = gain_of(step, steps, measure)
        added = (None, None) if gain is None else (gain.points, gain.relative)
        n = () if counts is None else counts.cell(step.name)
        values = (step.values[measure], *added, *([step.values[recall]] if recall else []))
        rows.append((step.name, step.kind, step.over, *n, *values))
    columns = (
        *(Column("rung"), Column("stage"), Column("over")),
        *(() if counts is None else counts.column),
        Column(measure, "value"),
        *(Column("pp gained", "points", "percentage points over that rung"), Column("relative", "share")),
        *([Column(recall, "value", "the ceiling of what comes after")] if recall else []),
    )
    count = "" if counts is None else f": {counts}"
    said = tuple(recall_said(steps, recall)) if recall else ()
    facts = {"measure": measure, "recall": recall, **({} if counts is None else counts.facts)}
    kept = (column.name for column in columns if column.name not in ("stage", "relative"))
    glance = Glance(tuple(kept), tuple(range(len(rows))))
    title = f"What each rung adds to {measure}{count}"
    return Table("ladder", title, columns, tuple(rows), said, facts=facts, verdict_first=True, glance=glance)


def recall_said(steps: Sequence[Step], recall: str) -> list[str]:
    """Whether recall stays as retrieval left it through every stage that only reorders."""
    pools = {step.name: step for step in steps}
    reranks = [step for step in steps if step.kind == "rerank" and step.over in pools]
    if not reranks:
        return []
    changed = [
        f"{recall} changes from {brief(below.values[recall])} to {brief(step.values[recall])} at {shown(step.name)}, which is to"
        " reorder only: it reorders beyond that depth, or is not over that pool."
        for step in reranks
        if (below := pools[step.over or ""]) and abs(step.values[recall] - below.values[recall]) >= _SAME
    ]
    if changed:
        return changed
    levels = list(dict.fromkeys(brief(step.values[recall]) for step in reranks))
    return [f"{recall}: recall is flat at {level}: retrieval sets the ceiling, reranking works below it." for level in levels]


def matters_table(steps: Sequence[Step]) -> Table:
    """Which measure matters at which stage, and the rungs that are judged by it."""
    rows = []
    for task in STAGE_TASKS:
        rungs = [step for step in steps if step.kind in task.kinds]
        rows.append(
            (
                task.stage,
                task.task,
                _measures(task, steps),
                ", ".join(step.name for step in rungs) or None,
                task.why,
                task.source,
            )
        )
    columns = (
        *(Column("stage"), Column("its task"), Column("measures that tell"), Column("rungs here")),
        *(Column("why"), Column("source")),
    )
    return Table("stages", "Which measure matters at which stage", columns, tuple(rows), glance=Glance())


def _measures(task: StageTask, steps: Sequence[Step]) -> str:
    """Those that were evaluated, else their general names."""
    known = steps[0].values if steps else {}
    found = [name for name in known if name.partition("@")[0].partition("(")[0] in task.measures]
    return ", ".join(found or task.measures)
