"""What every store asks of the vectors, ids and depths that it is given, before anything is written."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..data import checks
from ..data.arrays import FloatArray, Matrix
from ..data.ids import checked_id
from ..errors import InputError, UsageError, shown

LONGEST = 1e9
"""Far above the length 1 that is meant; below it no inner product leaves the range of float32."""


def lengths(vectors: Matrix) -> FloatArray:
    """Each row's length, summed as doubles."""
    found: FloatArray = np.sqrt(np.einsum("ij,ij->i", vectors, vectors, dtype=np.float64))
    return found


def checked_vectors(vectors: Matrix, dimensions: int, names: Sequence[str] = ()) -> Matrix:
    """The vectors as contiguous float32 rows of the store's width, all finite; a fault names the row or its id."""
    if np.ndim(vectors) != 2 or np.shape(vectors)[1] != dimensions:
        what = f"vectors of shape {np.shape(vectors)} where the store has {dimensions} dimensions"
        raise UsageError(what, fix="use the model that the store was opened for, one row for each text")
    with np.errstate(over="ignore"):
        rows = np.ascontiguousarray(vectors, np.float32)
    with np.errstate(invalid="ignore", over="ignore"):
        faults = np.flatnonzero(~(lengths(rows) <= LONGEST))
    if len(faults):
        which = shown(names[faults[0]]) if names else f"number {faults[0] + 1}"
        raise InputError(f"vector {which} is not finite, or longer than {LONGEST:g}", fix="mend the model that gave it")
    return rows


def checked_batch(ids: Sequence[str], vectors: Matrix, dimensions: int) -> tuple[list[str], Matrix]:
    """Ids and their vectors; of an id that stands twice, the last."""
    names = [checked_id(name, "document") for name in ids]
    if len(names) != len(vectors):
        raise UsageError(f"{len(names)} ids for {len(vectors)} vectors", fix="give one id for each vector")
    rows = checked_vectors(vectors, dimensions, names)
    last = {name: at for at, name in enumerate(names)}
    if len(last) == len(names):
        return names, rows
    return list(last), rows[list(last.values())]


def checked_depth(k: int) -> int:
    """How many are asked for."""
    return checks.whole("k, the number of neighbours,", _plain(k))


def checked_width(dimensions: int) -> int:
    """How wide a store is."""
    return checks.whole("dimensions", _plain(dimensions))


def _plain(count: int) -> int:
    """A whole number of numpy's as one of Python's."""
    return int(count) if isinstance(count, np.integer) else count
