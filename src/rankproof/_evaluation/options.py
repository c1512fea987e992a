"""The options of an evaluation, with their checks."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, TypedDict

from rankproof._data.row_errors import OnConflict
from rankproof._data.validation import (
    REL,
    Delimiter,
    Encoding,
    GradeMapOption,
    LowerIsBetterOption,
    OnConflictOption,
    OnDuplicateOption,
    OrderOption,
    ReadOptions,
    are_plain_ids,
    check_arguments,
    checked_id,
)
from rankproof._formats.columns import ColumnNames
from rankproof._registry import Option, arguments_of
from rankproof.errors import UsageError, for_message, type_phrase

Compat = Literal["trec_eval-9"]
QrelsLike = Any
"""Judgements: Qrels, a Dataset, a path, {query: {doc: grade}}, {query: {relevant docs}}, a table, rows, or Qrels of ranx."""
RunLike = Any
"""A run: Run, a path, {query: {doc: score}}, {query: [docs, best first]}, a table, rows, or a Run of ranx."""
ProgressCallback = Callable[[int, int | None], None]


USUAL_PRIMARY = "nDCG@10"
"""The measure that decides if it was evaluated and no other is named."""


@dataclass(frozen=True, slots=True)
class FileOptions:
    """Options for reading the files; None means detection by content."""

    qrels_format: str | None = None
    run_format: str | None = None
    delimiter: str | None = None
    encoding: str = "utf-8"
    grade_map: Mapping[str, int] | None = None
    progress: ProgressCallback | None = None
    columns: ColumnNames = field(default_factory=ColumnNames)
    on_conflict: OnConflict = "error"


@dataclass(frozen=True, slots=True)
class EvaluateOptions:
    """How rankings are read, what counts as relevant, and over which queries the means are, with which weights.

    `primary` is the measure that decides, whose bounds the note on unjudged documents has.
    """

    read_options: ReadOptions = field(default_factory=ReadOptions)
    files: FileOptions = field(default_factory=FileOptions)
    rel: int = 1
    skip_missing: bool = False
    queries: Collection[str] | None = None
    weights: Mapping[str, float] | None = None
    primary: str | None = None

    def __post_init__(self) -> None:
        if self.read_options.order == "rank" and self.read_options.lower_is_better:
            raise UsageError("lower_is_better has no effect when ordering by rank", fix="leave it out, or order by score")
        if self.queries is not None:
            object.__setattr__(self, "queries", _ids(self.queries))


WeightsLike = Mapping[str, Any] | str | os.PathLike[str] | None
"""Weights of queries: {query: weight}, Queries with a field `weight`, or a path."""


class ReadArguments(TypedDict, total=False):
    """How judgements and rankings are read and measured: arguments of all functions that take them, and options of commands."""

    rel: Annotated[int, REL]
    depth: Annotated[
        int | None,
        Option("keep the first N documents of each ranking", least=1, letter="-M", metavar="N", unset="all"),
    ]
    judged_only: Annotated[bool, Option("remove unjudged documents from the rankings first", default=False, letter="-J")]
    skip_missing: Annotated[bool, Option("average over the queries in the run, not all judged queries", default=False, rare=True)]
    queries: Annotated[Collection[str] | None, Option("only these queries", file="one id per line", unset="all judged queries")]
    weights: Annotated[
        WeightsLike,
        Option(
            "the weight of each query, its share of the traffic",
            file="lines of query id and weight, or queries.jsonl",
            unset="all queries weigh the same",
            role="path",
            rare=True,
        ),
    ]
    order: OrderOption
    lower_is_better: LowerIsBetterOption
    on_duplicate: OnDuplicateOption
    compat: Annotated[Compat | None, Option("ties and interpolated precision of trec_eval 9 and pytrec_eval", rare=True)]
    qrels_format: Annotated[
        str | None,
        Option(
            "format of the judgements; evaluate also reads preferences: prefs, qrels_prefs",
            metavar="FORMAT",
            unset="detected",
            rare=True,
        ),
    ]
    run_format: Annotated[str | None, Option("format of the runs", metavar="FORMAT", unset="detected", rare=True)]
    delimiter: Delimiter
    encoding: Encoding
    grade_map: GradeMapOption
    on_conflict: OnConflictOption
    threads: Annotated[int, Option("threads that read a file", default=1, least=1, most=10**6, metavar="N", rare=True)]


class EvaluateArguments(ReadArguments, total=False):
    """The arguments of `evaluate` and of all functions that take judgements and runs; the last four are for tables in memory."""

    query: Annotated[str | None, Option("the column of query ids of a table", unset="detected")]
    doc: Annotated[str | None, Option("the column of document ids of a table", unset="detected")]
    score: Annotated[str | None, Option("the column of scores of a table", unset="detected")]
    grade: Annotated[str | None, Option("the column of grades of a table", unset="detected")]


_COLUMNS = ("query", "doc", "score", "grade")
FILE_ARGUMENTS = ("qrels_format", "run_format", "delimiter", "encoding", "grade_map", "on_conflict", *_COLUMNS)
"""The arguments about how judgements and runs are read, which results do not need."""


def make_evaluate_options(
    arguments: EvaluateArguments, *, progress: ProgressCallback | None = None, primary: str | None = None
) -> EvaluateOptions:
    """The options of an evaluation by these arguments."""
    if not arguments and progress is None and primary is None:
        return _USUAL
    check_arguments(EvaluateArguments, arguments)
    values: dict[str, Any] = {name: setting.default for name, setting in arguments_of(EvaluateArguments).items()} | arguments
    columns = ColumnNames(**{name: values.pop(name) for name in _COLUMNS})
    reading = {name: values.pop(name) for name in ("order", "lower_is_better", "on_duplicate", "depth", "judged_only", "threads")}
    files = {name: values.pop(name) for name in FILE_ARGUMENTS if name not in _COLUMNS}
    return EvaluateOptions(
        ReadOptions(**reading, float32=values.pop("compat") is not None),
        FileOptions(**files, columns=columns, progress=progress),
        weights=_checked_weights(values.pop("weights"), files["encoding"]),
        primary=primary,
        **values,
    )


_USUAL = EvaluateOptions()


def _checked_weights(weights: WeightsLike, encoding: str) -> Mapping[str, float] | None:
    """The weights in a path, Queries, or mapping."""
    if weights is None:
        return None
    if isinstance(weights, str | os.PathLike):
        from rankproof._formats.texts import read_weights
        from rankproof._io.open import open_source

        return read_weights(open_source(weights, encoding=encoding))
    from rankproof._data.dataset import Queries, checked_weight

    if isinstance(weights, Queries):
        by_query = weights.weights
        if by_query is None:
            raise UsageError("weights are queries without a field weight", fix="give each a weight, or leave weights out")
        return by_query
    if not isinstance(weights, Mapping):
        raise UsageError(f"weights cannot be {type_phrase(weights)}", fix="pass {query: weight}, Queries, or a path")
    return {str(query): checked_weight(weight, str(query), source="weights") for query, weight in weights.items()}


def _ids(queries: Iterable[Any]) -> frozenset[str]:
    if isinstance(queries, str | bytes) or not isinstance(queries, Iterable):
        raise UsageError(f"queries is {for_message(repr(queries))}", fix="pass the ids as a list or set")
    named = tuple(queries)
    ids = frozenset(named if are_plain_ids(named) else (checked_id(query, "query", source="queries") for query in named))
    if not ids:
        raise UsageError("no query is selected", fix="specify at least one query")
    return ids
