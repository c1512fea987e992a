"""The options of an evaluation, each with its default and its check, said once."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from ..data.ids import checked_id
from ..data.reading import OnDuplicate, Order, Reading
from ..errors import UsageError, shown

Compat = Literal["trec_eval-9"]
Progress = Callable[[int, int | None], None]


@dataclass(frozen=True, slots=True)
class Files:
    """What is known of the files beyond their content; None leaves it to the content."""

    qrels_format: str | None = None
    run_format: str | None = None
    delimiter: str | None = None
    encoding: str = "utf-8"
    grade_map: Mapping[str, int] | None = None
    progress: Progress | None = None


@dataclass(frozen=True, slots=True)
class Options:
    """How rankings are read, what counts as relevant, and which queries the means run over."""

    reading: Reading = field(default_factory=Reading)
    files: Files = field(default_factory=Files)
    rel: int = 1
    skip_missing: bool = False
    queries: Collection[str] | None = None

    def __post_init__(self) -> None:
        _check_count("rel", self.rel, "a relevant document has a grade of at least 1")
        _check_reading(self.reading)
        if self.queries is not None:
            object.__setattr__(self, "queries", _ids(self.queries))


def reading_of(
    *,
    order: Order = "score",
    lower_is_better: bool = False,
    compat: Compat | None = None,
    on_duplicate: OnDuplicate = "error",
    depth: int | None = None,
    judged_only: bool = False,
    threads: int = 1,
) -> Reading:
    """The reading that a caller's words stand for."""
    if compat is not None:
        _check_choice("compat", compat, Compat)
    return Reading(
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
        raise UsageError(f"queries is {shown(repr(queries))}", fix="pass the ids as a list or set")
    ids = frozenset(checked_id(query, "query", source="queries") for query in queries)
    if not ids:
        raise UsageError("the set of queries is empty", fix="name at least one query")
    return ids


def _check_reading(reading: Reading) -> None:
    _check_choice("order", reading.order, Order)
    _check_choice("on_duplicate", reading.on_duplicate, OnDuplicate)
    _check_count("threads", reading.threads, "use at least 1 thread")
    if reading.depth is not None:
        _check_count("depth", reading.depth, "keep at least 1 document a query")
    if reading.order == "rank" and reading.lower_is_better:
        raise UsageError("ordered by rank, the scores do not count", fix="leave out lower_is_better, or order by score")


def _check_choice(name: str, value: object, choices: Any) -> None:
    if value not in get_args(choices):
        raise UsageError(f"{name} is {shown(repr(value))}", fix=f"choose from: {', '.join(get_args(choices))}")


def _check_count(name: str, value: object, fix: str) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise UsageError(f"{name} is {shown(repr(value))}", fix=fix)
