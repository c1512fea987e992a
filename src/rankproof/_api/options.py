"""The arguments that many functions have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

from rankproof._data.validation import BY, DATASET, FILES, NAMED_FILES
from rankproof._evaluation.options import QrelsLike, RunLike
from rankproof._registry import Option

if TYPE_CHECKING:
    from rankproof._evaluation.evaluate import MeasuresLike

DataLike = Annotated[
    QrelsLike,
    Option(
        "judgements, with runs; or a Result, an ExperimentResult, a results folder, or a list of these", typed=FILES, role="path"
    ),
]
RunsLike = Annotated[
    RunLike | None, Option("the runs as {name: run}", unset="the data are results", typed=NAMED_FILES, role="path")
]
MeasuresOption = Annotated[
    "MeasuresLike",
    Option("one measure or several", metavar="MEASURES", letter="-m", repeated=True, unset="the usual ones", typed=FILES),
]
GroupsLike = str | Sequence[str] | Mapping[str, str] | None
"""Segments: fields of the queries, `length`, `relevant`, or query to segment."""
GroupsOption = Annotated[GroupsLike, BY]
DatasetOption = Annotated[Any, DATASET]
