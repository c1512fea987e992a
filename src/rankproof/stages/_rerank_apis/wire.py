"""The requests and replies of rerank APIs: their shapes, what they cost, and the connection that sends them."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, Self

from rankproof._data.replies import lists_as_tuples
from rankproof._data.text import pluralise
from rankproof._io.http import ResponseFormatError, replace_surrogates
from rankproof._llm.budget import Estimate, Usage, estimated_money, is_plausible
from rankproof._llm.cache import ResponseCache
from rankproof._llm.client import ModelClient
from rankproof._llm.session import LLMSession
from rankproof.models._api.connection import ModelConnection, count_of, list_of, object_of
from rankproof.models._api.settings import ModelServer, PaidModel
from rankproof.models._chat.base import estimate_tokens, max_tokens_of

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


PLAIN = RerankShape()
"""That of Jina, Infinity, vLLM and many other servers."""
COHERE = RerankShape(path="/v2/rerank")
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
        part = object_of(result, "a result")
        scores[_index(part.get("index"), count, scores)] = _score(part.get(shape.score), shape.score)
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
    part = body.get(name)
    return part if isinstance(part, dict) else {}


_TOKENS_PER_PAIR = 8
"""Tokens that a model adds to a pair of query and document."""
_SHORTEST_LIMIT = 4096
"""The fewest bytes of a document that a reranker reads; longer documents may be cut."""
_DOCUMENTS_PER_UNIT = 100
_TOKENS_PER_CHUNK = 500
"""A search unit of Cohere is a query with up to 100 documents; a longer document counts as several of them."""


@dataclass(frozen=True, slots=True)
class RerankRequest:
    """A query and the texts of some of its documents."""

    query: str
    texts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RerankReply:
    """One score for each text, with the cost of the request; `units` are search units.

    `estimated` says that tokens or units are estimated because the server reports none that can be right.
    """

    scores: tuple[float, ...]
    seconds: float
    tokens_in: int = 0
    units: int = 0
    model: str = ""
    requests: int = 1
    estimated: bool = False
    masked: bool = False
    tokens_out: int = 0

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> Self:
        """A reply that was written as JSON."""
        return cls(**lists_as_tuples(values))


def estimate_pairs(request: RerankRequest) -> Estimate:
    """An estimate for one request: the query is read with each document."""
    query = estimate_tokens(request.query) + _TOKENS_PER_PAIR
    sizes = [query + estimate_tokens(text) for text in request.texts]
    return Estimate(1, sum(sizes), units=_units_of(sizes))


def max_pairs_cost(request: RerankRequest) -> Estimate:
    """The maximum cost of one request in any language."""
    query = max_tokens_of(request.query) + _TOKENS_PER_PAIR
    sizes = [query + max_tokens_of(text) for text in request.texts]
    return Estimate(1, sum(sizes), units=_units_of(sizes))


def _units_of(sizes: list[int]) -> int:
    """The search units of documents with so many tokens, each with the query."""
    return -(-sum(-(-size // _TOKENS_PER_CHUNK) for size in sizes) // _DOCUMENTS_PER_UNIT)


class RerankServer(ModelServer, PaidModel, Hashable, Protocol):
    """What a request needs of the settings of an API."""

    @property
    def shape(self) -> RerankShape: ...

    @property
    def reports_tokens(self) -> bool: ...

    @property
    def bills_searches(self) -> bool: ...

    def parameters(self) -> Mapping[str, Any]: ...

    def load(self, *, threads: int = 1) -> RerankConnection: ...


class RerankConnection:
    """The connection to a rerank API."""

    def __init__(self, server: RerankServer) -> None:
        causes = "; likely causes: a text that is too long, too many documents, or a setting that this server does not know"
        self._server = server
        self._connection = ModelConnection(server, service="reranking", causes=causes)

    def reply(self, request: RerankRequest) -> RerankReply:
        """The reply to one request, with the tokens and units that the server reports."""
        server, count = self._server, len(request.texts)
        content = request_content(server.shape, server.model, request.query, request.texts, server.parameters())
        response = self._connection.post(server.shape.path, content, lambda document: parse_scores(server.shape, document, count))
        read = response.value
        return RerankReply(read.scores, response.seconds, read.tokens, read.units, read.model, masked=response.masked)

    def close(self) -> None:
        """Stops all calls; connections close after their last request."""
        self._connection.close()


class RerankClient(ModelClient[RerankRequest, RerankReply]):
    """Calls one rerank API."""

    def __init__(self, server: RerankServer, session: LLMSession, cache: ResponseCache[RerankReply]) -> None:
        super().__init__(session.sender(), cache)
        self._server, self._session = server, session

    def _requested(self, request: RerankRequest) -> RerankReply:
        reply, requests = self.sender.send_with_retries(lambda: self._send(request))
        return replace(reply, requests=requests)

    def _send(self, request: RerankRequest) -> RerankReply:
        connection = self._session.load_once(self._server)
        most = self._usage(max_pairs_cost(request))
        return self.sender.send(
            lambda: with_plausible_cost(connection.reply(request), request, self._server),
            most,
            lambda reply: self._usage(Estimate(1, reply.tokens_in, units=reply.units)),
        )

    def _usage(self, cost: Estimate) -> Usage:
        return Usage(cost.calls, cost.tokens_in, 0, estimated_money(cost, self._server))


def with_plausible_cost(reply: RerankReply, request: RerankRequest, server: RerankServer) -> RerankReply:
    """The reply with the tokens and units of the server, or with estimates where there are none that can be right.

    An API that reports no tokens, or bills no searches, is not marked as estimated for the lack of them.
    """
    usual, most = estimate_pairs(request), max_pairs_cost(request)
    size = sum(min(max_tokens_of(text), _SHORTEST_LIMIT) for text in request.texts)
    tokens = reply.tokens_in if is_plausible(reply.tokens_in, max(size, 1), most.tokens_in) else 0
    units = reply.units if 1 <= reply.units <= most.units + 1 and server.bills_searches else 0
    missing = (server.reports_tokens and not tokens) or (server.bills_searches and not units)
    return replace(
        reply,
        tokens_in=tokens or usual.tokens_in,
        units=(units or usual.units) if server.bills_searches else 0,
        estimated=missing,
    )
