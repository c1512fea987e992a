"""Seed 001: graded judgements, one query a call; `evaluate_all` for many."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from typing import Any, Literal

from ..errors import InputError, UsageError, shown
from ..evaluation import Options
from ..evaluation.notes import Note, notes_of
from ..measures import DCG, RR, Measure, P, nDCG
from .ranked import hits_of, listed, mapping, value_of

Method = Literal["exponential", "linear"]
_log = logging.getLogger(__name__)
_WARNED = ("missing-queries", "unjudged-queries")
_GAINS = {"exponential": "exp", "linear": "linear"}


def ndcg_at_k(ranked_ids: Iterable[Any], qrels: Mapping[Any, int], k: int, method: Method = "exponential") -> float:
    """nDCG@k of one ranking against the grades of its query's documents; the ideal is made of all of them."""
    return value_of(_with_gain(nDCG, method) @ _cutoff(k), ranked_ids, qrels)


def dcg_at_k(rels: Iterable[int], k: int, method: Method = "exponential") -> float:
    """DCG@k of grades in rank order."""
    grades = {str(rank): grade for rank, grade in enumerate(listed(rels, "grades, best first"))}
    return value_of(_with_gain(DCG, method) @ _cutoff(k), list(grades), grades)


def precision_at_k(ranked_ids: Iterable[Any], qrels: Mapping[Any, int], k: int) -> float:
    """P@k of one ranking; any grade above 0 is relevant."""
    return value_of(P @ k, ranked_ids, qrels)


def mrr(ranked_ids: Iterable[Any], qrels: Mapping[Any, int]) -> float:
    """The reciprocal rank of one ranking (its mean over queries is the MRR); any grade above 0 is relevant."""
    return value_of(RR, ranked_ids, qrels)


def evaluate_all(
    run: Mapping[Any, Iterable[Any]], qrels: Mapping[Any, Mapping[Any, int]], k: int, method: Method = "exponential"
) -> dict[str, float]:
    """Means over every judged query, as {"P@k": …, "MRR": …, "NDCG@k": …} with k as its number.

    A judged query that the run lacks counts 0, and is logged as a warning, which Python writes to standard error.
    """
    values, notes = measured(run, qrels, k, method)
    for note in notes:
        if note.code in _WARNED:
            _log.warning("%s", note.text)
    return values


def measured(
    run: Mapping[Any, Iterable[Any]], qrels: Mapping[Any, Mapping[Any, int]], k: int, method: Method = "exponential"
) -> tuple[dict[str, float], tuple[Note, ...]]:
    """The same means, and what must be known beside them."""
    at = str(P @ _cutoff(k)).removeprefix("P")
    measures = {f"P{at}": P @ k, "MRR": RR, f"NDCG{at}": _with_gain(nDCG, method) @ k}
    judged = {query: docs for query, docs in mapping(qrels, "qrels").items() if not isinstance(docs, Mapping) or docs}
    hits = hits_of(run, judged)
    if not hits.present.any():
        raise InputError("no query of the run is judged", fix="check that the run and the qrels name queries the same way")
    return {name: measure.summarise(measure.values(hits)) for name, measure in measures.items()}, notes_of(hits, [1], Options())


def _cutoff(k: int) -> int:
    if k is None:
        raise UsageError("k is None", fix="choose a whole number of at least 1")
    return k


def _with_gain(measure: Measure, method: str) -> Measure:
    if not isinstance(method, str) or method not in _GAINS:
        raise UsageError(f"method {shown(str(method))} is not known", fix=f"use {' or '.join(_GAINS)}")
    return measure(gain=_GAINS[method])
