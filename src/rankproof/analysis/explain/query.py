"""One query's value taken apart: what each rank adds, and the best list that there was."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...errors import UsageError, shown
from ...evaluation import MeasureResult
from ..evidence import Evidence
from ..listings import EMPTY, Listing, all_hits, listings, result_of
from ..table import Column, Item, Table
from ..wording import clipped, counted
from .ideal import ideal_table
from .parts import Part, Taken, taken_apart

ROWS = 10
UNJUDGED = "unjudged"
COLUMNS = (
    Column("rank", "count"),
    Column("document"),
    Column("score", "number", "as the system gave it"),
    Column("grade", "count", "as judged"),
    Column("gain", "value", "what the document is worth"),
    Column("discount", "value", "the factor of its rank"),
    Column("term", "value", "gain x discount: what is added"),
    Column("contribution", "value", "the term's part of the value"),
)
WHOLES = {
    "nDCG": "the DCG of the ideal list",
    "AP": "all relevant documents",
    "P": "the cutoff",
    "R": "all relevant documents",
    "F1": "the cutoff and all relevant documents",
    "Rprec": "all relevant documents",
    "bpref": "all relevant documents",
    "SetP": "all retrieved documents",
    "SetR": "all relevant documents",
    "Judged": "the retrieved documents within the cutoff",
}


@dataclass(frozen=True, eq=False, slots=True)
class _Query:
    """What is asked, with what is known of it; `taken` is None where the measure cannot be taken apart by rank."""

    evidence: Evidence
    system: str
    one: MeasureResult
    id: str
    listing: Listing
    taken: Taken | None

    @property
    def value(self) -> float:
        return self.one.per_query[self.id]


def explain_query(evidence: Evidence, system: str, measure: str, query: str, *, rows: int = ROWS) -> list[Table]:
    """The ranking with what each document adds to the measure, then the ideal list or the relevant documents."""
    one = result_of(evidence, system, measure)
    _refuse_unknown(query, one)
    hits = all_hits(evidence)[system]
    parts = one.measure.parts(hits)
    taken = None if parts is None else taken_apart(parts, hits.queries.index(query))
    listing = listings(evidence, system, [query]).get(query, EMPTY)
    ranking = _ranking(_Query(evidence, system, one, query, listing, taken), rows)
    if one.measure.kind == "count":
        return [ranking]
    return [ranking, ideal_table(evidence, one.measure, hits, query, listing, rows)]


def _ranking(query: _Query, rows: int) -> Table:
    evidence, measure, listing = query.evidence, query.one.measure, query.listing
    adding = {} if query.taken is None else query.taken.by_rank()
    within = min(getattr(measure, "cutoff", None) or rows, rows, len(listing.docs))
    ranks = sorted({*range(1, within + 1), *adding})
    text = "" if evidence.texts is None or query.id not in evidence.texts else f": {clipped(evidence.texts[query.id].text)}"
    snippets = (Column("text", about="the beginning of the document"),) if evidence.snippets else ()
    return Table(
        name="explain-query",
        title=f"{measure} of {shown(query.system)} for query {shown(query.id)}{text}",
        columns=(*COLUMNS, *snippets),
        rows=tuple(_row(query, rank, adding.get(rank)) for rank in ranks),
        sentences=_sentences(query, len(ranks)),
        facts=_facts(query),
        strong=frozenset(place for place, rank in enumerate(ranks) if rank in adding),
    )


def _row(query: _Query, rank: int, part: Part | None) -> tuple[Item, ...]:
    evidence, doc = query.evidence, query.listing.docs[rank - 1]
    grade = evidence.qrels[query.id].get(doc)
    amounts = (part.gain, part.discount, part.term, part.contribution) if part else (None, None, None, 0.0)
    snippet = (clipped(evidence.snippets.get(doc, "")),) if evidence.snippets else ()
    return (rank, doc, float(query.listing.scores[rank - 1]), UNJUDGED if grade is None else grade, *amounts, *snippet)


def _sentences(query: _Query, shown_rows: int) -> tuple[str, ...]:
    one, value, retrieved = query.one, query.value, len(query.listing.docs)
    if query.taken is None:
        return (f"{one.measure} is {value:.4f} here; it is no sum over documents and cannot be taken apart by rank.",)
    said = [_sum_sentence(one, value, query.taken)]
    if not retrieved:
        said.append("The system retrieved nothing for this query, so it counts 0.")
    elif shown_rows < retrieved:
        said.append(f"{retrieved - shown_rows} more of {retrieved} retrieved documents add nothing.")
    if one.summary == "mean":
        n = counted(one.queries, "query", "queries")
        said.append(f"It adds {value / one.queries:.6f} to the mean of {one.value:.4f} over n = {n}.")
    return tuple(said)


def _sum_sentence(one: MeasureResult, value: float, taken: Taken) -> str:
    scale = "" if taken.scale == 1 else f"{taken.scale:.4g} x "
    what = WHOLES.get(one.measure.name)
    over = "" if what is None else f" / {taken.whole:.4f} ({what})"
    count = len(taken.by_rank())
    which = "1 document adds" if count == 1 else f"{count} documents add"
    return f"{which} up to the value: {scale}{taken.total:.4f}{over} = {value:.4f}."


def _facts(query: _Query) -> dict[str, Any]:
    one, taken = query.one, query.taken
    known = {"n": one.queries, "system": query.system, "measure": str(one.measure), "query": query.id, "value": query.value}
    if taken is None:
        return {**known, "taken_apart": False}
    return {**known, "taken_apart": True, "sum": taken.total, "whole": taken.whole, "scale": taken.scale}


def _refuse_unknown(query: str, one: MeasureResult) -> None:
    if query in one.query_ids:
        return
    from difflib import get_close_matches

    near = get_close_matches(query[:100], one.query_ids, n=3) or list(one.query_ids[:3])
    raise UsageError(f"no judged query is called {shown(query)}", fix=f"there is, for example, {', '.join(map(shown, near))}")
