"""Judgements and runs as paths, our types, dicts of dicts and frames: alignment, and reading on first use."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from rankproof._align import engine
from rankproof._align.hits import Hits, JudgedQueries, merge_hits
from rankproof._data.qrels import Qrels
from rankproof._data.run import Run, join_runs, repeated_query_error
from rankproof._evaluation.options import EvaluateOptions, FileOptions
from rankproof.errors import UsageError

if TYPE_CHECKING:
    from rankproof._data.dataset import Queries


def prepare_judgements(qrels: str | Qrels | Mapping[Any, Any] | Any, options: EvaluateOptions) -> JudgedQueries:
    """The judgements, ready for alignment; they are a path, Qrels, a dict of dicts, or a frame."""
    if isinstance(qrels, str):
        return _judge_file(qrels, options)
    # An engine takes a dict as it is: no Qrels are made of it.
    if isinstance(qrels, Mapping) and not isinstance(qrels, Qrels) and options.files.grade_map is None:
        return engine.judge_dict(qrels, "qrels", options.queries)
    return engine.judge_qrels(read_judgements(qrels, options), options.queries)


def align(judged: JudgedQueries, run: str | Run | Mapping[Any, Any] | Any, name: str, options: EvaluateOptions) -> Hits:
    """The hits of one run (a path, Run, dict of dicts, or frame), cut to `depth` and to judged documents as the options say."""
    read_options = options.read_options
    hits = _aligned(judged, run, name, options)
    if read_options.depth is not None:
        hits = hits.cut(read_options.depth)
    return hits.judged_only() if read_options.judged_only else hits


_MAX_KEPT_BYTES, _MAX_KEPT_COMPRESSED_BYTES = 64 << 20, 8 << 20
"""A larger file is evaluated while it is read, and read again if its documents are needed: in memory it takes about its size."""


def _most_kept(path: str) -> int:
    return _MAX_KEPT_COMPRESSED_BYTES if path.endswith((".gz", ".zst")) else _MAX_KEPT_BYTES


class RunSources(Mapping[str, Run]):
    """Runs by system name.

    Files up to 64 MB (8 MB if they are compressed), pipes and standard input are read once, at once, others on first use.
    """

    def __init__(self, sources: Mapping[str, Any], options: EvaluateOptions) -> None:
        self._sources, self._options = sources, options
        self._read: dict[str, Run] = {}
        for name, source in sources.items():
            if isinstance(source, str) and (not os.path.isfile(source) or os.path.getsize(source) <= _most_kept(source)):
                self[name]

    @property
    def sources(self) -> dict[str, Any]:
        """Each run as it was given, or as it was read."""
        return {name: self._read.get(name, source) for name, source in self._sources.items()}

    @property
    def files(self) -> FileOptions:
        """How the files are read."""
        return self._options.files

    def __getitem__(self, name: str) -> Run:
        if name not in self._read:
            self._read[name] = read_source(self._sources[name], name, self._options)
        return self._read[name]

    def of_queries(self, name: str, queries: frozenset[str]) -> Run:
        """The run with these queries only; of a dict that was not read, nothing else is read."""
        source = self._sources[name]
        if name in self._read or type(source) is not dict or not set(map(type, source)) <= {str}:
            return self[name].restricted_to(queries)
        return read_source({query: docs for query, docs in source.items() if query in queries}, name, self._options)

    def is_held(self, name: str) -> bool:
        """Whether the run is in memory; a large file is read on first use."""
        return name in self._read or not isinstance(self._sources[name], str)

    def __contains__(self, name: object) -> bool:
        return name in self._sources

    def __iter__(self) -> Iterator[str]:
        return iter(self._sources)

    def __len__(self) -> int:
        return len(self._sources)


def read_source(source: str | Run | Mapping[Any, Any] | Any, name: str, options: EvaluateOptions) -> Run:
    """The run in a path, Run, dict of dicts, or frame."""
    if isinstance(source, str):
        parts = [_read_file(path, name, options) for path in _part_files(source)]
        return parts[0] if len(parts) == 1 else join_runs(parts, name=name, source=source)
    if isinstance(source, Run):
        return source
    if isinstance(source, Mapping):
        return Run(source, name=name, source=name)
    from rankproof._formats.frames import run_from_frame

    return run_from_frame(source, name, read_options=options.read_options)


def _read_file(path: str, name: str, options: EvaluateOptions) -> Run:
    from rankproof._formats.detect import open_file

    files = options.files
    opened = open_file(path, format=files.run_format, delimiter=files.delimiter, encoding=files.encoding)
    return opened.run(name=name, read_options=options.read_options)


def _part_files(path: str) -> list[str]:
    """The file itself, or the files of a pattern such as `runs/part-*.parquet`, each with other queries."""
    from rankproof._io.paths import is_pattern, matching_files

    return matching_files(path) if is_pattern(path) else [path]


def read_judgements(source: str | Qrels | Mapping[Any, Any] | Any, options: EvaluateOptions) -> Qrels:
    """The judgements in a path, Qrels, dict of dicts, or frame, with mapped grades."""
    files = options.files
    if isinstance(source, str):
        from rankproof._formats.detect import SAMPLE, is_irds_name, open_file, qrels_file

        if source == SAMPLE or is_irds_name(source):
            from rankproof._formats.read import read_qrels

            return read_qrels(source, grade_map=files.grade_map, on_conflict=files.on_conflict)
        file = open_file(
            qrels_file(source),
            format=_format_of_grades(files.qrels_format),
            delimiter=files.delimiter,
            encoding=files.encoding,
        )
        return file.qrels(grade_map=files.grade_map, on_conflict=files.on_conflict)
    if isinstance(source, Qrels) and files.grade_map is None:
        return source
    if isinstance(source, Mapping):
        name = source.source if isinstance(source, Qrels) else "qrels"
        return Qrels(source, source=name, grade_map=files.grade_map)
    from rankproof._formats.frames import qrels_from_frame

    return qrels_from_frame(source, grade_map=files.grade_map, on_conflict=files.on_conflict)


class EvaluationInput(NamedTuple):
    """The judgements and runs of an evaluation, its options, and the queries that came with the judgements."""

    qrels: str | Qrels | Mapping[Any, Any] | Any
    runs: Mapping[str, Any]
    options: EvaluateOptions
    texts: Queries | None


def _judge_file(path: str, options: EvaluateOptions) -> JudgedQueries:
    from rankproof._formats.detect import is_irds_name, open_file, qrels_file
    from rankproof._io.memory import memory_errors_of

    files, only = options.files, options.queries
    if files.qrels_format in ("prefs", "qrels_prefs"):
        return _judge_preferences(path, files.qrels_format, options)
    if is_irds_name(path):
        from rankproof._formats.read import read_qrels

        return engine.judge_qrels(read_qrels(path, grade_map=files.grade_map, on_conflict=files.on_conflict), only)
    file = open_file(
        qrels_file(path),
        format=_format_of_grades(files.qrels_format),
        delimiter=files.delimiter,
        encoding=files.encoding,
        progress=files.progress,
    )
    if file.format == "trec" and files.grade_map is None:
        with memory_errors_of(path):
            return engine.judge_text(file.source, only, on_conflict=files.on_conflict)
    return engine.judge_qrels(file.qrels(grade_map=files.grade_map, on_conflict=files.on_conflict), only)


def _format_of_grades(named: str | None) -> str | None:
    """The format of a file of grades; trec_eval calls TREC text with judgement groups qrels_jg. Preferences are rejected."""
    if named in ("prefs", "qrels_prefs"):
        raise UsageError(f"{named} has preferences, which only rankproof eval reads", fix="pass judgements with grades")
    return {"qrels_jg": "trec", "qrels": "trec"}.get(named, named) if named else None


def _judge_preferences(path: str, form: str, options: EvaluateOptions) -> JudgedQueries:
    from rankproof._align.preferences import judge_preferences
    from rankproof._formats.trec import preference_rows
    from rankproof._io.open import open_source

    source = open_source(path, encoding=options.files.encoding)
    return judge_preferences(preference_rows(source, form), source.name, options.queries)


def _aligned(judged: JudgedQueries, run: Any, name: str, options: EvaluateOptions) -> Hits:
    if isinstance(run, str):
        return _align_files(judged, _part_files(run), name, options)
    if isinstance(run, Mapping):
        return engine.align_dict(judged, run, name, options.read_options)
    if engine.NAME == "native" and not isinstance(run, Run):
        from rankproof._formats.frames import frame_stream

        stream = frame_stream(run, name, options.read_options.order)
        if stream is not None:
            return engine.align_arrow(judged, *stream, name, options.read_options)
    return engine.align_run(judged, read_source(run, name, options), options.read_options)


def _align_files(judged: JudgedQueries, paths: Sequence[str], name: str, options: EvaluateOptions) -> Hits:
    parts: list[Hits] = []
    for path in paths:
        hits = _align_file(judged, path, name, options)
        # merge_hits needs parts without common queries.
        for at, other in enumerate(parts):
            both = np.flatnonzero(other.present & hits.present)
            if len(both):
                raise repeated_query_error(judged.queries[both[0]], paths[at], path)
        parts.append(hits)
    return parts[0] if len(parts) == 1 else merge_hits(parts)


def _align_file(judged: JudgedQueries, path: str, name: str, options: EvaluateOptions) -> Hits:
    from rankproof._formats.detect import open_file
    from rankproof._io.memory import memory_errors_of

    files, read_options = options.files, options.read_options
    file = open_file(path, format=files.run_format, delimiter=files.delimiter, encoding=files.encoding, progress=files.progress)
    with memory_errors_of(path):
        if file.format == "trec":
            return engine.align_text(judged, file.source, read_options)
        stream = file.run_stream(read_options.order) if engine.NAME == "native" else None
        if stream is not None:
            return engine.align_arrow(judged, *stream, path, read_options)
    return engine.align_run(judged, file.run(name=name, read_options=read_options), read_options)
