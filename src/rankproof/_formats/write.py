"""Runs and qrels as files, and conversion between formats."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from rankproof._data.grades import GradeMap
from rankproof._data.ordering import RankScoreAgreement, ReadOptions, rank_score_agreement
from rankproof._data.qrels import Qrels
from rankproof._data.row_errors import OnConflict
from rankproof._data.run import Run
from rankproof._formats.detect import OpenedFile, open_file
from rankproof._formats.read import SAMPLE, is_irds_name, read_plain_dataset, read_qrels, write_folder
from rankproof._formats.registry import FORMATS, format_named, format_of_suffix
from rankproof._formats.rows import run_without_duplicates
from rankproof._io.file_errors import file_error
from rankproof._io.files import write_blocks
from rankproof._io.open import StrPath, path_text
from rankproof.errors import UsageError, for_message, type_phrase


def write_run(run: Run, path: StrPath, format: str | None = None) -> None:
    """Writes the run to a file, best first; reading it gives the same float64 scores."""
    if not isinstance(run, Run):
        raise UsageError(f"a run to write cannot be {type_phrase(run)}", fix="pass a Run, like Run.from_dict(…)")
    write_blocks(path_text(path), run_blocks(run, chosen_format(path, format)))


def write_qrels(qrels: Qrels, path: StrPath, format: str | None = None) -> None:
    """Writes the judgements to a file."""
    if not isinstance(qrels, Qrels):
        raise UsageError(f"qrels to write cannot be {type_phrase(qrels)}", fix="pass Qrels, like Qrels.from_dict(…)")
    write_blocks(path_text(path), qrels_blocks(qrels, chosen_format(path, format)))


def run_blocks(run: Run, format: str) -> Iterator[bytes]:
    """The bytes of a file with the run."""
    return format_named(format).run_blocks(run)


def qrels_blocks(qrels: Qrels, format: str) -> Iterator[bytes]:
    """The bytes of a file with the judgements."""
    return format_named(format).qrels_blocks(qrels)


def chosen_format(path: StrPath, format: str | None) -> str:
    """The named format, or else the one of the path's suffix."""
    found = format or format_of_suffix(path_text(path))
    if found is None:
        raise UsageError(f"the suffix of {path} names no format", fix=f"specify one of {', '.join(FORMATS)}")
    format_named(found)
    return found


ConvertKind = Literal["run", "qrels", "dataset"]


@dataclass(frozen=True, slots=True)
class ConvertResult:
    """What was written, and what the target format could not keep.

    `lost_queries` counts queries without documents, `lost_tags` the tags of a run with several, `lost_judge_labels` judgements of
    machines. `agreement` compares the run's scores, which order the output, with its ranks.
    """

    kind: ConvertKind
    format: str
    queries: int
    rows: int
    lost_queries: int = 0
    lost_tags: int = 0
    lost_judge_labels: int = 0
    grade_notes: tuple[str, ...] = ()
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
    on_conflict: OnConflict = "error",
    read_options: ReadOptions | None = None,
) -> ConvertResult:
    """Converts the source to the target; what the source contains is detected unless `kind` says it."""
    path, goal = path_text(source), path_text(target)
    if is_irds_name(path) or os.path.isdir(path) or (path == SAMPLE and not os.path.exists(path)):
        return _convert_dataset(path, goal, kind, target_format, grade_map, on_conflict)
    if kind == "dataset":
        raise file_error("not-a-folder", source=path)
    file = open_file(path, format=source_format, delimiter=delimiter, encoding=encoding)
    found = kind or ("qrels" if grade_map is not None else file.kind())
    if found is None:
        raise file_error("kind-unknown", source=file.source.name)
    name = chosen_format(goal, target_format)
    if found == "qrels":
        return _convert_qrels(file.qrels(grade_map=grade_map, on_conflict=on_conflict), goal, name)
    return _convert_run(file, goal, name, read_options or ReadOptions())


def _convert_run(file: OpenedFile, goal: str, name: str, read_options: ReadOptions) -> ConvertResult:
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
    path: str, goal: str, kind: ConvertKind | None, format: str | None, grade_map: GradeMap | None, on_conflict: OnConflict
) -> ConvertResult:
    """Converts a folder or a dataset of ir_datasets: its qrels if the target is a file, else all of it to a BEIR folder."""
    if kind == "run":
        raise UsageError(f"{for_message(path)} is a dataset and holds no run", fix="leave out the kind, or pass qrels or dataset")
    if kind == "qrels" or (kind is None and (format is not None or format_of_suffix(goal) is not None)):
        name = chosen_format(goal, format)
        qrels = read_qrels(path, grade_map=grade_map, on_conflict=on_conflict)
        return _convert_qrels(qrels, goal, name)
    dataset = read_plain_dataset(path, grade_map=grade_map, on_conflict=on_conflict)
    write_folder(dataset, goal)
    notes = dataset.qrels.grade_notes()
    return ConvertResult("dataset", "beir", len(dataset.queries), len(dataset.corpus), grade_notes=notes)


def _convert_qrels(qrels: Qrels, goal: str, format: str) -> ConvertResult:
    write_qrels(qrels, goal, format)
    lost = 0 if format_named(format).keeps_judge_labels else len(qrels.judge_labels)
    rows = sum(1 for _ in qrels.rows())
    return ConvertResult("qrels", format, len(qrels), rows, lost_judge_labels=lost, grade_notes=qrels.grade_notes())


def _empty_queries(run: Run) -> int:
    return int((run.offsets[1:] == run.offsets[:-1]).sum())
