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
from .systems import Systems

SAMPLE = "sample"


@dataclass(frozen=True, slots=True)
class Experiment:
    """What is to be climbed: the systems in their order, on one dataset.

    `dataset` is a Dataset, the path of one, or "sample"; `measures` are values or names, None means the default set. `limit`
    draws so many of the judged queries by `seed`.
    """

    systems: Mapping[str, Stage]
    dataset: Dataset | str | os.PathLike[str] = SAMPLE
    split: str = "test"
    name: str = "experiment"
    measures: Sequence[Measure | str] | None = None
    rel: int = 1
    limit: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "systems", Systems(self.systems))
        object.__setattr__(self, "dataset", _dataset(self.dataset))
        object.__setattr__(self, "measures", None if self.measures is None else tuple(parse_many(self.measures)))
        text("split", self.split)
        text("name", self.name)
        whole("rel", self.rel)
        whole("seed", self.seed, least=0)
        if self.limit is not None:
            whole("limit", self.limit)


def _dataset(dataset: Dataset | str | os.PathLike[str]) -> Dataset | str:
    path = os.fspath(dataset) if isinstance(dataset, os.PathLike) else dataset
    if not isinstance(path, str | Dataset) or not path:
        raise UsageError(f"dataset is a {type(path).__name__}", fix='give a Dataset, the path of a folder, or "sample"')
    return path
