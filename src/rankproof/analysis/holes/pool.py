"""Pool bias: what each system would be worth had it not taken part in the pool."""

from __future__ import annotations

from dataclasses import astuple, dataclass

from ...data.qrels import Qrels
from ...errors import shown
from ...evaluation import evaluate_runs
from ...measures import Measure
from ..counts import counts_of
from ..evidence import Evidence
from ..table import Column, Glance, Table
from .unjudged import Holes, is_judged

_UNJUDGED = -1
_COLUMNS = (
    Column("measure"),
    Column("system"),
    Column("judged alone", "count", "judged documents that no other system retrieved"),
    Column("relevant", "count", "of them"),
    Column("value", "value"),
    Column("without", "value", "the value if those had not been judged"),
    Column("change", "difference"),
)


@dataclass(frozen=True, slots=True)
class _Row:
    """One measure of one system with and without what it alone retrieved; the fields are the table's columns."""

    measure: str
    system: str
    alone: int
    relevant: int
    value: float
    without: float
    change: float


def audit_pool(evidence: Evidence, holes: Holes) -> Table:
    """Each system valued without the judgements of documents that it alone retrieved."""
    measures = {name: one.measure for name, one in evidence.result.systems[0].measures.items()}
    rows = [row for system in evidence.systems for row in _rows(evidence, holes, system)] if len(evidence.systems) > 1 else []
    rows.sort(key=lambda row: list(measures).index(row.measure))
    counts = counts_of(evidence)
    return Table(
        name="audit-pool",
        title=f"Pool: each system without the judged documents that it alone retrieved, {counts}",
        columns=(*_COLUMNS, *counts.column),
        rows=tuple((*astuple(row), *counts.cell(row.system)) for row in rows),
        sentences=(_said(rows, measures),),
        facts=counts.facts,
        verdict_first=True,
        glance=Glance(),
    )


def _rows(evidence: Evidence, holes: Holes, system: str) -> list[_Row]:
    alone = _found_alone(holes, system)
    without = _without(evidence, system, alone)
    count, good = sum(map(len, alone.values())), _relevant(evidence, alone)
    before = evidence.result.means[system]
    return [_Row(name, system, count, good, value, without[name], without[name] - value) for name, value in before.items()]


def _found_alone(holes: Holes, system: str) -> dict[str, frozenset[str]]:
    """Per query, the judged documents that only this system retrieved."""
    alone = {}
    for query, listing in holes.lists[system].items():
        others = {doc for name, each in holes.lists.items() if name != system and query in each for doc in each[query].docs}
        judged = holes.evidence.qrels[query]
        alone[query] = frozenset(doc for doc in listing.docs if is_judged(judged, doc) and doc not in others)
    return alone


def _without(evidence: Evidence, system: str, alone: dict[str, frozenset[str]]) -> dict[str, float]:
    """The values when those documents count as unjudged; a query keeps its place though all its judgements go."""
    grades = {
        query: {doc: _UNJUDGED if doc in alone.get(query, ()) else grade for doc, grade in docs.items()}
        for query, docs in evidence.qrels.items()
    }
    measures = [one.measure for one in evidence.result.systems[0].measures.values()]
    result = evaluate_runs(Qrels.from_dict(grades), {system: evidence.runs[system]}, measures, evidence.options)
    return result.means[system]


def _relevant(evidence: Evidence, alone: dict[str, frozenset[str]]) -> int:
    return sum(evidence.qrels[query][doc] >= evidence.rel for query, docs in alone.items() for doc in docs)


def _said(rows: list[_Row], measures: dict[str, Measure]) -> str:
    if not rows:
        return "Pool bias needs two systems or more."

    def loss(row: _Row) -> float:
        return row.change if measures[row.measure].higher_is_better is False else -row.change

    most = max(rows, key=loss)
    if loss(most) <= 0:
        return "No system loses by it."
    where = f"{most.measure} of {shown(most.system)}"
    return f"A system judged without its own finds loses at most {loss(most):.4f} here ({where})."
