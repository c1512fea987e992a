"""Qrels, runs and datasets from wherever they lie: a file, a folder, or a name in ir_datasets."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ..data.qrels import Qrels
from ..data.reading import Reading
from ..data.run import Run
from .grades import GradeMap
from .opened import open_file
from .opening import StrPath, path_text
from .rows import settled_run

if TYPE_CHECKING:
    from ..data.dataset import Dataset

REMOTE = "irds:"


def read_qrels(
    path: StrPath,
    *,
    format: str | None = None,
    delimiter: str | None = None,
    encoding: str = "utf-8",
    grade_map: GradeMap | None = None,
) -> Qrels:
    """The judgements in a file, in a dataset's folder, or of `irds:NAME`."""
    name = path_text(path)
    if is_remote(name):
        from .irds import read_irds_qrels

        return read_irds_qrels(name, grade_map=grade_map)
    return open_file(qrels_file(name), format=format, delimiter=delimiter, encoding=encoding).qrels(grade_map=grade_map)


def read_run(
    path: StrPath,
    *,
    format: str | None = None,
    delimiter: str | None = None,
    encoding: str = "utf-8",
    name: str | None = None,
    reading: Reading | None = None,
) -> Run:
    """The run in a file, named after the file, its duplicates settled as the reading says."""
    how = reading or Reading()
    file = open_file(path, format=format, delimiter=delimiter, encoding=encoding)
    return settled_run(file.run(name=name, reading=how), how)


def read_dataset(path: StrPath, *, split: str = "test") -> Dataset:
    """Documents, queries and judgements of a folder or of `irds:NAME`; `split` chooses among several files of qrels."""
    name = path_text(path)
    if is_remote(name):
        from .irds import read_irds_dataset

        return read_irds_dataset(name)
    from .folder import read_folder

    return read_folder(name, split=split)


def is_remote(path: str) -> bool:
    """Whether the path names a dataset of ir_datasets, and no file."""
    return path.startswith(REMOTE)


def qrels_file(path: str) -> str:
    """The file of judgements that the path means: itself, or the one in the folder that it names."""
    if not os.path.isdir(path):
        return path
    from .folder import qrels_path

    return qrels_path(path)
