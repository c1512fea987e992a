"""Unjudged documents: the judged share of each system, and how much the values could change."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from rankproof._analysis.audit.unjudged import COMPLETION_RULES, UnjudgedDocuments, all_within, audit_unjudged, none_relevant
from rankproof._analysis.inputs import AnalysisInput
from rankproof._analysis.overlap import NEXT_STEP
from rankproof._data.table import Column, Table
from rankproof._render.systems import unjudged_tables
from rankproof._report.context import MANY_QUERIES, JudgedShares, ReportContext, judged_shares
from rankproof._report.elements import Section
from rankproof._report.links import linked, pair_link
from rankproof.measures._base import Measure

_MAX_ROWS = 200_000
_DEPTH = 10
"""With more rows or many queries, only measures with at most this cutoff are bounded, and only those that need no search."""


def no_judgements_section(context: ReportContext) -> Section | None:
    """What is known of rankings without judgements, and what to do next; None if there are only answers, or judgements."""
    if context.results.answers is not None and not any(run.stored_run for run in context.results.system_runs):
        return None
    if context.results.qrels:
        return None
    tables = unjudged_tables(context.results)
    return Section(
        key="rankings",
        title="Rankings without judgements",
        question="How fast are the systems, and how much do their rankings have in common?",
        sentences=(NEXT_STEP, *(sentence for table in tables for sentence in table.sentences)),
        tables=tuple(table.without_sentences() for table in tables),
    )


def unjudged_section(context: ReportContext) -> Section | None:
    """The judged shares, the bounds of the main measure, and those of the others; None if unjudged documents are removed."""
    if context.results.judged_only:
        return None
    shares = judged_shares(context)
    low, high = min(shares.share.values()), max(shares.share.values())
    some = f"{low:.1%} to {high:.1%}" if low < high else f"{low:.1%}"
    judged = f"{some} of the top {shares.cutoff} documents are judged; unjudged documents count as not relevant."
    tables = _bounds(context)
    first = tables[0] if tables else None
    return Section(
        key="unjudged",
        title="Unjudged documents",
        question="How many of the top documents are unjudged, and could their grades change the order of the systems?",
        points=(judged, *(first.sentences if first else ())),
        tables=(first.without_sentences() if first else _shares_table(shares),),
        folded=tuple(replace(table, title="Bounds of the other measures", sentences=()) for table in tables[1:]),
    )


def _shares_table(shares: JudgedShares) -> Table:
    columns = (Column("system"), Column(f"judged in the top {shares.cutoff}", "share"))
    return Table("judged", "Judged documents", columns, tuple(shares.share.items()))


def _bounds(context: ReportContext) -> list[Table]:
    """The bounds of the main measure and of the others; none if they would take too long."""
    inputs = context.inputs
    measures = {name: measure.measure for name, measure in inputs.result.systems[0].measures.items()}
    bounded = [name for name, measure in measures.items() if measure.name in COMPLETION_RULES and measure.summary == "mean"]
    if len(inputs.result.queries) > MANY_QUERIES or sum(len(run.docs) for run in inputs.runs.values()) > _MAX_ROWS:
        bounded = [name for name in bounded if _is_fast_to_bound(measures[name])][:1]
    if not bounded:
        return []
    first = context.measure if context.measure in bounded else bounded[0]
    others = [name for name in bounded if name != first]
    return [_bounds_table(context.unjudged, [first]), *([_bounds_table(context.unjudged, others)] if others else [])]


def _is_fast_to_bound(measure: Measure) -> bool:
    return (
        COMPLETION_RULES[measure.name] == (none_relevant, all_within)
        and (getattr(measure, "cutoff", None) or _MAX_ROWS) <= _DEPTH
    )


def _bounds_table(unjudged: UnjudgedDocuments, names: Sequence[str]) -> Table:
    narrowed = _with_measures(unjudged.inputs, names)
    bounds = audit_unjudged(narrowed, replace(unjudged, inputs=narrowed))
    return linked(bounds, lambda row: {"system": pair_link(str(row["system"]), None, str(row["measure"]))})


def _with_measures(inputs: AnalysisInput, names: Sequence[str]) -> AnalysisInput:
    """The input with these measures only."""
    systems = tuple(replace(system, measures={name: system.measures[name] for name in names}) for system in inputs.result.systems)
    return replace(inputs, result=replace(inputs.result, systems=systems))
