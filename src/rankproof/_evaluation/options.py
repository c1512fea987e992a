"""The options of an evaluation, with their checks."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypedDict, Unpack, get_args

from rankproof._data.ordering import Order, ReadOptions
from rankproof._data.row_errors import OnConflict, OnDuplicate
from rankproof._data.validation import checked_id
from rankproof._formats.columns import ColumnNames
from rankproof.errors import UsageError, for_message, type_phrase

Compat = Literal["trec_eval-9"]
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
        _check_count("rel", self.rel, "a relevant document has a grade of at least 1")
        _check_read_options(self.read_options)
        _check_choice("on_conflict", self.files.on_conflict, OnConflict)
        if self.queries is not None:
            object.__setattr__(self, "queries", _ids(self.queries))


def make_read_options(
    *,
    order: Order = "score",
    lower_is_better: bool = False,
    compat: Compat | None = None,
    on_duplicate: OnDuplicate = "error",
    depth: int | None = None,
    judged_only: bool = False,
    threads: int = 1,
) -> ReadOptions:
    """The ReadOptions for these arguments."""
    if compat is not None:
        _check_choice("compat", compat, Compat)
    return ReadOptions(
        order=order,
        lower_is_better=lower_is_better,
        float32=compat == "trec_eval-9",
        on_duplicate=on_duplicate,
        depth=depth,
        judged_only=judged_only,
        threads=threads,
    )


WeightsLike = Mapping[str, Any] | str | os.PathLike[str] | None
"""Weights of queries: {query: weight}, Queries with a field `weight`, or a path."""


class ReadArguments(TypedDict, total=False):
    """The arguments of `evaluate` about how rankings are read and measured."""

    rel: int
    depth: int | None
    judged_only: bool
    skip_missing: bool
    on_duplicate: OnDuplicate
    order: Order
    lower_is_better: bool
    compat: Compat | None
    queries: Collection[str] | None
    grade_map: Mapping[str, int] | None
    on_conflict: OnConflict
    qrels_format: str | None
    run_format: str | None
    delimiter: str | None
    encoding: str
    threads: int
    weights: WeightsLike


class EvaluateArguments(ReadArguments, total=False):
    """The arguments of `evaluate` and of all functions that take judgements and runs; the last four are names of columns."""

    query: str | None
    doc: str | None
    score: str | None
    grade: str | None


_READING = ("order", "lower_is_better", "compat", "on_duplicate", "depth", "judged_only", "threads")
_FILES = ("qrels_format", "run_format", "delimiter", "encoding", "grade_map", "on_conflict")
_COLUMNS = ("query", "doc", "score", "grade")
FILE_ARGUMENTS = (*_FILES, *_COLUMNS)
"""The arguments about how judgements and runs are read, which results do not need."""


def make_evaluate_options(**arguments: Unpack[EvaluateArguments]) -> EvaluateOptions:
    """The options for these arguments."""
    given: dict[str, Any] = dict(arguments)
    known = (*_READING, *FILE_ARGUMENTS, "rel", "skip_missing", "queries", "weights")
    if unknown := [name for name in given if name not in known]:
        raise TypeError(f"unexpected keyword argument {unknown[0]!r}")

    def part(names: tuple[str, ...]) -> dict[str, Any]:
        return {name: given.pop(name) for name in names if name in given}

    read_options = make_read_options(**part(_READING))
    columns = ColumnNames(**part(_COLUMNS))
    weights = _checked_weights(given.pop("weights", None))
    return EvaluateOptions(read_options, FileOptions(**part(_FILES), columns=columns), weights=weights, **given)


def _checked_weights(weights: WeightsLike) -> Mapping[str, float] | None:
    """The weights in a path, Queries, or mapping."""
    if weights is None:
        return None
    if isinstance(weights, str | os.PathLike):
        from rankproof._formats.texts import read_weights
        from rankproof._io.open import open_source

        return read_weights(open_source(weights))
    from rankproof._data.dataset import Queries, checked_weight

    if isinstance(weights, Queries):
        found = weights.weights
        if found is None:
            raise UsageError("weights are queries without a field weight", fix="give each a weight, or leave weights out")
        return found
    if not isinstance(weights, Mapping):
        raise UsageError(f"weights cannot be {type_phrase(weights)}", fix="pass {query: weight}, Queries, or a path")
    return {str(query): checked_weight(weight, str(query), source="weights") for query, weight in weights.items()}


def _ids(queries: Iterable[object]) -> frozenset[str]:
    if isinstance(queries, str | bytes) or not isinstance(queries, Iterable):
        raise UsageError(f"queries is {for_message(repr(queries))}", fix="pass the ids as a list or set")
    ids = frozenset(checked_id(query, "query", source="queries") for query in queries)
    if not ids:
        raise UsageError("no query is selected", fix="specify at least one query")
    return ids


def _check_read_options(read_options: ReadOptions) -> None:
    _check_choice("order", read_options.order, Order)
    _check_choice("on_duplicate", read_options.on_duplicate, OnDuplicate)
    _check_count("threads", read_options.threads, "use at least 1 thread")
    if read_options.depth is not None:
        _check_count("depth", read_options.depth, "keep at least 1 document for each query")
    if read_options.order == "rank" and read_options.lower_is_better:
        raise UsageError("lower_is_better has no effect when ordering by rank", fix="leave it out, or order by score")


def _check_choice(name: str, value: object, choices: Any) -> None:
    if value not in get_args(choices):
        raise UsageError(f"{name} is {for_message(repr(value))}", fix=f"choose from: {', '.join(get_args(choices))}")


def _check_count(name: str, value: object, fix: str) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise UsageError(f"{name} is {for_message(repr(value))}", fix=fix)
