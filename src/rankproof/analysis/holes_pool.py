"""Pool bias: what each system would be worth had it not taken part in the pool."""

from __future__ import annotations

from ..data.qrels import Qrels
from ..evaluation import Options, evaluate_runs
from .evidence import Evidence
from .holes_view import Holes
from .table import Column, Item, Table

_UNJUDGED = -1


def audit_pool(evidence: Evidence, holes: Holes) -> Table:
    """Each system valued without the judgements of documents that it alone retrieved."""
    names = list(evidence.result.systems[0].measures)
    rows: list[tuple[Item, ...]] = []
    for system in evidence.systems if len(evidence.systems) > 1 else ():
        alone = _found_alone(holes, system)
        without = _without(evidence, system, alone)
        before = evidence.result.means[system]
        count, good = sum(map(len, alone.values())), _relevant(evidence, alone)
        rows += [(name, system, count, good, before[name], without[name], without[name] - before[name]) for name in names]
    rows.sort(key=lambda row: names.index(str(row[0])))
    n = len(evidence.result.queries)
    return Table(
        name="audit-pool",
        title=f"Pool: each system without the judged documents that it alone retrieved, n = {n} queries",
        columns=(
            Column("measure"),
            Column("system"),
            Column("judged alone", "count", "judged documents that no other system retrieved"),
            Column("relevant", "count", "of them"),
            Column("value", "value"),
            Column("without", "value", "the value if those had not been judged"),
            Column("change", "difference"),
        ),
        rows=tuple(rows),
        sentences=_sentences(rows),
        facts={"n": n},
    )


def _found_alone(holes: Holes, system: str) -> dict[str, frozenset[str]]:
    """Per query, the judged documents that only this system retrieved."""
    alone = {}
    for query, listing in holes.lists[system].items():
        others = {doc for name, each in holes.lists.items() if name != system and query in each for doc in each[query].docs}
        judged = holes.evidence.qrels[query]
        alone[query] = frozenset(doc for doc in listing.docs if doc in judged and doc not in others)
    return alone


def _without(evidence: Evidence, system: str, alone: dict[str, frozenset[str]]) -> dict[str, float]:
    """The values when those documents count as unjudged; a query keeps its place though all its judgements go."""
    grades = {
        query: {doc: _UNJUDGED if doc in alone.get(query, ()) else grade for doc, grade in docs.items()}
        for query, docs in evidence.qrels.items()
    }
    measures = [one.measure for one in evidence.result.systems[0].measures.values()]
    options = Options(evidence.reading, rel=evidence.rel, queries=evidence.result.queries)
    result = evaluate_runs(Qrels.from_dict(grades), {system: evidence.runs[system]}, measures, options)
    return result.means[system]


def _relevant(evidence: Evidence, alone: dict[str, frozenset[str]]) -> int:
    return sum(evidence.qrels[query][doc] >= evidence.rel for query, docs in alone.items() for doc in docs)


def _sentences(rows: list[tuple[Item, ...]]) -> tuple[str, ...]:
    if not rows:
        return ("Pool bias needs two systems or more.",)
    lost = min(rows, key=lambda row: float(str(row[-1])))
    return (f"A system judged without its own finds loses at most {-float(str(lost[-1])):.4f} here ({lost[0]} of {lost[1]}).",)
