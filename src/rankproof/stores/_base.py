"""The protocol of vector stores, checks of arguments, ties at the cutoff, recall, folders, and masked connection strings."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, Self

import numpy as np

from rankproof._data import validation
from rankproof._data.arrays import FloatArray, Matrix
from rankproof._data.ordering import Ranking, rank_documents
from rankproof._data.text import MASK
from rankproof._data.validation import checked_id
from rankproof._io.paths import TemporaryPath, working_folder
from rankproof._io.secrets import Secret
from rankproof.errors import ExternalError, InputError, RankproofError, UsageError, escape_invisible, for_message


class VectorStore(Protocol):
    """Unit vectors with ids; scores are inner products."""

    def add(self, ids: Sequence[str], vectors: Matrix) -> None:
        """Adds the vectors; an existing id gets the new vector."""
        ...

    def search(self, vectors: Matrix, k: int) -> list[Ranking]:
        """For each row the k nearest vectors, or all if there are fewer; ties: larger id first, by bytes."""
        ...


class OpenStore(VectorStore, Protocol):
    """An open vector store; close it after use."""

    def facts(self) -> Mapping[str, Any]:
        """Library, version, exact or approximate, and settings, as JSON."""
        ...

    def size(self) -> int:
        """The bytes of the index."""
        ...

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        return None


class Store(Protocol):
    """The settings of a store, a frozen value such as `Memory()`, `PgVector(dsn=…)` or `Chroma(folder=…)`."""

    @property
    def exact(self) -> bool:
        """Whether the search is exact: by default, whether the setting `index` is "exact" if there is one."""
        return getattr(self, "index", "exact") == "exact"

    @property
    def needs_folder(self) -> bool:
        """Whether it needs a folder for files while it is open; by default it needs none."""
        return False

    def open(self, name: str, dimensions: int, folder: str) -> OpenStore:
        """An empty collection of that name; `folder` exists if one is needed, and is "" otherwise."""
        ...


MAX_VECTOR_LENGTH = 1e9
"""Vectors should have length 1; below this limit inner products fit in float32."""


def vector_lengths(vectors: Matrix) -> FloatArray:
    """The length of each row, summed in float64."""
    lengths: FloatArray = np.sqrt(np.einsum("ij,ij->i", vectors, vectors, dtype=np.float64))
    return lengths


def checked_vectors(vectors: Matrix, dimensions: int, names: Sequence[str] = ()) -> Matrix:
    """The vectors as contiguous finite float32 rows with the dimensions of the store; an error names the row or id."""
    if np.ndim(vectors) != 2 or np.shape(vectors)[1] != dimensions:
        what = f"vectors of shape {np.shape(vectors)} but the store has {dimensions} dimensions"
        raise UsageError(what, fix="use the model that the store was opened for, one row for each text")
    with np.errstate(over="ignore"):
        rows = np.ascontiguousarray(vectors, np.float32)
    checked_lengths(rows, lambda at: for_message(names[at]) if names else f"number {at + 1}")
    return rows


def checked_lengths(vectors: Matrix, name_of: Callable[[int], str]) -> FloatArray:
    """The length of each row; an error names the first row that is not finite or too long."""
    with np.errstate(invalid="ignore", over="ignore"):
        lengths = vector_lengths(vectors)
    faults = np.flatnonzero(~(lengths <= MAX_VECTOR_LENGTH))
    if len(faults):
        what = f"vector {name_of(int(faults[0]))} is not finite, or longer than {MAX_VECTOR_LENGTH:g}"
        raise InputError(what, fix="fix the model that gave it")
    return lengths


def checked_batch(ids: Sequence[str], vectors: Matrix, dimensions: int) -> tuple[list[str], Matrix]:
    """Ids and their vectors; the last vector of a repeated id."""
    names = [checked_id(name, "document") for name in ids]
    if len(names) != len(vectors):
        raise UsageError(f"{len(names)} ids for {len(vectors)} vectors", fix="give one id for each vector")
    rows = checked_vectors(vectors, dimensions, names)
    last = {name: at for at, name in enumerate(names)}
    if len(last) == len(names):
        return names, rows
    return list(last), rows[list(last.values())]


def checked_depth(k: int) -> int:
    """The number of neighbours, checked."""
    return validation.checked_integer("k, the number of neighbours,", _python_int(k))


def checked_dimensions(dimensions: int) -> int:
    """The dimensions of a store, checked."""
    return validation.checked_integer("dimensions", _python_int(dimensions))


def _python_int(count: int) -> int:
    """A numpy integer as a Python int."""
    return int(count) if isinstance(count, np.integer) else count


_SPARE = 10


def cut_ties_by_id(fetch: Callable[[int], Ranking], depth: int) -> Ranking:
    """The best `depth` documents of a search that orders ties in its own way; ties: larger id first.

    It fetches more documents until the last one scores below the cutoff, so that every tie at the cutoff is known.
    """
    limit = depth + _SPARE
    while True:
        docs, scores = rank_documents(*fetch(limit))
        if len(docs) < limit or scores[-1] < scores[depth - 1]:
            return docs[:depth], scores[:depth]
        # Fourfold, so that many ties take few searches.
        limit *= 4


def new_folder(folder: str) -> TemporaryPath:
    """A new folder inside the given one, which is created where it is missing; what killed processes left there is removed."""
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
        return working_folder(os.path.realpath(folder))
    except OSError as error:
        reason = escape_invisible(error.strerror or str(error))
        raise ExternalError(f"no folder can be created in {for_message(folder)} ({reason}); choose another folder") from None


def folder_size(folder: Path) -> int:
    """The bytes of all files in the folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


@contextmanager
def library_errors(library: str, doing: str) -> Iterator[None]:
    """Converts the errors of an embedded library, which often have no common class, to ExternalError."""
    try:
        yield
    except RankproofError:
        raise
    except Exception as error:
        reason = escape_invisible(" ".join(str(error).split()))
        what = f"{library} failed while {doing} ({reason})"
        raise ExternalError(f"{what}; check the disk and the folder, then run again") from None


ROUNDING = 2.0**-21
"""The difference between two libraries in a float32 score near 1."""


def ann_recall(rankings: Sequence[Ranking], exact: Sequence[Ranking]) -> float:
    """The mean recall of the exact rankings; a document with the score of the last exact one counts as found.

    NaN if all exact rankings are empty.
    """
    shares = [_query_recall(mine, theirs) for mine, theirs in zip(rankings, exact, strict=True) if theirs[0]]
    return float(np.mean(shares)) if shares else float("nan")


def _query_recall(ranking: Ranking, exact: Ranking) -> float:
    documents, scores = exact
    last = float(scores[-1]) - ROUNDING * max(1.0, abs(float(scores[0])))
    wanted = set(documents)
    pairs: list[tuple[str, float]] = list(zip(ranking[0], ranking[1].tolist(), strict=True))
    met = sum(name in wanted or score >= last for name, score in pairs)
    return min(met, len(documents)) / len(documents)


_IN_ADDRESS = re.compile(r"(://[^\s/@:]*):[^\s/]*@")
_IN_PAIRS = re.compile(r"(?i)((?:ssl)?password\s*=\s*)('(?:[^'\\]|\\.)*'|[^\s&;]+)")


def connection_string(dsn: str, variable: str) -> str:
    """The connection string, or that in the environment variable; "" if neither is given."""
    check_one_address(dsn, variable)
    if not variable:
        return dsn
    held = os.environ.get(variable, "")
    if not held:
        raise UsageError(f"the environment variable {variable} (dsn_env) is not set", fix="set it to the connection string")
    return held


def check_one_address(dsn: str, variable: str) -> None:
    """Raises an error if both dsn and dsn_env are given."""
    if dsn and variable:
        raise UsageError("both dsn and dsn_env are given", fix="give one of them; dsn_env keeps the password out of files")


def mask_secrets(text: str, secrets: Iterable[str]) -> str:
    """The text on one line without the secrets in any spelling, and without other passwords."""
    text = Secret(*secrets, min_length=1).masked(text)
    text = _IN_PAIRS.sub(rf"\1{MASK}", _IN_ADDRESS.sub(rf"\1:{MASK}@", text))
    return escape_invisible(" ".join(text.split()))


def address_digest(where: str) -> tuple[str, ...]:
    """A digest of a connection string without its password, or of a folder; empty if none is given."""
    if not where:
        return ()
    return (f"at {sha256(f'rankproof place {mask_secrets(where, ())}'.encode()).hexdigest()[:16]}",)
