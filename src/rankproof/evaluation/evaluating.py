"""Judgements and runs in, a Result out."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence

import numpy as np

from ..align.hits import Hits, Judged
from ..data.reading import OnDuplicate, Order
from ..errors import UsageError
from ..measures import Measure, default_measures, parse_many
from .inputs import QrelsLike, RunLike, align, judge, name_runs
from .notes import notes_of
from .options import Compat, Files, Options, reading_of
from .result import MeasureResult, Result, SystemResult
from .strangers import no_common_query, nothing_judged

MeasuresLike = str | Measure | Sequence[str | Measure] | None


def evaluate(
    qrels: QrelsLike,
    run: RunLike,
    measures: MeasuresLike = None,
    *,
    rel: int = 1,
    depth: int | None = None,
    judged_only: bool = False,
    skip_missing: bool = False,
    on_duplicate: OnDuplicate = "error",
    order: Order = "score",
    lower_is_better: bool = False,
    compat: Compat | None = None,
    queries: Collection[str] | None = None,
    grade_map: Mapping[str, int] | None = None,
    qrels_format: str | None = None,
    run_format: str | None = None,
    delimiter: str | None = None,
    encoding: str = "utf-8",
    threads: int = 1,
) -> Result:
    """The measures of one run or of several ({name: run}); runs and judgements may be ours, dicts of dicts, paths or frames."""
    reading = reading_of(
        order=order,
        lower_is_better=lower_is_better,
        compat=compat,
        on_duplicate=on_duplicate,
        depth=depth,
        judged_only=judged_only,
        threads=threads,
    )
    files = Files(qrels_format, run_format, delimiter, encoding, grade_map)
    options = Options(reading, files, rel, skip_missing, queries)
    return evaluate_runs(qrels, name_runs(run), measures, options)


def evaluate_runs(qrels: QrelsLike, runs: Mapping[str, RunLike], measures: MeasuresLike, options: Options) -> Result:
    """The measures of every named run."""
    if not runs:
        raise UsageError("there is no run", fix="pass at least one")
    asked = None if measures is None else parse_many(measures)
    judged = judge(qrels, options)
    if not judged.queries:
        raise nothing_judged(judged.source, options.queries)
    chosen = asked if asked is not None else default_measures(int(judged.grades.max()))
    fitted = [measure.with_rel(options.rel) for measure in chosen]
    systems = [_system(name, _aligned(judged, run, name, options), fitted, options) for name, run in runs.items()]
    return Result(judged.queries, tuple(systems))


def _aligned(judged: Judged, run: RunLike, name: str, options: Options) -> Hits:
    hits = align(judged, run, name, options)
    if not hits.present.any():
        raise no_common_query(hits, os.fspath(run) if isinstance(run, str | os.PathLike) else name)
    return hits


def _system(name: str, hits: Hits, measures: Sequence[Measure], options: Options) -> SystemResult:
    over = hits.present if options.skip_missing else np.ones_like(hits.present)
    queries = hits.queries if over.all() else tuple(query for query, kept in zip(hits.queries, over, strict=True) if kept)
    results = {}
    for measure in measures:
        values = measure.values(hits)[over]
        results[str(measure)] = MeasureResult(measure, measure.summarise(values), queries, values)
    return SystemResult(name, results, notes_of(hits, _rels(measures, options), options))


def _rels(measures: Sequence[Measure], options: Options) -> list[int]:
    """Every least grade that counts as relevant somewhere: the option's, and those that measures name themselves."""
    return sorted({options.rel, *(rel for measure in measures if (rel := measure.parameters().get("rel")))})
