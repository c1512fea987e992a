"""Rerank APIs on loopback: a server for each API that checks requests as the API does and scores with a real model.

The shapes are written out here for each API, from its documentation, and not taken from the code under test.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

from rankproof._registry import settings_of
from rankproof.stages._registry import SCORERS
from support.chat_server import ChatServer
from support.scripted_server import Request, Sent
from support.small_models import HashedWords

ENCODER = HashedWords().load()
Score = Callable[[str, Sequence[str]], list[float]]
BYTES_PER_TOKEN = 5
MODEL = "loopback-reranker"


def cosines(query: str, texts: Sequence[str]) -> list[float]:
    """The cosine similarity of each text with the query."""
    vectors = ENCODER.encode([query, *texts])
    # An exact sum: BLAS kernels differ in the last bit.
    products = (np.asarray(vectors[1:], np.float64) * np.asarray(vectors[0], np.float64)).tolist()
    return [math.fsum(row) for row in products]


def tokens_of(query: str, texts: Sequence[str]) -> int:
    """The tokens that the servers report: those of the query for each document, and those of the documents."""
    return sum((len(query.encode()) + len(text.encode())) // BYTES_PER_TOKEN + 1 for text in texts)


@dataclass(frozen=True)
class Api:
    """One API: its path, the keys of a request, the largest request, and its reply to a query, texts and scores."""

    path: str
    documents: str
    required: frozenset[str]
    allowed: frozenset[str]
    limit: int
    reply: Callable[[Mapping[str, Any], str, Sequence[str], Sequence[float]], Any]


def _ranked(scores: Sequence[float], key: str, **more: Callable[[int], Any]) -> list[dict[str, Any]]:
    """The results, best first."""
    order = sorted(range(len(scores)), key=lambda at: -scores[at])
    return [{"index": at, key: scores[at], **{name: make(at) for name, make in more.items()}} for at in order]


def _usage(query: str, texts: Sequence[str]) -> dict[str, int]:
    return {"total_tokens": tokens_of(query, texts)}


def _cohere(body: Mapping[str, Any], query: str, texts: Sequence[str], scores: Sequence[float]) -> Any:
    units = {"search_units": -(-len(texts) // 100)}
    meta = {"api_version": {"version": "2"}, "billed_units": units}
    return {"id": "07734bd2", "results": _ranked(scores, "relevance_score"), "meta": meta}


def _jina(body: Mapping[str, Any], query: str, texts: Sequence[str], scores: Sequence[float]) -> Any:
    echo = {"document": lambda at: {"text": texts[at]}} if body.get("return_documents", True) else {}
    results = _ranked(scores, "relevance_score", **echo)
    return {"model": body["model"], "object": "list", "usage": _usage(query, texts), "results": results}


def _voyage(body: Mapping[str, Any], query: str, texts: Sequence[str], scores: Sequence[float]) -> Any:
    usage = _usage(query, texts)
    return {"object": "list", "data": _ranked(scores, "relevance_score"), "model": body["model"], "usage": usage}


def _mixedbread(body: Mapping[str, Any], query: str, texts: Sequence[str], scores: Sequence[float]) -> Any:
    best = _ranked(scores, "score", input=lambda at: None, object=lambda at: "rank_result")[: body.get("top_k", 10)]
    usage = {"prompt_tokens": tokens_of(query, texts), **_usage(query, texts)}
    return {"usage": usage, "model": body["model"], "data": best, "object": "list", "top_k": body.get("top_k", 10)}


def _tei(body: Mapping[str, Any], query: str, texts: Sequence[str], scores: Sequence[float]) -> Any:
    return _ranked([10 * score for score in scores] if body.get("raw_scores") else scores, "score")


def _infinity(body: Mapping[str, Any], query: str, texts: Sequence[str], scores: Sequence[float]) -> Any:
    usage = {"prompt_tokens": tokens_of(query, texts), **_usage(query, texts)}
    results = _ranked(scores, "relevance_score", document=lambda at: None)
    return {"object": "rerank", "results": results, "model": body["model"], "usage": usage, "id": "infinity-1", "created": 1}


def _vllm(body: Mapping[str, Any], query: str, texts: Sequence[str], scores: Sequence[float]) -> Any:
    results = _ranked(scores, "relevance_score", document=lambda at: {"text": texts[at], "multi_modal": None})
    usage = {"prompt_tokens": tokens_of(query, texts), **_usage(query, texts)}
    return {"id": "rerank-1", "model": body["model"], "usage": usage, "results": results}


def _api(path: str, documents: str, optional: str, limit: int, reply: Callable[..., Any], *, model: bool = True) -> Api:
    required = frozenset({"query", documents, *(["model"] if model else [])})
    return Api(path, documents, required, required | frozenset(optional.split()), limit, reply)


APIS: dict[str, Api] = {
    "cohere": _api("/v2/rerank", "documents", "top_n max_tokens_per_doc priority", 10_000, _cohere),
    "jina": _api("/v1/rerank", "documents", "top_n return_documents truncation", 2048, _jina),
    "voyage": _api("/v1/rerank", "documents", "top_k return_documents truncation", 1000, _voyage),
    "mixedbread": _api("/v1/reranking", "input", "top_k return_input rank_fields rewrite_query", 1000, _mixedbread),
    "tei": _api("/rerank", "texts", "raw_scores truncate truncation_direction return_text", 32, _tei, model=False),
    "infinity": _api("/rerank", "documents", "top_n return_documents raw_scores", 2048, _infinity),
    "vllm": _api("/v1/rerank", "documents", "top_n truncate_prompt_tokens use_activation priority", 10_000, _vllm),
}
"""The APIs by the name of their scorer."""


def well(api: str, request: Request, score: Score = cosines, limit: int = 0) -> Sent:
    """What the API replies to the request; a request that it does not know is rejected."""
    known, body = APIS[api], request.body
    texts, query = body.get(known.documents), body.get("query")
    if request.path != known.path:
        return Sent(404, b'{"message": "not found"}')
    if not known.required <= body.keys() <= known.allowed:
        return _rejected(422, f"unexpected or missing keys: {sorted(known.required ^ body.keys())}")
    if not isinstance(texts, list) or not all(isinstance(text, str) and text for text in texts) or not query or not texts:
        return _rejected(422, "the query or a document is empty")
    if len(texts) > (limit or known.limit):
        return _rejected(413, f"batch size {len(texts)} > maximum allowed batch size {limit or known.limit}")
    return Sent(body=json.dumps(known.reply(body, query, texts, score(query, texts))).encode())


def _rejected(status: int, message: str) -> Sent:
    return Sent(status, json.dumps({"error": message, "message": message, "error_type": "Validation"}).encode())


def _prefix(api: str) -> str:
    """The part of the path that belongs to the address; the version of Cohere's API does not."""
    return "" if api == "cohere" else APIS[api].path.rpartition("/")[0]


def base_url(server: ChatServer, api: str) -> str:
    """The address of the API on the server, as a user writes it."""
    return server.address.removesuffix("/v1") + _prefix(api)


def scorer(server: ChatServer, api: str, **settings: Any) -> Any:
    """The scorer of that API on the server, without a key."""
    given = {"model": MODEL, "base_url": base_url(server, api), "api_key_env": "", "timeout": 20.0, **settings}
    part = SCORERS.load(api)
    known = {setting.field for setting in settings_of(part)}
    assert known >= settings.keys(), f"{api} has no setting {settings.keys() - known}"
    return part(**given)


def _all(request: Request) -> Sent:
    """The reply of the API that the first part of the path names; no connection stays open, as no test closes it."""
    _, api, path = request.path.split("/", 2)
    return replace(well(api, replace(request, path=f"/{path}")), headers={"Connection": "close"})


@cache
def server_of_all() -> ChatServer:
    """A server of all APIs, started once for this process."""
    server = ChatServer(_all)
    server.__enter__()
    return server


def scorer_on_shared_server(api: str) -> Any:
    """The scorer of that API on the server of all."""
    root = server_of_all().address.removesuffix("/v1")
    return scorer(server_of_all(), api, base_url=f"{root}/{api}{_prefix(api)}")


@contextmanager
def serving(api: str, answer: Callable[[Request], Sent] | None = None) -> Iterator[ChatServer]:
    """A server of the API; `answer` misbehaves on purpose."""
    with ChatServer(answer or (lambda request: well(api, request))) as server:
        yield server


def documents_sent(server: ChatServer, api: str) -> list[list[str]]:
    """The texts of each request."""
    return [list(request.body[APIS[api].documents]) for request in server.requests]
