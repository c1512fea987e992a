"""One document's score taken apart: what each ranking gave to a fused score, what each term gave to a BM25 score."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..._fusion.fuse import Fuser
from ..._fusion.method import METHODS, FusionMethod, FusionSettings
from ...errors import UsageError, shown
from ...experiment.collapsing import COLLAPSE
from ...experiment.rung import Rung
from ...stages.bm25_parts import TermPart
from ..evidence import Evidence
from ..listings import EMPTY, Listing, listings
from ..table import Column, Item, Table

_TERMS = (
    Column("term", about="of the query, as the index holds it"),
    Column("tf", "count", "times in the document"),
    Column("df", "count", "documents that have it"),
    Column("idf", "value", "ln(1 + (N - df + .5) / (df + .5))"),
    Column("norm", "value", "k1 (1 - b + b x length / mean length)"),
    Column("contribution", "value", "idf x tf (k1 + 1) / (tf + norm)"),
)
_OF_A_MODEL = "A score of {kind} is one number of a model and cannot be taken apart."
_OF_A_CHUNK = "The score is that of the document's best chunk, whose parts are not kept."


def rung_of(evidence: Evidence, system: str) -> Rung:
    """The rung of a system, refused where there is none."""
    rung = next((one for one in evidence.rungs if one.name == system), None)
    if rung is None:
        raise UsageError("a run file does not say how its scores came about", fix="explain a results folder, or leave out --doc")
    return rung


def explain_score(evidence: Evidence, system: str, query: str, doc: str, terms: Sequence[TermPart] | None = None) -> Table:
    """The parts of the score that a system of a results folder gave to a document; `terms` are those of a BM25 score."""
    rung = rung_of(evidence, system)
    listing = listings(evidence, system, [query]).get(query, EMPTY)
    if doc not in listing.docs:
        raise UsageError(
            f"{shown(system)} did not retrieve {shown(doc)} for query {shown(query)}", fix="name a document of its ranking"
        )
    place = listing.docs.index(doc)
    score = float(listing.scores[place])
    title = f"The score of {shown(doc)} for query {shown(query)} in {shown(system)}: {score:.6g}, rank {place + 1}"
    facts = {"n": 1, "system": system, "query": query, "document": doc, "score": score, "rank": place + 1}
    if COLLAPSE in rung.facts:
        return _whole(evidence, rung, query, doc, title, facts)
    if rung.stage.get("kind") == "Fuse":
        return _fused(evidence, rung, query, doc, title, facts)
    if rung.stage.get("kind") == "BM25":
        return _terms(rung, terms, title, facts)
    return _whole(evidence, rung, query, doc, title, facts)


def _fused(evidence: Evidence, rung: Rung, query: str, doc: str, title: str, facts: dict[str, Any]) -> Table:
    stage = rung.stage
    weights = stage["weights"] or [1.0] * len(stage["stages"])
    method = METHODS.named(stage["method"])
    fuser = Fuser(method, FusionSettings(stage["k"], stage["norm"]), tuple(weights))
    rows: list[tuple[Item, ...]] = []
    total, unknown = 0.0, 0
    for identity, weight in zip(stage["stages"], weights, strict=True):
        part = _same_stage(evidence, identity)
        listing = EMPTY if part is None else listings(evidence, part.name, [query]).get(query, EMPTY)
        unknown += part is None
        row = _given(fuser, listing, doc, weight)
        rows.append((identity["kind"] if part is None else part.name, *row))
        total += row[-1] if isinstance(row[-1], float) else 0.0
    found = sum(row[1] is not None for row in rows)
    times = f" x {found} rankings that have it" if method.times_found else ""
    total *= found if method.times_found else 1
    said = [f"{method.name} adds the contributions in this order{times}: {total:.6f}; the run has {facts['score']:.6f}."]
    if unknown:
        said.append(f"{unknown} of the fused rankings are no systems of this folder, so their part is not known.")
    return Table(
        "explain-fusion", title, _columns(method), tuple(rows), tuple(said), facts={**facts, "sum": total, "unknown": unknown}
    )


def _columns(method: FusionMethod) -> tuple[Column, ...]:
    return (
        Column("part", about="a ranking that was fused"),
        Column("rank", "count", "where the document stands in it"),
        Column("score", "number", "its score there"),
        Column("given", "value", f"{method.name} {method.summary}"),
        Column("weight", "value"),
        Column("contribution", "value", "weight x given"),
    )


def _given(fuser: Fuser, listing: Listing, doc: str, weight: float) -> tuple[Item, ...]:
    """Rank, score, what is given, weight and contribution."""
    if doc not in listing.docs:
        return None, None, None, weight, None
    place = listing.docs.index(doc)
    given = fuser.points(listing.scores)
    return place + 1, float(listing.scores[place]), float(given[place]), weight, float((weight * given)[place])


def _terms(rung: Rung, parts: Sequence[TermPart] | None, title: str, facts: dict[str, Any]) -> Table:
    if parts is None:
        raise UsageError("the terms of a BM25 score need the documents", fix="name them with --dataset")
    total = np.float32(0.0)
    for part in parts:
        total += np.float32(part.weight)
    said = [f"{len(parts)} terms add up, in 32 bits, to {float(total):.6f}; the run has {facts['score']:.6f}."]
    if float(total) != facts["score"]:
        said.append(f"They differ: the documents or the libraries are not those of the run ({rung.stage.get('revision')}).")
    rows = tuple((part.term, part.tf, part.df, part.idf, part.norm, part.weight) for part in parts)
    settings = {"k1": rung.stage["k1"], "b": rung.stage["b"], "sum": float(total)}
    return Table("explain-bm25", title, _TERMS, rows, tuple(said), facts={**facts, **settings})


def _whole(evidence: Evidence, rung: Rung, query: str, doc: str, title: str, facts: dict[str, Any]) -> Table:
    kind = rung.stage.get("kind", "this stage")
    said = [_OF_A_CHUNK if kind == "Chunked" or COLLAPSE in rung.facts else _OF_A_MODEL.format(kind=kind)]
    rows: list[tuple[Item, ...]] = []
    for other in evidence.systems:
        listing = listings(evidence, other, [query]).get(query, EMPTY)
        place = listing.docs.index(doc) if doc in listing.docs else None
        rows.append((other, None if place is None else place + 1, None if place is None else float(listing.scores[place])))
    said.append("Where every system puts the document is shown instead.")
    columns = (Column("system"), Column("rank", "count"), Column("score", "number"))
    return Table("explain-places", title, columns, tuple(rows), tuple(said), facts=facts)


def _same_stage(evidence: Evidence, identity: Mapping[str, Any]) -> Rung | None:
    return next((rung for rung in evidence.rungs if rung.stage == identity), None)
