"""A search function of one's own as a stage: called with each query, timed, its failures counted."""

from __future__ import annotations

import asyncio
import hashlib
import inspect
import math
import os
import threading
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from numbers import Real
from types import CodeType, FunctionType, MethodType
from typing import Annotated, Any

from rankproof._data.dataset import Query
from rankproof._data.identity import NOT_IN_IDENTITY, identity, identity_key, kind_name
from rankproof._io.named_code import import_object
from rankproof._registry import Option
from rankproof.errors import UsageError, for_message, type_phrase
from rankproof.stages._base import BuildContext
from rankproof.stages._engines.base import EngineClient, EngineError, EngineReply, EngineStage, is_sorted

SearchFunction = Callable[..., Any]
"""Takes the text of a query and returns ids, pairs of id and score, or a dictionary of id and score; it may be async."""

_RETURN = "return ids, (id, score) pairs, or a dictionary of id and score"


@dataclass(frozen=True)
class Function(EngineStage):
    """Calls your function: `search(text)` returns ids, (id, score) pairs or {id: score}; it may be async.

    A parameter `size` receives the depth. A first parameter annotated with Query receives the query instead of its text. Ids and
    pairs keep their order; a dictionary is sorted by score. Replies are recorded by the name and the code of the function; change
    `version` if something else changes them.
    """

    function: Annotated[SearchFunction | str, Option("the function, as module:name", typed=str, role="function")] = field(
        metadata=NOT_IN_IDENTITY
    )
    version: Annotated[str, Option("any text; a new value makes recorded replies invalid")] = ""
    retries: Annotated[int, Option("how many times a failed call is repeated", least=0)] = field(
        default=0, metadata=NOT_IN_IDENTITY, kw_only=True
    )
    timeout: Annotated[float, Option("seconds to wait for an async function", least=0.001)] = field(
        default=30.0, metadata=NOT_IN_IDENTITY, kw_only=True
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "_search", _loaded(self.function))

    @property
    def search(self) -> SearchFunction:
        """The function."""
        function: SearchFunction = vars(self)["_search"]
        return function

    def revision(self) -> str:
        """The name and a digest of the code."""
        if "_revision" not in vars(self):
            digest = _code_digest(self.search, ignore_values=bool(self.version))
            object.__setattr__(self, "_revision", f"{_name(self.search)} {digest}")
        revision: str = vars(self)["_revision"]
        return revision

    def about(self) -> tuple[str, ...]:
        """A note if replies cannot be found again by another run."""
        if self.version or _code_digest(self.search) == _code_digest(self.search, ignore_values=True):
            return ()
        return ("the function holds values without a name, so the next run calls it again; set version to keep its replies",)

    def client(self, context: BuildContext) -> EngineClient:
        """The client; two functions that would share their recorded replies are rejected."""
        other = context.session.make_once(("function", identity_key(self)), lambda: self.search)
        if other != self.search and _code_digest(other) != _code_digest(self.search):
            what = f"two different functions are called {_name(self.search)} and have the version {for_message(self.version)}"
            raise UsageError(what, fix="give each its own version")
        return super().client(context)

    def connect(self, context: BuildContext) -> FunctionEngine:
        """The function, ready to be called."""
        return FunctionEngine(self.search, self.timeout)


def _loaded(function: Any) -> SearchFunction:
    """The function, imported if it is given as `module:name`."""
    loaded = function
    if isinstance(function, str):
        module, mark, name = function.partition(":")
        if not module or not mark or not name:
            raise UsageError(f"function is {for_message(repr(function))}", fix='write module:name, such as "shop.search:search"')
        loaded = import_object(function)
        if loaded is None:
            raise UsageError(f"{for_message(function)}: {for_message(module)} has no {for_message(name)}", fix="correct the name")
    if not callable(loaded) or isinstance(loaded, type):
        what = (
            f"function is {type_phrase(loaded)}" if not isinstance(loaded, type) else f"function is the class {loaded.__name__}"
        )
        raise UsageError(what, fix=f"pass a function of the query text; let it {_RETURN}")
    try:
        hash(loaded)
    except TypeError:
        raise UsageError(f"function is {type_phrase(loaded)} without a hash", fix="pass one of its methods") from None
    return loaded  # type: ignore[no-any-return]


def _name(function: SearchFunction) -> str:
    named = getattr(function, "__qualname__", None)
    return kind_name(type(function)) if named is None else f"{function.__module__}:{named}"


_BLOCKED_FACTOR = 2
"""After this many timeouts a call that blocks the event loop is abandoned."""
_JOIN_SECONDS = 1.0
"""How long the end of the event loop is awaited."""
_MOST_DOCUMENTS = 1_000_000
"""The most documents that are read from one reply: a generator may never end."""


class FunctionEngine:
    """Calls the function; an async one runs in an event loop of its own."""

    def __init__(self, function: SearchFunction, timeout: float) -> None:
        self._function, self._timeout = function, timeout
        self._takes_query, self._takes_size = _parameters(function)
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    def ask(self, query: Query, size: int) -> EngineReply:
        """The documents that the function returns; any exception of it is a failed request."""
        try:
            returned = self._function(query if self._takes_query else query.text, **({"size": size} if self._takes_size else {}))
            if inspect.isawaitable(returned):
                returned = self._awaited(returned)
            return _reply(returned)
        except EngineError:
            raise
        except (Exception, SystemExit, GeneratorExit) as error:
            raise _failure(error) from error

    def close(self) -> None:
        """Ends the event loop, and the calls in it."""
        with self._lock:
            loop, self._loop = self._loop, None
        if loop is not None and self._thread is not None:
            asyncio.run_coroutine_threadsafe(_end_loop(), loop)
            self._thread.join(_JOIN_SECONDS)
            if not self._thread.is_alive():
                loop.close()

    def _awaited(self, awaitable: Awaitable[Any]) -> Any:
        async def contained() -> Any:
            # An exit would end the loop, and a TimeoutError of the function is not that of the wait.
            try:
                return await awaitable
            except (Exception, SystemExit, KeyboardInterrupt) as error:
                return _failure(error)

        async def wait() -> Any:
            return await asyncio.wait_for(contained(), self._timeout)

        try:
            # A function that blocks the loop also blocks the timeout of the loop.
            returned = asyncio.run_coroutine_threadsafe(wait(), self._running_loop()).result(_BLOCKED_FACTOR * self._timeout)
        except TimeoutError:
            returned = EngineError(f"no reply within {self._timeout:g} s", retryable=True)
        if isinstance(returned, EngineError):
            raise returned
        return returned

    def _running_loop(self) -> asyncio.AbstractEventLoop:
        """The loop, in a thread of its own, so that it also works where another loop runs, as in a notebook."""
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
                self._thread.start()
            return self._loop


async def _end_loop() -> None:
    """Cancels what runs in the loop, and stops it."""
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    if others:
        await asyncio.wait(others, timeout=_JOIN_SECONDS / 2)
    asyncio.get_running_loop().stop()


def _parameters(function: SearchFunction) -> tuple[bool, bool]:
    """Whether the first parameter takes a Query, and whether there is a parameter `size`."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return False, False
    annotation = parameters[0].annotation if parameters else None
    takes_query = annotation is Query or (isinstance(annotation, str) and annotation.rpartition(".")[2] == "Query")
    return takes_query, any(parameter.name == "size" for parameter in parameters[1:])


def _failure(error: BaseException) -> EngineError:
    """The failed request for an exception of the function; its text may be broken, too."""
    try:
        text = for_message(" ".join(str(error).split()))
    except Exception:
        text = ""
    return EngineError(f"{type(error).__name__}{f': {text}' if text else ''}", retryable=True)


def _reply(returned: Any) -> EngineReply:
    if isinstance(returned, Mapping):
        if any(math.isnan(_number(score)) for score in returned.values()):
            raise EngineError(f"it returned NaN as a score, so its documents have no order; {_RETURN}")
        rows = sorted(((doc, _number(score)) for doc, score in returned.items()), key=lambda row: -row[1])
        return EngineReply(tuple(_id(doc) for doc, _ in rows), tuple(score for _, score in rows))
    if isinstance(returned, str | bytes) or not isinstance(returned, Iterable):
        raise EngineError(f"it returned {type_phrase(returned)}; {_RETURN}")
    if isinstance(returned, set | frozenset):
        raise EngineError(f"it returned {type_phrase(returned)}, which has no order; return a list, best first")
    items = list(islice(returned, _MOST_DOCUMENTS + 1))
    if len(items) > _MOST_DOCUMENTS:
        raise EngineError(
            f"it returned more than {_MOST_DOCUMENTS:,} documents; add a parameter size and return at most that many"
        )
    if items and all(isinstance(item, list | tuple) and len(item) == 2 for item in items):
        scores = tuple(_number(score) for _, score in items)
        notes = () if is_sorted(scores) else ("the pairs are not sorted by score; the ranking keeps their order",)
        return EngineReply(tuple(_id(doc) for doc, _ in items), scores, notes=notes)
    return EngineReply(tuple(map(_id, items)))


def _plain(value: Any) -> Any:
    """The Python value of a scalar of numpy or torch."""
    return value.item() if hasattr(value, "item") and getattr(value, "shape", None) == () else value


def _id(value: Any) -> str:
    """The id as text; whole numbers are written in digits."""
    plain = _plain(value)
    if isinstance(plain, bool) or not isinstance(plain, str | int):
        raise EngineError(f"it returned {type_phrase(plain)} as a document; {_RETURN}")
    return str(plain)


def _number(value: Any) -> float:
    plain = _plain(value)
    if isinstance(plain, bool) or not isinstance(plain, Real):
        raise EngineError(f"it returned {type_phrase(plain)} as a score; {_RETURN}")
    return float(plain)


def _code_digest(function: SearchFunction, *, ignore_values: bool = False) -> str:
    """A digest of the code of the function and of functions of its package that it calls.

    A function that holds other values than text and numbers has another digest in each process, unless these are ignored.
    """
    digest = hashlib.sha256()
    for part in _code_parts(function, set(), ignore_values):
        digest.update(part.encode(errors="backslashreplace") + b"\0")
    return digest.hexdigest()[:16]


def _code_parts(value: Any, seen: set[int], ignore_values: bool) -> Iterator[str]:
    if id(value) in seen:
        return
    seen.add(id(value))
    if isinstance(value, MethodType):
        yield from _code_parts(value.__func__, seen, ignore_values)
        yield _value_text(value.__self__, ignore_values)
    elif isinstance(value, partial):
        yield from _code_parts(value.func, seen, ignore_values)
        yield from (_value_text(held, ignore_values) for held in (*value.args, *value.keywords, *value.keywords.values()))
    elif isinstance(value, FunctionType):
        yield value.__qualname__
        yield from _constants(value.__code__)
        defaults = (*(value.__defaults__ or ()), *(value.__kwdefaults__ or {}).values())
        for held in (*defaults, *_closure_values(value)):
            if isinstance(held, FunctionType):
                yield from _code_parts(held, seen, ignore_values)
            else:
                yield _value_text(held, ignore_values)
        yield from _called(value, seen, ignore_values)
    else:
        yield _value_text(value, ignore_values)


def _called(function: FunctionType, seen: set[int], ignore_values: bool) -> Iterator[str]:
    """The code of the global functions of the same package that the function names, and its global texts and numbers."""
    package = function.__module__.partition(".")[0]
    for name in function.__code__.co_names:
        value = function.__globals__.get(name)
        if isinstance(value, FunctionType) and value.__module__.partition(".")[0] == package:
            yield from _code_parts(value, seen, ignore_values)
        elif isinstance(value, str | int | float):
            yield f"{name}={value!r}"


def _constants(code: CodeType) -> Iterator[str]:
    yield code.co_code.hex()
    yield repr(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _constants(constant)
        else:
            yield repr(sorted(constant, key=repr) if isinstance(constant, frozenset) else constant)


def _closure_values(function: FunctionType) -> Iterator[Any]:
    """The values of outer variables; one that has no value yet is left out."""
    for cell in function.__closure__ or ():
        with suppress(ValueError):
            yield cell.cell_contents


def _value_text(value: Any, ignore_values: bool) -> str:
    """A value that the function holds, as text."""
    try:
        return repr(identity(value))
    except UsageError:
        return "" if ignore_values else f"{os.getpid()}:{id(value)}"
