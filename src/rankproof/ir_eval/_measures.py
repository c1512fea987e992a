"""Measures of single rankings, and means over queries."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np

from rankproof._align.hits import AlignmentCounts, Hits, Ties
from rankproof._align.reference import judge_qrels
from rankproof._data.qrels import Qrels
from rankproof._data.validation import checked_id
from rankproof._evaluation.notes import VALUE_NOTES, Note, evaluation_notes
from rankproof._evaluation.options import EvaluateOptions
from rankproof.errors import InputError, UsageError, for_message
from rankproof.measures._answers import token_set_f1
from rankproof.measures._base import Measure
from rankproof.measures._gains import DCG, nDCG
from rankproof.measures._precision_recall import P, Success
from rankproof.measures._user_model import RR

_ONLY_QUERY = "query"


class Scored(NamedTuple):
    """A retrieved document and its score."""

    id: str
    score: float


def align_rankings(rankings: Mapping[Any, Iterable[Any]], qrels: Mapping[Any, Mapping[Any, int]]) -> Hits:
    """Where the judged documents of each judged query stand.

    A ranking holds ids, mappings with an `id`, or what a retriever ranked. A document that comes again takes its rank and
    gains nothing.
    """
    grades = Qrels.from_dict(qrels)
    ids = {checked_id(query, "query"): document_ids(ranking) for query, ranking in check_mapping(rankings, "run").items()}
    strange = tuple(query for query in ids if query not in grades)
    places = [_judged_ranks(ids.get(query, []), grades[query]) for query in grades]
    flat = [place for query in places for place in query]
    ranks = np.array([rank for rank, _ in flat], dtype=np.int64)
    return Hits(
        judged=judge_qrels(grades),
        present=np.array([query in ids for query in grades], dtype=np.bool_),
        retrieved=np.array([len(ids.get(query, [])) for query in grades], dtype=np.int64),
        offsets=np.cumsum([0, *map(len, places)], dtype=np.int64),
        ranks=ranks,
        grades=np.array([grade for _, grade in flat], dtype=np.int64),
        ties=Ties.none(ranks),
        alignment_counts=AlignmentCounts(rows=sum(map(len, ids.values())), unjudged=len(strange), unjudged_queries=strange),
    )


def document_ids(ranking: Iterable[Any]) -> list[str]:
    """The ids of a ranking, best first."""
    items = ordered_list(ranking, "ids, best first")
    return [checked_id(_id(item), "document") for item in items]


def _id(item: Any) -> Any:
    if isinstance(item, Scored):
        return item.id
    return item.get("id") if isinstance(item, Mapping) else item


def ordered_list(values: Iterable[Any], what: str) -> list[Any]:
    """The values as a list; raises an error if they have no order."""
    if isinstance(values, str | bytes | Mapping | set | frozenset) or not isinstance(values, Iterable):
        raise UsageError(f"{type(values).__name__} where a list of {what} was expected", fix=f"pass a list of {what}")
    return list(values)


def check_mapping(value: Mapping[Any, Any], name: str) -> Mapping[Any, Any]:
    """The value; raises an error if it is not a mapping."""
    if not isinstance(value, Mapping):
        raise UsageError(f"{name} is {type(value).__name__}, not a mapping", fix=f"pass {name} as a dict with query ids as keys")
    return value


def measure_ranking(measure: Measure, ranking: Iterable[Any], grades: Mapping[Any, int]) -> float:
    """The measure of one ranking; 0 without judgements."""
    if isinstance(grades, Mapping) and not grades:
        document_ids(ranking)
        return 0.0
    return float(measure.values(align_rankings({_ONLY_QUERY: ranking}, {_ONLY_QUERY: grades}))[0])


def _judged_ranks(ids: list[str], grades: Mapping[str, int]) -> list[tuple[int, int]]:
    """Rank and grade of each judged document, at its first position."""
    first: dict[str, int] = {}
    for rank, doc in enumerate(ids, start=1):
        first.setdefault(doc, rank)
    return [(rank, grades[doc]) for doc, rank in first.items() if doc in grades]


Method = Literal["exponential", "linear"]
_log = logging.getLogger(__name__)
_LOGGED_NOTES = ("missing-queries", "unjudged-queries")
_GAINS = {"exponential": "exp", "linear": "linear"}


def ndcg_at_k(ranked_ids: Iterable[Any], qrels: Mapping[Any, int], k: int, method: Method = "exponential") -> float:
    """nDCG@k of one ranking against the grades of its query's documents; the ideal ranking has all of them."""
    return measure_ranking(_with_gain(nDCG, method) @ _cutoff(k), ranked_ids, qrels)


def dcg_at_k(rels: Iterable[int], k: int, method: Method = "exponential") -> float:
    """DCG@k of grades in rank order."""
    grades = {str(rank): grade for rank, grade in enumerate(ordered_list(rels, "grades, best first"))}
    return measure_ranking(_with_gain(DCG, method) @ _cutoff(k), list(grades), grades)


def precision_at_k(ranked_ids: Iterable[Any], qrels: Mapping[Any, int], k: int) -> float:
    """P@k of one ranking; any grade above 0 is relevant."""
    return measure_ranking(P @ k, ranked_ids, qrels)


def mrr(ranked_ids: Iterable[Any], qrels: Mapping[Any, int]) -> float:
    """The reciprocal rank of one ranking (its mean over queries is the MRR); any grade above 0 is relevant."""
    return measure_ranking(RR, ranked_ids, qrels)


def evaluate_all(
    run: Mapping[Any, Iterable[Any]], qrels: Mapping[Any, Mapping[Any, int]], k: int, method: Method = "exponential"
) -> dict[str, float]:
    """Means over every judged query, as {"P@k": …, "MRR": …, "NDCG@k": …} with k as its number.

    A judged query that the run lacks scores 0, and is logged as a warning, which Python writes to standard error.
    """
    values, notes = evaluate_run(run, qrels, k, method)
    for note in notes:
        if note.code in _LOGGED_NOTES:
            _log.warning("%s", note.text)
    return values


def evaluate_run(
    run: Mapping[Any, Iterable[Any]], qrels: Mapping[Any, Mapping[Any, int]], k: int, method: Method = "exponential"
) -> tuple[dict[str, float], tuple[Note, ...]]:
    """The means with notes."""
    at = str(P @ _cutoff(k)).removeprefix("P")
    measures = {f"P{at}": P @ k, "MRR": RR, f"NDCG{at}": _with_gain(nDCG, method) @ k}
    judged = {query: docs for query, docs in check_mapping(qrels, "qrels").items() if not isinstance(docs, Mapping) or docs}
    hits = align_rankings(run, judged)
    if not hits.present.any():
        raise InputError("no query of the run is judged", fix="check that the run and the qrels use the same query ids")
    notes = evaluation_notes(hits, [1], EvaluateOptions(), {})
    values = {name: measure.summarise(measure.values(hits)) for name, measure in measures.items()}
    return values, tuple(note for note in notes if note.code not in VALUE_NOTES)  # They name options of rankproof eval.


def _cutoff(k: int) -> int:
    if k is None:
        raise UsageError("k is None", fix="choose a whole number of at least 1")
    return k


def _with_gain(measure: Measure, method: str) -> Measure:
    if not isinstance(method, str) or method not in _GAINS:
        raise UsageError(f"method {for_message(str(method))} is not known", fix=f"use {' or '.join(_GAINS)}")
    return measure(gain=_GAINS[method])


_CUTOFFS = (1, 3, 5, 10)


class Retriever(Protocol):
    """Returns ids, or mappings with an `id`, best first."""

    def retrieve(self, query: str, top_k: int) -> Iterable[Any]: ...


def recall_at_k(retrieved_ids: Iterable[Any], target_id: Any, k: int) -> int:
    """1 if the target is among the first k, else 0: Success@k."""
    return int(measure_ranking(Success @ k, retrieved_ids, _target_grades(target_id)))


def reciprocal_rank(retrieved_ids: Iterable[Any], target_id: Any) -> float:
    """1 over the target's rank, 0 if it was not retrieved."""
    return measure_ranking(RR, retrieved_ids, _target_grades(target_id))


def evaluate_retrieval(
    queries: Sequence[Mapping[str, Any]], retriever: Retriever
) -> tuple[dict[str, float], list[dict[str, Any]]]:
    """Means over queries (`query`, `source_recipe_id`) of the first 10 that the retriever finds, and each query's own figures.

    The means are recall_at_1, _3, _5, _10, mrr and total_queries; a query has query, target_id, recall_1, _3, _5, _10,
    reciprocal_rank and target_rank, which is None where the target was not found.
    """
    if not callable(getattr(retriever, "retrieve", None)):
        raise UsageError(f"{type(retriever).__name__} is not a retriever", fix="pass an object with retrieve(query, top_k)")
    results = [_evaluate_query(query, retriever, at) for at, query in enumerate(ordered_list(queries, "queries"))]
    if not results:
        raise InputError("there are no queries", fix="pass at least one")
    figures = {f"recall_at_{k}": Success.summarise(_column(results, f"recall_{k}")) for k in _CUTOFFS}
    return {**figures, "mrr": RR.summarise(_column(results, "reciprocal_rank")), "total_queries": len(results)}, results


def _evaluate_query(query: Mapping[str, Any], retriever: Retriever, at: int) -> dict[str, Any]:
    for field in ("query", "source_recipe_id"):
        if not isinstance(query, Mapping) or field not in query:
            what = f"item {at + 1} of the queries has no field {field}"
            raise InputError(what, fix="give each query its text and its target's id")
    text, target = query["query"], query["source_recipe_id"]
    ids = document_ids(retriever.retrieve(text, top_k=max(_CUTOFFS)))[: max(_CUTOFFS)]
    reciprocal = reciprocal_rank(ids, target)
    return {
        "query": text,
        "target_id": target,
        **{f"recall_{k}": recall_at_k(ids, target, k) for k in _CUTOFFS},
        "reciprocal_rank": reciprocal,
        "target_rank": round(1 / reciprocal) if reciprocal else None,
    }


def _target_grades(target_id: Any) -> dict[str, int]:
    return {checked_id(target_id, "target"): 1}


def _column(results: list[dict[str, Any]], name: str) -> np.ndarray[Any, np.dtype[np.float64]]:
    return np.array([result[name] for result in results], dtype=np.float64)


def compute_answer_f1(generated_answer: str, reference_answer: str) -> float:
    """F1 of the two sets of words, in lower case and without punctuation; 0 if either is empty."""
    for text in (generated_answer, reference_answer):
        if not isinstance(text, str):
            raise UsageError(f"an answer is {type(text).__name__}, not text", fix="pass both answers as text")
    return token_set_f1(generated_answer, reference_answer)
