"""The session of one run: its clients, caches and budget, and concurrent work with them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Hashable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from types import TracebackType
from typing import Any, Protocol, Self, TypeVar

from rankproof._data import format_versions
from rankproof._data.identity import identity_key
from rankproof._io.retry import RetryPolicy
from rankproof._llm.budget import Budget, SpendMeter, check_model_has_price
from rankproof._llm.cache import ReplyT, ResponseCache, ResponseCaches, VectorCache
from rankproof._llm.client import CancelledError, CancelToken, ChatClient, ModelClient, RequestSender
from rankproof.models._api.settings import PaidModel
from rankproof.models._chat.base import ChatModel, ChatReply

MemoT = TypeVar("MemoT")
ModelClientT = TypeVar("ModelClientT", bound=ModelClient[Any, Any])


class Closeable(Protocol):
    """A loaded model, or the connection to one."""

    def close(self) -> None:
        """Closes connections and servers."""
        ...


ConnectionT = TypeVar("ConnectionT", bound=Closeable)
ConnectionT_co = TypeVar("ConnectionT_co", bound=Closeable, covariant=True)


class LoadableModel(Protocol[ConnectionT_co]):
    """The settings of a model that a session loads once, a frozen value."""

    def load(self, *, threads: int = 1) -> ConnectionT_co: ...


class LLMSession:
    """Creates LLM clients; a model is loaded once, at the first request that is not in the cache."""

    def __init__(
        self,
        caches: ResponseCaches | None = None,
        budget: Budget | None = None,
        retry_policy: RetryPolicy | None = None,
        threads: int = 1,
    ) -> None:
        self._retry_policy = retry_policy or RetryPolicy()
        self._stop = CancelToken()
        self._response_caches = caches or ResponseCaches()
        self._threads = threads
        self._caches: dict[str, Any] = {}
        self._loaded: dict[Any, Any] = {}
        self._uses: dict[ModelClient[Any, Any], str] = {}
        self._memo: dict[Hashable, Any] = {}
        self._closers = ExitStack()
        # Reentrant, because making a client opens its cache.
        self._lock = threading.RLock()
        self.meter = SpendMeter(budget, is_persistent=caches is not None)
        self.repeat = 1
        """Which repeat of the run this is; each has response caches of its own, so that models and engines are asked again."""

    def repeat_key(self, *parts: Any) -> tuple[Any, ...]:
        """The parts of a cache key, with the number of the repeat after the first."""
        return parts if self.repeat == 1 else (*parts, "repeat", self.repeat)

    def client(self, model: ChatModel, use: str) -> ChatClient:
        """The client of a model for one use; each use has its own response cache."""

        def make(cache: ResponseCache[ChatReply]) -> ChatClient:
            return ChatClient(model, lambda: self.load_once(model), self.sender(), cache)

        return self.model_client(model, use, make, ChatReply, is_repeated=True)

    def model_client(
        self,
        model: PaidModel,
        use: str,
        make: Callable[[ResponseCache[ReplyT]], ModelClientT],
        kind: type[ReplyT],
        *,
        is_repeated: bool = False,
    ) -> ModelClientT:
        """The client of a model API for one use, made with a response cache of its own; `kind` is the type of its replies.

        The same model and use give the same client, so failures in a row are counted over all callers. With `is_repeated`, each
        repeat of the run asks again: chat models sample their replies, rerankers do not.
        """
        check_model_has_price(self.meter.budget, model)
        parts = (format_versions.RESPONSE_CACHE, use, model)
        key = identity_key(*(self.repeat_key(*parts) if is_repeated else parts))

        def made() -> ModelClientT:
            client = make(self.replies(key, kind))
            self._uses[client] = use
            return client

        return self.make_once(("client", key, model), made)

    def replies(self, key: str, kind: type[ReplyT]) -> ResponseCache[ReplyT]:
        """The cache of that key, opened at its first use and closed with the session."""
        cache: ResponseCache[ReplyT] = self._opened(key, lambda: self._response_caches.replies(key, kind))
        return cache

    def vectors(self, key: str) -> VectorCache:
        """The cache of the vectors of an embedding API, opened at its first use and closed with the session."""
        cache: VectorCache = self._opened(key, lambda: self._response_caches.vectors(key))
        return cache

    def _opened(self, key: str, open_cache: Callable[[], Any]) -> Any:
        with self._lock:
            if key not in self._caches:
                self._caches[key] = open_cache()
            return self._caches[key]

    def check_price(self, model: PaidModel) -> None:
        """Raises an error if the budget limits money and the model has no price."""
        check_model_has_price(self.meter.budget, model)

    def make_once(self, key: Hashable, make: Callable[[], MemoT]) -> MemoT:
        """The value of the key, made at its first use; it lives as long as the session."""
        with self._lock:
            if key not in self._memo:
                self._memo[key] = make()
            value: MemoT = self._memo[key]
            return value

    def notes(self) -> tuple[str, ...]:
        """A note for each use in which the server rejected every request."""
        return tuple(f"{use}: {note}" for client, use in self._uses.items() if (note := client.sender.breaker.rejection_note()))

    def sender(self, *, max_requests: int | None = None, stops_run: bool = True) -> RequestSender:
        """A new sender of requests within the budget and the retry policy of this session, with its own circuit breaker."""
        policy = self._retry_policy if max_requests is None else replace(self._retry_policy, max_requests=max_requests)
        return RequestSender(self.meter, policy, self._stop, stops_run=stops_run)

    def load_once(self, model: LoadableModel[ConnectionT]) -> ConnectionT:
        """The loaded model or the connection to it, made at its first use and closed with the session."""
        with self._lock:
            if model not in self._loaded:
                self._loaded[model] = model.load(threads=self._threads)
            loaded: ConnectionT = self._loaded[model]
            return loaded

    def stop(self, *, at_once: bool = False) -> None:
        """Ends pauses and starts no more requests; `at_once` also abandons those in progress."""
        self._stop.set()
        if at_once:
            self._closers.close()
            for model in self._loaded.copy().values():
                model.close()

    def on_close(self, close: Callable[[], object]) -> None:
        """Calls the function when the session closes."""
        self._closers.callback(close)

    def close(self) -> None:
        """Closes caches, models and connections."""
        self._closers.close()
        for model in self._loaded.values():
            model.close()
        for cache in self._caches.values():
            cache.close()
        self._loaded.clear()
        self._caches.clear()
        self._uses.clear()
        self._memo.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


ItemT = TypeVar("ItemT")
ResultT = TypeVar("ResultT")


def map_concurrent(
    session: LLMSession, work: Callable[[ItemT], ResultT], items: Sequence[ItemT], concurrency: int
) -> list[ResultT]:
    """The results for all items, in their order, with `concurrency` threads; with one it runs in the calling thread.

    The first failure stops the session: nothing more is sent, but requests in progress may finish because they are paid for.
    An interrupt does not wait for them.
    """
    return list(map_in_order(session, work, items, concurrency))


def map_in_order(
    session: LLMSession, work: Callable[[ItemT], ResultT], items: Sequence[ItemT], concurrency: int
) -> Generator[ResultT, None, None]:
    """The results for all items, in their order, each as soon as it and those before it are done.

    Closing the iterator early stops the work like an interrupt.
    """
    if concurrency <= 1 or len(items) <= 1:
        yield from map(work, items)
        return

    def stopping_work(item: ItemT) -> ResultT:
        try:
            return work(item)
        except BaseException:
            session.stop()
            raise

    pool = ThreadPoolExecutor(min(concurrency, len(items)))
    futures = [pool.submit(stopping_work, item) for item in items]
    try:
        for future in futures:
            if future.exception():
                pool.shutdown(cancel_futures=True)
                raise _first_cause(futures)
            yield future.result()
    except (KeyboardInterrupt, GeneratorExit):
        if not all(future.done() for future in futures):
            session.stop(at_once=True)
        raise
    finally:
        pool.shutdown(cancel_futures=True)


def _first_cause(futures: Sequence[Future[ResultT]]) -> BaseException:
    """The first error that is not a cancellation caused by another one."""
    errors = [error for future in futures if not future.cancelled() and (error := future.exception())]
    return next((error for error in errors if not isinstance(error, CancelledError)), errors[0])
