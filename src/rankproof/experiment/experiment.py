"""An experiment: a dataset, and systems by name, each a stage."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..data.checks import text, whole
from ..data.dataset import Dataset
from ..errors import UsageError
from ..measures import Measure, parse_many
from ..stages.base import Stage
from .answer_rules import refuse_lost_answers
from .systems import Systems

SAMPLE = "sample"


@dataclass(frozen=True, slots=True)
class Experiment:
    """What is to be climbed: the systems in their order, on one dataset.

    `dataset` is a Dataset, the path of one, or "sample"; `measures` are values or names, None means the default set. `limit`
    draws so many of the judged queries by `seed`. `collapse` names the field of the documents, an URL for instance, that rankings
    and judgements are brought to where the documents are chunks; `pool` keeps the first so many chunks of a ranking before that.
    """

    systems: Mapping[str, Stage]
    dataset: Dataset | str | os.PathLike[str] = SAMPLE
    split: str = "test"
    name: str = "experiment"
    measures: Sequence[Measure | str] | None = None
    rel: int = 1
    limit: int | None = None
    seed: int = 0
    collapse: str | None = None
    pool: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "systems", Systems(self.systems))
        object.__setattr__(self, "dataset", _dataset(self.dataset))
        measures = None if self.measures is None else tuple(parse_many(self.measures))
        object.__setattr__(self, "measures", measures)
        refuse_lost_answers(self.systems, measures)
        text("split", self.split)
        text("name", self.name)
        whole("rel", self.rel)
        whole("seed", self.seed, least=0)
        if self.limit is not None:
            whole("limit", self.limit)
        if self.collapse is not None and not text("collapse", self.collapse):
            raise UsageError("collapse names no field", fix="name a field of the documents, such as url, or leave it out")
        if self.pool is not None:
            whole("pool", self.pool)
            if self.collapse is None:
                raise UsageError("pool counts chunks, and nothing is collapsed", fix='say collapse = "url", or leave out pool')


def _dataset(dataset: Dataset | str | os.PathLike[str]) -> Dataset | str:
    path = os.fspath(dataset) if isinstance(dataset, os.PathLike) else dataset
    if not isinstance(path, str | Dataset) or not path:
        raise UsageError(f"dataset is a {type(path).__name__}", fix='give a Dataset, the path of a folder, or "sample"')
    return path
