"""Alignment of runs and qrels in any supported form: our types, dicts, paths and frames."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from rankproof._align import engine
from rankproof._align.hits import Hits, JudgedQueries
from rankproof._data.qrels import Qrels
from rankproof._data.run import Run
from rankproof._data.text import pluralise
from rankproof._evaluation.options import EvaluateOptions
from rankproof._formats.detect import open_file
from rankproof._formats.fields import mapped_qrels
from rankproof._formats.frames import frame_stream, is_frame, qrels_from_frame, run_from_frame
from rankproof._formats.read import is_irds_name, qrels_file, read_qrels
from rankproof._formats.registry import system_name
from rankproof.errors import UsageError, type_phrase

QrelsLike = Any
RunLike = Any


def prepare_judgements(qrels: QrelsLike, options: EvaluateOptions) -> JudgedQueries:
    """The judgements, ready for alignment."""
    files, only = options.files, options.queries
    if isinstance(qrels, str | os.PathLike):
        return _judge_file(os.fspath(qrels), options)
    if isinstance(qrels, Mapping) and files.grade_map is not None:
        source = qrels.source if isinstance(qrels, Qrels) else "qrels"
        return engine.judge_qrels(mapped_qrels(qrels, files.grade_map, name=source), only)
    if isinstance(qrels, Qrels):
        return engine.judge_qrels(qrels, only)
    if isinstance(qrels, Mapping):
        return engine.judge_dict(qrels, "qrels", only)
    if is_frame(qrels):
        return engine.judge_qrels(qrels_from_frame(qrels, grade_map=files.grade_map), only)
    raise UsageError(f"qrels cannot be {_type_name(qrels)}", fix="pass Qrels, a dict of dicts, a path, or a data frame")


def align(judged: JudgedQueries, run: RunLike, name: str, options: EvaluateOptions) -> Hits:
    """The hits of one run, cut to `depth` and to judged documents as the options say."""
    read_options = options.read_options
    hits = _aligned(judged, run, name, options)
    if read_options.depth is not None:
        hits = hits.cut(read_options.depth)
    return hits.judged_only() if read_options.judged_only else hits


def name_runs(run: RunLike) -> dict[str, RunLike]:
    """One run, several in a sequence, or a mapping of names to runs, as a mapping of names to runs."""
    if isinstance(run, Mapping) and _names_runs(run):
        return {str(name): one for name, one in run.items()}
    if isinstance(run, Sequence) and not isinstance(run, str | bytes):
        return name_runs_uniquely(run, [])
    return {_name(run): run}


def name_runs_uniquely(runs: Sequence[RunLike], names: Sequence[str]) -> dict[str, RunLike]:
    """The runs by the given names, or by their own; a repeated name is an error."""
    if names and len(names) != len(runs):
        what = f"{pluralise(len(names), 'name')} for {pluralise(len(runs), 'run')}"
        raise UsageError(what, fix="give a name for each run, or for none")
    named: dict[str, RunLike] = {}
    for name, run in zip(names or map(_name, runs), runs, strict=True):
        if name in named:
            raise UsageError(f"two systems are called {name}", fix="give each its own name (--name)")
        named[name] = run
    return named


def _judge_file(path: str, options: EvaluateOptions) -> JudgedQueries:
    files, only = options.files, options.queries
    if is_irds_name(path):
        return engine.judge_qrels(read_qrels(path, grade_map=files.grade_map), only)
    file = open_file(
        qrels_file(path),
        format=files.qrels_format,
        delimiter=files.delimiter,
        encoding=files.encoding,
        progress=files.progress,
    )
    if file.format == "trec" and files.grade_map is None:
        return engine.judge_text(file.source, only)
    return engine.judge_qrels(file.qrels(grade_map=files.grade_map), only)


def _aligned(judged: JudgedQueries, run: RunLike, name: str, options: EvaluateOptions) -> Hits:
    if isinstance(run, str | os.PathLike):
        return _align_file(judged, os.fspath(run), name, options)
    if isinstance(run, Run):
        return engine.align_run(judged, run, options.read_options)
    if isinstance(run, Mapping):
        return engine.align_dict(judged, run, name, options.read_options)
    if is_frame(run):
        return _align_frame(judged, run, name, options)
    raise UsageError(f"a run cannot be {_type_name(run)}", fix="pass a Run, a dict of dicts, a path, or a data frame")


def _align_file(judged: JudgedQueries, path: str, name: str, options: EvaluateOptions) -> Hits:
    files, read_options = options.files, options.read_options
    file = open_file(path, format=files.run_format, delimiter=files.delimiter, encoding=files.encoding, progress=files.progress)
    if file.format == "trec":
        return engine.align_text(judged, file.source, read_options)
    stream = file.run_stream(read_options.order) if engine.NAME == "native" else None
    if stream is not None:
        return engine.align_arrow(judged, *stream, path, read_options)
    return engine.align_run(judged, file.run(name=name, read_options=read_options), read_options)


def _align_frame(judged: JudgedQueries, frame: Any, name: str, options: EvaluateOptions) -> Hits:
    stream = frame_stream(frame, name, options.read_options.order) if engine.NAME == "native" else None
    if stream is not None:
        return engine.align_arrow(judged, *stream, name, options.read_options)
    return engine.align_run(judged, run_from_frame(frame, name, read_options=options.read_options), options.read_options)


def _names_runs(mapping: Mapping[Any, Any]) -> bool:
    """Whether the mapping is one of names to runs, and not a run itself."""
    for value in mapping.values():
        if not isinstance(value, Mapping):
            return isinstance(value, str | os.PathLike | Run) or is_frame(value)
        for inner in value.values():
            return isinstance(inner, Mapping)
    return False


def _name(run: RunLike) -> str:
    if isinstance(run, str | os.PathLike):
        return system_name(os.fspath(run))
    return run.name if isinstance(run, Run) else "run"


def _type_name(value: object) -> str:
    return type_phrase(value)
