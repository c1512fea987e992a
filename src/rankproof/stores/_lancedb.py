"""LanceDB in a folder of the run: exact search or an approximate index; it sends nothing over the network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Annotated, Any, Literal

import numpy as np

from rankproof._data.arrays import Matrix
from rankproof._data.identity import library_version
from rankproof._data.ordering import Ranking
from rankproof._data.validation import check_options
from rankproof._extras import extra
from rankproof._registry import Option
from rankproof.errors import ExternalError
from rankproof.stores._base import (
    OpenStore,
    Store,
    checked_batch,
    checked_depth,
    checked_dimensions,
    checked_vectors,
    cut_ties_by_id,
    folder_size,
    library_errors,
    new_folder,
)

INDEX_CLASSES = {"ivf-flat": "IvfFlat", "ivf-pq": "IvfPq", "hnsw-sq": "HnswSq"}
"""The approximate indexes, with their classes in lancedb.index."""
REFINE = {"ivf-pq": 10, "hnsw-sq": 2}
"""The indexes with quantised vectors, and their default of `refine`."""


@dataclass(frozen=True, slots=True)
class LanceDB(Store):
    """LanceDB by inner product: exact search, IVF with whole or product-quantised vectors, or HNSW with scalar quantisation."""

    index: Annotated[
        Literal["exact", "ivf-flat", "ivf-pq", "hnsw-sq"],
        Option("exact search, or an approximate index: ivf-flat, ivf-pq or hnsw-sq"),
    ] = "exact"
    partitions: Annotated[
        int | None, Option("IVF partitions of the index (default: 1 for hnsw-sq, else chosen by LanceDB)", least=1, most=100_000)
    ] = None
    probes: Annotated[int, Option("partitions that a search reads", least=1, most=100_000)] = 20
    ef: Annotated[int, Option("least candidate list size in a search of hnsw-sq", least=1, most=100_000)] = 400
    refine: Annotated[
        int | None,
        Option(
            "how many quantised candidates for each result are scored again exactly (default: 10 with ivf-pq, 2 with hnsw-sq)",
            least=1,
            most=1_000,
        ),
    ] = None

    def __post_init__(self) -> None:
        check_options(self)

    @property
    def needs_folder(self) -> bool:
        """Whether it needs a folder for files while it is open: always."""
        return True

    def revision(self) -> str:
        """The version of the library."""
        return library_version("lancedb")

    def open(self, name: str, dimensions: int, folder: str) -> OpenLanceDB:
        """An empty table in a new folder."""
        return OpenLanceDB(self, checked_dimensions(dimensions), folder)


class OpenLanceDB(OpenStore):
    """An open table, deleted when it is closed."""

    def __init__(self, value: LanceDB, dimensions: int, folder: str) -> None:
        self._value, self._dimensions = value, dimensions
        self._ids: set[str] = set()
        self._has_index = False
        self._refine = (value.refine or REFINE[value.index]) if value.index in REFINE else 1
        self._folder = new_folder(folder)
        try:
            with library_errors("LanceDB", "opening"):
                self._table = lance_table(Path(self._folder.path), self._rows([], np.zeros((0, dimensions), np.float32)))
        except BaseException:
            self._folder.remove()
            raise

    def add(self, ids: Sequence[str], vectors: Matrix) -> None:
        """Adds the vectors; an existing id gets the new vector."""
        names, rows = checked_batch(ids, vectors, self._dimensions)
        with library_errors("LanceDB", "adding vectors"):
            if self._ids.isdisjoint(names):
                self._table.add(self._rows(names, rows))
            else:
                merge = self._table.merge_insert("id").when_matched_update_all().when_not_matched_insert_all()
                merge.execute(self._rows(names, rows))
            self._ids.update(names)
            count = self._table.count_rows()
        if count != len(self._ids):
            raise ExternalError(f"LanceDB has {count:,} rows, but {len(self._ids):,} documents were added; run again")

    def search(self, vectors: Matrix, k: int) -> list[Ranking]:
        """For each row the k nearest vectors that the index finds; ties: larger id first."""
        depth, queries = checked_depth(k), checked_vectors(vectors, self._dimensions)
        if not self._ids:
            return [([], np.zeros(0)) for _ in queries]
        self._make_index()
        with library_errors("LanceDB", "searching"):
            return [cut_ties_by_id(partial(self._nearest, query), depth) for query in queries]

    def facts(self) -> Mapping[str, Any]:
        """Version, index and settings of the search."""
        value = self._value
        settings = {} if value.exact else {"probes": value.probes}
        settings |= {"ef": value.ef} if value.index == "hnsw-sq" else {}
        settings |= {"refine": self._refine} if value.index in REFINE else {}
        return {"store": "lancedb", "library": value.revision(), "exact": value.exact, "index": value.index, **settings}

    def size(self) -> int:
        """The bytes of the files in its folder; a missing index is built first."""
        self._make_index()
        return folder_size(Path(self._folder.path))

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        del self._table
        self._folder.remove()

    def _rows(self, names: list[str], rows: Matrix) -> Any:
        with extra("lancedb"):
            import pyarrow

        vectors = pyarrow.FixedSizeListArray.from_arrays(pyarrow.array(rows.reshape(-1)), self._dimensions)
        return pyarrow.table({"id": pyarrow.array(names, pyarrow.string()), "vector": vectors})

    def _make_index(self) -> None:
        """Builds the approximate index over the vectors that are there; LanceDB scans those that are added later."""
        if self._value.exact or self._has_index or not self._ids:
            return
        with extra("lancedb"):
            from lancedb import index
        partitions = self._value.partitions or (1 if self._value.index == "hnsw-sq" else None)
        with library_errors("LanceDB", "building the index"):
            config = getattr(index, INDEX_CLASSES[self._value.index])(distance_type="dot", num_partitions=partitions)
            self._table.create_index("vector", config=config)
        self._has_index = True

    def _nearest(self, query: Matrix, limit: int) -> Ranking:
        most = min(limit, len(self._ids))
        search = self._table.search(query, vector_column_name="vector").distance_type("dot")
        if not self._value.exact:
            search = search.nprobes(self._value.probes)
        if self._value.index == "hnsw-sq":
            search = search.ef(max(self._value.ef, most * self._refine))
        if self._value.index in REFINE:
            search = search.refine_factor(self._refine)
        hits = search.select(["id", "_distance"]).limit(most).to_arrow()
        # LanceDB returns 1 - x for the inner product x.
        return hits["id"].to_pylist(), 1.0 - hits["_distance"].to_numpy().astype(np.float64)


def lance_table(path: Path, rows: Any) -> Any:
    """A new LanceDB table with these rows, in a folder."""
    return import_lancedb().connect(str(path)).create_table("rankproof", rows)


def import_lancedb() -> Any:
    """The library."""
    with extra("lancedb"):
        import lancedb
    return lancedb
