"""Pool bias: the value of each system without the judgements of documents that only it retrieved."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import astuple, dataclass

from rankproof._analysis.audit.unjudged import UnjudgedDocuments, is_judged
from rankproof._analysis.inputs import AnalysisInput
from rankproof._analysis.values import query_counts
from rankproof._data.qrels import Qrels
from rankproof._data.table import Column, Table, TableSummary
from rankproof._evaluation.evaluate import evaluate_runs
from rankproof._evaluation.result import runs_of_systems
from rankproof.errors import for_message
from rankproof.measures._base import Measure

_UNJUDGED = -1
_COLUMNS = (
    Column("measure"),
    Column("system"),
    Column("judged alone", "count", "judged documents that no other system retrieved"),
    Column("relevant", "count", "of them"),
    Column("value", "value"),
    Column("without", "value", "the value if they were unjudged"),
    Column("change", "difference"),
)


@dataclass(frozen=True, slots=True)
class _PoolRow:
    """One measure of one system with and without the documents that only it retrieved; fields are columns."""

    measure: str
    system: str
    alone: int
    relevant: int
    value: float
    without: float
    change: float


def audit_pool(inputs: AnalysisInput, unjudged_docs: UnjudgedDocuments) -> Table:
    """The value of each system without the judgements of documents that only it retrieved."""
    measures = {name: measure.measure for name, measure in inputs.result.systems[0].measures.items()}
    rows = [row for system in inputs.systems for row in _rows(inputs, unjudged_docs, system)] if len(inputs.systems) > 1 else []
    rows.sort(key=lambda row: list(measures).index(row.measure))
    counts = query_counts(inputs)
    return Table(
        name="audit-pool",
        title=f"Pool bias: each system without the judged documents that only it retrieved, {counts}",
        columns=(*_COLUMNS, *counts.column),
        rows=tuple((*astuple(row), *counts.cell(row.system)) for row in rows),
        sentences=(_describe_pool(rows, measures),),
        facts=counts.facts,
        verdict_first=True,
        summary=TableSummary(),
    )


def _rows(inputs: AnalysisInput, unjudged_docs: UnjudgedDocuments, system: str) -> list[_PoolRow]:
    alone = _found_alone(unjudged_docs, system)
    without = _values_without(inputs, system, alone)
    count, good = sum(map(len, alone.values())), _relevant(inputs, alone)
    before = inputs.result.means[system]
    return [_PoolRow(name, system, count, good, value, without[name], without[name] - value) for name, value in before.items()]


def _found_alone(unjudged_docs: UnjudgedDocuments, system: str) -> dict[str, frozenset[str]]:
    """Query to the judged documents that only this system retrieved."""
    alone = {}
    for query, ranked_list in unjudged_docs.lists[system].items():
        others = {
            doc for name, list_ in unjudged_docs.lists.items() if name != system and query in list_ for doc in list_[query].docs
        }
        judged = unjudged_docs.inputs.qrels[query]
        alone[query] = frozenset(doc for doc in ranked_list.docs if is_judged(judged, doc) and doc not in others)
    return alone


def _values_without(inputs: AnalysisInput, system: str, alone: dict[str, frozenset[str]]) -> dict[str, float]:
    """The values if those documents are unjudged; a query stays evaluated even without judgements."""
    measures = [measure.measure for measure in inputs.result.systems[0].measures.values()]
    runs = runs_of_systems(inputs.runs, [system])
    result = evaluate_runs(_judgements_without(inputs.qrels, alone), runs, measures, inputs.options)
    return result.means[system]


def _judgements_without(qrels: Qrels, alone: dict[str, frozenset[str]]) -> Qrels:
    def left(query: str, docs: Mapping[str, int]) -> dict[str, int]:
        return {doc: _UNJUDGED if doc in alone.get(query, ()) else grade for doc, grade in docs.items()}

    if not qrels.subtopics:
        return Qrels.of_checked({query: left(query, docs) for query, docs in qrels.items()}, source="qrels")
    return Qrels.from_subtopics(
        {query: {name: left(query, docs) for name, docs in subtopic.items()} for query, subtopic in qrels.subtopics.items()}
    )


def _relevant(inputs: AnalysisInput, alone: dict[str, frozenset[str]]) -> int:
    return sum(inputs.qrels[query][doc] >= inputs.rel for query, docs in alone.items() for doc in docs)


def _describe_pool(rows: list[_PoolRow], measures: dict[str, Measure]) -> str:
    if not rows:
        return "Pool bias needs two systems or more."

    def loss(row: _PoolRow) -> float:
        return row.change if measures[row.measure].higher_is_better is False else -row.change

    most = max(rows, key=loss)
    if loss(most) <= 0:
        return "No system loses."
    where = f"{most.measure} of {for_message(most.system)}"
    return f"The largest loss without a system's own documents is {loss(most):.4f} ({where})."
