"""The score of one document, explained by a fusion's rankings or BM25's terms, and the document behind a difference."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from rankproof._analysis.explain.query import explain_value, losses_by_rank
from rankproof._analysis.inputs import AnalysisInput
from rankproof._analysis.values import EMPTY_LIST, measure_result, ranked_lists
from rankproof._data.arrays import FloatArray
from rankproof._data.run import TermPart
from rankproof._data.table import CellValue, Column, Table
from rankproof._data.text import format_value
from rankproof._evaluation.sources import align, prepare_judgements
from rankproof._fusion.candidates import CandidateTable
from rankproof._fusion.method import METHODS, PARAMETERS, FusionMethod, FusionSettings, fused_scores
from rankproof._results.experiment_result import COLLAPSE_KEY, SystemRun
from rankproof.errors import UsageError, for_message

_TERMS = (
    Column("term", about="query term as indexed"),
    Column("tf", "count", "occurrences in the document"),
    Column("df", "count", "documents with the term"),
    Column("idf", "value", "ln(1 + (N - df + 0.5) / (df + 0.5))"),
    Column("norm", "value", "k1 (1 - b + b x length / mean length)"),
    Column("contribution", "value", "idf x tf (k1 + 1) / (tf + norm)"),
)
_OF_A_MODEL = "A score of {kind} comes from a model or a library as one number and has no parts."
_OF_A_RUN = "A run has the score of a document and not its parts."
_OF_AN_ENGINE = "A search engine ranks by the order of its reply; its score has no parts."
_OF_A_CHUNK = "The score is that of the best chunk of the document; its parts are not stored."


def system_run_of(inputs: AnalysisInput, system: str) -> SystemRun:
    """The run of a system."""
    return next(run for run in inputs.system_runs if run.name == system)


def explain_score(inputs: AnalysisInput, system: str, query: str, doc: str, terms: Sequence[TermPart] | None = None) -> Table:
    """The parts of a document's score in a system; `terms` are those of a BM25 score."""
    system_run = system_run_of(inputs, system)
    ranked_list = ranked_lists(inputs, system, [query]).get(query, EMPTY_LIST)
    if doc not in ranked_list.docs:
        raise UsageError(
            f"{for_message(system)} did not retrieve {for_message(doc)} for query {for_message(query)}",
            fix="choose a document of its ranking",
        )
    place = ranked_list.docs.index(doc)
    own = system_run.own_score(query, doc)
    score = None if own is None and system_run.replies is not None else float(ranked_list.scores[place]) if own is None else own
    shown = "no score" if score is None else f"{score:.6g}"
    title = f"Score of {for_message(doc)} for query {for_message(query)} in {for_message(system)}: {shown}, rank {place + 1}"
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
    method = METHODS.named(stage["method"])
    known = {name: stage[name] for name in (*PARAMETERS, "fitted") if name in stage and name != "weights"}
    known["own"] = dict(stage.get("parameters", ()))
    parts = [_same_stage(inputs, identity) for identity in stage["stages"]]
    ranked = [EMPTY_LIST if part is None else ranked_lists(inputs, part.name, [query]).get(query, EMPTY_LIST) for part in parts]
    names = [identity["kind"] if part is None else part.name for identity, part in zip(stage["stages"], parts, strict=True)]
    weights = np.array(stage["weights"] or [1.0] * len(parts))
    table = CandidateTable.of_rankings([(list(ranked_list.docs), ranked_list.scores) for ranked_list in ranked])
    value: float | None = None
    rows: list[tuple[CellValue, ...]] = [
        (name, None, None, None, weight, None) for name, weight in zip(names, weights, strict=True)
    ]
    if doc in table.docs:
        value, rows = _parts_of(table, method, FusionSettings(**known), weights, names, table.docs.index(doc))
    columns = _columns(method)
    unknown = parts.count(None)
    return Table(
        "explain-fusion",
        title,
        columns,
        tuple(row[: len(columns)] for row in rows),
        tuple(_sentences(method, value, unknown, facts["score"])),
        facts={**facts, "sum" if method.combine is None else "combined": value, "unknown": unknown},
        verdict_first=True,
    )


def _parts_of(
    table: CandidateTable, method: FusionMethod, settings: FusionSettings, weights: FloatArray, names: Sequence[str], at: int
) -> tuple[float, list[tuple[CellValue, ...]]]:
    """The fused score of a candidate, and for each run its rank, score, points, weight and contribution."""
    points = method.run_points(table, settings)
    value = float(fused_scores(table, method, settings, weights)[at])
    rows: list[tuple[CellValue, ...]] = []
    for run, (name, weight) in enumerate(zip(names, weights.tolist(), strict=True)):
        rank, score, point = int(table.ranks[run, at]), float(table.scores[run, at]), float(points[run, at])
        nothing = rank == 0 and point == 0
        rows.append(
            (
                name,
                rank or None,
                score if rank else None,
                None if nothing else point,
                weight,
                None if nothing else weight * point,
            )
        )
    return value, rows


def _sentences(method: FusionMethod, value: float | None, unknown: int, score: float) -> Iterator[str]:
    what = f"the points, {method.combined}, give" if method.combined else "the points of all rankings give"
    how = "the contributions add up to" if method.combine is None else what
    shown = "an unknown score" if value is None else f"{value:.6f}"
    yield f"{method.name}: {how} {shown}; the run has {score:.6f}."
    if unknown:
        yield f"{unknown} of the fused rankings are not systems of this folder, so their contribution is unknown."


def _columns(method: FusionMethod) -> tuple[Column, ...]:
    contribution = () if method.combine else (Column("contribution", "value", "weight x points"),)
    return (
        Column("system", about="the fused ranking"),
        Column("rank", "count", "rank of the document in it"),
        Column("score", "number", "score of the document in it"),
        Column("points", "value", f"{method.name} {method.summary}"),
        Column("weight", "value"),
        *contribution,
    )


def _term_scores(system_run: SystemRun, parts: Sequence[TermPart] | None, title: str, facts: dict[str, Any]) -> Table:
    if parts is None:
        raise UsageError("the terms of a BM25 score need the documents", fix="pass the dataset with --dataset")
    # In 32 bits and in the order of the terms, as BM25 itself adds them up: the sum must equal the score.
    total = np.float32(0.0)
    for part in parts:
        total += np.float32(part.weight)
    sentences = [f"{len(parts)} terms add up, in 32-bit floats, to {float(total):.6f}; the run has {facts['score']:.6f}."]
    if float(total) != facts["score"]:
        sentences.append(
            f"The sums differ: the documents or library versions are not those of the run ({system_run.stage.get('revision')})."
        )
    rows = tuple((part.term, part.tf, part.df, part.idf, part.norm, part.weight) for part in parts)
    parameters = {"k1": system_run.stage["k1"], "b": system_run.stage["b"], "sum": float(total)}
    return Table("explain-bm25", title, _TERMS, rows, tuple(sentences), facts={**facts, **parameters}, verdict_first=True)


def _rank_by_system(
    inputs: AnalysisInput, system_run: SystemRun, query: str, doc: str, title: str, facts: dict[str, Any]
) -> Table:
    sentences = [_why_no_parts(system_run)]
    rows: list[tuple[CellValue, ...]] = []
    for other in inputs.systems:
        ranked_list = ranked_lists(inputs, other, [query]).get(query, EMPTY_LIST)
        place = ranked_list.docs.index(doc) if doc in ranked_list.docs else None
        rows.append((other, None if place is None else place + 1, None if place is None else float(ranked_list.scores[place])))
    sentences.append("The table shows the document's rank in every system instead.")
    columns = (Column("system"), Column("rank", "count"), Column("score", "number"))
    return Table("explain-ranks", title, columns, tuple(rows), tuple(sentences), facts=facts, verdict_first=True)


def _why_no_parts(system_run: SystemRun) -> str:
    kind = system_run.stage.get("kind", "this stage")
    if system_run.replies is not None:
        return _OF_AN_ENGINE
    if kind == "Chunked" or COLLAPSE_KEY in system_run.facts:
        return _OF_A_CHUNK
    return _OF_A_RUN if system_run.kind == "run" else _OF_A_MODEL.format(kind=kind)


def _same_stage(inputs: AnalysisInput, identity: Mapping[str, Any]) -> SystemRun | None:
    return next((system_run for system_run in inputs.system_runs if system_run.stage == identity), None)


_WORD = re.compile(r"\w+")
_SHOWN = 0.00005
_LEAST_LETTERS = 3
"""A shorter word of a query says little about its topic."""


def contributions(inputs: AnalysisInput, system: str, measure: str, query: str) -> Mapping[str, float]:
    """What each document of a ranking adds to the value of the query."""
    options = replace(inputs.options, queries=(query,))
    hits = align(prepare_judgements(inputs.qrels, options), inputs.runs[system], system, options)
    result = measure_result(inputs, system, measure)
    parts = result.measure.parts(hits)
    docs = ranked_lists(inputs, system, [query]).get(query, EMPTY_LIST).docs
    if parts is None:
        return {docs[rank - 1]: loss for rank, loss in losses_by_rank(result.measure, hits, 0).items()}
    return {docs[rank - 1]: part.contribution for rank, part in explain_value(parts, 0).by_rank().items()}


def explain_pair(inputs: AnalysisInput, first: str, second: str, measure: str, query: str) -> tuple[str, ...]:
    """Sentences on the document that makes most of the difference between two systems; none if the values are equal."""
    mine, theirs = (contributions(inputs, system, measure, query) for system in (first, second))
    moved = {doc: theirs.get(doc, 0.0) - mine.get(doc, 0.0) for doc in dict.fromkeys((*mine, *theirs))}
    doc = max(moved, key=lambda candidate: abs(moved[candidate]), default=None)
    if doc is None or abs(moved[doc]) < _SHOWN:
        return ()
    return tuple(_pair_sentences(inputs, first, second, query, doc, moved[doc]))


def _pair_sentences(inputs: AnalysisInput, first: str, second: str, query: str, doc: str, moved: float) -> Iterator[str]:
    grade = inputs.qrels[query].get(doc)
    shown = for_message(doc)
    places = " and ".join(f"{_place(inputs, system, query, doc)} in {for_message(system)}" for system in (first, second))
    sign = "+" if moved > 0 else "−"
    yield f"{shown} (grade {grade}) is {places}: {sign}{format_value(abs(moved))} for {for_message(second)}."
    yield from _shared_words(inputs, query, doc)
    for system in dict.fromkeys((second, first)):
        yield from _fusion_parts(inputs, system, query, doc)


def _place(inputs: AnalysisInput, system: str, query: str, doc: str) -> str:
    docs = ranked_lists(inputs, system, [query]).get(query, EMPTY_LIST).docs
    return f"at rank {docs.index(doc) + 1}" if doc in docs else "not retrieved"


def _shared_words(inputs: AnalysisInput, query: str, doc: str) -> Iterator[str]:
    """Which words of the query the beginning of the document has, as they are written."""
    snippet = inputs.snippets.get(doc)
    if not snippet or inputs.texts is None or query not in inputs.texts:
        return
    words = [word for word in _words(inputs.texts[query].text) if len(word) >= _LEAST_LETTERS]
    there = set(_words(snippet))
    shared = [word for word in words if word in there]
    if words:
        where = "in its beginning" if snippet.endswith("…") else "in it"
        yield (
            f"Words of the query {where}: {', '.join(map(for_message, shared))}."
            if shared
            else (f"No word of the query is {where} as written.")
        )


def _words(text: str) -> list[str]:
    return list(dict.fromkeys(_WORD.findall(text.casefold())))


def _fusion_parts(inputs: AnalysisInput, system: str, query: str, doc: str) -> Iterator[str]:
    """The ranks of the document in the rankings that a system fuses."""
    run = next((run for run in inputs.system_runs if run.name == system), None)
    if run is None or system_run_of(inputs, system).stage.get("kind") != "Fuse":
        return
    try:
        table = explain_score(inputs, system, query, doc)
    except UsageError:
        return
    if table.name != "explain-fusion":
        return
    parts = ", ".join(f"{row[0]} {'none' if row[1] is None else f'rank {row[1]}'} (weight {row[4]:g})" for row in table.rows)
    yield f"{for_message(system)} fuses {parts}."
