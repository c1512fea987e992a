"""The options of an evaluation, each with its default, said once."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Literal

from ..data.reading import Reading
from ..errors import UsageError

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
        if self.rel < 1:
            raise UsageError(f"rel is {self.rel}", fix="a relevant document has a grade of at least 1")
        if self.reading.depth is not None and self.reading.depth < 1:
            raise UsageError(f"depth is {self.reading.depth}", fix="keep at least 1 document a query")
        if self.reading.order == "rank" and self.reading.lower_is_better:
            raise UsageError("ordered by rank, the scores do not count", fix="leave out lower_is_better, or order by score")
        if self.queries is not None and not self.queries:
            raise UsageError("the set of queries is empty", fix="name at least one query")
