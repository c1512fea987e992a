"""Write_run, write_qrels, convert."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from rankproof._data.ordering import RankScoreAgreement, ReadOptions, rank_score_agreement
from rankproof._data.qrels import Qrels
from rankproof._data.run import Run
from rankproof._formats.detect import OpenedFile, open_file
from rankproof._formats.fields import GradeMap
from rankproof._formats.read import is_irds_name, read_dataset, read_qrels, write_folder
from rankproof._formats.registry import FORMATS, format_named, format_of_suffix
from rankproof._formats.rows import run_without_duplicates
from rankproof._io.file_errors import file_error
from rankproof._io.files import write_blocks
from rankproof._io.open import StrPath, path_text
from rankproof.errors import UsageError, for_message


def write_run(run: Run, path: StrPath, format: str | None = None) -> None:
    """The run as a file, best first; scores are read back as the same float64."""
    if not isinstance(run, Run):
        raise UsageError(f"a run to write cannot be a {type(run).__name__}", fix="pass a Run, like Run.from_dict(…)")
    write_blocks(path_text(path), run_blocks(run, chosen_format(path, format)))


def write_qrels(qrels: Qrels, path: StrPath, format: str | None = None) -> None:
    """The judgements as a file."""
    if not isinstance(qrels, Qrels):
        raise UsageError(f"qrels to write cannot be a {type(qrels).__name__}", fix="pass Qrels, like Qrels.from_dict(…)")
    write_blocks(path_text(path), qrels_blocks(qrels, chosen_format(path, format)))


def run_blocks(run: Run, format: str) -> Iterator[bytes]:
    """The bytes of such a file."""
    return format_named(format).run_blocks(run)


def qrels_blocks(qrels: Qrels, format: str) -> Iterator[bytes]:
    """The bytes of such a file."""
    return format_named(format).qrels_blocks(qrels)


def chosen_format(path: StrPath, format: str | None) -> str:
    """The format that is named, or else the one that the path's suffix speaks of."""
    found = format or format_of_suffix(path_text(path))
    if found is None:
        raise UsageError(f"the suffix of {path} names no format", fix=f"name one of {', '.join(FORMATS)}")
    format_named(found)
    return found


ConvertKind = Literal["run", "qrels", "dataset"]


@dataclass(frozen=True, slots=True)
class ConvertResult:
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
    lost_judge_labels: int = 0
    agreement: RankScoreAgreement = field(default_factory=RankScoreAgreement)


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
    read_options: ReadOptions | None = None,
) -> ConvertResult:
    """Reads one, writes the other; what the source holds is told by its content unless `kind` says so."""
    path, goal = path_text(source), path_text(target)
    if is_irds_name(path) or os.path.isdir(path):
        return _convert_dataset(path, goal, kind, target_format, grade_map)
    if kind == "dataset":
        raise file_error("not-a-folder", source=path)
    file = open_file(path, format=source_format, delimiter=delimiter, encoding=encoding)
    return _convert_file(file, goal, kind, target_format, grade_map, read_options or ReadOptions())


def _convert_file(
    file: OpenedFile,
    goal: str,
    kind: ConvertKind | None,
    format: str | None,
    grade_map: GradeMap | None,
    read_options: ReadOptions,
) -> ConvertResult:
    found = kind or ("qrels" if grade_map is not None else file.kind())
    if found is None:
        raise file_error("kind-unknown", source=file.source.name)
    name = chosen_format(goal, format)
    if found == "qrels":
        return _convert_qrels(file.qrels(grade_map=grade_map), goal, name)
    run = run_without_duplicates(file.run(read_options=read_options), read_options)
    write_run(run, goal, name)
    return ConvertResult(
        kind="run",
        format=name,
        queries=len(run),
        rows=len(run.docs),
        lost_queries=0 if format_named(name).keeps_empty_queries else _empty_queries(run),
        lost_tags=len(run.tags) if len(run.tags) > 1 else 0,
        agreement=rank_score_agreement(run.rows(), read_options),
    )


def _convert_dataset(
    path: str, goal: str, kind: ConvertKind | None, format: str | None, grade_map: GradeMap | None
) -> ConvertResult:
    """A folder or an ir_datasets name: its qrels where a file is asked for, else the whole as a BEIR folder."""
    if kind == "run":
        raise UsageError(f"{for_message(path)} is a dataset and holds no run", fix="leave out the kind, or say qrels or dataset")
    if kind == "qrels" or (kind is None and (format is not None or format_of_suffix(goal) is not None)):
        name = chosen_format(goal, format)
        qrels = read_qrels(path, grade_map=grade_map)
        return _convert_qrels(qrels, goal, name)
    dataset = read_dataset(path)
    write_folder(dataset, goal)
    return ConvertResult("dataset", "beir", len(dataset.queries), len(dataset.corpus))


def _convert_qrels(qrels: Qrels, goal: str, format: str) -> ConvertResult:
    write_qrels(qrels, goal, format)
    lost = 0 if format_named(format).keeps_judge_labels else len(qrels.judge_labels)
    return ConvertResult("qrels", format, len(qrels), sum(map(len, qrels.values())), lost_judge_labels=lost)


def _empty_queries(run: Run) -> int:
    return int((run.offsets[1:] == run.offsets[:-1]).sum())
