"""Queries for which a system has nothing relevant at the top: where the target is, and what stands there instead."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ...errors import shown
from ..counts import counts_of
from ..evidence import Evidence
from ..listings import EMPTY, Listing, listings, relevant_docs
from ..table import Column, Glance, Item, Table
from ..wording import clipped, counted

_LENGTH = 45


@dataclass(frozen=True, slots=True)
class Failure:
    """One failed query: the best relevant document, the rank of the first relevant one (None: not retrieved), and the top."""

    query: str
    target: str
    rank: int | None
    instead: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Failures:
    """A system's failed queries, those whose target is furthest away first; `hopeless` have no relevant document at all."""

    system: str
    queries: int
    failed: tuple[Failure, ...]
    hopeless: int

    @property
    def deeper(self) -> int:
        """How many have a relevant document further down."""
        return sum(failure.rank is not None for failure in self.failed)


def failures(evidence: Evidence, system: str, cutoff: int) -> Failures:
    """The queries without a relevant document in the first `cutoff`."""
    ranked, queries = listings(evidence, system), counts_of(evidence).queries[system]
    found, hopeless = [], 0
    for query in queries:
        relevant = relevant_docs(evidence.qrels[query], evidence.rel)
        hopeless += not relevant
        failure = _failure(query, relevant, ranked.get(query, EMPTY), cutoff) if relevant else None
        found += [failure] if failure else []
    found.sort(key=lambda failure: (failure.rank is not None, -(failure.rank or 0)))
    return Failures(system, len(queries), tuple(found), hopeless)


def _failure(query: str, relevant: list[str], listing: Listing, cutoff: int) -> Failure | None:
    docs, wanted = listing.docs, set(relevant)
    rank = next((place for place, doc in enumerate(docs, start=1) if doc in wanted), None)
    if rank is not None and rank <= cutoff:
        return None
    return Failure(query, relevant[0] if rank is None else docs[rank - 1], rank, docs[:cutoff])


def failures_table(found: Mapping[str, Failures], cutoff: int) -> Table:
    """How many queries fail for each system, and whether more depth would help."""
    columns = (
        *(Column("system"), Column("n", "count"), Column("failed", "count", f"nothing relevant in the top {cutoff}")),
        Column("share", "share", "of all queries"),
        Column("found deeper", "count", "failed, with a relevant document further down: ranking could mend it"),
        Column("not retrieved", "count", "failed, with no relevant document in the whole ranking: only retrieval could"),
        Column(
            "nothing relevant", "count", "queries that no system can answer: nothing is judged relevant; not among the failed"
        ),
    )
    rows = tuple(
        (
            *(each.system, each.queries, len(each.failed), len(each.failed) / each.queries),
            *(each.deeper, len(each.failed) - each.deeper, each.hopeless),
        )
        for each in found.values()
    )
    title = f"Queries with nothing relevant in the top {cutoff}"
    return Table("failures", title, columns, rows, facts={"cutoff": cutoff}, glance=Glance())


def failed_table(evidence: Evidence, found: Failures, cutoff: int, most: int) -> Table:
    """The failed queries of one system with what was retrieved instead, the first `most` of them; texts where they are known."""
    columns = [
        *(Column("query"), Column("text"), Column("rank", "count", "of the first relevant document; none: not retrieved")),
        *(Column("relevant"), Column("its text"), Column("first instead"), Column("that one's text")),
    ]
    rows = [_failed_row(failure, evidence) for failure in found.failed[:most]]
    told = [at for at in range(len(columns)) if at in (0, 2, 3, 5) or any(row[at] is not None for row in rows)]
    count = len(found.failed)
    some = f", {most} of them shown" if count > most else ""
    queries = counted(found.queries, "query", "queries")
    what = f"{count} of n = {queries} ({count / found.queries:.1%}) have nothing relevant in the top {cutoff}{some}"
    return Table(
        name="failed queries",
        title=f"Where {shown(found.system)} fails: {what}",
        columns=tuple(columns[at] for at in told),
        rows=tuple(tuple(row[at] for at in told) for row in rows),
        sentences=_deeper_said(found),
        facts={"system": found.system, "n": found.queries, "failed": count, "cutoff": cutoff},
        verdict_first=True,
        glance=Glance(("query", "text", "rank", "relevant"), tuple(range(len(rows)))),
    )


def _deeper_said(found: Failures) -> tuple[str, ...]:
    nowhere = len(found.failed) - found.deeper
    if not found.failed:
        return ("No query fails.",)
    return (
        f"A relevant document stands further down for {found.deeper} of them, which a better order could mend, and nowhere for"
        f" {nowhere}, which only retrieval could.",
    )


def _failed_row(failure: Failure, evidence: Evidence) -> tuple[Item, ...]:
    first = failure.instead[0] if failure.instead else None
    text = evidence.texts[failure.query].text if evidence.texts and failure.query in evidence.texts else None
    target, instead = evidence.snippets.get(failure.target), evidence.snippets.get(first or "")
    return failure.query, _cut(text), failure.rank, failure.target, _cut(target), first, _cut(instead)


def _cut(text: str | None) -> str | None:
    return None if text is None else clipped(text, _LENGTH)
