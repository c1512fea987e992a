"""One document's score taken apart: what each ranking gave to a fused score, what each term gave to a BM25 score."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rankproof._analysis.inputs import AnalysisInput
from rankproof._analysis.values import EMPTY_LIST, RankedList, ranked_lists
from rankproof._data.run import TermPart
from rankproof._data.table import CellValue, Column, Table
from rankproof._fusion.fuse import Fuser
from rankproof._fusion.method import METHODS, FusionMethod, FusionSettings
from rankproof._results.experiment_result import COLLAPSE_KEY, SystemRun
from rankproof.errors import UsageError, for_message

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


def system_run_of(inputs: AnalysisInput, system: str) -> SystemRun:
    """The rung of a system, refused where there is none."""
    system_run = next((one for one in inputs.system_runs if one.name == system), None)
    if system_run is None:
        raise UsageError("a run file does not say how its scores came about", fix="explain a results folder, or leave out --doc")
    return system_run


def explain_score(inputs: AnalysisInput, system: str, query: str, doc: str, terms: Sequence[TermPart] | None = None) -> Table:
    """The parts of the score that a system of a results folder gave to a document; `terms` are those of a BM25 score."""
    system_run = system_run_of(inputs, system)
    ranked_list = ranked_lists(inputs, system, [query]).get(query, EMPTY_LIST)
    if doc not in ranked_list.docs:
        raise UsageError(
            f"{for_message(system)} did not retrieve {for_message(doc)} for query {for_message(query)}",
            fix="name a document of its ranking",
        )
    place = ranked_list.docs.index(doc)
    score = float(ranked_list.scores[place])
    title = (
        f"The score of {for_message(doc)} for query {for_message(query)} in {for_message(system)}: {score:.6g}, rank {place + 1}"
    )
    facts = {"n": 1, "system": system, "query": query, "document": doc, "score": score, "rank": place + 1}
    if COLLAPSE_KEY in system_run.facts:
        return _rank_by_system(inputs, system_run, query, doc, title, facts)
    if system_run.stage.get("kind") == "Fuse":
        return _fused_score(inputs, system_run, query, doc, title, facts)
    if system_run.stage.get("kind") == "BM25":
        return _term_scores(system_run, terms, title, facts)
    return _rank_by_system(inputs, system_run, query, doc, title, facts)


def _fused_score(inputs: AnalysisInput, system_run: SystemRun, query: str, doc: str, title: str, facts: dict[str, Any]) -> Table:
    stage = system_run.stage
    weights = stage["weights"] or [1.0] * len(stage["stages"])
    method = METHODS.named(stage["method"])
    fuser = Fuser(method, FusionSettings(stage["k"], stage["norm"]), tuple(weights))
    rows: list[tuple[CellValue, ...]] = []
    total, unknown = 0.0, 0
    for identity, weight in zip(stage["stages"], weights, strict=True):
        part = _same_stage(inputs, identity)
        ranked_list = EMPTY_LIST if part is None else ranked_lists(inputs, part.name, [query]).get(query, EMPTY_LIST)
        unknown += part is None
        row = _contribution_row(fuser, ranked_list, doc, weight)
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


def _contribution_row(fuser: Fuser, ranked_list: RankedList, doc: str, weight: float) -> tuple[CellValue, ...]:
    """Rank, score, what is given, weight and contribution."""
    if doc not in ranked_list.docs:
        return None, None, None, weight, None
    place = ranked_list.docs.index(doc)
    given = fuser.points(ranked_list.scores)
    return place + 1, float(ranked_list.scores[place]), float(given[place]), weight, float((weight * given)[place])


def _term_scores(system_run: SystemRun, parts: Sequence[TermPart] | None, title: str, facts: dict[str, Any]) -> Table:
    if parts is None:
        raise UsageError("the terms of a BM25 score need the documents", fix="name them with --dataset")
    total = np.float32(0.0)
    for part in parts:
        total += np.float32(part.weight)
    said = [f"{len(parts)} terms add up, in 32 bits, to {float(total):.6f}; the run has {facts['score']:.6f}."]
    if float(total) != facts["score"]:
        said.append(f"They differ: the documents or the libraries are not those of the run ({system_run.stage.get('revision')}).")
    rows = tuple((part.term, part.tf, part.df, part.idf, part.norm, part.weight) for part in parts)
    settings = {"k1": system_run.stage["k1"], "b": system_run.stage["b"], "sum": float(total)}
    return Table("explain-bm25", title, _TERMS, rows, tuple(said), facts={**facts, **settings})


def _rank_by_system(
    inputs: AnalysisInput, system_run: SystemRun, query: str, doc: str, title: str, facts: dict[str, Any]
) -> Table:
    kind = system_run.stage.get("kind", "this stage")
    said = [_OF_A_CHUNK if kind == "Chunked" or COLLAPSE_KEY in system_run.facts else _OF_A_MODEL.format(kind=kind)]
    rows: list[tuple[CellValue, ...]] = []
    for other in inputs.systems:
        ranked_list = ranked_lists(inputs, other, [query]).get(query, EMPTY_LIST)
        place = ranked_list.docs.index(doc) if doc in ranked_list.docs else None
        rows.append((other, None if place is None else place + 1, None if place is None else float(ranked_list.scores[place])))
    said.append("Where every system puts the document is shown instead.")
    columns = (Column("system"), Column("rank", "count"), Column("score", "number"))
    return Table("explain-places", title, columns, tuple(rows), tuple(said), facts=facts)


def _same_stage(inputs: AnalysisInput, identity: Mapping[str, Any]) -> SystemRun | None:
    return next((system_run for system_run in inputs.system_runs if system_run.stage == identity), None)
