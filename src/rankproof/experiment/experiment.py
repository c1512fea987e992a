"""An experiment: a dataset, and systems by name, each a stage."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

from .._registry import Option
from ..data.checks import check_options
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
    dataset: Annotated[
        Dataset | str | os.PathLike[str],
        Option('the folder of the dataset, irds:NAME, or "sample"; relative to this file', typed=str),
    ] = SAMPLE
    split: Annotated[str, Option('which file of judgements, if the dataset has several ("test")')] = "test"
    name: Annotated[str, Option("the name of the experiment (the file's name)")] = "experiment"
    measures: Annotated[
        Sequence[Measure | str] | None, Option("the measures, the main one first (the usual set)", typed=tuple[str, ...])
    ] = None
    rel: Annotated[int, Option("the lowest grade that counts as relevant (1)", least=1)] = 1
    limit: Annotated[int | None, Option("run only so many of the judged queries, drawn by the seed (all)", least=1)] = None
    seed: Annotated[int, Option("draws the queries of `limit` (0)", least=0)] = 0
    collapse: Annotated[str | None, Option("if documents are chunks: the field of their document, such as url (none)")] = None
    pool: Annotated[int | None, Option("collapse the first so many chunks of a ranking only (all)", least=1)] = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "systems", Systems(self.systems))
        object.__setattr__(self, "dataset", _dataset(self.dataset))
        measures = None if self.measures is None else tuple(parse_many(self.measures))
        object.__setattr__(self, "measures", measures)
        refuse_lost_answers(self.systems, measures)
        check_options(self)
        if self.collapse == "":
            raise UsageError("collapse names no field", fix="name a field of the documents, such as url, or leave it out")
        if self.pool is not None and self.collapse is None:
            raise UsageError("pool counts chunks, and nothing is collapsed", fix='say collapse = "url", or leave out pool')


def _dataset(dataset: Dataset | str | os.PathLike[str]) -> Dataset | str:
    path = os.fspath(dataset) if isinstance(dataset, os.PathLike) else dataset
    if not isinstance(path, str | Dataset) or not path:
        raise UsageError(f"dataset is a {type(path).__name__}", fix='give a Dataset, the path of a folder, or "sample"')
    return path
