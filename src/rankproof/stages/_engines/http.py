"""A search engine behind HTTP as a stage: a request template, and paths to the ids of its reply."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from typing import Annotated, Any, Literal

from rankproof._data.dataset import Query
from rankproof._data.identity import NOT_IN_IDENTITY
from rankproof._data.replies import MASKED_NOTE
from rankproof._data.text import clip_text
from rankproof._io.http import (
    DEADLINE_FACTOR,
    RETRYABLE_STATUSES,
    CallLimiter,
    CallsStoppedError,
    Connection,
    ConnectionLostError,
    HttpResponse,
    ResponseFormatError,
    parse_response,
    replace_surrogates,
    retry_after_seconds,
)
from rankproof._io.secrets import Secret, proxy_passwords
from rankproof._registry import Option
from rankproof.errors import UsageError, escape_invisible, for_message, type_phrase
from rankproof.models._base import EncoderModel
from rankproof.stages._base import BuildContext
from rankproof.stages._engines.base import EncodedQuery, EngineError, EngineReply, EngineStage, QueryEncoder
from rankproof.stages._engines.reply import (
    ReplyError,
    ReplyHits,
    check_expected,
    read_hits,
    reason_of,
    server_milliseconds,
    value_at,
)
from rankproof.stages._engines.request import ESCAPES, TABLES, Exchange, read_environment
from rankproof.stages._fields import QueryPrompt


@dataclass(frozen=True)
class Http(EngineStage):
    """Asks a search engine behind HTTP; a preset has the request and the paths of a common engine, and each can be replaced.

    `url`, `headers` and `body` hold {query}, {size}, {vector} (with a model), the names of `values`, and environment variables
    such as ${API_KEY}, whose values are never written. The ranking has the order of the reply.
    """

    preset: Annotated[str | None, Option("the engine whose request and reply are used (default: none)")] = None
    values: Annotated[Mapping[str, Any], Option("what the names in braces stand for, such as the address and the index")] = field(
        default_factory=dict, hash=False
    )
    url: Annotated[str | None, Option("the address of a search, with {query} if it is part of the address")] = None
    method: Annotated[Literal["GET", "POST"] | None, Option("GET or POST (default: POST with a body, else GET)")] = None
    headers: Annotated[Mapping[str, Any], Option("headers; write keys as environment variables: ${API_KEY}")] = field(
        default_factory=dict, hash=False
    )
    login_env: Annotated[str | None, Option("the environment variable with user:password for basic authentication")] = field(
        default=None, metadata=NOT_IN_IDENTITY
    )
    body: Annotated[Mapping[str, Any] | None, Option("the JSON body, with {query}, {size} and {vector}")] = field(
        default=None, hash=False
    )
    model: Annotated[EncoderModel | None, Option("the encoder of {vector}, that of the index")] = None
    query_prompt: QueryPrompt = ""
    ids: Annotated[str | None, Option("the path to the document ids in a reply, such as hits.hits[]._id")] = None
    scores: Annotated[str | None, Option("the path to the scores")] = None
    texts: Annotated[str | None, Option("the path to the texts")] = None
    total: Annotated[str | None, Option("the path to the number of documents that match")] = None
    server_time: Annotated[str | None, Option("the path to the server's own time, or header:NAME")] = None
    server_time_unit: Annotated[Literal["s", "ms", "us", "ns"] | None, Option("the unit of that time (default: ms)")] = None
    escape: Annotated[str | None, Option("how the query is written: none, lucene, graphql, groonga, plain or words")] = None
    max_size: Annotated[int | None, Option("the most documents that the engine returns", least=1)] = None
    expect: Annotated[Mapping[str, Any], Option('what a good reply has at a path: a value, "absent" or "any"')] = field(
        default_factory=dict, hash=False
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in (*TABLES, "body"):
            if (table := getattr(self, name)) is not None:
                object.__setattr__(self, name, checked_table(name, table))
        object.__setattr__(self, "_exchange", Exchange.of(self))

    @property
    def exchange(self) -> Exchange:
        """The request and the paths of the reply, with the preset's."""
        exchange: Exchange = vars(self)["_exchange"]
        return exchange

    def revision(self) -> str:
        """A digest of the request with the preset's parts, and of the addresses that come from the environment."""
        return self.exchange.digest()

    def about(self) -> tuple[str, ...]:
        """Notes on the preset and the request."""
        return tuple(self.exchange.about())

    def connect(self, context: BuildContext) -> HttpEngine:
        """Reads the environment and loads the encoder; nothing is sent."""
        return HttpEngine(self, QueryEncoder(self.model, self.query_prompt, context) if self.model else None)


def checked_table(name: str, value: Any) -> dict[str, Any]:
    """A copy of a table of text, numbers, booleans, lists and tables; anything else is an error."""
    if not isinstance(value, Mapping):
        raise UsageError(f"{name} is {type_phrase(value)}", fix=f'give a table, such as {name} = {{key = "value"}}')
    return {key: _checked_json(name, key, inner) for key, inner in value.items()}


def _checked_json(name: str, key: Any, value: Any) -> Any:
    if not isinstance(key, str):
        raise UsageError(f"{name} has the key {for_message(repr(key))}", fix="use text for keys")
    if isinstance(value, Mapping):
        return {inner: _checked_json(name, inner, part) for inner, part in value.items()}
    if isinstance(value, list | tuple):
        return [_checked_json(name, key, part) for part in value]
    if not isinstance(value, str | int | float):
        fix = "use text, numbers, booleans, lists and tables"
        raise UsageError(f"{name} has {type_phrase(value)} at {for_message(key)}", fix=fix)
    return value


_READ_STATUSES = frozenset({HTTPStatus.BAD_REQUEST, *range(HTTPStatus.NOT_FOUND, 600)})
"""Statuses whose body has a reason. A rejected login may echo the key, and a redirect has no reason."""
_MAX_BYTES, _MAX_ERROR = 64 << 20, 400
_MIN_MASKED, _MIN_MASKED_IN_DOCUMENTS = 4, 8
"""The shortest key that is masked in messages, and in ids and texts, where a short one may be an ordinary word."""
_DIGITS = 9
"""Significant digits of a vector's numbers, which single precision has."""


class HttpEngine:
    """The connection to an engine."""

    def __init__(self, stage: Http, encoder: QueryEncoder | None) -> None:
        self._stage, self._encoder = stage, encoder
        self._settings, self._exchange = stage.exchange.settings, stage.exchange
        self._environment = self._exchange.environment()
        login = self._login()
        keys = [*self._exchange.keys(self._environment), *login, *proxy_passwords()]
        self._secret = Secret(*keys, min_length=_MIN_MASKED)
        self._secret_in_documents = Secret(*keys, min_length=_MIN_MASKED_IN_DOCUMENTS)
        self._address = self._exchange.address(self._environment)
        headers = {**self._exchange.headers(self._environment), **({"Authorization": f"Basic {login[0]}"} if login else {})}
        self._connection = Connection(
            self._address, headers, self._secret, stage.timeout, read_statuses=_READ_STATUSES, max_bytes=_MAX_BYTES
        )
        self._calls = CallLimiter(stage.concurrency)

    def ask(self, query: Query, size: int) -> EngineReply:
        """The reply to one query; EngineError without the key if the request fails."""
        text = ESCAPES[self._settings["escape"] or "none"](replace_surrogates(query.text))
        encoded = self._encoder.encode(query.text) if self._encoder else EncodedQuery()
        if self._encoder and not encoded.vector:
            return encoded.added_to(EngineReply((), notes=encoded.notes))
        if not text.strip():
            return encoded.added_to(EngineReply((), notes=("the query has no words: not sent",)))
        url, body = self._request(text, size, [float(f"{value:.{_DIGITS}g}") for value in encoded.vector])
        limit = DEADLINE_FACTOR * self._stage.timeout
        try:
            reply = self._calls.within(limit, lambda: self._try(url, body, size))
        except TimeoutError:
            reply = self._error(f"no complete response within {limit:g} s", retryable=True)
        except CallsStoppedError:
            reply = self._error("the request was cancelled")
        # Raised outside of the handler and without a traceback, so that no frame with headers or bodies can be reached.
        if isinstance(reply, EngineError):
            raise reply
        return encoded.added_to(replace(reply, notes=(*encoded.notes, *reply.notes)))

    def close(self) -> None:
        """Stops all calls; connections close after their last request."""
        self._calls.stop(self._connection.close)

    def _request(self, query: str, size: int, vector: list[float]) -> tuple[str, bytes | None]:
        filler = self._exchange.filler(self._environment, query=query, size=size, vector=vector)
        body = self._settings["body"]
        return filler.url(self._settings["url"]), json.dumps(filler.json(body)).encode() if body else None

    def _login(self) -> list[str]:
        """The user and password in the forms that a server could echo, none without a login."""
        if not (name := self._settings["login_env"]):
            return []
        login = read_environment([name])[name]
        if ":" not in login:
            raise UsageError(f"the environment variable {name} (login_env) has no colon", fix="set it to user:password")
        return [base64.b64encode(login.encode()).decode(), login, login.partition(":")[2]]

    def _try(self, url: str, body: bytes | None, size: int) -> EngineReply | EngineError:
        start = time.perf_counter()
        try:
            response = self._connection.send(self._settings["method"], url, body)
            seconds = time.perf_counter() - start
            if response.status != HTTPStatus.OK:
                return self._rejection(response)
            return self._reply(response, size, seconds)
        except ConnectionLostError as error:
            return self._error(str(error), retryable=not error.is_untrusted)
        except ResponseFormatError as error:
            return self._error(str(error), retryable=True)
        except ReplyError as error:
            return self._error(str(error), retryable=error.retryable)

    def _reply(self, response: HttpResponse, size: int, seconds: float) -> EngineReply:
        body = parse_response(response.body, self._secret_in_documents)
        document = body.value
        check_expected(document, self._exchange.paths.expect)
        hits = read_hits(document, self._exchange.paths)
        server_ms = self._server_ms(document, response)
        parts: dict[str, Any] = {"total": hits.total, "server_time": server_ms}
        if hits.docs:
            parts |= {"scores": hits.scores, "texts": hits.texts or None}
        missing = (name for name, value in parts.items() if value is None and self._settings[name])
        notes = (
            *_short_reply_notes(hits, size),
            *(f"the reply has no {name} at {self._settings[name]}" for name in missing),
            *((MASKED_NOTE,) if body.is_masked else ()),
        )
        return EngineReply(hits.docs, hits.scores, hits.texts, seconds=seconds, server_ms=server_ms, notes=notes)

    def _server_ms(self, document: Any, response: HttpResponse) -> float | None:
        header, path = self._exchange.time_header, self._exchange.paths.server_time
        value = response.headers.get(header) if header else value_at(document, path) if path else None
        return server_milliseconds(value, self._settings["server_time_unit"] or "ms")

    def _rejection(self, response: HttpResponse) -> EngineError:
        """The error for a status other than success."""
        status = response.status
        if status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
            return self._error(f"the server rejected the login (status {status}); check headers, login_env and their variables")
        if status < HTTPStatus.MULTIPLE_CHOICES:
            return self._error(f"status {status}, which is not a complete reply", retryable=True)
        if status < HTTPStatus.BAD_REQUEST:
            return self._error(
                f"the server redirects (status {status}); set {self._exchange.address_setting} to the final address"
            )
        try:
            reason = reason_of(parse_response(response.body, self._secret).value)
        except ResponseFormatError:
            reason = ""
        retryable = status in RETRYABLE_STATUSES or status >= HTTPStatus.INTERNAL_SERVER_ERROR
        wait = retry_after_seconds(response.retry_after) if retryable else None
        demand = f", and it demands a pause of {wait:g} s" if wait else ""
        return self._error(f"status {status}{demand}{f': {reason}' if reason else ''}", retryable=retryable, wait=wait)

    def _error(self, why: str, *, retryable: bool = False, wait: float | None = None) -> EngineError:
        """The error; keys are masked before the text is cut, so that no part of one is left."""
        what = clip_text(self._secret.masked(f"{self._address}: {why}"), _MAX_ERROR)
        return EngineError(escape_invisible(what), retryable=retryable, wait=wait)


def _short_reply_notes(hits: ReplyHits, size: int) -> tuple[str, ...]:
    """A note on a reply with fewer documents than match, or than were requested where the server does not tell how many match."""
    if len(hits.docs) >= size or (hits.total is not None and hits.total <= len(hits.docs)):
        return ()
    return (f"fewer documents than the {size} requested" + (", though more match" if hits.total else ""),)
