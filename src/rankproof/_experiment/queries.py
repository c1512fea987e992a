"""Which queries are asked: the judged ones, and where systems answer also those whose answer is known."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rankproof._data.answers import references_from_queries
from rankproof._data.dataset import Dataset, Query
from rankproof._experiment.experiment import SAMPLE, Experiment, gives_answers, stage_tree
from rankproof._formats.read import is_irds_name, queries_of_other_splits
from rankproof._io.open import path_text
from rankproof.stages._chunked import Chunked


@dataclass(frozen=True, slots=True)
class QuerySelection:
    """`judged` are judged queries, with a text or not; `alone` were never judged and are asked for their answers alone."""

    judged: tuple[str, ...]
    unjudged: tuple[str, ...] = ()

    def queries(self, dataset: Dataset) -> list[Query]:
        """Those that can be asked, the judged ones first."""
        return queries_with_text(dataset, (*self.judged, *self.unjudged))

    def notes(self) -> Iterator[str]:
        """What a reader must know where measures of rankings and of answers are over different queries."""
        if count := len(self.unjudged):
            whose = "1 query has" if count == 1 else f"{count} queries have"
            yield f"{whose} a known answer and no judgement: asked for answers alone, and in no measure of rankings"


def select_queries(experiment: Experiment, dataset: Dataset) -> QuerySelection:
    """All of them, or with a limit so many, each kind in its share; a reference that cannot be read is refused here."""
    alone = _unjudged_with_reference(experiment, dataset)
    limit, every = experiment.limit, len(dataset.qrels) + len(alone)
    if limit is None or limit >= every:
        return QuerySelection(tuple(dataset.qrels), alone)
    judged = max(1, round(limit * len(dataset.qrels) / every))
    return QuerySelection(tuple(select_judged(dataset, judged, experiment.seed)), _sample(alone, limit - judged, experiment.seed))


def select_judged(dataset: Dataset, limit: int | None, seed: int) -> list[str]:
    """The judged queries in their order; with a limit so many of them, drawn by the seed whether they have a text or not.

    Drawn so, the mean of some stands for the mean of all: a query without text counts 0 in both.
    """
    return list(_sample(tuple(dataset.qrels), limit, seed))


def queries_with_text(dataset: Dataset, selected: Sequence[str]) -> list[Query]:
    """Those of the drawn queries that have a text."""
    return [dataset.queries[query] for query in selected if query in dataset.queries]


def _unjudged_with_reference(experiment: Experiment, dataset: Dataset) -> tuple[str, ...]:
    """Queries with a reference and no judgement; none that another split of the dataset judges."""
    answering = any(map(gives_answers, experiment.systems.values()))
    chunked = any(isinstance(part, Chunked) for stage in experiment.systems.values() for part in stage_tree(stage))
    if not (answering or chunked or experiment.collapse is not None):
        return ()
    references = references_from_queries(dataset.queries)
    found = [query for query in references if query not in dataset.qrels] if answering else []
    elsewhere = _judged_in_other_splits(experiment) if found else frozenset()
    return tuple(query for query in found if query not in elsewhere)


def _judged_in_other_splits(experiment: Experiment) -> frozenset[str]:
    given = experiment.dataset
    if isinstance(given, Dataset) or given == SAMPLE or is_irds_name(path_text(given)):
        return frozenset()
    return queries_of_other_splits(path_text(given), split=experiment.split)


def _sample(queries: tuple[str, ...], limit: int | None, seed: int) -> tuple[str, ...]:
    if limit is None or limit >= len(queries):
        return queries
    drawn = set(random.Random(seed).sample(range(len(queries)), limit))
    return tuple(query for index, query in enumerate(queries) if index in drawn)
