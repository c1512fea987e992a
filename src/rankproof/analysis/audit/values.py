"""A run's values by another tool's convention."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

from ...align.hits import Hits, Judged
from ...data.order import order_key, settled
from ...data.reading import Reading
from ...data.run import Run, RunRow
from ...evaluation import Options
from ...evaluation.inputs import align, judge
from ...measures import Measure, parse
from ..evidence import Evidence
from ..listings import listings
from ..ties.span import span_of
from .conventions import Convention, Ties, Tool
from .rows import Span


def judged_of(evidence: Evidence) -> Judged:
    """The judgements, made ready once for all systems and tools."""
    return judge(evidence.qrels, evidence.options)


def value_by(convention: Convention, hits: Hits, cutoff: int, rel: int, *, strangers: bool = False) -> float | None:
    """The mean as the tool takes it; None where the tool refuses, having queries without a ranking or (strangers) the reverse."""
    tool = convention.tool
    if convention.special is not None:
        values = convention.special(hits, cutoff)
    else:
        values = _measure(convention, cutoff, rel).values(hits)
    if tool.missing == "refused" and (strangers or not hits.present.all()):
        return None
    if tool.missing == "left out":
        values = values[hits.present]
    return math.fsum(values.tolist()) / len(values) if len(values) else None


def _measure(convention: Convention, cutoff: int, rel: int) -> Measure:
    measure = parse(convention.measure.format(k=cutoff))
    return measure.with_rel(rel) if convention.tool.asks_rel else measure


def span_by(convention: Convention, evidence: Evidence, hits: Hits, cutoff: int, system: str) -> Span | None:
    """Between which values the mean of a tool that does not define ties lies; None where ties cannot change it."""
    if convention.tool.ties != "not defined" or not hits.seen.tied:
        return None
    worst, best = span_of(_measure(convention, cutoff, evidence.rel), hits, listings(evidence, system))
    if (worst == best).all():
        return None
    return Span(*(math.fsum(values.tolist()) / len(values) for values in (worst, best)))


def hits_by(tool: Tool, evidence: Evidence, judged: Judged, system: str) -> Hits:
    """The hits in the order in which the tool would put the documents."""
    run, reading = evidence.runs[system], evidence.reading
    if tool.drops_own_id:
        run = _without_own_ids(run)
    if tool.ties in ("id descending", "not defined"):
        return align(judged, run, system, Options(replace(reading, float32=tool.float32 or reading.float32)))
    plain = replace(reading, order="score", lower_is_better=False, float32=False)
    return align(judged, _listed(run, reading, tool.ties), system, Options(plain))


def strangers_of(evidence: Evidence) -> Mapping[str, bool]:
    """Which systems have queries that nobody judged."""
    known = frozenset(evidence.qrels)
    return {name: any(query not in known for query in evidence.runs[name].queries) for name in evidence.systems}


def _listed(run: Run, reading: Reading, ties: Ties) -> Run:
    """The run with scores that say the order outright, ties being settled by id upwards or by the order of rows."""
    groups, _ = settled(run, reading)
    rows = []
    for query, group in groups.items():
        by_id = sorted(group, key=lambda row: row.doc) if ties == "id ascending" else group
        ordered = sorted(by_id, key=lambda row: -order_key(row, reading))
        rows += [RunRow(query, row.doc, float(-place)) for place, row in enumerate(ordered)]
    return Run.from_rows(rows, name=run.name, source=run.source, queries=run.queries)


def _without_own_ids(run: Run) -> Run:
    """The run without documents that have their query's id."""
    if not any(row.query == row.doc for row in run.rows()):
        return run
    return Run.from_rows((row for row in run.rows() if row.query != row.doc), name=run.name, queries=run.queries)
