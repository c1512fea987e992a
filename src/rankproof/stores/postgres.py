"""A PostgreSQL connection that answers in our errors: what failed, why in one line, what to do, and never a password."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, LiteralString

from .._extras import extra, require
from ..errors import UsageError, WorldError
from .dsn import masked

if TYPE_CHECKING:
    import psycopg

ADVICE = {
    "28": "check the user and the password",
    "3D": "make the database, or name another in the connection string",
    "3F": "make the schema, or name another",
    "42501": "ask the owner of the database for the right to do this",
    "0A": "install the pgvector extension on the server",
    "58P01": "install the pgvector extension on the server",
    "53100": "make room on the server's disk",
    "53": "give the server more room, or run fewer things on it",
    "55P03": "another run is using this table; wait for it to end",
}
REFUSED = {"authentication failed": "28", "no password supplied": "28", 'database "': "3D"}
UNREACHED = "check that the server is running and that host, port and network are right"


Name = tuple[str, ...] | int
"""An identifier with what qualifies it, or a number that cannot be bound."""


class Postgres:
    """An open connection; identifiers come by keyword and are quoted, values are bound."""

    def __init__(self, connection: psycopg.Connection[Any], secrets: Sequence[str]) -> None:
        self._connection, self._secrets = connection, secrets

    def rows(self, doing: str, statement: LiteralString, values: Sequence[Any] = (), **names: Name) -> list[tuple[Any, ...]]:
        """What a query gives."""
        with self._told(doing):
            cursor = self._connection.execute(self._composed(statement, names), values or None, prepare=bool(values), binary=True)
            return cursor.fetchall()

    def do(self, doing: str, statement: LiteralString, values: Sequence[Any] = (), **names: Name) -> None:
        """A statement without an answer."""
        with self._told(doing):
            self._connection.execute(self._composed(statement, names), values or None)

    def copy(
        self, doing: str, statement: LiteralString, types: Sequence[str], rows: Iterable[Sequence[Any]], **names: Name
    ) -> None:
        """Rows into a table by binary COPY."""
        with self._told(doing), self._connection.cursor() as cursor, cursor.copy(self._composed(statement, names)) as copying:
            copying.set_types(types)
            for row in rows:
                copying.write_row(row)

    @contextmanager
    def transaction(self, doing: str) -> Iterator[None]:
        """All or nothing."""
        with self._told(doing), self._connection.transaction():
            yield

    def learn_vectors(self) -> None:
        """Makes the connection take numpy vectors; the extension must be there."""
        with extra("pgvector"):
            from pgvector.psycopg import register_vector

        with self._told("looking up the vector type"):
            register_vector(self._connection)

    def version(self) -> str:
        """Server and driver."""
        with extra("pgvector"):
            from psycopg import __version__

        number = self._connection.info.server_version
        return f"PostgreSQL {number // 10000}.{number % 10000}, psycopg {__version__}"

    def close(self) -> None:
        """Lets go of the connection."""
        self._connection.close()

    def _composed(self, statement: LiteralString, names: dict[str, Name]) -> Any:
        with extra("pgvector"):
            from psycopg import sql

        parts = {key: sql.Literal(name) if isinstance(name, int) else sql.Identifier(*name) for key, name in names.items()}
        return sql.SQL(statement).format(**parts)

    @contextmanager
    def _told(self, doing: str) -> Iterator[None]:
        with told(doing, self._secrets):
            yield


@contextmanager
def told(doing: str, secrets: Sequence[str]) -> Iterator[None]:
    """Turns what psycopg raises into a WorldError."""
    with extra("pgvector"):
        import psycopg

    try:
        yield
    except psycopg.Error as error:
        reason = masked(error.diag.message_primary or str(error) or type(error).__name__, secrets)
        raise WorldError(f"PostgreSQL failed while {doing} ({reason}); {_advice(error.sqlstate, reason)}") from None


def _advice(code: str | None, reason: str) -> str:
    if code is None:
        # A connection that was refused carries no code.
        code = next((ours for part, ours in REFUSED.items() if part in reason), "08")
    if code[:2] in ("08", "57"):
        return f"{UNREACHED}, then run again"
    return ADVICE.get(code) or ADVICE.get(code[:2]) or "see the server's log, then run again"


def connect(dsn: str) -> Postgres:
    """A connection with a time limit on its making."""
    with extra("pgvector"):
        import psycopg
        from psycopg.conninfo import conninfo_to_dict
    require("pgvector", "pgvector")
    settings: dict[str, Any] = {}
    with suppress(psycopg.Error):
        settings = dict(conninfo_to_dict(dsn))
    if not settings:
        # What libpq says of a string that it cannot read may quote any piece of it, the password too.
        raise UsageError("the connection string cannot be read", fix="write it like postgresql://user@host:5432/database")
    secrets = [str(settings[key]) for key in ("password", "sslpassword") if settings.get(key)]
    patience = int(settings.get("connect_timeout") or 10)
    with told("connecting", secrets):
        connection = psycopg.connect(dsn, autocommit=True, application_name="rankproof", connect_timeout=patience)
    return Postgres(connection, secrets)
