"""An experiment: a dataset, and systems by name, each a stage."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from ..data.dataset import Dataset
from ..errors import UsageError, shown
from ..measures import Measure
from ..stages.base import Stage

SAMPLE = "sample"


@dataclass(frozen=True, slots=True)
class Experiment:
    """What is to be climbed: the systems in their order, on one dataset.

    `dataset` is a Dataset, the path of one, or "sample"; `measures` None means the default set. `limit` draws so many of the
    judged queries by `seed`.
    """

    systems: Mapping[str, Stage]
    dataset: Dataset | str = SAMPLE
    split: str = "test"
    name: str = "experiment"
    measures: Sequence[Measure] | None = None
    rel: int = 1
    limit: int | None = None
    seed: int = 0
    source: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        if not self.systems:
            raise UsageError("the experiment has no system", fix="name at least one")
        for count, name in ((self.limit, "limit"), (self.rel, "rel")):
            if count is not None and (not isinstance(count, int) or isinstance(count, bool) or count < 1):
                raise UsageError(f"{name} is {shown(repr(count))}", fix="choose a whole number of at least 1")
        object.__setattr__(self, "systems", MappingProxyType(dict(self.systems)))
        object.__setattr__(self, "measures", None if self.measures is None else tuple(self.measures))
