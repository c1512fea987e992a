"""The client of a model or search engine: a response cache, a budget, one retry policy and a circuit breaker."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Generic, TypeVar

from rankproof._data.identity import identity
from rankproof._io.retry import RequestError, RetryPolicy
from rankproof._llm.budget import (
    CallCounter,
    SpendMeter,
    Usage,
    max_request_cost,
    replies_saved_note,
    token_cost,
    with_plausible_usage,
)
from rankproof._llm.cache import PaidReply, ReplyT, ResponseCache, request_key
from rankproof.errors import ExternalError
from rankproof.models._api.settings import ModelRequestError, ModelUnavailableError
from rankproof.models._chat.base import Chat, ChatModel, ChatReply, ChatRequest


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


MAX_CONSECUTIVE_FAILURES = 10
"""Failures in a row, over all threads, after which the server counts as down."""


class ServerDownError(RequestError):
    """Too many requests in a row failed; the run ends."""

    def __init__(self, failures: int, last: RequestError, is_persistent: bool) -> None:
        saved = replies_saved_note(is_persistent)
        super().__init__(
            f"{failures} requests in a row failed, the last one with: {last}; "
            f"{saved}: run the same command again when the server is up"
        )
        self.requests = last.requests


class CircuitBreaker:
    """Counts the failures in a row over all threads; too many open it.

    An open breaker stops the run. With `stops_run` False it counts rejected requests too, and the caller asks `is_open`.
    """

    def __init__(self, *, is_persistent: bool = True, stops_run: bool = True) -> None:
        self._is_persistent, self._stops_run = is_persistent, stops_run
        self._lock = threading.Lock()
        self._failures, self._rejected = 0, 0
        self._has_replied, self._last = False, ""

    @property
    def is_open(self) -> bool:
        """Whether the server counts as down."""
        return self._failures >= MAX_CONSECUTIVE_FAILURES

    def record_reply(self, *, from_cache: bool = False) -> None:
        """Counts a reply; a cached one does not show that the server is up."""
        with self._lock:
            self._has_replied = True
            self._failures = self._failures if from_cache else 0

    def record_failure(self, failure: RequestError) -> None:
        """Counts a failed request; raises an error if the breaker opens and stops the run."""
        with self._lock:
            if self._stops_run and not failure.retryable:
                self._rejected, self._last = self._rejected + 1, str(failure)
                return
            self._failures += 1
            failures = self._failures
        if self._stops_run and failures >= MAX_CONSECUTIVE_FAILURES:
            raise ServerDownError(failures, failure, self._is_persistent) from None

    def rejection_note(self) -> str:
        """A note if the server rejected every request, else ""."""
        with self._lock:
            if self._has_replied or self._failures or not self._rejected:
                return ""
            return f"the server rejected every request ({self._rejected}), the last one with: {self._last}"


T = TypeVar("T")
RequestT = TypeVar("RequestT", contravariant=True)
PaidReplyT = TypeVar("PaidReplyT", bound=PaidReply)


class RequestSender:
    """Sends requests to one server within the budget and retries failed ones; safe for several threads."""

    def __init__(self, meter: SpendMeter, retry_policy: RetryPolicy, stop: CancelToken, *, stops_run: bool = True) -> None:
        self.meter, self._retry_policy, self._stop = meter, retry_policy, stop
        self.breaker = CircuitBreaker(is_persistent=meter.is_persistent, stops_run=stops_run)

    def send(self, request: Callable[[], T], most: Usage, actual: Callable[[T], Usage]) -> T:
        """Sends one request and counts its cost; a request without a readable reply counts with its maximum cost."""
        self._stop.check()
        self.meter.reserve(most)
        spent = replace(most, unsure=1)
        try:
            reply = request()
            spent = actual(reply)
        except (RequestError, ModelUnavailableError) as failure:
            if not (isinstance(failure, RequestError) and failure.charged):
                spent = Usage(calls=1)
            raise
        finally:
            self.meter.settle(most, spent)
        return reply

    def send_with_retries(
        self, send: Callable[[], T], *, is_changed: Callable[[RequestError], bool] = lambda failure: False
    ) -> tuple[T, int]:
        """What `send` returns, and how many requests it took; if none succeeds, the last error is counted and raised."""
        try:
            reply, requests = self._retry_policy.send(send, self._stop.sleep, is_changed=is_changed)
        except RequestError as failure:
            self.breaker.record_failure(failure)
            raise
        self.breaker.record_reply()
        return reply, requests

    def pause(self, seconds: float) -> None:
        """Waits; raises CancelledError when the session is stopped."""
        (self._retry_policy.sleep or self._stop.sleep)(seconds)


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


class ReplyParseError(ValueError):
    """A reply that cannot be used, and why; the next attempt sends this message to the model, so it is part of a prompt."""


class MissingLogprobsError(ReplyParseError):
    """A reply without the log-probabilities that it was asked for, which another attempt would not change."""


class CachedClient(ABC, Generic[RequestT, ReplyT]):
    """Sends requests to one server through its response cache; safe for several threads."""

    def __init__(self, sender: RequestSender, cache: ResponseCache[ReplyT]) -> None:
        self.sender, self._cache, self._locks = sender, cache, KeyedLock()

    @abstractmethod
    def _requested(self, request: RequestT) -> ReplyT:
        """A new reply, with `requests` set; RequestError if no request succeeds."""

    def _key(self, request: RequestT) -> str:
        """The key of the request in the cache."""
        return request_key(request)

    def cached_reply(self, request: RequestT, *, again: bool = False) -> ReplyT | None:
        """The cached reply, None if there is none; with `again` a reply from before this session does not count."""
        key = self._key(request)
        return None if again and self._cache.is_earlier(key) else self._cache.find(key)

    def reply(self, request: RequestT, *, again: bool = False) -> ReplyT:
        """The reply, cached or new; with `again` a reply from before this session is replaced."""
        key = self._key(request)
        # A thread with the same request waits, then finds the reply in the cache.
        with self._locks.hold(key):
            reply = self.cached_reply(request, again=again)
            if reply is None:
                reply = self._requested(request)
                self._cache.put(key, reply)
            else:
                self.sender.breaker.record_reply(from_cache=True)
                self.sender.meter.spend(Usage(journaled=1))
        return reply


class ModelClient(CachedClient[RequestT, PaidReplyT]):
    """Calls one model for one use and counts the cost of each reply."""

    def request(self, request: RequestT, counter: CallCounter, *, again: bool = False) -> PaidReplyT:
        """The reply, cached or new, with its cost counted; ModelRequestError if all requests fail.

        With `again`, a reply that was cached before this session is not used, and is replaced.
        """
        try:
            reply = self.reply(request, again=again)
        except RequestError as failure:
            counter.count("calls", failure.requests)
            raise
        counter.count("calls", reply.requests)
        counter.count("tokens_in", reply.tokens_in)
        counter.count("tokens_out", reply.tokens_out)
        counter.count("estimated", int(reply.estimated))
        counter.count("masked", int(reply.masked))
        counter.add_seconds(reply.seconds)
        return reply


class ChatClient(ModelClient[ChatRequest, ChatReply]):
    """Calls one language model; a server that rejects optional parameters is asked without them."""

    def __init__(
        self, model: ChatModel, chat: Callable[[], Chat], sender: RequestSender, cache: ResponseCache[ChatReply]
    ) -> None:
        super().__init__(sender, cache)
        self.model, self._chat = model, chat
        self._rejects_optional_params = False

    def _requested(self, request: ChatRequest) -> ChatReply:
        plain = replace(request, schema="", logprobs=0)
        sent = plain if self._rejects_optional_params else request

        def is_changed(failure: RequestError) -> bool:
            nonlocal sent
            before, sent = sent, plain if isinstance(failure, ModelRequestError) and failure.optional_params else sent
            return sent != before

        reply, requests = self.sender.send_with_retries(lambda: self._send(sent), is_changed=is_changed)
        # Optional parameters are dropped for good only after the same request succeeded without them.
        self._rejects_optional_params = self._rejects_optional_params or sent != request
        return replace(reply, requests=requests)

    def _send(self, request: ChatRequest) -> ChatReply:
        model, chat = self.model, self._chat()

        def cost(reply: ChatReply) -> Usage:
            return Usage(
                1,
                reply.tokens_in,
                reply.tokens_out,
                token_cost(reply.tokens_in, reply.tokens_out, model.price_in, model.price_out),
            )

        most = max_request_cost(request).usage(model.price_in, model.price_out)
        return self.sender.send(lambda: with_plausible_usage(chat.reply(request), request), most, cost)

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
        deterministic model gives the same reply to the same request. A request that an earlier session gave up is sent again.
        """
        sent, again = request, self._was_given_up(request, parse, attempts)
        for attempt in range(attempts):
            try:
                return parse(self.request(replace(sent, attempt=attempt), counter, again=again))
            except MissingLogprobsError as error:
                on_error(error)
                break
            except ReplyParseError as error:
                counter.count("unreadable")
                on_error(error)
                sent = _request_with_error(request, str(error))
            except ModelRequestError as error:
                counter.count("failed")
                counter.count("refused", int(not error.retryable))
                on_error(error)
                return None
        counter.count("given_up")
        return None

    def _was_given_up(self, request: ChatRequest, parse: Callable[[ChatReply], object], attempts: int) -> bool:
        """Whether the replies to all attempts were cached before this session, and none can be used."""
        sent = request
        for attempt in range(attempts):
            key = request_key(replace(sent, attempt=attempt))
            reply = self._cache.find(key) if self._cache.is_earlier(key) else None
            if reply is None:
                return False
            try:
                parse(reply)
            except MissingLogprobsError:
                return True
            except ReplyParseError as error:
                sent = _request_with_error(request, str(error))
            else:
                return False
        return True

    def facts(self) -> Mapping[str, Any]:
        """The model, and whether its server rejected optional parameters; the model is not loaded."""
        return {"model": identity(self.model), "optional_params_rejected": self._rejects_optional_params}


def _request_with_error(request: ChatRequest, why: str) -> ChatRequest:
    """The request with the parse error of its reply added to the last message."""
    *before, last = request.messages
    text = f"{last.text}\n\nYour last reply could not be used: {why}. Reply in the form asked for, and with nothing else."
    return replace(request, messages=(*before, replace(last, text=text)))
