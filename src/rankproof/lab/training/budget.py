"""How many steps the budget allows a tokenizer: the finer its tokens, the fewer."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from ...data.arrays import FloatArray
from .batches import Batch
from .id_table import IdTable
from .recipe import Recipe

if TYPE_CHECKING:
    from ...models.trial.shape import Shape

_PASSES = 3
"""A backward pass is two forward ones."""


def planned(
    batches: Iterator[Batch], recipe: Recipe, shape: Shape, queries: IdTable, documents: IdTable
) -> tuple[list[Batch], float]:
    """The steps that the budget allows, at least one unless none is asked for, and the operations that they take."""
    of_query, of_document = _each(shape, queries), _each(shape, documents)

    def cost(batch: Batch) -> float:
        found = of_query[batch.pairs].sum() + of_document[batch.positives].sum() + of_document[batch.negatives].sum()
        return _PASSES * float(found)

    return _afforded(islice(batches, recipe.steps), cost, math.inf if recipe.operations is None else recipe.operations)


def _afforded(batches: Iterator[Batch], cost: Callable[[Batch], float], most: float) -> tuple[list[Batch], float]:
    """As many steps as stay within the budget."""
    steps: list[Batch] = []
    spent = 0.0
    for batch in batches:
        more = cost(batch)
        if steps and spent + more > most:
            break
        steps.append(batch)
        spent += more
    return steps, spent


def _each(shape: Shape, table: IdTable) -> FloatArray:
    """The operations of one forward pass over each row; rows of one length cost the same."""
    from ...models.trial.shape import operations

    lengths, back = np.unique(table.lengths, return_inverse=True)
    return np.array([operations(shape, lengths[at : at + 1]) for at in range(len(lengths))])[back]
