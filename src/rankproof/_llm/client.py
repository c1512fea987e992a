"""The client of a language model: cached, retrying, within a budget."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, TypeVar

from rankproof._data.identity import identity
from rankproof._llm.budget import SpendMeter, Usage, max_request_cost, token_cost, with_plausible_usage
from rankproof._llm.cache import ResponseCache, request_key
from rankproof._llm.call_counts import CallCounter
from rankproof._llm.retry import CircuitBreaker, RetryPolicy
from rankproof.errors import ExternalError
from rankproof.models._chat.base import Chat, ChatModel, ChatReply, ChatRequest, ChatRequestError, ChatUnavailableError


class CancelledError(ExternalError):
    """The run was cancelled, by a failure in another thread or by the user."""

    def __init__(self) -> None:
        super().__init__("the requests were cancelled; all replies so far are cached")


class CancelToken:
    """Cancels the work of all threads."""

    def __init__(self) -> None:
        self._event = threading.Event()

    def set(self) -> None:
        """Cancels."""
        self._event.set()

    def check(self) -> None:
        """Raises CancelledError after a cancellation."""
        if self._event.is_set():
            raise CancelledError

    def sleep(self, seconds: float) -> None:
        """Waits; raises CancelledError when cancelled."""
        self._event.wait(seconds)
        self.check()


class RetryingClient:
    """Sends requests to one model and retries failed ones; safe for several threads."""

    def __init__(
        self, model: ChatModel, chat: Callable[[], Chat], meter: SpendMeter, retry_policy: RetryPolicy, stop: CancelToken
    ) -> None:
        self._model, self._chat, self._meter = model, chat, meter
        self._retry_policy, self._stop = retry_policy, stop
        self._sleep = retry_policy.sleep or stop.sleep
        self.breaker = CircuitBreaker(is_persistent=meter.is_persistent)
        self.rejects_optional_params = False

    def reply(self, chat_request: ChatRequest, counter: CallCounter) -> ChatReply:
        """The reply; if no request brings one, all of them are counted and the last error is raised."""
        requests, sent, plain = 0, chat_request, replace(chat_request, schema="", logprobs=0)
        if self.rejects_optional_params:
            sent = plain
        while True:
            requests += 1
            try:
                reply = self._send(sent)
            except ChatRequestError as failure:
                if failure.optional_params and sent != plain:
                    sent = plain
                    continue
                pause = self._retry_policy.pause(failure, requests)
                if pause is None:
                    counter.count("calls", requests)
                    self.breaker.record_failure(failure)
                    raise
                self._sleep(pause)
            else:
                self.breaker.record_reply()
                # Optional parameters are dropped for good only after the same request succeeded without them.
                self.rejects_optional_params = self.rejects_optional_params or sent != chat_request
                return replace(reply, requests=requests)

    def _send(self, chat_request: ChatRequest) -> ChatReply:
        """Sends one request and counts its cost; a request without a readable reply counts with its maximum cost."""
        most = max_request_cost(chat_request).usage(self._model.price_in, self._model.price_out)
        self._stop.check()
        chat = self._chat()
        self._meter.reserve(most)
        actual = replace(most, unsure=1)
        try:
            reply = with_plausible_usage(chat.reply(chat_request), chat_request)
            money = token_cost(reply.tokens_in, reply.tokens_out, self._model.price_in, self._model.price_out)
            actual = Usage(1, reply.tokens_in, reply.tokens_out, money)
        except (ChatRequestError, ChatUnavailableError) as failure:
            if not (isinstance(failure, ChatRequestError) and failure.charged):
                actual = Usage(calls=1)
            raise
        finally:
            self._meter.settle(most, actual)
        return reply


class KeyedLock:
    """A lock for each key in use."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._held: dict[str, tuple[threading.Lock, int]] = {}

    @contextmanager
    def hold(self, key: str) -> Iterator[None]:
        """Holds the lock of the key during the block."""
        with self._lock:
            lock, users = self._held.get(key, (threading.Lock(), 0))
            self._held[key] = lock, users + 1
        try:
            with lock:
                yield
        finally:
            with self._lock:
                lock, users = self._held.pop(key)
                if users > 1:
                    self._held[key] = lock, users - 1


T = TypeVar("T")


class ReplyParseError(ValueError):
    """A reply that cannot be used, and why; the next attempt sends this message to the model, so it is part of a prompt."""


class CachedClient:
    """Calls one model for one use through the response cache; safe for several threads."""

    def __init__(
        self, model: ChatModel, retrying_client: RetryingClient, cache: ResponseCache[ChatReply], meter: SpendMeter
    ) -> None:
        self.model = model
        self._retrying_client, self._cache, self._meter = retrying_client, cache, meter
        self._locks = KeyedLock()

    def read(
        self,
        request: ChatRequest,
        parse: Callable[[ChatReply], T],
        counter: CallCounter,
        *,
        attempts: int = 3,
        on_error: Callable[[Exception], object] = lambda error: None,
    ) -> T | None:
        """The parsed reply; the model is called again while `parse` raises ReplyParseError. None if no attempt succeeds.

        Each reply that cannot be parsed counts as `unreadable`. A request without a result counts as `failed` if its last attempt
        got no reply, else as `given_up`. `on_error` receives each error. The next attempt tells the model what was wrong: a
        deterministic model gives the same reply to the same request.
        """
        sent = request
        for attempt in range(attempts):
            try:
                return parse(self.request(replace(sent, attempt=attempt), counter))
            except ReplyParseError as error:
                counter.count("unreadable")
                on_error(error)
                sent = _request_with_error(request, str(error))
            except ChatRequestError as error:
                counter.count("failed")
                counter.count("refused", int(not error.retryable))
                on_error(error)
                return None
        counter.count("given_up")
        return None

    def request(self, request: ChatRequest, counter: CallCounter) -> ChatReply:
        """The reply, cached or new, with its cost counted; ChatRequestError if all requests fail."""
        key = request_key(request)
        # A thread with the same request waits, then finds the reply in the cache.
        with self._locks.hold(key):
            reply = self._cache.find(key)
            if reply is None:
                reply = self._retrying_client.reply(request, counter)
                self._cache.put(key, reply)
            else:
                self._retrying_client.breaker.record_reply(from_cache=True)
                self._meter.spend(Usage(journaled=1))
        counter.count("calls", reply.requests)
        counter.count("tokens_in", reply.tokens_in)
        counter.count("tokens_out", reply.tokens_out)
        counter.count("estimated", int(reply.estimated))
        counter.count("masked", int(reply.masked))
        counter.add_seconds(reply.seconds)
        return reply

    def rejection_note(self) -> str:
        """A note if the server rejected every request, else ""."""
        return self._retrying_client.breaker.rejection_note()

    def facts(self) -> Mapping[str, Any]:
        """The model, and whether its server rejected optional parameters; the model is not loaded."""
        return {"model": identity(self.model), "optional_params_rejected": self._retrying_client.rejects_optional_params}


def _request_with_error(request: ChatRequest, why: str) -> ChatRequest:
    """The request with the parse error of its reply added to the last message."""
    *before, last = request.messages
    text = f"{last.text}\n\nYour last reply could not be used: {why}. Reply in the form asked for, and with nothing else."
    return replace(request, messages=(*before, replace(last, text=text)))
