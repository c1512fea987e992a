"""The systems of a climb, read back from `result.json` and the files of their rankings."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import get_args

import numpy as np

from ...data.answers import Answers
from ...data.arrays import FloatArray, frozen
from ...data.run import Run
from ...formats.opened import open_file
from ..rung import TIMES, Rung, RungKind
from .files import RESULT, RUNS
from .values import Values

_RUN_FILE = re.compile(rf"{RUNS}/[A-Za-z0-9_][A-Za-z0-9._-]*\.(trec|jsonl|json)\.gz")


def rung_in(values: Values, queries: tuple[str, ...], folder: str, answers: Mapping[str, Answers]) -> Rung:
    """One system, its ranking from a file of its own."""
    times, index, counts = values.inside("times_ms"), values.inside("index"), values.inside("counts")
    kind: RungKind = values.choice("kind", get_args(RungKind))  # type: ignore[assignment]
    return Rung(
        name=values.text("name"),
        kind=kind,
        stage=values.inside("stage").plain,
        run=_run(values.inside("run"), values.text("name"), queries, folder),
        times={part: _times(times.inside(part), len(queries)) for part in TIMES},
        index_seconds=index.number("seconds"),
        index_bytes=index.count("bytes"),
        throughput=values.number_or_none("throughput"),
        over=values.text_or_none("over"),
        facts=values.inside("facts").plain,
        notes=tuple(values.texts("remarks")),
        computed=values.text("computed"),
        from_cache=values.flag("from_cache"),
        counts={name: _times(counts.inside(name), len(queries)).astype(np.int64) for name in counts.plain},
        money=values.number("money"),
        answers=answers.get(values.text("name")),
    )


def _times(values: Values, count: int) -> FloatArray:
    found = values.numbers("per_query")
    if len(found) != count:
        raise values.error(f"{len(found)} times for {count} queries", "the file is damaged: run the experiment again")
    return frozen(np.array(found, dtype=np.float64))


def _run(values: Values, name: str, queries: tuple[str, ...], folder: str) -> Run:
    (file, kind), rows = run_file(values), values.count("rows")
    missing = set(values.texts("missing"))
    asked = [query for query in queries if query not in missing]
    path = os.path.join(folder, *file.split("/"))
    found = open_file(path, format=kind).run(name=name) if rows else Run.from_rows([])
    if len(found.docs) != rows:
        what = f"{len(found.docs)} rows where {RESULT} counts {rows}"
        raise Values({}, path).error(what, "the file is damaged: run the experiment again")
    return replace(found.beginning_with(asked), name=name, source=path)


def run_file(values: Values) -> tuple[str, str]:
    """The name of a run's file, never one outside the folder, and its format."""
    file = values.text("file")
    kind = _RUN_FILE.fullmatch(file)
    if kind is None:
        raise values.error(f"{file} is no file of this folder", "the file is damaged: run the experiment again")
    return file, kind[1]
