"""The stage that asks a PostgreSQL database by the user's own SQL: full-text search, an existing table of vectors, any SELECT."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from decimal import Decimal
from threading import Lock
from typing import Annotated, Any
from urllib.parse import quote
from uuid import UUID

from rankproof._data.dataset import Query
from rankproof._data.identity import NOT_IN_IDENTITY
from rankproof._data.replies import MASKED_NOTE
from rankproof._data.text import MASK
from rankproof._registry import Option
from rankproof.errors import UsageError, for_message, type_phrase
from rankproof.models._base import EncoderModel
from rankproof.stages._base import BuildContext
from rankproof.stages._engines.base import EncodedQuery, EngineError, EngineReply, EngineStage, QueryEncoder, is_sorted
from rankproof.stages._engines.postgres import ReadOnlyConnection, Rows, parse_statement
from rankproof.stages._engines.request import VARIABLE, read_environment, variables
from rankproof.stages._fields import QueryPrompt
from rankproof.stores._base import address_digest, mask_secrets
from rankproof.stores._pgvector import MAX_EF_SEARCH


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
