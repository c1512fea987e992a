"""Selects the queries to run: judged ones, and for systems that answer also those with a reference answer."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rankproof._data.answers import references_from_queries
from rankproof._data.dataset import Dataset, Query
from rankproof._experiment.experiment import Experiment, gives_answers, stage_tree
from rankproof._formats.dataset_files import SAMPLE
from rankproof._formats.read import queries_of_other_splits
from rankproof._importers.base import is_dataset_folder
from rankproof._io.open import path_text
from rankproof.stages._chunked import Chunked


@dataclass(frozen=True, slots=True)
class QuerySelection:
    """`judged` are judged queries, with or without text; `unjudged` are run without being measured.

    `is_own` says that the dataset has judgements of its own; without them every query is run, in the order of the dataset, so
    that judging more queries changes no ranking.
    """

    judged: tuple[str, ...]
    unjudged: tuple[str, ...] = ()
    is_own: bool = True

    def queries(self, dataset: Dataset) -> list[Query]:
        """Those that have a text: in the order of the dataset, or of its judgements and then the others."""
        chosen = (*self.judged, *self.unjudged)
        if self.is_own:
            return queries_with_text(dataset, chosen)
        wanted = set(chosen)
        return [query for key, query in dataset.queries.items() if key in wanted]

    def notes(self) -> Iterator[str]:
        """A note where rankings and answers are measured over different queries."""
        if count := len(self.unjudged) if self.is_own else 0:
            queries = "1 query has" if count == 1 else f"{count} queries have"
            yield f"{queries} a reference answer and no judgement: only answers are measured on them, not rankings"


def select_queries(experiment: Experiment, dataset: Dataset, own: Dataset) -> QuerySelection:
    """All queries, or a sample of `limit` with both kinds in proportion; an invalid reference is refused here.

    `own` is the dataset without the judgements of further files.
    """
    if not own.is_judged:
        _unjudged_with_reference(experiment, dataset)
        chosen = _sample(tuple(dataset.queries), experiment.limit, experiment.seed)
        parts = {there: tuple(query for query in chosen if (query in dataset.qrels) is there) for there in (True, False)}
        return QuerySelection(parts[True], parts[False], is_own=False)
    unjudged = _unjudged_with_reference(experiment, dataset)
    limit, total = experiment.limit, len(dataset.qrels) + len(unjudged)
    if limit is None or limit >= total:
        return QuerySelection(tuple(dataset.qrels), unjudged)
    judged = max(1, round(limit * len(dataset.qrels) / total))
    sampled = _sample(unjudged, limit - judged, experiment.seed)
    return QuerySelection(tuple(select_judged(dataset, judged, experiment.seed)), sampled)


def select_judged(dataset: Dataset, limit: int | None, seed: int) -> list[str]:
    """The judged queries in their order, or a random sample of `limit` of them, with or without text.

    A query without text scores 0 in the mean of all queries, so the sample must have such queries too.
    """
    return list(_sample(tuple(dataset.qrels), limit, seed))


def queries_with_text(dataset: Dataset, selected: Sequence[str]) -> list[Query]:
    """Those of the selected queries that have a text."""
    return [dataset.queries[query] for query in selected if query in dataset.queries]


def _unjudged_with_reference(experiment: Experiment, dataset: Dataset) -> tuple[str, ...]:
    """Queries with a reference and no judgement in any split of the dataset."""
    answering = any(map(gives_answers, experiment.systems.values()))
    chunked = any(isinstance(part, Chunked) for stage in experiment.systems.values() for part in stage_tree(stage))
    if not (answering or chunked or experiment.collapse is not None):
        return ()
    references = references_from_queries(dataset.queries)
    unjudged = [query for query in references if query not in dataset.qrels] if answering else []
    elsewhere = _judged_in_other_splits(experiment) if unjudged else frozenset()
    return tuple(query for query in unjudged if query not in elsewhere)


def _judged_in_other_splits(experiment: Experiment) -> frozenset[str]:
    dataset = experiment.dataset
    if isinstance(dataset, Dataset) or dataset == SAMPLE or not is_dataset_folder(path_text(dataset)):
        return frozenset()
    return queries_of_other_splits(path_text(dataset), split=experiment.split)


def _sample(queries: tuple[str, ...], limit: int | None, seed: int) -> tuple[str, ...]:
    if limit is None or limit >= len(queries):
        return queries
    chosen = set(random.Random(seed).sample(range(len(queries)), limit))
    return tuple(query for index, query in enumerate(queries) if index in chosen)


def latency_sample(count: int, size: int, seed: int) -> tuple[int, ...]:
    """The positions of `size` of `count` queries, in order; a larger sample of the same seed has all of a smaller one."""
    return tuple(sorted(random.Random(seed).sample(range(count), count)[:size]))
