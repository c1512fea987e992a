"""Other tools: their conventions on gain, cutoff, ideal ranking, ties and missing queries, and what they would print.

`docs/audit.md` has the sources. `checked` is "run" if tests run the tool, "read" if its source was read.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from rankproof._align.hits import Hits, JudgedQueries
from rankproof._analysis.inputs import AnalysisInput
from rankproof._analysis.values import measure_result, query_counts
from rankproof._data.arrays import FloatArray, list_places
from rankproof._data.ordering import columns_by_query
from rankproof._data.run import Run
from rankproof._data.table import CellValue, Column, Table, TableSummary
from rankproof._data.validation import ReadOptions
from rankproof._evaluation.options import EvaluateOptions
from rankproof._evaluation.sources import align, prepare_judgements
from rankproof._evaluation.value_ranges import value_range
from rankproof.errors import for_message
from rankproof.measures._base import Measure
from rankproof.measures._gains import discounted_gains, ideal_list
from rankproof.measures._parse import parse_measure
from rankproof.measures._relevant import ratio, relevant_found

Ties = Literal["id descending", "id ascending", "as listed", "not defined"]
Missing = Literal["0", "left out", "refused", "not known"]
Special = Callable[[Hits, int], FloatArray]


@dataclass(frozen=True, slots=True)
class Tool:
    """The conventions of a tool for all its measures."""

    name: str
    missing: Missing
    ties: Ties = "id descending"
    float32: bool = False
    takes_rel: bool = True
    drops_own_id: bool = False
    checked: Literal["run", "read"] = "run"


@dataclass(frozen=True, slots=True)
class Convention:
    """A tool's counterpart of one of our measures: its name in the tool, and our measure that computes it.

    `ours` is the name of our measure, followed by `@` if it has a cutoff `{k}`. `special` computes from hits and cutoff what no
    measure of ours does.
    """

    tool: Tool
    ours: str
    name_in_tool: str
    measure: str
    differs: str = ""
    special: Special | None = None


def _quepid_ndcg(hits: Hits, cutoff: int) -> FloatArray:
    """Exponential gain in the top k divided by the ideal gain of all judged documents, which Quepid does not cut."""
    ideal = ideal_list(hits.judged, "exp", hits.judged.grades.size).sums()
    return discounted_gains(hits, "exp", cutoff, ideal).values()


def _quepid_precision(hits: Hits, cutoff: int) -> FloatArray:
    """Relevant documents in the top k divided by min(k, retrieved)."""
    return ratio(relevant_found(hits, 1).count_within(cutoff), np.minimum(hits.retrieved, cutoff))


TREC_10 = Tool("trec_eval 10", "left out", checked="read")
TREC_9 = Tool("trec_eval 9", "left out", float32=True, checked="read")
PYTREC = Tool("pytrec_eval", "left out", float32=True)
IR_MEASURES = Tool("ir_measures", "0", float32=True)
IR_MEASURES_RR = Tool("ir_measures", "0", ties="id ascending")
RANX = Tool("ranx", "refused", ties="not defined")
BEIR = Tool("BEIR", "left out", float32=True, takes_rel=False, drops_own_id=True, checked="read")
BEIR_MRR = Tool("BEIR", "0", ties="as listed", takes_rel=False, checked="read")
QUEPID = Tool("Quepid", "not known", ties="as listed", takes_rel=False, checked="read")

_UNCUT = "has no cutoff"
CONVENTIONS: tuple[Convention, ...] = (
    Convention(TREC_10, "nDCG@", "ndcg_cut.{k}", "nDCG@{k}"),
    Convention(TREC_9, "nDCG@", "ndcg_cut.{k}", "nDCG@{k}"),
    Convention(PYTREC, "nDCG@", "ndcg_cut.{k}", "nDCG@{k}"),
    Convention(IR_MEASURES, "nDCG@", "nDCG@{k}", "nDCG@{k}"),
    Convention(RANX, "nDCG@", "ndcg@{k}", "nDCG@{k}"),
    Convention(RANX, "nDCG@", "ndcg_burges@{k}", "nDCG(gain='exp')@{k}", "gain 2^grade - 1"),
    Convention(BEIR, "nDCG@", "NDCG@{k}", "nDCG@{k}"),
    Convention(QUEPID, "nDCG@", "NDCG@{k}", "", "gain 2^grade - 1, ideal ranking not truncated", _quepid_ndcg),
    Convention(TREC_10, "RR@", "recip_rank", "RR", _UNCUT),
    Convention(TREC_9, "RR@", "recip_rank", "RR", _UNCUT),
    Convention(PYTREC, "RR@", "recip_rank", "RR", _UNCUT),
    Convention(IR_MEASURES_RR, "RR@", "RR@{k}", "RR@{k}"),
    Convention(RANX, "RR@", "mrr@{k}", "RR@{k}"),
    Convention(BEIR_MRR, "RR@", "MRR@{k}", "RR@{k}"),
    Convention(QUEPID, "RR@", "RR@{k}", "RR@{k}"),
    Convention(TREC_10, "R@", "recall.{k}", "R@{k}"),
    Convention(TREC_9, "R@", "recall.{k}", "R@{k}"),
    Convention(PYTREC, "R@", "recall.{k}", "R@{k}"),
    Convention(IR_MEASURES, "R@", "R@{k}", "R@{k}"),
    Convention(RANX, "R@", "recall@{k}", "R@{k}"),
    Convention(BEIR, "R@", "Recall@{k}", "R@{k}"),
    Convention(TREC_10, "P@", "P.{k}", "P@{k}"),
    Convention(TREC_9, "P@", "P.{k}", "P@{k}"),
    Convention(PYTREC, "P@", "P.{k}", "P@{k}"),
    Convention(IR_MEASURES, "P@", "P@{k}", "P@{k}"),
    Convention(RANX, "P@", "precision@{k}", "P@{k}"),
    Convention(BEIR, "P@", "P@{k}", "P@{k}"),
    Convention(QUEPID, "P@", "P@{k}", "", "over min(k, retrieved)", _quepid_precision),
    Convention(TREC_10, "AP", "map", "AP"),
    Convention(TREC_9, "AP", "map", "AP"),
    Convention(PYTREC, "AP", "map", "AP"),
    Convention(IR_MEASURES, "AP", "AP", "AP"),
    Convention(RANX, "AP", "map", "AP"),
    Convention(BEIR, "AP", "MAP@1000", "AP@1000", "cut at 1000"),
    Convention(QUEPID, "AP", "AP@10", "AP@10", "cut at 10"),
    Convention(TREC_10, "AP@", "map_cut.{k}", "AP@{k}"),
    Convention(TREC_9, "AP@", "map_cut.{k}", "AP@{k}"),
    Convention(PYTREC, "AP@", "map_cut.{k}", "AP@{k}"),
    Convention(IR_MEASURES, "AP@", "AP@{k}", "AP@{k}"),
    Convention(RANX, "AP@", "map@{k}", "AP@{k}"),
    Convention(BEIR, "AP@", "MAP@{k}", "AP@{k}"),
    Convention(QUEPID, "AP@", "AP@{k}", "AP@{k}"),
    Convention(TREC_10, "nDCG", "ndcg", "nDCG"),
    Convention(TREC_9, "nDCG", "ndcg", "nDCG"),
    Convention(PYTREC, "nDCG", "ndcg", "nDCG"),
    Convention(IR_MEASURES, "nDCG", "nDCG", "nDCG"),
    Convention(RANX, "nDCG", "ndcg", "nDCG"),
    Convention(RANX, "nDCG", "ndcg_burges", "nDCG(gain='exp')", "gain 2^grade - 1"),
    Convention(TREC_10, "RR", "recip_rank", "RR"),
    Convention(TREC_9, "RR", "recip_rank", "RR"),
    Convention(PYTREC, "RR", "recip_rank", "RR"),
    Convention(IR_MEASURES, "RR", "RR", "RR"),
    Convention(RANX, "RR", "mrr", "RR"),
    Convention(TREC_10, "Success@", "success.{k}", "Success@{k}"),
    Convention(TREC_9, "Success@", "success.{k}", "Success@{k}"),
    Convention(PYTREC, "Success@", "success.{k}", "Success@{k}"),
    Convention(IR_MEASURES, "Success@", "Success@{k}", "Success@{k}"),
    Convention(RANX, "Success@", "hit_rate@{k}", "Success@{k}"),
    Convention(BEIR_MRR, "Success@", "Accuracy@{k}", "Success@{k}"),
    Convention(TREC_10, "Rprec", "Rprec", "Rprec"),
    Convention(TREC_9, "Rprec", "Rprec", "Rprec"),
    Convention(PYTREC, "Rprec", "Rprec", "Rprec"),
    Convention(IR_MEASURES, "Rprec", "Rprec", "Rprec"),
    Convention(RANX, "Rprec", "r-precision", "Rprec"),
    Convention(TREC_10, "bpref", "bpref", "bpref"),
    Convention(TREC_9, "bpref", "bpref", "bpref"),
    Convention(PYTREC, "bpref", "bpref", "bpref"),
    Convention(IR_MEASURES, "bpref", "Bpref", "bpref"),
)


OURS, _REFUSES = "rankproof", "refuses"


@dataclass(frozen=True, slots=True)
class ValueRange:
    """The range of values of a tool that does not define the order of ties."""

    worst: float
    best: float

    def __str__(self) -> str:
        return f"{self.worst:.4f} to {self.best:.4f}"


ToolMean = float | ValueRange | None
"""The value of a tool: a number, a range, or None if the tool refuses the run."""


@dataclass(frozen=True, slots=True)
class LargestDeviation:
    """The value with the largest difference to ours, with its system."""

    system: str
    theirs: float
    ours: float

    @property
    def distance(self) -> float:
        """The absolute difference."""
        return abs(self.theirs - self.ours)


@dataclass(frozen=True, slots=True)
class ToolValue:
    """The values of one measure by one tool; `changes` is None if there is no winner."""

    convention: str
    measure: str
    values: tuple[ToolMean, ...]
    winner: str | None
    changes: bool | None = None
    differs: str = ""
    checked: str = "run"
    deviation: LargestDeviation | None = None

    def cells(self) -> tuple[CellValue, ...]:
        """The row of the table."""
        values = (_REFUSES if value is None else str(value) if isinstance(value, ValueRange) else value for value in self.values)
        return (self.convention, self.measure, *values, self.winner, self.changes, self.differs, self.checked)


def largest_deviation(systems: Sequence[str], theirs: Sequence[ToolMean], ours: Sequence[float]) -> LargestDeviation | None:
    """The known value with the largest difference to ours."""
    every = zip(systems, theirs, ours, strict=True)
    known = [LargestDeviation(system, value, own) for system, value, own in every if isinstance(value, float)]
    return max(known, key=lambda deviation: deviation.distance, default=None)


def judged_queries(inputs: AnalysisInput) -> JudgedQueries:
    """The judgements, prepared once for all systems and tools."""
    return prepare_judgements(inputs.qrels, inputs.options)


def tool_value(convention: Convention, hits: Hits, cutoff: int, rel: int, *, has_unknown_queries: bool = False) -> float | None:
    """The mean by the tool; None if it refuses runs with missing or unknown queries and this is one."""
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
    """The range of the mean of a tool that does not define the order of ties; None if ties do not change it."""
    if convention.tool.ties != "not defined" or not hits.alignment_counts.tied:
        return None
    worst, best = value_range(_tool_measure(convention, cutoff, inputs.rel), hits)
    if (worst == best).all():
        return None
    return ValueRange(*(math.fsum(values.tolist()) / len(values) for values in (worst, best)))


def hits_by_tool(tool: Tool, inputs: AnalysisInput, judged: JudgedQueries, system: str) -> Hits:
    """The hits in the tool's order of documents."""
    run, read_options = inputs.runs[system], inputs.read_options
    if tool.drops_own_id:
        run = _without_own_ids(run)
    if tool.ties in ("id descending", "not defined"):
        return align(judged, run, system, EvaluateOptions(replace(read_options, float32=tool.float32 or read_options.float32)))
    plain = replace(read_options, order="score", lower_is_better=False, float32=False)
    return align(judged, _in_listed_order(run, read_options, tool.ties), system, EvaluateOptions(plain))


def systems_with_unknown_queries(inputs: AnalysisInput) -> Mapping[str, bool]:
    """Which systems have queries without judgements."""
    known = frozenset(inputs.qrels)
    return {name: any(query not in known for query in inputs.runs[name].queries) for name in inputs.systems}


def _in_listed_order(run: Run, read_options: ReadOptions, ties: Ties) -> Run:
    """The run with new scores that fix the order; ties are broken by ascending id or by the order of rows."""
    docs: list[str] = []
    queries: list[str] = []
    lengths: list[int] = []
    for query, (query_docs, _, keys) in columns_by_query(run, read_options):
        rows = range(len(query_docs))
        by_id = sorted(rows, key=query_docs.__getitem__) if ties == "id ascending" else [*rows]
        ordered = np.array(by_id, np.int64)[np.argsort(-keys[by_id], kind="stable")]
        docs += map(query_docs.__getitem__, ordered.tolist())
        queries.append(query)
        lengths.append(len(rows))
    offsets = np.cumsum([0, *lengths], dtype=np.int64)
    scores = (0 - list_places(np.array(lengths, dtype=np.int64))).astype(np.float64)
    return Run.from_columns(
        name=run.name, source=run.source, queries=tuple(queries), offsets=offsets, docs=tuple(docs), scores=scores
    )


def _without_own_ids(run: Run) -> Run:
    """The run without documents whose id is the query id."""
    if not any(row.query == row.doc for row in run.rows()):
        return run
    return Run.from_rows((row for row in run.rows() if row.query != row.doc), name=run.name, queries=run.queries)


DEFAULT_MEASURES = ("nDCG@10", "RR@10", "R@100", "P@10", "AP")
"""The default measures, which most tools have."""


def audit_sentences(inputs: AnalysisInput, rows: list[ToolValue], unknown: list[str]) -> list[str]:
    """Whether the winner changes, the largest difference to ours, and the measures without counterparts."""
    theirs = [row for row in rows if row.deviation is not None]
    sentences = _verdict(rows) if len(inputs.systems) > 1 else []
    if theirs:
        row = max(theirs, key=lambda row: row.deviation.distance if row.deviation else 0.0)
        assert row.deviation is not None
        value, ours = (f"{mean:.4f}" for mean in (row.deviation.theirs, row.deviation.ours))
        why = f": {row.differs}" if row.differs else ""
        sentences.append(
            f"Largest difference: {row.convention} of {for_message(row.deviation.system)} is {value}, ours is {ours}{why}."
        )
    if unknown:
        known = f"; try {', '.join(DEFAULT_MEASURES)}" if len(unknown) == len(inputs.result.systems[0].measures) else ""
        sentences.append(f"No convention of another tool is known for {', '.join(unknown)}{known}.")
    return sentences


def _verdict(rows: list[ToolValue]) -> list[str]:
    """Whether the winner changes by a convention; empty if no convention has a winner."""
    others = [row for row in rows if not row.convention.startswith(f"{OURS} ")]
    decided = [row for row in others if row.changes is not None]
    changed = [f"{row.convention}: {row.winner}" for row in decided if row.changes]
    refused = _without_winner([row for row in others if row.changes is None])
    if changed:
        return [f"{len(changed)} of {len(decided)} conventions name another winner{refused}: {'; '.join(changed)}."]
    return [f"All {len(decided)} conventions of other tools name the same winner{refused}."] if decided else []


def _without_winner(rows: list[ToolValue]) -> str:
    """How many conventions have no winner, and why."""
    refused = sum(None in row.values for row in rows)
    counts = {"the tool rejects the run": refused, "ties are undefined": len(rows) - refused}
    reasons = ", ".join(f"no winner for {count} more: {why}" for why, count in counts.items() if count)
    return f" ({reasons})" if reasons else ""


def audit_tools(inputs: AnalysisInput) -> Table:
    """A row for each tool's counterpart of each measure, after a row of ours."""
    measures = {name: measure.measure for name, measure in inputs.result.systems[0].measures.items()}
    means = _means_by_tool(inputs, measures)
    rows = [row for name, measure in measures.items() for row in _rows(means, inputs, name, measure)]
    unknown = [name for name, measure in measures.items() if not tool_counterparts(measure)]
    return _table(inputs, rows, unknown)


def _rows(means: _ToolMeans, inputs: AnalysisInput, name: str, measure: Measure) -> Iterator[ToolValue]:
    counterparts = tool_counterparts(measure)
    if not counterparts:
        return
    ours = tuple(measure_result(inputs, system, name).value for system in inputs.systems)
    winner = winners(inputs.systems, ours)
    yield ToolValue(f"{OURS} {name}", name, ours, winner)
    for convention in counterparts:
        values = tuple(means[convention, name, system] for system in inputs.systems)
        theirs = winners(inputs.systems, values)
        changes = None if theirs is None else theirs != winner
        differs = _differs(convention, weighted=inputs.result.weights is not None)
        name_in_tool, deviation = _name_in_tool(convention, measure), largest_deviation(inputs.systems, values, ours)
        yield ToolValue(name_in_tool, name, values, theirs, changes, differs, convention.tool.checked, deviation)


def tool_counterparts(measure: Measure) -> list[Convention]:
    """The counterparts of a measure in other tools."""
    if not isinstance(getattr(measure, "gain", "linear"), str):
        return []
    ours = measure.name if getattr(measure, "cutoff", None) is None else f"{measure.name}@"
    return [convention for convention in CONVENTIONS if convention.ours == ours]


def winners(systems: Sequence[str], values: Sequence[ToolMean]) -> str | None:
    """The best systems; None if a value is missing or undefined ties could decide."""
    ends = [
        (value.worst, value.best) if isinstance(value, ValueRange) else (value, value) for value in values if value is not None
    ]
    if len(ends) < len(values):
        return None
    highest = max(worst for worst, _ in ends)
    open_ended = any(worst != best and best >= highest for worst, best in ends)
    first = [name for name, (_, best) in zip(systems, ends, strict=True) if best >= highest]
    return None if open_ended and len(first) > 1 else " = ".join(map(for_message, first))


_ToolMeans = dict[tuple[Convention, str, str], ToolMean]
"""The value by convention, our measure and system."""


def _means_by_tool(inputs: AnalysisInput, measures: Mapping[str, Measure]) -> _ToolMeans:
    """Every value; tools with the same order of documents share the hits, which are kept for one order and system at a time."""
    judged, has_unknown_queries = judged_queries(inputs), systems_with_unknown_queries(inputs)
    by_order: dict[object, list[tuple[Convention, str]]] = {}
    for name, measure in measures.items():
        for convention in tool_counterparts(measure):
            tool = convention.tool
            by_order.setdefault((tool.ties, tool.float32, tool.drops_own_id), []).append((convention, name))
    means: _ToolMeans = {}
    for same in by_order.values():
        for system in inputs.systems:
            hits = hits_by_tool(same[0][0].tool, inputs, judged, system)
            for convention, name in same:
                cutoff = getattr(measures[name], "cutoff", None) or 10
                value: ToolMean = tool_value(
                    convention, hits, cutoff, inputs.rel, has_unknown_queries=has_unknown_queries[system]
                )
                if value is not None:
                    value = tool_value_range(convention, inputs, hits, cutoff, system) or value
                means[convention, name, system] = value
    return means


def _name_in_tool(convention: Convention, measure: Measure) -> str:
    return f"{convention.tool.name} {convention.name_in_tool.format(k=getattr(measure, 'cutoff', None))}"


def _differs(convention: Convention, *, weighted: bool) -> str:
    """The differences between the tool's conventions and ours; no tool weights queries."""
    tool = convention.tool
    ways = ["queries count equally"] if weighted else []
    if convention.differs:
        ways.append(convention.differs)
    if tool.ties != "id descending":
        ways.append(f"ties {tool.ties}")
    if tool.float32:
        ways.append("scores as 32-bit floats")
    if tool.missing != "0":
        ways.append(f"missing queries {tool.missing}")
    if tool.drops_own_id:
        ways.append("drops a document with the query's id")
    return "; ".join(ways)


def _table(inputs: AnalysisInput, rows: list[ToolValue], unknown: list[str]) -> Table:
    n = len(inputs.result.queries)
    return Table(
        name="audit-tools",
        title=f"The same runs by the conventions of other tools, n = {n} judged queries",
        columns=(
            Column("convention", about="the tool and its name of the measure"),
            Column("measure", about="our measure"),
            *(Column(name, "value") for name in inputs.systems),
            Column("winner"),
            Column("winner changes", "flag", "whether the winner differs from ours"),
            Column("differs in"),
            Column("known by", about="run: our tests run the tool; read: from its source"),
        ),
        rows=tuple(row.cells() for row in rows),
        sentences=(*audit_sentences(inputs, rows, unknown), *query_counts(inputs).describe),
        facts={**query_counts(inputs).facts, "n": n},
        highlighted=frozenset(at for at, row in enumerate(rows) if row.changes),
        verdict_first=True,
        summary=TableSummary(),
    )
