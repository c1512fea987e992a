"""Requests and replies of rerank APIs: worked examples from the documentation of each, and replies that must be refused."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankproof._io.http import ResponseFormatError
from rankproof.stages._rerank_apis.wire import (
    COHERE,
    MIXEDBREAD,
    PLAIN,
    TEI,
    VOYAGE,
    RerankShape,
    ScoredDocuments,
    parse_scores,
    request_content,
)

SHAPES = {"cohere": COHERE, "voyage": VOYAGE, "mixedbread": MIXEDBREAD, "tei": TEI}
REQUESTS: list[tuple[RerankShape, dict[str, Any]]] = [
    (COHERE, {"model": "m", "query": "q", "documents": ["a", "b"], "x": 1}),
    (VOYAGE, {"model": "m", "query": "q", "documents": ["a", "b"], "x": 1}),
    (MIXEDBREAD, {"model": "m", "query": "q", "input": ["a", "b"], "top_k": 2, "x": 1}),
    (TEI, {"query": "q", "texts": ["a", "b"], "x": 1}),
]
"""Cohere's v2 API reference, Voyage's "Rerankers" reference, the mixedbread Python SDK 0.54, TEI's openapi.json."""
REPLIES: list[tuple[str, RerankShape, Any, ScoredDocuments]] = [
    (
        "Cohere v2",
        COHERE,
        {
            "results": [{"index": 1, "relevance_score": 0.999071}, {"index": 0, "relevance_score": 0.32713068}],
            "id": "07734bd2-2473-4f07-94e1-0d9f0e6843cf",
            "meta": {"api_version": {"version": "2"}, "billed_units": {"search_units": 1}},
        },
        ScoredDocuments((0.32713068, 0.999071), units=1),
    ),
    (
        "Cohere v2, units as a float",
        COHERE,
        {
            "results": [{"index": 0, "relevance_score": 1}],
            "meta": {"billed_units": {"search_units": 2.0}, "tokens": {"input_tokens": 7}},
        },
        ScoredDocuments((1.0,), tokens=7, units=2),
    ),
    (
        "Jina",
        PLAIN,
        {
            "model": "jina-reranker-v2-base-multilingual",
            "usage": {"prompt_tokens": 815, "completion_tokens": 0, "total_tokens": 815},
            "results": [
                {"document": {"text": "b"}, "index": 1, "relevance_score": 0.8783142566680908},
                {"document": {"text": "a"}, "index": 0, "relevance_score": 0.7624675869941711},
            ],
        },
        ScoredDocuments((0.7624675869941711, 0.8783142566680908), 815, model="jina-reranker-v2-base-multilingual"),
    ),
    (
        "Voyage",
        VOYAGE,
        {
            "object": "list",
            "data": [{"relevance_score": 0.4375, "index": 0}, {"relevance_score": 0.421875, "index": 1}],
            "model": "rerank-2.5-lite",
            "usage": {"total_tokens": 26},
        },
        ScoredDocuments((0.4375, 0.421875), 26, model="rerank-2.5-lite"),
    ),
    (
        "mixedbread",
        MIXEDBREAD,
        {
            "usage": {"prompt_tokens": 10, "total_tokens": 12},
            "model": "mixedbread-ai/mxbai-rerank-large-v2",
            "data": [{"index": 1, "score": 0.98, "input": None, "object": "rank_result"}, {"index": 0, "score": -2}],
        },
        ScoredDocuments((-2.0, 0.98), 12, model="mixedbread-ai/mxbai-rerank-large-v2"),
    ),
    (
        "TEI",
        TEI,
        [{"index": 1, "score": 0.9987814}, {"index": 0, "score": 0.022949383}],
        ScoredDocuments((0.022949383, 0.9987814)),
    ),
    (
        "vLLM, which always echoes documents",
        PLAIN,
        {
            "id": "rerank-fae51b2b664d4ed38f5969b612edff77",
            "model": "BAAI/bge-reranker-base",
            "usage": {"prompt_tokens": 56, "total_tokens": 56},
            "results": [{"index": 0, "document": {"text": "a", "multi_modal": None}, "relevance_score": 0.99853515625}],
        },
        ScoredDocuments((0.99853515625,), 56, model="BAAI/bge-reranker-base"),
    ),
]


@pytest.mark.parametrize(("shape", "expected"), REQUESTS, ids=SHAPES)
def test_a_request_has_the_keys_of_its_api_in_its_own_words(shape: RerankShape, expected: dict[str, Any]) -> None:
    assert request_content(shape, "m", "q", ["a", "b"], {"x": 1}) == expected


@pytest.mark.parametrize(("shape", "document", "expected"), [pytest.param(*rest, id=name) for name, *rest in REPLIES])
def test_a_documented_reply_gives_the_scores_in_the_order_of_the_request(
    shape: RerankShape, document: Any, expected: ScoredDocuments
) -> None:
    assert parse_scores(shape, json.loads(json.dumps(document)), len(expected.scores)) == expected


def reply(shape: RerankShape, results: Any) -> Any:
    return {shape.results: results} if shape.results else results


def result(shape: RerankShape, index: Any, score: Any) -> dict[str, Any]:
    return {"index": index, shape.score: score}


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
@given(scores=st.lists(st.floats(allow_nan=False, allow_infinity=False), max_size=8), data=st.data())
def test_the_order_of_a_reply_never_matters(shape: RerankShape, scores: list[float], data: st.DataObject) -> None:
    order = data.draw(st.permutations(range(len(scores))))
    document = reply(shape, [result(shape, at, scores[at]) for at in order])
    assert parse_scores(shape, document, len(scores)).scores == tuple(scores)


BAD_RESULTS: dict[str, tuple[list[Any], str]] = {
    "an index twice": ([(0, 0.5), (0, 0.4)], "an index is there twice"),
    "an index missing": ([(0, 0.5)], "1 result for 2 documents"),
    "one result more": ([(0, 0.5), (1, 0.4), (1, 0.4)], "3 results for 2 documents"),
    "no results": ([], "0 results for 2 documents"),
    "an index out of range": ([(0, 0.5), (2, 0.4)], "an index is not a whole number from 0 to 1"),
    "a negative index": ([(0, 0.5), (-1, 0.4)], "an index is not a whole number from 0 to 1"),
    "an index as text": ([(0, 0.5), ("1", 0.4)], "an index is not a whole number from 0 to 1"),
    "an index that is a fraction": ([(0, 0.5), (1.0, 0.4)], "an index is not a whole number from 0 to 1"),
    "an index that is true": ([(0, 0.5), (True, 0.4)], "an index is not a whole number from 0 to 1"),
    "an index null": ([(0, 0.5), (None, 0.4)], "an index is not a whole number from 0 to 1"),
    "a score NaN": ([(0, 0.5), (1, float("nan"))], "is not a finite number"),
    "a score infinite": ([(0, 0.5), (1, float("-inf"))], "is not a finite number"),
    "a score null": ([(0, 0.5), (1, None)], "is not a finite number"),
    "a score as text": ([(0, 0.5), (1, "0.4")], "is not a finite number"),
    "a score that is true": ([(0, 0.5), (1, True)], "is not a finite number"),
    "a score of 400 digits": ([(0, 0.5), (1, 10**400)], "is not a finite number"),
}


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
@pytest.mark.parametrize(("pairs", "why"), BAD_RESULTS.values(), ids=BAD_RESULTS)
def test_a_reply_without_one_finite_score_for_each_document_is_refused(
    shape: RerankShape, pairs: list[tuple[Any, Any]], why: str
) -> None:
    with pytest.raises(ResponseFormatError, match=why):
        parse_scores(shape, reply(shape, [result(shape, index, score) for index, score in pairs]), 2)


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
@pytest.mark.parametrize("document", [None, 3, "x", {}, {"results": None, "data": None}, {"error": "overloaded"}, [3], [[]]])
def test_a_body_of_another_form_is_refused(shape: RerankShape, document: Any) -> None:
    with pytest.raises(ResponseFormatError):
        parse_scores(shape, document, 1)


def test_the_key_of_another_api_is_not_read() -> None:
    with pytest.raises(ResponseFormatError, match="relevance_score is not a finite number"):
        parse_scores(COHERE, {"results": [{"index": 0, "score": 0.5}]}, 1)
    with pytest.raises(ResponseFormatError, match="results is not a list"):
        parse_scores(COHERE, {"data": [{"index": 0, "relevance_score": 0.5}]}, 1)


@pytest.mark.parametrize(
    "usage", [None, [], {}, {"total_tokens": -3}, {"total_tokens": "7"}, {"total_tokens": True}, {"total_tokens": 1e3}]
)
def test_tokens_that_are_no_number_count_as_not_reported(usage: Any) -> None:
    document = {"results": [result(COHERE, 0, 0.5)], "usage": usage, "meta": usage, "model": 7}
    assert parse_scores(COHERE, document, 1) == ScoredDocuments((0.5,))


def test_a_long_model_name_is_cut_and_a_broken_character_is_replaced() -> None:
    found = parse_scores(COHERE, {"results": [result(COHERE, 0, 0.5)], "model": "\ud800" + "x" * 300}, 1)
    assert found.model == "\ufffd" + "x" * 199
