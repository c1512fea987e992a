"""From rows to values: what every format's reader ends in."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import pairwise

from ..data.order import settled
from ..data.qrels import Judgement, Qrels
from ..data.reading import Reading
from ..data.refusals import refusal
from ..data.run import Run, RunRow
from ..errors import InputError
from .faults import DamagedFileError
from .grades import GradeMap, checked_grade_map


@dataclass(frozen=True, slots=True)
class Options:
    """What is known of a file beyond its content."""

    delimiter: str | None = None
    grade_map: GradeMap | None = None
    reading: Reading = field(default_factory=Reading)

    def __post_init__(self) -> None:
        checked_grade_map(self.grade_map)


def run_of(rows: Iterable[RunRow], *, name: str, source: str, reading: Reading, queries: Iterable[str] = ()) -> Run:
    """The run of the rows as they came; one without rows is refused.

    A duplicate is told before a fault further down, but not before a damaged file.
    """
    kept: list[RunRow] = []
    try:
        for row in rows:
            if reading.order == "rank" and row.rank is None:
                raise refusal("rank-text", source=source, line=row.line)
            kept.append(row)
    except DamagedFileError:
        raise
    except InputError:
        settled(Run.from_rows(kept, source=source), reading)
        raise
    run = Run.from_rows(kept, name=name, source=source, queries=queries)
    if not run.queries:
        raise refusal("no-rows", source=source)
    return run


def qrels_of(rows: Iterator[Judgement], *, source: str) -> Qrels:
    """The qrels of the rows; qrels without rows are refused."""
    qrels = Qrels(rows, source=source)
    if not qrels:
        raise refusal("no-rows", source=source)
    return qrels


def settled_run(run: Run, reading: Reading) -> Run:
    """The run without duplicates, as the reading wants them settled."""
    if not _has_duplicates(run):
        return run
    groups, _ = settled(run, reading)
    rows = [row for group in groups.values() for row in group]
    kept = Run.from_rows(rows, name=run.name, source=run.source, queries=run.queries)
    return replace(kept, tags=run.tags)


def _has_duplicates(run: Run) -> bool:
    ends = run.offsets.tolist()
    return any(len(set(run.docs[start:end])) < end - start for start, end in pairwise(ends))
