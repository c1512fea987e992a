"""Sends the documents of one query to a rerank API: requests, replies with their cost, and the connection."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol, Self

from rankproof._data.replies import lists_as_tuples
from rankproof._llm.budget import Estimate, Usage
from rankproof._llm.call_counts import CallCounter
from rankproof._llm.session import LLMSession
from rankproof.models._api.connection import ModelConnection
from rankproof.models._api.settings import ModelServer, PaidModel
from rankproof.models._chat.base import estimate_tokens, max_tokens_of
from rankproof.stages._rerank_apis.wire import RerankShape, parse_scores, request_content

_TOKENS_PER_PAIR = 8
"""Tokens that a model adds to a pair of query and document."""
_MAX_BYTES_PER_TOKEN = 16
"""No text in a natural language has tokens as long as this on average."""
_SHORTEST_LIMIT = 256
"""The fewest tokens of a document that a reranker reads; longer documents may be cut."""
_MAX_UNSEEN_TOKENS = 100_000
"""Tokens of prompts that a server may add."""
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
    return Estimate(1, sum(sizes), units=_search_units(sizes))


def max_pairs_cost(request: RerankRequest) -> Estimate:
    """The maximum cost of one request in any language."""
    query = max_tokens_of(request.query) + _TOKENS_PER_PAIR
    sizes = [query + max_tokens_of(text) for text in request.texts]
    return Estimate(1, sum(sizes), units=_search_units(sizes))


def _search_units(sizes: list[int]) -> int:
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
        found = self._connection.post(server.shape.path, content, lambda document: parse_scores(server.shape, document, count))
        read = found.value
        return RerankReply(read.scores, found.seconds, read.tokens, read.units, read.model, masked=found.masked)

    def close(self) -> None:
        """Stops all calls; connections close after their last request."""
        self._connection.close()


class RerankRequester:
    """Sends requests to one API within the budget and retries failed ones."""

    def __init__(self, server: RerankServer, session: LLMSession) -> None:
        self._server, self._session, self.sender = server, session, session.sender()

    def reply(self, request: RerankRequest, counter: CallCounter) -> RerankReply:
        """The reply; if no request brings one, all of them are counted and the last error is raised."""
        reply, requests = self.sender.retried(lambda: self._send(request), counter)
        return replace(reply, requests=requests)

    def _send(self, request: RerankRequest) -> RerankReply:
        connection = self._session.loaded(self._server)
        most = self._usage(max_pairs_cost(request))
        return self.sender.send(
            lambda: with_plausible_cost(connection.reply(request), request, self._server),
            most,
            lambda reply: self._usage(Estimate(1, reply.tokens_in, units=reply.units)),
        )

    def _usage(self, cost: Estimate) -> Usage:
        return Usage(cost.calls, cost.tokens_in, 0, cost.money(self._server))


def with_plausible_cost(reply: RerankReply, request: RerankRequest, server: RerankServer) -> RerankReply:
    """The reply with the tokens and units of the server, or with estimates where there are none that can be right.

    An API that reports no tokens, or bills no searches, is not marked as estimated for the lack of them.
    """
    usual, most = estimate_pairs(request), max_pairs_cost(request)
    least = sum(min(max_tokens_of(text) // _MAX_BYTES_PER_TOKEN, _SHORTEST_LIMIT) for text in request.texts)
    tokens = reply.tokens_in if least <= reply.tokens_in <= most.tokens_in + _MAX_UNSEEN_TOKENS and reply.tokens_in else 0
    units = reply.units if 1 <= reply.units <= most.units + 1 and server.bills_searches else 0
    missing = (server.reports_tokens and not tokens) or (server.bills_searches and not units)
    return replace(
        reply,
        tokens_in=tokens or usual.tokens_in,
        units=(units or usual.units) if server.bills_searches else 0,
        estimated=missing,
    )
