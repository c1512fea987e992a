"""The relevance model of pseudo feedback: which words the first documents of a ranking speak with.

RM1 is Lavrenko and Croft's (SIGIR 2001): P(t|R) is the sum over the feedback documents d of P(t|d) P(d|q). RM3 is its mixture
with the query (Abdul-Jaleel and others, TREC 2004). What they leave open is settled as Anserini's Rm3Reranker does: P(d|q) is the
document's score over the sum of scores; each document counts by its commonest terms alone; terms that stand in more than a tenth
of all documents, and those of less than 2 or more than 20 characters or with other than letters and digits, are no feedback.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

SHORTEST, LONGEST = 2, 20
Weights = dict[str, float]


def feedback_terms(terms: Iterable[str], is_common: Callable[[str], bool], most: int) -> Weights:
    """P(t|d) over the document's commonest terms that may be feedback."""
    counts = Counter(terms)
    fit = {term: float(count) for term, count in counts.items() if _fits(term) and not is_common(term)}
    return to_one(heaviest(fit, most))


def relevance_model(documents: Sequence[Mapping[str, float]], scores: Sequence[float], most: int) -> Weights:
    """P(t|R) of the heaviest terms, given P(t|d) and the score of each feedback document."""
    model: Weights = {}
    for document, score in zip(documents, scores, strict=True):
        for term, share in document.items():
            model[term] = model.get(term, 0.0) + share * score
    return to_one(heaviest(model, most))


def mixed(query: Sequence[str], model: Mapping[str, float], weight: float) -> Weights:
    """weight x P(t|q) + (1 - weight) x P(t|R), times the number of the query's terms, so that weight 1 is the query as it stands.

    A model without terms leaves the query as it is.
    """
    counts = Counter(query)
    if not model:
        return {term: float(count) for term, count in counts.items()}
    terms = dict.fromkeys([*counts, *model])
    return {term: weight * counts[term] + (1 - weight) * len(query) * model.get(term, 0.0) for term in terms}


def heaviest(weights: Mapping[str, float], most: int) -> Weights:
    """The terms with the highest weights, heaviest first; of equal ones the first by its letters."""
    return dict(sorted(weights.items(), key=lambda pair: (-pair[1], pair[0]))[:most])


def to_one(weights: Mapping[str, float]) -> Weights:
    """The weights as shares of their sum."""
    total = sum(weights.values())
    return {term: weight / total for term, weight in weights.items()} if total else {}


def _fits(term: str) -> bool:
    return SHORTEST <= len(term) <= LONGEST and term.isalnum()
