"""Passages cut into blocks of like length, so that a model pads little and a start goes on where the last one stopped."""

from __future__ import annotations

from collections.abc import Sequence

from ..data.corpus import Corpus
from .passages import passages

BLOCK = 256


def passage_blocks(corpus: Corpus, fields: Sequence[str]) -> list[list[tuple[str, str]]]:
    """Ids and passages, shortest first, in blocks that follow from the corpus alone and not from the order of its lines."""
    texts = passages(corpus, fields)
    ordered = sorted(texts.items(), key=lambda item: (len(item[1]), item[0]))
    return [ordered[start : start + BLOCK] for start in range(0, len(ordered), BLOCK)]
