"""The stage that asks a PostgreSQL database by the user's own SQL, with connections that only read."""

from __future__ import annotations

import math
import os
import re
import socket
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from decimal import Decimal
from threading import Lock, Timer
from typing import TYPE_CHECKING, Annotated, Any, Final
from urllib.parse import quote
from uuid import UUID

from rankproof._data.dataset import Query
from rankproof._data.identity import NOT_IN_IDENTITY
from rankproof._data.replies import MASKED_NOTE
from rankproof._data.text import MASK
from rankproof._extras import extra
from rankproof._io.secrets import Secret
from rankproof._registry import Option
from rankproof.errors import UsageError, for_message, type_phrase
from rankproof.models._base import EncoderModel
from rankproof.stages._base import BuildContext
from rankproof.stages._engines.base import EncodedQuery, EngineError, EngineReply, EngineStage, QueryEncoder, is_sorted
from rankproof.stages._engines.request import VARIABLE, read_environment, variables
from rankproof.stages._fields import QueryPrompt
from rankproof.stores._base import address_digest, mask_secrets
from rankproof.stores._pgvector import MAX_EF_SEARCH
from rankproof.stores._postgres import advice_for, connection_secrets, connection_settings, error_code, open_connection

if TYPE_CHECKING:
    import psycopg

_PARAMETERS: Final = ("query", "size", "vector")
_SIGN = re.compile(r"%(?:%|\((?P<name>[^)\s]*)\)(?P<form>\w?)|\S?)")
_SIGN_FIX: Final = "use %(query)s, %(size)s and %(vector)s, and write %% for a percent sign"
_FIRST_WORD = re.compile(r"(?:[\s(]|--[^\n]*(?:\n|$)|/\*.*?\*/)*(?P<word>\w*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Statement:
    """A SELECT with numbered parameters, and the name of each parameter in that order."""

    text: str
    names: tuple[str, ...]

    def values(self, query: str, size: int, vector: Sequence[float]) -> list[str]:
        """The parameters as text, whose types PostgreSQL infers."""
        texts = {"query": query, "size": str(size), "vector": f"[{','.join(map(repr, vector))}]"}
        return [texts[name] for name in self.names]


def parse_statement(sql: str) -> Statement:
    """The statement; it is an error if it is not a SELECT, has other parameters, or does not use the query."""
    start = _FIRST_WORD.match(sql)
    word = start["word"] if start else ""
    if word.lower() not in ("select", "with"):
        raise UsageError(f"sql begins with {for_message(word or sql.strip()) or 'nothing'}", fix="write a SELECT")
    if "\0" in sql:
        raise UsageError("sql has a NUL character", fix="remove it")
    names: list[str] = []

    def numbered(sign: re.Match[str]) -> str:
        name = sign["name"]
        if sign[0] == "%%":
            return "%"
        if name not in _PARAMETERS or sign["form"] != "s":
            raise UsageError(f"sql has {for_message(sign[0])}", fix=_SIGN_FIX)
        if name not in names:
            names.append(name)
        return f"${names.index(name) + 1}"

    text = _SIGN.sub(numbered, sql)
    if "query" not in names and "vector" not in names:
        raise UsageError("sql has neither %(query)s nor %(vector)s", fix="write one of them where the query belongs")
    return Statement(text, tuple(names))


@dataclass(frozen=True, slots=True)
class Rows:
    """What a SELECT returned: the names of its columns, its rows, and the seconds of the round trip.

    `is_masked` says that a row contained the password, which is masked.
    """

    columns: tuple[str, ...]
    rows: list[tuple[Any, ...]]
    seconds: float
    is_masked: bool = False


_LOCK_SHARE: Final = 0.9
"""How much of the timeout a statement may wait for a lock, so that a lock and a slow statement differ in their errors."""
MAX_TIMEOUT: Final = 2_000_000.0
"""The seconds that `statement_timeout`, an integer of milliseconds, can hold."""
GRACE: Final = 2.0
"""How many seconds after the timeout the connection is cut, because the server did not end the statement."""
_MIN_CONNECT_SECONDS: Final = 2
_RETRYABLE: Final = ("08", "40", "53", "55P03", "57P")
_OF_SERVER: Final = (*_RETRYABLE, "28", "3D", "58", "XX")
"""Codes of a connection or server that fails, whatever the query is."""
_REJECTED: Final = {
    "25006": "write a SELECT that changes nothing: the transaction is read-only",
    "42501": "ask the owner of the database for this permission",
    "42P08": "give the parameter a type, such as %(query)s::text",
    "42P18": "remove the quotes around the parameter, or give it a type, such as %(query)s::text",
}
"""Errors that no query can avoid: code and fix."""


class ReadOnlyConnection:
    """A connection on which every statement is a read-only transaction with a timeout and the given settings."""

    def __init__(self, dsn: str, timeout: float, settings: Mapping[str, str]) -> None:
        parts = connection_settings(dsn)
        with extra("sql"):
            import psycopg
        self._psycopg, self._secrets = psycopg, connection_secrets(parts)
        self._secret = Secret(*self._secrets)
        self._timeout, self._is_cut, self._is_checked, self._text = min(timeout, MAX_TIMEOUT), False, False, ""
        milliseconds = max(int(self._timeout * 1000), 1)
        self._settings = {
            **settings,
            "statement_timeout": str(milliseconds),
            "lock_timeout": str(max(int(milliseconds * _LOCK_SHARE), 1)),
        }
        with self._failures():
            seconds = max(min(parts["connect_timeout"], math.ceil(timeout)), _MIN_CONNECT_SECONDS)
            self._connection = open_connection({**parts, "connect_timeout": seconds}, client_encoding="UTF8")
        self._connection.read_only = True
        self._connection.adapters.register_loader("bpchar", _unpadded_loader())

    @property
    def is_open(self) -> bool:
        """Whether it can be used again."""
        return not self._connection.closed

    def close(self) -> None:
        """Closes the connection."""
        self._connection.close()

    def select(self, statement: Statement, values: Sequence[str]) -> Rows:
        """The rows of the statement."""
        with self._transaction():
            start = time.perf_counter()
            cursor = self._execute(statement.text, values)
            rows = cursor.fetchall() if cursor.description else []
            seconds = time.perf_counter() - start
            self._check_settings()
        masked = [tuple(map(self._secret.masked_document, row)) for row in rows]
        return Rows(tuple(column.name for column in cursor.description or ()), masked, seconds, masked != rows)

    def vector_index_limit(self, statement: Statement, values: Sequence[str]) -> tuple[str, str] | None:
        """The setting that limits a vector index of the statement's plan, and its value; None without such an index."""
        with self._transaction():
            (plan,) = self._execute(f"EXPLAIN (FORMAT JSON) {statement.text}", values).fetchone() or ([],)
            names = [name for part in plan for name in _index_names(part["Plan"])]
            kinds = {kind for (kind,) in self._execute(_INDEX_KINDS, [names]).fetchall()}
            for kind, setting in _LIMITS.items():
                if kind in kinds:
                    return setting, self._current(setting) or ""
        return None

    def _execute(self, text: str, values: Sequence[Any]) -> psycopg.Cursor[Any]:
        # Without a prepared statement, the server plans each query by its own values, as it does for most applications.
        self._text = text
        return self._psycopg.RawCursor(self._connection).execute(text.encode(), values, prepare=False)

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        """A transaction that is rolled back; a server that keeps no time limit is cut off."""
        timer = Timer(self._timeout + GRACE, self._cut)
        timer.daemon = True
        timer.start()
        try:
            with self._failures():
                self._apply_settings()
                yield
        finally:
            with suppress(self._psycopg.Error):
                self._connection.rollback()
            timer.cancel()

    def _apply_settings(self) -> None:
        calls = ", ".join(f"set_config(${2 * at + 1}, ${2 * at + 2}, true)" for at in range(len(self._settings)))
        try:
            self._execute(f"SELECT {calls}", [text for pair in self._settings.items() for text in pair])
        except (self._psycopg.DataError, self._psycopg.ProgrammingError, self._psycopg.InternalError) as error:
            raise UsageError(f"PostgreSQL rejects settings ({self._reason(error)})", fix="correct settings") from None

    def _check_settings(self) -> None:
        """Applies the settings again after the first statement: those of an extension are checked only after it is loaded."""
        if not self._is_checked:
            self._apply_settings()
            self._is_checked = True

    def _current(self, setting: str) -> str | None:
        row = self._execute("SELECT current_setting($1, true)", [setting]).fetchone()
        return row[0] if row else None

    def _cut(self) -> None:
        """Ends a wait for the server."""
        self._is_cut = True
        with suppress(OSError, self._psycopg.Error), socket.socket(fileno=os.dup(self._connection.fileno())) as line:
            line.shutdown(socket.SHUT_RDWR)

    def _reason(self, error: psycopg.Error) -> str:
        return mask_secrets(error.diag.message_primary or str(error) or type(error).__name__, self._secrets)

    @contextmanager
    def _failures(self) -> Iterator[None]:
        """Converts the errors of psycopg: what no query can avoid is a UsageError, anything else an EngineError."""
        try:
            yield
        except self._psycopg.Error as error:
            raise self._failure(error) from None
        except UnicodeEncodeError:
            raise EngineError("the query has a character that UTF-8 cannot encode") from None

    def _failure(self, error: psycopg.Error) -> UsageError | EngineError:
        reason, position = self._reason(error), int(error.diag.statement_position or 0)
        code = error_code(error, reason)
        # The error of a function, such as that of to_tsquery, may have the same code, but it has no place in the statement.
        in_statement = position or error.diag.source_function == "exec_parse_message"
        if code in _REJECTED or (in_statement and code.startswith(("22", "42"))):
            return self._statement_error(reason, error.diag.message_hint, code, position)
        if self._is_cut:
            return EngineError(f"the server did not reply within {self._timeout + GRACE:g} s", retryable=True)
        if code == "57014":
            return EngineError(f"the query took more than {self._timeout:g} s ({reason}); raise timeout")
        if code == "55P03":
            return EngineError(f"another session held a lock for {self._timeout * _LOCK_SHARE:g} s ({reason})", retryable=True)
        if not isinstance(error, self._psycopg.DataError) and code.startswith(_OF_SERVER):
            return EngineError(f"PostgreSQL failed ({reason}); {advice_for(code)}", retryable=code.startswith(_RETRYABLE))
        fix = "; use websearch_to_tsquery, which takes any text" if "tsquery" in reason else ""
        return EngineError(f"PostgreSQL rejects the query ({reason}){fix}")

    def _statement_error(self, reason: str, hint: str | None, code: str, position: int) -> UsageError:
        line = f" in line {self._text.count(chr(10), 0, position) + 1}" if position else ""
        whole = f"{reason}. {mask_secrets(hint, self._secrets).rstrip('.')}" if hint else reason
        return UsageError(f"PostgreSQL rejects sql{line} ({whole})", fix=_REJECTED.get(code, "correct sql"))


def _unpadded_loader() -> type[psycopg.types.string.TextLoader]:
    """Loads char(n) without the blanks that fill it, which have no meaning."""
    with extra("sql"):
        from psycopg.types.string import TextLoader

    class UnpaddedLoader(TextLoader):
        def load(self, data: Any) -> str | bytes:
            text = super().load(data)
            return text.rstrip(" ") if isinstance(text, str) else text

    return UnpaddedLoader


_LIMITS: Final = {"hnsw": "hnsw.ef_search", "ivfflat": "ivfflat.probes"}
"""The kinds of vector indexes, each with the setting that limits its rows."""
_INDEX_KINDS: Final = "SELECT DISTINCT a.amname FROM pg_class c JOIN pg_am a ON a.oid = c.relam WHERE c.relname = ANY($1::text[])"


def _index_names(plan: Mapping[str, Any]) -> Iterator[str]:
    """The indexes in a plan."""
    if "Index Name" in plan:
        yield plan["Index Name"]
    for part in plan.get("Plans", ()):
        yield from _index_names(part)


def make_reply(rows: Rows) -> EngineReply:
    """The reply of the rows: the columns id, score and text by name; without a column id, the first one."""
    for name in ("id", "score", "text"):
        if rows.columns.count(name) > 1:
            raise UsageError(f"the SELECT has two columns called {name}", fix="rename one of them with AS")
    if not rows.columns:
        raise UsageError("the SELECT has no column", fix="select the id of the document")
    columns = dict(zip(rows.columns, zip(*rows.rows, strict=True), strict=True)) if rows.rows else {}
    key = "id" if "id" in rows.columns else rows.columns[0]
    docs = tuple(_document_id(value, key, at) for at, value in enumerate(columns.get(key, ()), start=1))
    scores = _scores(columns["score"]) if "score" in columns else None
    texts = {doc: text for doc, text in zip(docs, columns.get("text", ()), strict=False) if isinstance(text, str)}
    notes = ("the rows are not in the order of their scores: add ORDER BY",) if scores and not is_sorted(scores) else ()
    return EngineReply(docs, scores, texts, rows.seconds, notes=(*notes, *((MASKED_NOTE,) if rows.is_masked else ())))


def _document_id(value: Any, column: str, row: int) -> str:
    if value is None or value == "":
        raise EngineError(f"row {row} of the reply has no id: {for_message(column)} is {'NULL' if value is None else 'empty'}")
    if isinstance(value, Decimal) and value.is_finite() and value == int(value):
        return str(int(value))
    if isinstance(value, bool) or not isinstance(value, str | int | UUID):
        fix = f"cast it, such as {for_message(column)}::text AS id"
        raise UsageError(f"the column {for_message(column)}, which is the document id, has {type_phrase(value)}", fix=fix)
    return str(value)


def _scores(values: Sequence[Any]) -> tuple[float, ...]:
    """The scores as numbers; NaN for what is none."""
    return tuple(float(value) if isinstance(value, int | float | Decimal) else float("nan") for value in values)


class SqlEngine:
    """Asks a database; each of several threads has its own connection."""

    def __init__(self, stage: SQL, encoder: QueryEncoder | None) -> None:
        self._stage, self._encoder = stage, encoder
        self._statement, self._dsn = parse_statement(stage.sql), filled_dsn(stage.dsn)
        self._lock = Lock()
        self._idle = [self._open()]

    def ask(self, query: Query, size: int) -> EngineReply:
        """The reply of one SELECT."""
        encoded = self._encoder.encode(query.text) if self._encoder else EncodedQuery()
        if self._encoder and not encoded.vector:
            return encoded.added_to(EngineReply((), notes=encoded.notes))
        values = self._statement.values(query.text, size, encoded.vector)
        with self._connection() as connection:
            reply = make_reply(connection.select(self._statement, values))
            is_short = self._encoder is not None and len(reply.docs) < size
            notes = self._index_limit_notes(connection, values, len(reply.docs), size) if is_short else ()
        return encoded.added_to(replace(reply, notes=(*reply.notes, *encoded.notes, *notes)))

    def close(self) -> None:
        """Closes the connections."""
        with self._lock:
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def _open(self) -> ReadOnlyConnection:
        return ReadOnlyConnection(self._dsn, self._stage.timeout, self._stage.settings)

    @contextmanager
    def _connection(self) -> Iterator[ReadOnlyConnection]:
        """An idle or a new connection; a lost one is not used again."""
        with self._lock:
            connection = self._idle.pop() if self._idle else None
        connection = connection or self._open()
        try:
            yield connection
        finally:
            if connection.is_open:
                with self._lock:
                    self._idle.append(connection)

    def _index_limit_notes(self, connection: ReadOnlyConnection, values: Sequence[str], count: int, size: int) -> tuple[str, ...]:
        """A note if a vector index limits the rows."""
        limit = connection.vector_index_limit(self._statement, values)
        if limit is None:
            return ()
        setting, value = limit
        enough = f" to {min(size, MAX_EF_SEARCH)}" if setting == "hnsw.ef_search" else ""
        return (f"{count} rows where {size} were requested: {setting} is {value}; raise it{enough} in settings",)


def filled_dsn(dsn: str) -> str:
    """The connection string with each ${VARIABLE} replaced by its value; a password or a whole part is quoted."""
    values = read_environment(sorted(variables(dsn)))

    def value(match: re.Match[str]) -> str:
        text = values[match[1]]
        before, after = dsn[: match.start()], dsn[match.end() :]
        if "://" in before:
            return quote(text, safe="") if before.endswith(":") and after.startswith("@") else text
        is_part = before.endswith("=") and (not after or after[0].isspace())
        return "'" + re.sub(r"[\\']", r"\\\g<0>", text) + "'" if is_part else text

    return VARIABLE.sub(value, dsn)


@dataclass(frozen=True)
class SQL(EngineStage):
    """Asks a PostgreSQL database by a SELECT of your own, in a read-only transaction; rows are ranked in their order."""

    dsn: Annotated[str, Option('connection string, with secrets from the environment, such as "${DATABASE_URL}"')] = field(
        metadata=NOT_IN_IDENTITY
    )
    sql: Annotated[str, Option("a SELECT with %(query)s or %(vector)s, and %(size)s; columns id, score and text")]
    model: Annotated[EncoderModel | None, Option("the encoder of %(vector)s: a name, or a folder with weights")] = None
    query_prompt: QueryPrompt = ""
    settings: Annotated[Mapping[str, Any], Option('settings of the server, such as {"hnsw.ef_search" = 200}')] = field(
        default_factory=dict, hash=False
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "settings", _checked_settings(self.settings))
        _check_dsn(self.dsn)
        names = parse_statement(self.sql).names
        if ("vector" in names) != (self.model is not None):
            what = (
                "sql has %(vector)s but there is no model" if self.model is None else "there is a model but no %(vector)s in sql"
            )
            raise UsageError(what, fix='set both or none: model = "minilm" encodes the query as %(vector)s')
        if self.query_prompt and self.model is None:
            raise UsageError("query_prompt has no effect without a model", fix="remove it, or set model")

    def revision(self) -> str:
        """A digest of the database's address without its password."""
        return ", ".join(address_digest(filled_dsn(self.dsn)))

    def connect(self, context: BuildContext) -> SqlEngine:
        """Loads the encoder and opens a connection."""
        return SqlEngine(self, QueryEncoder(self.model, self.query_prompt, context) if self.model else None)


def _check_dsn(dsn: str) -> None:
    plain = " ".join(VARIABLE.sub(MASK, dsn).replace(":@", "@").split())
    if not plain:
        raise UsageError("dsn is empty", fix='write dsn = "${DATABASE_URL}"')
    if mask_secrets(plain, ()) != plain:
        fix = 'put it into an environment variable: dsn = "${DATABASE_URL}", or postgresql://user:${PGPASSWORD}@host/database'
        raise UsageError("dsn holds a password", fix=fix)


def _checked_settings(settings: Any, prefix: str = "") -> dict[str, str]:
    """The settings as texts by full name; TOML reads hnsw.ef_search as a table in a table."""
    if not isinstance(settings, Mapping):
        raise UsageError(f"settings is {type_phrase(settings)}", fix='write a table, such as {"hnsw.ef_search" = 200}')
    texts: dict[str, str] = {}
    for name, value in settings.items():
        if isinstance(value, Mapping):
            texts |= _checked_settings(value, f"{prefix}{name}.")
        else:
            texts[f"{prefix}{name}"] = _setting_text(f"{prefix}{name}", value)
    if taken := {"statement_timeout", "lock_timeout"} & texts.keys():
        raise UsageError(f"settings has {min(taken)}", fix="set timeout instead, in seconds")
    return texts


def _setting_text(name: str, value: Any) -> str:
    """The value as PostgreSQL writes it."""
    if isinstance(value, bool):
        return "on" if value else "off"
    if not isinstance(value, str | int | float):
        raise UsageError(f"the setting {for_message(name)} is {type_phrase(value)}", fix="write text, a number, true or false")
    return str(value)
