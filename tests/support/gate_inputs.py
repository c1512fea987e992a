"""Analysis inputs with given per-query values, for the gate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rankproof import Qrels, Queries, Run, evaluate
from rankproof._analysis.inputs import AnalysisInput
from rankproof.types import Query

QUERIES = tuple(f"q{at:02}" for at in range(40))
CATEGORIES = ("easy", "hard")
MEASURES = ("RR",)


def ranks(first: int, second: int) -> list[int]:
    """A rank of the relevant document for every query: the first for easy ones, the second for hard ones."""
    return [(first, second)[at % 2] for at in range(len(QUERIES))]


def gate_input(
    systems: Mapping[str, Sequence[int]],
    *,
    measures: Sequence[str] = MEASURES,
    queries: Sequence[str] = QUERIES,
    fingerprint: str = "a" * 64,
    rel: int = 1,
    left_out: Sequence[str] = (),
    weights: Mapping[str, float] | None = None,
) -> AnalysisInput:
    """Each system puts the one relevant document of each query at the rank given; it lacks the queries left out."""
    qrels = Qrels.from_dict({query: {"good": 2, "bad": 0} for query in queries})
    runs = {name: _run(name, queries, places, left_out) for name, places in systems.items()}
    texts = Queries(Query(query, f"query {query}", fields={"category": CATEGORIES[at % 2]}) for at, query in enumerate(queries))
    result = evaluate(qrels, runs, list(measures), rel=rel, weights=weights)
    return AnalysisInput("cases", fingerprint, qrels, runs, result, rel, texts=texts)


def _run(name: str, queries: Sequence[str], places: Sequence[int], left_out: Sequence[str]) -> Run:
    scores = {query: _ranking(place) for query, place in zip(queries, places, strict=True) if query not in left_out}
    return Run.from_dict(scores, name=name)


def _ranking(place: int) -> dict[str, float]:
    docs = [f"u{at}" for at in range(1, place)] + ["good", "z"]
    return {doc: float(len(docs) - at) for at, doc in enumerate(docs)}
