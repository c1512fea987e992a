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
    chosen = asked if asked is not None else default_measures(judged.highest)
    fitted = {str(measure): measure for measure in (each.with_rel(options.rel) for each in chosen)}
    rels = sorted({options.rel, *(rel for measure in fitted.values() if (rel := measure.parameters().get("rel")))})
    systems = []
    for name, run in runs.items():
        hits = _aligned(judged, run, name, options)
        systems.append(SystemResult(name, _measured(hits, fitted, options), notes_of(hits, rels, options), _depth(hits)))
    return Result(judged.queries, tuple(systems))


def _aligned(judged: Judged, run: RunLike, name: str, options: Options) -> Hits:
    hits = align(judged, run, name, options)
    if not hits.present.any():
        raise no_common_query(hits, os.fspath(run) if isinstance(run, str | os.PathLike) else name)
    return hits


def _depth(hits: Hits) -> int | None:
    """How many documents the longest rankings have, where half or more of several are as long: there they were cut."""
    lengths = hits.retrieved[hits.present]
    longest = int(lengths.max())
    as_long = int((lengths == longest).sum())
    return longest if as_long > 1 and 2 * as_long >= len(lengths) else None


def _measured(hits: Hits, measures: Mapping[str, Measure], options: Options) -> dict[str, MeasureResult]:
    """Every measure over all judged queries, or over those that the run has."""
    results = {}
    skips = options.skip_missing and not hits.present.all()
    queries = tuple(np.array(hits.queries, dtype=object)[hits.present]) if skips else hits.queries
    for name, measure in measures.items():
        values = measure.values(hits)[hits.present] if skips else measure.values(hits)
        results[name] = MeasureResult(measure, measure.summarise(values), queries, values)
    return results
