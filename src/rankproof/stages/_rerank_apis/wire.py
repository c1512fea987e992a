"""The requests and replies of rerank APIs: one row for each shape, one function that writes it and one that reads it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rankproof._data.text import pluralise
from rankproof._io.http import ResponseFormatError, replace_surrogates
from rankproof.models._api.connection import count_of, list_of, object_of

_MAX_MODEL_NAME = 200


@dataclass(frozen=True, slots=True)
class RerankShape:
    """The path of an API and the names in its requests and replies.

    `documents` is the list of texts in a request, `top` the key of the number of results, which is sent where the API returns
    fewer by default. `results` is the list in a reply, "" if the reply is that list itself, and `score` the score of a result.
    `sends_model` is False for a server that has one model.
    """

    path: str = "/rerank"
    documents: str = "documents"
    top: str = ""
    results: str = "results"
    score: str = "relevance_score"
    sends_model: bool = True


COHERE = RerankShape()
"""Also that of Jina, Infinity and vLLM."""
VOYAGE = RerankShape(results="data")
MIXEDBREAD = RerankShape(path="/reranking", documents="input", top="top_k", results="data", score="score")
TEI = RerankShape(documents="texts", results="", score="score", sends_model=False)


def request_content(
    shape: RerankShape, model: str, query: str, texts: Sequence[str], parameters: Mapping[str, Any]
) -> dict[str, Any]:
    """The JSON of a request; the parameters are those of the API."""
    content: dict[str, Any] = {"model": model} if shape.sends_model else {}
    content |= {"query": query, shape.documents: list(texts)}
    if shape.top:
        content[shape.top] = len(texts)
    return {**content, **parameters}


@dataclass(frozen=True, slots=True)
class ScoredDocuments:
    """A parsed reply: one score for each document, in the order of the request.

    `tokens` and `units` (search units) are 0 where the server reports none, `model` is the name that it reports, "" for none.
    """

    scores: tuple[float, ...]
    tokens: int = 0
    units: int = 0
    model: str = ""


def parse_scores(shape: RerankShape, document: Any, count: int) -> ScoredDocuments:
    """The scores of a reply, which must have each of the `count` documents once, in any order; else ResponseFormatError."""
    body = object_of(document, "the body") if shape.results else {}
    results = list_of(body.get(shape.results) if shape.results else document, shape.results or "the body")
    if len(results) != count:
        raise ResponseFormatError(f"the reply has {pluralise(len(results), 'result')} for {pluralise(count, 'document')}")
    scores: dict[int, float] = {}
    for result in results:
        found = object_of(result, "a result")
        scores[_index(found.get("index"), count, scores)] = _score(found.get(shape.score), shape.score)
    name = body.get("model")
    return ScoredDocuments(
        tuple(scores[at] for at in range(count)),
        tokens=_tokens(body),
        units=_search_units(body),
        model=replace_surrogates(name)[:_MAX_MODEL_NAME] if isinstance(name, str) else "",
    )


def _index(value: Any, count: int, seen: Mapping[int, float]) -> int:
    """The index of a document that has no score yet."""
    if type(value) is not int or not 0 <= value < count:
        raise ResponseFormatError(f"an index is not a whole number from 0 to {count - 1}")
    if value in seen:
        raise ResponseFormatError("an index is there twice")
    return value


def _score(value: Any, name: str) -> float:
    """The score as a finite number."""
    try:
        score = float(value) if isinstance(value, int | float) and not isinstance(value, bool) else math.nan
    except OverflowError:
        score = math.inf
    if not math.isfinite(score):
        raise ResponseFormatError(f"a {name} is not a finite number")
    return score


def _tokens(body: Mapping[str, Any]) -> int:
    """The tokens in `usage`, or in `meta.tokens`."""
    usage = _part(body, "usage")
    return count_of(usage.get("total_tokens")) or count_of(_part(_part(body, "meta"), "tokens").get("input_tokens"))


def _search_units(body: Mapping[str, Any]) -> int:
    """The search units that are billed; Cohere may write them as 1.0."""
    units = _part(_part(body, "meta"), "billed_units").get("search_units")
    return count_of(int(units) if isinstance(units, float) and units.is_integer() else units)


def _part(body: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = body.get(name)
    return found if isinstance(found, dict) else {}
