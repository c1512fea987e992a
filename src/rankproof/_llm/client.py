"""CachedClient, RetryingClient."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, TypeVar

from rankproof._data.identity import identity
from rankproof._llm.budget import SpendMeter, Usage, max_request_cost, token_cost
from rankproof._llm.cache import ResponseCache, request_key
from rankproof._llm.call_counts import CallCounter
from rankproof._llm.retry import CircuitBreaker, RetryPolicy
from rankproof.errors import ExternalError
from rankproof.models._chat.base import Chat, ChatModel, ChatReply, ChatRequest, ChatRequestError, ChatUnavailableError


class CancelledError(ExternalError):
    """Another thread met what ends the run, or somebody stopped it."""

    def __init__(self) -> None:
        super().__init__("asking was stopped; every reply so far is kept")


class CancelToken:
    """Set once, seen by every thread."""

    def __init__(self) -> None:
        self._event = threading.Event()

    def set(self) -> None:
        """From now on."""
        self._event.set()

    def check(self) -> None:
        """Raises where it is set."""
        if self._event.is_set():
            raise CancelledError

    def sleep(self, seconds: float) -> None:
        """Waits so long, or until it is set, which is an error."""
        self._event.wait(seconds)
        self.check()


class RetryingClient:
    """Sends requests to one model; safe for several threads."""

    def __init__(
        self, model: ChatModel, chat: Callable[[], Chat], meter: SpendMeter, retry_policy: RetryPolicy, stop: CancelToken
    ) -> None:
        self._model, self._chat, self._meter = model, chat, meter
        self._retry_policy, self._stop = retry_policy, stop
        self._sleep = retry_policy.sleep or stop.sleep
        self.breaker = CircuitBreaker(is_persistent=meter.is_persistent)
        self.rejects_optional_params = False

    def reply(self, chat_request: ChatRequest, counter: CallCounter) -> ChatReply:
        """The reply; requests that brought none are on the tally where none brought one."""
        request, wished, plain = 0, chat_request, replace(chat_request, schema="", logprobs=0)
        if self.rejects_optional_params:
            wished = plain
        while True:
            request += 1
            try:
                reply = self._send(wished)
            except ChatRequestError as failure:
                if failure.optional_params and wished != plain:
                    wished = plain
                    continue
                pause = self._retry_policy.pause(failure, request)
                if pause is None:
                    counter.count("calls", request)
                    self.breaker.record_failure(failure)
                    raise
                self._sleep(pause)
            else:
                self.breaker.record_reply()
                # Given up for good only where the same ask was answered without them: the messages were not what was refused.
                self.rejects_optional_params = self.rejects_optional_params or wished != chat_request
                return replace(reply, requests=request)

    def _send(self, chat_request: ChatRequest) -> ChatReply:
        """One request, paid for: one that was cut off, or brought nothing that can be read, with the most that it may cost."""
        most = max_request_cost(chat_request).usage(self._model.price_in, self._model.price_out)
        self._stop.check()
        chat = self._chat()
        self._meter.reserve(most)
        real = replace(most, unsure=1)
        try:
            reply = chat.reply(chat_request)
            money = token_cost(reply.tokens_in, reply.tokens_out, self._model.price_in, self._model.price_out)
            real = Usage(1, reply.tokens_in, reply.tokens_out, money)
        except (ChatRequestError, ChatUnavailableError) as failure:
            if not (isinstance(failure, ChatRequestError) and failure.charged):
                real = Usage(calls=1)
            raise
        finally:
            self._meter.settle(most, real)
        return reply


class KeyedLock:
    """A lock for each key that somebody holds or waits for."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._held: dict[str, tuple[threading.Lock, int]] = {}

    @contextmanager
    def hold(self, key: str) -> Iterator[None]:
        """Waits for the key's turn, and passes it on after the block."""
        with self._lock:
            turn, many = self._held.get(key, (threading.Lock(), 0))
            self._held[key] = turn, many + 1
        try:
            with turn:
                yield
        finally:
            with self._lock:
                turn, many = self._held.pop(key)
                if many > 1:
                    self._held[key] = turn, many - 1


T = TypeVar("T")


class ReplyParseError(ValueError):
    """A reply that is of no use: what is wrong with it, in a few words."""


class CachedClient:
    """Asks one model for one use; safe for several threads."""

    def __init__(self, model: ChatModel, retrying_client: RetryingClient, cache: ResponseCache, meter: SpendMeter) -> None:
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
        """What the reply means, asked again while `meaning` raises UnreadableError; None where no attempt brought anything.

        Each reply of no use counts as `unreadable`. An ask that ends without a meaning counts as `failed` where its last attempt
        brought no reply, which may be another the next time, also where earlier ones brought replies of no use; else it counts as
        `given_up`. `heard` is told what was wrong each time, and so is the model: asked the very same again, a deterministic one
        says the same again.
        """
        asked = request
        for attempt in range(attempts):
            try:
                return parse(self.request(replace(asked, attempt=attempt), counter))
            except ReplyParseError as error:
                counter.count("unreadable")
                on_error(error)
                asked = _request_with_error(request, str(error))
            except ChatRequestError as error:
                counter.count("failed")
                counter.count("refused", int(not error.retryable))
                on_error(error)
                return None
        counter.count("given_up")
        return None

    def request(self, request: ChatRequest, counter: CallCounter) -> ChatReply:
        """The reply, kept or new, its cost on the tally; ChatFailedError where there is none after every try."""
        key = request_key(request)
        # Whoever asks the same at the same time waits, and finds the reply in the book.
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
        counter.add_seconds(reply.seconds)
        return reply

    def refusal_note(self) -> str:
        """What a reader must know where the server refused everything, "" elsewhere."""
        return self._retrying_client.breaker.refusal_note()

    def facts(self) -> Mapping[str, Any]:
        """The model as a reader should know it; it is not loaded for this."""
        return {"model": identity(self.model), "optional_params_rejected": self._retrying_client.rejects_optional_params}


def _request_with_error(request: ChatRequest, why: str) -> ChatRequest:
    """The ask with what was wrong with the reply to it, at the end of its last message."""
    *before, last = request.messages
    said = f"{last.text}\n\nYour last reply could not be used: {why}. Reply in the form asked for, and with nothing else."
    return replace(request, messages=(*before, replace(last, text=said)))
