"""Whatever a caller has (our types, dicts, paths, frames) brought to alignment by its shortest way."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from .. import formats
from ..align import engine
from ..align.hits import Hits, Judged
from ..data.qrels import Qrels
from ..data.run import Run
from ..errors import UsageError
from .options import Options

QrelsLike = Any
RunLike = Any


def judge(qrels: QrelsLike, options: Options) -> Judged:
    """The judgements, ready for alignment."""
    files, only = options.files, options.queries
    if isinstance(qrels, str | os.PathLike):
        return _judge_file(os.fspath(qrels), options)
    if isinstance(qrels, Mapping) and files.grade_map is not None:
        source = qrels.source if isinstance(qrels, Qrels) else "qrels"
        return engine.judge_qrels(formats.mapped_qrels(qrels, files.grade_map, name=source), only)
    if isinstance(qrels, Qrels):
        return engine.judge_qrels(qrels, only)
    if isinstance(qrels, Mapping):
        return engine.judge_dict(qrels, "qrels", only)
    if formats.is_frame(qrels):
        return engine.judge_qrels(formats.frame_qrels(qrels, grade_map=files.grade_map), only)
    raise UsageError(f"qrels cannot be {_kind(qrels)}", fix="pass Qrels, a dict of dicts, a path, or a data frame")


def align(judged: Judged, run: RunLike, name: str, options: Options) -> Hits:
    """The hits of one run, cut to depth and to judged documents where that is asked for."""
    reading = options.reading
    hits = _aligned(judged, run, name, options)
    if reading.depth is not None:
        hits = hits.cut(reading.depth)
    return hits.judged_only() if reading.judged_only else hits


def name_runs(run: RunLike) -> dict[str, RunLike]:
    """One run, several in a sequence, or a mapping of names to runs, as a mapping of names to runs."""
    if isinstance(run, Mapping) and _names_runs(run):
        return {str(name): one for name, one in run.items()}
    if isinstance(run, Sequence) and not isinstance(run, str | bytes):
        return name_each(run, [])
    return {_name(run): run}


def name_each(runs: Sequence[RunLike], names: Sequence[str]) -> dict[str, RunLike]:
    """The runs under the given names, or under their own; a name that comes twice is refused."""
    if names and len(names) != len(runs):
        raise UsageError(f"{len(names)} names for {len(runs)} runs", fix="give each run a name, or none")
    named: dict[str, RunLike] = {}
    for name, run in zip(names or map(_name, runs), runs, strict=True):
        if name in named:
            raise UsageError(f"two systems are called {name}", fix="name each of them (--name, or {name: run})")
        named[name] = run
    return named


def _judge_file(path: str, options: Options) -> Judged:
    files, only = options.files, options.queries
    if formats.is_remote(path):
        return engine.judge_qrels(formats.read_qrels(path, grade_map=files.grade_map), only)
    file = formats.open_file(
        formats.qrels_file(path),
        format=files.qrels_format,
        delimiter=files.delimiter,
        encoding=files.encoding,
        progress=files.progress,
    )
    if file.format == "trec" and files.grade_map is None:
        return engine.judge_text(file.source, only)
    return engine.judge_qrels(file.qrels(grade_map=files.grade_map), only)


def _aligned(judged: Judged, run: RunLike, name: str, options: Options) -> Hits:
    if isinstance(run, str | os.PathLike):
        return _align_file(judged, os.fspath(run), name, options)
    if isinstance(run, Run):
        return engine.align_run(judged, run, options.reading)
    if isinstance(run, Mapping):
        return engine.align_dict(judged, run, name, options.reading)
    if formats.is_frame(run):
        return _align_frame(judged, run, name, options)
    raise UsageError(f"a run cannot be {_kind(run)}", fix="pass a Run, a dict of dicts, a path, or a data frame")


def _align_file(judged: Judged, path: str, name: str, options: Options) -> Hits:
    files, reading = options.files, options.reading
    file = formats.open_file(
        path, format=files.run_format, delimiter=files.delimiter, encoding=files.encoding, progress=files.progress
    )
    if file.format == "trec":
        return engine.align_text(judged, file.source, reading)
    stream = file.run_stream(reading.order) if engine.NAME == "native" else None
    if stream is not None:
        return engine.align_arrow(judged, *stream, path, reading)
    return engine.align_run(judged, file.run(name=name, reading=reading), reading)


def _align_frame(judged: Judged, frame: Any, name: str, options: Options) -> Hits:
    stream = formats.frame_stream(frame, name, options.reading.order) if engine.NAME == "native" else None
    if stream is not None:
        return engine.align_arrow(judged, *stream, name, options.reading)
    return engine.align_run(judged, formats.frame_run(frame, name, reading=options.reading), options.reading)


def _names_runs(mapping: Mapping[Any, Any]) -> bool:
    """Whether the mapping holds runs by name, and is not itself a run of query to documents."""
    for value in mapping.values():
        if not isinstance(value, Mapping):
            return isinstance(value, str | os.PathLike | Run) or formats.is_frame(value)
        for inner in value.values():
            return isinstance(inner, Mapping)
    return False


def _name(run: RunLike) -> str:
    if isinstance(run, str | os.PathLike):
        return formats.system_name(os.fspath(run))
    return run.name if isinstance(run, Run) else "run"


def _kind(value: object) -> str:
    return f"a {type(value).__name__}"
