"""Which pairs every step sees: a sequence that the lessons, the recipe and the seed decide, never the tokenizer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ...data.arrays import IntArray
from ..lessons.lessons import Lessons
from .recipe import Recipe


@dataclass(frozen=True, slots=True)
class Batch:
    """Places of pairs, and for each the rows of its positive and of one negative."""

    pairs: IntArray
    positives: IntArray
    negatives: IntArray


def batches(lessons: Lessons, recipe: Recipe, seed: int) -> Iterator[Batch]:
    """Without end: judged pairs and crops by epochs of their own, each with a hard negative, any document where it has none."""
    draw = np.random.default_rng([seed, 7])
    real = _real_count(lessons, recipe)
    judged = _epochs(np.arange(lessons.real), real, draw)
    crops = _epochs(np.arange(lessons.real, len(lessons.queries)), recipe.batch - real, draw)
    known = (lessons.negatives >= 0).sum(axis=1)
    while True:
        pairs = np.concatenate([next(judged), next(crops)])
        at = (draw.random(len(pairs)) * known[pairs]).astype(np.int64)
        anything = draw.integers(len(lessons.documents), size=len(pairs))
        hard = lessons.negatives[pairs, at] if lessons.negatives.shape[1] else anything
        yield Batch(pairs, lessons.positives[pairs], np.where(known[pairs] > 0, hard, anything))


def _real_count(lessons: Lessons, recipe: Recipe) -> int:
    """How many pairs of a batch are judged ones."""
    if lessons.real == len(lessons.queries):
        return recipe.batch
    return round(recipe.batch * recipe.real_share) if lessons.real else 0


def _epochs(places: IntArray, count: int, draw: np.random.Generator) -> Iterator[IntArray]:
    """So many places at a time, each once before any comes again."""
    waiting = np.zeros(0, dtype=np.int64)
    while True:
        while len(waiting) < count:
            waiting = np.concatenate([waiting, draw.permutation(places)])
        yield waiting[:count]
        waiting = waiting[count:]
