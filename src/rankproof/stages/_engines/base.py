"""What all search engines share: their replies and failures, the client that asks them and records replies, and the stage."""

from __future__ import annotations

import math
import threading
import time
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import pairwise
from typing import Annotated, Any, ClassVar, Protocol, Self

import numpy as np

from rankproof._data import format_versions
from rankproof._data.corpus import Corpus
from rankproof._data.dataset import Query
from rankproof._data.identity import NOT_IN_IDENTITY, identity_key
from rankproof._data.ordering import Ranking
from rankproof._data.replies import lists_as_tuples
from rankproof._data.text import pluralise
from rankproof._data.validation import checked_id
from rankproof._io.retry import RequestError
from rankproof._llm.budget import CallTotals, Estimate, Usage
from rankproof._llm.client import MAX_CONSECUTIVE_FAILURES, CachedClient
from rankproof._llm.embedding import load_encoder
from rankproof._registry import Option
from rankproof.errors import InputError, RankproofError
from rankproof.models._api.embedding import EmbeddingApi
from rankproof.models._api.settings import ModelRequestError
from rankproof.models._base import EncoderModel
from rankproof.stages._base import BuildContext, QueryTimer, Searcher, Stage
from rankproof.stages._fields import Depth, check_settings
from rankproof.stages._text_vectors import EncodedQueries, add_prompt, text_vectors

_TEXT_LENGTH = 2000
"""How many characters of a document's text are recorded with a reply."""
_CLOCK_STEP_MS = 20.0
"""How much longer than the round trip the time of a server may be, because its clock is coarse."""
_ONE_CALL = Usage(calls=1)


@dataclass(frozen=True, slots=True)
class EngineReply:
    """The reply of an engine to one query.

    `docs` are document ids in the order of the reply; `scores` are the engine's own, None where it gives none; `texts` has texts
    of documents by id, where the reply has them. `seconds` is the round trip of the request that succeeded, 0 to let the client
    measure it; `embed_seconds` is the time of encoding the query before that, `embed_calls` and `embed_tokens` are those of an
    embedding API; `server_ms` is the time that the server reports.
    `notes` are short facts such as "40 documents where 100 were requested": equal notes are counted over all queries. The client
    sets `requests`, failed ones included, and `asked`, the UTC time of the request.
    """

    docs: tuple[str, ...]
    scores: tuple[float, ...] | None = None
    texts: Mapping[str, str] = field(default_factory=dict)
    seconds: float = 0.0
    embed_seconds: float = 0.0
    server_ms: float | None = None
    notes: tuple[str, ...] = ()
    requests: int = 1
    asked: str = ""
    embed_calls: int = 0
    embed_tokens: int = 0

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> Self:
        """A reply that was written as JSON."""
        return cls(**lists_as_tuples(values))


def is_sorted(scores: Sequence[float]) -> bool:
    """Whether the scores go in one direction: higher is better, or lower is better for a distance."""
    steps = {(after > before) - (after < before) for before, after in pairwise(scores)}
    return not {-1, 1} <= steps


class EngineError(RequestError):
    """A request to an engine failed, or no request was sent (`sent` is False)."""

    def __init__(self, what: str, *, retryable: bool = False, wait: float | None = None, sent: bool = True) -> None:
        super().__init__(what, retryable=retryable, wait=wait)
        self.what, self.sent = what, sent


class EngineConnection(Protocol):
    """An open connection to a search engine; `ask` may be called from several threads."""

    def ask(self, query: Query, size: int) -> EngineReply:
        """The reply with at most `size` documents; EngineError if the request fails."""
        ...

    def close(self) -> None:
        """Closes the connection."""
        ...


@dataclass(frozen=True, slots=True)
class EncodedQuery:
    """The vector of a query, empty for a query without tokens, with the time of encoding it and notes.

    `calls` and `tokens` are those of an embedding API.
    """

    vector: tuple[float, ...] = ()
    seconds: float = 0.0
    notes: tuple[str, ...] = ()
    calls: int = 0
    tokens: int = 0

    def added_to(self, reply: EngineReply) -> EngineReply:
        """The reply with what encoding the query took; notes are not added."""
        return replace(reply, embed_seconds=self.seconds, embed_calls=self.calls, embed_tokens=self.tokens)


class QueryEncoder:
    """Encodes queries for an engine, one at a time: an encoder need not be safe for several threads."""

    def __init__(self, model: EncoderModel, prompt: str, context: BuildContext) -> None:
        self._encoder = load_encoder(model, context.session, context.threads)
        self._prompt, self._lock = prompt, threading.Lock()

    def encode(self, text: str) -> EncodedQuery:
        """The vector of the text after the prompt, and a note if the encoder truncates them."""
        texts = [add_prompt(self._prompt, text)]
        start, totals = time.perf_counter(), CallTotals()
        with self._lock:
            try:
                vector = text_vectors(self._encoder, texts, "query", totals)[0]
            except ModelRequestError as failure:
                raise EngineError(f"the query got no vector: {failure}", sent=False) from None
            is_cut = self._encoder.cut(texts)
        seconds = totals.seconds or time.perf_counter() - start
        if not vector.any():
            return EncodedQuery((), seconds, ("the query has no tokens, so it has no vector: not sent",))
        calls, tokens = totals.counts["calls"], totals.counts["tokens_in"]
        notes = ("the query is longer than the model's limit and was truncated",) if is_cut else ()
        return EncodedQuery(tuple(vector.tolist()), seconds, notes, calls, tokens)


@dataclass(frozen=True, kw_only=True)
class EngineStage(Stage):
    """A stage that asks a search engine outside rankproof; a kind of engine implements `connect` and nothing else.

    Rankings follow the order of the reply. Settings that do not change a reply are not part of the identity.
    """

    depth: Depth = 100
    retries: Annotated[int, Option("how many times a failed request is sent again", least=0)] = field(
        default=2, metadata=NOT_IN_IDENTITY
    )
    timeout: Annotated[float, Option("seconds to wait for a reply", least=0.001)] = field(default=30.0, metadata=NOT_IN_IDENTITY)
    rate: Annotated[float | None, Option("the most requests a second (default: no limit)", least=0.001)] = field(
        default=None, metadata=NOT_IN_IDENTITY
    )
    concurrency: Annotated[int, Option("how many requests may run at once", least=1)] = field(default=1, metadata=NOT_IN_IDENTITY)
    needs_documents: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_settings(self)

    @abstractmethod
    def connect(self, context: BuildContext) -> EngineConnection:
        """Opens the connection, before the first query without a recorded reply; EngineError if the server cannot be reached."""

    def about(self) -> tuple[str, ...]:
        """Notes on the engine itself, whatever it replies."""
        return ()

    @property
    def paid_model(self) -> EmbeddingApi | None:
        """The embedding API that encodes queries, None if there is none."""
        model = getattr(self, "model", None)
        return model if isinstance(model, EmbeddingApi) else None

    def estimate(self, queries: Sequence[Query], context: BuildContext) -> Estimate:
        """The calls of the embedding API, one for each query."""
        encoded = self.encoded_queries()
        return encoded.estimate(queries) if encoded else Estimate()

    def encoded_queries(self) -> EncodedQueries | None:
        """How the embedding API encodes queries, None if there is none."""
        return EncodedQueries(self.paid_model, getattr(self, "query_prompt", "")) if self.paid_model else None

    def client(self, context: BuildContext) -> EngineClient:
        """The client, one for each stage and session."""
        key = context.session.repeat_key("engine", self)
        return context.session.make_once(key, lambda: EngineClient(self, context))

    def build(self, context: BuildContext) -> EngineSearcher:
        """Builds the searcher; nothing is sent before the first query."""
        return EngineSearcher(self, self.client(context))


class EngineClient(CachedClient[Query, EngineReply]):
    """Asks one engine through its recorded replies; safe for several threads.

    A reply is recorded on disk before the next request. A failure is kept for this run only, so the next run asks again.
    """

    def __init__(self, stage: EngineStage, context: BuildContext) -> None:
        session = context.session
        key = identity_key(*session.repeat_key("engine", format_versions.RESPONSE_CACHE, stage))
        # A failed query counts with 0 instead of stopping the run, so the breaker only says when to stop asking.
        super().__init__(session.sender(max_requests=stage.retries + 1, stops_run=False), session.replies(key, EngineReply))
        self.stage, self._context = stage, context
        self._engine: EngineConnection | None = None
        self._connecting, self._lock = threading.Lock(), threading.Lock()
        self._slots = threading.BoundedSemaphore(stage.concurrency)
        self._failures: dict[str, EngineError] = {}
        self._next_start = 0.0

    def _key(self, request: Query) -> str:
        return identity_key(request.id, request.text)

    def find(self, query: Query) -> EngineReply | EngineError | None:
        """The recorded reply or the failure of this run, None if the query is still to be asked."""
        return self._failures.get(self._key(query)) or self.cached_reply(query, again=self._context.engines.ask_again)

    def ask(self, query: Query) -> EngineReply | EngineError:
        """The recorded reply, or that of a new request; a failure is returned, not raised."""
        with self._slots:
            reply = self.find(query)
            if reply is not None:
                return reply
            try:
                return self.reply(query, again=self._context.engines.ask_again)
            except EngineError as failure:
                self._failures[self._key(query)] = failure
                return failure

    def was_sent(self, query: Query) -> bool:
        """Whether the reply was requested in this run."""
        return self.cached_reply(query, again=True) is not None

    def close(self) -> None:
        """Closes the connection; a later request opens it again."""
        with self._connecting:
            engine, self._engine = self._engine, None
        if engine is not None:
            engine.close()

    def _requested(self, request: Query) -> EngineReply:
        if self.sender.breaker.is_open:
            raise EngineError(f"not asked, because {MAX_CONSECUTIVE_FAILURES} queries in a row failed", sent=False)
        reply, requests = self.sender.send_with_retries(lambda: self._send(request))
        return replace(reply, requests=requests)

    def _send(self, query: Query) -> EngineReply:
        self._keep_rate()
        reply = self.sender.send(lambda: self._timed_reply(query), _ONE_CALL, lambda reply: _ONE_CALL)
        return checked_reply(reply, self.stage.depth, self._context.corpus)

    def _timed_reply(self, query: Query) -> EngineReply:
        engine = self._connection()
        asked, start = f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}", time.perf_counter()
        reply = engine.ask(query, self.stage.depth)
        return replace(reply, seconds=reply.seconds or time.perf_counter() - start - reply.embed_seconds, asked=asked)

    def _connection(self) -> EngineConnection:
        with self._connecting:
            if self._engine is None:
                self._engine = self.stage.connect(self._context)
                self._context.session.on_close(self.close)
            return self._engine

    def _keep_rate(self) -> None:
        """Waits until the rate allows another request."""
        if self.stage.rate is None:
            return
        with self._lock:
            start = max(self._next_start, time.monotonic())
            self._next_start = start + 1 / self.stage.rate
        if (wait := start - time.monotonic()) > 0:
            self.sender.pause(wait)


def checked_reply(reply: EngineReply, size: int, corpus: Corpus) -> EngineReply:
    """The reply with each document once and at most `size` of them, and with notes on what was left out."""
    try:
        ids = [checked_id(doc, "document") for doc in reply.docs]
    except InputError as error:
        raise EngineError(f"the reply has an invalid document id: {error.what}") from None
    # Reversed, so that the first place of a repeated document counts.
    rows = list({doc: at for at, doc in reversed(list(enumerate(ids)))}.values())
    rows.sort()
    notes = list(reply.notes)
    if len(rows) < len(ids):
        notes.append(f"{pluralise(len(ids) - len(rows), 'repeated document')} left out")
    if len(rows) > size:
        notes.append(f"{len(rows)} documents where {size} were requested: the first {size} count")
        rows = rows[:size]
    scores = reply.scores
    if scores is not None and (len(scores) != len(ids) or not all(map(math.isfinite, scores))):
        notes.append("the engine's scores are left out: there is not one finite number for each document")
        scores = None
    round_trip_ms = reply.seconds * 1000
    if reply.server_ms is not None and reply.server_ms > round_trip_ms + _CLOCK_STEP_MS:
        notes.append("the server reports more time than the round trip took; it is cut to that: check server_time_unit")
    docs = tuple(ids[at] for at in rows)
    return replace(
        reply,
        docs=docs,
        scores=None if scores is None else tuple(float(scores[at]) for at in rows),
        texts={doc: text[:_TEXT_LENGTH] for doc, text in reply.texts.items() if doc in docs and doc not in corpus},
        server_ms=None if reply.server_ms is None else min(max(reply.server_ms, 0.0), round_trip_ms),
        notes=tuple(notes),
    )


class EngineSearcher(Searcher):
    """The rankings of an engine, in the order of its replies; a failed query has an empty ranking."""

    def __init__(self, stage: EngineStage, client: EngineClient) -> None:
        self._stage, self.client = stage, client

    def search(self, query: Query, inputs: Sequence[Ranking], timer: QueryTimer) -> Ranking:
        """The documents in the order of the reply; their scores are the depth, one less for each rank."""
        reply = self.client.ask(query)
        timer.is_recorded = True
        timer.counts["asked"] += 1
        timer.counts["calls"] += reply.requests
        if isinstance(reply, EngineError):
            timer.counts["failed"] += 1
            timer.counts["refused"] += int(reply.sent and not reply.retryable)
            return [], np.zeros(0)
        server_ms = reply.seconds * 1000 if reply.server_ms is None else reply.server_ms
        timer.counts["calls"] += reply.embed_calls
        timer.counts["tokens_in"] += reply.embed_tokens
        timer.milliseconds["embed"] += reply.embed_seconds * 1000
        timer.milliseconds["search"] += server_ms
        timer.milliseconds["network"] += reply.seconds * 1000 - server_ms
        # The engine's own scores may be distances, or missing.
        return list(reply.docs), np.arange(self._stage.depth, self._stage.depth - len(reply.docs), -1, dtype=np.float64)

    def facts(self) -> Mapping[str, Any]:
        """The settings that do not change a reply."""
        stage = self._stage
        return {"retries": stage.retries, "timeout": stage.timeout, "rate": stage.rate, "concurrency": stage.concurrency}

    def notes(self) -> Sequence[str]:
        """The notes on the engine; those on its replies are made with the output."""
        return self._stage.about()

    def close(self) -> None:
        """Closes the connection."""
        with suppress(RankproofError):
            self.client.close()
