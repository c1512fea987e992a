"""Runs and qrels as files, and conversion between formats."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Literal

from rankproof._data.grades import GradeMap, describe_judges
from rankproof._data.ordering import rank_score_agreement
from rankproof._data.qrels import Qrels
from rankproof._data.row_errors import OnConflict, OnDuplicate
from rankproof._data.run import Run
from rankproof._data.text import pluralise
from rankproof._data.validation import ReadOptions
from rankproof._data.view import View, Viewed
from rankproof._formats.detect import SAMPLE, OpenedFile, is_irds_name, open_file
from rankproof._formats.read import read_plain_dataset, read_qrels, write_folder
from rankproof._formats.registry import FORMATS, format_named, format_of_suffix
from rankproof._formats.rows import run_without_duplicates
from rankproof._io.file_errors import file_error
from rankproof._io.files import write_blocks
from rankproof._io.open import StrPath, path_text
from rankproof._registry import Option
from rankproof.errors import UsageError, for_message, type_phrase


def write_run(
    run: Annotated[Run, Option("the run to write")],
    path: Annotated[StrPath, Option("the file")],
    format: Annotated[str | None, Option("its format", unset="by the suffix")] = None,
) -> None:
    """Writes the run to a file, best first; reading it gives the same float64 scores."""
    if not isinstance(run, Run):
        raise UsageError(f"a run to write cannot be {type_phrase(run)}", fix="pass a Run, like Run.from_dict(…)")
    write_blocks(path_text(path), run_blocks(run, chosen_format(path, format)))


def write_qrels(
    qrels: Annotated[Qrels, Option("the judgements to write")],
    path: Annotated[StrPath, Option("the file")],
    format: Annotated[str | None, Option("its format", unset="by the suffix")] = None,
) -> None:
    """Writes the judgements to a file."""
    if not isinstance(qrels, Qrels):
        raise UsageError(f"qrels to write cannot be {type_phrase(qrels)}", fix="pass Qrels, like Qrels.from_dict(…)")
    write_blocks(path_text(path), qrels_blocks(qrels, chosen_format(path, format)))


def run_blocks(run: Run, format: str) -> Iterator[bytes]:
    """The bytes of a file with the run."""
    return format_named(format).run_blocks(run)


def qrels_blocks(qrels: Qrels, format: str) -> Iterator[bytes]:
    """The bytes of a file with the judgements; a format that cannot name their machine judges is an error."""
    if qrels.judge_labels and not format_named(format).keeps_judge_labels:
        what = f"{format} cannot hold who judged: {describe_judges(qrels.judge_counts(), sum(map(len, qrels.values())))}"
        raise UsageError(what, fix="write trec, beir, csv, tsv, json, jsonl or parquet")
    return format_named(format).qrels_blocks(qrels)


def chosen_format(path: StrPath, format: str | None) -> str:
    """The named format, or else the one of the path's suffix."""
    name = format or format_of_suffix(path_text(path))
    if name is None:
        raise UsageError(f"the suffix of {path} names no format", fix=f"specify one of {', '.join(FORMATS)}")
    format_named(name)
    return name


ConvertKind = Literal["run", "qrels", "dataset"]


@dataclass(frozen=True, slots=True, repr=False)
class ConvertResult(Viewed):
    """What was written, and what the target format could not keep.

    `rows` counts the documents of a dataset. `lost_queries` counts queries without documents, `lost_tags` the tags of a run with
    several. `remarks` are on grades, and on ranks that contradict the run's scores,
    which order the output.
    """

    kind: ConvertKind
    format: str
    queries: int
    rows: int
    lost_queries: int = 0
    lost_tags: int = 0
    remarks: tuple[str, ...] = ()

    @property
    def summary(self) -> str:
        """What was written, in one line."""
        rows = pluralise(self.rows, "document" if self.kind == "dataset" else "row")
        return f"{self.kind} written as {self.format}: {pluralise(self.queries, 'query', 'queries')}, {rows}"

    @property
    def notes(self) -> tuple[str, ...]:
        """What the target format could not keep, and the remarks."""
        lost = (
            (self.lost_queries, f"queries without rows are left out, as {self.format} cannot hold them; json can"),
            (self.lost_tags, "different tags are left out, as a run has one tag or none: is this one system?"),
        )
        return (*(f"{count} {what}" for count, what in lost if count), *self.remarks)

    def _view(self) -> View:
        return View(self.summary, notes=self.notes)


def convert_file(
    source: StrPath,
    target: StrPath,
    *,
    kind: ConvertKind | None,
    source_format: str | None,
    target_format: str | None,
    delimiter: str | None,
    encoding: str,
    grade_map: GradeMap | None,
    on_conflict: OnConflict,
    on_duplicate: OnDuplicate,
) -> ConvertResult:
    """Converts a run, judgements or a dataset to another format, and says what was written."""
    path, goal = path_text(source), path_text(target)
    if is_irds_name(path) or os.path.isdir(path) or (path == SAMPLE and not os.path.exists(path)):
        return _convert_dataset(path, goal, kind, target_format, grade_map, on_conflict)
    if kind == "dataset":
        raise file_error("not-a-folder", source=path)
    file = open_file(path, format=source_format, delimiter=delimiter, encoding=encoding)
    chosen_kind = kind or ("qrels" if grade_map is not None else file.kind())
    if chosen_kind is None:
        raise file_error("kind-unknown", source=file.source.name)
    name = chosen_format(goal, target_format)
    if chosen_kind == "qrels":
        return _convert_qrels(file.qrels(grade_map=grade_map, on_conflict=on_conflict), goal, name)
    return _convert_run(file, goal, name, ReadOptions(on_duplicate=on_duplicate))


def _convert_run(file: OpenedFile, goal: str, name: str, read_options: ReadOptions) -> ConvertResult:
    run = run_without_duplicates(file.run(read_options=read_options), read_options)
    write_run(run, goal, name)
    note = rank_score_agreement(run.rows(), read_options).note()
    return ConvertResult(
        kind="run",
        format=name,
        queries=len(run),
        rows=len(run.docs),
        lost_queries=0 if format_named(name).keeps_empty_queries else _empty_queries(run),
        lost_tags=len(run.tags) if len(run.tags) > 1 else 0,
        remarks=(f"{note} (the output is ranked by score, the highest first)",) if note else (),
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
    return ConvertResult("dataset", "beir", len(dataset.queries), len(dataset.corpus), remarks=notes)


def _convert_qrels(qrels: Qrels, goal: str, format: str) -> ConvertResult:
    write_qrels(qrels, goal, format)
    rows = sum(1 for _ in qrels.rows())
    return ConvertResult("qrels", format, len(qrels), rows, remarks=qrels.grade_notes())


def _empty_queries(run: Run) -> int:
    return int((run.offsets[1:] == run.offsets[:-1]).sum())
