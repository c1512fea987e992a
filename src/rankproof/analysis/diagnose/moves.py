"""What each rung of a ladder does to the relevant documents of the rung that it is measured over."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from ...errors import InputError, shown
from ...experiment.rung import Rung
from ..baselines.ceilings import Ceiling
from ..counts import Counts, counts_of
from ..evidence import Evidence
from ..gains import Increase
from ..listings import listings, relevant_docs
from ..table import Column, Glance, Item, Table
from ..wording import brief

Rankings = Mapping[str, Sequence[str]]
"""Query to documents, best first."""


@dataclass(frozen=True, slots=True)
class Moves:
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


def moves(above: Rankings, below: Rankings, relevant: Mapping[str, Collection[str]], cutoff: int) -> Moves:
    """The moves from the ranking below to the one above."""
    counts = dict.fromkeys(Moves.__slots__, 0)
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
    return Moves(**counts)


def _ranks(docs: Collection[str]) -> dict[str, int]:
    return {doc: rank for rank, doc in enumerate(docs, start=1)}


def _ranked(evidence: Evidence, system: str) -> Rankings:
    return {query: listing.docs for query, listing in listings(evidence, system).items()}


def moves_table(evidence: Evidence, measure: str, ceiling: Ceiling, cutoff: int) -> Table:
    """Every rung: what it found, lost, promoted and demoted, and the most that the order of its documents could give."""
    relevant = {query: relevant_docs(evidence.qrels[query], evidence.rel) for query in evidence.result.queries}
    ranked = {rung.name: _ranked(evidence, rung.name) for rung in evidence.rungs}
    counts = counts_of(evidence)
    means = {name: each[measure] for name, each in evidence.result.means.items()}
    rows: list[tuple[Item, ...]] = []
    said = []
    for rung in evidence.rungs:
        over = rung.over if rung.over in ranked else None
        _refuse_new_documents(rung, evidence, ranked)
        seen = moves(ranked[rung.name], ranked[over] if over else {}, relevant, cutoff)
        moved = (seen.found, seen.lost, seen.promoted, seen.demoted, seen.risen, seen.fallen) if over else (None,) * 6
        pool = ceiling.pools[rung.name]
        headroom = Increase(pool, means[rung.name]).points
        rows.append((rung.name, rung.kind, over, seen.kept, *moved, *counts.cell(rung.name), pool, headroom))
        said += [_said(rung, over, seen, cutoff)] if over else []
    total, n = sum(map(len, relevant.values())), len(relevant)
    return Table(
        name="moves",
        title=f"What each rung does to the {total} relevant documents: n = {n} queries",
        columns=_columns(measure, cutoff, counts),
        rows=tuple(rows),
        sentences=(*said, *_ceilings_said(evidence, measure, means, ceiling)),
        facts={**counts.facts, "n": n, "relevant": total, "cutoff": cutoff, "measure": measure},
        verdict_first=True,
        glance=Glance(),
    )


def _columns(measure: str, cutoff: int, counts: Counts) -> tuple[Column, ...]:
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


def _refuse_new_documents(rung: Rung, evidence: Evidence, ranked: Mapping[str, Rankings]) -> None:
    """A reranker has the documents of its pool, no more and no fewer; where a depth cuts both rankings they may differ."""
    pool = next((other for other in evidence.rungs if other.name == rung.over and rung.stage.get("stage") == other.stage), None)
    if rung.kind != "rerank" or pool is None or evidence.reading.depth is not None:
        return
    here, there = ranked[rung.name], ranked[pool.name]
    for query in here:
        if set(here[query]) != set(there.get(query, ())):
            what = f"{shown(rung.name)} reorders {shown(pool.name)}, but has other documents for query {shown(query)}"
            raise InputError(what, fix="the results are damaged: run the experiment again", source=evidence.name)


def _said(rung: Rung, over: str, seen: Moves, cutoff: int) -> str:
    top = f"{seen.risen} come into the top {cutoff} and {seen.fallen} leave it"
    order = f"promotes {seen.promoted} and demotes {seen.demoted}"
    if rung.kind == "rerank" and not seen.found and not seen.lost:
        return f"{shown(rung.name)} reorders {shown(over)}, adding and losing none: it {order}; {top}."
    gone = f"finds {seen.found} relevant documents that {shown(over)} does not, and loses {seen.lost}"
    return f"{shown(rung.name)} {gone}; of those in both it {order}; {top}."


def _ceilings_said(evidence: Evidence, measure: str, means: Mapping[str, float], ceiling: Ceiling) -> list[str]:
    """What the last rung could still gain by order alone."""
    last = evidence.rungs[-1].name
    pool = ceiling.pools[last]
    order, more = Increase(pool, means[last]).points, Increase(ceiling.oracle, pool).points
    return [
        f"The pool of {shown(last)} sets a ceiling of {measure} {brief(pool)}; it has {brief(means[last])}, so"
        f" {order:.1f} pp are to be had by order alone, and {more:.1f} pp only by finding more."
    ]
