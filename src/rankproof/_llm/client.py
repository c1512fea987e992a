"""The client of a language model: cached, retrying, within a budget."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Generic, Protocol, TypeVar

from rankproof._data.identity import identity
from rankproof._llm.budget import SpendMeter, Usage, max_request_cost, token_cost, with_plausible_usage
from rankproof._llm.cache import PaidReply, ResponseCache, request_key
from rankproof._llm.call_counts import CallCounter
from rankproof._llm.retry import CircuitBreaker, RetryPolicy
from rankproof.errors import ExternalError
from rankproof.models._api.errors import ModelRequestError, ModelUnavailableError
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


T = TypeVar("T")
RequestT = TypeVar("RequestT", contravariant=True)
PaidReplyT = TypeVar("PaidReplyT", bound=PaidReply)
PaidReplyT_co = TypeVar("PaidReplyT_co", bound=PaidReply, covariant=True)


class RequestSender:
    """Sends requests to one model within the budget and retries failed ones; safe for several threads."""

    def __init__(self, meter: SpendMeter, retry_policy: RetryPolicy, stop: CancelToken) -> None:
        self._meter, self._retry_policy, self._stop = meter, retry_policy, stop
        self._sleep = retry_policy.sleep or stop.sleep
        self.breaker = CircuitBreaker(is_persistent=meter.is_persistent)

    def send(self, request: Callable[[], T], most: Usage, actual: Callable[[T], Usage]) -> T:
        """Sends one request and counts its cost; a request without a readable reply counts with its maximum cost."""
        self._stop.check()
        self._meter.reserve(most)
        spent = replace(most, unsure=1)
        try:
            found = request()
            spent = actual(found)
        except (ModelRequestError, ModelUnavailableError) as failure:
            if not (isinstance(failure, ModelRequestError) and failure.charged):
                spent = Usage(calls=1)
            raise
        finally:
            self._meter.settle(most, spent)
        return found

    def retried(
        self,
        send: Callable[[], T],
        counter: CallCounter,
        *,
        is_changed: Callable[[ModelRequestError], bool] = lambda failure: False,
    ) -> tuple[T, int]:
        """What `send` gives, and how many requests it took; if none succeeds, all are counted and the last error is raised.

        `is_changed` says after a failure that the next request differs, so that it is sent at once.
        """
        requests = 0
        while True:
            requests += 1
            try:
                found = send()
            except ModelRequestError as failure:
                if is_changed(failure):
                    continue
                pause = self._retry_policy.pause(failure, requests)
                if pause is None:
                    counter.count("calls", requests)
                    self.breaker.record_failure(failure)
                    raise
                self._sleep(pause)
            else:
                self.breaker.record_reply()
                return found, requests


class Requester(Protocol[RequestT, PaidReplyT_co]):
    """Sends requests to one model, retries failed ones and counts their cost; `sender` does it."""

    @property
    def sender(self) -> RequestSender: ...

    def reply(self, request: RequestT, counter: CallCounter) -> PaidReplyT_co:
        """The reply; if no request brings one, all of them are counted and the last error is raised."""
        ...


class ChatRequester:
    """Sends requests to one language model; a server that rejects optional parameters is asked without them."""

    def __init__(self, model: ChatModel, chat: Callable[[], Chat], sender: RequestSender) -> None:
        self._model, self._chat, self.sender = model, chat, sender
        self.rejects_optional_params = False

    def reply(self, request: ChatRequest, counter: CallCounter) -> ChatReply:
        """The reply; if no request brings one, all of them are counted and the last error is raised."""
        plain = replace(request, schema="", logprobs=0)
        sent = plain if self.rejects_optional_params else request

        def is_changed(failure: ModelRequestError) -> bool:
            nonlocal sent
            before, sent = sent, plain if failure.optional_params else sent
            return sent != before

        reply, requests = self.sender.retried(lambda: self._send(sent), counter, is_changed=is_changed)
        # Optional parameters are dropped for good only after the same request succeeded without them.
        self.rejects_optional_params = self.rejects_optional_params or sent != request
        return replace(reply, requests=requests)

    def _send(self, request: ChatRequest) -> ChatReply:
        model, chat = self._model, self._chat()

        def cost(reply: ChatReply) -> Usage:
            return Usage(
                1,
                reply.tokens_in,
                reply.tokens_out,
                token_cost(reply.tokens_in, reply.tokens_out, model.price_in, model.price_out),
            )

        most = max_request_cost(request).usage(model.price_in, model.price_out)
        return self.sender.send(lambda: with_plausible_usage(chat.reply(request), request), most, cost)


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


class CachedRequests(Generic[RequestT, PaidReplyT]):
    """Sends requests to one model through its response cache; safe for several threads."""

    def __init__(self, requester: Requester[RequestT, PaidReplyT], cache: ResponseCache[PaidReplyT], meter: SpendMeter) -> None:
        self._requester, self._cache, self._meter = requester, cache, meter
        self._locks = KeyedLock()

    def request(self, request: RequestT, counter: CallCounter, *, again: bool = False) -> PaidReplyT:
        """The reply, cached or new, with its cost counted; ModelRequestError if all requests fail.

        With `again`, a reply that was cached before this session is not used, and is replaced.
        """
        key = request_key(request)
        # A thread with the same request waits, then finds the reply in the cache.
        with self._locks.hold(key):
            reply = None if again and self._cache.is_earlier(key) else self._cache.find(key)
            if reply is None:
                reply = self._requester.reply(request, counter)
                self._cache.put(key, reply)
            else:
                self._requester.sender.breaker.record_reply(from_cache=True)
                self._meter.spend(Usage(journaled=1))
        count_reply(reply, counter)
        return reply

    def rejection_note(self) -> str:
        """A note if the server rejected every request, else ""."""
        return self._requester.sender.breaker.rejection_note()


def count_reply(reply: PaidReply, counter: CallCounter) -> None:
    """Counts the cost of a reply and the time of its first request."""
    counter.count("calls", reply.requests)
    counter.count("tokens_in", reply.tokens_in)
    counter.count("tokens_out", reply.tokens_out)
    counter.count("estimated", int(reply.estimated))
    counter.count("masked", int(reply.masked))
    counter.add_seconds(reply.seconds)


class CachedClient(CachedRequests[ChatRequest, ChatReply]):
    """Calls one language model for one use through the response cache; safe for several threads."""

    def __init__(self, model: ChatModel, requester: ChatRequester, cache: ResponseCache[ChatReply], meter: SpendMeter) -> None:
        super().__init__(requester, cache, meter)
        self.model, self._chat_requester = model, requester

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
        return {"model": identity(self.model), "optional_params_rejected": self._chat_requester.rejects_optional_params}


def _request_with_error(request: ChatRequest, why: str) -> ChatRequest:
    """The request with the parse error of its reply added to the last message."""
    *before, last = request.messages
    text = f"{last.text}\n\nYour last reply could not be used: {why}. Reply in the form asked for, and with nothing else."
    return replace(request, messages=(*before, replace(last, text=text)))
