"""Tied scores: expected, worst and best values over the orders of tied documents."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import astuple, dataclass
from hashlib import blake2b
from itertools import permutations, product

import numpy as np

from rankproof._align.hits import Hits
from rankproof._analysis.audit.rearranged import Rearrangement, query_hits, rearranged_values
from rankproof._analysis.inputs import AnalysisInput
from rankproof._analysis.values import RankedList, all_hits, in_summary, measure_result, query_counts, ranked_lists
from rankproof._data.arrays import FloatArray, IntArray
from rankproof._data.table import Column, Table, TableSummary
from rankproof._evaluation.result import MeasureResult
from rankproof._evaluation.value_ranges import can_tie, gain_for
from rankproof._statistics.deterministic import random_words, stream_key
from rankproof.errors import for_message
from rankproof.measures._base import Measure
from rankproof.measures._relevant import relevant_counts


@dataclass(frozen=True, eq=False, slots=True)
class TieGroup:
    """Documents with the same score: the rank of the first, their number, and the indices of the judged ones."""

    start: int
    size: int
    members: IntArray

    @property
    def ranks(self) -> range:
        """The ranks of its documents."""
        return range(self.start, self.start + self.size)


def tie_groups(hits: Hits, query: int, ranked_list: RankedList) -> list[TieGroup]:
    """The groups of a query's list with a judged document, from the top; a single document is a group too."""
    ranks, _ = query_hits(hits, query)
    starts = np.flatnonzero(np.concatenate(([True], ranked_list.keys[1:] != ranked_list.keys[:-1]))) + 1
    ends = np.append(starts[1:], len(ranked_list.keys) + 1)
    owner = np.searchsorted(starts, ranks, side="right") - 1
    return [
        TieGroup(int(starts[at]), int(ends[at] - starts[at]), np.flatnonzero(owner == at)) for at in np.unique(owner).tolist()
    ]


def order_matters(group: TieGroup, gain_values: FloatArray) -> bool:
    """Whether the order of the group matters: its documents, unjudged ones included, differ in gain."""
    own = gain_values[group.members]
    lowest = 0.0 if len(own) < group.size else float(own.min())
    return group.size > 1 and float(own.max()) != lowest


def extreme_order(hits: Hits, query: int, groups: list[TieGroup], gain_values: FloatArray, *, best: bool) -> Rearrangement:
    """The hits with the best documents of each group first, or last."""
    ranks, grades = query_hits(hits, query)
    moved = ranks.copy()
    for group in groups:
        order = group.members[np.argsort(-gain_values[group.members] if best else gain_values[group.members], kind="stable")]
        first = group.start if best else group.start + group.size - len(order)
        moved[order] = np.arange(first, first + len(order))
    return Rearrangement(query, moved, grades)


MAX_ORDERS = 720
SAMPLES = 200
SEED = 0

ClosedForm = Callable[[list[TieGroup], FloatArray, int, int], float]


def expected_sum(measure: Measure, hits: Hits, query: int, groups: list[TieGroup]) -> float:
    """The expected value of a sum over documents: each hit's term averaged over the ranks of its group."""
    _, grades = query_hits(hits, query)
    hits_of_groups = [(group, grades[at : at + 1]) for group in groups for at in group.members.tolist()]
    spread = [Rearrangement(query, np.array([rank]), grade) for group, grade in hits_of_groups for rank in group.ranks]
    shares = np.array([1 / group.size for group, _ in hits_of_groups for _ in group.ranks])
    return math.fsum((rearranged_values(measure, hits, spread) * shares).tolist())


def reciprocal_rank(groups: list[TieGroup], gain_values: FloatArray, depth: int, total: int) -> float:
    """The expected 1 / rank of the first relevant document over the orders of its group."""
    for group in groups:
        relevant = int(gain_values[group.members].sum())
        if relevant:
            ways = math.comb(group.size, relevant)
            chances = ((place, math.comb(group.size - place - 1, relevant - 1) / ways) for place in range(group.size))
            return math.fsum(chance / (group.start + place) for place, chance in chances if group.start + place <= depth)
    return 0.0


def success(groups: list[TieGroup], gain_values: FloatArray, depth: int, total: int) -> float:
    """1 minus the probability that the part of the group within the cutoff has no relevant document."""
    for group in groups:
        relevant = int(gain_values[group.members].sum())
        above = max(0, min(group.size, depth - group.start + 1))
        if relevant:
            return 1 - math.comb(group.size - relevant, above) / math.comb(group.size, above)
    return 0.0


def average_precision(groups: list[TieGroup], gain_values: FloatArray, depth: int, total: int) -> float:
    """The sum over ranks of the probability of a relevant document times its expected precision."""
    before, terms = 0, []
    for group in groups:
        relevant = int(gain_values[group.members].sum())
        others = (relevant - 1) / (group.size - 1) if group.size > 1 else 0.0
        for place in range(group.size if relevant else 0):
            rank = group.start + place
            if rank <= depth:
                terms.append(relevant / group.size * (before + 1 + place * others) / rank)
        before += relevant
    return math.fsum(terms) / total if total else 0.0


CLOSED_FORMS: dict[str, ClosedForm] = {"RR": reciprocal_rank, "Success": success, "AP": average_precision}


def closed_form(measure: Measure, hits: Hits, query: int, groups: list[TieGroup], gain_values: FloatArray) -> float:
    """The expected value by the measure's closed form."""
    total = int(relevant_counts(hits.judged, getattr(measure, "least", 1))[query])
    return CLOSED_FORMS[measure.name](groups, gain_values, getattr(measure, "depth", 0), total)


def tie_orders(hits: Hits, query: int, groups: list[TieGroup]) -> tuple[list[Rearrangement], bool]:
    """All orders of a query's hits, or a sample seeded by the query id; and whether they are all."""
    ranks, grades = query_hits(hits, query)
    count = math.prod(math.perm(group.size, len(group.members)) for group in groups)
    chosen = _all_orders(groups) if count <= MAX_ORDERS else _sampled_orders(groups, hits.queries[query])
    orders = []
    for places in chosen:
        moved = ranks.copy()
        for group, where in zip(groups, places, strict=True):
            moved[group.members] = group.start + np.array(where)
        orders.append(Rearrangement(query, moved, grades))
    return orders, count <= MAX_ORDERS


def _all_orders(groups: list[TieGroup]) -> Iterator[tuple[tuple[int, ...], ...]]:
    return product(*(permutations(range(group.size), len(group.members)) for group in groups))


def _sampled_orders(groups: list[TieGroup], query: str) -> Iterator[tuple[tuple[int, ...], ...]]:
    """Random orders seeded by the query id, so that neither other queries nor the input order change them."""
    key = stream_key(_id_seed(query) ^ SEED, "orders")
    ends = np.cumsum([group.size for group in groups]).tolist()
    for sample in range(SAMPLES):
        words = random_words(key, sample * ends[-1], ends[-1])
        parts = zip(groups, np.split(words, ends[:-1]), strict=True)
        yield tuple(tuple(np.argsort(part, kind="stable")[: len(group.members)].tolist()) for group, part in parts)


def _id_seed(query: str) -> int:
    """A 64-bit hash of an id."""
    return int.from_bytes(blake2b(query.encode(errors="surrogatepass"), digest_size=8).digest(), "little")


MAX_TIE_EXAMPLES = 3
_COLUMNS = (
    Column("measure"),
    Column("system"),
    Column("value", "value", "ties broken by document id"),
    Column("expected", "value", "mean over all orders of tied documents"),
    Column("worst", "value"),
    Column("best", "value"),
    Column("queries", "count", "queries whose value depends on the order of ties"),
    Column("method", about="how the expected value was computed"),
)


@dataclass(frozen=True, eq=False, slots=True)
class TieReport:
    """One measure of one system under ties, per query; `open_queries` counts queries whose value depends on the order."""

    expected: FloatArray
    worst: FloatArray
    best: FloatArray
    open_queries: int
    how: str


@dataclass(frozen=True, slots=True)
class _TieRow:
    """One measure of one system under ties, summarised; fields are columns."""

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


_LEAST_SHOWN = 0.0001
"""The smallest difference that four decimals show."""


def audit_ties(inputs: AnalysisInput) -> Table:
    """A row for each measure and system whose value depends on the order of tied documents."""
    hits = all_hits(inputs)
    lists = {system: ranked_lists(inputs, system) for system in inputs.systems}
    rows: list[_TieRow] = []
    skipped, checked = [], 0
    for name, measure in inputs.result.systems[0].measures.items():
        if not can_tie(measure.measure):
            skipped.append(name)
            continue
        for system in inputs.systems:
            checked += 1
            ties = tie_report(measure.measure, hits[system], lists[system])
            rows += [_row(measure_result(inputs, system, name), ties, hits[system], system)] if ties.open_queries else []
    return _table(inputs, rows, checked, skipped)


def tie_report(measure: Measure, hits: Hits, lists: Mapping[str, RankedList]) -> TieReport:
    """The expected, worst and best value of each query."""
    plain = measure.values(hits)
    expected, worst, best = plain.copy(), plain.copy(), plain.copy()
    gain_values, touched, sampled = gain_for(measure), 0, 0
    # Most queries have no tie that matters, and orders are slow to compute.
    for query in np.unique(hits.query_index[hits.ties.sizes > 1]).tolist():
        name = hits.queries[query]
        value = gain_values(query_hits(hits, query)[1])
        groups = tie_groups(hits, query, lists[name])
        if not any(order_matters(group, value) for group in groups):
            continue
        ends = [extreme_order(hits, query, groups, value, best=last) for last in (False, True)]
        worst[query], best[query] = rearranged_values(measure, hits, ends)
        if measure.additive:
            expected[query] = expected_sum(measure, hits, query, groups)
        elif measure.name in CLOSED_FORMS:
            expected[query] = closed_form(measure, hits, query, groups, value)
        else:
            orders, everything = tie_orders(hits, query, groups)
            expected[query] = float(np.mean(rearranged_values(measure, hits, orders)))
            sampled += not everything
        touched += bool(worst[query] != best[query])
    return TieReport(expected, worst, best, touched, _how(measure, sampled))


def _how(measure: Measure, sampled: int) -> str:
    if measure.additive or measure.name in CLOSED_FORMS:
        return "closed form"
    return f"{SAMPLES} sampled orders in {sampled} queries, seed {SEED}; else all" if sampled else "all orders"


def _row(measured: MeasureResult, ties: TieReport, hits: Hits, system: str) -> _TieRow:
    chosen, weights = in_summary(hits, measured), measured.weights
    every = (ties.expected, ties.worst, ties.best)
    expected, worst, best = (measured.measure.summarise(values[chosen], weights) for values in every)
    return _TieRow(str(measured.measure), system, measured.value, expected, worst, best, ties.open_queries, ties.how)


def _table(inputs: AnalysisInput, rows: list[_TieRow], checked: int, skipped: list[str]) -> Table:
    counts = query_counts(inputs)
    sentences = [f"Ties can change {len(rows)} of {checked} values of {len(inputs.systems)} systems over {counts}."]
    if rows:
        widest = max(rows, key=lambda row: row.spread)
        spread = f"{widest.spread:.4f}" if widest.spread >= _LEAST_SHOWN else f"below {_LEAST_SHOWN}"
        sentences.append(
            f"The largest spread: {widest.measure} of {for_message(widest.system)}, {spread} between worst and best."
        )
    if skipped:
        sentences.append(f"Not computed for {', '.join(skipped)}.")
    return Table(
        "audit-ties",
        f"Ties: values over all orders of tied documents, {counts}",
        (*_COLUMNS, *counts.column),
        tuple((*astuple(row), *counts.cell(row.system)) for row in rows),
        tuple(sentences),
        facts=counts.facts,
        verdict_first=True,
        summary=TableSummary(
            ("measure", "system", "value", "expected", "worst", "best"),
            tuple(sorted(sorted(range(len(rows)), key=lambda at: -rows[at].spread)[:MAX_TIE_EXAMPLES])),
        ),
    )
