"""How much two rankings, or two orders of systems, agree: rank-biased overlap, Kendall's tau-b and tau-AP."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from rankproof._analysis.values import oriented_value
from rankproof._data.arrays import FloatArray, IntArray, repeat_each
from rankproof._data.ordering import ranked_run
from rankproof._data.run import Run
from rankproof._data.table import CellValue, Column, Table
from rankproof._data.text import MinorNote, format_p, pluralise, query_range
from rankproof._data.validation import ReadOptions
from rankproof._evaluation.result import Result
from rankproof._fusion.candidates import CandidateTable
from rankproof._statistics.options import PERSISTENCE
from rankproof._statistics.paired import is_number, setting_error
from rankproof._statistics.rank_correlation import (
    OrderAgreement,
    Overlap,
    kendall_tau,
    order_agreement,
    rank_biased_overlap,
    rank_biased_overlaps,
)
from rankproof.errors import UsageError, for_message
from rankproof.measures._base import Measure

_SOURCES = "Webber, Moffat and Zobel (2010); Kendall (1945); Yilmaz, Aslam and Robertson (2008)"
_ALIKE, _SIMILAR = 0.9, 0.8
"""Orders of systems with a tau of at least these are almost alike, or similar (Voorhees 2001)."""
_MAX_SWAPS = 10


def check_persistence(p: object) -> float:
    """The persistence of rank-biased overlap, or a UsageError if it is not between 0 and 1."""
    if not is_number(p) or not 0 < p < 1:  # type: ignore[operator]
        raise setting_error("persistence", p, "pass a number between 0 and 1, such as 0.9")
    return float(p)  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class SharedRanks:
    """The documents that two runs share, those of query i from offsets[i] to offsets[i + 1], in the order of the second run.

    `one` and `other` are their ranks from 1; `lengths` are those of the rankings of each query in both runs.
    """

    queries: tuple[str, ...]
    offsets: IntArray
    one: IntArray
    other: IntArray
    lengths: IntArray

    @property
    def counts(self) -> IntArray:
        """The number of shared documents of each query."""
        return np.diff(self.offsets)

    def cut(self, depth: int) -> SharedRanks:
        """The documents that the first ranks of both runs share."""
        kept = (self.one <= depth) & (self.other <= depth)
        offsets = np.concatenate(([0], np.cumsum(kept)))[self.offsets]
        return SharedRanks(self.queries, offsets, self.one[kept], self.other[kept], np.minimum(self.lengths, depth))

    def overlap(self, p: float = PERSISTENCE) -> Overlap:
        """Rank-biased overlap of each query."""
        return rank_biased_overlaps(np.maximum(self.one, self.other), self.offsets, self.lengths[0], self.lengths[1], p)

    def orders(self) -> OrderAgreement:
        """Agreement of the orders of shared documents; the first run has the true order."""
        first = repeat_each(self.offsets[:-1], self.counts)
        true = np.argsort(first * (int(self.one.max(initial=0)) + 1) + self.one)
        place = np.empty(len(true), np.int64)
        place[true] = np.arange(len(true))
        return order_agreement(place - first, self.offsets)


def shared_ranks(run: Run, other: Run, read_options: ReadOptions | None = None) -> SharedRanks:
    """The shared documents of two runs, over the queries that either has."""
    read_options = read_options or ReadOptions()
    table = CandidateTable.of([run, other], read_options)
    queries = len(table.queries)
    split = int(table.bounds[queries])
    ranks = np.zeros(table.size, np.int64)
    ranks[table.places[:split]] = table.row_ranks[:split]
    first = ranks[table.places[split:]]
    shared = np.flatnonzero(first)
    # The rows of the second run follow those of the first, query by query: `split` is where they begin.
    offsets = np.searchsorted(shared, table.bounds[queries:] - split)
    shared_documents = SharedRanks(table.queries, offsets, first[shared], table.row_ranks[split:][shared], table.lengths)
    return shared_documents if read_options.depth is None else shared_documents.cut(read_options.depth)


@dataclass(frozen=True, slots=True)
class RankingAgreement:
    """The agreement of two rankings of each query."""

    shared: SharedRanks
    overlap: Overlap
    orders: OrderAgreement


def ranking_agreement(run: Run, other: Run, p: float = PERSISTENCE, read_options: ReadOptions | None = None) -> RankingAgreement:
    """The agreement of two runs, query by query."""
    shared = shared_ranks(run, other, read_options)
    return RankingAgreement(shared, shared.overlap(p), shared.orders())


RANKING_COLUMNS = (
    Column("RBO", "value", "rank-biased overlap, extrapolated: 1 for equal rankings, 0 for disjoint ones"),
    Column("RBO min", "value", "if the rankings shared nothing below their ends"),
    Column("RBO max", "value", "if they were equal below their ends"),
    Column("tau", "number", "Kendall's tau over the documents that both have"),
    Column("tau-AP", "number", "tau in which the top counts more; the first system has the true order"),
)


def correlate_rankings(runs: Mapping[str, Run], read_options: ReadOptions, *, p: float = PERSISTENCE) -> list[Table]:
    """The agreement of each two runs: means over queries, and the values of each query."""
    check_persistence(p)
    if len(runs) < 2:
        raise UsageError("there is only one run", fix="pass two runs or more")
    if read_options.judged_only:
        raise UsageError("-J needs judgements, and rankings are compared without them", fix="leave out -J")
    if read_options.on_duplicate != "error":
        runs = {name: ranked_run(run, replace(read_options, depth=None)) for name, run in runs.items()}
        read_options = ReadOptions(depth=read_options.depth)
    agreements = {pair: ranking_agreement(runs[pair[0]], runs[pair[1]], p, read_options) for pair in combinations(runs, 2)}
    for (first, second), agreement in agreements.items():
        if not agreement.shared.queries:
            raise UsageError(f"{for_message(first)} and {for_message(second)} have no query", fix="pass runs with results")
    facts = {"persistence": p, "source": _SOURCES}
    rows = tuple((*pair, *_means(agreement)) for pair, agreement in agreements.items())
    columns = (
        Column("system"),
        Column("other"),
        *RANKING_COLUMNS,
        Column("shared", "share", "shared documents, as a share of the longer ranking"),
        Column("n", "count", "queries that either has"),
    )
    title = f"Agreement of rankings (p = {p:g}), means over queries"
    table = Table("rankings", title, columns, rows, tuple(_sentences(rows)), tuple(_notes(agreements)), facts, verdict_first=True)
    return [table, _query_table(agreements, facts)]


def _means(agreement: RankingAgreement) -> tuple[CellValue, ...]:
    shared, overlap, orders = agreement.shared, agreement.overlap, agreement.orders
    shares = shared.counts / np.maximum(shared.lengths.max(axis=0), 1)
    values = (overlap.extrapolated, overlap.least, overlap.most, orders.tau, orders.tau_ap, shares)
    return (*(_mean(value) for value in values), len(shared.queries))


def _mean(values: FloatArray) -> float | None:
    """The mean of the values that are known; None if none is."""
    known = values[~np.isnan(values)]
    return math.fsum(known.tolist()) / len(known) if len(known) else None


def _sentences(rows: Sequence[tuple[CellValue, ...]]) -> Iterator[str]:
    """The pair that agrees most, then the pair that agrees least."""
    by_overlap = sorted(rows, key=lambda row: -float(row[2]))  # type: ignore[arg-type]
    for first, second, overlap, least, most, tau, *_, n in dict.fromkeys((by_overlap[0], by_overlap[-1])):
        names = f"{for_message(str(first))} and {for_message(str(second))}"
        by_tau = "" if tau is None else f"; tau {tau:.2f} over the documents that both have"
        queries = pluralise(int(n), "query", "queries")  # type: ignore[arg-type]
        yield f"{names}: RBO {overlap:.3f}, between {least:.3f} and {most:.3f} with any continuation{by_tau} ({queries})."


def _notes(agreements: Mapping[tuple[str, str], RankingAgreement]) -> Iterator[str]:
    for (first, second), agreement in agreements.items():
        lone = int(np.count_nonzero(agreement.shared.lengths.min(axis=0) == 0))
        if lone:
            queries = pluralise(lone, "query is", "queries are")
            yield f"{queries} in only one of {for_message(first)} and {for_message(second)}: RBO 0"
    few = [int(np.count_nonzero(agreement.shared.counts < 2)) for agreement in agreements.values()]
    if any(few):
        pairs = pluralise(sum(map(bool, few)), "pair of systems shares", "pairs of systems share")
        yield MinorNote(f"{pairs} fewer than 2 documents on {query_range(filter(None, few))}, which have no tau")


def _query_table(agreements: Mapping[tuple[str, str], RankingAgreement], facts: Mapping[str, object]) -> Table:
    columns = (
        Column("query"),
        Column("system"),
        Column("other"),
        *RANKING_COLUMNS,
        Column("shared", "count", "documents of both"),
    )
    rows = tuple(row for pair, agreement in agreements.items() for row in _query_rows(pair, agreement))
    return Table("queries", "Agreement of rankings by query", columns, rows, facts=dict(facts))


def _query_rows(pair: tuple[str, str], agreement: RankingAgreement) -> Iterator[tuple[CellValue, ...]]:
    overlap, orders = agreement.overlap, agreement.orders
    columns = (overlap.extrapolated, overlap.least, overlap.most, orders.tau, orders.tau_ap, agreement.shared.counts)
    for query, *values, count in zip(agreement.shared.queries, *(column.tolist() for column in columns), strict=True):
        yield (query, *pair, *(None if math.isnan(value) else value for value in values), count)


@dataclass(frozen=True, slots=True)
class SystemOrder:
    """An order of systems: its label, and the value of each system, higher is better."""

    label: str
    values: Mapping[str, float]


def system_order(result: Result, measure: str, label: str) -> SystemOrder:
    """The systems of a result by the mean of a measure."""
    return SystemOrder(label, {system.name: oriented_value(system.measures[measure]) for system in result.systems})


def ordering_measures(result: Result) -> list[Measure]:
    """The evaluated measures that say which system is better."""
    return [measure.measure for measure in result.systems[0].measures.values() if measure.measure.has_winner]


def correlate_orders(pairs: Sequence[tuple[SystemOrder, SystemOrder]], *, p: float = PERSISTENCE) -> list[Table]:
    """The agreement of each two orders of the same systems, and the pairs of systems that they swap."""
    check_persistence(p)
    systems = len(pairs[0][0].values)
    if systems < 3:
        raise UsageError(f"an order of {pluralise(systems, 'system')} has too few pairs", fix="pass three systems or more")
    swaps = [list(_swaps(order, other)) for order, other in pairs]
    rows = tuple(_order_row(order, other, len(swapped), p) for (order, other), swapped in zip(pairs, swaps, strict=True))
    columns = (
        Column("order"),
        Column("other"),
        Column("tau-b", "number", "Kendall's tau-b: 1 for the same order, -1 for the reversed one"),
        Column("p", "p", "of tau-b, two-sided"),
        Column("tau-AP", "number", "tau in which the top counts more; the first order is the true one"),
        Column("RBO", "value", "rank-biased overlap of the orders"),
        Column("swapped", "count", "pairs of systems in the opposite order"),
        Column("systems", "count"),
    )
    facts = {"persistence": p, "source": _SOURCES}
    sentences = tuple(_order_sentence(row) for row in rows)
    notes = tuple(_tie_notes(pairs))
    table = Table(
        "orders", f"Agreement of orders of {systems} systems", columns, rows, sentences, notes, facts, verdict_first=True
    )
    return [table, _swap_table(pairs, swaps)] if any(swaps) else [table]


def _in_order(order: SystemOrder) -> list[str]:
    """The systems, best first; equal values by name."""
    return sorted(order.values, key=lambda name: (-order.values[name], name))


def _order_row(first: SystemOrder, other: SystemOrder, swapped: int, p: float) -> tuple[CellValue, ...]:
    names = list(first.values)
    correlation = kendall_tau(*(np.array([order.values[name] for name in names]) for order in (first, other)))
    true, estimated = _in_order(first), _in_order(other)
    place = {name: at for at, name in enumerate(true)}
    ranks = np.array([place[name] for name in estimated], np.int64)
    tau_ap = float(order_agreement(ranks, np.array([0, len(ranks)])).tau_ap[0])
    tau, by_chance = (None if math.isnan(value) else value for value in correlation)
    return first.label, other.label, tau, by_chance, tau_ap, rank_biased_overlap(true, estimated, p), swapped, len(names)


def _order_sentence(row: tuple[CellValue, ...]) -> str:
    first, second, tau, by_chance, tau_ap, _, swapped, systems = row
    names, count = f"{for_message(str(first))} and {for_message(str(second))}", int(systems)  # type: ignore[arg-type]
    if tau is None:
        return f"{names}: no tau, because one of them gives all systems the same value."
    how = _how_alike(float(tau))  # type: ignore[arg-type]
    numbers = f"tau {tau:.2f} ({format_p(float(by_chance or 0.0))}), tau-AP {tau_ap:.2f}"  # type: ignore[arg-type]
    return f"{names} order {count} systems {how}: {numbers}; {swapped} of {count * (count - 1) // 2} pairs are swapped."


def _how_alike(tau: float) -> str:
    if tau == 1:
        return "the same way"
    return "almost alike" if tau >= _ALIKE else "similarly" if tau >= _SIMILAR else "differently"


def _swaps(order: SystemOrder, other: SystemOrder) -> Iterator[tuple[str, str, float, float]]:
    """The pairs in opposite orders, as the first order has them, and by how much each order has one ahead."""
    for first, second in combinations(_in_order(order), 2):
        ahead, behind = order.values[first] - order.values[second], other.values[second] - other.values[first]
        if ahead > 0 and behind > 0:
            yield first, second, ahead, behind


def _swap_table(pairs: Sequence[tuple[SystemOrder, SystemOrder]], swaps: Sequence[list[tuple[str, str, float, float]]]) -> Table:
    columns = (
        Column("order"),
        Column("other"),
        Column("system", "text", "the system that the first order has ahead"),
        Column("behind"),
        Column("difference", "value", "by the first order"),
        Column("reversed by", "value", "by the other order"),
    )
    rows = tuple(
        (order.label, others.label, *swap)
        for (order, others), swapped in zip(pairs, swaps, strict=True)
        for swap in sorted(swapped, key=lambda swap: -min(swap[2], swap[3]))[:_MAX_SWAPS]
    )
    return Table("swaps", f"Swapped pairs of systems, at most {_MAX_SWAPS} of each two orders, largest first", columns, rows)


def _tie_notes(pairs: Sequence[tuple[SystemOrder, SystemOrder]]) -> Iterator[str]:
    for order in {id(order): order for pair in pairs for order in pair}.values():
        tied = len(order.values) - len(set(order.values.values()))
        if tied:
            systems = pluralise(tied, "system has", "systems have")
            yield f"{for_message(order.label)}: {systems} the value of another; tau-AP and RBO order them by name"
