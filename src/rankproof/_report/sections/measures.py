"""Every measure of every system, and the definitions of the measures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from rankproof._analysis.bands import bands_tables, builtin_profiles
from rankproof._analysis.values import best_systems, measure_results, oriented_value
from rankproof._charts.curves import DEPTHS, recall_chart
from rankproof._charts.draw import svg_of
from rankproof._charts.model import Medium
from rankproof._charts.rows import ValueRow, dot_chart
from rankproof._data.table import Column, FilledColumn, Table, table_of_columns
from rankproof._evaluation.result import MeasureResult
from rankproof._render.measure_list import cutoff_reading, value_range
from rankproof._render.result import format_value, summary_table
from rankproof._report.context import MANY_QUERIES, ReportContext
from rankproof._report.elements import (
    MANY_SYSTEMS,
    PANEL_CHART_WIDTH,
    MeasureTerm,
    Section,
    SvgChart,
    chart_of_widths,
    join_names,
    pair_link,
    queries_link,
)
from rankproof.errors import for_message
from rankproof.measures._base import Measure


def measures_section(context: ReportContext) -> Section:
    """One small chart for each measure."""
    result = context.results.result
    names = list(result.systems[0].measures)
    return Section(
        key="measures",
        title="Every measure",
        question="Do other measures agree?",
        sentences=tuple(_leader_sentences(context, names)),
        charts=tuple(_chart(context, name) for name in names) if len(context.values) <= MANY_SYSTEMS else (),
        tables=(summary_table(result, "Every measure of every system; bold: the best"),),
        folded=(*_intervals(context, names), *_bands(context)),
    )


def recall_section(context: ReportContext) -> Section | None:
    """Recall against depth; None for many queries, as it is evaluated at each depth."""
    if context.measured.queries > MANY_QUERIES:
        return None
    values = measure_results(context.inputs, [f"R@{depth}" for depth in DEPTHS])
    recalls = {name: [value.value for value in values[name].values()] for name in context.ranking_systems}
    deepest = sorted(recalls, key=lambda name: -recalls[name][-1])[:MANY_SYSTEMS]
    shown = {name: ys for name, ys in recalls.items() if name in deepest}
    title, about = "Recall against depth, R@k", "; ".join(f"{name} R@100 {ys[-1]:.3f}" for name, ys in shown.items())
    key = "The mean share of relevant documents in the top k: what a reranker of k documents can reach."
    left_out = f" The {len(shown)} systems with the highest R@100." if len(shown) < len(recalls) else ""
    measures = context.results.result.systems[0].measures

    def address(system: str, depth: int) -> str:
        name = f"R@{depth}"
        return pair_link(system, None, name) if name in measures else queries_link(a=system, sort="first", down="1")

    chart = chart_of_widths(
        lambda medium: replace(recall_chart(medium, title, (), shown, address), about=about), title, key + left_out, len(shown)
    )
    return Section("recall", "Recall against depth", "How many documents does a reranker need?", charts=(chart,))


def _bands(context: ReportContext) -> Iterator[Table]:
    """The bands that the systems reach by the built-in profiles, and what they mean; nothing for measures without bands."""
    measures = [measure.measure for measure in context.results.result.systems[0].measures.values()]
    for profile in builtin_profiles().values():
        known = profile.only(measures)
        if known is not None:
            yield from bands_tables(context.inputs, known)


def _leader_sentences(context: ReportContext, names: list[str]) -> list[str]:
    """Which system leads by how many measures, and which measures disagree with the main one."""
    firsts = {name: tuple(leading) for name in names if (leading := _leaders(context, name))}
    if not firsts:
        return []
    counts = Counter(system for leading in firsts.values() for system in leading)
    (first, times), *rest = counts.most_common(4)
    more = "".join(f", {for_message(system)} by {many}" for system, many in rest)
    tied = " (tied systems all count)" if sum(counts.values()) > len(firsts) else ""
    sentences = [f"{for_message(first)} leads by {times} of {len(firsts)} measures{more}{tied}."]
    best = context.best_systems
    others = {name: leaders for name, leaders in firsts.items() if context.has_better_direction and not {*best} & {*leaders}}
    for leaders in dict.fromkeys(others.values()):
        names = [name for name, other in others.items() if other == leaders]
        lead = "leads" if len(leaders) == 1 else "lead"
        sentences.append(f"By {join_names(names)} {join_names(leaders)} {lead}, by {context.measure} {join_names(best)}.")
    if len(firsts) > 1 and context.comparison is not None:
        sentences.append(f"Measures other than {context.measure} are exploratory: they do not change the decision.")
    return sentences


def _values(context: ReportContext, name: str) -> dict[str, MeasureResult]:
    return {system.name: system.measures[name] for system in context.results.result.systems}


def _leaders(context: ReportContext, name: str) -> list[str]:
    """The best systems by a measure; none for a single system or a measure without a better direction."""
    values = _values(context, name)
    if len(context.ranking_systems) < 2 or not next(iter(values.values())).measure.has_winner:
        return []
    return best_systems({system: oriented_value(values[system]) for system in context.ranking_systems})


def _chart(context: ReportContext, name: str) -> SvgChart:
    values = _values(context, name)
    best = _leaders(context, name)
    rows = [
        ValueRow(
            system,
            value.value,
            format_value(value.value, value),
            context.intervals[system, name],
            best=system in best,
            address=pair_link(system, None, name),
        )
        for system, value in values.items()
    ]
    about = "; ".join(f"{row.name} {row.shown}" for row in rows)
    measure = next(iter(values.values())).measure
    return SvgChart(
        name,
        svg_of(dot_chart(Medium(PANEL_CHART_WIDTH), rows, name, about, step=2, within=measure.range)),
        measure.title,
        small=True,
    )


def _intervals(context: ReportContext, names: list[str]) -> tuple[Table, ...]:
    """The table of intervals; empty if no measure is a mean."""
    intervals = context.intervals
    used = [name for name in names if any(intervals[system, name] for system in context.values)]
    if not used:
        return ()
    columns = [FilledColumn(Column(name, "interval"), [intervals[system, name] for system in context.values]) for name in used]
    title = f"95% intervals of every measure ({context.sampling})"
    return (table_of_columns("intervals", title, [FilledColumn(Column("system"), list(context.values)), *columns]),)


_GAINS = {"linear": "the grade", "exp": "2^grade - 1"}


def definitions_section(context: ReportContext) -> Section | None:
    """The definitions in the order of the page, those for answers last; None if nothing was measured."""
    results = context.results
    measures: dict[str, Measure] = {}
    for result in (results.result, results.chunks, results.answers):
        for system in result.systems if result is not None else ():
            measures |= {name: measure.measure for name, measure in system.measures.items() if name not in measures}
    if not measures:
        return None
    return Section(
        key="definitions",
        title="Definitions",
        question="How is each measure defined?",
        terms=tuple(_term(name, measure) for name, measure in measures.items()),
    )


def _term(name: str, measure: Measure) -> MeasureTerm:
    better = {True: "higher is better", False: "lower is better", None: ""}[measure.higher_is_better]
    span = "; ".join(part for part in (f"Range {value_range(measure)}", better) if part)
    texts = (f"{measure.definition}{_gain(measure)}", cutoff_reading(measure))
    return MeasureTerm(name, measure.title, " ".join(filter(None, texts)), f"{span}. Source: {measure.source}.")


def _gain(measure: Measure) -> str:
    """The gain function in use."""
    gain = measure.parameters().get("gain")
    if gain is None:
        return ""
    return f" Gain: {_GAINS.get(gain, gain) if isinstance(gain, str) else 'custom, as in its name'}."
