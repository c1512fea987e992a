"""Values under each tool."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from rankproof._align.hits import Hits, JudgedQueries
from rankproof._analysis.audit.conventions import CONVENTIONS, Convention, Ties, Tool
from rankproof._analysis.audit.ties import value_range
from rankproof._analysis.inputs import AnalysisInput
from rankproof._analysis.values import measure_result, query_counts, ranked_lists
from rankproof._data.ordering import ReadOptions, order_key, resolve_duplicates
from rankproof._data.run import Run, RunRow
from rankproof._data.table import CellValue, Column, Table, TableSummary
from rankproof._evaluation.inputs import align, prepare_judgements
from rankproof._evaluation.options import EvaluateOptions
from rankproof.errors import for_message
from rankproof.measures._base import Measure
from rankproof.measures._parse import parse_measure

OURS, _REFUSES = "rankproof", "refuses"


@dataclass(frozen=True, slots=True)
class ValueRange:
    """Between what a tool that does not define the order of ties may give."""

    worst: float
    best: float

    def __str__(self) -> str:
        return f"{self.worst:.4f} to {self.best:.4f}"


ToolMean = float | ValueRange | None
"""What a tool gives: a value, one between two, or None where it refuses."""


@dataclass(frozen=True, slots=True)
class LargestDeviation:
    """The value that is furthest from ours: whose it is, theirs and ours."""

    system: str
    theirs: float
    ours: float

    @property
    def distance(self) -> float:
        """How far they are apart."""
        return abs(self.theirs - self.ours)


@dataclass(frozen=True, slots=True)
class ToolValue:
    """One tool's values of one measure; `changes` is None where there is no winner to change."""

    convention: str
    measure: str
    values: tuple[ToolMean, ...]
    winner: str | None
    changes: bool | None = None
    differs: str = ""
    checked: str = "run"
    deviation: LargestDeviation | None = None

    def cells(self) -> tuple[CellValue, ...]:
        """The row as the table has it."""
        values = (_REFUSES if value is None else str(value) if isinstance(value, ValueRange) else value for value in self.values)
        return (self.convention, self.measure, *values, self.winner, self.changes, self.differs, self.checked)


def largest_deviation(systems: Sequence[str], theirs: Sequence[ToolMean], ours: Sequence[float]) -> LargestDeviation | None:
    """The value that is furthest, of those that the tool gives."""
    every = zip(systems, theirs, ours, strict=True)
    known = [LargestDeviation(system, value, own) for system, value, own in every if isinstance(value, float)]
    return max(known, key=lambda each: each.distance, default=None)


def judged_queries(inputs: AnalysisInput) -> JudgedQueries:
    """The judgements, made ready once for all systems and tools."""
    return prepare_judgements(inputs.qrels, inputs.options)


def tool_value(convention: Convention, hits: Hits, cutoff: int, rel: int, *, has_unknown_queries: bool = False) -> float | None:
    """The mean as the tool takes it; None where the tool refuses, having queries without a ranking or (strangers) the reverse."""
    tool = convention.tool
    if convention.special is not None:
        values = convention.special(hits, cutoff)
    else:
        values = _tool_measure(convention, cutoff, rel).values(hits)
    if tool.missing == "refused" and (has_unknown_queries or not hits.present.all()):
        return None
    if tool.missing == "left out":
        values = values[hits.present]
    return math.fsum(values.tolist()) / len(values) if len(values) else None


def _tool_measure(convention: Convention, cutoff: int, rel: int) -> Measure:
    measure = parse_measure(convention.measure.format(k=cutoff))
    return measure.with_rel(rel) if convention.tool.takes_rel else measure


def tool_value_range(convention: Convention, inputs: AnalysisInput, hits: Hits, cutoff: int, system: str) -> ValueRange | None:
    """Between which values the mean of a tool that does not define ties lies; None where ties cannot change it."""
    if convention.tool.ties != "not defined" or not hits.alignment_counts.tied:
        return None
    worst, best = value_range(_tool_measure(convention, cutoff, inputs.rel), hits, ranked_lists(inputs, system))
    if (worst == best).all():
        return None
    return ValueRange(*(math.fsum(values.tolist()) / len(values) for values in (worst, best)))


def tool_hits(tool: Tool, inputs: AnalysisInput, judged: JudgedQueries, system: str) -> Hits:
    """The hits in the order in which the tool would put the documents."""
    run, read_options = inputs.runs[system], inputs.read_options
    if tool.drops_own_id:
        run = _without_own_ids(run)
    if tool.ties in ("id descending", "not defined"):
        return align(judged, run, system, EvaluateOptions(replace(read_options, float32=tool.float32 or read_options.float32)))
    plain = replace(read_options, order="score", lower_is_better=False, float32=False)
    return align(judged, _in_listed_order(run, read_options, tool.ties), system, EvaluateOptions(plain))


def systems_with_unknown_queries(inputs: AnalysisInput) -> Mapping[str, bool]:
    """Which systems have queries that nobody judged."""
    known = frozenset(inputs.qrels)
    return {name: any(query not in known for query in inputs.runs[name].queries) for name in inputs.systems}


def _in_listed_order(run: Run, read_options: ReadOptions, ties: Ties) -> Run:
    """The run with scores that say the order outright, ties being settled by id upwards or by the order of rows."""
    groups, _ = resolve_duplicates(run, read_options)
    rows = []
    for query, group in groups.items():
        by_id = sorted(group, key=lambda row: row.doc) if ties == "id ascending" else group
        ordered = sorted(by_id, key=lambda row: -order_key(row, read_options))
        rows += [RunRow(query, row.doc, float(-place)) for place, row in enumerate(ordered)]
    return Run.from_rows(rows, name=run.name, source=run.source, queries=run.queries)


def _without_own_ids(run: Run) -> Run:
    """The run without documents that have their query's id."""
    if not any(row.query == row.doc for row in run.rows()):
        return run
    return Run.from_rows((row for row in run.rows() if row.query != row.doc), name=run.name, queries=run.queries)


DEFAULT_MEASURES = ("nDCG@10", "RR@10", "R@100", "P@10", "AP")
"""Measures that every tool has."""


def audit_sentences(inputs: AnalysisInput, rows: list[ToolValue], unknown: list[str]) -> list[str]:
    """Whether the winner changes, which value is furthest from ours, and the measures that no other tool has."""
    theirs = [row for row in rows if row.deviation is not None]
    said = _verdict(rows) if len(inputs.systems) > 1 else []
    if theirs:
        row = max(theirs, key=lambda row: row.deviation.distance if row.deviation else 0.0)
        assert row.deviation is not None
        value, ours = (f"{each:.4f}" for each in (row.deviation.theirs, row.deviation.ours))
        why = f": {row.differs}" if row.differs else ""
        said.append(f"Furthest from ours: {row.convention} of {for_message(row.deviation.system)}, {value} for {ours}{why}.")
    if unknown:
        known = f"; ask for {', '.join(DEFAULT_MEASURES)}" if len(unknown) == len(inputs.result.systems[0].measures) else ""
        said.append(f"No other tool's convention is known here for {', '.join(unknown)}{known}.")
    return said


def _verdict(rows: list[ToolValue]) -> list[str]:
    """Whether the winner changes, of the rows that have one; nothing where there is none."""
    others = [row for row in rows if not row.convention.startswith(f"{OURS} ")]
    telling = [row for row in others if row.changes is not None]
    changed = [f"{row.convention}: {row.winner}" for row in telling if row.changes]
    refused = _without_winner([row for row in others if row.changes is None])
    if changed:
        return [f"The winner changes by {len(changed)} of {len(telling)} conventions{refused}: {'; '.join(changed)}."]
    return [f"None of {len(telling)} conventions of other tools{refused} changes the winner."] if telling else []


def _without_winner(rows: list[ToolValue]) -> str:
    """How many conventions name no winner, and why."""
    refused = sum(None in row.values for row in rows)
    counts = {"with a run refused": refused, "with ties undefined": len(rows) - refused}
    told = ", ".join(f"{count} more {why}" for why, count in counts.items() if count)
    return f" ({told})" if told else ""


def audit_tools(inputs: AnalysisInput) -> Table:
    """One row for each tool's counterpart of each measure of the evidence, ours before them."""
    seen = _ToolHits(inputs)
    measures = {name: one.measure for name, one in inputs.result.systems[0].measures.items()}
    rows = [row for name, measure in measures.items() for row in _rows(seen, inputs, name, measure)]
    unknown = [name for name, measure in measures.items() if not tool_counterparts(measure)]
    return _table(inputs, rows, unknown)


def _rows(seen: _ToolHits, inputs: AnalysisInput, name: str, measure: Measure) -> Iterator[ToolValue]:
    counterparts = tool_counterparts(measure)
    if not counterparts:
        return
    ours = tuple(measure_result(inputs, system, name).value for system in inputs.systems)
    winner = winners(inputs.systems, ours)
    yield ToolValue(f"{OURS} {name}", name, ours, winner)
    for convention in counterparts:
        values = tuple(seen.value(convention, measure, system) for system in inputs.systems)
        theirs = winners(inputs.systems, values)
        changes = None if theirs is None else theirs != winner
        called, furthest = _name_in_tool(convention, measure), largest_deviation(inputs.systems, values, ours)
        yield ToolValue(called, name, values, theirs, changes, _differs(convention), convention.tool.checked, furthest)


def tool_counterparts(measure: Measure) -> list[Convention]:
    """What other tools have of a measure."""
    if not isinstance(getattr(measure, "gain", "linear"), str):
        return []
    ours = measure.name if getattr(measure, "cutoff", None) is None else f"{measure.name}@"
    return [convention for convention in CONVENTIONS if convention.ours == ours]


def winners(systems: Sequence[str], values: Sequence[ToolMean]) -> str | None:
    """The names of the best systems; None where a value is missing, or where ties that are not defined could decide."""
    ends = [
        (value.worst, value.best) if isinstance(value, ValueRange) else (value, value) for value in values if value is not None
    ]
    if len(ends) < len(values):
        return None
    highest = max(worst for worst, _ in ends)
    open_ended = any(worst != best and best >= highest for worst, best in ends)
    first = [name for name, (_, best) in zip(systems, ends, strict=True) if best >= highest]
    return None if open_ended and len(first) > 1 else " = ".join(map(for_message, first))


class _ToolHits:
    """Hits by tool and system, made once each."""

    def __init__(self, inputs: AnalysisInput) -> None:
        self.inputs, self.judged = inputs, judged_queries(inputs)
        self.has_unknown_queries = systems_with_unknown_queries(inputs)
        self._made: dict[tuple[object, str], Hits] = {}

    def value(self, convention: Convention, measure: Measure, system: str) -> ToolMean:
        hits = self._of(convention.tool, self.judged, system)
        cutoff = getattr(measure, "cutoff", None) or 10
        value = tool_value(convention, hits, cutoff, self.inputs.rel, has_unknown_queries=self.has_unknown_queries[system])
        return value if value is None else tool_value_range(convention, self.inputs, hits, cutoff, system) or value

    def _of(self, tool: Tool, judged: JudgedQueries, system: str) -> Hits:
        key = ((tool.ties, tool.float32, tool.drops_own_id), system)
        if key not in self._made:
            self._made[key] = tool_hits(tool, self.inputs, judged, system)
        return self._made[key]


def _name_in_tool(convention: Convention, measure: Measure) -> str:
    return f"{convention.tool.name} {convention.name_in_tool.format(k=getattr(measure, 'cutoff', None))}"


def _differs(convention: Convention) -> str:
    """The tool's ways that are not ours, in words."""
    tool = convention.tool
    ways = [convention.differs] if convention.differs else []
    if tool.ties != "id descending":
        ways.append(f"ties {tool.ties}")
    if tool.float32:
        ways.append("scores in 32 bits")
    if tool.missing != "0":
        ways.append(f"missing queries {tool.missing}")
    if tool.drops_own_id:
        ways.append("drops a document with the query's id")
    return "; ".join(ways)


def _table(inputs: AnalysisInput, rows: list[ToolValue], unknown: list[str]) -> Table:
    n = len(inputs.result.queries)
    return Table(
        name="audit-tools",
        title=f"The same runs by other tools' conventions, n = {n} judged queries",
        columns=(
            Column("convention", about="the tool and what it calls the measure"),
            Column("measure", about="ours"),
            *(Column(name, "value") for name in inputs.systems),
            Column("winner"),
            Column("winner changes", "flag", "whether the winner is another than ours"),
            Column("differs in"),
            Column("known by", about="run: the tests run the tool; read: its source was read"),
        ),
        rows=tuple(row.cells() for row in rows),
        sentences=(*audit_sentences(inputs, rows, unknown), *query_counts(inputs).describe),
        facts={**query_counts(inputs).facts, "n": n},
        highlighted=frozenset(at for at, row in enumerate(rows) if row.changes),
        verdict_first=True,
        summary=TableSummary(),
    )
