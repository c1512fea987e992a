"""Result.json reader."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import get_args

import numpy as np

from rankproof._data.answers import Answers
from rankproof._data.arrays import FloatArray, read_only
from rankproof._data.run import Run
from rankproof._evaluation.notes import Note
from rankproof._evaluation.result import MeasureResult, Result, SystemResult
from rankproof._formats.detect import open_file
from rankproof._io.strict_json import JsonObject
from rankproof._results.experiment_result import TIME_COLUMNS, SystemKind, SystemRun
from rankproof._results.to_json import RESULT_FILE, RUNS_FOLDER
from rankproof.errors import UsageError
from rankproof.measures._parse import parse_measure

_RUN_FILE = re.compile(rf"{RUNS_FOLDER}/[A-Za-z0-9_][A-Za-z0-9._-]*\.(trec|jsonl|json)\.gz")


def parse_system_run(values: JsonObject, queries: tuple[str, ...], folder: str, answers: Mapping[str, Answers]) -> SystemRun:
    """One system, its ranking from a file of its own."""
    times, index, counts = values.inside("times_ms"), values.inside("index"), values.inside("counts")
    kind: SystemKind = values.choice("kind", get_args(SystemKind))  # type: ignore[assignment]
    return SystemRun(
        name=values.text("name"),
        kind=kind,
        stage=values.inside("stage").plain,
        run=_read_run_of(values.inside("run"), values.text("name"), queries, folder),
        times={part: _parse_times(times.inside(part), len(queries)) for part in TIME_COLUMNS},
        index_seconds=index.number("seconds"),
        index_bytes=index.count("bytes"),
        throughput=values.number_or_none("throughput"),
        baseline=values.text_or_none("baseline"),
        facts=values.inside("facts").plain,
        notes=tuple(values.texts("remarks")),
        computed=values.text("computed"),
        from_cache=values.flag("from_cache"),
        counts={name: _parse_times(counts.inside(name), len(queries)).astype(np.int64) for name in counts.plain},
        money=values.number("money"),
        answers=answers.get(values.text("name")),
    )


def _parse_times(values: JsonObject, count: int) -> FloatArray:
    found = values.numbers("per_query")
    if len(found) != count:
        raise values.error(f"{len(found)} times for {count} queries", "the file is damaged: run the experiment again")
    return read_only(np.array(found, dtype=np.float64))


def _read_run_of(values: JsonObject, name: str, queries: tuple[str, ...], folder: str) -> Run:
    (file, kind), rows = parse_run_file(values), values.count("rows")
    missing = set(values.texts("missing"))
    asked = [query for query in queries if query not in missing]
    path = os.path.join(folder, *file.split("/"))
    found = open_file(path, format=kind).run(name=name) if rows else Run.from_rows([])
    if len(found.docs) != rows:
        what = f"{len(found.docs)} rows where {RESULT_FILE} counts {rows}"
        raise JsonObject({}, path).error(what, "the file is damaged: run the experiment again")
    return replace(found.beginning_with(asked), name=name, source=path)


def parse_run_file(values: JsonObject) -> tuple[str, str]:
    """The name of a run's file, never one outside the folder, and its format."""
    file = values.text("file")
    kind = _RUN_FILE.fullmatch(file)
    if kind is None:
        raise values.error(f"{file} is no file of this folder", "the file is damaged: run the experiment again")
    return file, kind[1]


def parse_system_values(values: JsonObject) -> SystemResult:
    """The values of one system and their notes."""
    notes = tuple(Note(note.text("code"), note.count("count"), note.text("text")) for note in values.each("notes"))
    measures = values.inside("measures")
    return SystemResult(
        values.text("name"), {name: _parse_measure_result(measures.inside(name), name) for name in measures.plain}, notes
    )


def parse_chunk_values(values: JsonObject, result: Result) -> Result | None:
    """The values at chunk level, None where no system ranks chunks."""
    if "chunks" not in values.plain:
        return None
    systems = tuple(map(parse_system_values, values.each("chunks")))
    known = {system.name for system in result.systems}
    if not systems or any(system.name not in known or tuple(system.measures) != tuple(systems[0].measures) for system in systems):
        raise values.error("the values at chunk level are not those of its systems", "run the experiment again")
    return Result(result.queries, systems)


def parse_answer_values(values: JsonObject, system_runs: tuple[SystemRun, ...]) -> Result | None:
    """The measures of answers, None where nothing was measured."""
    if "answers" not in values.plain:
        return None
    found = values.inside("answers")
    systems = tuple(map(parse_system_values, found.each("systems")))
    known = {system_run.name for system_run in system_runs if system_run.answers is not None}
    if not systems or any(system.name not in known or tuple(system.measures) != tuple(systems[0].measures) for system in systems):
        raise values.error("the values of answers are not those of its systems", "run the experiment again")
    return Result(tuple(found.texts("judged_ids")), systems)


def parse_judged_documents(values: JsonObject) -> Mapping[str, str]:
    """The judged documents of passages."""
    if "answers" not in values.plain:
        return {}
    found = values.inside("answers").inside("judged_documents")
    return {passage: found.text(passage) for passage in found.plain}


def _parse_measure_result(values: JsonObject, name: str) -> MeasureResult:
    each = values.inside("per_query")
    numbers = np.array([each.number(query) for query in each.plain], dtype=np.float64)
    try:
        measure = parse_measure(name)
    except UsageError as error:
        raise values.error(error.what, error.fix) from None
    # A mean over no query is written as null: nobody measured a 0.
    value = values.number("value") if each.plain else 0.0
    return MeasureResult(measure, value, tuple(each.plain), read_only(numbers))
