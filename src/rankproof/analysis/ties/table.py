"""Ties: what each value could be under other orders of documents that share their score."""

from __future__ import annotations

from dataclasses import astuple, dataclass

import numpy as np

from ...align.hits import Hits
from ...data.arrays import FloatArray
from ...errors import shown
from ...evaluation import MeasureResult
from ...measures import Measure
from ..arrangements import hits_of, values_of
from ..counts import counts_of
from ..evidence import Evidence
from ..listings import Listing, all_hits, counted, listings, result_of
from ..table import Column, Glance, Table
from .expected import CLOSED, SAMPLES, SEED, closed, orders, smeared
from .groups import extreme, groups_of, is_open, worth_for

FEW = 3
ENUMERATED = ("ERR", "bpref")
_COLUMNS = (
    Column("measure"),
    Column("system"),
    Column("value", "value", "ties settled by id, as everywhere"),
    Column("expected", "value", "over all orders of tied documents"),
    Column("worst", "value"),
    Column("best", "value"),
    Column("queries", "count", "whose value the order of ties can change"),
    Column("how", about="how the expected value was found"),
)


@dataclass(frozen=True, eq=False, slots=True)
class Tied:
    """One measure of one system under ties, per query; `open` counts the queries that the order can change."""

    expected: FloatArray
    worst: FloatArray
    best: FloatArray
    open: int
    how: str


@dataclass(frozen=True, slots=True)
class _Row:
    """One measure of one system under ties, summarised; the fields are the table's columns."""

    measure: str
    system: str
    value: float
    expected: float
    worst: float
    best: float
    queries: int
    how: str

    @property
    def spread(self) -> float:
        return self.best - self.worst


def audit_ties(evidence: Evidence) -> Table:
    """A row for each measure and system whose value depends on the order of ties."""
    hits = all_hits(evidence)
    lists = {system: listings(evidence, system) for system in evidence.systems}
    rows: list[_Row] = []
    skipped, checked = [], 0
    for name, one in evidence.result.systems[0].measures.items():
        if not can_tie(one.measure):
            skipped.append(name)
            continue
        for system in evidence.systems:
            checked += 1
            ties = tied(one.measure, hits[system], lists[system])
            rows += [_row(result_of(evidence, system, name), ties, hits[system], system)] if ties.open else []
    return _table(evidence, rows, checked, skipped)


def can_tie(measure: Measure) -> bool:
    """Whether ties are worked out for the measure."""
    return measure.summary == "mean" and (measure.additive or measure.name in (*CLOSED, *ENUMERATED))


def tied(measure: Measure, hits: Hits, lists: dict[str, Listing]) -> Tied:
    """Expected, worst and best value of each query."""
    plain = measure.values(hits)
    expected, worst, best = plain.copy(), plain.copy(), plain.copy()
    worth, touched, sampled = worth_for(measure), 0, 0
    for query, name in enumerate(hits.queries):
        if name not in lists or not len(hits_of(hits, query)[0]):
            continue
        value = worth(hits_of(hits, query)[1])
        groups = groups_of(hits, query, lists[name])
        if not any(is_open(group, value) for group in groups):
            continue
        ends = [extreme(hits, query, groups, value, best=last) for last in (False, True)]
        worst[query], best[query] = values_of(measure, hits, ends)
        if measure.additive:
            expected[query] = smeared(measure, hits, query, groups)
        elif measure.name in CLOSED:
            expected[query] = closed(measure, hits, query, groups, value)
        else:
            arranged, everything = orders(hits, query, groups)
            expected[query] = float(np.mean(values_of(measure, hits, arranged)))
            sampled += not everything
        touched += bool(worst[query] != best[query])
    return Tied(expected, worst, best, touched, _how(measure, sampled))


def _how(measure: Measure, sampled: int) -> str:
    if measure.additive or measure.name in CLOSED:
        return "closed form"
    return f"{SAMPLES} sampled orders in {sampled} queries, seed {SEED}; else all" if sampled else "all orders"


def _row(one: MeasureResult, ties: Tied, hits: Hits, system: str) -> _Row:
    chosen, summarise = counted(hits, one), one.measure.summarise
    expected, worst, best = (summarise(values[chosen]) for values in (ties.expected, ties.worst, ties.best))
    return _Row(str(one.measure), system, one.value, expected, worst, best, ties.open, ties.how)


def _table(evidence: Evidence, rows: list[_Row], checked: int, skipped: list[str]) -> Table:
    counts = counts_of(evidence)
    said = [f"Ties can change {len(rows)} of {checked} values of {len(evidence.systems)} systems over {counts}."]
    if rows:
        widest = max(rows, key=lambda row: row.spread)
        said.append(f"The widest: {widest.measure} of {shown(widest.system)}, by {widest.spread:.4f} between worst and best.")
    if skipped:
        said.append(f"Ties are not worked out for {', '.join(skipped)}.")
    return Table(
        "audit-ties",
        f"Ties: values over the orders of tied documents, {counts}",
        (*_COLUMNS, *counts.column),
        tuple((*astuple(row), *counts.cell(row.system)) for row in rows),
        tuple(said),
        facts=counts.facts,
        verdict_first=True,
        glance=Glance(
            ("measure", "system", "value", "expected", "worst", "best"),
            tuple(sorted(sorted(range(len(rows)), key=lambda at: -rows[at].spread)[:FEW])),
        ),
    )
