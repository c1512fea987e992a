"""What there was to find for one query: the ideal list, or the relevant documents and where each of them stands."""

from __future__ import annotations

import numpy as np

from ...align.hits import Hits
from ...errors import shown
from ...measures import Binary, Measure
from ...measures.gain import discounts
from ..evidence import Evidence
from ..listings import Listing
from ..table import Column, Item, Table

MISSED = "not retrieved"
_STANDS = Column("stands at", "count", "its rank in the system's list")


def ideal_table(evidence: Evidence, measure: Measure, hits: Hits, query: str, listing: Listing, rows: int) -> Table:
    """The best list that the judgements allow where the measure has one, else all that is relevant."""
    ranks = {doc: rank for rank, doc in enumerate(listing.docs, start=1)}
    if measure.ideal(hits.judged) is None:
        return _relevant(evidence, measure, query, ranks, rows)
    return _best(evidence, measure, hits, query, ranks, rows)


def _best(evidence: Evidence, measure: Measure, hits: Hits, query: str, ranks: dict[str, int], rows: int) -> Table:
    judged = hits.judged
    ideal = measure.ideal(judged)
    assert ideal is not None, "asked only where there is one"
    of_query = judged.queries.index(query)
    start = int(judged.offsets[of_query])
    docs = _by_grade(evidence, query)
    mine = np.flatnonzero((ideal.owners == of_query) & (ideal.gain > 0)).tolist()
    found: list[tuple[Item, ...]] = []
    for at in mine:
        doc = docs[int(ideal.at[at]) - start]
        rank, discount = int(ideal.ranks[at]), float(discounts(ideal.ranks[at : at + 1])[0])
        grade = evidence.qrels[query][doc]
        found.append((rank, doc, grade, float(ideal.gain[at]), discount, float(ideal.terms[at]), ranks.get(doc, MISSED)))
    whole = float(ideal.sums()[of_query])
    columns = (
        *(Column("rank", "count"), Column("document"), Column("grade", "count"), Column("gain", "value")),
        *(Column("discount", "value"), Column("term", "value"), _STANDS),
    )
    missed = sum(row[-1] == MISSED for row in found)
    said = [f"The ideal list adds up to {whole:.4f}; {missed} of its {len(found)} documents were not retrieved."]
    return Table(
        name="explain-ideal",
        title=f"The ideal list of query {shown(query)}",
        columns=columns,
        rows=tuple(found[:rows]),
        sentences=(*said, *_left(len(found), rows)),
        facts={"n": 1, "query": query, "sum": whole, "documents": len(found)},
    )


def _relevant(evidence: Evidence, measure: Measure, query: str, ranks: dict[str, int], rows: int) -> Table:
    least = measure.least if isinstance(measure, Binary) else 1
    grades = evidence.qrels[query]
    docs = [doc for doc in _by_grade(evidence, query) if grades[doc] >= least]
    docs.sort(key=lambda doc: ranks.get(doc, len(ranks) + 1))
    missed = sum(doc not in ranks for doc in docs)
    return Table(
        name="explain-relevant",
        title=f"The relevant documents of query {shown(query)}",
        columns=(Column("document"), Column("grade", "count"), _STANDS),
        rows=tuple((doc, grades[doc], ranks.get(doc, MISSED)) for doc in docs[:rows]),
        sentences=(f"{missed} of {len(docs)} relevant documents were not retrieved.", *_left(len(docs), rows)),
        facts={"n": 1, "query": query, "documents": len(docs), "rel": least},
    )


def _by_grade(evidence: Evidence, query: str) -> list[str]:
    """The judged documents in the order of the judged grades, highest first; equal ones by id."""
    grades = evidence.qrels[query]
    return sorted(grades, key=lambda doc: (-grades[doc], doc))


def _left(count: int, rows: int) -> tuple[str, ...]:
    return (f"{count - rows} more are not shown.",) if count > rows else ()
