"""Rank movement from the system that a system is compared with, and the diagnosis of each system."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from rankproof._analysis.diagnose.diagnose import CUTOFF, SHOWN, step_tables, systems_tables
from rankproof._analysis.diagnose.failed_queries import failed_table, failures, failures_table
from rankproof._analysis.values import main_measure, relevant_docs
from rankproof._charts.curves import MOVE_KINDS, Move, MoveKind, bin_moves, move_kind, slope_chart
from rankproof._charts.draw import svg_of
from rankproof._charts.model import ChartLink, Medium
from rankproof._data.table import CellValue, Table
from rankproof._report.context import ReportContext
from rankproof._report.elements import MANY_SYSTEMS, Section, SvgChart, as_sentence, linked, pair_link, queries_link
from rankproof.errors import UsageError, for_message

_WIDTH, _HEIGHT = 340.0, 340.0
_BEST = 5
"""With many systems, only so many have a chart."""
_MOVE_WORDS: dict[MoveKind, str] = {
    "found": "found",
    "lost": "lost",
    "promoted": "promoted",
    "demoted": "demoted",
    "kept": "at the same rank",
}
RanksByQuery = Mapping[str, Mapping[str, int]]
"""Query to relevant document to rank."""


def move_charts(context: ReportContext) -> Iterator[SvgChart]:
    """One chart for each system but the baseline and those that only answer; of many systems for the best ones."""
    runs = context.results.system_runs
    if len(runs) > MANY_SYSTEMS:
        best = sorted(context.oriented_values, key=lambda name: -context.oriented_values[name])[:_BEST]
        runs = tuple(run for run in runs if run.name in best)
    others = {run.name: other for run in runs if run.kind != "answer" and (other := context.results.compared_with(run))}
    inputs = context.inputs
    relevant = {query: frozenset(relevant_docs(inputs.qrels[query], inputs.rel)) for query in inputs.result.queries}
    ranks = {name: _relevant_ranks(context, name, relevant) for name in sorted({*others, *others.values()})}
    for name, other in others.items():
        yield _move_chart(other, name, _document_moves(ranks[other], ranks[name]))


def _relevant_ranks(context: ReportContext, system: str, relevant: Mapping[str, frozenset[str]]) -> RanksByQuery:
    ranks = {}
    for query, listing in context.unjudged.lists[system].items():
        found = relevant[query].intersection(listing.docs)
        ranks[query] = {doc: rank for rank, doc in enumerate(listing.docs, start=1) if doc in found} if found else {}
    return ranks


def _document_moves(other: RanksByQuery, system: RanksByQuery) -> Iterator[Move]:
    """The ranks in the other system and in this one of each relevant document that either retrieved."""
    for query in dict.fromkeys((*other, *system)):
        before, after = other.get(query, {}), system.get(query, {})
        for doc in dict.fromkeys((*before, *after)):
            yield before.get(doc), after.get(doc)


def _move_chart(other: str, name: str, svg: Iterator[Move]) -> SvgChart:
    moves = bin_moves(svg)
    counts = dict.fromkeys(MOVE_KINDS, 0)
    for move, times in moves.items():
        counts[move_kind(move)] += times
    words = {kind: f"{counts[kind]:,} {word}" for kind, word in _MOVE_WORDS.items()}
    summary = ", ".join(words.values())
    title = f"{for_message(other)} → {for_message(name)}"
    chart = slope_chart(Medium(_WIDTH), moves, (other, name), f"Ranks of relevant documents, {title}", summary, _HEIGHT)
    link = ChartLink(chart.panels[0].frame, pair_link(name, other), f"The queries of {title}")
    parts = tuple((text, _moves_link(name, other, kind) if counts[kind] else "") for kind, text in words.items())
    return SvgChart(title, svg_of(replace(chart, links=(link,))), "", small=True, parts=parts)


def _moves_link(system: str, other: str, kind: MoveKind) -> str:
    """The queries with a relevant document that moved so."""
    return queries_link(a=system, b=other, sort="difference", moved=kind)


def _linked_moves(context: ReportContext, table: Table) -> Table:
    """Counts lead to the queries with such a document, rows to those on which the system loses most."""
    others = {run.name: context.results.compared_with(run) for run in context.results.system_runs}

    def links(row: Mapping[str, CellValue]) -> dict[str, str]:
        name = str(row["system"])
        other = others[name]
        kinds: Mapping[str, MoveKind] = {} if other is None else {word: kind for kind, word in _MOVE_WORDS.items()}
        moved = {word: _moves_link(name, str(other), kind) for word, kind in kinds.items() if row.get(word)}
        return {"system": pair_link(name, other), **moved}

    return linked(table.without_sentences(), links)


def movement_section(context: ReportContext) -> Section | None:
    """Rank movement; None for a single system, or if no measure lies between 0 and 1."""
    charts = tuple(move_charts(context))
    tables = _movement_tables(context) if charts else []
    if not tables:
        return None
    gains, moves, stages = tables
    what = "Which relevant documents does each system find, lose, promote or demote"
    return Section(
        key="movement",
        title="Rank movement",
        question=f"{what}, compared with {_other_systems(context)}?",
        points=(*moves.sentences, *gains.sentences),
        charts=charts,
        has_move_legend=True,
        tables=(_linked_moves(context, moves),),
        folded=(gains.without_sentences(), stages.without_sentences()),
    )


def _other_systems(context: ReportContext) -> str:
    """What the systems are compared with, in words."""
    built = any(run.builds_on for run in context.results.system_runs)
    alone = any(run.builds_on is None and context.results.compared_with(run) for run in context.results.system_runs)
    return " or else ".join([*(["the system that it builds on"] if built else []), *(["the baseline"] if alone else [])])


def _movement_tables(context: ReportContext) -> list[Table]:
    try:
        return step_tables(context.inputs, main_measure(context.inputs), CUTOFF)
    except UsageError:
        return []


def diagnosis_section(context: ReportContext) -> Section:
    """The diagnosis of each system, and the failed queries of the leading one."""
    inputs = context.inputs
    systems, rules = systems_tables(inputs)
    failed = {name: failures(inputs, name, CUTOFF) for name in inputs.systems}
    worst = linked(
        failed_table(inputs, failed[context.leading], CUTOFF, SHOWN),
        lambda row: {"query": queries_link(a=context.leading, query=str(row["query"]))},
    )
    return Section(
        key="diagnosis",
        title="Diagnosis",
        question="What limits each system, and which queries fail?",
        points=tuple(map(as_sentence, systems.sentences)),
        tables=(systems.without_sentences(), _linked_failures(failures_table(failed, CUTOFF)), worst),
        folded=(rules.without_sentences(),),
    )


def _linked_failures(table: Table) -> Table:
    """The counts of each system lead to its queries, those without a relevant document first."""

    def links(row: Mapping[str, CellValue]) -> dict[str, str]:
        system = str(row["system"])
        return dict.fromkeys(("system", "failed"), queries_link(a=system, sort="first", down="1"))

    return linked(table.without_sentences(), links)
