"""Which queries are asked: the judged ones, and where systems answer also those whose answer is known."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..data.dataset import Dataset
from ..data.queries import Query
from ..data.references import references_of
from ..formats import is_remote
from ..formats.folder import judged_elsewhere
from ..formats.opening import path_text
from ..stages.chunked import Chunked
from .answer_rules import answers
from .experiment import SAMPLE, Experiment
from .extent import parts_of


@dataclass(frozen=True, slots=True)
class Draw:
    """`judged` are judged queries, with a text or not; `alone` were never judged and are asked for their answers alone."""

    judged: tuple[str, ...]
    alone: tuple[str, ...] = ()

    def queries(self, dataset: Dataset) -> list[Query]:
        """Those that can be asked, the judged ones first."""
        return asked_queries(dataset, (*self.judged, *self.alone))

    def notes(self) -> Iterator[str]:
        """What a reader must know where measures of rankings and of answers are over different queries."""
        if count := len(self.alone):
            whose = "1 query has" if count == 1 else f"{count} queries have"
            yield f"{whose} a known answer and no judgement: asked for answers alone, and in no measure of rankings"


def draw_of(experiment: Experiment, dataset: Dataset) -> Draw:
    """All of them, or with a limit so many, each kind in its share; a reference that cannot be read is refused here."""
    alone = _alone(experiment, dataset)
    limit, every = experiment.limit, len(dataset.qrels) + len(alone)
    if limit is None or limit >= every:
        return Draw(tuple(dataset.qrels), alone)
    judged = max(1, round(limit * len(dataset.qrels) / every))
    return Draw(tuple(drawn_queries(dataset, judged, experiment.seed)), _drawn(alone, limit - judged, experiment.seed))


def drawn_queries(dataset: Dataset, limit: int | None, seed: int) -> list[str]:
    """The judged queries in their order; with a limit so many of them, drawn by the seed whether they have a text or not.

    Drawn so, the mean of some stands for the mean of all: a query without text counts 0 in both.
    """
    return list(_drawn(tuple(dataset.qrels), limit, seed))


def asked_queries(dataset: Dataset, drawn: Sequence[str]) -> list[Query]:
    """Those of the drawn queries that have a text."""
    return [dataset.queries[query] for query in drawn if query in dataset.queries]


def _alone(experiment: Experiment, dataset: Dataset) -> tuple[str, ...]:
    """Queries with a reference and no judgement; none that another split of the dataset judges."""
    answering = any(map(answers, experiment.systems.values()))
    chunked = any(isinstance(part, Chunked) for stage in experiment.systems.values() for part in parts_of(stage))
    if not (answering or chunked or experiment.collapse is not None):
        return ()
    references = references_of(dataset.queries)
    found = [query for query in references if query not in dataset.qrels] if answering else []
    elsewhere = _elsewhere(experiment) if found else frozenset()
    return tuple(query for query in found if query not in elsewhere)


def _elsewhere(experiment: Experiment) -> frozenset[str]:
    given = experiment.dataset
    if isinstance(given, Dataset) or given == SAMPLE or is_remote(path_text(given)):
        return frozenset()
    return judged_elsewhere(path_text(given), split=experiment.split)


def _drawn(queries: tuple[str, ...], limit: int | None, seed: int) -> tuple[str, ...]:
    if limit is None or limit >= len(queries):
        return queries
    drawn = set(random.Random(seed).sample(range(len(queries)), limit))
    return tuple(query for index, query in enumerate(queries) if index in drawn)
