"""What a reader should know of a corpus's vectors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..data.arrays import Matrix
from ..models.collapse import collapse_note, collapse_of
from .passage_vectors import PassageVectors


def vector_facts(vectors: PassageVectors) -> Mapping[str, Any]:
    """Counts, and the mean cosine of two passages, which near 1 says that the model tells nothing apart."""
    return {
        "passages": len(vectors.ids),
        "empty_passages": vectors.empty,
        "truncated_passages": vectors.truncated,
        "collapse": collapse_of(_filled(vectors)),
    }


def vector_notes(vectors: PassageVectors) -> list[str]:
    """A sentence for each thing that is not as it should be."""
    collapsed = collapse_note(_filled(vectors))
    notes = [collapsed] if collapsed else []
    if vectors.truncated:
        notes.append(truncation_note(vectors.truncated, len(vectors.ids)))
    if vectors.empty:
        notes.append(f"{vectors.empty} passages are empty; their score is 0 for every query")
    return notes


def truncation_note(cut: int, count: int) -> str:
    """How many passages a model did not read to the end."""
    return f"{cut} of {count} passages ({cut / count:.0%}) are longer than the model reads and were cut"


def _filled(vectors: PassageVectors) -> Matrix:
    """The rows of the passages that are not empty."""
    return vectors.matrix[np.any(vectors.matrix != 0, axis=1)]
