"""The statements, and the making of a table that is ours."""

from __future__ import annotations

from hashlib import sha256
from typing import Final, LiteralString

from ..errors import UsageError, WorldError, shown
from .postgres import Postgres

Table = tuple[str, str]
PREFIX: Final = "rankproof_"
MARK: Final = "made by rankproof, which drops it when it is done"
LONGEST_NAME: Final = 63
PATIENCE = "5s"

CREATE: Final = (
    """CREATE TABLE {table} (key bytea PRIMARY KEY, id text COLLATE "C" NOT NULL, vector vector({dimensions}) NOT NULL)"""
)
COMMENT: Final = f"COMMENT ON TABLE {{table}} IS '{MARK}'"
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
REMARK: Final = f"SELECT coalesce(obj_description(c.oid, 'pg_class'), '') {_NAMED}"
LOCK: Final = "SELECT 1 FROM (SELECT pg_advisory_lock(hashtextextended(%s, 0))) AS locked"


def make_table(database: Postgres, schema: str, name: str, dimensions: int) -> tuple[Table, str]:
    """A new, empty table and the version of the extension; only a table that we made ourselves is replaced."""
    if "\0" in name + schema:
        raise UsageError(f"the name {shown(name)} has a NUL in it", fix="choose another")
    _require_utf8(database)
    table = (_schema(database, schema), table_name(name))
    database.do("preparing", "SELECT set_config('lock_timeout', %s, false)", [PATIENCE])
    # The table is dropped in the end and made anew after a crash: nothing is gained by waiting for the disk.
    database.do("preparing", "SET synchronous_commit = off")
    database.do("waiting for the table", LOCK, [".".join(table)])
    extension = _extension(database)
    remarks = database.rows("looking for the table", REMARK, [table[1], table[0]])
    if remarks and remarks[0][0] != MARK:
        raise WorldError(f"there is a table {shown('.'.join(table))} that rankproof did not make; rename it, or give a schema")
    with database.transaction("making the table"):
        database.do("making the table", DROP, table=table)
        database.do("making the table", CREATE, table=table, dimensions=dimensions)
        database.do("making the table", COMMENT, table=table)
    return table, extension


def table_name(name: str) -> str:
    """The name with our prefix; one that is too long for PostgreSQL, which would cut it, gets a digest."""
    whole = PREFIX + name
    if len(whole.encode()) <= LONGEST_NAME:
        return whole
    return f"{PREFIX}{sha256(name.encode()).hexdigest()[:40]}"


def _schema(database: Postgres, schema: str) -> str:
    found = schema or database.rows("asking for the schema", "SELECT current_schema()")[0][0]
    if not found:
        raise WorldError("the connection has no schema to make tables in; name one")
    return str(found)


def _require_utf8(database: Postgres) -> None:
    encoding = database.rows("asking for the encoding", "SHOW server_encoding")[0][0]
    if encoding != "UTF8":
        raise WorldError(f"the database is encoded in {encoding}, which cannot hold every id; use one in UTF8")


def _extension(database: Postgres) -> str:
    with database.transaction("adding the extension"):
        # Two sessions that add it at once would otherwise fail.
        database.do("adding the extension", "SELECT pg_advisory_xact_lock(hashtextextended('rankproof vector', 0))")
        database.do("adding the extension", "CREATE EXTENSION IF NOT EXISTS vector")
    database.learn_vectors()
    return str(database.rows("asking for versions", "SELECT extversion FROM pg_extension WHERE extname = 'vector'")[0][0])
