"""Why two rankings of a query have different values: the document that makes most of the difference."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

from rankproof._analysis.explain.query import explain_value, losses_by_rank
from rankproof._analysis.explain.score import explain_score, system_run_of
from rankproof._analysis.inputs import AnalysisInput
from rankproof._analysis.values import EMPTY_LIST, measure_result, ranked_lists
from rankproof._data.text import format_value
from rankproof._evaluation.sources import align, prepare_judgements
from rankproof.errors import UsageError, for_message

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
    return tuple(_sentences(inputs, first, second, query, doc, moved[doc]))


def _sentences(inputs: AnalysisInput, first: str, second: str, query: str, doc: str, moved: float) -> Iterator[str]:
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
