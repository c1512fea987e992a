"""One file or dataset into another format, with nothing lost that the target can hold."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Literal

from ..data.direction import Direction, direction
from ..data.qrels import Qrels
from ..data.reading import Reading
from ..data.run import Run
from ..errors import UsageError, shown
from .faults import fault
from .folder import write_folder
from .grades import GradeMap
from .opened import OpenedFile, open_file
from .opening import StrPath, path_text
from .reading import is_remote, read_dataset, read_qrels
from .rows import settled_run
from .table import KEEPS_MARKS, format_of_suffix
from .writing import chosen_format, write_qrels, write_run

ConvertKind = Literal["run", "qrels", "dataset"]
_KEEPS_EMPTY = ("json",)


@dataclass(frozen=True, slots=True)
class Converted:
    """What was written: of which kind, how much, and what the target could not hold.

    `lost_queries` have no rows. `lost_tags` counts the tags of a run with several, for a file that we write has one. `lost_marks`
    counts judgements that a machine made and that no longer say so. `direction` says how a run's scores, which order what is
    written, agree with its ranks.
    """

    kind: ConvertKind
    format: str
    queries: int
    rows: int
    lost_queries: int = 0
    lost_tags: int = 0
    lost_marks: int = 0
    direction: Direction = field(default_factory=Direction)


def convert(
    source: StrPath,
    target: StrPath,
    *,
    kind: ConvertKind | None = None,
    source_format: str | None = None,
    target_format: str | None = None,
    delimiter: str | None = None,
    encoding: str = "utf-8",
    grade_map: GradeMap | None = None,
    reading: Reading | None = None,
) -> Converted:
    """Reads one, writes the other; what the source holds is told by its content unless `kind` says so."""
    path, goal = path_text(source), path_text(target)
    if is_remote(path) or os.path.isdir(path):
        return _convert_dataset(path, goal, kind, target_format, grade_map)
    if kind == "dataset":
        raise fault("not-a-folder", source=path)
    file = open_file(path, format=source_format, delimiter=delimiter, encoding=encoding)
    return _convert_file(file, goal, kind, target_format, grade_map, reading or Reading())


def _convert_file(
    file: OpenedFile, goal: str, kind: ConvertKind | None, format: str | None, grade_map: GradeMap | None, reading: Reading
) -> Converted:
    found = kind or ("qrels" if grade_map is not None else file.kind())
    if found is None:
        raise fault("kind-unknown", source=file.source.name)
    name = chosen_format(goal, format)
    if found == "qrels":
        return _convert_qrels(file.qrels(grade_map=grade_map), goal, name)
    run = settled_run(file.run(reading=reading), reading)
    write_run(run, goal, name)
    return Converted(
        kind="run",
        format=name,
        queries=len(run),
        rows=len(run.docs),
        lost_queries=0 if name in _KEEPS_EMPTY else _empty_queries(run),
        lost_tags=len(run.tags) if len(run.tags) > 1 else 0,
        direction=direction(run.rows(), reading),
    )


def _convert_dataset(path: str, goal: str, kind: ConvertKind | None, format: str | None, grade_map: GradeMap | None) -> Converted:
    """A folder or an ir_datasets name: its qrels where a file is asked for, else the whole as a BEIR folder."""
    if kind == "run":
        raise UsageError(f"{shown(path)} is a dataset and holds no run", fix="leave out the kind, or say qrels or dataset")
    if kind == "qrels" or (kind is None and (format is not None or format_of_suffix(goal) is not None)):
        name = chosen_format(goal, format)
        qrels = read_qrels(path, grade_map=grade_map)
        return _convert_qrels(qrels, goal, name)
    dataset = read_dataset(path)
    write_folder(dataset, goal)
    return Converted("dataset", "beir", len(dataset.queries), len(dataset.corpus))


def _convert_qrels(qrels: Qrels, goal: str, format: str) -> Converted:
    write_qrels(qrels, goal, format)
    lost = 0 if format in KEEPS_MARKS else len(qrels.marks)
    return Converted("qrels", format, len(qrels), sum(map(len, qrels.values())), lost_marks=lost)


def _empty_queries(run: Run) -> int:
    return int((run.offsets[1:] == run.offsets[:-1]).sum())
