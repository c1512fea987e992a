"""One collection in PostgreSQL: a table of its own, made when it is opened and dropped when it is closed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import sha256
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from ..data.arrays import Matrix
from ..data.ranking import Ranking
from ..errors import InputError, UsageError, WorldError, shown
from .embedded import Embedded
from .pgvector_sql import COPY, COUNT, DELETE, DROP, INDEX, SEARCH, SIZE, make_table
from .postgres import Postgres
from .vectors import checked_batch, checked_depth, checked_vectors

if TYPE_CHECKING:
    from .pgvector_store import PgVector

LEAST_EF, MOST_EF = 200, 1_000


class OpenPgVector:
    """The table; a digest of the id is its key, because an id may be longer than an index takes."""

    def __init__(self, value: PgVector, database: Postgres, server: Embedded | None, name: str, dimensions: int) -> None:
        self._value, self._database, self._server, self._dimensions = value, database, server, dimensions
        self._ids: set[str] = set()
        self._is_ready, self._has_index, self._ef = True, False, 0
        try:
            self._table, self._extension = make_table(database, value.schema, name, dimensions)
            if not value.exact:
                _prepare_hnsw(database, self._extension)
        except BaseException:
            database.close()
            raise

    def add(self, ids: Sequence[str], vectors: Matrix) -> None:
        """Adds the vectors, a transaction for each batch; an id that is there already gets the new vector."""
        names, rows = checked_batch(ids, vectors, self._dimensions)
        for name in names:
            if "\0" in name:
                raise InputError(f"document {shown(name)} has a NUL in its id", fix="PostgreSQL keeps none; choose another id")
        for start in range(0, len(names), self._value.batch):
            piece = slice(start, start + self._value.batch)
            self._write(names[piece], rows[piece])

    def search(self, vectors: Matrix, k: int) -> list[Ranking]:
        """For each row the k nearest, as the server ranks them."""
        depth, queries = checked_depth(k), checked_vectors(vectors, self._dimensions)
        self._make_ready()
        if not self._value.exact:
            self._widen(depth)
        return [self._one(query, depth) for query in queries]

    def facts(self) -> Mapping[str, Any]:
        """Versions, whose server it is, and the settings of the index; `ef_search` is the last one used."""
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
        """Bytes of table and indexes; an index that is still missing is built first."""
        self._make_ready()
        return int(self._database.rows("asking for the size", SIZE, [self._table[1], self._table[0]])[0][0])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        troubles: list[WorldError] = []
        for step in (self._drop, self._database.close, self._server.close if self._server else None):
            try:
                if step:
                    step()
            except WorldError as trouble:
                troubles.append(trouble)
        if troubles and error is None:
            raise troubles[0]

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
        """Once after vectors were added: all rows are there, and so is the index."""
        if self._is_ready:
            return
        found = self._database.rows("counting the rows", COUNT, table=self._table)[0][0]
        if found != len(self._ids):
            what = f"the table has {found:,} rows where {len(self._ids):,} documents were added"
            raise WorldError(f"{what}; leave the table alone while it is in use, and run again")
        if not self._value.exact and not self._has_index:
            doing, m, ef = "building the HNSW index", self._value.m, self._value.ef_construction
            self._database.do(doing, INDEX, table=self._table, m=m, ef=ef)
            self._has_index = True
        self._is_ready = True

    def _widen(self, k: int) -> None:
        """The search list must be as long as the answer, or the answer is as short as the list."""
        ef = min(max(k, self._value.ef_search or max(2 * k, LEAST_EF)), MOST_EF)
        if ef != self._ef:
            self._database.do("setting hnsw.ef_search", "SELECT set_config('hnsw.ef_search', %s, false)", [str(ef)])
            self._ef = ef

    def _one(self, query: Matrix, k: int) -> Ranking:
        rows = self._database.rows("searching", SEARCH[self._value.index], [query], table=self._table, k=k)
        return [row[0] for row in rows], np.array([row[1] for row in rows], np.float64) + 0.0


def _prepare_hnsw(database: Postgres, extension: str) -> None:
    """Makes the planner take the index, and the index go on until the answer is long enough."""
    if tuple(int(part) for part in extension.split(".")[:2]) < (0, 8):
        raise UsageError(f"pgvector {extension} on the server", fix='update it to 0.8 or later, or use index = "exact"')
    wanted = {"enable_seqscan": "off", "hnsw.iterative_scan": "strict_order", "hnsw.max_scan_tuples": "2147483647"}
    for setting, choice in wanted.items():
        database.do("preparing HNSW", "SELECT set_config(%s, %s, false)", [setting, choice])
