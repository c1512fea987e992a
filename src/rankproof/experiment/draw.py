"""Which of the judged queries count, and which of those can be asked."""

from __future__ import annotations

import random
from collections.abc import Sequence

from ..data.dataset import Dataset
from ..data.queries import Query


def drawn_queries(dataset: Dataset, limit: int | None, seed: int) -> list[str]:
    """The judged queries in their order; with a limit so many of them, drawn by the seed whether they have a text or not.

    Drawn so, the mean of some stands for the mean of all: a query without text counts 0 in both.
    """
    judged = list(dataset.qrels)
    if limit is None or limit >= len(judged):
        return judged
    drawn = set(random.Random(seed).sample(range(len(judged)), limit))
    return [query for index, query in enumerate(judged) if index in drawn]


def asked_queries(dataset: Dataset, drawn: Sequence[str]) -> list[Query]:
    """Those of the drawn queries that have a text."""
    return [dataset.queries[query] for query in drawn if query in dataset.queries]
