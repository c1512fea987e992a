"""The options of an evaluation, with their checks."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from rankproof._data.ordering import Order, ReadOptions
from rankproof._data.row_errors import OnConflict, OnDuplicate
from rankproof._data.validation import checked_id
from rankproof._formats.columns import ColumnNames
from rankproof.errors import UsageError, for_message

Compat = Literal["trec_eval-9"]
ProgressCallback = Callable[[int, int | None], None]


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
    """How rankings are read, what counts as relevant, and over which queries the means are, with which weights."""

    read_options: ReadOptions = field(default_factory=ReadOptions)
    files: FileOptions = field(default_factory=FileOptions)
    rel: int = 1
    skip_missing: bool = False
    queries: Collection[str] | None = None
    weights: Mapping[str, float] | None = None

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
