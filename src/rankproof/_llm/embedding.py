"""The encoder of an embedding API within a session: cached text by text, retrying, within a budget."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Protocol, runtime_checkable

import numpy as np

from rankproof._data import format_versions
from rankproof._data.arrays import Matrix, read_only
from rankproof._data.identity import identity_key
from rankproof._llm.budget import CallCounter, CallTotals, Estimate, Usage, is_plausible
from rankproof._llm.cache import VectorBatch, VectorCache, split_tokens
from rankproof._llm.client import KeyedLock
from rankproof._llm.session import LLMSession, map_concurrent
from rankproof.models._api.embedding import EmbeddingApi, EmbeddingReply, TextRole, cut_bytes
from rankproof.models._api.settings import ModelRequestError
from rankproof.models._base import Encoder, EncoderModel
from rankproof.models._chat.base import estimate_tokens, max_tokens_of

_TOKENS_PER_TEXT = 64
"""Tokens that a server may add to each text, such as the prompt for its role."""
_SHORTEST_LIMIT = 256
"""The fewest tokens of a text that a model reads; longer texts may be truncated."""
_TOO_LONG = (400, 413, 422, 500)
"""Statuses of servers that reject a text because it is too long; llama.cpp has 500."""
_TOO_MANY = 413
_KEPT = 0.75
"""The share of a text that is sent again when the server rejects it as too long, until one is accepted."""


def estimate_texts(model: EmbeddingApi, texts: Sequence[str]) -> Estimate:
    """An estimate for encoding the texts in batches; blank and repeated texts are not sent."""
    sent = [text for text in dict.fromkeys(texts) if text.strip()]
    return Estimate(sum(1 for _ in model.batches(sent)), sum(estimate_tokens(model.sent_text(text)) for text in sent))


def max_texts_cost(texts: Sequence[str]) -> Estimate:
    """The maximum cost of one request in any language."""
    return Estimate(1, sum(max_tokens_of(text) + _TOKENS_PER_TEXT for text in texts))


def plausible_tokens(reported: int, texts: Sequence[str]) -> tuple[int, bool]:
    """The tokens that the server reports, or an estimate where they cannot be right, and whether it is an estimate."""
    least = sum(min(max_tokens_of(text), _SHORTEST_LIMIT) for text in texts)
    if is_plausible(reported, max(least, 1), max_texts_cost(texts).tokens_in):
        return reported, False
    return sum(map(estimate_tokens, texts)), True


@runtime_checkable
class CountingEncoder(Encoder, Protocol):
    """An encoder that calls an API: its calls, tokens and seconds are counted."""

    @property
    def concurrency(self) -> int: ...

    def encode_counting(self, texts: Sequence[str], role: TextRole, counter: CallCounter) -> Matrix:
        """As `encode`, for texts of that role; a text from the cache counts with what it cost when it was first sent."""
        ...

    def notes(self) -> tuple[str, ...]:
        """Notes on texts that were shortened, or whose truncation is unknown."""
        ...


def load_encoder(model: EncoderModel, session: LLMSession, threads: int) -> Encoder:
    """The loaded model; an embedding API is called through the session, and its encoder is the same for the same model."""
    if isinstance(model, EmbeddingApi):
        return session.make_once(("encoder", model), lambda: CachedEncoder(model, session))
    return model.load(threads=threads)


class CachedEncoder:
    """Encodes texts with an embedding API; each text is sent once and cached; safe for several threads."""

    def __init__(self, model: EmbeddingApi, session: LLMSession) -> None:
        session.check_price(model)
        self._model, self._session, self._sender = model, session, session.sender()
        self._known_size: int | None = None
        self._locks = KeyedLock()
        self._most_texts, self._lock = model.batch_size, threading.Lock()
        self._shortened: set[bytes] = set()
        self._last_failure = ""

    @property
    def concurrency(self) -> int:
        """How many requests run at once."""
        return self._model.concurrency

    def encode(self, texts: Sequence[str]) -> Matrix:
        """The vectors of passages, zeros for blank ones."""
        return self.encode_counting(texts, "passage", CallTotals())

    def encode_queries(self, texts: Sequence[str]) -> Matrix:
        """The vectors of queries, zeros for blank ones."""
        return self.encode_counting(texts, "query", CallTotals())

    def encode_counting(self, texts: Sequence[str], role: TextRole, counter: CallCounter) -> Matrix:
        """The vectors of texts of that role, from the cache or sent in batches; ModelRequestError if a request fails."""
        asked = {_text_key(role, text): text for text in texts if text.strip()}
        if len(asked) == 1:
            # Another thread may be sending the same query.
            with self._locks.hold(next(iter(asked)).hex()):
                self._request_missing(asked, role, counter)
        else:
            self._request_missing(asked, role, counter)
        return self._counted_rows(texts, asked, role, counter)

    def cut(self, texts: Sequence[str]) -> int:
        """The number of texts that are probably longer than the model reads."""
        return sum(self._model.is_cut(text) for text in texts)

    def facts(self) -> Mapping[str, Any]:
        """Address, limits and dimensions."""
        return {**self._model.facts(), "dimensions": self._size()}

    def notes(self) -> tuple[str, ...]:
        """Notes on texts that were shortened, on truncation that is unknown, and on the last failed request."""
        model, count = self._model, len(self._shortened)
        notes = {
            f"{count} of the texts were shortened until {model.api} took them": count,
            f"{model.api} truncates long texts without saying so, and max_tokens is not set: whether texts were truncated is "
            "unknown": model.server_truncates and model.max_tokens is None,
            f"the last failed request: {self._last_failure}": self._last_failure,
        }
        return tuple(note for note, holds in notes.items() if holds)

    def _cache(self, role: TextRole) -> VectorCache:
        """The vectors of that role; those of passages may be many and are opened only if a passage is encoded."""
        cache = self._session.vectors(identity_key(format_versions.RESPONSE_CACHE, "embeddings", role, self._model))
        self._known_size = self._known_size or cache.size()
        return cache

    def _request_missing(self, asked: Mapping[bytes, str], role: TextRole, counter: CallCounter) -> None:
        cache = self._cache(role)
        missing = {key: text for key, text in asked.items() if not cache.has(key)}
        self._session.meter.spend(Usage(journaled=len(asked) - len(missing)))
        if len(asked) > len(missing):
            self._sender.breaker.record_reply(from_cache=True)
        keys, texts = list(missing), list(missing.values())
        batches = [{keys[at]: texts[at] for at in batch} for batch in self._model.batches(texts, self._most_texts)]
        if len(batches) == 1:
            self._request(role, counter, batches[0])
        else:
            map_concurrent(self._session, partial(self._request, role, CallTotals()), batches, self.concurrency)

    def _request(self, role: TextRole, counter: CallCounter, batch: Mapping[bytes, str], before: int = 0) -> None:
        """Sends a batch, in smaller ones if the server rejects it as too large; `before` counts the rejected requests."""
        if len(batch) > self._most_texts:
            return self._request_halves(role, counter, batch, before)
        keys, texts = list(batch), [self._model.sent_text(text) for text in batch.values()]
        try:
            reply, requests = self._sender.send_with_retries(partial(self._send, texts, role))
        except ModelRequestError as failure:
            rejected = before + failure.requests
            if failure.status == _TOO_MANY and len(batch) > 1:
                with self._lock:
                    self._most_texts = min(self._most_texts, len(batch) // 2)
                return self._request_halves(role, counter, batch, rejected)
            if failure.status in _TOO_LONG and self._may_be_too_long(texts):
                return self._request_shorter(role, counter, batch, rejected)
            counter.count("calls", rejected)
            self._last_failure = str(failure)
            if role == "passage" and not failure.fix:
                fix = "check the server and its settings, and run again: the vectors so far are cached"
                raise ModelRequestError(str(failure), retryable=failure.retryable, status=failure.status, fix=fix) from None
            raise
        tokens, estimated = plausible_tokens(reply.tokens, texts)
        shares = split_tokens(tokens, texts)
        self._cache(role).put(VectorBatch(keys, reply.vectors, shares, before + requests, reply.seconds, estimated, reply.masked))
        return None

    def _request_halves(self, role: TextRole, counter: CallCounter, batch: Mapping[bytes, str], before: int) -> None:
        items = list(batch.items())
        half = -(-len(items) // 2)
        self._request(role, counter, dict(items[:half]), before)
        self._request(role, counter, dict(items[half:]))

    def _request_shorter(self, role: TextRole, counter: CallCounter, batch: Mapping[bytes, str], before: int) -> None:
        """Sends halves of a batch in which a text may be too long, and the start of a text that is."""
        if len(batch) > 1:
            return self._request_halves(role, counter, batch, before)
        ((key, text),) = batch.items()
        sent = self._model.sent_text(text)
        self._shortened.add(key)
        return self._request(role, counter, {key: cut_bytes(sent, int(_KEPT * max_tokens_of(sent)))}, before)

    def _may_be_too_long(self, texts: Sequence[str]) -> bool:
        """Whether a text may have more tokens than the model reads, which the server rejects."""
        limit = None if self._model.server_truncates else self._model.max_tokens
        return limit is not None and any(max_tokens_of(self._model.sent_text(text)) > limit for text in texts)

    def _send(self, texts: Sequence[str], role: TextRole) -> EmbeddingReply:
        model = self._model
        connection = self._session.load_once(model)

        def cost(reply: EmbeddingReply) -> Usage:
            return Estimate(1, plausible_tokens(reply.tokens, texts)[0]).usage(model.price_in, 0)

        most = max_texts_cost(texts).usage(model.price_in, 0)
        return self._sender.send(lambda: self._of_known_size(connection.embed(texts, role)), most, cost)

    def _of_known_size(self, reply: EmbeddingReply) -> EmbeddingReply:
        """The reply; a failure if an earlier reply had other dimensions, in this run or in the cache."""
        size = reply.vectors.shape[1]
        with self._lock:
            self._known_size = self._known_size or size
            known = self._known_size
        if size != known:
            what = f"{self._model.base_url}: the vectors have {size} dimensions, those of earlier replies {known}"
            fix = "if the model there has changed, set RANKPROOF_CACHE to a new folder: the cached vectors are of another model"
            raise ModelRequestError(what, retryable=True, charged=True, fix=fix)
        return reply

    def _counted_rows(self, texts: Sequence[str], asked: Mapping[bytes, str], role: TextRole, counter: CallCounter) -> Matrix:
        cache, keys, seconds = self._cache(role), [_text_key(role, text) for text in texts], 0.0
        rows = np.zeros((len(texts), self._size() if texts else self._known_size or 0), np.float32)
        counted: set[bytes] = set()
        for row, key in enumerate(keys):
            cached = cache.find(key) if key in asked else None
            if cached is None:
                continue
            rows[row] = cached.vector
            if key not in counted:
                counted.add(key)
                seconds += cached.seconds
                counter.count("calls", cached.requests)
                counter.count("tokens_in", cached.tokens)
                counter.count("estimated", int(cached.estimated))
                counter.count("masked", int(cached.masked))
        if counted:
            counter.add_seconds(seconds)
        return read_only(rows)

    def _size(self) -> int:
        """The dimensions of the vectors; a model that has encoded nothing yet encodes one word."""
        if self._model.dimensions is None and self._known_size is None and self._cache("query").size() is None:
            self.encode_queries(["dimensions"])
        return self._model.dimensions or self._known_size or 0


def _text_key(role: TextRole, text: str) -> bytes:
    return hashlib.sha256(f"{role}\n{text}".encode("utf-8", "surrogatepass")).digest()
