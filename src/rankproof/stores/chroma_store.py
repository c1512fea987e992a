"""Chroma in a folder, with vectors that we give it: its own embedding function and its telemetry are off."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Annotated, Any, Self

import numpy as np

from .._registry import Option
from ..data.arrays import Matrix
from ..data.checks import check_options
from ..data.identity import NOT_PART
from ..data.ranking import Ranking, ranked
from ..data.versions import version_of
from ..errors import MissingExtraError, RankproofError, WorldError, shown, visible
from .place import place_of
from .vectors import checked_batch, checked_depth, checked_vectors, checked_width

COLLECTION = "rankproof"


@dataclass(frozen=True, slots=True)
class Chroma:
    """HNSW by inner product; `ef` is how long the search list is, and it is never shorter than the answer."""

    folder: Annotated[str, Option("the folder of the database (one of the run's own)", role="path")] = field(
        default="", metadata=NOT_PART
    )
    ef: Annotated[int, Option("length of the search list", least=1, most=100_000)] = 800
    m: Annotated[int, Option("links per vector in the HNSW graph", least=2, most=1_000)] = 16
    ef_construction: Annotated[int, Option("length of the list while the graph is built", least=2, most=100_000)] = 100

    def __post_init__(self) -> None:
        check_options(self)

    @property
    def exact(self) -> bool:
        """Never: HNSW looks at some of the vectors."""
        return False

    @property
    def needs_folder(self) -> bool:
        """Unless one is named."""
        return not self.folder

    def revision(self) -> str:
        """The library, and a digest of the folder that is named: another disk has other times."""
        return ", ".join((version_of("chromadb"), *place_of(self.folder)))

    def open(self, name: str, dimensions: int, folder: str) -> OpenChroma:
        """An empty database in a folder of its own, new each time: Chroma unpickles what it finds, so it must find nothing."""
        return OpenChroma(self, checked_width(dimensions), self.folder or folder)


class OpenChroma:
    """The database, deleted when it is closed."""

    def __init__(self, value: Chroma, dimensions: int, folder: str) -> None:
        self._value, self._dimensions, self._ids = value, dimensions, set[str]()
        self._path = _new_folder(folder)
        try:
            with _told("opening"):
                self._client, self._version = _client(self._path)
                self._collection = self._client.create_collection(
                    COLLECTION, embedding_function=None, configuration={"hnsw": _settings(value)}
                )
        except BaseException:
            shutil.rmtree(self._path, ignore_errors=True)
            raise

    def add(self, ids: Sequence[str], vectors: Matrix) -> None:
        """Adds the vectors; an id that is there already gets the new vector."""
        names, rows = checked_batch(ids, vectors, self._dimensions)
        with _told("adding vectors"):
            most = self._client.get_max_batch_size()
            for start in range(0, len(names), most):
                self._collection.upsert(ids=names[start : start + most], embeddings=rows[start : start + most])
            self._ids.update(names)
            found = self._collection.count()
        if found != len(self._ids):
            raise WorldError(f"Chroma has {found:,} rows where {len(self._ids):,} documents were added; run again")

    def search(self, vectors: Matrix, k: int) -> list[Ranking]:
        """For each row the k nearest that HNSW finds; equal scores: larger id first."""
        depth, queries = min(checked_depth(k), len(self._ids)), checked_vectors(vectors, self._dimensions)
        if depth == 0 or len(queries) == 0:
            return [([], np.zeros(0)) for _ in queries]
        with _told("searching"):
            found = self._collection.query(query_embeddings=queries, n_results=depth, include=["distances"])
        each = zip(found["ids"], found["distances"], strict=True)
        return [ranked(names, 1.0 - np.array(distances, np.float64)) for names, distances in each]

    def facts(self) -> Mapping[str, Any]:
        """Version and settings of the index."""
        settings = {name: getattr(self._value, name) for name in ("ef", "m", "ef_construction")}
        return {"store": "chroma", "library": f"chromadb {self._version}", "exact": False, "index": "hnsw", **settings}

    def size(self) -> int:
        """Bytes of the files in its folder."""
        return sum(path.stat().st_size for path in self._path.rglob("*") if path.is_file())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        try:
            with _told("closing"):
                self._client.close()
        except WorldError:
            if error is None:
                raise
        finally:
            shutil.rmtree(self._path, ignore_errors=True)


def _new_folder(folder: str) -> Path:
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
        return Path(tempfile.mkdtemp(prefix="rankproof-chroma-", dir=folder)).resolve()
    except OSError as error:
        reason = visible(error.strerror or str(error))
        raise WorldError(f"no folder for Chroma can be made in {shown(folder)} ({reason}); choose another folder") from None


def _settings(value: Chroma) -> dict[str, Any]:
    return {"space": "ip", "ef_search": value.ef, "ef_construction": value.ef_construction, "max_neighbors": value.m}


def _client(path: Path) -> tuple[Any, str]:
    try:
        import chromadb
        from chromadb.config import Settings
    except ImportError:
        raise MissingExtraError("chromadb", "chroma") from None
    return chromadb.PersistentClient(path=str(path), settings=Settings(anonymized_telemetry=False)), chromadb.__version__


@contextmanager
def _told(doing: str) -> Iterator[None]:
    """Turns what Chroma raises, which has no common class, into a WorldError."""
    try:
        yield
    except RankproofError:
        raise
    except Exception as error:
        reason = visible(" ".join(str(error).split()))
        raise WorldError(f"Chroma failed while {doing} ({reason}); check the disk and the folder, then run again") from None
